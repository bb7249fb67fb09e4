"""What a sizing is asked and answers: bad input by name, what is assumed, the rules, formulas that add up."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import pytest

import whygpu
from whygpu.answers import node_of
from whygpu.checks.calculation import Calculation
from whygpu.errors import AnswerError
from whygpu.measured.measurement import Measurement
from whygpu.measured.read import measurement_of
from whygpu.sizing.service_size import ServiceSize
from whygpu.sizing.sized import Sized
from whygpu.sizing.training import TrainingSize

LOADS = [(1, 1.0, 1400), (2, 1.9, 1500), (4, 3.4, 1700), (8, 5.6, 2100), (16, 7.5, 3200), (32, 8.0, 6500)]
SERVE = {"requests_per_second": 15, "p95_ms": 4000, "accelerators": "l40s", "criticality": "production"}
SCALING = [(1, 1, 20_000), (4, 1, 77_000), (8, 1, 146_000), (16, 2, 275_000), (32, 4, 500_000)]
TRAIN = {"dataset_tokens": "300B", "deadline_hours": 480}


def _measured(kb: whygpu.KnowledgeBase, data: Mapping[str, Any], name: str = "mine") -> Measurement:
    return measurement_of(node_of({"measurement": 1, **data}, name), name, kb.knowledge)


def _loads(kb: whygpu.KnowledgeBase, count: int = len(LOADS), **setup: object) -> Measurement:
    points = [
        {
            "concurrency": concurrency,
            "requests_per_s": per_s,
            "latency_mean_ms": 1000 * concurrency / per_s,
            "latency_p50_ms": 950 * concurrency / per_s,
            "latency_p95_ms": p95,
            "output_tokens": 200,
        }
        for concurrency, per_s, p95 in LOADS[:count]
    ]
    return _measured(kb, {"setup": setup, "points": points})


def _run(kb: whygpu.KnowledgeBase, **figures: float) -> Measurement:
    setup = {"accelerator": "h100-sxm-80gb", "count": 8, "nodes": 1, "batch_size": 4, "sequence_tokens": 4096}
    rows = [{"accelerators": count, "nodes": nodes, "tokens_per_s": rate} for count, nodes, rate in SCALING]
    return _measured(kb, {"setup": setup, "figures": figures, "scaling": rows})


@pytest.fixture(scope="module")
def service(kb: whygpu.KnowledgeBase) -> Sized:
    return kb.size_inference([_loads(kb)], SERVE)


@pytest.fixture(scope="module")
def run_sized(kb: whygpu.KnowledgeBase) -> Sized:
    return kb.size_training([_run(kb, checkpoint_s=40, input_share=0.2)], TRAIN)


def _rules(sized: Sized) -> set[str]:
    return {rule for item in (*sized.advice, *sized.warnings) for rule in item.rules}


@pytest.mark.slow
def test_procedure_of_a_service_ai_rng_23_and_24(service: Sized) -> None:
    """ai-rng-23: throughput by load, p95 at real concurrency, where latency turns unstable. ai-rng-24: objective,
    batching policy, target utilisation, replicas for the peak (peak / usable capacity), redundancy.
    """
    size = service.size
    assert isinstance(size, ServiceSize)
    assert {"cap-what-is-in-flight", "knee-of-the-load-test", "spare-replicas-carry-the-peak"} <= _rules(service)
    assert size.usable_per_s is not None
    assert size.needed == math.ceil(15 / size.usable_per_s)
    assert size.replicas == size.needed + 1
    assert size.promised_s is not None
    assert size.promised_s <= 4.0
    claims = {claim for item in service.advice for claim in item.claims}
    assert {"ai-rng-23", "ai-rng-24", "ai-rng-31"} <= claims
    assert size.usd_per_month == pytest.approx((size.usd_per_hour or 0) * 730)


def test_procedure_of_a_training_run_ai_rng_22(run_sized: Sized) -> None:
    """ai-rng-22: the step's parts, scaling within a machine, then across machines, checkpoint overhead and recovery."""
    size = run_sized.size
    assert isinstance(size, TrainingSize)
    assert (size.job.scales.within.fitted, size.job.scales.across.fitted) == (2, 2)
    assert {"run-sized-from-measurements", "write-checkpoints-this-often", "run-has-headroom"} <= _rules(run_sized)
    assert "speed-up-input-before-adding" in _rules(run_sized)
    assert size.best.all_days <= 20
    cheaper = [run for run in size.runs if run.all_days <= 20 and (run.usd or 0) < (size.best.usd or 0)]
    assert cheaper == []
    assert size.best.efficiency == pytest.approx(275_000 / 16 / 20_000, rel=0.02), "as was measured on 16"


