"""Where no plan could be made, everything about plans is there, and empty."""

from __future__ import annotations

from typing import Any

import pytest

import whygpu
from tests.effort import one_in
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
