"""A load test's points as a service curve: what a replica answers and how long it takes, by how much is in flight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from whygpu.sizing.curve import P50_TO_P90, P50_TO_P95, P50_TO_P99, ServiceCurve, spread_of, variation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whygpu.checks.setup import FloatArray
    from whygpu.measured.measurement import Point

_BEYOND = (("p95", P50_TO_P95), ("p99", P50_TO_P99), ("p90", P50_TO_P90))
FEWEST_FOR_A_KNEE = 3
_FILLED = 0.9
"""Of the concurrency that was allowed: a run that had so much of it in flight on average counts as one that kept it."""


@dataclass(frozen=True, slots=True)
class Load:
    """One load that was tried: how many requests were in flight on average, and what they took. Times in seconds.

    ``told``: the latency was measured and not computed of its parts; ``tail_s``: its 95th percentile.
    """

    in_flight: float
    per_s: float
    mean_s: float
    tail_s: float | None
    spread: float | None
    told: bool
    point: Point


@dataclass(frozen=True, slots=True)
class Knee:
    """Where latency turns unstable: from ``at`` on p95 grows faster than throughput; None where no load shows it.

    ``why_not``: what would have to be measured to see it.
    """

    at: Load | None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Tails:
    """A time by requests in flight: its median and how its logarithm spreads."""

    in_flight: tuple[float, ...]
    median_s: tuple[float, ...]
    spread: tuple[float, ...]

    def late_shares(self, count: FloatArray, extra_s: FloatArray, limit_s: float) -> FloatArray:
        """The share of requests beyond the limit with so many in flight, each ``extra_s`` later than was measured."""
        middle = np.interp(count, self.in_flight, self.median_s) + extra_s
        spread = np.maximum(np.interp(count, self.in_flight, self.spread), 1e-6)
        deviations = np.log(limit_s / middle) / spread
        return np.array([0.5 * math.erfc(float(value) / math.sqrt(2)) for value in deviations])


def loads_of(points: Iterable[Point]) -> tuple[Load, ...]:
    """The loads, lightest first; points without throughput or latency are left out.

    In flight is requests a second times seconds each (Little 1961, doi 10.1287/opre.9.3.383), which holds for tests
    that keep a number in flight and for those that send so many a second; at most the concurrency that was allowed.
    """
    found = [load for point in points if (load := _load(point)) is not None]
    return tuple(sorted(found, key=lambda load: (load.in_flight, load.mean_s)))


def _load(point: Point) -> Load | None:
    per_s = _per_s(point)
    mean_s, told = _mean_s(point)
    if point.batch is not None and per_s is None and mean_s:
        per_s = point.batch / mean_s
    if mean_s is None and per_s and point.concurrency:
        mean_s = point.concurrency / per_s
    if not per_s or not mean_s:
        return None
    most = point.concurrency or point.batch or math.inf
    in_flight = max(min(per_s * mean_s, most), 1.0)
    spread, tail = _tail(point, "latency")
    if in_flight >= _FILLED * most:  # the rest was lost to the beginning and the end of the run
        return Load(max(most, 1.0), per_s, mean_s, tail, spread, told, point)
    return Load(in_flight, in_flight / mean_s, mean_s, tail, spread, told, point)


def _per_s(point: Point) -> float | None:
    if point.requests_per_s is not None:
        return point.requests_per_s
    if point.output_tokens_per_s is not None and point.output_tokens:
        return point.output_tokens_per_s / point.output_tokens
    return None


def _mean_s(point: Point) -> tuple[float | None, bool]:
    """Seconds of a request on average, and whether they were measured."""
    if point.latency_mean_ms is not None:
        return point.latency_mean_ms / 1000, True
    if point.latency_p50_ms is not None:
        spread, _ = _tail(point, "latency")
        return point.latency_p50_ms / 1000 * math.exp((spread or 0.0) ** 2 / 2), True
    first, each = _middle(point, "ttft"), _middle(point, "tpot")
    if first is not None and each is not None and point.output_tokens:
        return (first + each * max(point.output_tokens - 1, 0.0)) / 1000, False
    return None, False


def _middle(point: Point, what: str) -> float | None:
    mean: float | None = getattr(point, f"{what}_mean_ms")
    found: float | None = getattr(point, f"{what}_p50_ms") if mean is None else mean
    return found


def _tail(point: Point, what: str) -> tuple[float | None, float | None]:
    """How the logarithm of a time spreads, and its 95th percentile in seconds; of what percentiles there are."""
    middle: float | None = getattr(point, f"{what}_p50_ms")
    for name, deviations in _BEYOND:
        high: float | None = getattr(point, f"{what}_{name}_ms")
        if middle and high:
            spread = spread_of(middle, high, deviations)
            return spread, (high if name == "p95" else middle * math.exp(spread * P50_TO_P95)) / 1000
        if high and name == "p95":
            return None, high / 1000
    return None, None


def curve_of(loads: Sequence[Load], enough: float) -> ServiceCurve | None:
    """The service curve, up to the first load that does ``enough`` (a share) of the most; None where there is none."""
    merged: dict[float, list[float]] = {}
    for load in loads:
        merged.setdefault(round(load.in_flight, 3), []).append(load.per_s)
    counts = sorted(merged)
    rates = [sum(merged[count]) / len(merged[count]) for count in counts]
    if not counts:
        return None
    last = next(index for index, rate in enumerate(rates) if rate >= enough * max(rates))
    return ServiceCurve(tuple(counts[: last + 1]), tuple(rates[: last + 1]))


def powers_of(loads: Sequence[Load]) -> list[float]:
    """Throughput over p95, over the mean where a load lacks p95: greatest at the knee (Kleinrock 1979, Power and
    deterministic rules of thumb for probabilistic problems in computer communications).
    """
    tails = [load.tail_s for load in loads]
    return [
        load.per_s / (load.mean_s if tail is None or None in tails else tail)
        for load, tail in zip(loads, tails, strict=True)
    ]


def knee_of(loads: Sequence[Load]) -> Knee:
    """The load with the most throughput for its latency; heavier ones pay for throughput with more latency than that.

    Beyond it p95 grows faster than throughput (ai-rng-29). Two loads cannot show it, nor loads that end before it.
    """
    kinds = {round(load.in_flight, 3) for load in loads}
    if len(kinds) < FEWEST_FOR_A_KNEE:
        count = {0: "no load", 1: "one load", 2: "two loads"}[len(kinds)]
        return Knee(
            None, f"{count} cannot show where latency turns unstable: measure at least three, doubling each time"
        )
    powers = powers_of(loads)
    best = loads[powers.index(max(powers))]
    if best.in_flight == loads[-1].in_flight:
        return Knee(
            None, f"throughput still grows faster than p95 at {best.in_flight:.3g} in flight: measure heavier loads"
        )
    return Knee(best)


def variation_seen(loads: Sequence[Load]) -> float | None:
    """How unlike requests are, as a coefficient of variation: the median over the loads; None where nothing tells."""
    spreads = [load.spread for load in loads if load.spread is not None]
    return variation_of(median(spreads)) if spreads else None


def tails_of(loads: Sequence[Load], what: str) -> Tails | None:
    """The time to the first token (``ttft``) or for each further one (``tpot``) by load; None where it is not there."""
    rows: dict[float, tuple[float, float]] = {}
    for load in loads:
        spread, tail = _tail(load.point, what)
        middle: float | None = getattr(load.point, f"{what}_p50_ms")
        if middle and spread is not None:
            rows[load.in_flight] = (middle / 1000, spread)
        elif tail is not None:
            rows[load.in_flight] = (tail, 0.0)  # without a median everything is as late as the 95th percentile
    if not rows:
        return None
    counts = sorted(rows)
    return Tails(tuple(counts), tuple(rows[n][0] for n in counts), tuple(rows[n][1] for n in counts))
