"""A cache divided by heads, by tokens or by requests: what each card keeps, reads, computes and exchanges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.strategies import FACTS, setups
from whygpu.checks.memory import estimate as memory
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CACHE_SPLITS, CacheSplit, CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork

SERVED = ("deepseek-v3", "deepseek-v3.2", "kimi-k2", "qwen3-235b-a22b", "gpt-oss-20b", "llama-3.1-8b", "mixtral-8x7b")
H200 = Device.of(
    4.8e12,
    1979e12,
    half_flops_s=989e12,
    power_w=700,
    link_bytes_s=4.5e11,
    link_cards=8,
    kinds=CardKind("hopper", "data-centre", link="nvlink", memory="hbm3e"),
)


def held(facts: Facts, model: str, setup: Setup, tensor: int, split: CacheSplit) -> memory.MemoryEstimate:
    layout = ParallelLayout(tensor=tensor, cache_split=split)
    return memory.estimate(facts.shape(model), setup, layout, facts.coefficients)


def work(facts: Facts, model: str, setup: Setup, split: CacheSplit) -> InferenceWork:
    layout = ParallelLayout(tensor=8, cache_split=split)
    found = speed.estimate(facts.shape(model), setup, layout, H200, facts.coefficients, ranges=False).work
    assert isinstance(found, InferenceWork)
    return found


def test_eight_cards_hold_eight_times_the_tokens_of_a_latent(facts: Facts) -> None:
    """vllm-recipe-kimi-k2-thinking: 715,072 tokens of cache on eight H200, 5,721,088 with their tokens divided."""
    setup = Setup(facts.formats["int4"], context_tokens=12_000, concurrency=32, runtime="vllm")
    copies, divided = (held(facts, "kimi-k2", setup, 8, split).kv_cache for split in ("heads", "tokens"))
    assert copies / divided == pytest.approx(5_721_088 / 715_072, rel=1e-3)


def test_tokens_are_divided_as_far_as_cards_would_keep_copies(facts: Facts) -> None:
    """vllm-context-parallel: Qwen3-235B has four key/value heads, so eight cards keep two copies; four keep none."""
    setup = Setup(facts.formats["fp8"], context_tokens=32_768, concurrency=16, runtime="vllm")
    for cards, copies in ((8, 2), (4, 1)):
        kept = [held(facts, "qwen3-235b-a22b", setup, cards, split).kv_cache for split in ("heads", "tokens")]
        assert kept[0] / kept[1] == pytest.approx(copies)


def test_requests_of_its_own_take_all_weights_but_the_experts(facts: Facts) -> None:
    """tensorrt-llm-parallel, vllm-data-parallel: 671 of DeepSeek-V3's 671 billion weights less 653.6 of experts."""
    shape = facts.shape("deepseek-v3")
    setup = Setup(facts.formats["fp8"], context_tokens=4096, concurrency=64, runtime="vllm")
    heads, requests = (held(facts, "deepseek-v3", setup, 8, split) for split in ("heads", "requests"))
    rest = setup.format.weight_bytes(shape) - shape.expert_parameters * setup.format.bits_in(shape, "experts") / 8
    assert requests.weights - heads.weights == pytest.approx(rest * 7 / 8, rel=0.02)
    assert heads.kv_cache / requests.kv_cache == pytest.approx(8)


@given(model=st.sampled_from(SERVED), setup=setups(trains=False), tensor=st.sampled_from((2, 4, 8, 16)))
def test_a_divided_cache_is_never_larger_than_copies(model: str, setup: Setup, tensor: int) -> None:
    copies, tokens, requests = (held(FACTS, model, setup, tensor, split) for split in CACHE_SPLITS)
    assert tokens.total <= copies.total * (1 + 1e-12)
    assert tokens.kv_cache <= requests.kv_cache * (1 + 1e-12)
    if setup.concurrency % tensor == 0 and setup.usual_tokens == setup.context_tokens:
        assert requests.kv_cache <= copies.kv_cache * (1 + 1e-12)


@given(
    model=st.sampled_from(SERVED),
    split=st.sampled_from(CACHE_SPLITS),
    context=st.integers(2, 131_072),
    usable=st.floats(1e10, 3e11),
)
def test_more_cards_never_hold_fewer_requests(model: str, split: CacheSplit, context: int, usable: float) -> None:
    shape, setup = FACTS.shape(model), Setup(FACTS.formats["fp8"], context_tokens=context, runtime="vllm")
    counts = [
        memory.largest(shape, setup, _on(tensor, split), FACTS.coefficients, usable, "concurrency", 4096)
        for tensor in (2, 4, 8, 16)
    ]
    assert counts == sorted(counts)


def _on(tensor: int, split: CacheSplit) -> ParallelLayout:
    return ParallelLayout(tensor=tensor, cache_split=split)


