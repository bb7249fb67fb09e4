"""What ways of running have in common is sized once, and put together to what each would be sized alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whygpu.plans.search import Sizes

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

WORKS: tuple[dict[str, Any], ...] = (
    {"phase": "inference", "model": "llama-3.1-70b", "requests_per_second": 20, "concurrency": 64},
    {"phase": "batch-inference", "model": "deepseek-v3", "dataset_tokens": 1e9},
    {"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 1e10, "deadline_hours": 100},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "algorithm": "grpo", "dataset_samples": 1e4},
    {"phase": "fine-tuning", "model": "llama-3.1-70b", "method": "qlora", "dataset_tokens": 1e7},
    {"phase": "training", "model": "resnet-50", "dataset_samples": 1e6},
)


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: f"{answers['phase']} {answers['model']}")
def test_a_way_is_sized_as_it_would_be_alone(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    plans = kb.consult(answers, engine="evaluator").plans
    sizes = Sizes(plans.work)
    ways = plans.plan_set.configurations
    assert len(ways) > 5
    for way in ways:
        alone = plans.work.memory(way.setup, way.layout)
        for found in (way.memory, sizes.memory(sizes.number(way.setup), way.setup, way.layout)):
            assert found.ranges == alone.ranges, (way.setup, way.layout)
            assert (found.low, found.total, found.high) == (alone.low, alone.total, alone.high)
