"""The parts of an advice as plain data: the JSON of docs/reference/contract.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whygpu.explain.contract import InfeasibleJson, ItemJson, PlanJson, PointJson, ProfileJson, TraceJson
    from whygpu.explain.parts import Infeasible, Item
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.questions import Profile
    from whygpu.trace import Fact, Step, Trace

SCHEMA = 1


def infeasible_dict(infeasible: Infeasible) -> InfeasibleJson:
    """Why nothing is recommended."""
    least_bad = infeasible.least_bad
    plan = None if least_bad is None else plan_dict(least_bad, variant=True)
    return {
        "conflict": list(infeasible.conflict),
        "relaxations": [json_value(item) for item in infeasible.relaxations],
        "least_bad": plan,
    }


def profile_dict(profile: Profile) -> ProfileJson:
    """What a phase is like."""
    points: list[PointJson] = [{"text": point.text, "claims": list(point.sources)} for point in profile.points]
    return {"phase": profile.phase, "title": profile.title, "points": points}


def item_dict(item: Item) -> ItemJson:
    """A piece of advice, a technique or a warning."""
    return {
        "id": item.id,
        "topic": item.topic,
        "text": item.text,
        "rules": list(item.rules),
        "claims": list(item.claims),
    }


def plan_dict(plan: Plan, *, variant: bool = False) -> PlanJson:
    """One plan; variants have none of their own."""
    found: PlanJson = {
        "id": plan.id,
        "accelerator": json_value(plan.accelerator),
        "count": plan.count,
        "nodes": plan.nodes,
        "format": plan.format,
        "kv_format": plan.kv_format,
        "method": plan.method,
        "batch_size": plan.batch_size,
        "techniques": list(plan.techniques),
        "parallelism": json_value(plan.parallelism),
        "memory": json_value(plan.memory),
        "speed": {
            name: None
            if band is None
            else {"low": json_value(band.low), "likely": json_value(band.likely), "high": json_value(band.high)}
            for name, band in plan.speed.items()
        },
        "cost": None if plan.cost is None else json_value(plan.cost),
        "unpriced": plan.unpriced,
        "verdicts": [
            {
                "criterion": item.criterion,
                "strength": item.strength,
                "for": item.favourable,
                "rules": list(item.rules),
                "claims": list(item.claims),
            }
            for item in plan.verdicts
        ],
        "owned": plan.owned,
        "rank": plan.rank,
        "unverified": plan.unverified,
        "counted": None if plan.counted is None else json_value(plan.counted),
        "behind": plan.behind,
    }
    if not variant:
        found["variants"] = [plan_dict(inner, variant=True) for inner in plan.variants]
    return found


def trace_dict(trace: Trace) -> TraceJson:
    """Facts and steps; what a step does not have is left out."""
    return {
        "facts": [_without_empty(fact) for fact in trace.facts],
        "steps": [_without_empty(step) for step in trace.steps],
    }


def _without_empty(record: Fact | Step) -> Any:
    """Drop what says nothing; a value of None stays, it says unknown."""
    values = ((name, getattr(record, name)) for name in record.__dataclass_fields__)
    return {
        name: json_value(value)
        for name, value in values
        if value not in ((), "") and (value is not None or name == "value")
    }


def json_value(value: Any) -> Any:
    """Records as mappings; JSON has no NaN and no tuples; 12 significant digits are more than any figure has."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value == int(value) and abs(value) < 2**53 else float(f"{value:.12g}")
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return {name: json_value(getattr(value, name)) for name in value.__dataclass_fields__}
