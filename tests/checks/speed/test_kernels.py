"""What kernels lose against the peak rate: FP8 activations, weights unpacked within products, narrow experts, AMD."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.conftest import Facts
from tests.checks.formulas import value_of
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork, rows_each, spread_s
from whygpu.checks.speed.splitting import expert_share

HOPPER = CardKind("hopper", "data-centre", "cuda", "nvlink", "hbm3")
AMPERE = CardKind("ampere", "data-centre", "cuda", "nvlink", "hbm2e")
CDNA3 = CardKind("cdna3", "data-centre", "rocm", "infinity-fabric", "hbm3")


def card(kind: CardKind, rate: float, half: float, bandwidth: float = 3.35e12) -> Device:
    return Device.of(bandwidth, rate, half_flops_s=half, link_bytes_s=450e9, link_cards=8, kinds=kind)


H100_FP8 = card(HOPPER, 1979e12, 989e12)
H100 = card(HOPPER, 989e12, 989e12)
A100 = card(AMPERE, 312e12, 312e12, 2.039e12)
MI300X_FP8 = card(CDNA3, 2615e12, 1307e12, 5.3e12)
ARC_B580 = Device.of(
    456e9, 109e12, half_flops_s=109e12, kinds=CardKind("battlemage", "consumer", "oneapi", memory="gddr6")
)


def served(
    facts: Facts, model: str, number_format: str, device: Device, tensor: int = 1, split: str = "heads", **setup: Any
) -> InferenceWork:
    wanted: dict[str, Any] = {"context_tokens": 4097, "output_tokens": 1, "runtime": "vllm"} | setup
    layout = ParallelLayout(tensor=tensor, cache_split=split)  # type: ignore[arg-type]  # a word of the layout
    asked = Setup(facts.formats[number_format], **wanted)
    work = speed.estimate(facts.shape(model), asked, layout, device, facts.coefficients).work
    assert isinstance(work, InferenceWork)
    return work


def prompt_s(*asked: Any, **setup: Any) -> float:
    return float(served(*asked, **setup).prefill.total_s[0, 0])


def step_s(*asked: Any, **setup: Any) -> float:
    return float(served(*asked, **{"context_tokens": 400, "output_tokens": 200} | setup).decode.step_s[0, 0])


def test_fp8_gains_less_than_twice_where_activations_are_quantized_on_the_way(facts: Facts) -> None:
    """vLLM PR 17126: 1.37 times BF16 with them, 1.76 without; TensorRT-LLM's static scales are within its kernels."""
    for runtime, low, high in (("vllm", 1.35, 1.76), ("sglang", 1.35, 1.76), ("tensorrt-llm", 1.85, 2.05)):
        slow = prompt_s(facts, "llama-3.1-8b", "bf16", H100, runtime=runtime)
        assert low < slow / prompt_s(facts, "llama-3.1-8b", "fp8", H100_FP8, runtime=runtime) < high, runtime


def test_quantizing_activations_takes_time_in_each_step(facts: Facts) -> None:
    """3.8 microseconds a product at 256 rows (vLLM PR 17126: 17.3 and 13.5), four to a layer."""
    static, dynamic = (
        served(facts, "llama-3.1-8b", "fp8", H100_FP8, runtime=runtime).overheads.gap_s[0, 0] / 32
        for runtime in ("tensorrt-llm", "vllm")
    )
    plain = served(facts, "llama-3.1-8b", "bf16", H100).overheads.gap_s[0, 0] / 32
    assert dynamic - plain == pytest.approx(4 * 3.8e-6, rel=0.1)
    assert dynamic > static


