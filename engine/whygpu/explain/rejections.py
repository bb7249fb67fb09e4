"""What is out, and why: each rule that rejects a plan with both its numbers, and the rules in conflict where no plan
is left.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from whygpu.explain.conditions import Judge
from whygpu.explain.parts import Infeasible, Reason, Rejection, Relaxation
from whygpu.explain.templates import fill_template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.chain.engines import Mask
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan_maker import PlanMaker
    from whygpu.knowledge.rules import Rule


def rejections(maker: PlanMaker) -> tuple[Rejection, ...]:
    """Accelerators that have no plan left, each with the plan that the fewest rules reject."""
    rows = maker.rows.nearest_rejected
    return tuple(Rejection(maker.at(row), tuple(reasons(maker.consultation, row))) for row in rows)


def by_first_rule(maker: PlanMaker) -> Mapping[str, list[int]]:
    """The same as rows by the first rule that rejects each, without making their plans."""
    groups: dict[str, list[int]] = {}
    for row in maker.rows.nearest_rejected:
        rule = next(_rejecting(maker.consultation, row), None)
        if rule is not None:
            groups.setdefault(rule.id, []).append(row)
    return groups


def _rejecting(consultation: Consultation, row: int) -> Iterator[Rule]:
    rules = consultation.knowledge.rule_by_id
    return (rules[name] for name, mask in consultation.plans.fired.items() if mask[row] and rules[name].rejects)


def reasons(consultation: Consultation, row: int) -> Iterator[Reason]:
    """Why a plan is out: every rule that rejects it, with both numbers."""
    knowledge, plans = consultation.knowledge, consultation.plans
    judge = Judge(plans.environment, knowledge.vocabulary, row)
    for rule in _rejecting(consultation, row):
        outcome = judge.reason(rule)
        left, right = (outcome.left, outcome.right) if outcome else (None, None)
        gap = left - right if isinstance(left, float) and isinstance(right, float) else None
        text = fill_template(rule.because, plans.environment, knowledge, row)
        yield Reason(rule.id, text, left, right, gap, outcome.unit if outcome else None, rule.sources)


def infeasible(maker: PlanMaker) -> Infeasible | None:
    """The fewest rules that between them reject every plan, and each that alone keeps one out; None where a plan is
    recommended.
    """
    plans, rows = maker.consultation.plans, maker.rows
    if rows.groups or not len(plans):
        return None if rows.groups else Infeasible((), ())
    masks = rows.rejecting
    if plans.objections:
        limits = tuple(_relaxations(maker, masks)) if masks else ()
        return Infeasible(plans.objections, limits, maker.at(rows.ranked[0][0]))
    return Infeasible(smallest_cover(masks), tuple(_relaxations(maker, masks)))


def _relaxations(maker: PlanMaker, masks: Mapping[str, Mask]) -> Iterator[Relaxation]:
    """The fewest rules (one, where one suffices) without which a plan would be left, and the plan that misses
    them least, relative to what they ask for; of equals the cheapest, of those without a price what most rent out.
    """
    consultation, plans = maker.consultation, maker.consultation.plans
    counts = np.sum(list(masks.values()), axis=0)
    fewest = counts[~plans.alive].min()
    offered = consultation.knowledge.catalogue.offerings_by_accelerator
    rented = [len(offered.get(card.id, ())) for card in plans.plan_set.cards.accelerators]
    nearest: dict[tuple[str, ...], tuple[float, float, int, int]] = {}
    cost = np.where(np.isfinite(plans.costs.objective), plans.costs.objective, np.inf)
    for row in np.flatnonzero(~plans.alive & (counts == fewest)).tolist():
        rules = tuple(rule for rule, mask in masks.items() if mask[row])
        missed = miss(consultation, rules, row)
        found = missed, float(cost[row]), -rented[plans.plan_set.card[row]], row
        nearest[rules] = min(nearest.get(rules, found), found)
    # first those of which it can be said by how much
    for rules, (*_, row) in sorted(nearest.items(), key=lambda item: item[1][0] == 0):
        text = " ".join(reason.text for reason in reasons(consultation, row))
        yield Relaxation(" and ".join(rules), text, maker.rows.ids[row])


def miss(consultation: Consultation, rules: Iterable[str], row: int) -> float:
    """By how much of what the rules ask for the plan of a row misses it at most; 0 where they compare no numbers."""
    judge = Judge(consultation.plans.environment, consultation.knowledge.vocabulary, row)
    found = [0.0]
    for rule in rules:
        outcome = judge.reason(consultation.knowledge.rule_by_id[rule])
        if outcome is not None and isinstance(outcome.left, float) and isinstance(outcome.right, float):
            ends = sorted((abs(outcome.left), abs(outcome.right)))
            found.append(ends[1] / ends[0] - 1 if ends[0] else math.inf)
    return max(found)


def smallest_cover(masks: Mapping[str, Mask]) -> tuple[str, ...]:
    """The fewest of the masks that between them cover what all of them cover; of equals the first by name.

    Exact for the few rules that reject plans: sets are tried in order of size.
    """
    names = sorted(masks)
    if not names:
        return ()
    whole = np.any([masks[name] for name in names], axis=0)
    for size in range(1, len(names) + 1):
        for chosen in combinations(names, size):
            if (np.any([masks[name] for name in chosen], axis=0) == whole).all():
                return chosen
    return tuple(names)
