"""The verdicts on every plan: by criterion what the strongest for and the strongest against are worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.knowledge.rules import Grade, Strength, Verdict

_CANCEL = 0.02
"""Opposite worths within this share of each other count as equal."""


@dataclass(frozen=True, slots=True)
class VerdictTally:
    """By criterion, for every plan, what its strongest verdicts for and against are worth; 1 where there is none."""

    favour: Mapping[str, NDArray[np.float64]]
    against: Mapping[str, NDArray[np.float64]]

    def factor(self, criterion: str) -> NDArray[np.float64]:
        """What the criterion multiplies money by: verdicts against raise it, those for lower it, opposites cancel."""
        found: NDArray[np.float64] = self.against[criterion] / self.favour[criterion]
        return found

    def objection(self, criterion: str, worth: float) -> Mask:
        """The plans with a verdict of that worth against them, not offset by an equally strong one in favour."""
        least = worth * (1 - _CANCEL)
        found: Mask = (self.against[criterion] >= least) & (self.favour[criterion] < least)
        return found

    def conflict(self, criterion: str) -> Mask:
        """The plans whose strongest verdicts of the criterion cancel each other."""
        favour, against = self.favour[criterion], self.against[criterion]
        both: Mask = (favour > 1) & (against > 1) & (np.abs(np.log(favour / against)) <= _CANCEL)
        return both


def graded_worth(grade: Grade, worth: float, reached: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a graded verdict is worth on some plans: as far as the figure it grows with has come.

    ``reached``: that figure of each plan; an unknown one counts as reached, since the rule fired.
    """
    with np.errstate(all="ignore"):
        share = np.log(reached / grade.start) / math.log(grade.full / grade.start)
    share[np.isnan(share)] = 1.0
    found: NDArray[np.float64] = worth ** np.minimum(np.maximum(share, 0.0), 1.0)
    return found


def tally(
    verdicts: Iterable[tuple[Verdict, Mask]],
    size: int,
    worth: Callable[[Strength], float],
    figure: Callable[[Grade], NDArray[np.float64]],
) -> VerdictTally:
    """Keep the verdict worth most per criterion and side; more rules that agree add citations, not weight.

    ``worth``: of a strength; ``figure``: what a graded verdict grows with, for every plan.
    """
    favour: dict[str, NDArray[np.float64]] = {}
    against: dict[str, NDArray[np.float64]] = {}
    for verdict, mask in verdicts:
        if verdict.criterion not in favour:
            favour[verdict.criterion], against[verdict.criterion] = np.ones(size), np.ones(size)
        column = (favour if verdict.favourable else against)[verdict.criterion]
        if verdict.grade is None:
            np.maximum(column, worth(verdict.strength), out=column, where=mask)
        else:
            graded = graded_worth(verdict.grade, worth(verdict.strength), figure(verdict.grade)[mask])
            column[mask] = np.maximum(column[mask], graded)
    return VerdictTally(favour, against)
