"""How plans compare: verdicts by criterion, never added up within one, then the objective.

Order: verified before unverified; what is strongly advised against after what is not; the user's priority (a number
beyond 10%, then its criterion); net strong verdicts; net normal; the objective beyond 10%; net mild; the objective
itself. No weights, no certainty factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whygpu.knowledge import STRENGTHS, Verdict
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask

SAME = 0.10
"""Figures within 10% of the best of their band count as equal."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The verdicts on every plan: per criterion the strongest for and against (0 none, 1 mild, 2 normal, 3 strong)."""

    favour: Mapping[str, NDArray[np.int8]]
    against: Mapping[str, NDArray[np.int8]]

    def net(self, criterion: str) -> NDArray[np.int8]:
        """The strongest verdict of a criterion, negative where against; equal opposites cancel."""
        favour, against = self.favour[criterion], self.against[criterion]
        return np.where(favour > against, favour, np.where(against > favour, -against, 0)).astype(np.int8)

    def conflict(self, criterion: str) -> Mask:
        """The plans whose strongest verdicts of the criterion are equal opposites."""
        favour, against = self.favour[criterion], self.against[criterion]
        both: Mask = (favour == against) & (favour > 0)
        return both


def standing(verdicts: Iterable[tuple[Verdict, Mask]], size: int) -> Standing:
    """Keep the strongest verdict per criterion and side; more rules that agree add citations, not weight."""
    favour: dict[str, NDArray[np.int8]] = {}
    against: dict[str, NDArray[np.int8]] = {}
    for verdict, mask in verdicts:
        for side in (favour, against):
            side.setdefault(verdict.criterion, np.zeros(size, dtype=np.int8))
        column = (favour if verdict.favourable else against)[verdict.criterion]
        np.maximum(column, np.int8(STRENGTHS.index(verdict.strength) + 1), out=column, where=mask)
    return Standing(favour, against)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of every plan, and its unit."""

    values: NDArray[np.float64]
    unit: str


@dataclass(frozen=True, slots=True)
class Priority:
    """What the user put first: the criterion, and the number it stands for where it is one (with its direction)."""

    criterion: str
    figure: Figure | None
    less_is_better: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """Plans in order (indices), and for each what it was compared by."""

    order: tuple[int, ...]
    strong: NDArray[np.int64]
    normal: NDArray[np.int64]
    mild: NDArray[np.int64]
    band: NDArray[np.int64]
    priority_band: NDArray[np.int64]
    priority_net: NDArray[np.int8]
    objective: Figure
    priority_figure: Figure

    @staticmethod
    def _figure(figure: Figure, index: int) -> str:
        return show(float(figure.values[index]), figure.unit)

    def behind(self, one: int, best: int) -> str | None:
        """The first thing by which ``one`` compares worse than ``best``, with both figures; None where nothing does."""
        if min(self.strong[one], 0) != min(self.strong[best], 0):
            return f"net strong verdicts {self.strong[one]} against {self.strong[best]}"
        if self.priority_band[one] != self.priority_band[best]:
            return f"{self._figure(self.priority_figure, one)} against {self._figure(self.priority_figure, best)}"
        if self.priority_net[one] < self.priority_net[best]:
            return "worse verdicts by the priority asked for"
        for name, column in (("strong", self.strong), ("normal", self.normal)):
            if column[one] != column[best]:
                return f"net {name} verdicts {column[one]} against {column[best]}"
        if self.band[one] != self.band[best]:
            return f"{self._figure(self.objective, one)} against {self._figure(self.objective, best)}"
        if self.mild[one] != self.mild[best]:
            return f"net mild verdicts {self.mild[one]} against {self.mild[best]}"
        return None

    def tied(self, one: int, other: int) -> bool:
        """Whether two plans are co-recommended: equal but for mild verdicts, the objective within 10%."""
        columns: Sequence[NDArray[np.int64] | NDArray[np.int8]] = (
            self.priority_band,
            self.priority_net,
            self.strong,
            self.normal,
            self.band,
        )
        return all(column[one] == column[other] for column in columns)


def bands(values: NDArray[np.float64], alive: Mask, *, less_is_better: bool = True) -> NDArray[np.int64]:
    """Number groups of like figures: each begins with its best and holds all within 10% of it; unknown come last."""
    found = np.full(len(values), np.iinfo(np.int64).max, dtype=np.int64)
    known = list(np.flatnonzero(alive & np.isfinite(values)))
    known.sort(key=lambda index: values[index] if less_is_better else -values[index])
    band, leader = -1, 0.0
    for index in known:
        value = float(values[index])
        beyond = value > leader * (1 + SAME) if less_is_better else value < leader * (1 - SAME)
        if band < 0 or beyond:
            band, leader = band + 1, value
        found[index] = band
    return found


def rank(alive: Mask, unverified: Mask, standings: Standing, objective: Figure, priority: Priority | None) -> Ranking:
    """Order the plans that are left; ties within everything go by objective and then by index."""
    size = len(alive)
    nets = [standings.net(criterion) for criterion in standings.favour]
    table = np.array(nets, dtype=np.int64) if nets else np.zeros((1, size), dtype=np.int64)

    def count(level: int) -> NDArray[np.int64]:
        counted: NDArray[np.int64] = np.sum(table == level, axis=0) - np.sum(table == -level, axis=0)
        return counted

    strong, normal, mild = count(3), count(2), count(1)
    band = bands(objective.values, alive)
    cost = objective.values
    first = np.zeros(size, dtype=np.int64)
    net = np.zeros(size, dtype=np.int8)
    if priority is not None:
        if priority.figure is not None:
            first = bands(priority.figure.values, alive, less_is_better=priority.less_is_better)
        if priority.criterion in standings.favour:
            net = standings.net(priority.criterion)
    left = np.flatnonzero(alive)
    dear = np.where(np.isfinite(cost), cost, np.inf)
    # numpy sorts by the last key first
    keys = (
        dear[left],
        -mild[left],
        band[left],
        -normal[left],
        -strong[left],
        -net[left],
        first[left],
        -np.minimum(strong[left], 0),
        unverified[left],
    )
    order = tuple(left[np.lexsort(keys)].tolist())
    figure = priority.figure if priority is not None and priority.figure is not None else objective
    return Ranking(order, strong, normal, mild, band, first, net, objective, figure)
