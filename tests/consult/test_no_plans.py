"""Where no plan could be made, everything about plans is there, and empty."""

from __future__ import annotations

from typing import Any

import pytest

import whygpu
from tests.effort import one_in
from whygpu.explain.repairs import repairs
from whygpu.render.view import view_of

NOTHING_SAID: tuple[dict[str, Any], ...] = (
    {},
    {"deployment": "workstation", "service_months": 24},
    {"phase": "fine-tuning", "concurrency": None},
)


@pytest.mark.parametrize("extra", one_in(3, NOTHING_SAID, ["serve", "buy", "train"]))
@pytest.mark.parametrize("engine", ["evaluator", "durable"])
def test_a_consultation_without_plans_is_whole(kb: whygpu.KnowledgeBase, engine: Any, extra: dict[str, Any]) -> None:
    answers = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8} | extra
    known = {key: value for key, value in answers.items() if value is not None}
    advice = kb.advise({**known, "exclude_accelerators": list(kb.knowledge.catalogue.accelerators)}, engine=engine)
    plans = advice.consultation.plans
    assert len(plans) == len(plans.alive) == len(plans.costs.objective) == len(plans.ranking.order) == 0
    assert plans.fired == {}
    assert advice.consultation.session.fired
    assert advice.status == "infeasible"
    assert advice.infeasible is not None
    assert advice.infeasible.relaxations == ()
    found = advice.to_dict()
    assert (found["recommendation"], found["alternatives"], found["rejected"]) == (None, [], [])
    assert found["trace"]["facts"]
    assert view_of(advice).trouble is not None
    assert advice.flips() == ()


def test_a_limit_moves_no_further_than_it_has_to(kb: whygpu.KnowledgeBase) -> None:
    """Eight cards were named where four do."""
    answers = {"phase": "inference", "model": "llama-3.1-70b", "accelerators": ["t4"]}
    advice = kb.advise({**answers, "count": 1}, engine="evaluator")
    counts = [item.changes["count"] for item in repairs(advice.consultation) if "count" in item.changes]
    least = int(min(counts))
    assert kb.advise({**answers, "count": least}, engine="evaluator").recommendation is not None
    assert all(
        kb.advise({**answers, "count": fewer}, engine="evaluator").recommendation is None for fewer in range(1, least)
    )


def test_another_place_is_named_last(kb: whygpu.KnowledgeBase) -> None:
    """A robot that draws too much was told first to move to a cloud."""
    robot = {"phase": "inference", "model": "yolo11m", "streams": 16, "deployment": "edge", "power_watts": 10}
    found = [set(item.changes) for item in repairs(kb.advise(robot, engine="evaluator").consultation)]
    assert "power_watts" in set().union(*found)
    assert "deployment" not in set().union(*found[:-1])
