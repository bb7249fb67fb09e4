"""The shortlist by role: of the plans that are the best at something, each the one that counts as least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.explain.parts import Pick
from whygpu.knowledge.preferences import POWER, SPEED
from whygpu.plans.ways import NEEDS
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.explain.plan_maker import PlanMaker
    from whygpu.knowledge.preferences import RoleId

MOST = 6
"""Rows of a shortlist."""
_SPEEDS = ("train_hours", "token_ms", "ttft_ms")
_RATES = ("requests_per_s", "frames_per_s", "train_tokens_per_s", "samples_per_s")
_UNITS = {"token_ms": "ms", "ttft_ms": "ms", "train_hours": "hours"}
_SAME = 0.05
"""Figures within this share of each other are not told as a difference."""


def shortlist(maker: PlanMaker) -> tuple[Pick, ...]:
    """The best plan for each role, beside the recommendation."""
    heads = maker.rows.heads
    if not heads:
        return ()
    roles = list(roles_of(maker.consultation, heads[0]))
    maker.consultation.plans.plan_set.find_ranges([heads[0], *(row for _, row in roles)])
    best = maker.at(heads[0], 1)
    output_tokens = maker.consultation.plans.work.setup.output_tokens
    supply = _Supply(maker.consultation)

    def pick(role: RoleId, row: int) -> Pick:
        plan = best if row == heads[0] else maker.at(row)
        easier = supply(plan, best) if role == "easiest-to-get" else None
        return Pick(role, plan, *gains(plan, best, easier, output_tokens), easier=easier is not None)

    return tuple(pick(role, row) for role, row in roles)


def roles_of(consultation: Consultation, best: int) -> Iterator[tuple[RoleId, int]]:
    """The roles, each with the row of its plan; a plan that an earlier role shows is not shown again."""
    told: set[int] = set()
    for role, index in _Candidates(consultation, best).picks():
        if index not in told and len(told) < MOST:
            told.add(index)
            yield role, index


class _Candidates:
    """The plans that may be shown: verified, and without an objection stronger than the recommendation has."""

    def __init__(self, consultation: Consultation, best: int) -> None:
        plans, ranking = consultation.plans, consultation.plans.ranking
        self._plan_set, self._counted, self._costs = plans.plan_set, ranking.counted, plans.costs
        self._environment = plans.environment
        self._best = best
        self._output_tokens = plans.work.setup.output_tokens
        self._roles = {role.id: role for role in consultation.knowledge.preferences.roles}
        self._position = np.full(len(plans), len(plans))
        self._position[list(ranking.order)] = np.arange(len(ranking.order))
        self._possible = plans.alive & ~plans.unverified
        self._open = self._possible & self._sensible(consultation)

    def _sensible(self, consultation: Consultation) -> Mask:
        """No objection is strong, unless the recommendation counts for as much by that criterion; and none counts as
        many times more than the recommendation, or than the best of those to be paid for where that is owned.
        """
        strong = consultation.knowledge.preferences.worth("strong")
        found = np.ones(len(self._plan_set), dtype=np.bool_)
        tally = consultation.plans.tally
        for criterion in tally.favour if strong > 1 else ():
            factor = tally.factor(criterion)
            found &= ~(tally.objection(criterion, strong) & (factor > factor[self._best] * (1 + _SAME)))
        values, owned = self._counted.values, self._plan_set.owned
        if np.isfinite(values[self._best]):
            paid = (row for row in consultation.plans.ranking.order if not owned[row])
            least = values[next(paid, self._best)] if owned[self._best] else values[self._best]
            found &= values <= consultation.knowledge.preferences.shortlist_at_most * least
        found[self._best] = True
        return found

    def picks(self) -> Iterator[tuple[RoleId, int]]:
        """Every role that some plan has."""
        for role in self._roles:
            index = self._best if role == "recommended" else self._first(role)
            if index is not None:
                yield role, index

    def _first(self, role: RoleId) -> int | None:
        """Of the plans that qualify the one that counts as least; on what is owned, however little speaks for it."""
        mask = self._qualified(role)
        among = self._possible if role == "owned" else self._open
        rows = np.flatnonzero(among & mask) if mask is not None else np.zeros(0, dtype=np.int64)
        return int(rows[np.argmin(self._position[rows])]) if rows.size else None

    def _qualified(self, role: RoleId) -> Mask | None:
        within = self._roles[role].within
        plan_set, vendors = self._plan_set, [card.vendor for card in self._plan_set.cards.accelerators]
        match role:
            case "cheapest":
                return self._near(self._costs.objective, within)
            case "fastest":
                name = next((name for name in (*_SPEEDS, *_RATES) if self._known(name)), None)
                if name is None:
                    return None
                values = plan_set.speeds.figures[name]
                if name == "token_ms" and self._known("ttft_ms"):  # as answer_ms: long prompts take longer to read
                    values = plan_set.speeds.figures["ttft_ms"] + self._output_tokens * values
                return self._near(1 / values if name in _RATES else values, within)
            case "room-to-grow":
                room: Mask = plan_set.each(NEEDS["high"]) <= within * plan_set.cards.usable_bytes[plan_set.card]
                return room
            case "fewest":
                return self._near(
                    np.array(
                        [configuration.layout.cards for configuration in plan_set.configurations], dtype=np.float64
                    )[plan_set.configuration],
                    within,
                )
            case "easiest-to-get":
                if str(self._costs.basis[self._best]) != "renting":
                    return None  # who rents it out is nothing to one who buys
                providers = self._numbers("plan.providers")
                with np.errstate(all="ignore"):
                    return None if providers is None else self._near(1 / providers, within)
            case "owned":
                return plan_set.owned
            case "to-buy":
                purchase_terms = self._costs.purchase_terms
                if purchase_terms is None or str(self._costs.basis[self._best]) != "renting":
                    return None
                with np.errstate(all="ignore"):
                    cheaper: Mask = purchase_terms.usd_per_hour < self._costs.usd_per_hour
                return cheaper & ~plan_set.owned
            case "other-vendor":
                mine = vendors[int(plan_set.card[self._best])]
                other: Mask = np.array([vendor != mine for vendor in vendors])[plan_set.card]
                return other
            case _:
                return None

    def _known(self, name: str) -> bool:
        figures = self._plan_set.speeds.figures
        return name in figures and bool(np.isfinite(figures[name][self._best]))

    def _numbers(self, name: str) -> NDArray[np.float64] | None:
        value: Any = self._environment.value(name)
        return None if not hasattr(value, "low") else np.broadcast_to(value.low, (len(self._plan_set),))

    def _near(self, values: NDArray[np.float64], within: float) -> Mask:
        """The plans within that share of the least."""
        known = self._open & np.isfinite(values)
        if not known.any():
            return known
        near: Mask = known & (values <= float(np.min(values[known])) * (1 + within) + 1e-12)
        return near


class _Supply:
    """By how many more providers one plan is rented out than another."""

    def __init__(self, consultation: Consultation) -> None:
        value: Any = consultation.plans.environment.value("plan.providers")
        self._providers = np.broadcast_to(value.low, (len(consultation.plans.plan_set),))

    def __call__(self, plan: Plan, best: Plan) -> str | None:
        """In words; None where there are no more."""
        more, usual = (int(self._providers[item.index]) for item in (plan, best))
        return f"{more} providers rent it out instead of {usual}" if more > max(usual, 1) else None


def answer_ms(plan: Plan, output_tokens: int) -> float | None:
    """Milliseconds of a whole answer of so many tokens, by which the fastest is found; None where none are written."""
    first, token = plan.speed.get("ttft_ms"), plan.speed.get("token_ms")
    return None if first is None or token is None else first.likely + output_tokens * token.likely


def gains(plan: Plan, best: Plan, supply: str | None = None, output_tokens: int = 0) -> tuple[str, str]:
    """What one gains and what one gives up by taking ``plan`` in the place of ``best``, in figures; ``supply``: what
    is gained by how easily it is had; ``output_tokens``: of an answer.
    """
    found: tuple[list[str], list[str]] = [], []
    had = () if supply is None else ((True, supply),)
    for better, text in (
        *_money(plan, best),
        *had,
        *_speed(plan, best, output_tokens),
        *_size(plan, best),
        *_criteria(plan, best),
    ):
        found[0 if better else 1].append(text)
    return "; ".join(found[0]), "; ".join(found[1])


def costs_less(plan: Plan, best: Plan) -> bool:
    """Whether the first of what one gains by ``plan`` is money."""
    return best.cost is not None and any(better for better, _ in _money(plan, best))


def _money(plan: Plan, best: Plan) -> Iterator[tuple[bool, str]]:
    one, other = plan.cost, best.cost
    if one is None or other is None:
        if one is not other:
            yield one is not None, "its price is known" if one is not None else "its price is not known"
        return
    if one.objective is None or other.objective is None or one.objective_unit != other.objective_unit:
        return
    if abs(one.objective - other.objective) > _SAME * other.objective:
        unit, less = one.objective_unit, one.objective < other.objective
        share = one.objective / other.objective - 1 if other.objective > 0 else 0.0
        text = f"{show(one.objective, unit)} instead of {show(other.objective, unit)}"
        text += f" ({share:+.0%})" if abs(share) < 10 else ""
        if one.held and other.held and one.buying is not None and other.buying is not None:
            prices = (show(buying.usd_purchase, "USD") for buying in (one.buying, other.buying))
            text = f"{' instead of '.join(prices)} to buy"
        yield less, text


def _speed(plan: Plan, best: Plan, output_tokens: int) -> Iterator[tuple[bool, str]]:
    mine, usual = answer_ms(plan, output_tokens), answer_ms(best, output_tokens)
    if mine is not None and usual and plan.speed.get("train_hours") is None:
        if abs(mine - usual) > _SAME * usual:
            yield mine < usual, f"an answer in {show(mine / 1000, 's')} instead of {show(usual / 1000, 's')}"
        return
    for name in _SPEEDS:
        one, other = plan.speed.get(name), best.speed.get(name)
        if one is None or other is None or not other.likely:
            continue
        if abs(one.likely - other.likely) > _SAME * other.likely:
            what = {"token_ms": "a token in ", "ttft_ms": "an answer in ", "train_hours": "done in "}[name]
            unit = _UNITS[name]
            text = f"{what}{show(one.likely, unit)} instead of {show(other.likely, unit)}"
            yield one.likely < other.likely, text
        return


def _size(plan: Plan, best: Plan) -> Iterator[tuple[bool, str]]:
    if plan.count != best.count:
        what = f"{plan.count} accelerator{'s' if plan.count > 1 else ''} instead of {best.count}"
        yield plan.count < best.count, what
    if plan.memory.usable_gib and best.memory.usable_gib:
        free, usual = (1 - item.memory.total_gib / (item.memory.usable_gib or 1) for item in (plan, best))
        if abs(free - usual) > 2 * _SAME:
            yield free > usual, f"{free:.0%} of its memory free instead of {usual:.0%}"


def _criteria(plan: Plan, best: Plan) -> Iterator[tuple[bool, str]]:
    mine, theirs = _factors(plan), _factors(best)
    better, worse = [], []
    for criterion in dict.fromkeys((*mine, *theirs)):
        if criterion in (SPEED, POWER):
            continue  # told in figures
        ratio = mine.get(criterion, 1.0) / theirs.get(criterion, 1.0)
        if ratio > 1 + 2 * _SAME:
            worse.append(criterion)
        elif ratio < 1 - 2 * _SAME:
            better.append(criterion)
    if better:
        yield True, f"rated higher on {', '.join(better)}"
    if worse:
        yield False, f"rated lower on {', '.join(worse)}"


def _factors(plan: Plan) -> Mapping[str, float]:
    return {} if plan.counted is None else {item.criterion: item.worth for item in plan.counted.factors}
