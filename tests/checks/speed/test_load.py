"""Speed where many share an accelerator, and where little is read or done of what is held."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.strategies import FACTS, works
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork, tail, windows

A100 = Device.of(2.039e12, 312e12, link_bytes_s=3e11, link_cards=8, kinds=CardKind("ampere", "data-centre"))


@given(works(trains=False))
def test_requests_in_flight_are_their_rate_times_their_duration(work: tuple[ModelShape, Setup, ParallelLayout]) -> None:
    """Little's law: a request takes its prompt and the time between tokens for each further one. In batches that are
    not filled up the place of one that is done stays empty, so that fewer are in flight than there are places.
    """
    shape, setup, layout = work
    assume(setup.output_tokens > 1)
    done = speed.estimate(shape, setup, layout, A100, FACTS.coefficients, ranges=False)
    assume(isinstance(done.work, InferenceWork) and done.token_ms is not None)
    assert isinstance(done.work, InferenceWork)
    assert done.token_ms is not None
    assert done.requests_per_s is not None
    prompt_s = float((done.work.prefill.total_s / done.work.stages)[0, 0])
    duration_s = prompt_s + (setup.output_tokens - 1) * float(done.token_ms.likely[0]) / 1e3
    in_flight = float(done.work.requests[0]) * layout.data
    found = float(done.requests_per_s.likely[0]) * duration_s
    lost = tail(done.work.columns, done.work.requests) * windows(done.work.columns)
    assert found <= in_flight * (1 + 1e-9)
    assert (lost > 1).any() or found == pytest.approx(in_flight)


def test_a_batch_that_is_not_filled_up_ends_with_its_longest_answer(facts: Facts) -> None:
    """Yu et al. 2022 (Orca), 3.1: one request waits for none; a stack that batches continuously fills the places."""
    shape, bf16 = facts.shape("llama-3.1-8b"), facts.formats["bf16"]

    def places_in_use(runtime: str, concurrency: int) -> float:
        setup = Setup(bf16, context_tokens=2048, output_tokens=512, concurrency=concurrency, runtime=runtime)
        done = speed.estimate(shape, setup, ParallelLayout(), A100, facts.coefficients, ranges=False)
        assert isinstance(done.work, InferenceWork)
        assert done.requests_per_s is not None
        assert done.token_ms is not None
        prompt_s = float((done.work.prefill.total_s / done.work.stages)[0, 0])
        duration_s = prompt_s + (512 - 1) * float(done.token_ms.likely[0]) / 1e3
        return float(done.requests_per_s.likely[0]) * duration_s / concurrency

    assert places_in_use("transformers", 1) == pytest.approx(1)
    assert places_in_use("vllm", 32) == pytest.approx(1)
    assert 1 / 1.4 <= places_in_use("transformers", 32) < 0.9


def test_others_prompts_come_between_tokens(facts: Facts) -> None:
    """Yu et al. 2022 (Orca): requests join between steps. Alone nobody's prompt is waited for."""
    shape, bf16 = facts.shape("llama-3.1-8b"), facts.formats["bf16"]

    def token_ms(concurrency: int, context: int) -> float:
        setup = Setup(bf16, context_tokens=context, output_tokens=256, concurrency=concurrency, runtime="vllm")
        done = speed.estimate(shape, setup, ParallelLayout(), A100, facts.coefficients, ranges=False)
        assert isinstance(done.work, InferenceWork)
        assert done.token_ms is not None
        step = 1e3 * float(done.work.decode.token_s[0, 0])
        return float(done.token_ms.likely[0]) - step

    assert token_ms(1, 8192) == pytest.approx(0)
    assert 0 < token_ms(8, 1024) < token_ms(8, 8192) < token_ms(16, 8192)


@given(st.integers(1, 1_000_000), st.integers(1, 1_000_000))
def test_a_recommender_reads_the_rows_it_looks_up(few: int, many: int) -> None:
    """Naumov et al. 2019, 2.1: a lookup takes one row of a table. DLRM's run: 26 tables of rows of 128."""
    shape = FACTS.shape("dlrm-criteo-1tb")
    few, many = sorted((few, many))
    assert shape.touched_parameters(few) <= shape.touched_parameters(many) <= shape.parameters
    assert shape.touched_parameters(few) <= shape.active_parameters + 26 * 128 * few
    assert FACTS.shape("resnet-50").touched_parameters(few) == FACTS.shape("resnet-50").parameters


def test_one_card_answers_thousands_for_a_recommender(facts: Facts) -> None:
    """MLPerf's DLRM holds 45 GiB and reads a few megabytes of them for a batch."""
    shape = facts.shape("dlrm-criteo-1tb")
    setup = Setup(facts.formats["bf16"], batch_size=64, runtime="tensorrt")
    done = speed.estimate(shape, setup, ParallelLayout(), A100, facts.coefficients)
    assert done.samples_per_s is not None
    assert done.samples_per_s.at(0).low > 5000
    held = Setup(facts.formats["bf16"], phase="training", batch_size=2048)
    trained = speed.estimate(shape, held, ParallelLayout(), A100, facts.coefficients)
    assert trained.samples_per_s is not None
    assert trained.samples_per_s.at(0).low > 5000


@pytest.mark.parametrize("batch", [1, 32])
def test_a_training_step_takes_the_hosts_time(facts: Facts, batch: int) -> None:
    """A step has a forward pass in it, which the host issues, whatever the batch (NVIDIA's EfficientNet tables: 475
    operators of B4 in 16 ms).
    """
    setup = Setup(facts.formats["bf16"], phase="training", batch_size=batch, pixels=32)
    shape = facts.shape("yolo11m")
    done = speed.estimate(shape, setup, ParallelLayout(), A100, facts.coefficients)
    assert done.samples_per_s is not None
    host = shape.forward_operators * 16.2e-3 / 475
    assert batch / done.samples_per_s.at(0).likely == pytest.approx(host, rel=0.25)
    assert np.all(done.samples_per_s.low < done.samples_per_s.likely)


@pytest.mark.parametrize("model", ["yolo11m", "resnet-50", "dlrm-criteo-1tb"])
def test_a_compiled_runtime_is_faster_than_plain_pytorch(facts: Facts, model: str) -> None:
    shape = facts.shape(model)

    def rate(runtime: str) -> float:
        setup = Setup(facts.formats["fp16"], batch_size=1, runtime=runtime)
        found = speed.estimate(shape, setup, ParallelLayout(), A100, facts.coefficients).samples_per_s
        assert found is not None
        return found.at(0).likely

    assert rate("transformers") < rate("tensorrt")
