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
from whygpu.explain.bracket import Tried, bounded, nearest
from whygpu.explain.conditions import conditions_of
from whygpu.explain.fixes import FIXED, fixes, rounded
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rejections import infeasible
from whygpu.explain.rerun import ENGINE, LOADS, applies, assumed_criticality, rerun_or_none
from whygpu.knowledge.rules import Verdict
from whygpu.language import tree as t

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.rules import Effect, Rule, Strength

MOST_REPAIRS = 3
_PER_RULE = 6
_HARDWARE = ("accelerators", "exclude_accelerators", "count", "max_count", "max_nodes", "budget_per_hour")
"""Answers that each alone may leave no more than another: one card of a kind is neither more cards nor another kind."""
_PLACE = "deployment"
"""The answer that says where the work is done."""
_HALVINGS = 4
"""How often the way from a limit to the nearest one that allows a plan is halved."""
_NEAR = 1.1
"""Limits within this many times of each other are near enough."""
_TRIED = 24
"""Consultations that looking for repairs takes at most, beside those that find how much less load would do."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A set of changed answers (None leaves one out) with which a plan is recommended."""

    changes: Mapping[str, Any]
    plan: Plan
    engine: str = ENGINE


def repairs(consultation: Consultation) -> tuple[Repair, ...]:
    """Changes of the answers that bring a recommendation back, each complete, the cheapest plan first: the least that
    does, and where there is room what the usual recommendation takes.
    """
    search = _Search(consultation)
    found = _found(search, islice(_candidates(consultation), _TRIED))
    for key in LOADS:
        repair = search.less(key) if key in consultation.answers.values else None
        if repair is not None:
            found[frozenset((key,))] = repair
    found = found or _of_assumed(search, consultation)
    least = sorted(map(search.tightened, sorted(found.values(), key=_price)[:MOST_REPAIRS]), key=_price)
    return tuple(sorted((*least, *islice(_usual(search, least), MOST_REPAIRS - len(least))), key=_price))


def _found(search: _Search, candidates: Iterator[Mapping[str, Any]]) -> dict[frozenset[str], Repair]:
    """Those that bring a plan back, by the answers that they change."""
    found: dict[frozenset[str], Repair] = {}
    for changes in candidates:
        keys = frozenset(changes)
        if not any(known <= keys for known in found):  # else a smaller change does already
            repair = search.repair(changes)
            if repair is not None:
                found[keys] = repair
    return found


def _of_assumed(search: _Search, consultation: Consultation) -> dict[frozenset[str], Repair]:
    """The same of what is only assumed, where no change of what was answered does: less of it, or another choice."""
    specs = consultation.knowledge.name_by_answer
    assumed = [item.question.id for item in consultation.applied.assumed if item.question.id not in FIXED]
    less = (search.less(key) for key in assumed if specs[key].kind == "number")
    found = {frozenset(repair.changes): repair for repair in less if repair is not None}
    words = ({key: word} for key in assumed if specs[key].kind == "choice" for word in specs[key].words)
    return found or _found(search, islice((item for item in words if applies(consultation, item)), _TRIED))


def _usual(search: _Search, least: Sequence[Repair]) -> Iterator[Repair]:
    """Limits far enough away for what is recommended without them: what just keeps to one is often no good plan."""
    for repair in least:
        if len(repair.changes) == 1 and not repair.changes.keys() & {*FIXED, *LOADS}:
            usual = search.repair(dict.fromkeys(repair.changes))
            if usual is not None and not _alike(usual.plan, repair.plan):
                yield usual


def _alike(one: Plan, other: Plan) -> bool:
    return (one.accelerator, one.count) == (other.accelerator, other.count)


def _price(repair: Repair) -> tuple[bool, bool, float, int]:
    """What moves the work to another place comes last, and what is rented before what is bought, though an hour of what
    is paid for years costs less; then by price.
    """
    cost = repair.plan.cost
    bought = cost is not None and cost.basis == "buying"
    return (
        _PLACE in repair.changes,
        bought,
        math.inf if cost is None else cost.compared.usd_per_hour,
        len(repair.changes),
    )