@pytest.mark.parametrize("name", ["service", "run_sized"])
def test_every_formula_gives_its_figure(name: str, request: pytest.FixtureRequest) -> None:
    sized: Sized = request.getfixturevalue(name)
    found = [*sized.said.knowledge.sourced_sizing(sized.size.calculations)]
    assert found
    for item in found:
        assert _evaluated(item) == pytest.approx(item.value, rel=1e-6), item.name
        assert item.sources, item.name


def _evaluated(item: Calculation) -> float:
    names = {term.name: term.value for term in item.terms}
    assert set(re.findall(r"[A-Za-z_]\w*", item.formula)) <= {*names, "min", "max", "ceil"}
    allowed = {"min": min, "max": max, "ceil": lambda value: math.ceil(value - 1e-9), "__builtins__": {}}
    return float(eval(item.formula, allowed, names))


def test_the_trace_holds_rules_and_arithmetic(service: Sized) -> None:
    trace = service.to_dict()["trace"]
    assert any(fact["name"] == "sizing.needed" for fact in trace["facts"])
    assert any(step.get("rule") == "cap-what-is-in-flight" for step in trace["steps"])


def test_both_engines_say_the_same(kb: whygpu.KnowledgeBase, service: Sized) -> None:
    other = kb.size_inference([_loads(kb)], SERVE, engine="evaluator")
    assert other.advice == service.advice
    assert other.size.figures() == service.size.figures()


@pytest.mark.slow
def test_criticality_sets_utilisation_and_redundancy(kb: whygpu.KnowledgeBase) -> None:
    count = {}
    for criticality in ("personal", "production", "mission-critical"):
        size = kb.size_inference([_loads(kb)], {**SERVE, "criticality": criticality}).size
        assert isinstance(size, ServiceSize)
        count[criticality] = (size.demand.utilisation.value, int(size.demand.zones.value), size.replicas)
    assert count["personal"][:2] == (0.95, 1)
    assert count["production"][:2] == (0.9, 1)
    assert count["mission-critical"][:2] == (0.8, 3)
    replicas = [item[2] for item in count.values()]
    assert replicas == sorted(replicas, key=lambda value: value or 0)


def test_an_answer_comes_before_a_rule(kb: whygpu.KnowledgeBase) -> None:
    size = kb.size_inference([_loads(kb)], {**SERVE, "spare_replicas": 3, "target_utilisation": "50%"}).size
    assert isinstance(size, ServiceSize)
    assert size.replicas == (size.needed or 0) + 3
    assert size.demand.utilisation.how == "answered"
    assert (size.usable_per_s or 9) <= 0.5 * size.service.curve.best_per_s


def test_an_objective_below_one_request_alone_says_what_would_help(kb: whygpu.KnowledgeBase) -> None:
    sized = kb.size_inference([_loads(kb)], {**SERVE, "p95_ms": 900})
    assert not sized.possible
    (warning,) = sized.warnings
    assert "What helps" in warning.text
    assert warning.rules == ("no-replica-is-fast-enough",)
    assert "spare-replicas-carry-the-peak" not in _rules(sized)