@pytest.mark.parametrize(
    ("number_format", "share"),
    [("awq-int4", 0.75), ("gptq-int8", 0.85), ("fp8", 0.85)],  # Ampere has no unit for FP8
)
def test_a_full_batch_pays_for_unpacking_and_one_request_does_not(
    facts: Facts, number_format: str, share: float
) -> None:
    """vLLM PR 2497, Marlin on an A100: 3.2 times the 16-bit product's speed at 16 rows, 0.74 at 256."""
    for requests, expected in ((1, 1.0), (16, 1.0), (17, share), (256, share)):
        setup: dict[str, Any] = {"concurrency": requests, "context_tokens": 400, "output_tokens": 200}
        packed = served(facts, "qwen3-8b", number_format, A100, **setup).decode.compute_s[0, 0]
        plain = served(facts, "qwen3-8b", "bf16", A100, **setup).decode.compute_s[0, 0]
        assert plain / packed == pytest.approx(expected, rel=0.05), (
            requests
        )  # scores are in 16 bits whatever the weights


def test_weights_in_8_bits_are_slower_than_in_16_in_a_full_batch_of_prompts_alone(facts: Facts) -> None:
    assert prompt_s(facts, "qwen3-8b", "gptq-int8", A100) > 1.1 * prompt_s(facts, "qwen3-8b", "bf16", A100)
    assert step_s(facts, "qwen3-8b", "gptq-int8", A100) < 0.75 * step_s(facts, "qwen3-8b", "bf16", A100)
    # llama.cpp counts what unpacking moves instead
    device = card(AMPERE, 312e12, 312e12)
    done = served(facts, "qwen3-8b", "q8_0", device, runtime="llama.cpp")
    half = served(facts, "qwen3-8b", "bf16", device, runtime="llama.cpp")
    assert done.prefill.compute_s[0, 0] == pytest.approx(half.prefill.compute_s[0, 0])


def test_experts_unpack_by_the_rows_of_each(facts: Facts) -> None:
    """128 requests give each of 128 experts, of which 8 are chosen, 8 rows: less than a tile, as attention has not."""
    shape = facts.shape("qwen3-30b-a3b")
    assert float(rows_each(shape, np.array([128.0]))[0]) == pytest.approx(8, rel=0.01)
    setup: dict[str, Any] = {"concurrency": 128, "context_tokens": 400, "output_tokens": 200}
    mixed, dense = (
        served(facts, model, "awq-int4", A100, **setup).decode.compute_s[0, 0]
        / served(facts, model, "bf16", A100, **setup).decode.compute_s[0, 0]
        for model in ("qwen3-30b-a3b", "qwen3-8b")
    )
    assert 1 < mixed < 1.1 < dense


def test_cards_of_a_tensor_group_all_move_whole_rows_to_experts_and_back(facts: Facts) -> None:
    """vLLM PR 13932: beside a part that eight cards divide, each token of DeepSeek V3 costs every card as much."""
    one, eight = (served(facts, "deepseek-v3", "fp8", H100_FP8, tensor=cards) for cards in (1, 8))
    share = np.ones(1)
    alike = [float(spread_s(done.columns, share)[0, 0]) for done in (one, eight)]
    assert alike[0] == alike[1] > 0
    assert alike[0] / 58 == pytest.approx(8 * 8 * 7168 / (3.35e12 * 0.75)), "layers; bytes, experts, width"
    moved = [float(done.prefill.moved_s[0, 0]) / done.computed for done in (one, eight)]
    quantized = moved[0] - alike[0]
    assert moved[1] == pytest.approx(alike[0] + quantized / 8)
    # where requests are divided, a card moves the tokens of the experts that it has
    divided = served(facts, "deepseek-v3", "fp8", H100_FP8, tensor=8, split="requests", concurrency=64)
    assert float(expert_share(divided.columns)[0]) == 1 / 8


def test_narrow_slices_of_experts_are_less_of_a_gain_for_prompts_than_dense_slices(facts: Facts) -> None:
    gains = {
        model: prompt_s(facts, model, "bf16", A100) / prompt_s(facts, model, "bf16", A100, 8)
        for model in ("qwen3-235b-a22b", "llama-3.1-70b")
    }
    assert gains["qwen3-235b-a22b"] < 0.85 * gains["llama-3.1-70b"]


