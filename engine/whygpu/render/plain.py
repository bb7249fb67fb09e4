"""Advice as plain data: the JSON of docs/reference/json.md."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.explain.advice import Advice, Infeasible, Item, Plan
    from whygpu.knowledge.questions import Profile
    from whygpu.lifecycle.advice import LifecycleAdvice
    from whygpu.render.view.model import Section
    from whygpu.trace import Fact, Step, Trace

SCHEMA = 1


def advice_dict(advice: Advice, *, every: bool = True, trace: bool = True) -> dict[str, Any]:
    """The answer. Without ``every`` other plans than the recommendation and what is out are left away, without
    ``trace`` the record: what is not asked for is not made.
    """
    infeasible = advice.infeasible
    best = advice.recommendation
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "kb": {"version": advice.knowledge_version, "hash": advice.knowledge_hash},
        "engine": advice.engine,
        "status": advice.status,
        "answers": _plain(dict(advice.answers)),
        "assumed": {item.name: {"value": _plain(item.value), "because": item.because} for item in advice.assumed},
        "recommendation": plan_dict(best, variant=not every) if best else None,
        "shortlist": [
            {
                "role": item.role,
                "plan": plan_dict(item.plan, variant=True),
                "gains": item.gains,
                "gives_up": item.gives_up,
            }
            for item in advice.shortlist
        ],
        "techniques": [_item(item) for item in advice.techniques],
        "advice": [_item(item) for item in advice.advice],
        "warnings": [_item(item) for item in advice.warnings],
        "conflicts": [
            {"criterion": item.criterion, "plan": item.plan, "for": list(item.favour), "against": list(item.against)}
            for item in advice.conflicts
        ],
        "comparisons": [_plain(item) for item in advice.comparisons],
        "open": [_plain(item) for item in advice.open],
        "infeasible": None if infeasible is None else _infeasible(infeasible),
    }
    if every:
        found["alternatives"] = [plan_dict(plan) for plan in advice.alternatives]
        found["rejected"] = [
            {"plan": plan_dict(item.plan), "because": [_plain(reason) for reason in item.because]}
            for item in advice.rejected
        ]
        found["profile"] = None if advice.profile is None else _profile(advice.profile)
    if trace:
        found["trace"] = trace_dict(advice.trace)
    return found


def sections_dict(sections: Iterable[Section], engine: str) -> dict[str, Any]:
    """Answers to questions about an advice: the sections that every renderer draws."""
    return {"schema": SCHEMA, "engine": engine, "sections": [_plain(section) for section in sections]}


def _infeasible(infeasible: Infeasible) -> dict[str, Any]:
    least_bad = infeasible.least_bad
    plan = None if least_bad is None else plan_dict(least_bad, variant=True)
    return {**_plain(replace(infeasible, least_bad=None)), "least_bad": plan}


def _profile(profile: Profile) -> dict[str, Any]:
    points = [{"text": point.text, "claims": list(point.sources)} for point in profile.points]
    return {"phase": profile.phase, "title": profile.title, "points": points}


def lifecycle_dict(advice: LifecycleAdvice, *, every: bool = True, trace: bool = True) -> dict[str, Any]:
    """Both phases' answers, and what the lifecycle costs; what is not known is null, with the reason beside it.

    ``every``, ``trace``: as of ``advice_dict``.
    """
    train, unknown, cost = advice.train, advice.unknown, advice.cost
    run, same = train.recommendation, advice.same
    known = _plain(cost.figures()) if cost else {}
    months = known.get("service_months")
    no_months = None if cost else "nobody says how long it serves"
    return {
        "schema": SCHEMA,
        "kb": {"version": train.knowledge_version, "hash": train.knowledge_hash},
        "engine": train.engine,
        "status": advice.status,
        "answers": _plain(dict(advice.answers)),
        "phases": [advice_dict(phase, every=every, trace=trace) for phase in advice.phases],
        "life_cost": {
            "service_months": months,
            "train": {
                "usd_per_run": _plain(run.cost.usd_total) if run and run.cost else None,
                "trainings": known.get("trainings"),
                "runs": known.get("runs"),
                "usd_total": known.get("train_usd"),
                "because": unknown.train or no_months,
            },
            "serve": {
                "usd_per_month": known.get("usd_per_month"),
                "usd_total": known.get("serve_usd"),
                "because": unknown.serve or no_months,
            },
            "usd_total": known.get("usd_total"),
            "serving_share": known.get("serving_share"),
            "equal_runs": known.get("equal_runs"),
            "same_hardware": {
                "plan": plan_dict(same, variant=True) if same else None,
                "usd_per_month": known.get("same_usd_per_month"),
                "serve_usd_total": known.get("same_serve_usd"),
                "usd_total": known.get("same_usd_total"),
                "times": known.get("same_times"),
                "because": unknown.same or no_months,
            },
            "advice": [_item(item) for item in advice.advice],
            "warnings": [_item(item) for item in advice.warnings],
            **({"trace": trace_dict(advice.trace)} if trace else {}),
        },
    }


def _item(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "topic": item.topic,
        "text": item.text,
        "rules": list(item.rules),
        "claims": list(item.claims),
    }


def plan_dict(plan: Plan, *, variant: bool = False) -> dict[str, Any]:
    """One plan; variants have none of their own."""
    found: dict[str, Any] = {
        "id": plan.id,
        "accelerator": _plain(plan.accelerator),
        "count": plan.count,
        "nodes": plan.nodes,
        "format": plan.format,
        "kv_format": plan.kv_format,
        "method": plan.method,
        "batch_size": plan.batch_size,
        "techniques": list(plan.techniques),
        "parallelism": _plain(plan.parallelism),
        "memory": _plain(plan.memory),
        "speed": {
            name: None
            if band is None
            else {"low": _plain(band.low), "likely": _plain(band.likely), "high": _plain(band.high)}
            for name, band in plan.speed.items()
        },
        "cost": None if plan.cost is None else _plain(plan.cost),
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
        "counted": None if plan.counted is None else _plain(plan.counted),
        "behind": plan.behind,
    }
    if not variant:
        found["variants"] = [plan_dict(inner, variant=True) for inner in plan.variants]
    return found


def trace_dict(trace: Trace) -> dict[str, Any]:
    """Facts and steps; what a step does not have is left out."""
    return {
        "facts": [_without_empty(fact) for fact in trace.facts],
        "steps": [_without_empty(step) for step in trace.steps],
    }


def _without_empty(record: Fact | Step) -> dict[str, Any]:
    """Drop what says nothing; a value of None stays, it says unknown."""
    values = ((name, getattr(record, name)) for name in record.__dataclass_fields__)
    return {
        name: _plain(value)
        for name, value in values
        if value not in ((), "") and (value is not None or name == "value")
    }


def _plain(value: Any) -> Any:
    """Records as mappings; JSON has no NaN and no tuples; 12 significant digits are more than any figure has."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value == int(value) and abs(value) < 2**53 else float(f"{value:.12g}")
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
