"""Answers that contradict each other are errors with their place; how they are written and ordered changes nothing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import pytest

import whygpu
from whygpu.answers import apply_settings, read_text
from whygpu.explain.compare import fast_or_cheap
from whygpu.quantity import show
from whygpu.yamldoc.document import plain_data

TODAY = date(2026, 11, 21)


def problems(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> list[str]:
    with pytest.raises(whygpu.AnswerError) as caught:
        kb.advise(answers)
    return [f"{item.code}: {item.message}" for item in caught.value.problems]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"count": 8, "max_count": 2}, "'count' is 8, more than 'max_count' (2)"),
        ({"output_tokens": 900, "context_tokens": 800}, "'output_tokens' is 900, more than 'context_tokens' (800)"),
        (
            {"output_tokens": 900, "average_context_tokens": 800, "context_tokens": 9000},
            "'output_tokens' is 900, more than 'average_context_tokens' (800)",
        ),
        (
            {"average_context_tokens": 900, "context_tokens": 800},
            "'average_context_tokens' is 900, more than 'context_tokens' (800)",
        ),
        ({"accelerators": ["T4", "L4"], "exclude_accelerators": ["t4"]}, "'T4' is both in 'accelerators'"),
        ({"model": {"parameters": 8e9, "heads": 32, "kv_heads": 7}}, "kv_heads is 7, which does not divide the 32"),
    ],
)
def test_contradictions_are_errors(kb: whygpu.KnowledgeBase, answers: dict[str, Any], said: str) -> None:
    found = problems(kb, answers)
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    "answers",
    [
        {"count": 2, "max_count": 2},
        {"output_tokens": 800, "context_tokens": 800},
        {"accelerators": ["A100"], "exclude_accelerators": ["a100-sxm-40gb"]},
        {"model": {"parameters": 8e9, "heads": 32, "kv_heads": 8}},
    ],
)
def test_what_agrees_is_none(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> None:
    kb.check(answers)


def test_contradictions_name_their_place(kb: whygpu.KnowledgeBase) -> None:
    with pytest.raises(whygpu.AnswerError) as caught:
        kb.advise(read_text("max_count: 2\nphase: inference\ncount: 8\n", "mine.yaml"))
    assert [(item.location.file, item.location.line) for item in caught.value.problems] == [("mine.yaml", 3)]


@pytest.mark.parametrize("settings", list(itertools.permutations(["model=llama-3.1-8b", "model.parameters=9B"])))
def test_a_preset_and_its_figures_are_not_both_answered(settings: tuple[str, ...]) -> None:
    with pytest.raises(whygpu.AnswerError, match="only one of them can count"):
        apply_settings(None, settings)


def test_nor_where_the_preset_stands_in_a_file() -> None:
    file = read_text("model: llama-3.1-8b", "mine.yaml")
    with pytest.raises(whygpu.AnswerError, match=r"'model\.parameters' and 'model' are both answered"):
        apply_settings(file, ["model.parameters=9B"])
    figures = read_text("model: {parameters: 8B}", "mine.yaml")
    assert apply_settings(figures, ["model.parameters=9B", "model.layers=40"])
    assert apply_settings(figures, ["model=llama-3.1-8b"])


@pytest.mark.parametrize(
    ("said", "meant"), [("on", "full"), (True, "full"), (False, "off"), ("off", "off"), ("selective", "selective")]
)
def test_checkpointing_may_be_a_flag(kb: whygpu.KnowledgeBase, said: object, meant: str) -> None:
    answers = {"phase": "training", "model": "llama-3.2-1b", "gradient_checkpointing": said}
    assert kb.check(answers).values["gradient_checkpointing"] == meant


@pytest.mark.parametrize("text", ["true", "on", "True", "ON"])
def test_checkpointing_may_be_a_flag_in_a_file(kb: whygpu.KnowledgeBase, text: str) -> None:
    assert kb.check(read_text(f"gradient_checkpointing: {text}", "a.yaml")).values["gradient_checkpointing"] == "full"


@pytest.mark.parametrize("key", ["offload", "sharding"])
def test_other_switches_may_be_turned_off(kb: whygpu.KnowledgeBase, key: str) -> None:
    assert kb.check({key: False}).values[key] == "none"
    with pytest.raises(whygpu.AnswerError):
        kb.check({key: True})


@pytest.mark.parametrize("side", [640, 640.0, "640", "640.0", "640x640", "640.0 x 640"])
def test_a_side_may_have_a_decimal_point(kb: whygpu.KnowledgeBase, side: object) -> None:
    assert kb.check({"resolution": side}).values["resolution"] == 640 * 640


@pytest.mark.parametrize("side", ["640.5", ".0", "x640", 640.5])
def test_half_a_pixel_is_none(kb: whygpu.KnowledgeBase, side: object) -> None:
    with pytest.raises(whygpu.AnswerError):
        kb.check({"resolution": side})


def test_characters_beyond_the_first_plane_may_be_escaped_as_json_does() -> None:
    """json.dumps writes a name with an emoji so, and YAML took its halves for characters of their own."""
    name = "model \N{GRINNING FACE}"
    found = plain_data(read_text(json.dumps({"model": {"name": name, "parameters": 8e9}}), "mine.json"))
    assert found == {"model": {"name": name, "parameters": 8e9}}
    with pytest.raises(whygpu.AnswerError, match="invalid Unicode"):
        read_text('{"model": "\\ud83d"}', "mine.json")


def test_every_id_names_one_accelerator(kb: whygpu.KnowledgeBase) -> None:
    """What the help offers can be owned: an id that is a family's name too ('apple-m3-max') stands for itself."""
    for name in kb.knowledge.catalogue.accelerators:
        assert kb.check({"owned": [{"accelerator": name, "count": 1}]}).owned == ((name, 1),)


