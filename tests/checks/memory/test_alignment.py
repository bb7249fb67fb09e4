"""Post-training: what is held beside the policy, and what writing costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.checks.strategies import CARDS
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.training import TrainingWork

if TYPE_CHECKING:
    from tests.checks.conftest import Facts

ONE, GIB = ParallelLayout(), 2**30


@pytest.fixture
def supervised(facts: Facts) -> Setup:
    return Setup(facts.formats["bf16"], phase="fine-tuning", gradient_checkpointing="full", output_tokens=1536)


def test_a_pair_needs_a_second_model_only_where_all_weights_are_trained(facts: Facts, supervised: Setup) -> None:
    shape = facts.shape("qwen2.5-7b")
    for method, copies in (("full", 1), ("lora", 0)):  # mlabonne/llm-course, issue 44
        plain = memory.estimate(shape, replace(supervised, method=method), ONE, facts.coefficients)
        pairs = memory.estimate(shape, replace(supervised, method=method, algorithm="dpo"), ONE, facts.coefficients)
        more = pairs.weights - plain.weights
        assert more == pytest.approx(copies * 2 * shape.parameters, rel=0.05, abs=1)
        assert pairs.kv_cache == 0


def test_rewards_add_an_engine_that_takes_turns_with_the_step(facts: Facts, supervised: Setup) -> None:
    shape = facts.shape("qwen2.5-7b")
    setup = replace(supervised, method="lora")
    plain = memory.estimate(shape, setup, ONE, facts.coefficients)
    done = memory.estimate(shape, replace(setup, algorithm="grpo"), ONE, facts.coefficients)
    step = plain.activations + plain.logits + plain.gradients + plain.reused
    engine = done.kv_cache + 2 * shape.parameters
    states = plain.total - step
    assert done.total == pytest.approx(states + max(step, engine), rel=0.01)


def test_a_critic_is_trained_as_the_policy_is(facts: Facts, supervised: Setup) -> None:
    shape = facts.shape("qwen2.5-7b")
    plain = memory.estimate(shape, supervised, ONE, facts.coefficients)
    done = memory.estimate(shape, replace(supervised, algorithm="ppo"), ONE, facts.coefficients)
    assert done.optimizer == 2 * plain.optimizer
    assert done.gradients == 2 * plain.gradients


def test_an_8b_with_qlora_learns_from_rewards_on_a_gaming_card(facts: Facts, supervised: Setup) -> None:
    # Unsloth: Llama-3.1-8B with QLoRA and long contexts, where it names cards of 16 to 80 GB
    setup = replace(supervised, format=facts.formats["nf4"], method="qlora", algorithm="grpo")
    done = memory.estimate(facts.shape("llama-3.1-8b"), setup, ONE, facts.coefficients)
    assert done.total < 23 * GIB


def test_writing_takes_about_half_of_the_time_or_more(facts: Facts, supervised: Setup) -> None:
    setup = replace(supervised, method="lora", batch_size=4, algorithm="grpo")
    done = speed.estimate(facts.shape("qwen2.5-7b"), setup, ONE, CARDS, facts.coefficients, ranges=False)
    assert isinstance(done.work, TrainingWork)
    share = done.work.rollout_s[0] / done.work.step_s[0]
    assert ((share > 0.35) & (share < 0.85)).all()  # 80% of the time, says OpenRLHF of answers with long tails


def test_samples_of_the_data_are_learned_from_in_several_sequences(facts: Facts, supervised: Setup) -> None:
    shape = facts.shape("qwen2.5-7b")
    hours = [
        speed.estimate(
            shape,
            replace(supervised, algorithm="dpo", dataset_samples=1000, generations=number),
            ONE,
            CARDS,
            facts.coefficients,
            ranges=False,
        ).train_hours
        for number in (1, 2)
    ]
    assert hours[0] is not None
    assert hours[1] is not None
    assert (hours[1].likely == 2 * hours[0].likely).all()
