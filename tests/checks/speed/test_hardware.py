"""What cards, links and runtimes make of a speed, each with a worked number from its source."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.strategies import FACTS
from whygpu.checks.setup import HALF, CardKind, Device, ParallelLayout, Setup, first_rate
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Columns
from whygpu.checks.speed.inference import InferenceWork, expert_rows, routed_parameters, step_operations
from whygpu.checks.speed.training import TrainingWork

P40 = {"fp16_tflops": 0.184e12, "fp32_tflops": 11.76e12, "int8_tops": 47.0e12, "bf16_tflops": 0.0}
PASCAL = CardKind("pascal", "data-centre", memory="gddr5")
AMPERE = CardKind("ampere", "data-centre", memory="hbm2e")


def rate(names: tuple[str, ...], known: dict[str, float]) -> float:
    return float(first_rate(names, {name: np.array([value]) for name, value in known.items()})[0])


def test_slow_half_precision_is_widened_or_multiplied_as_integers(facts: Facts) -> None:
    assert rate(HALF, P40) == 11.76e12, "cublasGemmEx: 16-bit numbers, products in FP32"
    assert rate(facts.formats["q4_0"].rate, P40) == 47.0e12, "DP4A"
    fast = P40 | {"fp16_tflops": 65e12}
    assert rate(facts.formats["q4_0"].rate, fast) == 65e12, "tensor cores are faster than integers beside them"
    assert np.isnan(rate(HALF, dict.fromkeys(P40, 0.0)))


def p40(facts: Facts, context: int, output: int) -> InferenceWork:
    form = facts.formats["q4_0"]
    device = Device.of(346e9, rate(form.rate, P40), half_flops_s=rate(HALF, P40), kinds=PASCAL)
    setup = Setup(form, context_tokens=context, output_tokens=output, runtime="llama.cpp")
    work = speed.estimate(facts.shape("llama-2-7b"), setup, ParallelLayout(), device, facts.coefficients).work
    assert isinstance(work, InferenceWork)
    return work


def test_a_pascal_card_in_llama_cpp(facts: Facts) -> None:
    """ggml-org/llama.cpp#4766: 7B in Q4_0 on a Tesla P40, 912.41 tokens/s of prompt and 56.79 of decode."""
    assert 512 / p40(facts, 513, 1).prefill.total_s[0, 0] == pytest.approx(912.41, rel=0.15)
    assert 1 / p40(facts, 128, 127).decode.step_s[0, 0] == pytest.approx(56.79, rel=0.25)


GEFORCE_4090 = Device.of(
    1008e9, 165.2e12, half_flops_s=165.2e12, kinds=CardKind("ada", "consumer", memory="gddr6x", software="cuda")
)
GEFORCE_3090 = Device.of(
    936e9, 71e12, half_flops_s=71e12, kinds=CardKind("ampere", "consumer", memory="gddr6x", software="cuda")
)


@pytest.mark.parametrize(
    ("model", "number_format", "tokens", "device", "published"),
    [
        ("gpt-oss-20b", "mxfp4", 4096, GEFORCE_4090, 11094),  # ggml-org/llama.cpp#15631, microbatches of 1,024
        ("gemma-4-26b-a4b", "q4_k_m", 2048, GEFORCE_3090, 3734),  # ggml-org/llama.cpp#22298, of 512
    ],
)
def test_prompts_of_mixtures_in_llama_cpp(
    facts: Facts, model: str, number_format: str, tokens: int, device: Device, published: float
) -> None:
    """Each expert sees few tokens, so that a mixture's prompt is read at half of what a dense model reaches."""
    found = prompt_tokens_s(facts, model, number_format, tokens, device)
    assert found == pytest.approx(published, rel=0.35)


@pytest.mark.parametrize(
    ("model", "number_format", "device", "published"),
    [
        ("qwen3-30b-a3b", "q4_0", GEFORCE_4090, 206),  # ggml-org/llama.cpp#15631, microbatches of 1
        ("gpt-oss-20b", "mxfp4", GEFORCE_3090, 186),
    ],
)
def test_decoding_of_mixtures_in_llama_cpp(
    facts: Facts, model: str, number_format: str, device: Device, published: float
) -> None:
    setup = Setup(facts.formats[number_format], context_tokens=4096, output_tokens=4095, runtime="llama.cpp")
    work = speed.estimate(facts.shape(model), setup, ParallelLayout(), device, facts.coefficients).work
    assert isinstance(work, InferenceWork)
    assert 1 / work.decode.step_s[0, 0] == pytest.approx(published, rel=0.2)


