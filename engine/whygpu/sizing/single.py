"""A replica that serves one request at a time: the wait for those before it, as a chain from one request to the next.

The wait follows Lindley's recursion, max(0, wait + size - gap) (Lindley 1952, doi 10.1017/S0305004100027638), with the
gaps and sizes themselves and no fit to them, on a grid of equal steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whygpu.checks.setup import FloatArray
from whygpu.sizing.curve import lognormal_sizes

_STEPS = 160
"""Of the grid, up to the limit."""
_TIMES = 3
"""The grid ends at so many times the limit; a wait beyond it is late, and counts as one at its end."""


@dataclass(frozen=True, slots=True)
class Single:
    """``per_s``: requests a second that all ``replicas`` get, Gamma distributed of shape ``burstiness``; ``size_s``:
    seconds of a request on average, which ``varies`` by this coefficient of variation.
    """

    per_s: float
    burstiness: float
    replicas: int
    size_s: float
    varies: float

    def late_share(self, limit_s: float) -> float:
        """The share of requests that are not done ``limit_s`` after they came."""
        return _late_share(self, limit_s)

    def percentile_s(self, share: float, longest_s: float) -> float:
        """The time within which this share of requests is answered; infinite where it is beyond ``longest_s``."""
        low, high = 0.0, longest_s
        if self.late_share(high) > 1 - share:
            return math.inf
        while high / max(low, self.size_s / 10) > 1.002:
            middle = (low + high) / 2
            low, high = (middle, high) if self.late_share(middle) > 1 - share else (low, middle)
        return high


@lru_cache(maxsize=512)
def _late_share(single: Single, limit_s: float) -> float:
    step = limit_s / _STEPS
    count = _STEPS * _TIMES
    sizes = lognormal_sizes(single.varies, 4000) * single.size_s
    gaps = _gaps(single, step, count)
    wait = _wait(_on_grid(sizes / step, count), gaps)
    left = limit_s - np.arange(count) * step
    in_time = np.searchsorted(np.sort(sizes), left, side="right") / len(sizes)
    return float(1 - wait @ in_time)


def _on_grid(values: FloatArray, count: int) -> FloatArray:
    """Chances of 0, 1, ... ``count`` - 1 steps: each value is shared between the two steps next to it."""
    low = np.minimum(np.floor(values), count - 2).astype(int)
    high = np.clip(values - low, 0.0, 1.0)
    found = np.bincount(low, 1 - high, count) + np.bincount(low + 1, high, count)
    return np.asarray(found / len(values))


def _gaps(single: Single, step: float, count: int) -> FloatArray:
    """Chances that so many steps are between two requests at one replica, the last for all longer ones.

    Every request goes to it with the same chance: a gap is one of the stream's, or one and another such gap.
    """
    share = 1 / single.replicas
    edges = (np.arange(count + 1) - 0.5).clip(0) * step
    one = np.diff(_gamma_below(single.burstiness, edges * single.per_s * single.burstiness))
    rest = np.zeros(count)
    rest[0] = 1.0
    series = rest - (1 - share) * one  # gaps = share * one + (1 - share) * one * gaps, as power series
    found = np.zeros(count)
    for index in range(count):
        found[index] = (share * one[index] - series[1 : index + 1] @ found[:index][::-1]) / series[0]
    found[-1] += max(1 - found.sum(), 0.0)
    return found


def _gamma_below(shape: float, values: FloatArray) -> FloatArray:
    """The chance that a Gamma variable of this shape, at most 1, and of scale 1 is below each value (its series)."""
    held = np.minimum(values, 60.0)
    with np.errstate(divide="ignore"):
        term = np.exp(shape * np.log(held) - held - math.lgamma(shape + 1))
    found = term.copy()
    for index in range(1, 300):
        term = term * held / (shape + index)
        found += term
    return np.minimum(found, 1.0)


def _wait(sizes: FloatArray, gaps: FloatArray) -> FloatArray:
    """The long-run distribution of the wait, in steps."""
    count = len(sizes)
    change = np.convolve(sizes, gaps[::-1])  # size - gap, from 1 - count on
    from_, to = np.arange(count)[:, None], np.arange(count)[None, :]
    move = change[to - from_ + count - 1]
    below = np.cumsum(change)
    move[:, 0] = below[count - 1 - np.arange(count)]
    move[:, -1] += 1 - move.sum(axis=1)
    balance = move.T - np.eye(count)
    balance[-1] = 1.0
    right = np.zeros(count)
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(balance, right))
