"""Where nothing is recommended: changes of the answers that bring a recommendation back, each complete and said as what
somebody can do, with its number: a larger budget, less load, another format. Physics is never lifted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whygpu.answers import LISTS
from whygpu.chain.environment import plain
from whygpu.consult.ranking import useless
from whygpu.explain.bracket import Tried, nearest
from whygpu.explain.conditions import conditions_of
from whygpu.explain.fixes import FIXED, fixes, rounded
from whygpu.explain.flips import LOADS
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rejections import infeasible
from whygpu.explain.rerun import ENGINE, rerun_or_none
from whygpu.language import tree as t

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.rules import Rule

MOST_REPAIRS = 3
_PER_RULE = 6
_TRIED = 24
"""Consultations that looking for repairs takes at most, beside those that find how much less load would do."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A set of changed answers (None leaves one out) with which a plan is recommended."""

    changes: Mapping[str, Any]
    plan: Plan
    engine: str = ENGINE


def repairs(consultation: Consultation, most: int = MOST_REPAIRS) -> tuple[Repair, ...]:
    """Changes of the answers that bring a recommendation back, each complete, the cheapest plan first: the least that
    does, and where there is room what the usual recommendation takes.
    """
    found: dict[frozenset[str], Repair] = {}
    search = _Search(consultation)
    for changes in islice(_candidates(consultation), _TRIED):
        keys = frozenset(changes)
        if not any(known <= keys for known in found):  # else a smaller change does already
            repair = search.repair(changes)
            if repair is not None:
                found[keys] = repair
    for key in LOADS:
        repair = search.less(key) if key in consultation.answers.values else None
        if repair is not None:
            found[frozenset((key,))] = repair
    least = sorted(found.values(), key=_price)[:most]
    return tuple(sorted((*least, *islice(_usual(search, least), most - len(least))), key=_price))


def _usual(search: _Search, least: Sequence[Repair]) -> Iterator[Repair]:
    """Limits far enough away for what is recommended without them: what just keeps to one is often no good plan."""
    for repair in least:
        if len(repair.changes) == 1 and not repair.changes.keys() & {*FIXED, *LOADS}:
            usual = search.repair(dict.fromkeys(repair.changes))
            if usual is not None and not _alike(usual.plan, repair.plan):
                yield usual


def _alike(one: Plan, other: Plan) -> bool:
    return (one.accelerator, one.count) == (other.accelerator, other.count)


def _price(repair: Repair) -> tuple[float, int]:
    cost = repair.plan.cost
    return math.inf if cost is None else cost.compared.usd_per_hour, len(repair.changes)


def _candidates(consultation: Consultation) -> Iterator[dict[str, Any]]:
    """Single changes first: what the nearest plans miss, then each restriction lifted; then the pairs."""
    given = consultation.answers.given
    sets = _nearest(consultation)
    for rules, row in sets:
        if len(rules) == 1:
            yield from islice(fixes(consultation, rules[0], row), _PER_RULE)
    specs = consultation.knowledge.name_by_answer
    kept = (*FIXED, *LOADS)
    limits = [key for key in given if key not in kept and (key in LISTS or specs[key].kind in ("choice", "number"))]
    yield from ({key: None} for key in limits)
    for rules, row in sets:
        if len(rules) > 1:
            options = [list(islice(fixes(consultation, rule, row), 3)) for rule in rules]
            for chosen in product(*options):
                yield {key: value for part in chosen for key, value in part.items()}


def _nearest(consultation: Consultation) -> list[tuple[tuple[Rule, ...], int]]:
    """The plans that miss least, each with the rules that reject it."""
    maker = PlanMaker(consultation)
    trouble = infeasible(maker)
    rules = consultation.knowledge.rule_by_id
    found = trouble.relaxations if trouble is not None else ()
    return [
        (tuple(rules[name] for name in item.constraint.split(" and ")), row)
        for item in found
        if (row := maker.rows.find(item.plan)) is not None
    ]


