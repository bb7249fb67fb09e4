"""The wizard's pages without a browser: two clicks to an answer, chips, questions that matter, links, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.effort import one_in
from whygpu.errors import AnswerError
from whygpu.explain.figures import show_plain
from whygpu.explain.rerun import choice
from whygpu.intake.typed import MAX_CONFIG_BYTES, read_config, typed_model
from whygpu.quantity import show
from whygpu.render.view import view_of
from whygpu.render.words import short_text
from whygpu_ui.knowledge import stamp_of
from whygpu_ui.start_page import read_pasted

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from whygpu import KnowledgeBase

    Opened = Callable[..., AppTest]
    OpenedChip = Callable[[AppTest, str], AppTest]
    Plain = Callable[[str], str]

SERVING = {"phase": "inference", "task": "language", "model": "llama-3.1-8b", "concurrency": "8"}
IMPOSSIBLE = {**SERVING, "max_count": "1", "budget_per_hour": "0.01", "quantization": "forbidden"}
CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "intermediate_size": 14336,
    "id2label": {str(number): "label" for number in range(1000)},
}

TILES = ("chat", "tune", "train", "batch", "cameras", "images", "speech", "search")


def _press(app: AppTest, key: str) -> AppTest:
    app = app.button(key=key).click().run()
    assert not app.exception
    return app


def _answers(app: AppTest) -> dict[str, Any]:
    answers: dict[str, Any] = app.session_state["whygpu"].answers
    return answers


def _text(app: AppTest, plain: Plain) -> str:
    shown = [item.value for kind in (app.title, app.header, app.markdown, app.warning, app.error) for item in kind]
    return plain("\n".join([*shown, *(item.proto.body for item in app.get("html"))]))


def test_there_is_a_tile_for_each_work(opened: Opened, kb: KnowledgeBase) -> None:
    shown = [str(item.key).removeprefix("tile-") for item in opened().button if str(item.key).startswith("tile-")]
    assert shown == list(TILES) == [work.id for work in kb.knowledge.works]


@pytest.mark.parametrize("tile", one_in(4, TILES))
def test_a_tile_and_a_model_are_an_answer(tile: str, opened: Opened) -> None:
    app = _press(opened(), f"tile-{tile}")
    first = next(item.key for item in app.button if str(item.key).startswith("model-"))
    app = _press(app, str(first))
    assert app.query_params["page"] == "answer"
    assert not app.error
    assert app.title[0].value.startswith(("TAKE ", "No", "Nothing"))


@pytest.mark.parametrize(
    ("typed", "answers"),
    [
        ("Qwen/Qwen3-8B", {"model": "qwen3-8b"}),
        ("I own 4 RTX 3090", {"owned": "4 RTX 3090"}),
        ("4x RTX 3090", {"owned": "4x RTX 3090"}),
        ("owned: 2x L4\nmodel: llama-3.1-8b", {"owned": "2x L4", "model": "llama-3.1-8b"}),
    ],
)
def test_enter_in_the_box_is_an_answer(typed: str, answers: dict[str, str], opened: Opened) -> None:
    app = opened()
    app = app.chat_input[0].set_value(typed).run()
    assert app.query_params["page"] == "answer"
    assert _answers(app) == answers
    assert not app.error


@pytest.mark.parametrize(
    ("typed", "said"),
    [("lama 3.1 8c", "did you mean 'Llama 3.1 8B'"), ("4x A100", "say which"), ("I own an RTX 9999", "no accelerator")],
)
def test_what_the_box_cannot_read_is_said(typed: str, said: str, opened: Opened, plain: Plain) -> None:
    app = opened()
    app = app.chat_input[0].set_value(typed).run()
    assert said in plain(app.error[0].value)
    assert app.query_params["page"] == "start"


@pytest.mark.parametrize(
    ("typed", "answers"),
    [
        (
            "I want to serve a 7B chatbot for 200 users and $900",
            {"phase": "inference", "task": "language", "people": 200, "model": {"parameters": 7e9}},
        ),
        (
            "fine-tune Llama 3.1 8B on 20M tokens",
            {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_tokens": 2e7},
        ),
        (
            "12 cameras on a robot",
            {"phase": "inference", "task": "vision", "streams": 12, "deployment": "edge"},
        ),
        (
            "serve Llama 3.1 8B:\nfor $730 a month",
            {"phase": "inference", "model": "llama-3.1-8b", "budget_per_hour": 1},
        ),
    ],
)
def test_a_sentence_is_read_as_far_as_it_goes(
    typed: str, answers: dict[str, object], opened: Opened, plain: Plain
) -> None:
    app = opened()
    app = app.chat_input[0].set_value(typed).run()
    assert app.query_params["page"] == "answer"
    assert _answers(app) == answers
    assert not app.error
    told = " ".join(plain(item.value) for item in app.warning)
    assert ("Not read: $900" in told) == ("$900" in typed)


@pytest.mark.parametrize("typed", ["llama", "serve a Llama 70B chatbot on Azure, $900"])
def test_one_of_several_models_is_chosen_and_not_typed_anew(typed: str, opened: Opened, plain: Plain) -> None:
    app = opened()
    app = app.chat_input[0].set_value(typed).run()
    assert app.error
    choices = [str(item.key) for item in app.button if str(item.key).startswith("which-llama")]
    assert len(choices) > 1
    app = _press(app, choices[0])
    assert app.query_params["page"] == "answer"
    answers = _answers(app)
    assert answers["model"] == choices[0].removeprefix("which-")
    assert answers.get("providers") == (["azure"] if "Azure" in typed else None)
    assert any("Not read: $900" in plain(item.value) for item in app.warning) == ("Azure" in typed)


def test_work_that_no_sentence_can_say_is_told_what_to_ask(opened: Opened, plain: Plain) -> None:
    app = opened()
    app = app.chat_input[0].set_value("distill a 70B into an 8B").run()
    assert "two works" in " ".join(plain(item.value) for item in app.error)


def test_of_several_models_the_usual_ones_come_first(opened: Opened) -> None:
    """As in lists of models: a detector before what only segments, the most downloaded first."""
    app = opened()
    app = app.chat_input[0].set_value("train YOLOv8 on 20k images").run()
    choices = [str(item.key).removeprefix("which-") for item in app.button if str(item.key).startswith("which-")]
    assert choices[0] == "yolov8n"
    assert choices.index("yolov8x") < choices.index("yolov8n-seg")


def test_several_kinds_of_owned_cards_are_taken(opened: Opened) -> None:
    app = opened()
    fields = {str(item.label): item for item in (*app.selectbox, *app.number_input)}
    fields["Which"].set_value("rtx-3090")
    fields["How many"].set_value(4)
    fields["A third kind, if any"].set_value("rtx-4090")
    app = _press(app, "own-next")
    assert app.query_params["page"] == "answer"
    assert _answers(app)["owned"] == [{"accelerator": "rtx-3090", "count": 4}, {"accelerator": "rtx-4090", "count": 1}]


def test_the_first_screen_is_the_view(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    view = view_of(kb.advise(SERVING, engine="evaluator"))
    app = opened(**SERVING, page="answer")
    assert not app.exception
    text = _text(app, plain)
    assert plain(app.title[0].value) == view.headline.text
    assert view.headline.price in text
    assert all(row.label in text and row.gets in text for row in view.meters)
    assert all(row.plan in text for row in view.shortlist)


def test_an_answer_is_edited_in_place(opened: Opened, opened_chip: OpenedChip, kb: KnowledgeBase) -> None:
    app = opened(**SERVING, page="answer")
    assert not app.text_input  # what is in a chip waits for whoever opens it
    app = opened_chip(app, "given-concurrency")
    field = next(item for item in app.text_input if "in flight" in item.label)
    field.set_value("64")
    app = _press(app, f"next-{field.key}")
    assert _answers(app)["concurrency"] == "64"
    assert app.query_params["page"] == "answer"
    assert kb.check(_answers(app)).values["concurrency"] == 64


@pytest.mark.parametrize(
    ("text", "said"), [("many", "must be a number"), ("1,5", "must be a number"), ("", "no answer")]
)
def test_what_cannot_be_used_is_refused_and_the_page_stays(text: str, said: str, opened: Opened, plain: Plain) -> None:
    app = opened(**SERVING, page="concurrency")
    app.text_input[0].set_value(text)
    app = _press(app, next(str(item.key) for item in app.button if str(item.key).startswith("next-")))
    assert said in plain(app.error[0].value)
    assert _answers(app)["concurrency"] == 8
    assert app.query_params["page"] == "concurrency"


@pytest.mark.slow
def test_only_what_matters_is_asked_until_nothing_does(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    app = opened(**SERVING, page="better")
    first = kb.next_question({**SERVING})
    assert first is not None
    assert app.title[0].value == first.question.ask
    assert "At stake." in _text(app, plain)
    for _ in kb.knowledge.questions:
        if app.title[0].value == "Nothing else to ask":
            break
        app = _press(app, "keep")
    assert app.title[0].value == "Nothing else to ask"
    known = {key: value for key, value in _answers(app).items() if value is not None}
    assert choice(kb.consult(known, engine="evaluator")) == choice(kb.consult(SERVING, engine="evaluator"))


def test_who_chooses_what_is_asked_is_asked_only_that_and_may_return_to_the_rest(
    opened: Opened, kb: KnowledgeBase, plain: Plain
) -> None:
    assert opened(phase="inference", model="llama-3.1-8b", page="better").toggle[1].value
    app = opened(**SERVING, page="better")
    app = app.toggle[1].set_value(True).run()
    offered = [item.label for item in app.checkbox]
    assert offered == [item.ask for item in kb.interview(SERVING).choosable]
    (box,) = (item for item in app.checkbox if "budget_per_hour" in str(item.key))
    box.check()
    app = _press(app, "chosen")
    assert app.title[0].value == box.label
    assert not app.checkbox
    app = _press(app, "keep")
    assert app.title[0].value == "Nothing else to ask"
    assert all(f"- {ask}" in app.markdown[-1].value for ask in offered)
    app = _press(app, "again")
    assert _answers(app) == opened(**SERVING, page="better").session_state["whygpu"].answers
    assert "At stake." in _text(app, plain)


def test_an_answer_says_what_it_changed(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    asked = kb.next_question(SERVING)
    assert asked is not None
    assert asked.witness is not None
    app = opened(**SERVING, page="better")
    before = kb.advise(SERVING, engine="evaluator").recommendation
    assert before is not None
    spec = kb.knowledge.vocabulary[asked.question.name]
    label = show_plain(asked.witness.value, spec.unit, spec.name)
    app = _press(app, str(next(item.key for item in app.button if item.label.startswith(f"**{label}**"))))
    assert f"Your last answer changed it: it was {short_text(before)}" in _text(app, plain)


def test_where_nothing_fits_what_would_help_is_said(opened: Opened, plain: Plain) -> None:
    app = opened(**IMPOSSIBLE, page="answer")
    assert not app.exception
    assert app.title[0].value.startswith(("No plan", "Nothing"))
    assert "What stands in the way" in _text(app, plain)


def test_answers_that_contradict_each_other_can_be_taken_back(opened: Opened) -> None:
    app = opened(**SERVING, count="8", max_count="2", page="answer")
    assert not app.exception
    assert app.error
    app = _press(app, "forget-max_count")
    assert not app.error


def test_an_unknown_model_in_a_link_stops_and_asks(opened: Opened, plain: Plain) -> None:
    app = opened(phase="inference", model="nobody-7b", page="answer")
    assert app.title[0].value == "Which model?"
    assert "nobody-7b" in plain(app.error[0].value)
    assert "TAKE" not in _text(app, plain)


def test_a_link_of_another_edition_says_what_changed(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    best = kb.advise(SERVING, engine="evaluator").recommendation
    assert best is not None
    same = opened(**SERVING, page="answer", kb="0123", was=best.id)
    assert "the recommendation is the same" in _text(same, plain)
    other = opened(**SERVING, page="answer", kb="0123", was="gone-x1-fp8")
    assert "what it recommended then is no longer among the plans" in _text(other, plain)
    assert "gone-x1-fp8" not in _text(other, plain)  # an address can say anything
    silent = opened(**SERVING, page="answer", kb="0123")
    assert "The knowledge base has changed since this link was made." in _text(silent, plain)
    now = opened(**SERVING, page="answer", kb=kb.knowledge.hash, was="gone-x1-fp8")
    assert "has changed since" not in _text(now, plain)


def test_a_link_with_nonsense_is_reported_and_draws_nothing(opened: Opened, plain: Plain) -> None:
    app = opened(**SERVING, colour="![x](http://evil.example)", page="nowhere", item="<script>alert(1)</script>")
    assert not app.exception
    assert "there is no answer 'colour'" in plain(app.error[0].value)
    assert app.query_params["page"] == "answer"
    assert not any("![" in item.value for item in app.markdown)
    named = opened(phase="inference", model='{"parameters":"13B","name":"<img src=x onerror=alert(1)>"}', page="answer")
    assert not named.exception
    assert not any("<img" in item.proto.body for item in named.get("html"))


def test_two_plans_are_compared(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    advice = kb.advise(SERVING, engine="evaluator")
    app = opened(**SERVING, page="compare", item=advice.alternatives[0].id)
    assert not app.exception
    text = _text(app, plain)
    assert short_text(advice.alternatives[0]) in text
    assert "Why not" in text
    # $0.25 an hour for each machine (kb/ranking.yaml) is between the price and what the plan counts as
    best = advice.recommendation
    assert best is not None
    assert best.cost is not None
    money = text.partition("price with handling")[2].lstrip()
    assert money.startswith(f"</th><td>{show(best.cost.usd_per_hour + 0.25, 'USD/hour')}</td>")


def test_the_knowledge_is_linked_both_ways(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    rule = next(item for item in kb.knowledge.rules if item.sources and item.sources[0] in kb.knowledge.claims)
    app = opened(page="knowledge", item=rule.id)
    app = _press(app, next(str(item.key) for item in app.button if rule.sources[0] in str(item.key)))
    assert rule.sources[0] in plain(app.title[0].value)
    assert any(rule.id in str(item.key) for item in app.button)


def test_the_knowledge_is_searched(opened: Opened) -> None:
    app = opened(page="knowledge")
    app.text_input(key="knowledge-search").set_value("nvlink").run()
    assert any("NVLink" in item.label for item in app.button)


@pytest.mark.parametrize(
    "item", ["stack-runs-hardware", "runpod-32", "ai-rng", "l4", "llama-3.1-8b", "mlperf-inference-limits"]
)
def test_each_kind_of_knowledge_is_drawn_with_its_links(item: str, opened: Opened) -> None:
    app = opened(page="knowledge", item=item)
    assert not app.exception
    assert app.query_params["item"] == item
    assert any(str(button.key).startswith("to-") for button in app.button)


def test_a_card_is_drawn_with_each_figures_source(opened: Opened, kb: KnowledgeBase, plain: Plain) -> None:
    figure = kb.knowledge.catalogue.accelerators["l4"].figures["bandwidth_gb_s"]
    text = _text(opened(page="knowledge", item="l4"), plain)
    assert f"{figure.value:g} GB/s" in text
    assert figure.sources[0] in text


# what is typed or pasted


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("llama 3.1 8b", "llama-3.1-8b"),
        ("7B", {"parameters": 7e9}),
        (json.dumps({"model_type": "llama"}), {"config": {"model_type": "llama"}}),
    ],
)
def test_a_model_is_typed(text: str, model: object, kb: KnowledgeBase) -> None:
    assert typed_model(text, kb.knowledge.catalogue) == model


@pytest.mark.parametrize("text", ["4x RTX 3090, 70B", "70B, 4x RTX 3090"])
def test_what_is_owned_and_a_model_are_read_together(text: str, kb: KnowledgeBase) -> None:
    found = read_pasted(text.encode(), kb)
    assert found["model"] == {"parameters": 7e10}
    assert kb.check({**found, "phase": "inference"}).owned == (("rtx-3090", 4),)


def test_a_sentence_is_told_what_of_it_would_do(kb: KnowledgeBase) -> None:
    """It was told to give a size, which it has, or asked whether Chatterbox was meant."""
    for sentence in ("I want to serve a 7B chatbot", "7B chatbot"):
        with pytest.raises(AnswerError) as caught:
            read_pasted(sentence.encode(), kb)
        assert "say '7B' alone" in str(caught.value.problems[0].help)


@pytest.mark.parametrize("text", ["a chatbot for 200 users", "1 million PDF pages ocr"])
def test_a_sentence_without_a_model_is_told_what_to_choose(text: str, kb: KnowledgeBase) -> None:
    """It was told to give a size or a config.json, which is no help to who has no model."""
    with pytest.raises(AnswerError) as caught:
        read_pasted(text.encode(), kb)
    assert "choose what it is for" in str(caught.value.problems[0].help)


@pytest.mark.parametrize("text", ["/etc/passwd", "../../kb/values.yaml", "nobody/none", "8", "1,5"])
def test_a_path_or_nonsense_is_no_model(text: str, kb: KnowledgeBase) -> None:
    with pytest.raises(AnswerError, match="no model here is called"):
        typed_model(text, kb.knowledge.catalogue)


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"[1]", b"{", b" " * (MAX_CONFIG_BYTES + 1), b"model: {config: /etc/passwd}", b"colour: red"]
)
def test_what_is_pasted_wrong_is_refused(data: bytes, kb: KnowledgeBase) -> None:
    with pytest.raises(AnswerError):
        read_pasted(data, kb)


def test_saved_answers_are_pasted(kb: KnowledgeBase) -> None:
    assert read_pasted(b"phase: inference\nmodel: llama-3.1-8b\n", kb) == {
        "phase": "inference",
        "model": "llama-3.1-8b",
    }
    found = read_pasted(json.dumps(CONFIG).encode(), kb)
    assert found == {"model": {"config": {key: CONFIG[key] for key in CONFIG if key != "id2label"}}}


def test_a_configuration_has_a_size() -> None:
    with pytest.raises(AnswerError, match="the limit is"):
        read_config(b" " * (MAX_CONFIG_BYTES + 1))


# the edition


def test_a_broken_knowledge_base_is_said_on_the_page(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYGPU_UI_KB", str(tmp_path))
    app = opened()
    assert not app.exception
    assert "The knowledge base cannot be loaded" in app.error[0].value


@pytest.mark.slow
def test_a_consultation_ends_on_the_edition_that_it_began_with(
    opened: Opened, kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: Plain
) -> None:
    import shutil  # noqa: PLC0415

    folder = tmp_path / "kb"
    shutil.copytree(kb.knowledge.root, folder)
    monkeypatch.setenv("WHYGPU_UI_KB", str(folder))
    app = opened(**SERVING, page="answer")
    began = app.query_params["kb"]
    questions = folder / "questions.yaml"
    changed = questions.read_text(encoding="utf-8").replace("What is the hardware for?", "What shall it do?")
    questions.write_text(changed, encoding="utf-8")
    stamp_of.clear()
    app = app.run()
    assert app.query_params["kb"] == began
    assert "has changed since you began" in _text(app, plain)
    app = _press(app, "edition")
    assert app.query_params["kb"] != began
    assert "has changed since you began" not in _text(app, plain)


@pytest.mark.slow
def test_what_is_half_written_reaches_no_visitor(
    opened: Opened, kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: Plain
) -> None:
    """Who came while an author saved a file was told that nothing can be loaded."""
    import shutil  # noqa: PLC0415

    folder = tmp_path / "kb"
    shutil.copytree(kb.knowledge.root, folder)
    monkeypatch.setenv("WHYGPU_UI_KB", str(folder))
    before = opened(**SERVING, page="answer")
    questions = folder / "questions.yaml"
    whole = questions.read_text(encoding="utf-8")
    questions.write_text(whole[: len(whole) // 2] + "\n- {", encoding="utf-8")
    stamp_of.clear()
    for app in (before.run(), opened(**SERVING, page="answer")):
        assert not app.exception
        assert app.query_params["kb"] == before.query_params["kb"]
        assert "this is the previous edition" in _text(app, plain)
    questions.write_text(whole, encoding="utf-8")
    stamp_of.clear()
    assert "this is the previous edition" not in _text(opened(**SERVING, page="answer"), plain)