def test_without_a_limit_p95_at_the_knee_is_taken_and_said(kb: whygpu.KnowledgeBase) -> None:
    sized = kb.size_inference([_loads(kb)], {key: value for key, value in SERVE.items() if key != "p95_ms"})
    (basis,) = [item for item in sized.size.basis if item.name == "p95_ms"]
    assert basis.how == "assumed"
    assert basis.value == 2100


def test_loads_that_show_no_p95_are_sized_by_throughput_alone(kb: whygpu.KnowledgeBase) -> None:
    """One batch, as 'whygpu measure' writes it: its median is no limit that anybody asked for."""
    measured = _measured(kb, {"points": [{"batch": 100, "requests_per_s": 4.0, "latency_p50_ms": 25_000}]})
    sized = kb.size_inference([measured], {"requests_per_second": 10, "usd_per_hour": 0.1})
    assert isinstance(sized.size, ServiceSize)
    assert sized.size.decides in ("throughput", "utilisation")
    assert sized.size.needed == 3
    assert "no limit on latency is answered" in sized.size.notes[0]


@pytest.mark.slow
def test_limits_on_first_and_further_tokens_are_held_by_what_was_measured(kb: whygpu.KnowledgeBase) -> None:
    points = [
        {
            "concurrency": n, "requests_per_s": per_s, "output_tokens": 100,
            "ttft_p50_ms": 50 * n**0.5, "ttft_p95_ms": 90 * n**0.5, "tpot_p50_ms": 10 + n, "tpot_p95_ms": 12 + n,
        }
        for n, per_s, _ in LOADS
    ]  # fmt: skip
    measured = _measured(kb, {"points": points})
    free, first, token = (
        kb.size_inference(
            [measured], {"requests_per_second": 40, "criticality": "personal", "p95_ms": 60_000, **limit}
        ).size
        for limit in ({}, {"latency_ms": 200}, {"token_latency_ms": 18})
    )
    assert isinstance(free, ServiceSize)
    assert isinstance(first, ServiceSize)
    assert isinstance(token, ServiceSize)
    assert (free.needed or 0) < (first.needed or 0)
    assert (free.needed or 0) < (token.needed or 0)


def _growing(kb: whygpu.KnowledgeBase, each_gib: float = 0.5, **figures: float) -> Measurement:
    points = [
        {"concurrency": n, "requests_per_s": x, "latency_mean_ms": 1000 * n / x,
         "input_tokens": 1800, "output_tokens": 200, "memory_gib": 16 + each_gib * n}
        for n, x, _ in LOADS
    ]  # fmt: skip
    return _measured(kb, {"setup": {"accelerator": "l40s"}, "figures": figures, "points": points})


def test_longer_requests_than_were_measured_are_bounded_by_memory(kb: whygpu.KnowledgeBase) -> None:
    """ai-rng-23: memory grows with the length and number of requests; 2,000 tokens each were tested, 0.5 GiB each."""
    usable = kb.knowledge.catalogue.usable_bytes(kb.knowledge.catalogue.accelerators["l40s"]) / 2**30
    same, longer = (kb.size_inference([_growing(kb)], {**SERVE, "context_tokens": count}) for count in (2000, 32_000))
    assert isinstance(same.size, ServiceSize)
    assert isinstance(longer.size, ServiceSize)
    assert same.size.service.curve.cap == 32
    assert "memory-caps-what-is-in-flight" not in _rules(same)
    assert longer.size.service.curve.cap == math.floor((usable - 16) / 0.5 / 16)
    assert "memory-caps-what-is-in-flight" in _rules(longer)
    assert "cap-what-is-in-flight" not in _rules(longer)
    assert (longer.size.needed or 0) > (same.size.needed or 0)
    assert any("32,000 tokens and had 2,000" in note for note in longer.size.notes)


