"""What serving stacks do beside one model: bounds that hold for all work, and measurements of published runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.speed.closed_loop import never_longer_s
from tests.checks.strategies import CARDS, FACTS, works
from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.weights import share_held
from whygpu.checks.model_shape import TOKEN_KINDS, ModelShape
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork, chunks, prompt_length
from whygpu.checks.speed.serving import touched

Work = tuple[ModelShape, Setup, ParallelLayout]
SLOWER_WHEN_MORE, FASTER_WHEN_MORE = ("ttft_ms", "token_ms"), ("tokens_per_s", "requests_per_s")
H100 = Device.of(3.35e12, 989e12, power_w=700, kinds=CardKind("hopper", "data-centre", memory="hbm3"))

RTX_3090 = Device.of(
    9.36e11, 71.2e12, memory_bytes=2.53e10, pcie_bytes_s=3.15e10, kinds=CardKind("ampere", "consumer", memory="gddr6x")
)
RTX_2080 = Device.of(
    4.48e11, 40.3e12, memory_bytes=8.2e9, pcie_bytes_s=1.58e10, kinds=CardKind("turing", "consumer", memory="gddr6")
)


def timed(work: Work) -> speed.SpeedEstimate:
    shape, setup, layout = work
    return speed.estimate(shape, setup, layout, CARDS, FACTS.coefficients, ranges=False)


def assert_no_slower(
    fast: speed.SpeedEstimate,
    slow: speed.SpeedEstimate,
    names: tuple[str, ...] = (*SLOWER_WHEN_MORE, *FASTER_WHEN_MORE),
) -> None:
    for name in names:
        first, second = getattr(fast, name), getattr(slow, name)
        if first is None:
            assert second is None
            continue
        left, right = (first, second) if name in SLOWER_WHEN_MORE else (second, first)
        assert (left.likely <= right.likely * (1 + 1e-9)).all(), name


def same_figures(left: speed.SpeedEstimate, right: speed.SpeedEstimate) -> bool:
    bands = [(getattr(left, name), getattr(right, name)) for name in speed.FIGURES]
    return all((a is None and b is None) or (a.likely == b.likely).all() for a, b in bands)


@given(works(trains=False), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_hit_rate_is_never_slower(work: Work, one: float, other: float) -> None:
    """Without stages: these read one chunk behind the other, and a prompt cut to one chunk has nothing to overlap. A
    prompt of several chunks is compared by its first token alone: the chunks left attend to more than the ones found,
    so that less of each hides behind what a step takes anyway.
    """
    shape, setup, layout = work
    layout = replace(layout, pipeline=1, interleave=1)
    more, fewer = (replace(setup, prefix_hit_rate=rate) for rate in (max(one, other), min(one, other)))
    fast, slow = timed((shape, more, layout)), timed((shape, fewer, layout))
    done = slow.work
    cut = isinstance(done, InferenceWork) and chunks(done.columns, prompt_length(done.columns)) > 1
    assert_no_slower(fast, slow, ("ttft_ms",) if cut else (*SLOWER_WHEN_MORE, *FASTER_WHEN_MORE))
    total = memory.estimate(shape, more, layout, FACTS.coefficients).total
    assert total == memory.estimate(shape, fewer, layout, FACTS.coefficients).total


def test_a_prompt_that_loses_a_chunk_to_the_cache_is_read_sooner(facts: Facts) -> None:
    """Weights are unpacked for every chunk, also for one that is hardly begun: the more of the prompt is found, the
    sooner it is read, up to where a whole chunk is saved.
    """
    setup = Setup(facts.formats["fp8"], context_tokens=1500, output_tokens=16, concurrency=4, runtime="llama.cpp")
    layout = ParallelLayout(pipeline=8)
    seconds = [
        timed((facts.shape("llama-3.1-8b"), replace(setup, prefix_hit_rate=rate), layout)).ttft_ms
        for rate in (0.3, 0.4, 0.5, 0.6, 0.63, 0.65, 0.66, 0.8)
    ]
    likely = [float(band.likely[0]) for band in seconds if band is not None]
    assert len(likely) == len(seconds)
    assert likely == sorted(likely, reverse=True)


@pytest.mark.parametrize("output", [1, 256])
def test_a_prompt_just_beyond_a_chunk_takes_no_less_than_a_chunk(facts: Facts, output: int) -> None:
    """The last chunk is a part: 8193 tokens are not two chunks of 4097, which four stages would read in less time."""
    setups = [
        Setup(
            facts.formats["bf16"],
            context_tokens=tokens + output,
            output_tokens=output,
            concurrency=4,
            runtime="vllm",
        )
        for tokens in (8192, 8193)
    ]
    less, more = (
        speed.estimate(facts.shape("llama-3.1-8b"), setup, ParallelLayout(pipeline=4), CARDS, facts.coefficients)
        for setup in setups
    )
    assert_no_slower(less, more)


def test_cached_prompts_take_their_share_of_the_arithmetic(facts: Facts) -> None:
    """Attention of the last half of a prompt is three quarters of its whole, and the products are half."""
    shape, setup = facts.shape("llama-3.1-8b"), Setup(facts.formats["bf16"], context_tokens=8704, runtime="vllm")
    whole, half = (
        speed.estimate(shape, replace(setup, prefix_hit_rate=rate), ParallelLayout(), H100, facts.coefficients).work
        for rate in (0.0, 0.5)
    )
    head = 2 * shape.head_parameters  # for the last token alone, whatever is cached
    assert half.prefill.flops - head == pytest.approx(0.5 * (whole.prefill.flops - head))  # type: ignore[union-attr]
    assert half.prefill.score_flops == pytest.approx(0.75 * whole.prefill.score_flops)  # type: ignore[union-attr]


def test_nothing_of_an_encoders_source_is_found_in_a_cache(facts: Facts) -> None:
    """What it computes for a token depends on the tokens after it, too (Vaswani et al. 2017, 3.2.3)."""
    setup = Setup(facts.formats["fp32"], context_tokens=448, output_tokens=200, runtime="llama.cpp")
    whole, half = (
        timed((facts.shape("whisper-small"), replace(setup, prefix_hit_rate=rate), ParallelLayout()))
        for rate in (0.0, 0.5)
    )
    assert same_figures(whole, half)


@given(works(trains=False), st.sampled_from((0, 1, 2)))
def test_an_average_as_long_as_the_longest_changes_nothing(work: Work, beyond: int) -> None:
    shape, setup, layout = work
    without = (shape, replace(setup, average_context_tokens=0), layout)
    same = (shape, replace(setup, average_context_tokens=setup.context_tokens + beyond), layout)
    assert same_figures(timed(without), timed(same))
    assert (
        memory.estimate(*without, FACTS.coefficients).ranges.total()
        == memory.estimate(*same, FACTS.coefficients).ranges.total()
    )


@given(works(trains=False), st.integers(1, 131_072))
def test_shorter_requests_never_need_more_nor_take_longer(work: Work, average: int) -> None:
    shape, setup, layout = work
    longest, usual = (replace(setup, average_context_tokens=tokens) for tokens in (0, average))
    fast, slow = (timed((shape, item, layout)) for item in (usual, longest))
    assert_no_slower(fast, slow, ("token_ms", *FASTER_WHEN_MORE))
    if isinstance(fast.work, InferenceWork) and isinstance(slow.work, InferenceWork):
        for sooner, later in zip(never_longer_s(fast.work), never_longer_s(slow.work), strict=True):
            assert (sooner <= later * (1 + 1e-9)).all()
    else:
        assert_no_slower(fast, slow, ("ttft_ms",))
    less, all_ = (memory.estimate(shape, item, layout, FACTS.coefficients) for item in (usual, longest))
    assert less.total <= all_.total * (1 + 1e-12)
    alone = memory.estimate(shape, replace(longest, concurrency=1), layout, FACTS.coefficients)
    assert less.kv_cache >= alone.kv_cache * (1 - 1e-12)  # one request at its longest always fits


def test_one_request_at_its_longest_and_the_others_at_their_average(facts: Facts) -> None:
    """128 KiB a token (Llama-3.1-8B, 16 bits): 32k once and 4k for seven others, in pages or in a cache that the slots
    of llama.cpp share; 32k eight times without.
    """
    shape = facts.shape("llama-3.1-8b")
    setup = Setup(facts.formats["bf16"], context_tokens=32768, average_context_tokens=4096, concurrency=8)
    paged, shared, reserved = (
        memory.estimate(shape, replace(setup, runtime=runtime), ParallelLayout(), facts.coefficients).kv_cache
        for runtime in ("vllm", "llama.cpp", "transformers")
    )
    assert paged == shared == 131_072 * (32768 + 7 * 4096)
    assert reserved == 131_072 * 8 * 32768


@given(works(trains=False), st.integers(0, 100), st.integers(1, 100))
def test_more_adapters_never_need_less(work: Work, few: int, more: int) -> None:
    shape, setup, layout = work
    small, large = (
        memory.estimate(shape, replace(setup, adapters=number), layout, FACTS.coefficients)
        for number in (few, few + more)
    )
    assert small.total <= large.total
    if shape.kind in TOKEN_KINDS:
        assert small.total < large.total


@given(works(trains=False))
def test_adapters_are_never_faster(work: Work) -> None:
    shape, setup, layout = work
    none, some = (replace(setup, adapters=number) for number in (0, 4))
    assert_no_slower(timed((shape, none, layout)), timed((shape, some, layout)))


def test_room_for_an_adapter_by_hand(facts: Facts) -> None:
    """Rank 16 on every linear layer of Llama-3.1-8B is 42M parameters; half of each is on both of two cards."""
    shape = facts.shape("llama-3.1-8b")
    setup = Setup(facts.formats["bf16"], adapters=10, lora_rank=16, lora_targets="all-linear", runtime="vllm")
    per_layer = 2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336)
    for tensor, held in ((1, 1.0), (2, 0.75)):
        layout = ParallelLayout(tensor=tensor)
        with_, without = (
            memory.estimate(shape, item, layout, facts.coefficients).weights
            for item in (setup, replace(setup, adapters=0))
        )
        assert with_ - without == pytest.approx(10 * 32 * 16 * per_layer * 2 * held)


@pytest.mark.parametrize(
    ("method", "requests", "gain"),
    [("eagle", 1, 1.75), ("eagle", 40, 1.59), ("eagle", 128, 1.2), ("draft", 500, 1.13), ("mtp", 32, 1.5)],
)
def test_the_gain_is_as_measured_and_between_measurements(
    facts: Facts, method: str, requests: int, gain: float
) -> None:
    """speculation-in-production, figure 1; sglang-deepseek-mtp. One token's output has no prompts between."""
    shape = facts.shape("llama-3.1-8b")
    setup = Setup(facts.formats["bf16"], concurrency=requests, runtime="vllm")
    without, with_ = (
        speed.estimate(shape, replace(setup, speculative=word), ParallelLayout(), H100, facts.coefficients).work
        for word in ("none", method)
    )
    assert without.decode.token_s[0] / with_.decode.token_s[0] == pytest.approx(gain)  # type: ignore[union-attr]


