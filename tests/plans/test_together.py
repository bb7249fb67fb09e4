"""Plans are timed together, and sized when they are looked at: each comes out as it does alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.effort import one_in
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.plans import plan_set
from whygpu.plans.enumerate import enumerate_plans
from whygpu.plans.plan_set import Targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu import KnowledgeBase
    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.work import Work

WORKS: tuple[dict[str, Any], ...] = (
    {"phase": "inference", "model": "llama-3.1-70b", "concurrency": 24, "latency_ms": 1500},
    {"phase": "inference", "model": "gpt-oss-120b", "concurrency": 40, "context_tokens": 32_000},
    {"phase": "inference", "model": "deepseek-v3", "concurrency": 8, "average_context_tokens": 3_000},
    {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 4, "runtime": "llama.cpp"},
    {"phase": "batch-inference", "model": "llama-3.1-8b", "dataset_tokens": 2e9},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_tokens": 2e7},
    {"phase": "training", "model": "resnet-50", "dataset_samples": 1e6},
)
TUNE: dict[str, Any] = {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_tokens": 5e7}
STEPS: dict[str, dict[str, Any]] = {
    "all weights": {"phase": "training", "model": "qwen2.5-7b", "dataset_tokens": 1e10, "deadline_hours": 200},
    "inputs at the host": {**TUNE, "method": "qlora", "offload": "activations", "sequence_tokens": 8192},
    "optimizer at the host": {**TUNE, "method": "full", "offload": "optimizer"},
    "stages": {"phase": "training", "model": "llama-3.1-405b", "dataset_tokens": 1e11},
    "rewards": {**TUNE, "algorithm": "grpo", "sequence_tokens": 4096},
    "tables": {"phase": "training", "model": "dlrm-criteo-1tb", "dataset_samples": 4e9},
    "pictures": {"phase": "training", "model": "vit-l-16", "dataset_samples": 1.28e6, "deadline_hours": 16},
}
"""Training, whose plans differ in the samples and the micro-batches of a step."""


@pytest.mark.parametrize("answers", [*one_in(3, WORKS), *(pytest.param(item, id=name) for name, item in STEPS.items())])
def test_a_plan_is_as_fast_among_others_as_alone(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    _same_alone(kb.consult(answers, engine="evaluator").plans.plan_set)


def test_weights_that_are_unpacked_each_step_count_alike_among_others(kb: KnowledgeBase) -> None:
    """bitsandbytes unpacks NF4 for each step of several requests, which says nothing of the formats beside it."""
    plans = kb.consult(WORKS[0], engine="evaluator").plans
    options = replace(plans.options, formats=("bf16", "nf4"))
    every = np.ones(len(plans.plan_set.cards.accelerators), dtype=np.bool_)
    _same_alone(enumerate_plans(plans.work, every, options, Targets()))


def _same_alone(plans: PlanSet) -> None:
    setups = [configuration.setup for configuration in plans.configurations]
    assert len({(setup.format.id, setup.batch_size, setup.gradient_accumulation) for setup in setups}) > 1
    for index in range(0, len(plans), 7):
        alone = plans.estimate(index)
        for name, column in plans.speeds.figures.items():
            band = getattr(alone, name)
            likely = np.nan if band is None else float(band.likely[0])
            assert column[index] == pytest.approx(likely, rel=1e-12, nan_ok=True), (index, name)


@pytest.mark.parametrize("answers", WORKS[:3], ids=lambda answers: answers["model"])
def test_ranges_are_the_same_one_by_one_and_together(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    plans = kb.consult(answers, engine="evaluator").plans.plan_set
    rows = range(0, min(len(plans), 200), 11)  # the first few are computed one by one
    found = {row: plans.ranges(row) for row in rows}
    again = kb.consult({**answers}, engine="evaluator").plans.plan_set.take(np.arange(len(plans)))
    for row in reversed(rows):
        for name, band in again.ranges(row).items():
            ends = found[row][name]
            assert (band is None) == (ends is None), name
            if band is not None and ends is not None:
                assert (band.low, band.likely, band.high) == pytest.approx((ends.low, ends.likely, ends.high), rel=1e-9)


def test_ways_that_were_only_tried_are_left_out(kb: KnowledgeBase) -> None:
    plans = kb.consult(WORKS[0], engine="evaluator").plans.plan_set
    assert set(plans.configuration.tolist()) == set(range(len(plans.configurations)))


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: f"{answers['phase']}-{answers['model']}")
def test_sizes_that_works_of_other_loads_share_are_those_of_each(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    load = "concurrency" if "concurrency" in answers else "epochs"
    kb.consult({**answers, load: 3}, engine="evaluator")
    result = kb.consult({**answers, load: 5}, engine="evaluator").plans
    for configuration in result.plan_set.configurations:
        own = result.work.memory(configuration.setup, configuration.layout)
        assert (configuration.memory.low, configuration.memory.total, configuration.memory.high) == (
            own.low,
            own.total,
            own.high,
        )


def test_replicas_share_a_size_only_where_each_holds_as_many_requests(kb: KnowledgeBase) -> None:
    work = kb.consult(WORKS[0], engine="evaluator").plans.work
    size = kb.consult(WORKS[0], engine="evaluator").plans.plan_set.configurations[0].sizer.memory
    setup = Setup(work.setup.format, concurrency=64)
    few, many = (size(setup, ParallelLayout(data=data)).kv_cache for data in (1, 2))
    assert few == pytest.approx(2 * many)


def test_what_is_read_once_for_all_formats_does_not_depend_on_them(kb: KnowledgeBase) -> None:
    cases = kb.knowledge.catalogue.coefficients.cases("prefill-chunk-tokens")
    assert cases
    assert not {key for case in cases for key, _ in case.when} & {"format", "format_kind", "precision"}


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: f"{answers['phase']}-{answers['model']}")
def test_no_plan_is_there_twice(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    """What was found tightly and with room, and filled and grown to the same, is one plan."""
    plans = kb.consult(answers, engine="evaluator").plans.plan_set
    ways = [(configuration.setup, configuration.layout) for configuration in plans.configurations]
    assert len(set(ways)) == len(ways)
    pairs = list(zip(plans.card.tolist(), plans.configuration.tolist(), plans.owned.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "llama-3.1-8b", "deployment": "workstation", "token_latency_ms": 8},
        {"model": "mistral-7b-v0.1", "deployment": "on-prem", "requests_per_second": 10},
    ],
    ids=["tokens in time", "more load"],
)
def test_what_a_card_draws_limits_no_other(kb: KnowledgeBase, asked: dict[str, Any]) -> None:
    """Cards in machines as large, rented alike, were spread as far as the first of them may be."""
    answers = {"phase": "inference", "concurrency": 64, "power_watts": 4000, **asked}
    among = kb.consult(answers, engine="evaluator").plans.plan_set
    for name in ("a10", "l4", "a100-pcie-40gb", "a100-sxm-40gb", "quadro-rtx-8000"):
        alone = kb.consult({**answers, "accelerators": [name]}, engine="evaluator").plans.plan_set
        assert _ways_on(among, name) == _ways_on(alone, name), name


def _ways_on(plan_set: PlanSet, name: str) -> set[tuple[str, int, int, int]]:
    """Format, replicas, shards and requests in flight of the plans on a card."""
    ways = [
        plan_set.configurations[number]
        for card, number in zip(plan_set.card.tolist(), plan_set.configuration.tolist(), strict=True)
        if plan_set.cards.accelerators[card].id == name
    ]
    return {(way.setup.format.id, way.layout.data, way.layout.tensor, way.setup.concurrency) for way in ways}


def test_what_a_row_of_a_batch_tells_is_timed_once(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each plan was timed alone, the recommendation's variants too, which such a row does not have: a fifth of it."""
    rows: list[list[int]] = []
    real = plan_set._timed

    def counted(work: Work, ways: Any, card: NDArray[np.int64], *rest: Any, **options: Any) -> plan_set.Origin:
        rows.append(card.tolist())
        return real(work, ways, card, *rest, **options)

    monkeypatch.setattr(plan_set, "_timed", counted)
    advice = kb.advise({**WORKS[0], "concurrency": 23}, engine="evaluator")  # nobody has told of its plans
    rows.clear()
    told = {item["plan"]["id"] for item in advice.to_dict(every=False, trace=False)["shortlist"]}
    assert len(told) > 1
    assert [len(each) for each in rows] == [len(told)]
    assert advice.recommendation is not None
    assert advice.recommendation.variants
