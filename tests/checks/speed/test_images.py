"""Images of a prompt pass a tower before the language model reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.model_shape import ImageTower, ModelShape
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed

L4 = Device.of(3e11, 121e12, half_flops_s=121e12, power_w=72, kinds=CardKind("ada", "inference"))
BESIDE = {  # parameters that are neither the language model's nor the layers': patches in, positions, projectors
    "qwen3-vl-2b": 3 * 2 * 16 * 16 * 1024 + 2304 * 1024 + 4 * (4096 * 4096 + 4096 * 2048),
    "qwen3-vl-4b": 3 * 2 * 16 * 16 * 1024 + 2304 * 1024 + 4 * (4096 * 4096 + 4096 * 2560),
    "qwen3-vl-32b": 3 * 2 * 16 * 16 * 1152 + 2304 * 1152 + 4 * (4608 * 4608 + 4608 * 5120),
    "qwen3.5-0.8b": 3 * 2 * 16 * 16 * 768 + 2304 * 768 + 3072 * 3072 + 3072 * 1024,
    "qwen2.5-vl-7b": 3 * 2 * 14 * 14 * 1280 + 5120 * 5120 + 5120 * 3584,
    "llava-1.5-7b": 3 * 14 * 14 * 1024 + 577 * 1024 + 1024 * 4096 + 4096 * 4096,
}


def first_token_s(facts: Facts, shape: ModelShape, **answers: object) -> float:
    values = {"context_tokens": 1400, "output_tokens": 100, "runtime": "vllm", "task": "multimodal", **answers}
    setup = Setup(facts.formats["bf16"], **values)  # type: ignore[arg-type]
    found = speed.estimate(shape, setup, ParallelLayout(), L4, facts.coefficients)
    assert found.ttft_ms is not None
    return float(found.ttft_ms.likely[0]) / 1e3


@pytest.mark.parametrize("model", sorted(BESIDE))
def test_layers_make_up_what_a_model_has_beside_its_language_model(facts: Facts, model: str) -> None:
    shape = facts.shape(model)
    assert shape.image_tower is not None
    beside = shape.parameters - shape.active_parameters
    assert shape.image_tower.parameters + BESIDE[model] == pytest.approx(beside, rel=0.005)


def test_operations_of_an_image_by_hand() -> None:
    """24 layers, 1,024 wide: 1,280 tokens are 5,120 patches, each of which meets all others."""
    tower = ImageTower(24, 1024, 4096, token_patches=4, whole_layers=24)
    weights = 24 * (4 * 1024**2 + 2 * 1024 * 4096)
    assert tower.parameters == weights
    assert tower.flops(1280) == 5120 * 2 * weights + 24 * 4 * 1024 * 5120**2
    tiled = replace(tower, tile_patches=1024)
    assert tiled.flops(1280) == 5120 * 2 * weights + 24 * 4 * 1024 * 5120 * 1024
    assert replace(tower, whole_layers=0).flops(1280) == 5120 * 2 * weights
    assert tower.flops(0) == 0


def test_a_small_model_waits_for_its_images_longer_than_a_large_one(facts: Facts) -> None:
    """qwen2.5-vl-modules: 2.5 billion multiplications of the tower for a token, beside 2.8 of the 3B model."""
    longer = {}
    for model in ("qwen2.5-vl-3b", "qwen2.5-vl-7b", "qwen2.5-vl-72b"):
        shape = facts.shape(model)
        longer[model] = first_token_s(facts, shape, image_tokens=1280) / first_token_s(facts, shape)
    assert longer["qwen2.5-vl-3b"] > longer["qwen2.5-vl-7b"] > longer["qwen2.5-vl-72b"] > 1
    assert 1.5 < longer["qwen2.5-vl-3b"] < 2.2


def test_images_are_no_longer_than_the_prompt_nor_read_where_it_is_found(facts: Facts) -> None:
    shape = facts.shape("qwen3-vl-4b")
    assert first_token_s(facts, shape, image_tokens=5000) == first_token_s(facts, shape, image_tokens=1300)
    found = first_token_s(facts, shape, image_tokens=1280, prefix_hit_rate=0.9)
    assert found < 0.3 * first_token_s(facts, shape, image_tokens=1280)


def test_text_alone_passes_no_tower(facts: Facts) -> None:
    shape = facts.shape("qwen3-vl-4b")
    assert first_token_s(facts, shape) == first_token_s(facts, replace(shape, image_tower=None), image_tokens=1280)