def test_mixtures_on_cdna3_wait_between_kernels(facts: Facts) -> None:
    """Qwen3.5-122B-A10B on an MI325X: 98 tokens/s with AITER (vllm-project/vllm#56945)."""
    mi325x = card(CDNA3, 2615e12, 1307e12, 6e12)
    setup: dict[str, Any] = {"context_tokens": 400, "output_tokens": 200, "kv_format": facts.formats["fp8"]}
    assert 1 / step_s(facts, "qwen3.5-122b-a10b", "fp8", mi325x, **setup) == pytest.approx(98, rel=0.15)
    # a dense model waits no longer than on other cards: 9.42 ms of an 8B at 32 requests (vllm-project/recipes PR 431)
    dense = card(CDNA3, 1307e12, 1307e12, 5.3e12)
    found = step_s(facts, "qwen3-8b", "bf16", dense, concurrency=32, context_tokens=2048, output_tokens=1024)
    assert found == pytest.approx(9.42e-3, rel=0.25)


def test_mixtures_reach_less_of_a_cdna3_card_than_dense_models(facts: Facts) -> None:
    for name in ("prefill-mfu", "decode-mfu"):
        mixed, dense = (
            served(facts, model, "fp8", MI300X_FP8).columns.more_is_better(name)[0, 0]
            for model in ("qwen3-30b-a3b", "qwen3-8b")
        )
        assert mixed == pytest.approx(dense / 2, rel=0.05), name


@pytest.mark.parametrize(("model", "published"), [("llama-2-7b", 65.13), ("qwen2.5-1.5b", 134.93)])
def test_battlemage_reads_reordered_weights(facts: Facts, model: str, published: float) -> None:
    """ggml-org/llama.cpp#13885: Q4_0 on a B580."""
    setup: dict[str, Any] = {"context_tokens": 129, "output_tokens": 128, "runtime": "llama.cpp"}
    assert 1 / step_s(facts, model, "q4_0", ARC_B580, **setup) == pytest.approx(published, rel=0.25)


def test_prompts_of_mixtures_are_slow_with_sycl(facts: Facts) -> None:
    """ggml-org/llama.cpp#13885: 2,164 tokens/s of a 7B; ggml-org/llama.cpp#22413: 374 of a 35B-A3B on a like card."""
    setup: dict[str, Any] = {"context_tokens": 513, "runtime": "llama.cpp"}
    assert 512 / prompt_s(facts, "llama-2-7b", "q4_0", ARC_B580, **setup) == pytest.approx(2164, rel=0.2)
    mixed = 512 / prompt_s(facts, "qwen3.5-35b-a3b", "q4_k_m", ARC_B580, **setup)
    assert 374 < mixed < 2 * 374


def test_two_machines_pay_for_each_all_reduce(facts: Facts) -> None:
    """NCCL issues 1453 and 1244: 62 microseconds for 128 bytes and 122 for 1 MB over two machines of eight."""
    columns = served(facts, "deepseek-r1", "fp8", H100_FP8, tensor=16).columns
    assert 62e-6 < float(columns.less_is_better("network-latency-s")[0, 0]) < 122e-6


@pytest.mark.parametrize(
    ("model", "number_format", "device", "tensor"),
    [
        ("qwen3-8b", "awq-int4", A100, 1),
        ("qwen3-8b", "gptq-int8", A100, 2),
        ("qwen3-30b-a3b", "awq-int4", A100, 1),
        ("gpt-oss-120b", "mxfp4", H100, 2),
        ("deepseek-v3", "fp8", H100_FP8, 8),
    ],
)
def test_formulas_give_what_they_explain(
    facts: Facts, model: str, number_format: str, device: Device, tensor: int
) -> None:
    for requests in (1, 64, 512):
        setup = Setup(
            facts.formats[number_format],
            context_tokens=2048,
            output_tokens=256,
            concurrency=requests,
            runtime="vllm",
        )
        done = speed.estimate(facts.shape(model), setup, ParallelLayout(tensor=tensor), device, facts.coefficients)
        for calculation in done.calculations(0):
            assert value_of(calculation) == pytest.approx(calculation.value, rel=1e-9), calculation.name
