"""What would help: changes of the answers under which a rule no longer rejects a plan. Physics is never lifted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from whygpu.answers import LISTS
from whygpu.chain.environment import plain
from whygpu.chain.strata import used_names
from whygpu.errors import AnswerError
from whygpu.explain.conditions import conditions_of
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rejections import infeasible
from whygpu.explain.rerun import ENGINE, rerun
from whygpu.language import tree as t

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.knowledge.rules import Rule
    from whygpu.language.names import NameSpec

MOST_REPAIRS = 3
_FIXED = ("phase", "task", "model", "owned")
"""What the work is: to change it is no repair."""
_PER_RULE = 6
_TRIED = 24
"""Consultations that looking for repairs takes at most."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A set of changed answers (None takes one away) with which a plan is recommended."""

    changes: Mapping[str, Any]
    plan: Plan
    engine: str = ENGINE


def fixes(consultation: Consultation, rule: Rule, row: int) -> Iterator[dict[str, Any]]:
    """Candidate changes under which the rule may let a plan pass, the smallest first; each is still to be tried.

    Nothing where the rule compares what the plan needs with what the hardware has.
    """
    yield from _limits(consultation, rule, row)
    names = used_names([rule.condition], consultation.knowledge.values)
    specs = [consultation.knowledge.vocabulary[name] for name in sorted(names)]
    for spec in specs:
        if spec.answer is None or spec.answer in _FIXED or spec.kind not in ("choice", "flag"):
            continue
        now = plain(consultation.session.environment.value(spec.name))
        if spec.answer in consultation.answers.given:
            yield {spec.answer: None}
        others = (not now,) if isinstance(now, bool) else tuple(spec.values)
        yield from ({spec.answer: other} for other in others if other != now)
    if any(
        name.startswith("plan.") and ("provider" in name or "rented" in name or "offered" in name) for name in names
    ):
        yield from ({key: None} for key in LISTS if key in consultation.answers.given)


def _limits(consultation: Consultation, rule: Rule, row: int) -> Iterator[dict[str, Any]]:
    """A limit that was answered, moved as far as the plan misses it."""
    for condition in conditions_of(rule.when):
        tree = condition.tree
        if not isinstance(tree, t.Compare) or not isinstance(tree.left, t.Name) or not isinstance(tree.right, t.Name):
            continue
        got = plain(consultation.plans.environment.at(tree.left.name, row))
        limit = plain(consultation.plans.environment.at(tree.right.name, row))
        if not isinstance(got, float) or not isinstance(limit, float) or tree.op not in ("<", "<=", ">", ">="):
            continue
        up = tree.op in (">", ">=")  # the plan has too much: the limit goes up
        for name in sorted(used_names([tree.right], consultation.knowledge.values)):
            spec = consultation.knowledge.vocabulary[name]
            now = consultation.answers.values.get(spec.answer or "")
            if spec.answer is None or not isinstance(now, float) or not limit or spec.unit == "pixels":
                continue
            wanted = got if name == tree.right.name else now * got / limit
            yield {spec.answer: rounded(wanted, spec, up=up)}


def is_limit(consultation: Consultation, rule: Rule, changes: Mapping[str, Any]) -> bool:
    """Whether the changes only move limits that the rule itself compares figures of a plan with: that it then lets the
    plan pass needs no trial.
    """
    compared = {
        condition.tree.right.name
        for condition in conditions_of(rule.when)
        if isinstance(condition.tree, t.Compare) and isinstance(condition.tree.right, t.Name)
    }
    names = consultation.knowledge.name_by_answer
    return all(value is not None and key in names and names[key].name in compared for key, value in changes.items())


def rounded(value: float, spec: NameSpec, *, up: bool) -> float:
    """Three significant digits, to the side on which the limit is kept."""
    if value <= 0 or not math.isfinite(value):
        return value
    scale = 10.0 ** (math.floor(math.log10(value)) - 2)
    found = (math.ceil(value / scale - 1e-9) if up else math.floor(value / scale + 1e-9)) * scale
    if spec.integer:
        found = math.ceil(found) if up else math.floor(found)
    return float(f"{found:.12g}")


def repairs(consultation: Consultation, most: int = MOST_REPAIRS) -> tuple[Repair, ...]:
    """Changes of the answers that bring a recommendation back, each complete, the cheapest plan first."""
    found: dict[frozenset[str], Repair] = {}
    for changes in islice(_candidates(consultation), _TRIED):
        keys = frozenset(changes)
        if any(known <= keys for known in found):
            continue  # a smaller change does already
        try:
            plan = PlanMaker(rerun(consultation, changes)).best()
        except AnswerError:
            continue
        if plan is not None:
            found[keys] = Repair(changes, plan)
    return tuple(sorted(found.values(), key=_price)[:most])


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
    limits = [key for key in given if key not in _FIXED and (key in LISTS or specs[key].kind in ("choice", "number"))]
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
