"""Why a card or a plan is not the recommendation: the first failure with both numbers and what would help, or the
factors side by side and the price from which it would win. Also of plans that nobody enumerated.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.strata import used_names
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.explain.fixes import first_fix
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rejections import reasons
from whygpu.explain.rerun import rerun
from whygpu.knowledge.catalogue import fold
from whygpu.plans.asked import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.parts import Reason
    from whygpu.explain.plan import Plan
    from whygpu.explain.rows import Identity
    from whygpu.plans.enumerate import Planner

_COUNTED = re.compile(r"(\d{1,6})\s*[x×]\s*(.+)\Z", re.IGNORECASE)


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
    ahead: bool = False
    """Whether it would come before the recommendation, which was found without it."""
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
    maker = PlanMaker(consultation)
    known = maker.rows.find(text)
    if known is not None:
        return (_answer(maker, known, maker, None),)
    wanted = read(consultation, text)
    rows = [_nearest(maker, card, wanted) for card in wanted.cards]
    missing = tuple(card for card, row in zip(wanted.cards, rows, strict=True) if row is None)
    found = [_answer(maker, row, maker, None) for row in rows if row is not None]
    found += _asked(maker, missing, wanted)
    if not found:
        message = f"no plan could be made for '{text[:80]}': it lacks a figure that the work is sized by"
        raise AnswerError([Problem("unknown-plan", message, Location("why-not"))])
    return tuple(found)


def _asked(maker: PlanMaker, cards: tuple[str, ...], wanted: Wanted) -> Iterator[WhyNot]:
    """Of cards without such a plan: what rejects it, for which it is looked at alone, or where it comes among all."""
    consultation = maker.consultation
    names = list(consultation.knowledge.catalogue.accelerators)
    for card in cards:
        asked = Asked((names.index(card),), wanted.count, wanted.format, alone=True)
        for planner in (asked, replace(asked, alone=False)):
            other = PlanMaker(rerun(consultation, {}, planner, consultation.answers, waits=not planner.alone))
            row = _nearest(other, card, wanted)
            if row is not None and (planner is not asked or not other.consultation.plans.alive[row]):
                yield _answer(other, row, maker, asked)
                break


def _nearest(maker: PlanMaker, card: str, wanted: Wanted) -> int | None:
    """The row of the best plan on a card: that of the best rank, else the one that the fewest rules reject, of those
    on what is owned where there are any.
    """
    plan_set, rows, alive = maker.consultation.plans.plan_set, maker.rows, maker.consultation.plans.alive
    names = [item.id for item in plan_set.cards.accelerators]
    found = [
        row
        for row in np.flatnonzero(plan_set.card == names.index(card)).tolist()
        if (wanted.count is None or rows.identity(row)[1] == wanted.count)
        and (wanted.format is None or rows.identity(row)[2] == wanted.format)
    ]
    return min(
        found,
        key=lambda row: (not alive[row], not (alive[row] or plan_set.owned[row]), rows.distance(row)),
        default=None,
    )


def _answer(maker: PlanMaker, row: int, usual: PlanMaker, planner: Planner | None) -> WhyNot:
    """Of a row of ``maker``; ``usual``: of the consultation that is asked about; ``planner``: what found the row, where
    the usual one did not.
    """
    consultation, rows = maker.consultation, maker.rows
    best = rows.heads[0] if rows.heads else None
    ahead = False
    if planner is not None and best == row and usual.rows.heads:
        told = rows.row_like(usual.rows.identity(usual.rows.heads[0]))
        ahead = told is not None and not rows.equal(row, told)
        best = told if ahead else best
    plan = maker.at(row)
    against = tuple(sorted(reasons(consultation, row), key=lambda item: _order(consultation, item)))
    out = tuple(_left_out(consultation, plan)) if planner is not None else ()
    behind = None
    if not against and not ahead and best is not None and row != best and not rows.equal(row, best):
        behind = rows.behind(row)
    fix = first_fix(maker, row, against[0].rule, planner) if against else None
    sides, price = ((), None) if best is None or against else _sides(maker, row, best)
    return WhyNot(
        plan,
        against,
        behind,
        out,
        fix,
        _instead(usual, rows.identity(row), plan.owned, against[0].rule) if against else None,
        sides,
        price if behind is not None else None,
        planner is None,
        ahead,
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


def _instead(maker: PlanMaker, identity: Identity, owned: bool, rule_id: str) -> Plan | None:
    """The smallest plan on the card that the rule does not reject, where there is one."""
    rows, plan_set, fired = maker.rows, maker.consultation.plans.plan_set, maker.consultation.plans.fired
    card = [item.id for item in plan_set.cards.accelerators].index(identity[0])
    passing = (plan_set.card == card) & (plan_set.owned == owned)
    if rule_id in fired:
        passing = passing & ~fired[rule_id]
    left = np.flatnonzero(passing).tolist()
    found = min(left, key=lambda row: (rows.identity(row)[1], rows.distance(row)), default=None)
    return None if found is None or rows.identity(found) == identity else maker.at(found)


def _sides(maker: PlanMaker, row: int, best: int) -> tuple[tuple[Side, ...], float | None]:
    """The factors of both plans by criterion, those that tell them apart most first, and the price that would do."""
    one, other = maker.at(row).counted, maker.at(best).counted
    if one is None or other is None:
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
    price = maker.consultation.plans.ranking.counted.hourly_to_count(row, other.value)
    apart = sorted(sides, key=lambda side: -abs(math.log(side.worth / side.best)))
    return tuple(apart), price if math.isfinite(price) and price > 0 else None