def test_the_order_of_answers_changes_nothing(kb: whygpu.KnowledgeBase) -> None:
    answers = {
        "phase": "fine-tuning",
        "model": {"parameters": 8e9, "layers": 32},
        "method": "lora",
        "deadline_hours": 20,
        "dataset_tokens": 1e8,
        "requests_per_second": 3,
        "accelerators": ["l40s", "h100-sxm"],
    }
    backwards = {**dict(reversed(answers.items())), "model": {"layers": 32, "parameters": 8e9}}
    one, other = (kb.advise(given, today=TODAY) for given in (answers, backwards))
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())


def test_nor_does_it_in_a_life(kb: whygpu.KnowledgeBase) -> None:
    answers = {"phases": {"train": {"method": "lora"}, "serve": {}}, "service_months": 6, "model": "llama-3.1-8b"}
    one, other = (kb.advise_lifecycle(given, today=TODAY) for given in (answers, dict(reversed(answers.items()))))
    assert json.dumps(one.to_dict()) == json.dumps(other.to_dict())


def test_tf32_is_no_fp32(kb: whygpu.KnowledgeBase) -> None:
    """nvidia-tf32: TF32 is arithmetic of tensor cores since Ampere; a T4, of Turing, has none."""
    service = {"phase": "inference", "model": "llama-3.2-1b", "format": "tf32"}
    advice = kb.advise({**service, "accelerators": ["t4", "l4"]}, today=TODAY)
    assert advice.recommendation is not None
    plans = [advice.recommendation, *advice.recommendation.variants, *advice.alternatives]
    assert {(plan.accelerator.id, plan.format) for plan in plans} == {("l4", "tf32")}
    (out,) = advice.rejected
    assert out.plan.accelerator.id == "t4"
    assert "tf32-takes-tensor-cores" in {reason.rule for reason in out.because}


def faster(plan: whygpu.Plan, hour: float, times: float, job: float) -> whygpu.Plan:
    """The plan at another price an hour, so many times as fast, and at another price of the job."""
    assert plan.cost is not None
    cost = replace(plan.cost, usd_per_hour=hour, objective=job, usd_total=job)
    band = plan.speed["train_hours"]
    assert band is not None
    speed = {**plan.speed, "train_hours": replace(band, likely=band.likely / times)}
    return replace(plan, id=f"{plan.id}-{times:g}", cost=cost, speed=speed)


