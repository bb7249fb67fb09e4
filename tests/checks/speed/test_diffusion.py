"""Pictures and clips of other sizes than their models' own, against published times and counted operations."""

from __future__ import annotations

import math

import pytest

from tests.checks.conftest import Facts
from tests.checks.formulas import value_of
from whygpu.checks.setup import Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed

H100 = Device.of(3.35e12, 9.89e14)


def _operations(facts: Facts, model: str, area: float) -> float:
    shape = facts.shape(model)
    setup = Setup(facts.formats["bf16"], pixels=math.sqrt(area) * shape.image_size)
    return setup.operations_scale(shape)


def test_attention_of_a_clip_to_itself_grows_with_the_square_of_its_area(facts: Facts) -> None:
    """Wan 2.1 14B, 40 layers 5,120 wide: 75,600 tokens at 720p, 32,760 at 480p (arXiv:2503.20314)."""
    passes, layers, width = 2, 40, 5120
    small, large = 32_760, 75_600
    shape = facts.shape("wan2.1-t2v-14b")
    assert shape.square_flops_per_sample == pytest.approx(passes * layers * 4 * width * small**2, rel=0.001)
    rest = shape.flops_per_sample - shape.square_flops_per_sample
    counted = rest * large / small + passes * layers * 4 * width * large**2
    scale = _operations(facts, "wan2.1-t2v-14b", large / small)
    assert scale * shape.flops_per_sample == pytest.approx(counted, rel=0.001)
    assert 1.6 < scale / (large / small) < 1.8


def test_at_its_own_size_a_model_does_its_own_arithmetic(facts: Facts) -> None:
    for model in ("wan2.1-t2v-14b", "flux.1-dev", "stable-diffusion-xl", "resnet-50"):
        assert _operations(facts, model, 1.0) == pytest.approx(1.0)


def test_without_attention_of_its_own_it_grows_with_the_area(facts: Facts) -> None:
    assert _operations(facts, "resnet-50", 4.0) == pytest.approx(4.0)


@pytest.mark.parametrize("phase", ["inference", "training"])
def test_the_arithmetic_of_a_larger_clip_adds_up(facts: Facts, phase: str) -> None:
    setup = Setup(facts.formats["bf16"], phase=phase, pixels=960, batch_size=1)
    shape = facts.shape("wan2.1-t2v-14b")
    found = speed.estimate(shape, setup, ParallelLayout(), H100, facts.coefficients)
    assert any(term.name == "square" for item in found.calculations() for term in item.terms)
    for item in found.calculations():
        assert value_of(item) == pytest.approx(item.value, rel=1e-6)


@pytest.mark.parametrize(
    ("model", "heads", "layers", "tokens"),
    [
        ("flux.1-dev", 24, 57, 4608),
        ("stable-diffusion-3.5-large", 38, 38, 4429),
        ("cogvideox-5b", 48, 42, 17_776),
        ("wan2.1-t2v-14b", 40, 40, 32_760),
    ],
)
def test_scores_are_counted_from_the_models_configuration(
    facts: Facts, model: str, heads: int, layers: int, tokens: int
) -> None:
    """A score for each pair of tokens in each head and layer, in FP32 (Dao et al. 2022, arXiv:2205.14135, 2.2)."""
    shape = facts.shape(model)
    assert shape.square_activation_bytes_per_sample == pytest.approx(4 * heads * layers * tokens**2, rel=0.001)


def test_attention_of_an_image_has_a_rate_of_its_own_in_training(facts: Facts) -> None:
    """The backward pass of attention takes 2.5 times the forward's operations (Dao 2023, arXiv:2307.08691, 4.1)."""
    shape = facts.shape("wan2.1-t2v-14b")
    setup = Setup(facts.formats["bf16"], phase="training", batch_size=1, gradient_checkpointing="full")
    found = {
        item.name: item.value
        for item in speed.estimate(shape, setup, ParallelLayout(), H100, facts.coefficients).calculations()
    }
    assert found["attention"] == pytest.approx(4.5 * shape.square_flops_per_sample / 2)
    rest = shape.flops_per_sample - shape.square_flops_per_sample
    assert found["products"] == pytest.approx(4 * rest / 2)


@pytest.mark.parametrize(("model", "runs"), [("stable-diffusion-xl", 2), ("qwen-image", 2), ("flux.1-dev", 1)])
def test_training_runs_the_denoiser_once(facts: Facts, model: str, runs: int) -> None:
    """With or without the prompt, by chance (Ho and Salimans 2022, arXiv:2207.12598, algorithm 1); two backward."""
    shape = facts.shape(model)
    setup = Setup(facts.formats["bf16"], phase="training", batch_size=1)
    found = speed.estimate(shape, setup, ParallelLayout(), H100, facts.coefficients).calculations()
    forward = (shape.flops_per_sample - shape.square_flops_per_sample) / runs
    assert next(item.value for item in found if item.name == "products") == pytest.approx(3 * forward)
