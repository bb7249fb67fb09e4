"""A replica as its load test shows it: how many requests a second it answers with so many in flight, and how unlike the
requests are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whygpu.checks.setup import FloatArray

P50_TO_P95, P50_TO_P90, P50_TO_P99 = 1.6448536269514722, 1.2815515655446004, 2.3263478740408408
"""Standard deviations of a normal distribution from its median to these percentiles."""


@dataclass(frozen=True, slots=True)
class ServiceCurve:
    """Requests a second (``per_s``) with so many in flight (``in_flight``, rising, from 1 or more).

    Between two loads the latency, in flight over requests a second, is interpolated; below the first it is that of the
    first; above the last no more is answered than there.
    """

    in_flight: tuple[float, ...]
    per_s: tuple[float, ...]

    @property
    def best_per_s(self) -> float:
        """The most requests a second that were seen."""
        return max(self.per_s)

    @property
    def cap(self) -> float:
        """In flight where the most is answered: more of them at once only wait for each other."""
        return self.in_flight[self.per_s.index(self.best_per_s)]

    @property
    def idle_s(self) -> float:
        """Seconds of a request at the lightest load that was measured."""
        return self.in_flight[0] / self.per_s[0]

    def up_to(self, count: float) -> ServiceCurve:
        """The curve with no more than ``count`` in flight; raises ValueError for less than one."""
        if count < 1:
            raise ValueError(f"no curve with {count} in flight")
        if count >= self.in_flight[-1]:
            return self
        latency = np.interp(count, self.in_flight, np.divide(self.in_flight, self.per_s))
        kept = [(n, x) for n, x in zip(self.in_flight, self.per_s, strict=True) if n < count]
        kept.append((float(count), float(count / latency)))
        return ServiceCurve(tuple(n for n, _ in kept), tuple(x for _, x in kept))

    def rates(self, most: int) -> FloatArray:
        """Requests a second with 0, 1, ... ``most`` in flight, at most ``cap`` of them served at a time."""
        count = np.arange(most + 1, dtype=np.float64)
        served = np.minimum(count, self.cap)
        latency = np.interp(served, self.in_flight, np.divide(self.in_flight, self.per_s))
        rates: FloatArray = served / latency
        return rates


@dataclass(frozen=True, slots=True)
class Work:
    """How much one request needs, over the mean of all, as a mixture of Erlang distributions of one rate.

    ``stages[k]``: the chance of k + 1 stages; ``per_unit``: stages that a request of mean size takes.
    """

    stages: FloatArray
    per_unit: float


def spread_of(low: float, high: float, deviations: float) -> float:
    """Standard deviation of the logarithm, given the median and a percentile so many deviations above it."""
    return max(math.log(high / low) / deviations, 0.0) if low > 0 and high > 0 else 0.0


def variation_of(spread: float) -> float:
    """Coefficient of variation of a lognormal quantity."""
    return math.sqrt(math.expm1(spread**2))


MOST_STAGES = 240


def lognormal_sizes(variation: float, count: int = 400) -> FloatArray:
    """So many equally likely sizes over their mean, lognormal with this coefficient of variation."""
    spread = math.sqrt(math.log1p(variation**2))
    sizes: FloatArray = np.exp(spread * _normal_quantile((np.arange(count) + 0.5) / count))
    return np.asarray(sizes / sizes.mean())


def lognormal_work(variation: float) -> Work:
    """Requests whose sizes are lognormal with this coefficient of variation: answers have many short and few long.

    Each size is so many equal exponential stages, so that a chain can follow it; as many for each mean size as keep
    what the stages themselves vary at most a tenth of the whole variance, 10 to 90 of them.
    """
    per_unit = min(max(10 / max(variation, 0.1) ** 2, 10.0), 90.0)
    left = max(variation**2 - 1 / per_unit, 0.0)  # the variance that is not the stages' own
    sizes = lognormal_sizes(math.sqrt(left)) * per_unit
    lower = np.clip(np.floor(sizes), 1, MOST_STAGES - 1)
    upper_chance = np.clip(sizes - lower, 0.0, 1.0)
    stages: FloatArray = np.bincount(lower.astype(int) - 1, 1 - upper_chance, MOST_STAGES).astype(np.float64)
    stages += np.bincount(lower.astype(int), upper_chance, MOST_STAGES)[:MOST_STAGES]
    stages /= stages.sum()
    last = int(np.flatnonzero(stages)[-1]) + 1
    mean = float(stages[:last] @ np.arange(1, last + 1))
    return Work(stages[:last], mean)


def _normal_quantile(share: FloatArray) -> FloatArray:
    """Quantiles of the normal distribution, by its error function on a grid (to 1e-4)."""
    grid = np.linspace(-4.5, 4.5, 3001)
    cumulative = np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in grid])
    found: FloatArray = np.interp(share, cumulative, grid)
    return found
