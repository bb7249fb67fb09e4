"""Answers as people give them: the first match of a name, what no chip says, a repair, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.ui.test_pages import IMPOSSIBLE, SERVING
from whygpu.errors import AnswerError
from whygpu.intake.typed import typed_model
from whygpu.render.view import view_of
from whygpu.render.view.asking import ask_view
from whygpu.render.view.request import chips
from whygpu_ui.charts import memory_rows, parts
from whygpu_ui.model_field import picked, popular
from whygpu_ui.pieces import meters

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase

    Opened = Callable[..., AppTest]
    OpenedChip = Callable[[AppTest, str], AppTest]
    Plain = Callable[[str], str]

CAMERAS = {"phase": "inference", "task": "vision", "model": "yolo11m"}


def _press(app: AppTest, begins: str) -> AppTest:
    key = next(str(item.key) for item in app.button if str(item.key).startswith(begins))
    app = app.button(key=key).click().run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("mistral", "mistral-7b"),
        ("qwen3 8", "qwen3-8b"),
        ("Qwen3-8B", "qwen3-8b"),
        ("8b", {"parameters": 8e9}),
        ("llama 8b", "llama-3.1-8b"),
    ],
)
def test_enter_takes_the_first_match(text: str, model: object, kb: KnowledgeBase) -> None:
    assert picked(text, popular(kb, "inference", "language"), kb) == model


def test_a_tile_offers_what_is_downloaded_most(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    app = _press(opened(), "tile-chat")
    offered = [str(item.key).removeprefix("model-") for item in app.button if str(item.key).startswith("model-")]
    assert offered == popular(kb, "inference", "language")[: len(offered)]
    assert plain(app.button(key="model-qwen3-0.6b").label) == "**Qwen3 0.6B**  \n18.6M downloads a month"
    app = _press(_press(opened(), "tile-cameras"), "model-yolo11m")
    assert app.session_state["whygpu"].answers["model"] == "yolo11m"


def test_the_question_for_a_model_offers_the_same_and_takes_another(opened: Opened, plain: Plain) -> None:
    app = opened(phase="inference", task="embedding", page="better")
    labels = [plain(item.label) for item in app.button if str(item.key).startswith("better-model-")]
    assert labels[0] == "**BGE-M3 (568M)** (assumed)  \n32.4M downloads a month"
    assert labels[1] == "**all-MiniLM-L6-v2 (22.7M)**  \n207M downloads a month"
    next(item for item in app.text_input if str(item.key).startswith("better-model-")).set_value("qwen3 embedding 8b")
    app = _press(app, "next")
    assert app.session_state["whygpu"].answers["model"] == "qwen3-embedding-8b"


@pytest.mark.parametrize("text", ["nobody/none-7b", "/etc/passwd", "1,5", ""])
def test_what_matches_nothing_is_no_model(text: str, kb: KnowledgeBase) -> None:
    with pytest.raises(AnswerError, match="no model here is called"):
        picked(text, popular(kb, "inference", "language"), kb)


@pytest.mark.parametrize("end", ["", "/", "/tree/main", "?library=vllm"])
def test_the_address_of_a_models_page_names_it(end: str, kb: KnowledgeBase) -> None:
    assert typed_model(f"https://huggingface.co/Qwen/Qwen3-8B{end}", kb.knowledge.catalogue) == "qwen3-8b"
    with pytest.raises(AnswerError, match="no model here is called"):
        typed_model(f"https://evil.example/Qwen/Qwen3-8B{end}", kb.knowledge.catalogue)


def test_what_no_chip_says_is_said_too(opened: Opened, opened_chip: OpenedChip) -> None:
    app = opened_chip(opened(phase="fine-tuning", model="llama-3.1-8b", page="answer"), "more")
    offered = next(item for item in app.selectbox if str(item.key).startswith("more-"))
    offered.set_value("deadline_hours").run()
    field = next(item for item in app.text_input if "finished" in item.label)
    field.set_value("10")
    app = _press(app, f"next-{field.key}")
    assert app.session_state["whygpu"].answers["deadline_hours"] == "10"
    assert app.query_params["page"] == "answer"


def test_what_is_refused_is_said_beside_its_field_alone(opened: Opened, opened_chip: OpenedChip, plain: Plain) -> None:
    app = opened_chip(opened(**SERVING, page="answer"), "given-concurrency")
    field = next(item for item in app.text_input if "in flight" in item.label)
    field.set_value("1,5")
    app = _press(app, f"next-{field.key}")
    assert ["must be a number" in plain(item.value) for item in app.error] == [True]
    assert app.session_state["whygpu"].refused == "concurrency"
    assert app.session_state["whygpu"].answers["concurrency"] == 8


def test_what_is_refused_of_owned_cards_is_said_there(opened: Opened) -> None:
    app = _press(opened(), "own-next")
    assert [item.value for item in app.expander[0].error] == [item.value for item in app.error]
    assert "No accelerator is chosen yet" in app.error[0].value


def test_a_repair_is_taken_with_a_click(opened: Opened, kb: KnowledgeBase) -> None:
    trouble = view_of(kb.advise(IMPOSSIBLE, engine="evaluator")).trouble
    assert trouble is not None
    app = opened(**IMPOSSIBLE, output_tokens="unknown", page="answer")
    app = _press(app, "repair-0")
    assert app.title[0].value.startswith("TAKE ")
    answers: dict[str, Any] = app.session_state["whygpu"].answers
    for key, value in trouble.repairs[0].answers.items():
        assert answers.get(key) == value
    assert "output_tokens" in answers  # "keep what is assumed" is an answer of its own


def test_a_model_given_twice_is_nobodys_answer(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened()
    app.query_params["model"] = ["llama-3.1-8b", "nobody-7b"]
    app.query_params["page"] = "answer"
    app.run()
    assert app.title[0].value == "Which model?"
    assert kb.knowledge.catalogue.models  # it is not for want of models


def test_a_plan_that_a_link_names_wrongly_is_asked_for(opened: Opened, plain: Plain) -> None:
    app = opened(**SERVING, page="compare", item="nobody-x1-fp8")
    assert not app.exception
    assert app.selectbox[0].value is None
    assert "nobody-x1-fp8" in plain(app.markdown[1].value)


def test_choices_are_read_row_by_row(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    asked = kb.next_question(SERVING)
    assert asked is not None
    rows = ask_view(kb.knowledge, asked.question, asked, kb.interview(SERVING)).choices
    app = opened(**SERVING, page="better")
    shown = [item.label for item in app.button if str(item.key).startswith("better-")]
    assert len(rows) > 2
    assert [plain(label).split("**")[1] for label in shown] == [row.label for row in rows]


def test_numbers_that_nobody_assumes_are_offered_round(kb: KnowledgeBase) -> None:
    """They are tried just beside figures of plans, such as 0.0991 requests a second."""
    work = {"phase": "inference", "model": "llama-3.1-8b"}
    asked = kb.next_question(work)
    assert asked is not None
    assert asked.id == "requests_per_second"
    assert asked.witness is not None
    offered = [row.value for row in ask_view(kb.knowledge, asked.question, asked, kb.interview(work)).choices]
    others = [value for value in offered if value != asked.witness.value]
    assert len(others) == len(offered) - 1 >= 2, "what is at stake can be clicked"
    assert [float(f"{value:.1g}") for value in others] == others


def test_numbers_that_are_assumed_are_doubled_as_people_know_them(kb: KnowledgeBase) -> None:
    work = {"phase": "inference", "model": "llama-3.1-8b"}
    question = next(item for item in kb.knowledge.questions if item.id == "context_tokens")
    labels = [row.label for row in ask_view(kb.knowledge, question, None, kb.interview(work)).choices]
    assert labels == ["512", "2,048", "4,096", "8,192", "32,768"]


def test_cameras_are_counted_in_streams(kb: KnowledgeBase) -> None:
    said = {item.answer: item.assumed for item in chips(kb.consult(CAMERAS, engine="evaluator"))}
    assert said["streams"]
    assert said["frames_per_second"]
    assert "concurrency" not in said


def test_a_bar_shows_how_much_of_a_limit_is_used(kb: KnowledgeBase) -> None:
    row = next(item for item in view_of(kb.advise(CAMERAS, engine="evaluator")).meters if item.label == "frames")
    assert row.used is not None
    assert 0 < row.used < 1  # at least so many: twice as many use half of what it gives
    assert f"width:{row.used:.0%}" in meters([row])
    assert "width:100%" in meters([replace(row, used=3.0)])


@pytest.mark.slow
def test_what_changes_nothing_is_said_too(kb: KnowledgeBase) -> None:
    view = view_of(kb.advise(SERVING, engine="evaluator"), flips="all")
    changing = {row.change.split()[0] for row in view.flips}
    assert view.idle
    assert changing.isdisjoint(view.idle)


def test_memory_is_a_table_too(kb: KnowledgeBase) -> None:
    plans = kb.advise(SERVING, engine="evaluator").plans[:3]
    headings, rows = memory_rows(plans)
    assert all(len(row) == len(headings) for row in rows)
    for plan, row in zip(plans, rows, strict=True):
        for name, gib in parts(plan.memory).items():
            assert row[headings.index(name)] == f"{gib:.2f}"


def test_what_was_named_is_chosen_anew(opened: Opened, opened_chip: OpenedChip, kb: KnowledgeBase) -> None:
    """Hardware, regions and providers could only be taken back; of more names than are usual none is lost."""
    many = sorted(kb.knowledge.catalogue.accelerators)[:60]
    for given in (["l4"], many):
        app = opened(page="answer", phase="inference", model="llama-3.1-8b", accelerators=json.dumps(given))
        app = opened_chip(app, "given-accelerators")
        assert not app.exception
        (field,) = app.multiselect
        assert field.value == given
        field.set_value(["t4", "a10"])
        next(item for item in app.button if str(item.key).startswith("next-named-accelerators")).click()
        app = app.run()
        assert app.session_state["whygpu"].answers["accelerators"] == ["t4", "a10"]
