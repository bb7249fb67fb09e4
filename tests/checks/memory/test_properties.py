"""What must hold of memory whatever is run."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.checks.strategies import FACTS, setups, shapes, splits, works
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.estimate import PART_NAMES, MemoryEstimate
from whygpu.checks.memory.training import FSDP
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup

Work = tuple[ModelShape, Setup, ParallelLayout]
SLACK = 1 + 1e-9


def need(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> MemoryEstimate:
    return memory.estimate(shape, setup, layout, FACTS.coefficients)


@given(works())
def test_parts_sum_to_the_total_within_its_range(work: Work) -> None:
    done = need(*work)
    parts = [getattr(done, name) for name in PART_NAMES]
    assert math.isclose(sum(parts), done.total, rel_tol=1e-12)
    assert all(part >= 0 for name, part in zip(PART_NAMES, parts, strict=True) if name != "reused")
    assert done.reused <= 0
    assert 0 < done.low <= done.total * SLACK
    assert done.total <= done.high * SLACK


@given(
    works(),
    st.sampled_from(("batch_size", "sequence_tokens", "context_tokens", "concurrency", "lora_rank")),
    st.integers(1, 9),
)
def test_memory_never_falls_when_the_work_grows(work: Work, size: str, factor: int) -> None:
    shape, setup, layout = work
    grown = replace(setup, **{size: getattr(setup, size) * factor})
    assert need(shape, setup, layout).total <= need(shape, grown, layout).total * SLACK


@given(setups(), splits(trains=False), st.integers(10**6, 10**12), st.integers(1, 100))
def test_memory_never_falls_when_parameters_rise(
    setup: Setup, layout: ParallelLayout, parameters: int, factor: int
) -> None:
    # On one tensor rank: beyond as many ranks as key heads the cache is copied, and larger models have more heads.
    # Without written-out scores: they go by the number of heads, and the row of 3B has fewer than that of 1B.
    layout, setup = replace(layout, tensor=1), replace(setup, attention="flash")
    small, large = FACTS.shape({"parameters": parameters}), FACTS.shape({"parameters": parameters * factor})
    assert need(small, setup, layout).total <= need(large, setup, layout).total * SLACK


@given(
    shapes,
    setups(trains=False),
    splits(trains=False),
    st.sampled_from((("nf4-dq", "nf4"), ("nf4", "int8"), ("fp8", "bf16"), ("bf16", "fp32"))),
)
def test_memory_never_falls_when_bits_rise(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, pair: tuple[str, str]
) -> None:
    fewer, more = (replace(setup, format=FACTS.formats[name]) for name in pair)
    assert need(shape, fewer, layout).total <= need(shape, more, layout).total * SLACK


@given(works(), st.sampled_from(("tensor", "pipeline")))
def test_what_is_held_never_rises_with_more_shards(work: Work, kind: str) -> None:
    shape, setup, layout = work
    assume(kind == "tensor" or layout.pipeline > 1 or layout.sharding not in FSDP)  # which keeps layers gathered there
    more = replace(layout, **{kind: getattr(layout, kind) * 2})
    few, many = need(shape, setup, layout), need(shape, setup, more)
    # Communication buffers come with the second card; what the model takes does not.
    assert many.total - many.overhead <= (few.total - few.overhead) * SLACK


@given(works(trains=True))
@settings(max_examples=60)
def test_stronger_sharding_never_holds_more_states(work: Work) -> None:
    shape, setup, layout = work
    setup = replace(setup, gradient_accumulation=1, offload="none")
    levels = [need(shape, setup, replace(layout, sharding=level)) for level in ("none", "zero1", "zero2")]
    states = [done.weights + done.gradients + done.optimizer for done in levels]
    assert states[0] * SLACK >= states[1]
    assert states[1] * SLACK >= states[2]


@given(works(trains=False), st.integers(2, 8))
def test_more_replicas_never_need_more_each(work: Work, factor: int) -> None:
    shape, setup, layout = work
    few, many = need(shape, setup, layout), need(shape, setup, replace(layout, data=layout.data * factor))
    assert many.total <= few.total * SLACK