def test_a_start_up_log_says_what_the_cache_holds(kb: whygpu.KnowledgeBase) -> None:
    measured = _growing(kb, each_gib=0.0, kv_cache_tokens=40_000)
    found = kb.size_inference([measured], {**SERVE, "context_tokens": 8000}).size
    assert isinstance(found, ServiceSize)
    assert found.service.curve.cap == 5
    with pytest.raises(AnswerError, match="holds 40,000 tokens, and a request has 50,000"):
        kb.size_inference([measured], {**SERVE, "context_tokens": 50_000})
    flat = kb.size_inference([_growing(kb, each_gib=0.0)], {**SERVE, "context_tokens": 8000}).size
    assert isinstance(flat, ServiceSize)
    assert flat.service.curve.cap == 32, "a server that takes all memory beforehand shows nothing of its requests"


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ({}, "requests_per_second"),
        ({"requests_per_second": 5, "burstyness": 1}, "did you mean 'burstiness'"),
        ({"requests_per_second": 5, "burstiness": 3}, "between 0.2 and 1"),
        ({"requests_per_second": 5, "zones": 1.5}, "whole number"),
        ({"requests_per_second": 5, "latency_ms": 200}, "the load test does not have"),
        ({"requests_per_second": 5, "measured": 3}, "holds figures by name"),
        ({"requests_per_second": 5, "measured": {"stepms": 3}}, "did you mean 'step_ms'"),
    ],
)
def test_bad_answers_are_named(kb: whygpu.KnowledgeBase, answers: dict[str, Any], part: str) -> None:
    with pytest.raises(AnswerError) as caught:
        kb.size_inference([_loads(kb)], answers)
    assert part in str(caught.value)


def test_a_load_test_without_latency_is_refused(kb: whygpu.KnowledgeBase) -> None:
    measured = _measured(kb, {"points": [{"concurrency": 4}]})
    with pytest.raises(AnswerError, match="no load says"):
        kb.size_inference([measured], {"requests_per_second": 5})


def test_measurements_that_contradict_each_other_are_refused_by_name(kb: whygpu.KnowledgeBase) -> None:
    one = _measured(kb, {"setup": {"accelerator": "l4"}, "figures": {"step_ms": 5}}, "one.yaml")
    other = _measured(kb, {"setup": {"accelerator": "l40s"}, "figures": {"step_ms": 6}}, "other.yaml")
    with pytest.raises(AnswerError) as caught:
        kb.size_training([one, other], {"steps": 100})
    text = str(caught.value)
    assert "'step_ms' is 5.0 in one.yaml and 6.0 in other.yaml" in text
    assert "one.yaml is of accelerator l4, other.yaml of l40s" in text
    with pytest.raises(AnswerError, match="and 'accelerators' is t4"):
        kb.size_inference([_loads(kb, accelerator="l4")], {"requests_per_second": 5, "accelerators": "t4"})


def test_setups_of_several_files_are_one_and_may_not_differ(kb: whygpu.KnowledgeBase) -> None:
    one = _measured(kb, {"setup": {"batch_size": 4}, "figures": {"step_ms": 900}}, "one.yaml")
    more = _measured(kb, {"setup": {"batch_size": "4", "sequence_tokens": 4096}}, "more.yaml")
    sized = kb.size_training([one, more], {"dataset_tokens": "1B", "accelerators": "l40s"})
    (paced,) = [item for item in sized.size.basis if item.name == "per_s"]
    assert paced.value == pytest.approx(4 * 4096 / 0.9)
    other = _measured(kb, {"setup": {"batch_size": 8, "sequence_tokens": 2048}}, "other.yaml")
    with pytest.raises(AnswerError) as caught:
        kb.size_training([more, other], {"dataset_tokens": "1B"})
    text = str(caught.value)
    assert "more.yaml is of batch_size 4.0, other.yaml of 8.0" in text
    assert "sequence_tokens 4096.0, other.yaml of 2048.0" in text