def test_a_step_reads_an_eighth_and_exchanges_more(facts: Facts) -> None:
    setup = Setup(facts.formats["fp8"], context_tokens=32_768, concurrency=64, runtime="vllm")
    heads, tokens, requests = (work(facts, "deepseek-v3", setup, split).decode for split in CACHE_SPLITS)
    assert heads.cache_bytes[0] / tokens.cache_bytes[0] == pytest.approx(8)
    assert requests.cache_bytes[0] == pytest.approx(tokens.cache_bytes[0])
    assert heads.wire_s[0, 0] < tokens.wire_s[0, 0]
    assert requests.wire_s[0, 0] < heads.wire_s[0, 0]
    # Queries of 576 numbers are gathered and outputs of 512 scattered, of 128 heads in each of 61 layers.
    columns = work(facts, "deepseek-v3", setup, "tokens").columns
    path = columns.wire()
    moved = 7 / 8 * 64 * 128 * (576 + 512) * 2 / path.tensor_bytes_s + 3 * path.latency_s
    assert tokens.wire_s[0, 0] - heads.wire_s[0, 0] == pytest.approx(61 * moved[0, 0])


def test_one_request_alone_is_read_by_one_card(facts: Facts) -> None:
    """Attention of one request keeps one of eight cards busy, and what all weights but the experts take is not less."""
    setup = Setup(facts.formats["fp8"], context_tokens=8192, concurrency=1, runtime="vllm")
    heads, requests = (work(facts, "deepseek-v3", setup, split) for split in ("heads", "requests"))
    assert requests.prefill.total_s[0, 0] > 2 * heads.prefill.total_s[0, 0]
    assert requests.decode.read_s[0, 0] > heads.decode.read_s[0, 0]


def test_requests_in_flight_divide_prompts_as_shards_do(facts: Facts) -> None:
    """Eight cards that each read a prompt of their own do as much arithmetic as eight that read one together."""
    setup = Setup(facts.formats["fp8"], context_tokens=8192, concurrency=64, runtime="vllm")
    heads, requests = (work(facts, "deepseek-v3", setup, split) for split in ("heads", "requests"))
    assert requests.prefill.compute_s[0, 0] == pytest.approx(8 * heads.prefill.compute_s[0, 0])
    assert requests.stages[0] == pytest.approx(8 * heads.stages[0])


@pytest.mark.parametrize(("bandwidth", "half", "measured"), [(8e12, 2250e12, 6463), (8e12, 2500e12, 6939)])
def test_attention_by_requests_as_measured(facts: Facts, bandwidth: float, half: float, measured: float) -> None:
    """TensorRT-LLM's performance overview: DeepSeek-R1 in FP4 on four B200 and GB200, tokens a second and card."""
    blackwell = CardKind("blackwell", "data-centre", link="nvlink", memory="hbm3e")
    card = Device.of(
        bandwidth, 4 * half, half_flops_s=half, power_w=1000, link_bytes_s=9e11, link_cards=8, kinds=blackwell
    )
    setup = Setup(
        facts.formats["nvfp4"],
        phase="batch-inference",
        kv_format=facts.formats["fp8"],
        context_tokens=2000,
        output_tokens=1000,
        concurrency=4096,
        runtime="tensorrt-llm",
    )
    layout = ParallelLayout(tensor=4, cache_split="requests")
    done = speed.estimate(facts.shape("deepseek-r1"), setup, layout, card, facts.coefficients, ranges=False)
    assert done.tokens_per_s is not None
    assert done.tokens_per_s.likely[0] / 4 == pytest.approx(measured, rel=0.3)


def test_a_latent_is_multiplied_by_every_head(facts: Facts) -> None:
    """DeepSeek-V2, 2.1, absorbed: 128 heads multiply 576 numbers for scores and 512 for values, in 61 layers each."""
    setup = Setup(facts.formats["fp8"], context_tokens=32_768, output_tokens=1, concurrency=64, runtime="vllm")
    device = replace(H200, half_flops_s=np.array([989e12 / 2]))
    layout = ParallelLayout(tensor=8)
    fast, slow = (
        speed.estimate(_shape(facts), setup, layout, one, facts.coefficients, ranges=False).work
        for one in (H200, device)
    )
    assert isinstance(fast, InferenceWork)
    assert isinstance(slow, InferenceWork)
    done = 64 * 2 * 128 * (576 + 512) * 61 * (32_768 - 0.5)
    reached = 8 * 989e12 * fast.rates.power[0, 0] * fast.columns.more_is_better("decode-mfu")[0, 0]
    assert slow.decode.compute_s[0, 0] - fast.decode.compute_s[0, 0] == pytest.approx(done / reached)


def _shape(facts: Facts) -> ModelShape:
    return facts.shape("deepseek-v3")


@pytest.mark.parametrize(
    ("model", "kind"),
    [("deepseek-v3", "latent"), ("kimi-k2", "latent"), ("deepseek-v3.2", "sparse"), ("gpt-oss-20b", "window"),
     ("llama-3.1-8b", "heads"), ("bert-large", "")],
)  # fmt: skip
def test_runtimes_tell_caches_apart(facts: Facts, model: str, kind: str) -> None:
    assert facts.shape(model).cache_kind == kind
