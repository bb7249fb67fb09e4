"""Post-training: what is held beside the policy, and what writing costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.checks.strategies import CARDS
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed import inference
from whygpu.checks.speed.training import TrainingWork

if TYPE_CHECKING:
    from tests.checks.conftest import Facts
    from whygpu.checks.speed.columns import Columns
    from whygpu.checks.speed.inference import InferenceWork

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


def test_the_engine_and_the_policy_take_turns(facts: Facts, supervised: Setup) -> None:
    # OpenRLHF: vllm.enable_sleep and ds.enable_sleep; with QLoRA both use the same weights (Unsloth)
    shape = facts.shape("qwen2.5-7b")
    for method, number_format in (("lora", "bf16"), ("qlora", "nf4")):
        setup = replace(supervised, method=method, format=facts.formats[number_format])
        plain = memory.estimate(shape, setup, ONE, facts.coefficients)
        done = memory.estimate(shape, replace(setup, algorithm="grpo"), ONE, facts.coefficients)
        own = done.weights - plain.weights
        shared = plain.weights if method == "qlora" else 0.0
        assert own == pytest.approx(2 * shape.parameters if method == "lora" else 0.0, rel=0.05)
        writing = shared + own + done.kv_cache + done.overhead
        assert done.total == pytest.approx(max(plain.total, writing), rel=1e-6)


RECIPES = [
    # verl, docs/perf/device_tuning.rst and the scripts of its rows; cards of 80 GB but for the H20
    ("qwen2.5-7b", "full", "grpo", 2, 2048, 1024, 79),
    ("qwen2.5-14b", "full", "grpo", 4, 2048, 1024, 79),
    ("qwen2.5-32b", "full", "grpo", 8, 8192, 6144, 95),
    ("qwen2.5-72b", "full", "grpo", 32, 1024, 512, 79),
    ("qwen2.5-32b", "lora", "grpo", 4, 1536, 1024, 79),
    ("qwen2.5-72b", "lora", "grpo", 8, 1536, 1024, 79),
    # verl, examples/ppo_trainer/run_qwen2.5-32b.sh; OpenRLHF, train_ppo_ray_hybrid_engine.sh
    ("qwen2.5-32b", "full", "ppo", 32, 2048, 1024, 79),
    ("llama-3.1-8b", "full", "ppo", 8, 2048, 1024, 79),
    # Unsloth: Qwen3-32B with 16-bit LoRA on one H100
    ("qwen3-32b", "lora", "grpo", 1, 2048, 1024, 79),
]


@pytest.mark.parametrize(("model", "method", "algorithm", "cards", "sequence", "answer", "gib"), RECIPES)
def test_published_recipes_fit(
    facts: Facts,
    supervised: Setup,
    model: str,
    method: str,
    algorithm: str,
    cards: int,
    sequence: int,
    answer: int,
    gib: int,
) -> None:
    setup = replace(supervised, method=method, algorithm=algorithm, sequence_tokens=sequence, output_tokens=answer)
    layout = ParallelLayout(data=cards, sharding="fsdp" if cards > 1 else "none")
    assert memory.estimate(facts.shape(model), setup, layout, facts.coefficients).total < gib * GIB


def test_a_larger_engine_holds_no_copy_of_all_weights_on_each_card(facts: Facts, supervised: Setup) -> None:
    # verl: tensor_model_parallel_size 8 on eight cards; before, the engine alone took 65 GB of each
    shape, setup = facts.shape("qwen2.5-32b"), replace(supervised, sequence_tokens=8192, output_tokens=6144)
    layout = ParallelLayout(data=8, sharding="fsdp")
    plain, done = (
        memory.estimate(shape, replace(setup, algorithm=name), layout, facts.coefficients)
        for name in ("supervised", "grpo")
    )
    assert done.weights - plain.weights == pytest.approx(2 * shape.parameters / 8, rel=0.1)
    assert done.total == pytest.approx(plain.total, rel=1e-6)


def test_answers_wait_where_the_cards_have_no_room(facts: Facts, supervised: Setup) -> None:
    # Kwon et al. 2023 (vLLM), 4: requests queue; the engine takes a set share of each card (verl, OpenRLHF)
    shape = facts.shape("qwen2.5-32b")
    setup = replace(supervised, algorithm="grpo", sequence_tokens=16384, output_tokens=14000)
    layout = ParallelLayout(data=8, sharding="fsdp")
    flight = []
    for gib in (48, 79, 140):
        card = replace(CARDS, memory_bytes=np.full(CARDS.size, gib * GIB))
        work = speed.estimate(shape, setup, layout, card, facts.coefficients, ranges=False).work
        assert isinstance(work, TrainingWork)
        flight.append(float((work.rollout.at_once / work.rollout.ranks)[0]))
    assert flight[0] < flight[1] < flight[2] <= 32


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
    share = done.work.rollout.seconds[0] / done.work.step_s[0]
    assert ((share > 0.35) & (share < 0.85)).all()  # 80% of the time, says OpenRLHF of answers with long tails


@pytest.mark.parametrize(
    ("model", "cards", "answer", "tokens_s"),
    [("llama-3.1-8b", 16, 1019, 1581), ("qwen2.5-32b", 32, 3251, 571), ("qwen3-30b-a3b", 32, 3203, 1102)],
)
def test_speed_is_near_what_nemo_rl_publishes(
    facts: Facts, supervised: Setup, model: str, cards: int, answer: int, tokens_s: float
) -> None:
    # NeMo RL, performance summary: H100, GRPO on policy, 2,048 answers a step; a 32B of the same size. The
    # copying of weights to the engine and the log-probabilities' own passes are left out.
    h100 = Device.of(
        3.35e12, 989e12, power_w=700, link_bytes_s=450e9, link_cards=8, pcie_bytes_s=63e9, network_bytes_s=50e9,
        memory_bytes=79 * GIB, kinds=CardKind("hopper", "data-centre", "cuda", "nvlink", "hbm3"),
    )  # fmt: skip
    setup = replace(supervised, algorithm="grpo", sequence_tokens=answer + 100, output_tokens=answer, batch_size=2)
    layout = ParallelLayout(data=cards, sharding="fsdp", nodes=cards // 8)
    done = speed.estimate(facts.shape(model), setup, layout, h100, facts.coefficients, ranges=False).train_tokens_per_s
    assert done is not None
    assert 0.8 < done.likely[0] / cards / tokens_s < 1.4


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


def test_what_memory_holds_is_written_however_little_the_share_leaves(facts: Facts, supervised: Setup) -> None:
    # 28 heads divide over four cards at most, and three fifths of a small card leave no room for an answer
    shape = facts.shape("qwen2.5-7b")
    setup = replace(supervised, algorithm="grpo", method="lora")
    card = replace(CARDS, memory_bytes=np.full(CARDS.size, 5 * GIB))
    layout = ParallelLayout(data=8, sharding="fsdp")
    work = speed.estimate(shape, setup, layout, card, facts.coefficients, ranges=False).work
    assert isinstance(work, TrainingWork)
    assert set(work.rollout.ranks.tolist()) == {4.0}
    assert (work.rollout.at_once >= 1).all()
    assert np.isfinite(work.rollout.seconds).all()


def test_engines_of_all_widths_are_timed_together(
    facts: Facts, supervised: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each width was timed apart, six times for a step: half of a row about post-training."""
    timed = []
    real = inference.work

    def counted(columns: Columns) -> InferenceWork:
        timed.append(columns.device.size)
        return real(columns)

    monkeypatch.setattr(inference, "work", counted)
    setup = replace(supervised, algorithm="grpo", method="lora")
    layout = ParallelLayout(data=8, sharding="fsdp")
    speed.estimate(facts.shape("qwen3-4b"), setup, layout, CARDS, facts.coefficients, ranges=False)
    (size,) = timed
    assert size > CARDS.size
