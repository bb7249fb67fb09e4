"""A lifecycle: what each phase reads of the answers, what is refused and where, and what the cost says."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whygpu
from whygpu.answers import read_text
from whygpu.chain.names import EngineName
from whygpu.consult.names import LIFE_KEYS

TODAY = date(2026, 11, 21)
TRAIN = {"phase": "fine-tuning", "method": "lora", "dataset_tokens": "100M"}
LIFE: dict[str, Any] = {
    "phases": {"train": TRAIN, "serve": {"concurrency": 4}},
    "model": "llama-3.1-8b",
    "service_months": 12,
    "accelerators": ["A100 80GB", "L4", "RTX 4090"],
}


def lived(
    kb: whygpu.KnowledgeBase, answers: dict[str, Any], engine: EngineName = "evaluator"
) -> whygpu.LifecycleAdvice:
    found = kb.advise(answers, engine=engine, today=TODAY)
    assert isinstance(found, whygpu.LifecycleAdvice)
    return found


def test_each_phase_is_what_it_is_alone(kb: whygpu.KnowledgeBase) -> None:
    """ai-rng-02: the two are sized apart."""
    found = lived(kb, LIFE)
    shared = {"model": "llama-3.1-8b", "accelerators": LIFE["accelerators"]}
    train = kb.advise(shared | TRAIN, engine="evaluator", today=TODAY)
    serving = {"phase": "inference", "concurrency": 4, "service_months": LIFE["service_months"]}
    serve = kb.advise(shared | serving, engine="evaluator", today=TODAY)
    assert found.train.plans == train.plans
    assert found.serve.plans == serve.plans
    assert found.phases == (found.train, found.serve)


def test_both_engines_agree(kb: whygpu.KnowledgeBase) -> None:
    durable, evaluator = (lived(kb, LIFE, engine).to_dict() for engine in ("durable", "evaluator"))
    for found, name in ((durable, "durable"), (evaluator, "evaluator")):
        assert [item.pop("engine") for item in (found, *found["phases"])] == [name] * 3
    assert durable == evaluator
    assert durable["life_cost"]["advice"]


def test_shared_answers_go_where_they_apply(kb: whygpu.KnowledgeBase) -> None:
    answers = {
        **LIFE,
        "batch_size": 4,
        "context_tokens": "8k",
        "phases": {"train": TRAIN, "serve": {}},
        "concurrency": 4,
    }
    found = lived(kb, answers)
    assert "batch_size" in found.train.answers
    assert not {"concurrency", "context_tokens", "service_months", "phases"} & set(found.train.answers)
    assert {"concurrency", "context_tokens", "service_months"} <= set(found.serve.answers)
    assert "batch_size" not in found.serve.answers
    assert not [item for advice in found.phases for item in advice.warnings]
    assert found.answers == answers


def test_an_answer_of_the_other_phase_warns_as_with_one_phase(kb: whygpu.KnowledgeBase) -> None:
    answers = {**LIFE, "phases": {"train": {**TRAIN, "concurrency": 4}, "serve": {}}}
    assert [item.id for item in lived(kb, answers).train.warnings] == ["ignored-concurrency"]


@pytest.mark.parametrize(
    ("train", "assumed"), [({}, "training"), ({"method": "lora"}, "fine-tuning"), ({"lora_rank": 8}, "fine-tuning")]
)
def test_the_phase_is_assumed_with_its_reason(kb: whygpu.KnowledgeBase, train: dict[str, Any], assumed: str) -> None:
    found = lived(kb, {**LIFE, "phases": {"train": train, "serve": None}})
    values = [next(item for item in advice.assumed if item.answer == "phase") for advice in found.phases]
    assert [item.value for item in values] == [assumed, "inference"]
    assert all(item.because for item in values)


PROBLEMS = """
phases: 3 -> 1:9 wrong-type
phases: {train: {}} -> 1:9 missing-key
phases: {train: {}, serve: {}, test: {}} -> 1:32 unknown-key
phases: {train: [], serve: 3} -> 1:17 wrong-type, 1:28 wrong-type
{phases: {train: {}, serve: {}}, phase: training} -> 1:34 clash
{phases: {train: {phase: inference}, serve: {phase: training}}} -> 1:26 wrong-phase, 1:53 wrong-phase
{phases: {train: {}, serve: {phases: {}}}} -> 1:30 whole-life
{phases: {train: {}, serve: {}}, streams: 2} -> 1:34 applies-to-neither
{phases: {train: {}, serve: {concurrency: 2}}, concurrency: 4} -> 1:48 clash
{phases: {train: {task: vision}, serve: {task: vision}}, task: speech} -> 1:58 clash
{phases: {train: {}, serve: {}}, modle: x} -> 1:34 unknown-key
{phases: {train: {epochs: none}, serve: {}}, concurrency: few} -> 1:59 wrong-type, 1:27 wrong-type
{phases: {train: {}, serve: {}}, service_months: 0} -> 1:50 out-of-range
""".strip().splitlines()


@pytest.mark.parametrize("line", PROBLEMS)
def test_what_is_wrong_is_said_once_with_its_place(kb: whygpu.KnowledgeBase, line: str) -> None:
    text, _, expected = line.rpartition(" -> ")
    with pytest.raises(whygpu.AnswerError) as caught:
        kb.advise(read_text(text, "x"), engine="evaluator")
    found = [f"{item.location.line}:{item.location.column} {item.code}" for item in caught.value.problems]
    assert sorted(found) == sorted(expected.split(", "))
    assert all(item.help for item in caught.value.problems if item.code != "out-of-range")


def test_a_single_phase_refuses_a_life(kb: whygpu.KnowledgeBase) -> None:
    for ask in (kb.check, kb.consult, kb.estimate):
        with pytest.raises(whygpu.AnswerError, match="lifecycle"):
            ask({"phases": {"train": {}, "serve": {}}, "accelerators": ["l4"]})


def test_the_cost_adds_up_and_says_what_it_rests_on(kb: whygpu.KnowledgeBase) -> None:
    found = lived(kb, {**LIFE, "phases": {"train": {**TRAIN, "training_runs": 2, "retrain_months": 3}, "serve": {}}})
    cost, run, hourly = found.cost, found.train.recommendation, found.serve.recommendation
    assert cost is not None
    assert run is not None
    assert run.cost is not None
    assert run.cost.usd_total is not None
    assert hourly is not None
    assert hourly.cost is not None
    assert cost.train_usd == pytest.approx(8 * run.cost.usd_total)
    assert cost.usd_per_month == pytest.approx(hourly.cost.usd_per_month)
    assert cost.usd_total == pytest.approx(8 * run.cost.usd_total + 12 * hourly.cost.usd_per_month)
    facts = {fact.name: fact for fact in found.trace.facts}
    (total,) = [step for step in found.trace.steps if facts["life.usd_total"].id in step.gives]
    assert total.formula == "train_usd + serve_usd"
    assert {term.name: term.value for term in total.terms}["serve_usd"] == cost.serve_usd
    rules = {step.rule for step in found.trace.steps if step.rule}
    assert {rule for item in found.advice for rule in item.rules} == rules


def test_only_rules_about_a_life_speak_of_its_cost(kb: whygpu.KnowledgeBase) -> None:
    fired = {rule.id for rule in lived(kb, LIFE).said.fired}
    assert fired
    assert fired <= {rule.id for rule in kb.knowledge.rules if rule.topic == "life"}


def test_what_only_the_cost_rests_on_changes_no_plan(kb: whygpu.KnowledgeBase) -> None:
    answers = {key: value for key, value in LIFE.items() if key != "service_months"}
    opened = {item.question: item for advice in lived(kb, answers).phases for item in advice.open}
    for key in LIFE_KEYS:
        assert not opened[key].could_change
        assert "cost of the lifecycle" in opened[key].why


KEYS = st.sampled_from(["phase", "phases", "model", "method", "concurrency", "dataset_tokens", "count", "owt"])
WORDS = st.sampled_from(["inference", "training", "llama-3.1-8b", "lora", "8B", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(1, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
PHASES = st.dictionaries(KEYS, VALUES, max_size=2) | VALUES


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PHASES, PHASES, VALUES)
def test_whatever_is_given_is_answered_or_refused(
    kb: whygpu.KnowledgeBase, train: object, serve: object, model: object
) -> None:
    answers = {"model": model, "phases": {"train": train, "serve": serve}, "accelerators": ["l4"]}
    with suppress(whygpu.AnswerError):
        found = lived(kb, answers)
        assert found.to_dict()["life_cost"]["train"]["runs"] == 1


def test_what_if_stays_in_its_phase(kb: whygpu.KnowledgeBase) -> None:
    found = lived(kb, {**LIFE, "phases": {"train": {"dataset_tokens": "1B"}, "serve": {}}})
    after = found.train.what_if(dataset_tokens="2B").advice
    assert next(item.value for item in after.assumed if item.answer == "phase") == "training"


@pytest.mark.parametrize(
    ("train", "serve", "unknown", "because"),
    [
        ({"dataset_tokens": None}, {}, {"train"}, "answer dataset_tokens"),
        (
            {"accelerators": ["b100"], "deployment": "cloud"},
            {"deployment": "cloud"},
            {"train", "same_hardware"},
            "no price is known for",
        ),
        ({}, {"accelerators": ["b100"], "deployment": "cloud"}, {"serve"}, "no price is known for"),
        (
            {"accelerators": ["l4"]},
            {"model": "llama-3.1-405b", "count": 1, "accelerators": ["l4"]},
            {"serve", "same_hardware"},
            "no plan to serve",
        ),
        (
            {"accelerators": ["t4"], "max_count": 1, "method": "full"},
            {},
            {"train", "same_hardware"},
            "no plan to train",
        ),
        (
            {"accelerators": ["RTX 4090"]},
            {"model": "llama-3.1-405b", "max_count": 8},
            {"same_hardware"},
            "cannot serve",
        ),
    ],
)
def test_what_is_not_known_is_null_with_its_reason(
    kb: whygpu.KnowledgeBase, train: dict[str, Any], serve: dict[str, Any], unknown: set[str], because: str
) -> None:
    answers = {"phases": {"train": TRAIN | train, "serve": serve}, "model": "llama-3.1-8b"}
    cost = lived(kb, answers).to_dict()["life_cost"]
    assert {part for part in ("train", "serve", "same_hardware") if cost[part]["because"]} == unknown
    assert any(because in cost[part]["because"] for part in unknown)
    assert (cost["usd_total"] is None) == bool(unknown & {"train", "serve"})
    assert (cost["serving_share"] is None) == (cost["usd_total"] is None)
    for part, key in (("train", "usd_total"), ("serve", "usd_total"), ("same_hardware", "serve_usd_total")):
        assert (cost[part][key] is None) == (part in unknown)


def test_every_phase_has_a_profile_with_claims(kb: whygpu.KnowledgeBase) -> None:
    knowledge = kb.knowledge
    assert set(knowledge.profiles) == set(knowledge.name_by_answer["phase"].values)
    for phase, profile in knowledge.profiles.items():
        found = kb.advise({"phase": phase, "model": "llama-3.1-8b"}, engine="evaluator").profile
        assert found is profile
        assert all(source in knowledge.claims for point in profile.points for source in point.sources)