STRIX_HALO = Device.of(
    256e9, 59.4e12, half_flops_s=59.4e12, kinds=CardKind("rdna3.5", "consumer", memory="lpddr5x", software="rocm")
)
SAPPHIRE_RAPIDS = {"fp32_tflops": 1.0, "fp16_tflops": 2.0, "bf16_tflops": 16.0, "int8_tops": 32.0}


def prompt_tokens_s(facts: Facts, model: str, number_format: str, tokens: int, device: Device) -> float:
    setup = Setup(facts.formats[number_format], context_tokens=tokens + 1, output_tokens=1, runtime="llama.cpp")
    work = speed.estimate(facts.shape(model), setup, ParallelLayout(), device, facts.coefficients).work
    assert isinstance(work, InferenceWork)
    return float(tokens / work.prefill.total_s[0, 0])


@pytest.mark.parametrize(
    ("model", "number_format", "tokens", "published"),
    [
        # lhl/strix-halo-testing@03573bc, llm-bench/README.md, the best of Vulkan and ROCm at 512 tokens
        ("llama-3.1-8b", "q4_k_m", 512, 878.2),
        ("gemma-3-27b", "q4_k_m", 512, 302.2),
        ("qwen3-32b", "q8_0", 512, 226.1),
        ("llama-3.1-70b", "q4_k_m", 512, 94.7),
    ],
)
def test_prompts_of_dense_models_on_strix_halo(
    facts: Facts, model: str, number_format: str, tokens: int, published: float
) -> None:
    assert prompt_tokens_s(facts, model, number_format, tokens, STRIX_HALO) == pytest.approx(published, rel=0.2)


def test_prompts_of_experts_on_strix_halo(facts: Facts) -> None:
    """gpt-oss-120b at 2,048 tokens: 467 tokens/s with Vulkan (strix-halo-testing), 998 with ROCm (its issue 33)."""
    assert 467 < prompt_tokens_s(facts, "gpt-oss-120b", "mxfp4-moe", 2048, STRIX_HALO) < 998


def test_quantized_weights_on_a_xeon_with_amx(facts: Facts) -> None:
    """ggml-org/llama.cpp#7487: 84 tokens/s of a 7B in Q4_0 on 16 cores at 2.2 GHz, and #8998 is faster still."""
    cycles = 16 * 2.2e9
    rates = {name: cycles * 64 * times for name, times in SAPPHIRE_RAPIDS.items()}
    device = Device.of(
        307e9,
        rate(facts.formats["q4_0"].rate, rates),
        half_flops_s=rate(HALF, rates),
        kinds=CardKind("sapphire-rapids", "cpu", memory="ddr5", software="cpu"),
    )
    assert 84 < prompt_tokens_s(facts, "llama-2-7b", "q4_0", 512, device) < 2 * 84


def test_experts_in_mxfp4_are_multiplied_in_16_bits(facts: Facts) -> None:
    """vLLM on GB10, whose experts in MXFP4 Marlin unpacks: 4,340 tokens/s of prompt of gpt-oss-120b at 2,048
    (github.com/jaim12005/spark-vllm-mxfp4-docker, docs/analysis/VLLM_BASELINE_ANALYSIS.md at c5adcab).
    """
    gb10 = {
        "fp4_tflops": 500e12,
        "fp8_tflops": 250e12,
        "bf16_tflops": 125e12,
        "fp16_tflops": 125e12,
        "fp32_tflops": 30e12,
    }
    form = facts.formats["mxfp4"]
    kind = CardKind("blackwell", "edge", "cuda", memory="lpddr5x")
    device = Device.of(273e9, rate(form.rate, gb10), half_flops_s=rate(HALF, gb10), kinds=kind)
    setup = Setup(form, context_tokens=2049, output_tokens=1, runtime="vllm")
    work = speed.estimate(facts.shape("gpt-oss-120b"), setup, ParallelLayout(), device, facts.coefficients).work
    assert isinstance(work, InferenceWork)
    assert 2048 / work.prefill.total_s[0, 0] == pytest.approx(4340, rel=0.15)


def bus(facts: Facts, device: Device, tensor: int) -> float:
    columns = Columns.of(
        facts.shape("llama-3.1-8b"),
        Setup(facts.formats["bf16"], runtime="vllm"),
        ParallelLayout(tensor=tensor),
        device,
        facts.coefficients,
    )
    return float(columns.wire().tensor_bytes_s[0, 0]) / 1e9


def test_a_mesh_gives_a_group_the_links_within_it(facts: Facts) -> None:
    """ml-engineering, network: an all-reduce of 4 GB among MI300X, 47.671 GB/s with 2 cards and 312.912 with 8."""
    mesh = CardKind("cdna3", "data-centre", "rocm", "infinity-fabric", "hbm3")
    device = Device.of(5.3e12, 1.3e15, link_bytes_s=448e9, link_cards=8, kinds=mesh)
    assert bus(facts, device, 2) == pytest.approx(47.671, rel=0.1)
    assert bus(facts, device, 8) == pytest.approx(312.912, rel=0.15)


