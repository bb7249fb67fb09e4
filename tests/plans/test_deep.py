"""Training that no machine holds: shards inside machines and stages over them, with work for every stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from whygpu import KnowledgeBase
    from whygpu.explain.plan import Plan

HERD = {
    "phase": "training",
    "model": "llama-3.1-405b",
    "dataset_tokens": 15.6e12,
    "sequence_tokens": 8192,
    "deadline_hours": 1900,
    "accelerators": ["H100 SXM5 80GB"],
}
HERD_GPU_HOURS = 30.84e6
"""Of H100, as its model card states (Llama 3.1, 2024-07-23)."""


def _hours(plan: Plan) -> float:
    band = plan.speed["train_hours"]
    assert band is not None
    return plan.count * band.likely


def test_gpu_hours_are_near_those_that_its_authors_took(kb: KnowledgeBase) -> None:
    plan = kb.advise(HERD, engine="evaluator").recommendation
    assert plan is not None
    parallel = plan.parallelism
    assert parallel.tensor * parallel.pipeline * parallel.data == plan.count
    assert parallel.tensor > 1
    assert parallel.pipeline > 1
    assert 1 / 1.5 < _hours(plan) / HERD_GPU_HOURS < 1.5


V3 = {
    "phase": "training",
    "model": "deepseek-v3",
    "dataset_tokens": 14.8e12,
    "sequence_tokens": 4096,
    "format": "fp8",
    "accelerators": ["H100 SXM5 80GB"],
}
V3_GPU_HOURS = 2.664e6
"""Of H800, whose shards and network are slower (arXiv:2412.19437, 1)."""


def test_experts_are_spread_where_a_number_of_cards_was_given(kb: KnowledgeBase) -> None:
    """Its authors' 2,048, on a framework that does not hide the exchange of tokens, as theirs did."""
    plan = kb.advise({**V3, "count": 2048}, engine="evaluator").recommendation
    assert plan is not None
    assert plan.parallelism.expert >= 8
    assert plan.count == 2048
    assert 1 / 2 < _hours(plan) / V3_GPU_HOURS < 2


def test_replicas_are_added_by_whole_sets_of_experts(kb: KnowledgeBase) -> None:
    found = kb.consult({**V3, "deadline_hours": 2000}, engine="evaluator").plans.plan_set
    assert found is not None
    ways = [found.configurations[number] for number in set(found.configuration[found.fits].tolist())]
    assert any(way.layout.expert > way.layout.tensor for way in ways)
    for way in ways:
        assert way.layout.data % way.layout.stride == 0
        assert way.need.total <= float(found.cards.usable_bytes[found.card].max())


def test_stages_are_tried_where_a_number_of_cards_was_given(kb: KnowledgeBase) -> None:
    """Shards over all of 2,048 cards are not the only way of a model that no machine holds."""
    found = kb.consult({**HERD, "count": 2048}, engine="evaluator").plans.plan_set
    assert found is not None
    layouts = [found.configurations[number].layout for number in set(found.configuration.tolist())]
    assert {layout.cards for layout in layouts} == {2048}
    assert {layout.pipeline > 1 for layout in layouts} == {False, True}


def test_experts_over_as_many_as_were_asked_for(kb: KnowledgeBase) -> None:
    plan = kb.advise({**V3, "count": 2048, "expert_parallel": 32}, engine="evaluator").recommendation
    assert plan is not None
    assert plan.parallelism.expert == 32


def test_experts_are_spread_by_a_framework_with_fused_kernels(kb: KnowledgeBase) -> None:
    """Where plain PyTorch was answered, they are not; that multiplies them one by one on an A100."""
    mixtral = {**V3, "model": "mixtral-8x7b", "format": "bf16", "accelerators": ["A100 SXM4 80GB"], "count": 128}
    free, plain = (
        kb.advise({**mixtral, **runtime}, engine="evaluator").recommendation
        for runtime in ({}, {"runtime": "transformers"})
    )
    assert free is not None
    assert plain is not None
    assert (free.parallelism.expert, plain.parallelism.expert) == (8, 1)
    assert _hours(free) < _hours(plain) / 1.5


def test_no_step_works_on_more_samples_than_is_usual(kb: KnowledgeBase) -> None:
    """Beyond a sample for each replica more of them have nothing to do."""
    consultation = kb.consult({**HERD, "deadline_hours": 500, "accelerators": ["H100"]}, engine="evaluator")
    usual = float(consultation.session.concluded("workload.usual_batch") or 0)
    plan_set = consultation.plans.plan_set
    assert usual > 0
    assert plan_set is not None
    for configuration in (plan_set.configurations[number] for number in set(plan_set.configuration.tolist())):
        assert configuration.layout.data * configuration.setup.gradient_accumulation <= usual


@pytest.mark.parametrize(
    "answers",
    [
        {"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 1e9},
        {"phase": "fine-tuning", "method": "lora", "model": "llama-3.1-70b", "dataset_tokens": 1e7},
    ],
)
def test_what_a_machine_holds_is_not_cut_into_stages(answers: dict[str, object], kb: KnowledgeBase) -> None:
    found = kb.consult({**answers, "accelerators": ["H100 SXM5 80GB"]}, engine="evaluator").plans.plan_set
    assert found is not None
    assert all(configuration.layout.pipeline == 1 for configuration in found.configurations)