def _candidates(consultation: Consultation) -> Iterator[dict[str, Any]]:
    """Single changes first: what the nearest plans miss, as far as that leaves room to try each restriction lifted,
    which comes next; then the pairs.
    """
    given = consultation.answers.given
    sets = _nearest(consultation)
    specs = consultation.knowledge.name_by_answer
    kept = (*FIXED, *LOADS)
    limits = [key for key in given if key not in kept and (key in LISTS or specs[key].kind in ("choice", "number"))]
    single = (
        changes
        for rules, row in sets
        if len(rules) == 1
        for changes in islice(fixes(consultation, rules[0], row), _PER_RULE)
    )
    yield from islice(_each_once(single), max(_TRIED - len(limits), 0))
    yield from ({key: None} for key in limits)
    for rules, row in sets:
        if len(rules) > 1:
            options = [list(islice(fixes(consultation, rule, row), 3)) for rule in rules]
            for chosen in product(*options):
                yield {key: value for part in chosen for key, value in part.items()}
    if len(hardware := [key for key in given if key in _HARDWARE]) > 1:
        yield dict.fromkeys(hardware)


def _each_once(candidates: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The candidates without those that are equal to an earlier one."""
    seen: list[dict[str, Any]] = []
    for changes in candidates:
        if changes not in seen:
            seen.append(changes)
            yield changes


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
        self._held = assumed_criticality(consultation)

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

    def tightened(self, repair: Repair) -> Repair:
        """The same with its limit nearer to the one that was answered, where a plan comes back there already: what the
        nearest plan misses is found of one plan, and another may miss less.
        """
        (key, far), *others = repair.changes.items()
        near = self._consultation.answers.values.get(key)
        if others or key in LOADS or not isinstance(near, float) or not isinstance(far, int | float) or near <= 0:
            return repair
        spec = self._consultation.knowledge.name_by_answer[key]
        tried = self._tried({key: far})
        for _ in range(_HALVINGS):
            middle = bounded(math.sqrt(near * far), spec)
            if not min(near, far) < middle < max(near, far) or max(near, far) / min(near, far) < _NEAR:
                break
            found = self._tried({key: middle})
            near, far, tried = (middle, far, tried) if found[1] is None else (near, middle, found)
        after, plan = tried
        needed = None if after is None or plan is None else _needed(self._consultation, after, key, plan)
        if isinstance(needed, int | float) and min(near, far) < needed < max(near, far):
            far = needed
        if far == repair.changes[key]:
            return repair
        return self.repair({key: far}) or repair

    def less(self, key: str) -> Repair | None:
        """The most load of a kind with which something is recommended."""
        consultation = self._consultation
        spec = consultation.knowledge.name_by_answer[key]
        value = consultation.answers.values.get(key, consultation.session.number(key))
        if not isinstance(value, float) or spec.unit == "pixels":
            return None
        plans: dict[float, Plan | None] = {}

        def attempt(number: float) -> Tried:
            _, plans[number] = self._tried({key: number})
            return Tried(plans[number] is not None, None)

        ends = nearest(value, None, spec, attempt, up=False)
        plan = None if ends is None else plans[ends[1]]
        return None if ends is None or plan is None else Repair({key: ends[1]}, plan)

    def _tried(self, changes: Mapping[str, Any]) -> tuple[Consultation | None, Plan | None]:
        after = rerun_or_none(self._consultation, {**self._held, **changes})
        plan = None if after is None else PlanMaker(after).best()
        if after is not None and plan is not None and "count" in changes:
            plan = plan if plan.count <= after.plans.options.usual_count else None  # more than are assumed at hand
        if after is None or plan is None or self._bad is None:
            return after, plan
        same = _alike(plan, self._bad) and plan.format == self._bad.format
        return after, None if same and _against(after, plan) >= self._against else plan


def _against(consultation: Consultation, plan: Plan) -> set[str]:
    """The rules behind the strong verdicts that make the plan no answer."""
    preferences, rules = consultation.knowledge.preferences, consultation.knowledge.rule_by_id
    criteria = {name for name, mask in useless(consultation.plans.tally, preferences).items() if mask[plan.index]}
    fired = (rules[rule_id] for rule_id, mask in consultation.plans.fired.items() if mask[plan.index])
    return {rule.id for rule in fired if any(_strongly(item, criteria, preferences.worth) for item in rule.effects)}


def _strongly(effect: Effect, criteria: set[str], worth: Callable[[Strength], float]) -> bool:
    """Whether an effect speaks strongly against a plan by one of these criteria."""
    if not isinstance(effect, Verdict) or effect.favourable or effect.criterion not in criteria:
        return False
    return worth(effect.strength) >= worth("strong")


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
        "expert_parallel": lambda plan: plan.parallelism.expert,
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
