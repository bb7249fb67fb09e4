"""The order of plans: verified before unverified, then by what they count as (docs/explanation/ranking.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whygpu.quantity import show

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.plans.counting import Counted


@dataclass(frozen=True, slots=True)
class Ranking:
    """The plans left in order (indices), and what they count as."""

    order: tuple[int, ...]
    counted: Counted
    tied_within: float

    def tied(self, one: int, other: int) -> bool:
        """Whether two plans count as the same, or nearly."""
        first, second = sorted((float(self.counted.values[one]), float(self.counted.values[other])))
        return second <= first * (1 + self.tied_within)

    def behind(self, one: int, best: int) -> str:
        """What ``one`` counts as against ``best``, and the price at which it would win."""
        counted, unit = self.counted, self.counted.money.unit
        mine, theirs = float(counted.values[one]), float(counted.values[best])
        if not math.isfinite(mine):
            return "no price is known, so it ranks after plans that have one"
        text = f"counts as {show(mine, unit)} against {show(theirs, unit)}"
        price = counted.hourly_to_count(one, theirs)
        if math.isnan(price):
            return text
        if price <= 0:
            return f"{text}: no price is low enough, as the reasons against it weigh more"
        return f"{text}: it would win below {show(price, 'USD/hour')}"


def rank(alive: Mask, unverified: Mask, counted: Counted, tied_within: float) -> Ranking:
    """Order the plans that are left; those without a known price come last, by the power or energy that their work
    takes times their factors, or by their accelerators where that is not known. Of equals the one that works on less at
    once is first: it answers sooner, in less memory; and of these the faster one, whatever more speed is worth.
    """
    left = np.flatnonzero(alive)
    value = counted.values
    last = np.where(np.isfinite(value), value, np.inf)
    product = np.ones(len(value))
    for column in counted.factors.values():
        product = product * column
    watts = counted.watts if counted.drawn is None else counted.drawn
    drawn = np.where(np.isfinite(watts), watts * product, np.inf)
    cards = product if counted.cards is None else counted.cards * product
    at_once = np.zeros(len(value)) if counted.at_once is None else counted.at_once
    times = (np.nan_to_num(column, nan=np.inf) for column in reversed(counted.times))
    figures = (_rounded(column[left]) for column in (*times, at_once, product, cards, drawn, last))
    keys = (*figures, unverified[left])  # numpy sorts by the last key first
    return Ranking(tuple(left[np.lexsort(keys)].tolist()), counted, tied_within)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same to twelve digits: what differs in the last ones was only computed in another order."""
    share, exponent = np.frexp(values)
    found: NDArray[np.float64] = np.ldexp(np.round(share, 12), exponent)
    return found
