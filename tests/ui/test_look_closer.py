"""What is behind an answer: reasons that lead to the knowledge, why not a card, what if, and nothing left."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

import pytest

from tests.ui.test_answering import CAMERAS
from tests.ui.test_pages import IMPOSSIBLE, SERVING
from whygpu.render.view import view_of
from whygpu.render.view.asking import ask_view
from whygpu_ui.charts import price_speed, price_speed_rows, scatter

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase

    Opened = Callable[..., AppTest]
    Plain = Callable[[str], str]

pytestmark = pytest.mark.slow

TUNING = {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_tokens": "20M"}


def _part(app: AppTest, name: str) -> AppTest:
    """Choose a part of the answer, as a click does."""
    app.session_state[f"details-{app.session_state['whygpu'].visit}"] = name
    app = app.run()
    assert not app.exception
    return app


def _html(app: AppTest) -> str:
    return "\n".join(item.proto.body for item in app.get("html"))


def test_who_says_it_is_a_link_to_the_knowledge(opened: Opened, kb: KnowledgeBase) -> None:
    """Rules and claims were named in brackets, and nobody could get to them."""
    linked = re.findall(r'href="\?page=knowledge&amp;item=([^"]+)" target="_blank"', _html(opened(**SERVING)))
    named = [name for row in view_of(kb.advise(SERVING, engine="evaluator")).reasons for name in (row.evidence.rule,)]
    assert {name for name in named if name} <= set(linked)
    for item in set(linked):
        assert not opened(page="knowledge", item=item).text_input, f"{item} has a page"


def test_the_chain_leads_to_the_knowledge_and_says_what_its_sources_are(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened(**SERVING)
    app = next(item for item in app.toggle if "chain" in str(item.key)).set_value(True).run()
    text = "\n".join(item.value for item in app.markdown)
    sources = re.findall(r"- \[`([^`]+)`\]\(\?page=knowledge&item=[^)]+\): (.*)", text)
    references = kb.knowledge.catalogue.references
    assert any(name in references for name, _ in sources)
    assert all(says for _, says in sources)


@pytest.mark.parametrize("card", ["h100-sxm", "k80"])
def test_why_not_any_card_is_answered(card: str, opened: Opened, kb: KnowledgeBase) -> None:
    """The page compared only plans that were ranked: of one ruled out, or far behind, nobody could ask."""
    app = _part(opened(**SERVING), "Why not")
    next(item for item in app.selectbox if item.key == "why-not").set_value(card)
    app = _part(app, "Why not")
    assert re.search(f"Why not \\d+x {re.escape(kb.knowledge.catalogue.accelerators[card].name)}", _html(app))
    assert "context_tokens" not in _html(app)


def test_what_if_begins_with_what_the_request_names(opened: Opened) -> None:
    """Of cameras it asked how many requests are in flight."""
    app = _part(opened(**CAMERAS), "What if")
    assert next(item for item in app.selectbox if item.key == "what-if-key").value == "streams"


def test_what_if_of_a_job_tells_what_the_whole_of_it_costs(opened: Opened) -> None:
    """Eight times the data stood at the same dollars an hour."""
    app = _part(opened(phase="fine-tuning", model="llama-3.1-8b", method="lora", dataset_tokens="100M"), "What if")
    rows = re.findall(r"\$([\d.,]+) to \$([\d.,]+) for the job", _html(app))
    assert rows
    assert all(float(low.replace(",", "")) < float(high.replace(",", "")) for low, high in rows)


def test_a_number_at_its_least_is_tried_as_far_above(opened: Opened) -> None:
    """Of one request at once, as is assumed, the staircase ended at eight."""
    app = _part(opened(phase="inference", model="llama-3.1-8b", page="answer"), "What if")
    (slider,) = app.select_slider
    assert slider.value == 1
    assert slider.options[0] == "1 request"
    assert slider.options[-1] == "64 requests"


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("deadline_hours", "in hours"),
        ("lora_rank", "as a number"),
        ("dataset_tokens", "in tokens; 32k and 8B are understood"),
    ],
)
def test_only_of_large_numbers_is_said_how_to_shorten_them(key: str, unit: str, kb: KnowledgeBase) -> None:
    question = next(item for item in kb.knowledge.questions if item.id == key)
    assert ask_view(kb.knowledge, question, None, kb.interview(TUNING)).unit == unit


def test_where_nothing_is_recommended_nothing_is_said_to_go_with_it(opened: Opened) -> None:
    app = opened(**IMPOSSIBLE)
    assert any("Ruled out" in item.value for item in app.markdown)
    assert "With it" not in _html(_part(app, "Rules"))


def test_plans_of_a_job_are_drawn_by_what_the_job_costs(kb: KnowledgeBase) -> None:
    """They were drawn by the hour, and lower and to the left was not better."""
    advice = kb.advise({**TUNING, "budget_total": 3}, engine="evaluator")
    found = scatter(advice.plans, advice.consultation.answers.values)
    assert found is not None
    assert found.most_usd == 3
    for plan, price, _ in found.points:
        assert plan.cost is not None
        assert price == plan.cost.compared.usd_total
    assert all("for the job" in row[1] for row in price_speed_rows(found))
    assert "USD for the job" in str(price_speed(found, dark=False, height=300).to_dict())


def test_names_of_points_do_not_run_into_one_another(kb: KnowledgeBase) -> None:
    """Cameras take every card alike: three names were written over each other."""
    advice = kb.advise(CAMERAS, engine="evaluator")
    found = scatter(advice.plans, advice.consultation.answers.values)
    assert found is not None
    spec = price_speed(found, dark=False, height=300).to_dict()
    rows = spec["datasets"][spec["data"]["name"]]  # of both layers, as there are no lines
    named = [row for row in rows if row["name"]]
    assert named[0]["id"] == advice.plans[0].id
    for number, row in enumerate(named):
        for other in named[:number]:
            assert max(row["price"], other["price"]) / min(row["price"], other["price"]) > 1.5


def test_memory_is_drawn_without_a_warning_in_the_servers_log(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _part(opened(**SERVING), "Memory")
    assert not [item for item in caplog.records if item.name.startswith("streamlit.elements")]


def test_what_is_at_stake_can_be_clicked(kb: KnowledgeBase) -> None:
    """A format was at stake that was not among the choices."""
    work = {"phase": "inference", "model": "llama-3.1-405b", "budget_per_hour": 1}
    asked = kb.next_question(work)
    assert asked is not None
    assert asked.witness is not None
    rows = ask_view(kb.knowledge, asked.question, asked, kb.interview(work)).choices
    assert asked.witness.value in [row.value for row in rows]
    assert not [row for row in rows if row.meaning.casefold() == row.label.casefold()]


def test_a_question_without_an_assumption_is_left_open(opened: Opened, kb: KnowledgeBase) -> None:
    """ "I have no such limit" was offered where it was asked what comes first."""
    asked = kb.next_question(SERVING)
    assert asked is not None
    assert asked.assumed is None
    assert opened(**SERVING, page="better").button(key="keep").label == "Leave it open"


def test_a_reason_that_begins_with_a_goes_on_within_a_sentence(kb: KnowledgeBase) -> None:
    """ "context tokens: 4,096, because A usual chat"."""
    said = [row.because for row in view_of(kb.advise({"phase": "inference"}, engine="evaluator")).assumed]
    assert any(text.startswith("a usual") for text in said)
    assert not [text for text in said if text.startswith("A ")]


def test_owned_cards_are_taken_because_they_are_there(kb: KnowledgeBase) -> None:
    """ "No other plan comes near it", above a shortlist with another one."""
    view = view_of(kb.advise({"phase": "inference", "owned": "4x RTX 3090"}, engine="evaluator"))
    assert view.because[0].evidence.rule == "owned-is-there"


def test_the_address_of_a_source_can_be_opened(opened: Opened, kb: KnowledgeBase) -> None:
    item = next(one for one in kb.knowledge.catalogue.references.values() if (one.where or "").startswith("https://"))
    app = opened(page="knowledge", item=item.id)
    assert [link.proto.url for link in app.get("link_button")] == [item.where]
