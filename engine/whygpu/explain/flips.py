"""Tipping points: the nearest change of a price or an answer that changes the recommendation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from whygpu.collector import collector_at_rest
from whygpu.explain.bracket import Tried, nearest
from whygpu.explain.meters import needs
from whygpu.explain.open_questions import filled
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rerun import ENGINE, LOADS, Among, assumed_otherwise, changed, choice, lead_of, rerun_or_none
from whygpu.explain.rows import Rows
from whygpu.plans.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.meters import Need
    from whygpu.explain.plan import Plan
    from whygpu.explain.rows import Identity
    from whygpu.language.names import NameSpec
    from whygpu.plans.enumerate import Planner

_AVERAGE = "average_context_tokens"
"""The answer without which every request is counted at its longest."""
_CONTENDERS = 8
"""Cards among which the search goes on: what it finds is made sure of among all of them."""
_MOST_CHOICES = 12
_HAIR = 1e-3
_MONEY = ("USD", "USD/hour")
_THE_WORK = ("phase", "task", "model")
"""What the work is: another one is no change of this one."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A single answer that changes the recommendation: for a number, the nearest that was found to."""

    answer: str
    before: float | bool | str
    after: float | bool | str
    plan: Plan | None
    unchanged: float | None = None
    """Of a number: the value nearest to it, on the side of ``before``, that changes nothing."""
    engine: str = ENGINE
    usual: bool = False
    """Whether ``after`` is nearer to what is usual than ``before``, which was counted for want of an answer."""
    assumed: tuple[tuple[str, str], ...] = ()
    """Answers that are assumed otherwise with it, and what is."""

    @property
    def near(self) -> float:
        """How many times more or less the number is, at least 1; a choice is as far as a number four times as large."""
        if self.usual:
            return 1.0
        if isinstance(self.before, bool) or not isinstance(self.before, float) or not isinstance(self.after, float):
            return 4.0
        return _times(self.before, self.after)


def _times(one: float, other: float) -> float:
    """How many times more or less one number is than the other, at least 1."""
    return max(other / one, one / other) if one > 0 < other else math.inf


