"""Measured signs in, causes out: the worked diagnoses, both engines alike, and what is asked for next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whygpu
from whygpu.diagnosis.diagnosis import Diagnosis
from whygpu.knowledge.causes import DiagnosisCase
from whygpu.knowledge.rules import Sign
from whygpu.lint.diagnoses import check_diagnoses
from whygpu.lint.registry import lint
from whygpu.measured.read import figure_names

SYMPTOMS = (
    *("runpod-52", "runpod-53", "nuface-08", "ai-rng-19", "ai-rng-21", "ai-rng-27"),
    *("ai-rng-28", "ai-rng-29", "ai-rng-30"),
)
"""Claims of the corpus that name a symptom and its cause."""


def diagnose(kb: whygpu.KnowledgeBase, figures: dict[str, Any], phase: str | None = None, **more: Any) -> Diagnosis:
    setup = {} if phase is None else {"phase": phase}
    return kb.diagnose({"measurement": 1, "setup": setup, "figures": figures}, **more)


def weights(found: Diagnosis) -> dict[str, float]:
    return {cause.id: cause.weight for cause in found.causes}


@pytest.mark.parametrize("engine", ["durable", "evaluator"])
def test_worked_diagnoses(whole_kb: whygpu.KnowledgeBase, engine: Any) -> None:
    assert [str(problem) for problem in check_diagnoses(whole_kb, engine)] == []


@pytest.mark.parametrize("claim", SYMPTOMS)
def test_every_symptom_is_demonstrated(claim: str, whole_kb: whygpu.KnowledgeBase) -> None:
    """A case shows where the claim leads to a cause, and another where it rightly does not."""
    cases: tuple[DiagnosisCase, ...] = whole_kb.knowledge.diagnoses
    assert any(claim in case.sources and case.expected.likely for case in cases)
    assert any(claim in case.spares for case in cases)
    rules = [rule for rule in whole_kb.knowledge.rules if claim in rule.sources]
    assert any(isinstance(effect, Sign) for rule in rules for effect in rule.effects)


def test_nothing_is_amiss_in_the_causes(kb: whygpu.KnowledgeBase) -> None:
    codes = {"unsigned-cause", "no-measure", "idle-measure"}
    assert [str(item) for item in lint(kb.knowledge) if item.code in codes] == []


def test_a_cause_has_its_rules_numbers_and_claims(kb: whygpu.KnowledgeBase) -> None:
    found = diagnose(kb, {"gpu_utilisation": "55%", "input_share": "30%"}, "training")
    assert found.status == "found"
    assert found.work == "training"
    assert found.first is not None
    assert found.first.id == "input-pipeline"
    assert found.first.standing == "likely"
    assert [sign.rule for sign in found.first.signs] == ["input-takes-the-step", "gpu-waits-in-training"]
    assert not found.first.against
    assert found.first.weight == sum(sign.weight for sign in found.first.favourable)
    sign = found.first.signs[0]
    assert "30.0%" in sign.text
    assert sign.place.startswith("rules/diagnosis.yaml:")
    assert "ai-rng-19" in sign.claims
    assert sign.conditions
    fired = {step.rule for step in found.trace.steps if step.kind == "rule" and step.status == "fired"}
    assert {sign.rule for cause in found.causes for sign in cause.signs} <= fired
    origins = {fact.name: fact.origin for fact in found.trace.facts}
    assert origins["measured.input_share"] == "measured"


def test_nothing_measured(kb: whygpu.KnowledgeBase) -> None:
    found = kb.diagnose()
    assert (found.status, found.first, found.causes, found.work) == ("none", None, (), None)
    assert found.next


def test_what_was_measured_rules_causes_out(kb: whygpu.KnowledgeBase) -> None:
    found = weights(diagnose(kb, {"gpu_utilisation": 1}, "training", ask=False))
    assert found["input-pipeline"] < 0 < found["compute-limit"]


FIGURES: dict[str, tuple[float, float]] = {
    "gpu_utilisation": (0, 1),
    "input_share": (0, 0.4),
    "communication_share": (0, 0.4),
    "sm_active": (0, 1),
    "tensor_active": (0, 1),
    "dram_active": (0, 1),
    "host_share": (0, 0.6),
    "kv_cache_usage": (0, 1),
    "requests_waiting": (0, 50),
    "thermal_share": (0, 0.2),
    "scaling_efficiency": (0.2, 1),
    "rank_spread": (1, 1.5),
    "latency_growth": (1, 20),
    "throughput_growth": (1, 20),
    "last_latency_growth": (1, 20),
    "last_throughput_growth": (1, 20),
    "cpu_utilisation": (0, 1),
    "preemption_share": (0, 0.05),
    "memory_swing": (0, 0.5),
    "failed_share": (0, 0.1),
}
MEASURED = st.fixed_dictionaries({}, optional={name: st.floats(*bounds) for name, bounds in FIGURES.items()})
PHASES = st.sampled_from([None, "training", "fine-tuning", "inference", "batch-inference"])


@settings(max_examples=40)
@given(figures=MEASURED, phase=PHASES)
def test_both_engines_agree(kb: whygpu.KnowledgeBase, figures: dict[str, float], phase: str | None) -> None:
    known = {name: value for name, value in figures.items() if name in figure_names(kb.knowledge)}
    one = diagnose(kb, known, phase, engine="durable", ask=False)
    other = diagnose(kb, known, phase, engine="evaluator", ask=False)
    assert one.causes == other.causes
    assert (one.status, one.work, one.measured, one.questions) == (
        other.status,
        other.work,
        other.measured,
        other.questions,
    )


@settings(max_examples=15)
@given(figures=MEASURED, phase=PHASES)
@pytest.mark.slow
def test_what_is_asked_next_tells_apart(kb: whygpu.KnowledgeBase, figures: dict[str, float], phase: str | None) -> None:
    known = {name: value for name, value in figures.items() if name in figure_names(kb.knowledge)}
    found = diagnose(kb, known, phase, engine="evaluator")
    measured = {item.figure for item in found.measured}
    worth = [item.worth for item in found.next]
    assert not measured & {item.figure for item in found.next}
    assert all(value > 0 for value in worth)
    if found.first is not None:
        assert worth == sorted(worth, reverse=True)
    for item in found.next:
        assert item.possible
        assert item.take
        assert set(item.apart) <= kb.knowledge.causes.keys()


def test_an_answer_leaves_the_cause_that_was_said(kb: whygpu.KnowledgeBase) -> None:
    """What each answer of the next measurement is said to lead to is what it then leads to."""
    figures = {"latency_p50_ms": 500, "gpu_utilisation": 0.5}
    found = diagnose(kb, figures, "training")
    item = next(item for item in found.next if item.figure == "measured.input_share")
    tried = {"below 3.0%": (0.0, 0.029), "3.0% or more": (0.031, 0.06, 0.11, 0.5)}
    assert [one.answer for one in item.possible] == list(tried)
    for one in item.possible:
        for value in tried[one.answer]:
            after = diagnose(kb, {**figures, "input_share": value}, "training", ask=False)
            assert (after.first.id if after.status == "found" and after.first else None) == one.leads


def test_it_asks_for_what_separates_two_causes(kb: whygpu.KnowledgeBase) -> None:
    """Communication that grows may be the link or one slow process: their step times tell."""
    rows = [{"accelerators": 8, "communication_share": 0.18}, {"accelerators": 16, "communication_share": 0.3}]
    found = kb.diagnose({"measurement": 1, "setup": {"phase": "training"}, "scaling": rows})
    assert found.next[0].figure == "measured.rank_spread"
    assert set(found.next[0].apart) >= {"communication", "unbalanced-cluster"}
    assert {one.leads for one in found.next[0].possible} == {"communication", "unbalanced-cluster"}


def test_two_values_of_one_figure_are_questioned(kb: whygpu.KnowledgeBase) -> None:
    found = kb.diagnose(
        {"measurement": 1, "figures": {"gpu_utilisation": 0.5}},
        {"measurement": 1, "figures": {"gpu_utilisation": 0.9}},
        ask=False,
    )
    (question,) = [item for item in found.questions if item.code == "two-values"]
    assert "50.0%" in question.message
    assert "90.0%" in question.message
    (measured,) = found.measured
    assert measured.value == 0.9


def test_a_table_of_one_row_says_nothing_of_growth(kb: whygpu.KnowledgeBase) -> None:
    one = {"concurrency": 1, "requests_per_s": 1, "latency_p50_ms": 90, "latency_p95_ms": 100}
    found = kb.diagnose({"measurement": 1, "points": [one]}, ask=False)
    assert [item.code for item in found.questions] == ["too-few"]
    both = [one, {"concurrency": 16, "requests_per_s": 2, "latency_p50_ms": 700, "latency_p95_ms": 900}]
    found = kb.diagnose({"measurement": 1, "points": both}, ask=False)
    values = {item.figure: item for item in found.measured}
    assert values["measured.latency_growth"].value == pytest.approx(9)
    assert values["measured.throughput_growth"].value == pytest.approx(2)
    assert values["measured.latency_growth"].computed
    more = [*both, {"concurrency": 32, "requests_per_s": 2.1, "latency_p50_ms": 1500, "latency_p95_ms": 1800}]
    values = {item.figure: item for item in kb.diagnose({"measurement": 1, "points": more}, ask=False).measured}
    assert values["measured.throughput_growth"].value == pytest.approx(2.1)
    assert values["measured.last_throughput_growth"].value == pytest.approx(1.05), "from 16 to 32"
    assert values["measured.last_latency_growth"].value == pytest.approx(2)


def test_signs_are_silent_in_a_consultation(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({"phase": "inference", "model": "llama-3.1-8b", "accelerators": ["l4"]}, engine="evaluator")
    signing = {rule.id for rule in kb.knowledge.rules if rule.diagnoses}
    assert signing
    assert not signing & {step.rule for step in advice.trace.steps}
