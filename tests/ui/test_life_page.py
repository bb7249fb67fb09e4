"""The page of a lifecycle: how one gets there and back, and what it shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whygpu.render.words import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase

    Opened = Callable[..., AppTest]
    Plain = Callable[[str], str]

pytestmark = pytest.mark.slow

PHASES = {"train": {"method": "lora", "dataset_tokens": "100M"}, "serve": {"concurrency": 4}}


def _text(app: AppTest) -> str:
    assert not app.exception
    return "\n".join(item.value for kind in (app.title, app.header, app.markdown, app.error) for item in kind)


def _answers(app: AppTest) -> dict[str, Any]:
    answers: dict[str, Any] = app.session_state["whygpu"].answers
    return answers


def _whole_life(app: AppTest) -> AppTest:
    app.segmented_control[0].set_value("Report")
    return app.run().button(key="whole-life").click().run()


def test_a_link_shows_both_plans_and_the_cost(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    app = opened(phases=json.dumps(PHASES), model="llama-3.1-8b", service_months="24")
    text = plain(_text(app))
    life = kb.advise_lifecycle({"phases": PHASES, "model": "llama-3.1-8b", "service_months": 24})
    for advice in life.phases:
        assert advice.recommendation is not None
        assert sentence(advice.recommendation) in text
    assert all(item.id for item in life.advice)
    assert "Serving on the training accelerator" in text
    assert "`griddly-26`" in text
    rows = app.table[0].value
    assert list(rows.iloc[:, 0]) == ["training", "serving", "total"]
    assert "24 months" in rows.iloc[1, 1]


def test_there_and_back(opened: Opened) -> None:
    app = opened(page="answer", phase="fine-tuning", method="lora", model="llama-3.1-8b", dataset_tokens="100M")
    app = _whole_life(app)
    assert _answers(app)["phases"] == {"train": {"phase": "fine-tuning"}, "serve": {}}
    assert "Train, then serve" in _text(app)
    assert "phases" in app.query_params
    app.text_input[1].set_value("5")
    app.text_input[0].set_value("36")
    app = app.button(key="update-life").click().run()
    assert (_answers(app)["service_months"], _answers(app)["training_runs"]) == ("36", "5")
    assert "36 months" in app.table[0].value.iloc[1, 1]
    app.text_input[0].set_value("long")
    app = app.button(key="update-life").click().run()
    assert "must be a number" in _text(app)
    app = app.button(key="alone-serve").click().run()
    assert "phases" not in _answers(app)
    assert (_answers(app)["phase"], _answers(app)["model"]) == ("inference", "llama-3.1-8b")
    assert not {"method", "dataset_tokens", "service_months"} & _answers(app).keys()
    assert app.title[0].value.startswith("TAKE")


def test_answers_that_did_not_apply_stay_behind(opened: Opened) -> None:
    app = opened(page="answer", phase="inference", model="llama-3.1-8b", batch_size="8", streams="3")
    app = _whole_life(app)
    assert "streams" not in _answers(app)
    assert "Train, then serve" in _text(app)


def test_a_life_that_cannot_be_used_says_why(opened: Opened) -> None:
    app = opened(phases=json.dumps(PHASES), streams="3")
    assert "applies to neither phase" in _text(app)
    app = app.button(key="restart").click().run()
    assert app.session_state["whygpu"].page == "start"
