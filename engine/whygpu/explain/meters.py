"""What the work needs against what a plan gives: read off the rules that reject plans, so a new limit is a new row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whygpu.chain.environment import plain
from whygpu.checks.calculation import Range
from whygpu.checks.speed.estimate import FIGURES
from whygpu.explain.conditions import Judge
from whygpu.knowledge.rules import Condition
from whygpu.language import tree as t

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.rules import Rule
    from whygpu.language import values as v

_MISSED = frozenset({"plan.admits"})
"""What a plan may lack and be chosen all the same: a limit where a rule that fires compares it."""
MeterStatus = Literal["met", "at risk", "missed"]


@dataclass(frozen=True, slots=True)
class Need:
    """One limit on a plan: ``got`` must be at most (or at least) ``limit``, both in ``unit``."""

    name: str
    """Of the plan's figure, for example ``plan.token_ms``."""
    rule: Rule
    limit_name: str
    """Of the limit: an answer, a value derived from answers, or what the accelerator has."""
    limit: float
    got: Range
    at_most: bool
    unit: str | None

    @property
    def margin(self) -> float:
        """How far the likely figure is from the limit, as a share of it; negative where it is beyond."""
        if self.at_most:
            return 1 - self.got.likely / self.limit if self.limit else -math.inf
        return self.got.likely / self.limit - 1 if self.limit else math.inf

    @property
    def status(self) -> MeterStatus:
        """Missed by the likely figure, at risk where an end of its range is beyond the limit, else met."""
        worst = self.got.high if self.at_most else self.got.low
        if self.margin < 0:
            return "missed"
        beyond = worst > self.limit if self.at_most else worst < self.limit
        return "at risk" if beyond else "met"

    @property
    def best(self) -> float:
        """The end of its range that is nearer to meeting the limit."""
        return self.got.low if self.at_most else self.got.high

    @property
    def within_reach(self) -> bool:
        """Whether that end meets it."""
        return self.best <= self.limit if self.at_most else self.best >= self.limit

    @property
    def of_hardware(self) -> bool:
        """Whether the limit is what the accelerator has, and not what was asked for."""
        return self.limit_name.startswith(("plan.", "gpu."))


def needs(consultation: Consultation, plan: Plan) -> tuple[Need, ...]:
    """Every limit that holds for a plan, the one nearest to being missed first."""
    found: dict[tuple[str, str], Need] = {}
    for item in _needs(consultation, plan):
        found.setdefault((item.name, item.limit_name), item)
    return tuple(sorted(found.values(), key=lambda item: item.margin))


def _needs(consultation: Consultation, plan: Plan) -> Iterator[Need]:
    judge = Judge(consultation.plans.environment, consultation.knowledge.vocabulary, plan.index)
    for rule in consultation.knowledge.rules:
        fired = consultation.plans.fired.get(rule.id)
        if not rule.rejects and (fired is None or not fired[plan.index]):
            continue
        comparisons = [item for item in rule.when.parts if isinstance(item, Condition) and _compares(item.tree)]
        if len(comparisons) != 1:
            continue
        others = [item for item in rule.when.parts if item is not comparisons[0]]
        if all(isinstance(item, Condition) and judge.result(item.tree) == "true" for item in others):
            need = _need(consultation, plan, rule, comparisons[0].tree)
            if need is not None and (rule.rejects or need.name in _MISSED):
                yield need


def _compares(tree: t.Expression) -> bool:
    """Whether it compares a plan's figure with another name."""
    return (
        isinstance(tree, t.Compare)
        and tree.op in ("<", "<=", ">", ">=")
        and isinstance(tree.left, t.Name)
        and isinstance(tree.right, t.Name)
        and tree.left.name.startswith("plan.")
    )


def _need(consultation: Consultation, plan: Plan, rule: Rule, tree: t.Expression) -> Need | None:
    if not isinstance(tree, t.Compare) or not isinstance(tree.left, t.Name) or not isinstance(tree.right, t.Name):
        return None
    left, right = tree.left.name, tree.right.name
    limit = plain(consultation.plans.environment.at(right, plan.index))
    got = _range(consultation, plan, left)
    if not isinstance(limit, float) or got is None:
        return None
    unit = consultation.knowledge.vocabulary[left].unit
    return Need(left, rule, right, limit, got, tree.op in (">", ">="), unit)


def _full(sized: Range | None, full: v.Value) -> Range | None:
    """The requests a second of a plan when it is full: as much less or more as those that it is sized for may be."""
    most = plain(full)
    if sized is None or not isinstance(most, float):
        return None
    times = most / sized.likely if sized.likely else 1.0
    return Range(sized.low * times, most, sized.high * times)


def _range(consultation: Consultation, plan: Plan, name: str) -> Range | None:
    """A plan's figure with its range, where it has one."""
    key = name.removeprefix("plan.")
    if key in FIGURES:
        return plan.speed.get(key)
    if key == "most_requests_per_s":
        return _full(plan.speed.get("requests_per_s"), consultation.plans.environment.at(name, plan.index))
    if key == "total_gib":
        return Range(plan.memory.low_gib, plan.memory.total_gib, plan.memory.high_gib)
    value = plain(consultation.plans.environment.at(name, plan.index))
    if not isinstance(value, float):
        return None
    cost = plan.cost
    if key == "usd_compared_per_hour" and cost is not None and cost.low is not None and cost.high is not None:
        return Range(cost.low, value, cost.high)
    return Range(value, value, value)
