"""Times work: warm-up first, then repeats, each synchronised with the device; the median and the spread are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Clock = Callable[[], float]
    Work = Callable[[], None]

FEWEST, MOST = 3, 200
"""Samples that are taken at least, and at most."""
_SAMPLE_S = 0.05
"""A sample is no shorter: what is faster is repeated inside it."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one run of the work: the median of the samples, the fastest and the slowest."""

    median_s: float
    low_s: float
    high_s: float
    samples: int
    runs: int
    """Runs in all samples, without the warm-up."""


def time_of(work: Work, synchronize: Work, clock: Clock, seconds: float, *, runs: int | None = None) -> Timing:
    """Time the work for about so many seconds, or for exactly so many ``runs``.

    One run warms up; it may compile, choose kernels and fill caches. The next one says how many runs make a sample.
    What is so slow that the fewest samples take twice the time is sampled less often, and twice at least.
    """
    work()
    synchronize()
    start = clock()
    first = _sample(work, synchronize, clock, 1)
    inside = max(1, math.ceil(_SAMPLE_S / max(first, 1e-9)))
    if runs is not None:
        inside = min(inside, runs)
    found = [first] if inside == 1 else []
    done = len(found)
    while _more(found, clock() - start, seconds) if runs is None else done < runs:
        now = inside if runs is None else min(inside, runs - done)
        found.append(_sample(work, synchronize, clock, now))
        done += now
    return Timing(median(found), min(found), max(found), len(found), done)


def _sample(work: Work, synchronize: Work, clock: Clock, runs: int) -> float:
    """Seconds of one run, over so many."""
    begun = clock()
    for _ in range(runs):
        work()
    synchronize()
    return (clock() - begun) / runs


def _more(found: list[float], spent: float, seconds: float) -> bool:
    if len(found) < FEWEST:
        return len(found) < 2 or spent < 2 * seconds
    return spent < seconds and len(found) < MOST