@pytest.mark.slow
def test_several_files_are_taken_together(kb: whygpu.KnowledgeBase) -> None:
    whole = kb.size_inference([_loads(kb)], SERVE)
    parts = [_measured(kb, {"points": [{"concurrency": n, "requests_per_s": x, "latency_mean_ms": 1000 * n / x, "latency_p50_ms": 950 * n / x, "latency_p95_ms": p, "output_tokens": 200}]}, f"{n}") for n, x, p in LOADS]  # fmt: skip  # noqa: E501
    assert kb.size_inference(parts, SERVE).size.figures() == whole.size.figures()


@pytest.mark.slow
def test_few_loads_say_what_they_cannot_show(kb: whygpu.KnowledgeBase) -> None:
    sized = kb.size_inference([_loads(kb, 2)], SERVE)
    assert any("two loads cannot show" in note for note in sized.size.notes)
    assert "knee-of-the-load-test" not in _rules(sized)


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ({}, "the amount of training is not given"),
        ({"dataset_tokens": "1B", "steps": 10}, "dataset_tokens and steps both say"),
        ({"dataset_samples": 100}, "neither a measured pace in samples"),
        ({"dataset_tokens": "1B", "max_count": 0.5}, "max_count"),
    ],
)
def test_bad_training_answers_are_named(kb: whygpu.KnowledgeBase, answers: dict[str, Any], part: str) -> None:
    rows = [{"accelerators": 8, "nodes": 1, "tokens_per_s": 146_000}]
    with pytest.raises(AnswerError) as caught:
        kb.size_training([_measured(kb, {"scaling": rows})], answers)
    assert part in str(caught.value)


def test_no_count_in_time_says_so_and_takes_the_fastest(kb: whygpu.KnowledgeBase) -> None:
    sized = kb.size_training([_run(kb)], {"dataset_tokens": "300B", "deadline_hours": 1})
    assert not sized.possible
    assert "no-count-meets-the-deadline" in _rules(sized)
    size = sized.size
    assert isinstance(size, TrainingSize)
    assert size.best.all_days == min(run.all_days for run in size.runs)


def test_what_was_not_measured_is_estimated_and_marked(kb: whygpu.KnowledgeBase) -> None:
    answers = {"model": "llama-3.1-8b", "accelerators": "h100-sxm-80gb", "count": 8, "dataset_tokens": "1B"}
    sized = kb.size_training([], answers)
    by_name = {item.name: item for item in sized.size.basis}
    assert by_name["per_s"].how == "estimated"
    assert by_name["checkpoint_s"].how == "assumed"
    assert by_name["failures_per_day"].sources == ("llama-3-interruptions", "research-cluster-reliability")
    assert "scaling-was-assumed" in _rules(sized)
    plan = kb.estimate({**answers, "phase": "training"})
    band = plan.speed["train_tokens_per_s"]
    assert band is not None
    assert by_name["per_s"].value == pytest.approx(band.likely)


def test_measured_figures_may_be_answered(kb: whygpu.KnowledgeBase) -> None:
    sized = kb.size_training([_run(kb)], {**TRAIN, "measured": {"checkpoint_s": 120, "failures_per_day": 2}})
    size = sized.size
    assert isinstance(size, TrainingSize)
    assert size.job.checkpoint_s == 120
    assert size.job.failures_per_day == pytest.approx(2 / 8)
    assert "much-is-lost-to-failures" in _rules(sized)


def test_a_batch_may_be_answered_beside_a_typed_step(kb: whygpu.KnowledgeBase) -> None:
    setup = {"batch_size": 4, "sequence_tokens": 4096}
    asked = {"dataset_tokens": "1B", "accelerators": "l40s"}
    answered = kb.size_training([], {**asked, **setup, "measured": {"step_ms": 900}})
    measured = kb.size_training([_measured(kb, {"setup": setup, "figures": {"step_ms": 900}})], asked)
    assert isinstance(answered.size, TrainingSize)
    assert isinstance(measured.size, TrainingSize)
    assert answered.size.best == measured.size.best
