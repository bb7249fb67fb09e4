"""Why a card or a plan is not the recommendation: the first failure with both numbers and what would help, or the
factors side by side and the price from which it would win. Also of plans that nobody enumerated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.strata import used_names
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.explain.conclude import Conclusion
from whygpu.explain.fixes import fixes, is_limit
from whygpu.explain.rerun import rerun
from whygpu.knowledge.catalogue import fold
from whygpu.plans.asked import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.consult.driver import Consultation
    from whygpu.explain.advice import Plan, Reason
    from whygpu.plans.enumerate import Planner

_COUNTED = re.compile(r"(\d{1,6})\s*[x×]\s*(.+)\Z", re.IGNORECASE)
_TRIED = 4
"""Consultations that looking for a fix takes at most."""


@dataclass(frozen=True, slots=True)
class Side:
    """One factor of a plan beside the recommendation's: what each multiplies money by, and the rules that say so."""

    criterion: str
    worth: float
    best: float
    rules: tuple[str, ...]
    best_rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a plan is not the recommendation."""

    plan: Plan
    rejected: tuple[Reason, ...]
    """The rules that reject it, those that compare numbers first."""
    behind: str | None
    """With both figures; None where it is rejected, recommended or as good as the recommendation."""
    left_out: tuple[str, ...] = ()
    """The answers that leave it out, whatever the rules say of it."""
    fix: Mapping[str, Any] | None = None
    """Changed answers (None takes one away) with which the first rule that rejects it no longer does."""
    instead: Plan | None = None
    """The smallest plan on the same card that this rule does not reject."""
    factors: tuple[Side, ...] = ()
    wins_below: float | None = None
    """USD an hour, of the whole plan; None where no price would do, or money is not what counts."""
    enumerated: bool = True
    """Whether it is among the plans that were tried without being asked for."""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a text asks about."""

    cards: tuple[str, ...]
    count: int | None
    format: str | None


def read(consultation: Consultation, text: str) -> Wanted:
    """Cards by id, name or family, with a count before and a format after: "2x L40S int8". Raises AnswerError."""
    catalogue = consultation.knowledge.catalogue
    name, count, form = text.strip(), None, None
    if not catalogue.find_accelerators(name):
        match = _COUNTED.match(name)
        if match is not None:
            count, name = int(match[1]), match[2]
        formats = {fold(item): item for item in catalogue.formats}
        words = name.split()
        if not catalogue.find_accelerators(name) and len(words) > 1 and fold(words[-1]) in formats:
            form = formats[fold(words[-1])]
            name = " ".join(words[:-2] if fold(words[-2]) == "in" else words[:-1])
    cards = catalogue.find_accelerators(name)
    if not cards or count == 0:
        known = [word for card in catalogue.accelerators.values() for word in (card.id, card.name)]
        message = f"there is no plan or accelerator '{text[:80]}'"
        hint = did_you_mean(name, known) or "'whygpu catalogue accelerators' lists them"
        raise AnswerError([Problem("unknown-plan", message, Location("why-not"), hint)])
    return Wanted(cards, count, form)


def why_not(consultation: Consultation, text: str) -> tuple[WhyNot, ...]:
    """Why the plan of that id, or the best plan of each card that the text names, is not the recommendation.

    Raises AnswerError where no card is called so.
    """
    conclusion = Conclusion(consultation)
    known = conclusion.find(text)
    if known is not None:
        return (_answer(conclusion, known, None),)
    wanted = read(consultation, text)
    rows = [_nearest(conclusion, card, wanted) for card in wanted.cards]
    missing = tuple(card for card, row in zip(wanted.cards, rows, strict=True) if row is None)
    found = [_answer(conclusion, row, None) for row in rows if row is not None]
    if missing:
        names = list(consultation.knowledge.catalogue.accelerators)
        asked = Asked(tuple(names.index(card) for card in missing), wanted.count, wanted.format)
        other = Conclusion(rerun(consultation, {}, asked, answers=consultation.answers))
        for card in missing:
            row = _nearest(other, card, wanted)
            if row is not None:
                found.append(_answer(other, row, asked))
    if not found:
        message = f"no plan could be made for '{text[:80]}': it lacks a figure that the work is sized by"
        raise AnswerError([Problem("unknown-plan", message, Location("why-not"))])
    return tuple(found)


def _nearest(conclusion: Conclusion, card: str, wanted: Wanted) -> int | None:
    """The row of the best plan on a card: that of the best rank, else the one that the fewest rules reject."""
    plan_set = conclusion.consultation.plan_set
    if plan_set is None:
        return None
    names = [item.id for item in plan_set.cards.accelerators]
    rows = [
        row
        for row in np.flatnonzero(plan_set.card == names.index(card)).tolist()
        if (wanted.count is None or conclusion.identity(row)[1] == wanted.count)
        and (wanted.format is None or conclusion.identity(row)[2] == wanted.format)
    ]
    return min(rows, key=conclusion.distance) if rows else None


