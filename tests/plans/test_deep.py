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
