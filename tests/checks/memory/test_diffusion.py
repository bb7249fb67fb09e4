"""Memory of pipelines whose networks are on the card in turn."""

from __future__ import annotations

import math

import pytest

from tests.checks.conftest import Facts
from tests.checks.formulas import value_of
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.estimate import MemoryEstimate
from whygpu.checks.setup import ParallelLayout, Setup

GIB = 2**30


def _estimate(
    facts: Facts, model: str, format_id: str, *, offload: str = "components", side: float = 0
) -> MemoryEstimate:
    setup = Setup(facts.formats[format_id], runtime="transformers", offload=offload, pixels=side)
    return memory.estimate(facts.shape(model), setup, ParallelLayout(), facts.coefficients)


def test_two_denoisers_take_turns_too(facts: Facts) -> None:
    """Comfy-Org/workflow_templates, video_wan2_2_14B_i2v: 640 x 640 in FP8 takes 84% of an RTX 4090D of 24 GB."""
    found = _estimate(facts, "wan2.2-t2v-a14b", "fp8", side=640)
    one = 14_288_491_584
    assert found.ranges.weights.likely == pytest.approx(one, rel=0.01)
    assert found.high < 0.84 * 24_564 * 2**20
    together = _estimate(facts, "wan2.2-t2v-a14b", "fp8", side=640, offload="none")
    assert together.ranges.weights.likely > 2 * one


def test_a_picture_takes_what_the_text_encoder_leaves(facts: Facts) -> None:
    """FLUX.1 dev in NF4: T5 in 16 bits, then 6.7 GB of denoiser, where the picture's activations fit beside it."""
    found = _estimate(facts, "flux.1-dev", "nf4")
    encoder = 2 * 4_762_310_656
    denoiser = 11_901_408_320 * 4.5 / 8
    assert found.ranges.weights.likely == pytest.approx(encoder, rel=0.01)
    assert found.ranges.activations.likely < 0.3 * GIB
    large = _estimate(facts, "flux.1-dev", "nf4", side=2048)
    alone = _estimate(facts, "flux.1-dev", "nf4", side=2048, offload="none").ranges.activations.likely
    both = large.ranges.weights.likely + large.ranges.activations.likely
    assert both == pytest.approx(denoiser + alone, rel=0.01)


@pytest.mark.parametrize("model", ["flux.1-dev", "wan2.2-t2v-a14b", "stable-diffusion-xl", "qwen-image"])
@pytest.mark.parametrize("format_id", ["bf16", "fp8", "nf4"])
def test_turns_never_take_more_and_their_arithmetic_adds_up(facts: Facts, model: str, format_id: str) -> None:
    found = _estimate(facts, model, format_id)
    together = _estimate(facts, model, format_id, offload="none")
    assert found.total < together.total
    for item in found.calculations():
        assert math.isclose(value_of(item), item.value, rel_tol=1e-6)


def test_one_of_two_denoisers_is_trained_at_a_time(facts: Facts) -> None:
    """Each learns its own range of noise (Wan 2.2's README); the other waits (musubi-tuner, --offload_inactive_dit)."""
    shape, one = facts.shape("wan2.2-t2v-a14b"), 14_288_491_584

    def found(method: str) -> MemoryEstimate:
        setup = Setup(facts.formats["bf16"], phase="fine-tuning", method=method, offload="components")
        return memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)

    assert found("lora").ranges.weights.likely == pytest.approx(2 * one, rel=0.02)
    assert found("full").ranges.optimizer.likely == pytest.approx(12 * one, rel=0.01)
