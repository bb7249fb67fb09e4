"""The answer's page says what the knowledge base advises, whatever the outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from whygpu.render.words import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import Advice, KnowledgeBase, Plan

    Opened = Callable[..., AppTest]
    Plain = Callable[[str], str]

SERVING = {"phase": "inference", "model": "llama-3.1-70b"}
IMPOSSIBLE = {**SERVING, "max_count": "1", "budget_per_hour": "0.01", "quantization": "forbidden"}
INFERENCE_OF_A_CONFIG = {"phase": "inference", "model": '{"parameters":"13B","name":"![x](http://evil.example)"}'}


def _text(app: AppTest, plain: Plain) -> str:
    return plain("\n".join(item.value for kind in (app.title, app.header, app.markdown, app.warning) for item in kind))


@pytest.mark.parametrize(
    "answers",
    [
        SERVING,
        {"phase": "inference", "task": "vision", "streams": "2"},
        {"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": "1B"},
        {"phase": "fine-tuning", "method": "qlora"},
        {},
    ],
)
def test_the_verdict_is_the_advice(answers: dict[str, Any], opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    advice = kb.advise(answers)
    app = opened(**answers, page="answer")
    assert not app.exception
    text = _text(app, plain)
    best = [plan for plan in advice.plans if plan.rank == 1]
    assert best
    for plan in best:
        assert sentence(plan) in text
    for rule in {step.rule for step in advice.trace.of_plan(best[0].id) if step.rule}:
        assert f"Rule `{rule}` in `kb/" in text
    for item in advice.assumed:
        assert f"is assumed, because {item.because}" in text


class _Tied:
    """An advice with other plans; ties are too rare in the knowledge base to rely on one."""

    def __init__(self, advice: Advice, plans: tuple[Plan, ...]) -> None:
        self._advice, self.plans = advice, plans

    def __getattr__(self, name: str) -> object:
        return getattr(self._advice, name)


def test_equals_are_shown_as_equals(
    opened: Opened, kb: KnowledgeBase, plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whygpu_ui import answer_page, knowledge  # noqa: PLC0415  patched here

    advice = kb.advise(SERVING)
    second = replace(advice.alternatives[0], rank=1)
    tied = _Tied(advice, (advice.plans[0], second, *advice.plans[2:]))
    found = knowledge.Finding(cast("Advice", tied), (), ("phase", "task", "model"))
    monkeypatch.setattr(answer_page, "find", lambda *_: found)
    app = opened(**SERVING, page="answer")
    assert not app.exception
    assert app.title[0].value == "2 plans are equally good"
    text = _text(app, plain)
    assert sentence(advice.plans[0]) in text
    assert sentence(second) in text


def test_where_nothing_fits_the_conflict_and_each_relaxation_are_shown(
    opened: Opened, kb: KnowledgeBase, plain: Plain
) -> None:
    infeasible = kb.advise(IMPOSSIBLE).infeasible
    assert infeasible is not None
    app = opened(**IMPOSSIBLE, page="answer")
    assert not app.exception
    text = _text(app, plain)
    assert "No plan satisfies every constraint" in text
    for rule in infeasible.conflict:
        assert kb.knowledge.rule_by_id[rule].title in text
    for item in infeasible.relaxations:
        assert item.text in text
        assert f"`{item.plan}`" in text
    change = next(button for button in app.button if button.label == "Change: What may it cost an hour (USD)?")
    app = change.click().run()
    assert app.query_params["page"] == "budget_per_hour"


def test_an_assumption_can_be_answered_and_the_answer_comes_back(
    opened: Opened, kb: KnowledgeBase, plain: Plain
) -> None:
    app = opened(**SERVING, page="answer")
    app = app.button(key="change-assumed-concurrency").click().run()
    app.text_input[0].set_value("64")
    app = app.button(key="next").click().run()
    assert app.query_params["page"] == "answer"
    best = kb.advise({**SERVING, "concurrency": 64}).recommendation
    assert best is not None
    assert sentence(best) in _text(app, plain)


def test_every_answer_can_be_changed_and_all_forgotten(opened: Opened) -> None:
    app = opened(**SERVING, accelerators="[l40s, a100]", page="answer")
    labels = [button.label for button in app.button]
    assert any("llama" in label for label in labels)
    app = app.button(key="forget-accelerators").click().run()
    assert "accelerators" not in app.query_params
    app = app.button(key="restart").click().run()
    assert app.query_params["page"] == "phase"
    assert "model" not in app.query_params


def test_a_link_with_nonsense_is_reported_and_the_rest_of_it_works(opened: Opened, plain: Plain) -> None:
    app = opened(**SERVING, concurrency="many", colour="![x](http://evil.example)", kb="another", page="nowhere")
    assert not app.exception
    said = plain(app.error[0].value)
    assert "'concurrency' must be a number" in said
    assert "there is no answer 'colour'" in said
    assert "another edition of the knowledge base" in app.warning[0].value
    assert app.query_params["page"] == "task"


def test_texts_from_a_link_draw_no_image(opened: Opened) -> None:
    app = opened(**INFERENCE_OF_A_CONFIG, page="answer")
    assert not app.exception
    assert not any("![" in item.value for item in app.markdown)


def test_a_broken_knowledge_base_is_said_on_the_page(
    opened: Opened, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYGPU_UI_KB", str(tmp_path))
    app = opened()
    assert not app.exception
    assert "The knowledge base cannot be loaded" in app.error[0].value