def _answer(conclusion: Conclusion, row: int, planner: Planner | None) -> WhyNot:
    consultation = conclusion.consultation
    best = conclusion.heads[0] if conclusion.heads else None
    plan = conclusion.at(row)
    reasons = tuple(sorted(conclusion.reasons(row), key=lambda item: _order(consultation, item)))
    out = tuple(_left_out(consultation, plan)) if planner is not None else ()
    behind = None
    if not reasons and best is not None and row != best and not conclusion.equal(row, best):
        behind = conclusion.behind(row)
    fix = _fix(conclusion, row, reasons[0].rule, planner) if reasons else None
    sides, price = ((), None) if best is None or reasons else _sides(conclusion, row, best)
    return WhyNot(
        plan,
        reasons,
        behind,
        out,
        fix,
        _instead(conclusion, row, reasons[0].rule) if reasons else None,
        sides,
        price if behind is not None else None,
        planner is None,
        consultation.engine,
    )


def _order(consultation: Consultation, reason: Reason) -> tuple[bool, bool]:
    """What no answer changes comes first, then what compares numbers."""
    rule = consultation.knowledge.rule_by_id[reason.rule]
    names = used_names([rule.condition], {})
    asked = any(consultation.knowledge.vocabulary[name].answer is not None for name in names)
    return asked, reason.gap is None


def _left_out(consultation: Consultation, plan: Plan) -> Iterator[str]:
    """The answers that the plan does not keep to."""
    answers, card = consultation.answers, plan.accelerator.id
    if answers.accelerators is not None and card not in answers.accelerators:
        yield "accelerators"
    if card in answers.exclude_accelerators:
        yield "exclude_accelerators"
    for key, value, most in (
        ("count", plan.count, False),
        ("format", plan.format, False),
        ("max_count", plan.count, True),
        ("max_nodes", plan.nodes, True),
    ):
        limit = answers.values.get(key)
        if limit is not None and limit != "auto" and (value > limit if most else value != limit):  # type: ignore[operator]  # both are numbers where it is a limit
            yield key


def _fix(conclusion: Conclusion, row: int, rule_id: str, planner: Planner | None) -> Mapping[str, Any] | None:
    """The first change of the answers that is found to silence the rule on this plan; a limit that moves needs no
    trial.
    """
    consultation = conclusion.consultation
    rule = consultation.knowledge.rule_by_id[rule_id]
    identity = conclusion.identity(row)
    for changes in islice(fixes(consultation, rule, row), _TRIED):
        if is_limit(consultation, rule, changes):
            return changes
        try:
            after = Conclusion(rerun(consultation, changes, planner))
        except AnswerError:
            continue
        same = after.row_like(identity)
        mask = after.consultation.fired_plans.get(rule_id)
        if same is not None and (mask is None or not mask[same]):
            return changes
    return None


def _instead(conclusion: Conclusion, row: int, rule_id: str) -> Plan | None:
    """The smallest plan on the card that the rule does not reject, where there is one."""
    consultation = conclusion.consultation
    plan_set, mask = consultation.plan_set, consultation.fired_plans.get(rule_id)
    if plan_set is None or mask is None:
        return None
    rows = np.flatnonzero(
        (plan_set.card == plan_set.card[row]) & ~mask & (plan_set.owned == plan_set.owned[row])
    ).tolist()
    if not rows:
        return None
    found = min(rows, key=lambda item: (conclusion.identity(item)[1], conclusion.distance(item)))
    return None if conclusion.alike(found, row) else conclusion.at(found)


def _sides(conclusion: Conclusion, row: int, best: int) -> tuple[tuple[Side, ...], float | None]:
    """The factors of both plans by criterion, those that tell them apart most first, and the price that would do."""
    ranking = conclusion.consultation.ranking
    one, other = conclusion.at(row).counted, conclusion.at(best).counted
    if ranking is None or one is None or other is None:
        return (), None
    mine, theirs = ({item.criterion: item for item in counted.factors} for counted in (one, other))
    sides = []
    for criterion in dict.fromkeys((*mine, *theirs)):
        first, second = mine.get(criterion), theirs.get(criterion)
        sides.append(
            Side(
                criterion,
                1.0 if first is None else first.worth,
                1.0 if second is None else second.worth,
                () if first is None else first.rules,
                () if second is None else second.rules,
            )
        )
    price = ranking.counted.hourly_to_count(row, other.value)
    apart = sorted(sides, key=lambda side: -abs(math.log(side.worth / side.best)))
    return tuple(apart), price if math.isfinite(price) and price > 0 else None