@pytest.mark.parametrize(
    ("times", "job", "cheaper", "said"),
    [
        (2.0, 10.0, None, "neither is cheaper"),
        (2.001, 9.999, None, "neither is cheaper"),
        (3.0, 6.67, "-3", "The higher hourly price makes for the cheaper job"),
        (1.5, 13.33, "", "It would pay off from 2 times the work"),
    ],
)
def test_what_costs_the_same_is_not_called_cheaper(
    kb: whygpu.KnowledgeBase, times: float, job: float, cheaper: str | None, said: str
) -> None:
    """runpod-107: half the time at double the price costs the same."""
    work = {"phase": "training", "model": "gpt2", "dataset_tokens": 3e8, "accelerators": ["l40s"]}
    plan = kb.advise(work, engine="evaluator", today=TODAY).recommendation
    assert plan is not None
    slow, fast = faster(plan, 1.0, 1.0, 10.0), faster(plan, 2.0, times, job)
    found = fast_or_cheap([replace(slow, id=plan.id), fast], ())
    assert found is not None
    assert found.cheaper == (None if cheaper is None else f"{plan.id}{cheaper}")
    assert said in found.text
    assert ("Each hour saved" in found.text) == (job > 11)


def test_the_same_hour_is_called_the_same(kb: whygpu.KnowledgeBase) -> None:
    work = {"phase": "training", "model": "gpt2", "dataset_tokens": 3e8, "accelerators": ["l40s"]}
    plan = kb.advise(work, engine="evaluator", today=TODAY).recommendation
    assert plan is not None
    found = fast_or_cheap([faster(plan, 1.0, 1.0, 10.0), faster(plan, 1.0, 2.0, 5.0)], ())
    assert found is not None
    assert "an hour costs the same and does" in found.text


GIVEN: dict[str, Any] = {
    "kv_format": "fp8",
    "lora_rank": 8,
    "lora_targets": "all-linear",
    "gradient_accumulation": 4,
    "attention": "eager",
    "cross_entropy": "plain",
    "offload": "optimizer",
    "sharding": "fsdp",
    "deadline_hours": 3,
    "streams": 9,
    "hours_per_day": 8,
    "epochs": 7,
    "training_precision": "fp16",
    "dataset_samples": 1e6,
    "latency_ms": 5,
    "resolution": 512,
}
WORKS: list[dict[str, Any]] = [
    {"phase": "inference", "model": "llama-3.1-8b", "service_months": 12},
    {"phase": "inference", "model": "yolo11m"},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora", "count": 2, "dataset_tokens": 1e6},
    {"phase": "fine-tuning", "model": "llama-3.2-1b", "method": "full", "count": 2},
    {"phase": "training", "model": "resnet-50", "count": 2},
    {"phase": "batch-inference", "model": "bge-m3"},
]


CARDS = {"accelerators": ["l40s", "h100-sxm"]}


def figures(advice: whygpu.Advice) -> str:
    """Everything that plans are, without what was answered."""
    found = advice.to_dict(trace=False)
    return json.dumps([found[key] for key in ("recommendation", "alternatives", "rejected", "infeasible", "advice")])


SAID = {"resolution": ("frames-are-scaled",)}
"""Other warnings that say that an answer changes no plan: what a detector is given is scaled to its own size."""


@pytest.fixture(scope="module")
def without(kb: whygpu.KnowledgeBase) -> Callable[[int], str]:
    """The figures of each of WORKS without the answer that is tried, found once."""
    return cache(lambda work: figures(kb.advise({**WORKS[work], **CARDS}, engine="evaluator", today=TODAY)))


@pytest.mark.parametrize(
    ("work", "key"),
    [
        pytest.param(
            number,
            key,
            id=f"{work['phase']}-{work['model']}-{key}",
            marks=pytest.mark.slow if (number + place) % 3 else (),  # each answer of two works every time
        )
        for number, work in enumerate(WORKS)
        for place, key in enumerate(GIVEN)
    ],
)
def test_no_answer_is_silently_without_effect(
    kb: whygpu.KnowledgeBase, without: Callable[[int], str], work: int, key: str
) -> None:
    """Each answer changes the plans, or a warning says that it does not apply; and what is ignored changes nothing."""
    with_it = kb.advise({**WORKS[work], **CARDS, key: GIVEN[key]}, engine="evaluator", today=TODAY)
    ignored = not {f"ignored-{key}", *SAID.get(key, ())}.isdisjoint(item.id for item in with_it.warnings)
    assert (without(work) == figures(with_it)) == ignored


