"""Memory of inference, against published figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.checks.conftest import Facts
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import ParallelLayout, Setup

GIB = 2**30


@pytest.mark.parametrize(
    ("model", "number_format", "gib"),
    [
        # llama.cpp tools/quantize/README.md, Llama-3.1-8B table: sizes of the files
        ("llama-3.1-8b", "q4_k_m", 4.58),
        ("llama-3.1-8b", "q5_k_m", 5.33),
        ("llama-3.1-8b", "q3_k_l", 4.02),
        ("llama-3.1-8b", "q2_k", 2.95),
        ("llama-3.1-8b", "iq4_xs", 4.17),
        ("llama-3.1-8b", "q6_k", 6.14),
        ("llama-3.1-8b", "q8_0", 7.95),
        # the same page: 70B and 405B in Q4_K_M are 43.1 and 249.1 GB as the files' listing counts (GiB to rounding)
        ("llama-3.1-8b", "fp16", 14.96),
    ],
)
def test_weights_of_a_format(facts: Facts, model: str, number_format: str, gib: float) -> None:
    held = facts.formats[number_format].weight_bytes(facts.shape(model)) / GIB
    assert held == pytest.approx(gib, rel=0.005)


@pytest.mark.parametrize(
    ("model", "number_format", "gb"),
    [
        # rows of 1152: tensorblock/gemma-3-1b-it-GGUF, its table of files, in GB
        ("gemma-3-1b", "q2_k", 0.690),
        ("gemma-3-1b", "q3_k_s", 0.689),
        ("gemma-3-1b", "q3_k_m", 0.722),
        ("gemma-3-1b", "q3_k_l", 0.752),
        ("gemma-3-1b", "q4_k_s", 0.781),
        ("gemma-3-1b", "q4_0", 0.720),
        # rows of 2688 and 1856: llama.cpp PR #28474, 6.18 bits a weight where the recipe is 5.00
        ("nemotron-3-nano-30b-a3b", "q4_k_m", 31.578 * 6.18 / 8),
    ],
)
def test_rows_that_a_block_does_not_divide_take_a_wider_type(
    facts: Facts, model: str, number_format: str, gb: float
) -> None:
    assert facts.formats[number_format].weight_bytes(facts.shape(model)) / 1e9 == pytest.approx(gb, rel=0.02)


@pytest.mark.parametrize(
    ("number_format", "of_q8_0"),
    # dexiio.pages.dev, GLM 4.5 Air: 42.2, 53.3, 68.0, 77.8 and 92.2 of 109.4 GiB; its experts read rows of 1408
    [("q2_k", 0.386), ("q3_k_m", 0.487), ("q4_k_m", 0.622), ("q5_k_m", 0.711), ("q6_k", 0.843)],
)
def test_experts_are_packed_by_the_rows_of_each_matrix(facts: Facts, number_format: str, of_q8_0: float) -> None:
    shape = facts.shape("glm-4.5-air")
    whole = facts.formats["q8_0"].weight_bytes(shape)
    assert facts.formats[number_format].weight_bytes(shape) / whole == pytest.approx(of_q8_0, rel=0.01)


@pytest.mark.parametrize("number_format", ["q4_k_m", "q6_k", "iq3_m"])
def test_rows_that_blocks_divide_change_nothing(facts: Facts, number_format: str) -> None:
    held, shape = facts.formats[number_format], facts.shape("llama-3.1-8b")
    assert held.weight_bytes(shape) == pytest.approx(replace(held, block=0).weight_bytes(shape), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "number_format", "prompt", "gib"),
    [
        # QwenLM/Qwen3@0f0ecfb speed_benchmark.rst: torch.cuda.max_memory_allocated with 2048 tokens written
        ("qwen2.5-0.5b", "bf16", 30720, 2.34),
        ("qwen2.5-7b", "bf16", 1, 14.38),
        ("qwen2.5-7b", "bf16", 30720, 19.97),
        ("qwen2.5-7b", "awq-int4", 14336, 7.92),
        ("qwen2.5-14b", "gptq-int8", 6144, 17.61),
        ("qwen2.5-32b", "gptq-int4", 30720, 31.84),
    ],
)
def test_allocated_by_transformers(facts: Facts, model: str, number_format: str, prompt: int, gib: float) -> None:
    setup = Setup(facts.formats[number_format], context_tokens=prompt + 2048, output_tokens=2048)
    estimate = memory.estimate(facts.shape(model), setup, ParallelLayout(), facts.coefficients)
    assert (estimate.total - estimate.overhead) / GIB == pytest.approx(gib, rel=0.04)


def test_quantized_cache_halves_the_cache(facts: Facts) -> None:
    shape, fp16, fp8 = facts.shape("llama-3.1-8b"), facts.formats["fp16"], facts.formats["fp8"]
    plain = memory.estimate(shape, Setup(fp16, context_tokens=8192), ParallelLayout(), facts.coefficients)
    small = memory.estimate(
        shape, Setup(fp16, kv_format=fp8, context_tokens=8192), ParallelLayout(), facts.coefficients
    )
    assert plain.kv_cache == 2 * small.kv_cache == 8192 * 131_072


def test_latent_attention_is_copied_to_every_rank(facts: Facts) -> None:
    setup = Setup(facts.formats["fp8"], context_tokens=8192, runtime="vllm")
    one, eight = (
        memory.estimate(facts.shape("deepseek-v3"), setup, ParallelLayout(tensor=t), facts.coefficients) for t in (1, 8)
    )
    assert one.kv_cache == eight.kv_cache
    assert eight.weights == pytest.approx(one.weights / 8)


def test_grouped_heads_divide_until_each_rank_has_one(facts: Facts) -> None:
    setup = Setup(facts.formats["bf16"], context_tokens=8192)
    shape = facts.shape("llama-3.1-8b")
    held = [memory.estimate(shape, setup, ParallelLayout(tensor=t), facts.coefficients).kv_cache for t in (1, 8, 16)]
    assert held[1] == held[0] / 8
    assert held[2] == held[1]


def test_replicas_share_the_requests(facts: Facts) -> None:
    setup = Setup(facts.formats["bf16"], concurrency=9, context_tokens=4096)
    shape = facts.shape("llama-3.1-8b")
    one, two = (memory.estimate(shape, setup, ParallelLayout(data=data), facts.coefficients) for data in (1, 2))
    assert two.kv_cache == one.kv_cache * 5 / 9


def test_a_serving_runtime_takes_more_than_it_needs(facts: Facts) -> None:
    taken = memory.reserved_bytes(80e9, 20e9, "vllm", "pcie", facts.coefficients)
    assert taken == pytest.approx(0.92 * 80e9)  # vllm/config/cache.py: gpu_memory_utilization
    assert memory.reserved_bytes(80e9, 20e9, "transformers", "pcie", facts.coefficients) == 20e9


def test_the_largest_concurrency_fits_and_one_more_does_not(facts: Facts) -> None:
    shape, layout = facts.shape("llama-3.1-8b"), ParallelLayout()
    setup = Setup(facts.formats["bf16"], context_tokens=8192, runtime="vllm")
    most = memory.largest(shape, setup, layout, facts.coefficients, 40e9, "concurrency")

    def fits(requests: int) -> bool:
        asked = Setup(facts.formats["bf16"], context_tokens=8192, runtime="vllm", concurrency=requests)
        return memory.estimate(shape, asked, layout, facts.coefficients).total <= 40e9

    assert fits(most)
    assert not fits(most + 1)
    assert memory.largest(shape, setup, layout, facts.coefficients, 1e9, "concurrency") == 0


@pytest.mark.parametrize(
    ("layers", "heads", "head_dim", "prompt", "output", "requests", "gib"),
    [
        # NVIDIA/FasterTransformer@df4a753 docs/gpt_guide.md, memory usage on an A100 80GB
        (32, 32, 128, 128, 8, 1, 15.55),
        (32, 32, 128, 512, 32, 64, 41.84),
        (24, 16, 64, 512, 32, 64, 8.67),
    ],
)
def test_whole_card_under_fastertransformer(
    facts: Facts, layers: int, heads: int, head_dim: int, prompt: int, output: int, requests: int, gib: float
) -> None:
    done = fastertransformer(facts, layers, heads, head_dim, prompt, output, requests)
    assert done.total / GIB == pytest.approx(gib, rel=0.05)


def test_what_ran_out_of_memory_under_fastertransformer_does_not_fit(facts: Facts) -> None:
    # the same guide: GPT-20B, 80 tokens in and 200 out, runs out of an A100's 79.25 GiB at 128 requests, not at 64
    assert fastertransformer(facts, 44, 64, 96, 80, 200, 128).verdict(79.25 * GIB) == "no"
    assert fastertransformer(facts, 44, 64, 96, 80, 200, 64).verdict(79.25 * GIB) != "no"


def fastertransformer(
    facts: Facts, layers: int, heads: int, head_dim: int, prompt: int, output: int, requests: int
) -> memory.MemoryEstimate:
    """A GPT with a head of its own, in FP16 on one card."""
    hidden = heads * head_dim
    shape = facts.shape(
        {
            "kind": "decoder",
            "parameters": 12 * layers * hidden**2 + (2 * 51200 + 2048) * hidden,
            "layers": layers,
            "hidden_size": hidden,
            "heads": heads,
            "kv_heads": heads,
            "head_dim": head_dim,
            "ffn_size": 4 * hidden,
            "vocab_size": 51200,
            "gated_ffn": False,
        }
    )
    setup = Setup(
        facts.formats["fp16"],
        context_tokens=prompt + output,
        output_tokens=output,
        concurrency=requests,
        runtime="fastertransformer",
    )
    return memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)


def test_verdicts(facts: Facts) -> None:
    estimate = memory.estimate(
        facts.shape("llama-3.1-8b"), Setup(facts.formats["bf16"]), ParallelLayout(), facts.coefficients
    )
    assert estimate.verdict(estimate.high) == "fits"
    assert estimate.verdict(estimate.total) == "tight"
    assert estimate.verdict(estimate.total * 0.99) == "no"


def test_a_text_encoder_needs_no_cache(facts: Facts) -> None:
    estimate = memory.estimate(
        facts.shape("bge-m3"),
        Setup(facts.formats["fp16"], context_tokens=512, concurrency=32),
        ParallelLayout(),
        facts.coefficients,
    )
    assert estimate.kv_cache == estimate.logits == 0
    assert estimate.total < 4 * GIB


@pytest.mark.parametrize(("number_format", "verdict"), [("nf4", "tight"), ("nf4-dq", "fits")])
def test_what_quantizing_at_load_leaves_behind_is_no_room(facts: Facts, number_format: str, verdict: str) -> None:
    """LitGPT's tables: Llama 2 70B on an A100 of 40 GB runs with double quantization (37.21 GB allocated) and fails at
    cuBLAS' first handle without, though its weights and work would leave 1.5 GiB.
    """
    setup = Setup(facts.formats[number_format], context_tokens=60, output_tokens=50)
    done = memory.estimate(facts.shape("llama-2-70b"), setup, ParallelLayout(), facts.coefficients)
    usable = 39.57 * GIB
    assert usable - (done.total - done.overhead) > 1.5 * GIB
    assert done.verdict(usable) == verdict


def _weights(facts: Facts, model: str, number_format: str, table: str, stages: int = 1) -> float:
    setup = Setup(facts.formats[number_format], runtime="llama.cpp", token_table=table)
    return memory.estimate(facts.shape(model), setup, ParallelLayout(pipeline=stages), facts.coefficients).weights


def test_a_token_table_that_is_looked_up_alone_may_lie_in_the_hosts_memory(facts: Facts) -> None:
    """llmfit #204: llama-server keeps 1.03 GiB of Qwen3.5 9B in Q8_0 on the CPU, beside an RTX 4080 with all layers."""
    left = _weights(facts, "qwen3.5-9b", "q8_0", "card") - _weights(facts, "qwen3.5-9b", "q8_0", "host")
    assert left / GIB == pytest.approx(1.03, rel=0.03)


