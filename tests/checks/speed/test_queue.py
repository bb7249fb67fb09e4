"""What requests in flight cost each other, and the limits that no estimate of serving passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.strategies import FACTS
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork, weights_read
from whygpu.checks.speed.queue import joined_s, wait_s

SECONDS = st.floats(1e-5, 10)
H100 = Device.of(
    3.35e12,
    989e12,
    power_w=700,
    link_bytes_s=4.5e11,
    link_cards=8,
    kinds=CardKind("hopper", "data-centre", link="nvlink", memory="hbm3"),
)
DENSE = ("llama-3.1-8b", "qwen2.5-0.5b", "gemma-2-9b")


def column(value: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([value])


def served(facts: Facts, model: str, setup: Setup, layout: ParallelLayout, device: Device = H100) -> InferenceWork:
    work = speed.estimate(facts.shape(model), setup, layout, device, facts.coefficients, ranges=False).work
    assert isinstance(work, InferenceWork)
    return work


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.integers(1, 16), st.integers(1, 512), st.integers(1, 4096))
def test_a_prompt_that_joins_adds_no_more_than_its_own_time(
    read: float, compute: float, launch: float, prompt: float, chunks: int, requests: int, output: int
) -> None:
    added = joined_s(column(read), column(compute), column(launch), column(prompt), chunks, column(requests), output)[0]
    assert -1e-9 <= added <= prompt * (1 + 1e-9)


def test_a_prompt_is_nearly_free_beside_a_step_that_is_bound_by_memory() -> None:
    # arXiv:2403.02310, 4.1: decode steps leave arithmetic idle, which a chunk of a prompt uses
    free = joined_s(column(0.02), column(0.0), column(0.0), column(0.002), 1, column(2), 100)[0]
    full = joined_s(column(0.002), column(0.0), column(0.0), column(0.2), 1, column(2), 100)[0]
    assert free == pytest.approx(np.hypot(0.02, 0.002) - 0.02)
    assert free < 0.1 * 0.002
    assert full == pytest.approx(0.2, rel=0.02)


@given(SECONDS, SECONDS, st.integers(2, 2048))
def test_the_wait_is_that_of_mean_value_analysis(prompt: float, decode: float, requests: int) -> None:
    wait = float(wait_s(column(prompt), column(decode), column(requests))[0])
    there, away = prompt + wait, decode + (requests - 1) * prompt
    assert there == pytest.approx(prompt * (1 + (requests - 1) * there / (there + away)), rel=1e-6)
    assert wait <= float(wait_s(column(prompt), column(decode), column(requests + 1))[0]) * (1 + 1e-9)


@given(SECONDS, SECONDS, SECONDS, st.integers(1, 2048))
def test_the_wait_grows_by_less_than_half_of_what_decoding_saves(
    prompt: float, one: float, other: float, requests: int
) -> None:
    fewer, more = min(one, other), max(one, other)
    sooner, later = (float(wait_s(column(prompt), column(steps), column(requests))[0]) for steps in (fewer, more))
    assert later <= sooner * (1 + 1e-9) + 1e-9
    assert sooner - later <= (more - fewer) / 2 + 1e-9


@given(SECONDS, SECONDS, SECONDS, st.integers(1, 2048))
def test_longer_prompts_never_wait_less(one: float, other: float, decode: float, requests: int) -> None:
    shorter, longer = (
        float(wait_s(column(prompt), column(decode), column(requests))[0])
        for prompt in (min(one, other), max(one, other))
    )
    assert shorter <= longer * (1 + 1e-9) + 1e-9


def test_an_encoder_waits_for_no_decode_step(facts: Facts) -> None:
    setup = Setup(facts.formats["bf16"], context_tokens=512, output_tokens=128, concurrency=16, runtime="vllm")
    many, one = (
        served(facts, "bert-large", replace(setup, concurrency=requests), ParallelLayout()) for requests in (16, 1)
    )
    assert many.ttft_s - many.prefill.total_s == pytest.approx(one.ttft_s - one.prefill.total_s)


def test_one_request_waits_for_nobody() -> None:
    assert wait_s(column(0.3), column(5.0), column(1))[0] == 0


def test_a_step_takes_what_the_server_needs_for_each_request(facts: Facts) -> None:
    # vLLM PR 17546: one server process handed out about 10,000 * 200 tokens in 131 s
    setup = Setup(facts.formats["bf16"], context_tokens=512, output_tokens=256, concurrency=1024, runtime="vllm")
    step = served(facts, "qwen2.5-0.5b", setup, ParallelLayout()).decode.token_s[0, 0]
    assert step >= 1024 * 131 / 2e6 / 3
    other = served(facts, "qwen2.5-0.5b", replace(setup, runtime="compiled"), ParallelLayout()).decode.token_s[0, 0]
    assert other < step


@given(st.sampled_from(DENSE), st.integers(1, 256), st.sampled_from(("vllm", "sglang", "tensorrt-llm", "llama.cpp")))
def test_no_step_is_faster_than_the_memory_or_the_arithmetic_allow(model: str, requests: int, runtime: str) -> None:
    setup = Setup(FACTS.formats["bf16"], context_tokens=2048, output_tokens=256, concurrency=requests, runtime=runtime)
    done = served(FACTS, model, setup, ParallelLayout())
    shape = done.columns.shape
    weights = weights_read(shape, done.columns, np.array([float(requests)]), done.overheads.host)[0]
    assert done.decode.token_s[0, 0] >= weights / 3.35e12
    assert done.decode.token_s[0, 0] >= 2 * shape.matmul_parameters * requests / 989e12
    assert done.prefill.total_s[0, 0] >= 2 * shape.matmul_parameters * (2048 - 256) / 989e12


@given(st.sampled_from(DENSE), st.integers(1, 256), st.sampled_from((2, 4, 8)))
def test_n_cards_are_at_most_n_times_as_fast(model: str, requests: int, cards: int) -> None:
    setup = Setup(FACTS.formats["bf16"], context_tokens=2048, output_tokens=256, concurrency=requests, runtime="sglang")
    one, several = (served(FACTS, model, setup, ParallelLayout(tensor=tensor)).tokens_s[0, 0] for tensor in (1, cards))
    assert several <= cards * one * (1 + 1e-9)


@given(st.sampled_from(DENSE), st.sampled_from((2, 4, 8)))
def test_a_layer_split_decodes_no_faster_than_one_card_that_holds_it(model: str, cards: int) -> None:
    setup = Setup(FACTS.formats["q8_0"], context_tokens=2048, output_tokens=256, runtime="llama.cpp")
    one, several = (
        served(FACTS, model, setup, ParallelLayout(pipeline=stages)).decode.token_s[0, 0] for stages in (1, cards)
    )
    assert several >= one


def test_prompts_of_four_bit_weights_run_at_half_the_rate_without_marlin(facts: Facts) -> None:
    ampere = Device.of(2.039e12, 312e12, half_flops_s=312e12, kinds=CardKind("ampere", "data-centre", memory="hbm2e"))
    times = {
        runtime: served(
            facts,
            "llama-3.1-8b",
            Setup(facts.formats["awq-int4"], context_tokens=4097, output_tokens=1, runtime=runtime),
            ParallelLayout(),
            ampere,
        ).prefill.compute_s[0, 0]
        for runtime in ("transformers", "vllm")
    }
    assert times["transformers"] / times["vllm"] == pytest.approx(0.75 / 0.5, rel=0.05)  # scores are in 16 bits


def test_an_encoders_table_multiplies_nothing(facts: Facts) -> None:
    shape = facts.shape("bert-large")
    assert shape.matmul_parameters == shape.parameters - shape.vocab_size * shape.hidden_size


def test_quantizing_a_pipeline_leaves_text_encoders_and_autoencoder(facts: Facts) -> None:
    # diffusers-torchao: FLUX.1-dev with its transformer in FP8 takes 20.36 GiB alone
    weights = facts.formats["fp8"].weight_bytes(facts.shape("flux.1-dev"))
    assert weights / 2**30 == pytest.approx(20.36, rel=0.01)


def test_the_sampler_of_vllm_is_profiled_on_every_card(facts: Facts) -> None:
    # vLLM PR 10511: an activation peak of 1.26 GiB for Llama-3 8B on one card and on each of two, 256 requests
    setup = Setup(facts.formats["bf16"], context_tokens=8192, concurrency=256, runtime="vllm")
    held = [
        memory.estimate(
            facts.shape("llama-3-8b"), setup, ParallelLayout(tensor=cards), facts.coefficients
        ).ranges.logits
        for cards in (1, 2)
    ]
    assert held[0] == held[1]
    assert held[0].low < 1.26 * 2**30 < held[0].high * 1.05
