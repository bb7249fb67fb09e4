"""Model states under ZeRO against DeepSpeed's own estimators: the functions where the package is installed, otherwise
the formulas that they publish.

Source: deepspeedai/DeepSpeed, runtime/zero/stage_1_and_2.py (estimate_zero2_model_states_mem_needs) and
runtime/zero/stage3.py (estimate_zero3_model_states_mem_needs).
"""

from __future__ import annotations

import importlib.util

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import ParallelLayout, Setup

HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None


def zero2_bytes(parameters: int, ranks: int) -> int:
    """A card's bytes without offload: 2 P of weights and 18 P / N, FP32 gradients among them (DeepSpeed 0.19)."""
    if HAS_DEEPSPEED:
        stage = importlib.import_module("deepspeed.runtime.zero.stage_1_and_2")
        found = stage.estimate_zero2_model_states_mem_needs(parameters, ranks, 1, cpu_offload=False)
        return int(found[1])
    return 2 * parameters + int(18 * parameters / ranks)


def zero3_bytes(parameters: int, largest: int, ranks: int) -> int:
    """A card's bytes without offload: 18 P / N and 4 bytes for each parameter of the largest layer."""
    if HAS_DEEPSPEED:
        stage = importlib.import_module("deepspeed.runtime.zero.stage3")
        found = stage.estimate_zero3_model_states_mem_needs(
            parameters, largest, ranks, 1, cpu_offload=False, cpu_offload_params=False
        )
        return int(found[1])
    return 4 * largest + int(18 * parameters / ranks)


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The facts of the knowledge base."""
    return Facts()


def _estimate(facts: Facts, model: str, ranks: int, sharding: str) -> memory.MemoryEstimate:
    shape = facts.shape(model)
    setup = Setup(facts.formats["bf16"], phase="training", training_precision="mixed-bf16")
    return memory.estimate(shape, setup, ParallelLayout(data=ranks, sharding=sharding), facts.coefficients)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-2-13b", "llama-3.2-1b"])
@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
def test_zero2_states_lie_between_the_paper_and_deepspeed(facts: Facts, model: str, ranks: int) -> None:
    """DeepSpeed adds to the paper's states, 2 P + 14 P / N, the gradients in FP32, 4 P / N."""
    done = _estimate(facts, model, ranks, "zero2")
    parameters = done.shape.parameters
    states = done.weights + done.gradients + done.optimizer
    paper = 2 * parameters + 14 * parameters / ranks
    assert states == pytest.approx(paper, rel=0.02)
    extra = 4 * parameters / ranks
    assert states + extra == pytest.approx(zero2_bytes(parameters, ranks), rel=0.02)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-2-13b", "llama-3.2-1b"])
@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
def test_zero3_states_agree_with_deepspeed(facts: Facts, model: str, ranks: int) -> None:
    """16 to 18 bytes a parameter are divided; what is gathered beside them differs in what counts as a layer."""
    done = _estimate(facts, model, ranks, "zero3")
    shape = done.shape
    double = _estimate(facts, model, 2 * ranks, "zero3")
    # The gathered layers do not depend on the ranks, so two degrees tell them from the share of the states.
    gathered = 2 * double.weights - done.weights
    states = done.weights - gathered + done.gradients + done.optimizer
    largest = shape.vocab_size * shape.hidden_size
    divided = zero3_bytes(shape.parameters, largest, ranks) - 4 * largest
    assert 16 / 18 * 0.98 <= states / divided <= 1.02
    assert 0 < gathered <= 4 * largest + 4 * shape.parameters / shape.layers