def test_a_switch_gives_any_group_the_whole_link(facts: Facts) -> None:
    switched = CardKind("hopper", "data-centre", "cuda", "nvlink", "hbm3")
    device = Device.of(3.35e12, 9.9e14, link_bytes_s=450e9, link_cards=8, kinds=switched)
    assert bus(facts, device, 2) == bus(facts, device, 8)


def test_cards_without_a_link_share_the_host(facts: Facts) -> None:
    """NVIDIA/nccl#1639: an all-reduce over PCIe 5, 28 GB/s among eight RTX 5090 and 35 among four."""
    device = Device.of(1.79e12, 2.1e14, pcie_bytes_s=63e9, kinds=CardKind("blackwell", "consumer", memory="gddr7"))
    two, four, eight = (bus(facts, device, count) for count in (2, 4, 8))
    assert eight == pytest.approx(28, rel=0.25)
    assert four == pytest.approx(35, rel=0.3)
    assert two == pytest.approx(0.8 * 63), "two do not fill it"


@given(st.integers(1, 4096))
def test_experts_take_whole_tiles(tokens: int) -> None:
    shape = FACTS.shape("qwen3-30b-a3b")
    chosen = tokens * shape.experts_per_token
    for tile in (1, 16, 64):
        rows = float(expert_rows(shape, np.array([float(tokens)]), np.array([tile]))[0])
        assert rows >= chosen * (1 - 1e-9)
        assert rows <= chosen + tile * shape.experts
    assert float(expert_rows(shape, np.array([1.0]), np.array([64]))[0]) == pytest.approx(64 * shape.experts_per_token)


def test_a_mixture_multiplies_no_more_than_its_experts_ask_where_tiles_are_full(facts: Facts) -> None:
    shape = facts.shape("qwen3-30b-a3b")
    setup = Setup(facts.formats["bf16"], runtime="llama.cpp")  # kernels by rows: tiles of one
    columns = Columns.of(shape, setup, ParallelLayout(), Device.of(1e12, 1e14, kinds=AMPERE), facts.coefficients)
    assert float(step_operations(columns, np.array([8.0]))[0, 0]) == pytest.approx(2 * shape.matmul_parameters * 8)
    assert 0 < routed_parameters(shape) < shape.matmul_parameters


def exchange(facts: Facts, sharding: str, accumulation: int) -> float:
    """Seconds a micro-batch that the exchange of gradients takes on a network too slow to hide it."""
    setup = Setup(
        facts.formats["bf16"],
        phase="training",
        training_precision="mixed-bf16",
        sequence_tokens=512,
        gradient_accumulation=accumulation,
    )
    device = Device.of(2e12, 3.12e14, network_bytes_s=1e6, pcie_bytes_s=3e10, kinds=AMPERE)
    layout = ParallelLayout(data=2, sharding=sharding, nodes=2)
    work = speed.estimate(facts.shape("llama-3.2-1b"), setup, layout, device, facts.coefficients).work
    assert isinstance(work, TrainingWork)
    return float(work.data_wire_s[0, 0])


def test_sharded_gradients_are_scattered_after_each_micro_batch(facts: Facts) -> None:
    """DeepSpeed refuses no_sync from stage 2 on (deepspeedai/DeepSpeed#6793); stage 1 adds up before it sends."""
    assert exchange(facts, "zero2", 1) == pytest.approx(exchange(facts, "zero1", 1))
    assert exchange(facts, "zero1", 8) == pytest.approx(exchange(facts, "zero1", 1) / 8, rel=1e-3)
    assert exchange(facts, "zero2", 8) == pytest.approx(exchange(facts, "zero2", 1) * (1 + 1 / 8) / 2, rel=1e-3)
    assert exchange(facts, "zero3", 8) == pytest.approx(1.5 * exchange(facts, "zero2", 1), rel=1e-3)


def spread(facts: Facts, generation: str) -> tuple[float, bool]:
    device = Device.of(2e12, 3e14, kinds=CardKind(generation, "data-centre", memory="hbm2e"))
    setup = Setup(facts.formats["bf16"], runtime="vllm")
    found = speed.estimate(facts.shape("llama-3.1-8b"), setup, ParallelLayout(), device, facts.coefficients)
    band = found.token_ms
    assert band is not None
    return float(band.high[0] / band.low[0]), found.work.columns.measured(0)


def test_a_generation_that_was_never_measured_has_a_wider_range(facts: Facts) -> None:
    (known, seen), (unknown, unseen) = spread(facts, "ampere"), spread(facts, "trillium")
    assert (seen, unseen) == (True, False)
    assert known < unknown < inf
