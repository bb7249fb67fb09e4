"""The wizard's steps: what is asked when, what is kept, what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whygpu.errors import AnswerError
from whygpu.render.words import sentence
from whygpu_ui.model_field import MAX_CONFIG_BYTES, read_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase

    Opened = Callable[..., AppTest]


def _asked(app: AppTest, kb: KnowledgeBase) -> str:
    """The id of the question on the page."""
    assert not app.exception
    return next(item.id for item in kb.knowledge.questions if item.ask == app.title[0].value)


def _press(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def _choose(app: AppTest, value: str) -> AppTest:
    app.radio[0].set_value(value)
    return _press(app, "next")


def _type(app: AppTest, value: str) -> AppTest:
    app.text_input[0].set_value(value)
    return _press(app, "next")


def _answers(app: AppTest) -> dict[str, Any]:
    answers: dict[str, Any] = app.session_state["whygpu"].answers
    return answers


def test_the_phase_question_tells_what_each_is_like(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened(page="phase")
    folded = next(item for item in app.expander if item.label == "What each of them is like")
    shown = " ".join(item.value for item in folded.markdown)
    for profile in kb.knowledge.profiles.values():
        assert profile.title.partition(":")[0] in shown
        assert all(point.sources[0] in shown for point in profile.points)
    assert not [item for item in opened(page="task").expander if item.label == "What each of them is like"]


def test_questions_come_in_the_knowledge_bases_order_where_they_apply(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened()
    seen = []
    while app.query_params.get("page") != "answer":
        seen.append(_asked(app, kb))
        app = _choose(app, "training") if seen[-1] == "phase" else _press(app, "unknown")
    order = [item.id for item in kb.knowledge.questions]
    assert seen == sorted(seen, key=order.index)
    assert {"optimizer", "batch_size"} <= set(seen)
    assert not {"concurrency", "latency_ms", "quantization"} & set(seen)


def test_a_choice_is_an_answer_and_goes_into_the_address(opened: Opened, kb: KnowledgeBase) -> None:
    app = _choose(opened(), "inference")
    assert _asked(app, kb) != "phase"
    assert _answers(app) == {"phase": "inference"}
    assert app.query_params["phase"] == "inference"
    assert app.query_params["kb"] == kb.knowledge.hash


def test_not_knowing_is_an_answer_and_says_what_is_assumed(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened()
    assert any("If you don't know: `inference` is assumed" in item.value for item in app.markdown)
    app = _press(app, "unknown")
    assert _asked(app, kb) != "phase"
    assert "`inference` is assumed" in app.info[0].value
    assert _answers(app) == {"phase": None}


@pytest.mark.parametrize("text", ["32k", "32000", "32,000", "32k tokens"])
def test_numbers_take_suffixes(text: str, opened: Opened, kb: KnowledgeBase) -> None:
    app = _type(opened(phase="inference", page="context_tokens"), text)
    if text == "32k tokens":
        assert app.error
        return
    assert _asked(app, kb) != "context_tokens"
    assert kb.check(_answers(app)).values["context_tokens"] == 32000


@pytest.mark.parametrize(
    ("text", "said"), [("many", "must be a number"), ("0", "must be between"), ("", "There is no answer yet")]
)
def test_what_cannot_be_used_is_refused_and_the_page_stays(
    text: str, said: str, opened: Opened, kb: KnowledgeBase, plain: Callable[[str], str]
) -> None:
    app = _type(opened(phase="inference", page="concurrency"), text)
    assert _asked(app, kb) == "concurrency"
    assert said in plain(app.error[0].value)
    assert "concurrency" not in _answers(app)
    app = _type(app, "8")
    assert _asked(app, kb) != "concurrency"
    assert not app.error


def test_going_back_keeps_answers_and_dormant_ones_return(opened: Opened, kb: KnowledgeBase) -> None:
    app = _type(opened(phase="inference", page="concurrency"), "64")
    app = _press(app, "back")
    assert _asked(app, kb) == "concurrency"
    assert app.text_input[0].value == "64"
    app = opened(phase="inference", concurrency="64", page="phase")
    app = _choose(app, "training")
    assert _answers(app) == {"phase": "training", "concurrency": 64}
    app = _choose(_press(app, "back"), "inference")
    assert _answers(app)["concurrency"] == 64


def test_the_recommendation_so_far_is_there_at_every_step(
    opened: Opened, kb: KnowledgeBase, plain: Callable[[str], str]
) -> None:
    app = opened(phase="inference", model="llama-3.1-70b", page="format")
    best = kb.advise({"phase": "inference", "model": "llama-3.1-70b"}).recommendation
    assert best is not None
    assert any(sentence(best) in plain(item.value) for item in app.markdown)
    app = _press(app, "skip")
    assert app.query_params["page"] == "answer"


# the model


def test_a_model_is_a_preset(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened(phase="inference", page="model")
    app.selectbox[0].set_value("llama-3.1-70b")
    assert _asked(_press(app, "next"), kb) != "model"
    assert _answers(app)["model"] == "llama-3.1-70b"


def test_a_model_is_a_number_of_parameters(opened: Opened, kb: KnowledgeBase) -> None:
    app = opened(phase="inference", page="model")
    app.radio[0].set_value("Its number of parameters").run()
    assert _asked(_type(app, "13B"), kb) != "model"
    assert _answers(app)["model"] == {"parameters": "13B"}
    assert opened(**{"model.parameters": "13B", "page": "model"}).text_input[0].value == "13B"


@pytest.mark.parametrize("text", ["{", "[1]", '{"model_type": "llama"}', "x" * 100, "[" * 100_000, '{"a": 1e999}'])
def test_a_bad_configuration_is_refused_with_its_problems(text: str, opened: Opened, kb: KnowledgeBase) -> None:
    app = opened(phase="inference", page="model")
    app.radio[0].set_value("Its config.json").run()
    app.text_area[0].set_value(text)
    app = _press(app, "next")
    assert _asked(app, kb) == "model"
    assert app.error


def test_a_model_is_an_uploaded_configuration(opened: Opened, kb: KnowledgeBase) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "intermediate_size": 14336,
        "id2label": {str(number): "label" for number in range(1000)},
    }
    app = opened(phase="inference", page="model")
    app.radio[0].set_value("Its config.json").run()
    app.file_uploader[0].upload("config.json", json.dumps(config).encode())
    app = _press(app, "next")
    assert _asked(app, kb) != "model"
    assert _answers(app)["model"] == {"config": {key: config[key] for key in config if key != "id2label"}}


def test_a_configuration_has_a_size() -> None:
    with pytest.raises(AnswerError, match="the limit is"):
        read_config(b" " * (MAX_CONFIG_BYTES + 1))


def test_a_configuration_is_text() -> None:
    with pytest.raises(AnswerError, match="UTF-8"):
        read_config(b"\xff\xfe{}")