def test_the_range_of_a_gain_is_in_the_figures(facts: Facts) -> None:
    shape, setup = facts.shape("llama-3.1-8b"), Setup(facts.formats["bf16"], runtime="vllm")
    plain, guessed = (
        speed.estimate(shape, replace(setup, speculative=word), ParallelLayout(), H100, facts.coefficients).token_ms
        for word in ("none", "ngram")
    )
    assert plain is not None
    assert guessed is not None
    assert guessed.low[0] / guessed.likely[0] < plain.low[0] / plain.likely[0]


@given(works(trains=False))
def test_experts_on_the_host_never_need_more_of_the_card(work: Work) -> None:
    """But for what is read at once: more tokens are, since each micro-batch copies the experts (textgen-ubatch)."""
    shape, setup, layout = work
    here, there = (replace(setup, offload=word) for word in ("none", "experts"))
    on_card, on_host = (memory.estimate(shape, item, layout, FACTS.coefficients) for item in (here, there))
    assert on_host.total - on_host.activations <= on_card.total - on_card.activations + 1
    if not shape.is_moe:
        assert on_host.total == on_card.total
        assert same_figures(timed((shape, here, layout)), timed((shape, there, layout)))


def test_deepseek_on_one_card_and_two_xeons(facts: Facts) -> None:
    """ktransformers-deepseek: Q4_K_M takes 14 GB of the card and 382 GB of the host; 4.5 tokens/s in llama.cpp, 8.7 on
    one socket and 13.4 on two.
    """
    shape = facts.shape("deepseek-v3")
    setup = Setup(
        facts.formats["q4_k_m"], context_tokens=800, output_tokens=300, runtime="llama.cpp", offload="experts"
    )
    held = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)
    assert 8e9 < held.total < 1.6e10
    card = Device.of(1.008e12, 165e12, power_w=450, pcie_bytes_s=3.15e10, kinds=CardKind("ada", "data-centre"))
    done = speed.estimate(shape, setup, ParallelLayout(), card, facts.coefficients)
    assert done.token_ms is not None
    assert done.token_ms.low[0] < 1000 / 8.73 < done.token_ms.high[0]


