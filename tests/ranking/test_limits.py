"""Limits: what binds nothing changes nothing, and no plan is left that breaks one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.ranking.asked import (
    SLIGHTLY,
    Asked,
    PlanKey,
    Workload,
    ask,
    asked,
    knowledge,
    named,
    one_in,
    plan_of,
    swapped,
)
from whygpu.chain.environment import plain

pytestmark = pytest.mark.slow

LOOSE = {
    "budget_per_hour": 1e9,
    "budget_total": 1e12,
    "deadline_hours": 1e6,
    "latency_ms": 1e8,
    "token_latency_ms": 1e7,
    "power_watts": 1e8,
    "max_count": 1e5,
    "max_nodes": 1e4,
}
"""Limits far beyond what any plan uses."""
COUNTS = ("max_count", "max_nodes")
ASSUMED = {
    "larger-than-assumed",
    "larger-than-the-work-needs",
    "more-than-a-desk-or-a-device-holds",
    "a-desk-is-no-server-room",
}


def loosened(before: Asked) -> Iterator[tuple[str, Workload]]:
    """The workload with each limit that it may have and has not. One that is assumed is no limit that is added: speech
    is written as fast as it is heard unless another pace is answered.
    """
    assumed = {item.question.id for item in before.consultation.applied.assumed} - {*COUNTS}
    for question in before.consultation.applied.applicable:
        if question.id in LOOSE and question.id not in {*before.workload.answers.values, *assumed}:
            yield question.id, before.workload.with_(**{question.id: LOOSE[question.id]})


def changes(before: Asked, name: str, after: Asked) -> Iterator[str]:
    """What a limit that binds nothing changes.

    Three things it may change. A budget puts out what has no price, which no budget can be held against. What cannot be
    held against a limit, for want of the figure, is unverified and comes last. And a number of accelerators or machines
    that is answered takes the place of what was assumed: what speaks against plans beyond that is silent then.
    """
    found = after.consultation
    for plan in before.rows.keys() - after.rows.keys():
        figure = _figure(before, name, plan)
        if name in ("budget_per_hour", "budget_total") and figure is None:
            continue  # nobody prices any of them, so they compared by power
        if math.isfinite(before.value(plan)) and not (figure or 0) > LOOSE[name]:
            yield f"{before.workload.id}: {name} puts {plan} out"
    beyond = ASSUMED if name in COUNTS else set()
    for plan, row in after.rows.items():
        if plan not in before.rows or beyond & before.rules(plan) or not math.isfinite(before.value(plan)):
            continue
        if name == "deadline_hours" and (_figure(after, name, plan) or 0) > 0.01 * LOOSE[name]:
            continue  # a job of centuries is within sight of the longest deadline that can be asked for
        if abs(after.value(plan) / before.value(plan) - 1) > SLIGHTLY:
            yield f"{name}: {after.told(before, plan)}"
        fresh = found.plans.unverified[row] and not before.consultation.plans.unverified[before.rows[plan]]
        if fresh and _figure(after, name, plan) is not None:
            yield f"{before.workload.id}: {name} leaves {plan} unverified"
    if not found.plans.unverified.any() and not any(beyond & before.rules(plan) for plan in before.rows):
        order = swapped(before, after)
        if order is not None:
            yield f"{name}: {order}"
    if found.plans.objections != before.consultation.plans.objections:
        yield f"{before.workload.id}: {name} brings objections: {found.plans.objections}"


FIGURES = {
    "token_latency_ms": "plan.token_ms",
    "latency_ms": "plan.ttft_ms",
    "deadline_hours": "plan.train_hours",
    "budget_per_hour": "plan.usd_compared_per_hour",
    "budget_total": "plan.usd_total",
    "power_watts": "plan.watts",
}
"""The figure that each limit is held against."""


def _figure(found: Asked, name: str, plan: PlanKey) -> float | None:
    """The figure of one plan that the limit is held against; None where it is not known."""
    plans = found.consultation.plans.environment
    value = plain(plans.at(FIGURES[name], found.rows[plan])) if plans is not None and name in FIGURES else None
    return value if isinstance(value, float) else None


@one_in(16)
def test_a_limit_that_binds_nothing_changes_nothing(every: int) -> None:
    found: list[str] = []
    tried = 0
    for before in asked(every):
        for name, workload in loosened(before):
            after = ask(workload)
            assert after is not None
            found += changes(before, name, after)
            tried += 1
    assert tried > 20
    assert not found, "\n".join(found)


def test_a_limit_that_says_something_however_loose_is_found() -> None:
    """The property can fail: speed that is never loose."""
    kb = knowledge()
    speeds = tuple(replace(speed, loose=1e12) for speed in kb.preferences.speeds)
    broken = replace(kb, preferences=replace(kb.preferences, speeds=speeds))
    before = ask(named("chat-helpdesk-8b"), broken)
    assert before is not None
    after = {name: ask(workload, broken) for name, workload in loosened(before)}
    found = {name for name, one in after.items() if one is not None and list(changes(before, name, one))}
    assert found == {"token_latency_ms"}


HELD = {
    "latency_ms": ("ttft_ms", 1.0),
    "token_latency_ms": ("token_ms", 1.0),
    "deadline_hours": ("train_hours", 1.0),
    "requests_per_second": ("requests_per_s", -1.0),
}
"""Speeds, each with the limit it is held against: at most, or (-1) at least."""


@one_in(8)
def test_no_plan_is_left_that_breaks_a_limit(every: int) -> None:
    """Read off the plans themselves, not off the rules that put plans out. What is unverified is said to be so."""
    broken: list[str] = []
    tried = 0
    for found in asked(every):
        answers, field, costs = (
            found.workload.answers,
            found.consultation.plans.plan_set,
            found.consultation.plans.costs,
        )
        assert field is not None
        assert costs is not None
        ignored = {question.id for question in found.consultation.applied.irrelevant}
        limits = {name: value for name, value in answers.values.items() if name not in ignored}
        rows = np.array(list(found.rows.values()))
        counts = np.array([configuration.layout.cards for configuration in field.configurations])[field.configuration]
        measured = {
            **{
                name: sign * field.speeds.figures[figure]
                for name, (figure, sign) in HELD.items()
                if figure in field.speeds.figures
            },
            "budget_per_hour": costs.hourly,
            "power_watts": field.cards.power_w[field.card] * counts,
            "max_count": counts,
            "max_nodes": field.nodes,
        }
        if found.consultation.plans.work is not None and found.consultation.plans.work.setup.phase != "inference":
            measured["budget_total"] = np.where(costs.basis == "buying", np.nan, costs.usd_total)
        for name in measured.keys() & limits.keys():
            limit = HELD.get(name, ("", 1.0))[1] * float(limits[name])
            over = rows[measured[name][rows] > limit + SLIGHTLY * abs(limit)]
            broken += [
                f"{found.workload.id}: {name} {limits[name]}: {plan_of(found.consultation, row)}" for row in over
            ]
            tried += 1
        chosen, left_out = answers.accelerators, answers.exclude_accelerators
        for plan in found.rows:
            if (chosen is not None and plan[0] not in chosen) or plan[0] in left_out:
                broken.append(f"{found.workload.id}: {plan[0]} was not asked for")
            if "count" in limits and plan[2] != limits["count"]:
                broken.append(f"{found.workload.id}: {plan} where {limits['count']:g} were asked for")
    assert tried > 5
    assert not broken, "\n".join(broken)