def test_what_makes_an_answer_idle_is_said(kb: whygpu.KnowledgeBase) -> None:
    """The answer that decides whether the question is asked (``when`` of kb/questions.yaml): streams bring images."""
    seen = kb.advise({"phase": "inference", "model": "llama-3.1-8b", "streams": 12}, engine="evaluator", today=TODAY)
    (told,) = [item.text for item in seen.warnings if item.id == "ignored-streams"]
    assert told == "'streams' does not apply where task is language, and was ignored."


def test_what_does_not_apply_is_said_in_words(kb: whygpu.KnowledgeBase) -> None:
    """By answers and what they mean: names of rules ("workload life", model.kind) are nobody's words."""
    given = {"phase": "training", "model": "resnet-50", "count": 1, "retrain_months": 3, "attention": "eager"}
    seen = kb.advise(given | {"kv_format": "fp8", "streams": 2}, engine="evaluator", today=TODAY)
    told = {item.id: item.text for item in seen.warnings if item.id.startswith("ignored")}
    assert told["ignored-retrain_months"] == (
        "'retrain_months' does not apply where one phase alone is asked about, without 'phases', and was ignored."
    )
    assert told["ignored-attention"] == "'attention' does not apply where the model's kind is cnn, and was ignored."
    assert len(told) == 4
    names = {word for name in kb.knowledge.vocabulary for word in (name, name.replace(".", " "))}
    assert not [text for text in told.values() for name in names if name in text]


SWEEP = {"phase": "fine-tuning", "model": "roberta-base", "dataset_samples": 50000, "sequence_tokens": 128, "epochs": 4}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "100 runs one after another take {hours} and {usd}"),
        ({"deadline_hours": 24}, "100 runs one after another take {hours} and {usd}"),
        ({"deadline_hours": 1}, "100 runs one after another take {hours}, {times} times the deadline of 1 hour;"),
        ({"deployment": "on-prem"}, "100 runs one after another take {hours} of the machine"),
        ({"dataset_samples": None}, "What 100 runs come to is unknown"),
    ],
)
def test_what_all_runs_come_to_is_said(kb: whygpu.KnowledgeBase, more: dict[str, Any], said: str) -> None:
    """Each takes what the final one takes (ai-rng-52), whose plan is that of one run."""
    given = {key: value for key, value in (SWEEP | more).items() if value is not None and key != "epochs"}
    one, all_runs = (kb.advise(given | runs, engine="evaluator", today=TODAY) for runs in ({}, {"training_runs": 100}))
    assert one.plans == all_runs.plans
    (told,) = [item.text for item in all_runs.warnings if item.id == "one-run-of-many"]
    plan: Any = all_runs.recommendation
    band = plan.speed["train_hours"]
    hours = 0.0 if band is None else 100 * band.likely
    usd = 100 * (plan.cost.usd_total or 0.0)
    assert said.format(hours=show(hours, "hours"), usd=show(usd, "USD"), times=f"{hours:.3g}") in told
    assert not [item for item in all_runs.warnings if item.id.startswith("ignored")]


def test_voices_that_are_spoken_are_not_held_to_what_hears(kb: whygpu.KnowledgeBase) -> None:
    """Times real time is of sound that is heard (open-asr-leaderboard); Orpheus writes it."""
    spoken = kb.advise({"phase": "inference", "model": "orpheus-3b", "streams": 10}, engine="evaluator", today=TODAY)
    assert not any(item.id.startswith("unchecked") for item in spoken.warnings)
    assert spoken.recommendation is not None
    assert not spoken.recommendation.unverified


def test_a_context_beyond_the_models_own_warns(kb: whygpu.KnowledgeBase) -> None:
    """aiconfigurator-configs: Llama 3.1 is made for 131,072 positions; litgpt-config: Llama 3 for 8,192."""
    for model, limit in (("llama-3-8b", 8192), ("llama-3.1-8b", 131072)):
        for tokens, warned in ((limit, False), (limit + 1, True)):
            advice = kb.advise({"model": model, "context_tokens": tokens}, engine="evaluator", today=TODAY)
            said = [item.text for item in advice.warnings if item.id == "longer-than-the-model"]
            assert bool(said) == warned
            assert all(f"{limit:,}" in text for text in said)
    short = kb.advise({"model": "tinyllama-1.1b"}, engine="evaluator", today=TODAY)
    assert not any(item.id == "longer-than-the-model" for item in short.warnings)
    assert {item.answer: item.value for item in short.assumed}["context_tokens"] == 2048