def test_a_table_that_is_the_head_too_is_on_the_card(facts: Facts) -> None:
    """llama.cpp, create_tensor: an output that is missing is the token table, read once more to the card."""
    assert facts.shape("llama-3.2-1b").tied_embeddings
    assert _weights(facts, "llama-3.2-1b", "q8_0", "card") == _weights(facts, "llama-3.2-1b", "q8_0", "host")


def test_stages_divide_what_is_left_on_the_cards(facts: Facts) -> None:
    # Llama 3.1 8B: 8.03 billion, 0.525 of them in the table; each of two stages has no more than half of the rest
    table = 128_256 * 4096
    shape = facts.shape("llama-3.1-8b")
    bytes_of = facts.formats["fp16"].weight_bytes(shape)
    assert _weights(facts, "llama-3.1-8b", "fp16", "host", 2) < bytes_of / 2
    assert _weights(facts, "llama-3.1-8b", "fp16", "host", 2) >= (bytes_of - 2 * table) / 2


@pytest.mark.parametrize(
    ("model", "number_format", "gib"),
    [
        # huggingface.co/gratex/Kimi-K2.6-REAM-25: about 555 GB as the system counts them; 595 GB on the Hub
        ("kimi-k2.5", "int4", 555),
        ("gpt-oss-120b", "mxfp4", 60.8),  # gpt-oss README: 65.3 GB
    ],
)
def test_published_formats_leave_parts_as_they_were(facts: Facts, model: str, number_format: str, gib: float) -> None:
    held = facts.formats[number_format].weight_bytes(facts.shape(model)) / GIB
    assert held == pytest.approx(gib, rel=0.005)
