"""What a plan counts as: its money times a factor for each criterion (docs/explanation/ranking.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.knowledge.preferences import POWER, SPEED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.knowledge.preferences import Preferences, PriorityWorth, SpeedWorth
    from whygpu.plans.tally import VerdictTally


@dataclass(frozen=True, slots=True)
class Money:
    """What plans cost, in one unit: USD an hour for a service, USD a job, USD a unit of work, or watts."""

    values: NDArray[np.float64]
    """With what having the machines costs."""
    unit: str
    hours: NDArray[np.float64]
    """How many hours of the plan's hourly price one unit takes: 1 for a service; NaN where the unit is no money."""
    handling: NDArray[np.float64]
    """USD of each of these hours beside the price: for having the machines, less the power that idle ones save."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The figure of speed that counts, of every plan, what it is worth, and why."""

    figure: str
    values: NDArray[np.float64]
    factor: NDArray[np.float64]
    worth: SpeedWorth


@dataclass(frozen=True, slots=True)
class Counted:
    """What every plan counts as, and the factors, by criterion."""

    values: NDArray[np.float64]
    money: Money
    factors: Mapping[str, NDArray[np.float64]]
    speed: Speed | None
    watts: NDArray[np.float64]
    """What every plan draws; NaN where it is not known."""
    drawn: NDArray[np.float64] | None = None
    """What every plan draws for its work, by which those are compared that have no price; NaN where it is not known."""
    cards: NDArray[np.float64] | None = None
    """Accelerators of every plan, by which those are compared of which that is not known either."""
    at_once: NDArray[np.float64] | None = None
    """Requests or samples that every plan works on at once, by which equals are told apart."""
    times: tuple[NDArray[np.float64], ...] = ()
    """What every plan takes, by each figure of speed, by which the rest are; NaN where it is not known."""

    def with_factor(self, criterion: str, factor: NDArray[np.float64], *, by_money: bool) -> Counted:
        """With another factor for one criterion."""
        factors = {**self.factors, criterion: factor}
        return replace(self, values=_values(self.money, factors, by_money=by_money), factors=factors)

    def product(self, index: int) -> float:
        """All factors of one plan together."""
        return math.prod(float(column[index]) for column in self.factors.values())

    def hourly_to_count(self, index: int, value: float) -> float:
        """The hourly price (USD, of the whole plan) at which one plan would count as ``value``; NaN where money is
        not what it counts in, not positive where no price is low enough.
        """
        hours = float(self.money.hours[index])
        return value / (self.product(index) * hours) - float(self.money.handling[index])


def count(
    money: Money,
    tally: VerdictTally,
    speeds: Mapping[str, NDArray[np.float64]],
    watts: NDArray[np.float64],
    alive: Mask,
    preferences: Preferences,
    priority: str | None,
    limits: Mapping[str, float],
) -> Counted:
    """Count every plan. ``limits``: the answers that set one; speed beyond a limit is worth nothing."""
    first = preferences.priorities.get(priority or "")
    exponent = (lambda _: 1.0) if first is None else first.exponent
    factors = {criterion: tally.factor(criterion) ** exponent(criterion) for criterion in tally.favour}
    rest = 1.0 if first is None else first.all_factors
    speed = _speed(speeds, preferences, first, limits)
    if speed is not None:
        factors[SPEED] = speed.factor**rest
    if first is not None and first.half_the_power is not None:
        factors[POWER] = _power(watts, alive, first.half_the_power) ** rest
    return Counted(_values(money, factors, by_money=preferences.by_money), money, factors, speed, watts)


def _values(money: Money, factors: Mapping[str, NDArray[np.float64]], *, by_money: bool) -> NDArray[np.float64]:
    """Money times all factors."""
    values = money.values.copy() if by_money else np.where(np.isfinite(money.values), 1.0, np.nan)
    for column in factors.values():
        values = values * column
    return values


def _speed(
    speeds: Mapping[str, NDArray[np.float64]],
    preferences: Preferences,
    priority: PriorityWorth | None,
    limits: Mapping[str, float],
) -> Speed | None:
    """The worth of speed by the first figure that plans have; None where there is none.

    Where speed is put first it is worth as much beyond a limit, and never enough.
    """
    worth = next((item for item in preferences.speeds if np.isfinite(speeds.get(item.figure, np.nan)).any()), None)
    if worth is None:
        return None
    asked = None if priority is None else priority.twice_the_speed
    enough = worth.enough_with(limits.get(worth.limit or "")) if asked is None else 0.0
    values = speeds[worth.figure]
    with np.errstate(all="ignore"):
        factor = (np.maximum(values, enough) / worth.usual) ** math.log2(worth.twice if asked is None else asked)
    return Speed(worth.figure, values, np.where(np.isfinite(factor), factor, 1.0), worth)


def _power(watts: NDArray[np.float64], alive: Mask, half: float) -> NDArray[np.float64]:
    """What power counts where efficiency is put first, against the plan left that draws least; 1 where not known."""
    known = watts[alive & np.isfinite(watts) & (watts > 0)]
    if not known.size:
        return np.ones(len(watts))
    with np.errstate(all="ignore"):
        factor = (watts / float(np.min(known))) ** math.log2(half)
    return np.where(np.isfinite(factor) & (factor > 0), factor, 1.0)
