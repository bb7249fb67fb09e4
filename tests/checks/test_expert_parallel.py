"""Experts spread over cards that work on samples of their own: what each holds, and what the exchange takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.conftest import Facts
from tests.checks.strategies import FACTS
from whygpu.checks.memory import training as memory
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Columns
from whygpu.checks.speed.training import TrainingWork, expert_copies

H100 = Device.of(
    3350e9,
    989e12,
    half_flops_s=989e12,
    power_w=700,
    link_bytes_s=450e9,
    link_cards=8,
    network_bytes_s=50e9,
    kinds=CardKind("hopper", "data-centre", link="nvlink", memory="hbm3"),
)


def layout(expert: int, data: int = 16, tensor: int = 1, pipeline: int = 1) -> ParallelLayout:
    nodes = max(tensor * pipeline * data // 8, 1)
    return ParallelLayout(tensor, pipeline, data, "zero1", nodes, expert=expert)


def setup(facts: Facts, micro_batches: int = 64) -> Setup:
    return Setup(
        facts.formats["bf16"],
        phase="training",
        sequence_tokens=4096,
        gradient_accumulation=micro_batches,
        runtime="compiled",
    )


def work(facts: Facts, spread: ParallelLayout, micro_batches: int = 64, device: Device = H100) -> TrainingWork:
    shape = facts.shape("qwen3-30b-a3b")
    found = speed.estimate(shape, setup(facts, micro_batches), spread, device, facts.coefficients).work
    assert isinstance(found, TrainingWork)
    return found


def test_a_token_crosses_the_network_once_for_each_machine_with_its_experts(facts: Facts) -> None:
    """DeepSeek-V3 report, 3.2.2: eight experts of a token; over two machines of eight cards almost every token has some
    in both, so it leaves its own about once, and of its copies seven eighths are on another card of their machine.
    """
    shape = facts.shape("qwen3-30b-a3b")
    columns = Columns.of(shape, setup(facts), layout(16), H100, facts.coefficients)
    far, near = expert_copies(columns, np.array([8.0]))
    assert far[0] == pytest.approx(2 * (1 - 0.5**8) / 2)
    assert near[0] == pytest.approx(8 * 7 / 8)
    inside = Columns.of(shape, setup(facts), layout(8), H100, facts.coefficients)
    assert expert_copies(inside, np.array([8.0]))[0][0] == 0, "of one machine's cards none is beyond the network"


def test_the_exchange_is_a_sixth_to_a_third_of_a_step_over_two_machines(facts: Facts) -> None:
    """Megatron-Bridge, communication overlap: Qwen3-30B-A3B on 16 H100 with experts over all of them takes 41.25 s a
    step, and 31.31 s where the exchange hides behind arithmetic.
    """
    step = work(facts, layout(16))
    share = step.expert_wire_s[0, 0] / step.step_s[0, 0]
    assert 0.12 < share < 0.33
    alone = work(facts, layout(1))
    assert not alone.expert_wire_s.any(), "experts that are divided as all else is exchange nothing"


def test_experts_have_fewer_copies_to_exchange_gradients_of(facts: Facts) -> None:
    slow = replace(H100, network_bytes_s=np.array([1e9]))  # so that arithmetic does not hide them
    together, apart = (work(facts, layout(width), 1, slow) for width in (1, 8))
    assert 0.4 < apart.data_wire_s[0, 0] / together.data_wire_s[0, 0] < 0.6, "1 / 2 of the bytes go, where 15 / 16 did"


@pytest.mark.parametrize("expert", [2, 8, 16])
def test_weights_and_gradients_of_experts_are_divided(facts: Facts, expert: int) -> None:
    """Liu et al. 2025 (arXiv:2504.14960), 3: attention is copied over 16 cards, experts over 16 / width."""
    shape = facts.shape("qwen3-30b-a3b")
    done = memory.parts(shape, setup(facts), layout(expert), facts.coefficients)
    whole = memory.parts(shape, setup(facts), layout(1), facts.coefficients)
    routed = shape.expert_parameters / shape.parameters
    share = 1 - routed + routed / expert
    assert done.weights.likely == pytest.approx(whole.weights.likely * share)
    assert done.gradients.likely == pytest.approx(whole.gradients.likely * share)
    assert done.optimizer.likely == pytest.approx(whole.optimizer.likely), "its ranks divide it either way"


@given(st.sampled_from(["qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b"]), st.sampled_from([1, 2, 4, 8, 16]))
def test_more_cards_for_the_experts_never_need_more_memory(model: str, expert: int) -> None:
    shape = FACTS.shape(model)
    narrow, wide = (
        memory.parts(shape, setup(FACTS), layout(width), FACTS.coefficients) for width in (expert, 2 * expert)
    )
    assert wide.total().likely < narrow.total().likely


def test_replicas_that_experts_cannot_be_spread_over_share_what_they_can() -> None:
    assert layout(8).over(12).expert == 4
    assert layout(8).over(24).expert == 8
    assert layout(8, tensor=4).stride == 2


def test_every_term_of_the_exchange_is_told(facts: Facts) -> None:
    found = speed.estimate(facts.shape("qwen3-30b-a3b"), setup(facts), layout(16), H100, facts.coefficients)
    step = next(item for item in found.calculations() if item.name == "step_s")
    (term,) = (term for term in step.terms if term.name == "expert_wire")
    assert "1.0 times over the network and 7.0 times over the link" in term.meaning
    assert isinstance(found.work, TrainingWork)
    assert term.value == pytest.approx(found.work.expert_wire_s[0, 0])
