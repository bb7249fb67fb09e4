"""The activation formula against what PyTorch's saved-tensor hooks count."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.conftest import Facts
from tests.effort import one_in
from tests.oracles.hooks import Convolutions, Llama
from whygpu.checks.calculation import Range
from whygpu.checks.memory.activations import activations
from whygpu.checks.memory.training import training_context
from whygpu.checks.setup import ParallelLayout, Setup

TOLERANCE = 0.05
MODELS = [
    Llama(256, 4, 4, 1024),
    Llama(256, 4, 1, 1024),
    Llama(256, 4, 2, 704),
    Llama(512, 8, 2, 1792, layers=2),
    Llama(256, 8, 2, 512, tokens=128),
]


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch, where the `oracle` extra is installed."""
    return pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[oracle]'")


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The facts of the knowledge base."""
    return Facts()


def _estimated(facts: Facts, model: Llama, precision: str) -> Range:
    shape = facts.shape(
        {
            "name": "small",
            "kind": "decoder",
            "parameters": 10_000_000,
            "layers": model.layers,
            "hidden_size": model.hidden,
            "heads": model.heads,
            "kv_heads": model.kv_heads,
            "head_dim": model.head_dim,
            "ffn_size": model.ffn,
            "vocab_size": 1000,
            "gated_ffn": True,
        }
    )
    setup = Setup(
        facts.formats["bf16"],
        phase="training",
        training_precision=precision,
        batch_size=model.batch,
        sequence_tokens=model.tokens,
    )
    layout = ParallelLayout()
    return activations(shape, setup, layout, facts.coefficients, training_context(shape, setup, layout)).layers


@pytest.mark.parametrize("model", one_in(4, MODELS, map(str, MODELS)))
def test_pure_bf16_layers_keep_what_the_formula_says(torch: Any, facts: Facts, model: Llama) -> None:
    assert model.kept(torch, autocast=False) == pytest.approx(_estimated(facts, model, "bf16").likely, rel=TOLERANCE)


@pytest.mark.parametrize("model", one_in(4, MODELS, map(str, MODELS)))
def test_autocast_keeps_the_residual_stream_in_fp32(torch: Any, facts: Facts, model: Llama) -> None:
    """Two norms and two sums of 4 bytes: 10 bytes more an element than in pure bf16, and within the range."""
    kept = model.kept(torch, autocast=True)
    extra = (kept - model.kept(torch, autocast=False)) / (model.layers * model.batch * model.tokens * model.hidden)
    assert extra == pytest.approx(10, abs=1)
    estimated = _estimated(facts, model, "mixed-bf16")
    assert estimated.low <= kept <= estimated.high
    assert kept == pytest.approx(estimated.likely, rel=0.15)


def test_a_convolution_network_keeps_what_the_range_per_operation_allows(torch: Any, facts: Facts) -> None:
    network = Convolutions()
    shape = facts.shape(
        {
            "name": "small",
            "kind": "cnn",
            "parameters": 60_000,
            "image_size": 64,
            "flops_per_sample": network.flops(64),
        }
    )
    setup = Setup(facts.formats["fp32"], phase="training", training_precision="fp32", batch_size=4, pixels=64)
    layout = ParallelLayout()
    context = training_context(shape, setup, layout)
    found = activations(shape, setup, layout, facts.coefficients, context).layers
    beside = facts.coefficients.pick("training-workspace-bytes", context)  # no tensor that autograd keeps
    kept = network.kept(torch, 4, 64, torch.float32)
    assert found.low - beside.low <= kept <= found.high - beside.high


@pytest.mark.parametrize(("images", "pixels", "times"), [(8, 64, 2), (4, 128, 4)])
def test_what_convolutions_keep_goes_with_images_and_their_area(
    torch: Any, images: int, pixels: int, times: int
) -> None:
    network = Convolutions()
    assert network.kept(torch, images, pixels, torch.float32) == pytest.approx(
        times * network.kept(torch, 4, 64, torch.float32), rel=0.02
    )


def test_convolutions_keep_about_half_in_16_bits(torch: Any) -> None:
    network = Convolutions()
    share = network.kept(torch, 4, 64, torch.bfloat16) / network.kept(torch, 4, 64, torch.float32)
    assert share == pytest.approx(0.5, abs=0.05)
