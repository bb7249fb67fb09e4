"""The share of a card that a serving runtime is told to take, against what the runtimes do with it."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.share import filled_bytes, memory_share
from whygpu.checks.setup import ParallelLayout, Setup

GIB = 2**30
H100 = 79.02 * GIB
RTX_4090 = 23.64 * GIB
"""What PyTorch reports."""


def _need(facts: Facts, runtime: str, requests: int) -> memory.MemoryEstimate:
    setup = Setup(facts.formats["bf16"], concurrency=requests, context_tokens=512, runtime=runtime)
    return memory.estimate(facts.shape("qwen3-32b"), setup, ParallelLayout(), facts.coefficients)


def _most(facts: Facts, runtime: str, usable: float) -> memory.MemoryEstimate:
    """The need of as many requests as fit."""
    one = _need(facts, runtime, 1)
    requests = memory.largest(one.shape, one.setup, ParallelLayout(), facts.coefficients, usable, "concurrency")
    return _need(facts, runtime, requests)


def test_a_plan_that_needs_little_gets_the_runtimes_own_share(facts: Facts) -> None:
    assert memory_share(H100, _need(facts, "vllm", 1), "vllm", "sxm") == 0.92  # vllm/config/cache.py
    assert memory_share(H100, _need(facts, "sglang", 1), "sglang", "sxm") == 0.88  # sglang-server-arguments


def test_vllm_is_given_no_more_than_is_free_when_it_starts(facts: Facts) -> None:
    """vLLM ends at once where its share of all memory is more than what the driver's context leaves (mem_utils.py)."""
    need = _most(facts, "vllm", H100)
    context = facts.coefficients.pick("context-bytes", {"runtime": "vllm"}).likely
    share = memory_share(H100, need, "vllm", "sxm")
    assert 0.92 < share < 1
    assert share * H100 <= H100 - context
    # and holds all that the plan counts on, to a thousandth of the card
    assert share * H100 >= need.total - context - 0.001 * H100
    assert filled_bytes(H100, need, "vllm", "sxm") == pytest.approx(need.total, abs=0.01 * H100)


def test_sglangs_share_leaves_what_it_works_in(facts: Facts) -> None:
    """Weights and cache alone are of its static share (sglang-server-arguments): activations take what is left."""
    need = _most(facts, "sglang", H100)
    free = H100 - need.overhead
    share = memory_share(H100, need, "sglang", "sxm")
    assert share * free <= free - (need.total - need.overhead - need.weights - need.kv_cache)
    assert share * free >= need.weights + need.kv_cache - 0.001 * free
    assert share < memory_share(H100, need, "vllm", "sxm"), "which is to hold activations, too"


def test_a_share_of_a_plan_that_does_not_fit_is_what_is_free(facts: Facts) -> None:
    assert memory_share(RTX_4090, _need(facts, "vllm", 1), "vllm", "pcie") == 0.976  # (23.64 - 0.56) / 23.64