@pytest.mark.parametrize(
    ("model", "name", "card", "tokens_per_s"),
    [
        ("gpt-oss-120b", "mxfp4", RTX_3090, 32.3),  # ai-maestro.online, 2026-05-12: --n-cpu-moe 26, of 36 layers
        ("gpt-oss-20b", "mxfp4", RTX_2080, 36.4),  # AlexsJones/llmfit#775: --n-cpu-moe 12, of 24
        ("qwen3-30b-a3b", "q4_k_m", RTX_2080, 36.7),  # AlexsJones/llmfit#755: --n-cpu-moe 36, of 48
    ],
)
def test_cards_hold_what_experts_they_have_room_for(
    facts: Facts, model: str, name: str, card: Device, tokens_per_s: float
) -> None:
    """Measured with as few layers in the host's memory as the card allowed, on desktops of two and four channels."""
    setup = Setup(facts.formats[name], context_tokens=4096, output_tokens=128, runtime="llama.cpp", offload="experts")
    shape = facts.shape(model)
    found, bare = (
        speed.estimate(shape, setup, ParallelLayout(), each, facts.coefficients).token_ms
        for each in (card, replace(card, memory_bytes=np.array([np.nan])))
    )
    assert found is not None
    assert bare is not None
    assert 1000 / found.likely[0] == pytest.approx(tokens_per_s, rel=0.25)
    assert found.likely[0] < 0.85 * bare.likely[0]