@dataclass(frozen=True, slots=True)
class PriceFlip:
    """The hourly price of a plan, with all plans on its card in proportion, from which another is recommended."""

    plan: Plan
    """Whose price changes."""
    before: float
    after: float
    """USD an hour: below it (or above, where it is more than before) ``winner`` comes first."""
    winner: Plan
    engine: str

    @property
    def near(self) -> float:
        """How many times more or less the price is, at least 1."""
        return _times(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Flips:
    """Every tipping point that was found, the nearest first, and the answers that change nothing as far as tried."""

    found: tuple[Flip, ...]
    idle: tuple[str, ...]


def price_flips(consultation: Consultation, most: int = 8) -> tuple[PriceFlip, ...]:
    """By division: the price above which the next card wins, and those below which others do; the nearest first.

    The price of all plans on one card moves together. Empty where plans compare by something else than money.
    """
    maker, plans = PlanMaker(consultation), consultation.plans
    groups = maker.rows.groups[: most + 1]
    if len(groups) < 2:
        return ()
    values, hourly, best = plans.ranking.counted.values, plans.costs.hourly, groups[0][0]
    groups = [
        rows
        for rows in groups
        if math.isfinite(values[rows[0]])
        and plans.unverified[rows[0]] == plans.unverified[best]
        and any(hourly[row] > 0 for row in rows)
    ]
    if len(groups) < 2 or groups[0][0] != best:
        return ()
    found = [_price_flip(maker, rows, float(values[best]), rows[0]) for rows in groups[1:]]
    within = _within_budget(consultation, maker.at(best))
    found.append(_price_flip(maker, groups[0], float(values[groups[1][0]]), groups[1][0], within))
    return tuple(sorted((item for item in found if item is not None), key=lambda item: item.near))


def _within_budget(consultation: Consultation, plan: Plan) -> float:
    """How many times its price a rented plan may cost before a budget rules it out."""
    if plan.cost is None or plan.cost.basis != "renting":
        return math.inf
    budgets = (need for need in needs(consultation, plan) if need.unit in _MONEY and need.at_most)
    return min((need.limit / need.got.likely for need in budgets if need.got.likely > 0), default=math.inf)


def _price_flip(
    maker: PlanMaker, rows: list[int], value: float, winner: int, within: float = math.inf
) -> PriceFlip | None:
    """The price at which the best of one card's plans counts as ``value``, or budgets rule it out, at so many times its
    price; ``winner``: what is first beyond it.
    """
    ranking, costs = maker.consultation.plans.ranking, maker.consultation.plans.costs
    scale, row = max(
        (ranking.counted.hourly_to_count(row, value) / float(costs.hourly[row]), row)
        for row in rows
        if float(costs.hourly[row]) > 0
    )
    if not math.isfinite(scale) or scale <= 0:
        return None
    shown = row if winner == rows[0] else rows[0]  # of the recommendation its own price, of others that of what wins
    before, scale = float(costs.hourly[shown]), min(scale, within)
    first = row if winner == rows[0] else winner
    return PriceFlip(maker.at(shown), before, before * scale, maker.at(first), maker.consultation.engine)


def limit_flips(consultation: Consultation) -> tuple[Flip, ...]:
    """For each limit that was answered: the recommendation just misses it where it is as tight as this. Left out where
    it changes before that, as with a deadline that leaves too little room.
    """
    maker = PlanMaker(consultation)
    if not maker.rows.heads:
        return ()
    before = choice(consultation)
    found = (_limit_flip(consultation, need, before) for need in needs(consultation, maker.at(maker.rows.heads[0])))
    return tuple(sorted((item for item in found if item is not None), key=lambda item: item.near))


def _limit_flip(consultation: Consultation, need: Need, before: Identity | None) -> Flip | None:
    spec = consultation.knowledge.vocabulary[need.limit_name]
    key = spec.answer
    value = consultation.answers.values.get(key or "")
    if key is None or not isinstance(value, float) or spec.unit == "pixels":
        return None
    tighter = need.got.likely * (1 - _HAIR if need.at_most else 1 + _HAIR)
    other = float(f"{tighter:.4g}")
    if spec.integer:
        other = float(round(other))
    met = float(f"{need.got.likely * (1 + _HAIR if need.at_most else 1 - _HAIR):.4g}")
    after = changed(consultation, {key: other}, before)
    if after is None or changed(consultation, {key: met}, before) is not None:  # it changes before it is missed
        return None
    return Flip(key, value, other, PlanMaker(after).best(), met)


def doubled(consultation: Consultation) -> tuple[Flip, ...]:
    """Of the loads, contexts and sizes of a job that are known, those that change the recommendation when they double,
    and an average of half the context: a consultation each. ``search`` finds from which number on.
    """
    found, own = _usual_requests(consultation), filled(consultation)
    for key in LOADS:
        value = consultation.session.number(key)
        if not value or key in own:
            continue
        twice = min(2 * value, consultation.knowledge.name_by_answer[key].maximum or math.inf)
        after = changed(consultation, {key: twice}, choice(consultation))
        if after is not None:
            assumed = assumed_otherwise(consultation, after)
            found.append(Flip(key, value, twice, PlanMaker(after).best(), assumed=assumed))
    return tuple(found)


def _usual_requests(consultation: Consultation) -> list[Flip]:
    """Half of the context as the average of several requests, where nobody said it and each is counted at its longest:
    the cache is what usually tells.
    """
    session = consultation.session
    longest, least = session.number("context_tokens"), session.number("output_tokens") or 1.0
    if not longest or longest < 2 * least or session.answered(_AVERAGE) is not None:
        return []
    if _AVERAGE not in consultation.knowledge.name_by_answer or (session.number("concurrency") or 0) <= 1:
        return []
    half = float(round(longest / 2))
    after = changed(consultation, {_AVERAGE: half}, choice(consultation))
    return [] if after is None else [Flip(_AVERAGE, longest, half, PlanMaker(after).best(), usual=True)]


_RECENT: Recent[Flips] = Recent(4)


def search(consultation: Consultation, trying: Callable[[str], object] = lambda _: None) -> Flips:
    """For each answer, given or assumed, the nearest value that changes the recommendation, where one was found; kept
    for the consultations that were searched last.

    ``trying`` is called with each answer's key before it is tried, and may raise to end the search.
    """

    def make() -> Flips:
        with collector_at_rest():
            return _Search(consultation).run(trying)

    return _RECENT.get((consultation,), (), make)


class _Search:
    """Looks for tipping points among the plans on the best few cards, and makes sure of each among all plans."""

    def __init__(self, consultation: Consultation) -> None:
        rows = Rows(consultation)
        self._c, self._before = consultation, choice(consultation)
        cards = {rows.identity(row)[0] for row in rows.heads[:_CONTENDERS]}
        self._few = Among(frozenset(cards)) if cards else None
        self._limits = {item.answer: item for item in limit_flips(consultation)}

    def run(self, trying: Callable[[str], object]) -> Flips:
        """Choices first: most of them leave the plans as they are, and those are kept for a while."""
        own = filled(self._c)
        assumed = {item.question.id: item.value for item in self._c.applied.assumed if item.question.id not in own}
        known = {key: value for key, value in {**assumed, **self._c.answers.values}.items() if key not in _THE_WORK}
        specs = {key: self._c.knowledge.name_by_answer[key] for key in known}
        found: dict[str, list[Flip]] = {}
        for key, value in known.items():
            if specs[key].kind in ("choice", "flag"):
                trying(key)
                found[key] = list(self._choices(key, value, specs[key]))
        for key, value in known.items():
            if isinstance(value, float) and value > 0 and specs[key].unit != "pixels":  # its sides are the answer
                trying(key)
                found[key] = list(self._numbers(key, value, specs[key]))
        flips = sorted((item for items in found.values() for item in items), key=lambda item: item.near)
        return Flips(tuple(flips), tuple(key for key in known if key in found and not found[key]))

    def _choices(self, key: str, value: float | bool | str, spec: NameSpec) -> Iterator[Flip]:
        others: tuple[bool | str, ...] = (not value,) if isinstance(value, bool) else tuple(spec.values)
        if len(others) > _MOST_CHOICES:  # of all formats, those that are considered
            others = tuple(other for other in others if other in self._c.plans.options.formats)
        for other in others:
            after = changed(self._c, {key: other}, self._before) if other != value else None
            if after is not None:
                yield Flip(key, value, other, PlanMaker(after).best())

    def _numbers(self, key: str, value: float, spec: NameSpec) -> Iterator[Flip]:
        limit = self._limits.get(key)
        if limit is not None:  # where it is missed is known without a search
            yield limit
        for up in (True, False):
            if limit is None or not isinstance(limit.after, float) or up != (limit.after > value):
                yield from self._number(key, value, spec, up=up)

    def _number(self, key: str, value: float, spec: NameSpec, *, up: bool) -> Iterator[Flip]:
        """The nearest number on one side; found among few plans and true among all, or else searched among all."""
        lead = lead_of(self._c, self._before)
        for planner in dict.fromkeys((self._few, None)):
            ends = nearest(value, lead, spec, partial(self._attempt, key, planner), up=up)
            if ends is None:
                return
            same, other = ends
            found = changed(self._c, {key: other}, self._before)
            if found is not None and (same == value or changed(self._c, {key: same}, self._before) is None):
                assumed = assumed_otherwise(self._c, found)
                yield Flip(key, value, other, PlanMaker(found).best(), same, assumed=assumed)
                return

    def _attempt(self, key: str, planner: Planner | None, number: float) -> Tried:
        after = rerun_or_none(self._c, {key: number}, planner)
        if after is None:
            return Tried(changes=False, lead=None)
        return Tried(choice(after) != self._before, lead_of(after, self._before))