class _Search:
    """Tries changes of the answers. What was called bad is no repair where it is still as bad: a larger budget lets in
    plans that are better, and yet the bad one counts least.
    """

    def __init__(self, consultation: Consultation) -> None:
        self._consultation = consultation
        trouble = infeasible(PlanMaker(consultation)) if consultation.plans.objections else None
        self._bad = None if trouble is None else trouble.least_bad
        self._against = set() if self._bad is None else _against(consultation, self._bad)

    def repair(self, changes: Mapping[str, Any]) -> Repair | None:
        """The repair, with a value in the place of each answer that is lifted, where that brings a plan back, too."""
        after, plan = self._tried(changes)
        if after is None or plan is None or None not in changes.values():
            return None if plan is None else Repair(changes, plan)
        given = self._consultation.answers.given
        exact = {
            key: _needed(self._consultation, after, key, plan) if value is None else value
            for key, value in changes.items()
        }
        if any(value == given.get(key) for key, value in exact.items()):
            return Repair(changes, plan)  # it is not this answer that has to be another one
        _, best = self._tried(exact)
        return Repair(changes, plan) if best is None else Repair(exact, best)

    def less(self, key: str) -> Repair | None:
        """The most load of a kind with which something is recommended."""
        value, spec = self._consultation.answers.values[key], self._consultation.knowledge.name_by_answer[key]
        if not isinstance(value, float):
            return None
        plans: dict[float, Plan | None] = {}

        def attempt(number: float) -> Tried:
            _, plans[number] = self._tried({key: number})
            return Tried(plans[number] is not None, None)

        ends = nearest(value, None, spec, attempt, up=False)
        plan = None if ends is None else plans[ends[1]]
        return None if ends is None or plan is None else Repair({key: ends[1]}, plan)

    def _tried(self, changes: Mapping[str, Any]) -> tuple[Consultation | None, Plan | None]:
        after = rerun_or_none(self._consultation, changes)
        plan = None if after is None else PlanMaker(after).best()
        if after is None or plan is None or self._bad is None:
            return after, plan
        same = _alike(plan, self._bad) and plan.format == self._bad.format
        return after, None if same and _against(after, plan) >= self._against else plan


def _against(consultation: Consultation, plan: Plan) -> set[str]:
    """The criteria by which a strong verdict makes the plan no answer."""
    found = useless(consultation.plans.tally, consultation.knowledge.preferences.worth("strong"))
    return {criterion for criterion, mask in found.items() if mask[plan.index]}


_OF_PLAN: Mapping[str, Callable[[Plan], Any]] = MappingProxyType(
    {
        "accelerators": lambda plan: [plan.accelerator.id],
        "count": lambda plan: plan.count,
        "max_count": lambda plan: plan.count,
        "max_nodes": lambda plan: plan.nodes,
        "format": lambda plan: plan.format,
        "kv_format": lambda plan: plan.kv_format,
        "method": lambda plan: plan.method,
        "batch_size": lambda plan: plan.batch_size,
        "tensor_parallel": lambda plan: plan.parallelism.tensor,
        "pipeline_parallel": lambda plan: plan.parallelism.pipeline,
        "replicas": lambda plan: plan.parallelism.data,
        "cache_split": lambda plan: plan.parallelism.cache_split,
        "providers": lambda plan: plan.cost and [plan.cost.provider],
        "provider_classes": lambda plan: plan.cost and [plan.cost.provider_class],
        "regions": lambda plan: [plan.cost.region] if plan.cost and plan.cost.region else None,
        "price_kinds": lambda plan: plan.cost and [plan.cost.price_kind],
    }
)
"""What a plan has in the place of an answer."""


def _needed(consultation: Consultation, after: Consultation, key: str, plan: Plan) -> Any:
    """The value of an answer that the plan needs: what it has, the limit that it just keeps to, or what is assumed
    without an answer; None where there is no such value.
    """
    if key in _OF_PLAN:
        return _OF_PLAN[key](plan)
    spec = consultation.knowledge.name_by_answer.get(key)
    if spec is None:
        return None
    for rule in consultation.knowledge.rules:
        for condition in conditions_of(rule.when) if rule.rejects else ():
            tree = condition.tree
            limits = isinstance(tree, t.Compare) and isinstance(tree.right, t.Name) and tree.right.name == spec.name
            if isinstance(tree, t.Compare) and limits and isinstance(tree.left, t.Name):
                got = plain(after.plans.environment.at(tree.left.name, plan.index))
                if tree.op in ("<", "<=", ">", ">=") and tree.left.name.startswith("plan.") and isinstance(got, float):
                    return rounded(got, spec, up=tree.op in (">", ">="))
    return after.session.answered(key)