def test_experts_that_all_have_room_are_read_as_if_none_were_offloaded(facts: Facts) -> None:
    shape = facts.shape("gpt-oss-120b")
    setup = Setup(facts.formats["mxfp4"], context_tokens=8192, runtime="llama.cpp")
    card = replace(RTX_3090, memory_bytes=np.array([9.0e10]))
    there, here = (
        speed.estimate(shape, replace(setup, offload=word), ParallelLayout(), card, facts.coefficients).token_ms
        for word in ("experts", "none")
    )
    assert there is not None
    assert here is not None
    assert there.likely[0] == pytest.approx(here.likely[0])


@given(
    st.floats(0, 1e12), st.integers(1, 100), st.floats(0, 1e12), st.floats(0, 1e12), st.sampled_from([1.0, 2.0, 4.0])
)
def test_more_room_never_holds_fewer_experts(size: float, layers: int, room: float, more: float, cards: float) -> None:
    one, size_ = np.ones(1), np.array([size])
    few, many = (share_held(size_, layers, np.array([each]), one, cards * one) for each in (room, room + more))
    assert 0 <= few[0] <= many[0] <= 1
    assert share_held(size_, layers, np.array([np.nan]), one, one)[0] == 0


def test_a_mixture_reads_few_experts_for_one_token_and_nearly_all_for_many(facts: Facts) -> None:
    shape = facts.shape("mixtral-8x7b")
    assert float(touched(shape, 1)) == pytest.approx(2 / 8)
    assert 0.99 < float(touched(shape, 64)) <= 1


def test_bitsandbytes_unpacks_at_every_step_of_several_requests(facts: Facts) -> None:
    """Gemma 3 27B in NF4 with vLLM on an RTX 6000 Ada: two requests get 9.4 tokens a second, fewer than one alone; in
    AWQ they get about twice as many (unsloth-bnb-vllm).
    """
    ada = Device.of(9.6e11, 364.2e12, power_w=300, kinds=CardKind("ada", "workstation", memory="gddr6"))

    def rate(name: str, requests: int) -> Range:
        setup = Setup(
            facts.formats[name], runtime="vllm", context_tokens=1024, output_tokens=1000, concurrency=requests
        )
        found = speed.estimate(facts.shape("gemma-3-27b"), setup, ParallelLayout(), ada, facts.coefficients)
        assert found.tokens_per_s is not None
        return found.tokens_per_s.at(0)

    assert rate("nf4", 2).low < 9.4 < rate("nf4", 2).high
    assert rate("nf4", 2).likely < rate("nf4", 1).likely
    assert rate("awq-int4", 2).likely > 1.8 * rate("awq-int4", 1).likely
