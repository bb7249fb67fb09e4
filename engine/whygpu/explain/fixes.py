"""What would help: changes of the answers under which a rule no longer rejects a plan. Physics is never lifted."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any

from whygpu.answers import LISTS
from whygpu.chain.environment import plain
from whygpu.chain.strata import used_names
from whygpu.explain.conditions import conditions_of
from whygpu.explain.rerun import LOADS, Among, applies, assumed_criticality, rerun_or_none
from whygpu.explain.rows import Identity, Rows
from whygpu.language import tree as t
from whygpu.quantity import as_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan_maker import PlanMaker
    from whygpu.knowledge.rules import Rule
    from whygpu.language.names import NameSpec
    from whygpu.plans.enumerate import Planner

FIXED = ("phase", "task", "model", "owned")
"""What the work is: to change it is no repair."""
_OF_FORMATS = frozenset({"runtime", "method", "quantization"})
"""Answers that number formats depend on."""
_MEMORY = "plan.total_gib"
_MONEY = frozenset({"plan.usd_compared_per_hour", "plan.usd_total"})
_HALVINGS = 3
"""How often a micro-batch is halved at most."""
_TRIED = 5
"""Consultations that looking for a fix takes at most."""


def fixes(consultation: Consultation, rule: Rule, row: int) -> Iterator[dict[str, Any]]:
    """Candidate changes under which the rule may let a plan pass, the smallest first; each is still to be tried.

    Where the rule compares what the plan needs with what the hardware has, only those that the rule itself names.
    """
    names = used_names([rule.condition], consultation.knowledge.values)
    if not _MONEY.isdisjoint(names):
        yield from _who_asks_less(consultation, row)
    yield from _limits(consultation, rule, row)
    if _MEMORY in names:
        yield from _micro_batches(consultation)
    yield from _helps(consultation, rule)
    specs = [consultation.knowledge.vocabulary[name] for name in sorted(names)]
    for spec in specs:
        if spec.answer is None or spec.answer in FIXED or spec.kind not in ("choice", "flag"):
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


def _who_asks_less(consultation: Consultation, row: int) -> Iterator[dict[str, Any]]:
    """The provider that asks least of those that the price is the median of: a budget is held against the median."""
    price = consultation.plans.costs.prices[row]
    if price is not None and price.least is not None and "providers" not in consultation.answers.given:
        yield {"providers": [price.least.offering.provider]}


def _micro_batches(consultation: Consultation) -> Iterator[dict[str, Any]]:
    """The samples of a training step that was answered in ever smaller micro-batches: the same step in less memory."""
    size, setup = consultation.answers.values.get("batch_size"), consultation.plans.work.setup
    if not setup.trains or not isinstance(size, float):
        return
    for halves in (2**halvings for halvings in range(1, _HALVINGS + 1)):
        if size % halves == 0:
            yield {"batch_size": size / halves, "gradient_accumulation": float(setup.gradient_accumulation * halves)}


def _helps(consultation: Consultation, rule: Rule) -> Iterator[dict[str, Any]]:
    """What the rule says may help, where it does not hold already."""
    for condition in rule.helps:
        tree = condition.tree
        if isinstance(tree, t.Compare) and isinstance(tree.left, t.Name) and isinstance(tree.right, t.Constant):
            spec = consultation.knowledge.vocabulary[tree.left.name]
            if spec.answer is not None and plain(consultation.session.environment.value(spec.name)) != tree.right.value:
                yield {spec.answer: tree.right.value}


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


def first_fix(maker: PlanMaker, row: int, rule_id: str, planner: Planner | None = None) -> Mapping[str, Any] | None:
    """The first change of the answers that is found to silence the rule on this plan, and under which no other rule
    comes to reject it; a limit that moves needs no trial, unless it is a load, which says how much a service matters:
    that is then held. Other cards need not be looked at: no rule that rejects plans compares them.
    """
    consultation = maker.consultation
    rule = consultation.knowledge.rule_by_id[rule_id]
    identity = maker.rows.identity(row)
    planner = planner or Among(frozenset({identity[0]}))
    before = _rejecting(maker.rows, row)
    matters = assumed_criticality(consultation)
    candidates = (
        {**matters, **item} if any(key in LOADS for key in item) else item for item in fixes(consultation, rule, row)
    )
    may = (item for item in candidates if is_limit(consultation, rule, item) or applies(consultation, item))
    for changes in islice(may, _TRIED):
        if is_limit(consultation, rule, changes):
            return changes
        after = rerun_or_none(consultation, changes, planner, waits=False)  # what others hold is not looked at
        if after is None:
            continue
        rows = Rows(after)
        if any(_rejecting(rows, same) <= before - {rule_id} for same in _alike(rows, identity, changes)):
            return changes
    return None


def _alike(rows: Rows, choice: Identity, changes: Mapping[str, Any]) -> Iterator[int]:
    """The rows of this choice; by another method or on another stack, which may have other formats, those of as many of
    the card.
    """
    same = rows.row_like(choice)
    if same is not None:
        yield same
    elif not _OF_FORMATS.isdisjoint(changes):
        yield from rows.of_card(choice[0], choice[1])


def _rejecting(rows: Rows, row: int) -> set[str]:
    """The rules that reject the plan of a row."""
    return {rule_id for rule_id, mask in rows.rejecting.items() if mask[row]}


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
    """As many digits as are shown, to the side on which the limit is kept."""
    towards = math.ceil if up else math.floor
    found = as_shown(value, towards)
    return float(towards(found)) if spec.integer and math.isfinite(found) else found
