"""What differs between two consultations: recommendation, roles, figures, and rules that fire or fall silent, each with
its cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whygpu.explain.conditions import Judge, conditions_of
from whygpu.explain.figures import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.explain.advice import Advice
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.rules import Rule
    from whygpu.trace import Outcome

_SAME = 0.005
"""Figures within this share of each other are the same."""
FIGURES = (
    ("total_gib", "GiB"),
    ("ttft_ms", "ms"),
    ("token_ms", "ms"),
    ("tokens_per_s", "tokens/s"),
    ("requests_per_s", "requests/s"),
    ("frames_per_s", "frames/s"),
    ("times_real_time", "times real time"),
    ("train_hours", "hours"),
    ("usd_per_hour", "USD/hour"),
)
"""Figures of plans that are compared, and their units."""


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure of the recommendation before and after; None where there is none."""

    name: str
    before: float | None
    after: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that now fires or fell silent, and the first condition that is judged otherwise."""

    rule: Rule
    status: Literal["fires", "silent"]
    about: Literal["work", "plan"]
    before: Outcome | None
    after: Outcome | None


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A role of the shortlist that another plan has, or none."""

    role: str
    before: Plan | None
    after: Plan | None


@dataclass(frozen=True, slots=True)
class Differences:
    """All of it."""

    before: Plan | None
    after: Plan | None
    roles: tuple[RoleChange, ...]
    figures: tuple[FigureChange, ...]
    rules: tuple[RuleChange, ...]


def differences(old: Advice, new: Advice) -> Differences:
    """What ``new`` says otherwise than ``old``."""
    return Differences(
        old.recommendation,
        new.recommendation,
        tuple(_roles(old, new)),
        tuple(_figures(old.recommendation, new.recommendation)),
        tuple(_rules(old, new)),
    )


def _roles(old: Advice, new: Advice) -> Iterator[RoleChange]:
    before, after = ({pick.role: pick.plan for pick in advice.shortlist} for advice in (old, new))
    for role in dict.fromkeys((*before, *after)):
        one, other = before.get(role), after.get(role)
        if (one and one.id) != (other and other.id):
            yield RoleChange(role, one, other)


def figure(plan: Plan | None, name: str) -> float | None:
    """One figure of a plan; None where it has none."""
    if plan is None:
        return None
    if name == "total_gib":
        return plan.memory.total_gib
    if name == "usd_per_hour":
        return None if plan.cost is None else plan.cost.compared.usd_per_hour
    band = plan.speed.get(name)
    return None if band is None else band.likely


def _figures(old: Plan | None, new: Plan | None) -> Iterator[FigureChange]:
    for name, unit in FIGURES:
        one, other = figure(old, name), figure(new, name)
        plan = old if one is not None else new
        if plan is None or (one is None and other is None):
            continue
        if one is None or other is None or abs(one - other) > _SAME * max(abs(one), abs(other)):
            yield FigureChange(called(name, plan), one, other, unit)


def _rules(old: Advice, new: Advice) -> Iterator[RuleChange]:
    """Rules about the work, and those about the recommendation of each."""
    abouts: tuple[Literal["work", "plan"], ...] = ("work", "plan")
    for about in abouts:
        before, after = (_fired(advice, about) for advice in (old, new))
        for rule in old.consultation.knowledge.rules:
            if (rule.id in before) != (rule.id in after):
                causes = _cause(old, new, rule, about)
                yield RuleChange(rule, "fires" if rule.id in after else "silent", about, *causes)


def _fired(advice: Advice, about: str) -> set[str]:
    consultation = advice.consultation
    if about == "work":
        return {rule.id for rule in consultation.session.fired}
    heads = advice.maker.rows.heads
    return {rule for rule, mask in consultation.plans.fired.items() if heads and mask[heads[0]]}


def _cause(one: Advice, other: Advice, rule: Rule, about: str) -> tuple[Outcome | None, Outcome | None]:
    """The first condition that is judged otherwise, before and after."""
    judges = [_judge(item, about) for item in (one, other)]
    if judges[0] is None or judges[1] is None:
        return None, None
    for condition in (*conditions_of(rule.when), *conditions_of(rule.unless)):
        before, after = (judge.outcome(condition) for judge in judges if judge is not None)
        if before.result != after.result:
            return before, after
    return None, None


def _judge(advice: Advice, about: str) -> Judge | None:
    consultation = advice.consultation
    vocabulary = consultation.knowledge.vocabulary
    if about == "work":
        return Judge(consultation.session.environment, vocabulary)
    heads = advice.maker.rows.heads
    return Judge(consultation.plans.environment, vocabulary, heads[0]) if heads else None
