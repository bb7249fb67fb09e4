"""How many replicas a service needs, so that 95% of its requests are answered in time at the peak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from whygpu.checks.setup import FloatArray
from whygpu.sizing.arrivals import Arrivals, felt_burstiness, split_arrivals
from whygpu.sizing.curve import P50_TO_P95, ServiceCurve, Work, lognormal_work
from whygpu.sizing.loads import Tails
from whygpu.sizing.replica import InFlight, Replica, in_flight, late_share, percentile_s
from whygpu.sizing.single import Single

Decides = Literal["whole-answer", "first-token", "further-tokens", "throughput", "utilisation", "one"]
"""What one replica fewer would miss: a limit, to answer what comes, the utilisation; ``one``: there is none fewer."""
MOST_REPLICAS = 100_000
PROMISED = 0.95
_LONGEST = 60.0
"""Times the mean latency at the cap that a percentile is looked for in."""
_AT_ONCE = 1 / 8
"""Of what a request takes alone: others that come within it come at once."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Within how many seconds 95% of requests have to be answered, have their first token, have each further one."""

    latency_s: float | None = None
    first_s: float | None = None
    token_s: float | None = None

    @property
    def any(self) -> bool:
        """Whether anything is limited."""
        return any(limit is not None for limit in (self.latency_s, self.first_s, self.token_s))


@dataclass(frozen=True, slots=True)
class Service:
    """One replica as measured, and what is asked of it. ``margin``: how far the model may be off, a share of latency.

    ``varies``: coefficient of variation of the sizes of requests; ``burstiness``: shape of the Gamma between arrivals;
    ``utilisation``: the most of its throughput that a replica is planned for.
    """

    curve: ServiceCurve
    varies: float
    burstiness: float
    utilisation: float
    margin: float
    objective: Objective
    first: Tails | None = None
    token: Tails | None = None

    @property
    def work(self) -> Work:
        """The sizes of requests."""
        return _work(self.varies)

    def safe_s(self, limit_s: float) -> float:
        """The limit that the model is held to."""
        return limit_s / (1 + self.margin)

    def idle_tail_s(self) -> float:
        """The 95th percentile of a request that has a replica for itself."""
        spread = math.sqrt(math.log1p(self.varies**2))
        return self.curve.idle_s * math.exp(P50_TO_P95 * spread - spread**2 / 2)


@lru_cache(maxsize=256)
def _work(varies: float) -> Work:
    return lognormal_work(varies)


@lru_cache(maxsize=64)
def state_of(service: Service, peak_per_s: float, replicas: int) -> tuple[InFlight, Replica] | None:
    """What is in flight at each of so many replicas; None where they cannot keep up."""
    used = min(peak_per_s / replicas / service.curve.best_per_s, 1.0)
    felt = felt_burstiness(service.burstiness, service.varies, service.curve.cap, used)
    arrivals: Arrivals = split_arrivals(peak_per_s, felt, replicas, _AT_ONCE * service.curve.idle_s)
    state = in_flight(service.curve, arrivals)
    return None if state is None else (state, Replica(service.curve, arrivals, service.work, service.varies))


def holds(service: Service, peak_per_s: float, replicas: int) -> bool:
    """Whether every objective and the utilisation hold with so many replicas."""
    return not _overused(service, peak_per_s, replicas) and _missed(service, peak_per_s, replicas) is None


def deciding(service: Service, peak_per_s: float, needed: int) -> Decides:
    """What would be missed with one replica fewer than are ``needed``; an objective before the utilisation."""
    if needed <= 1:
        return "one"
    if peak_per_s / (needed - 1) >= service.curve.best_per_s:
        return "throughput"
    return _missed(service, peak_per_s, needed - 1) or "utilisation"


def _overused(service: Service, peak_per_s: float, replicas: int) -> bool:
    return peak_per_s / replicas > service.utilisation * service.curve.best_per_s * (1 + 1e-9)


def _missed(service: Service, peak_per_s: float, replicas: int) -> Decides | None:
    """The first objective that does not hold; of a replica that gets more than it answers none does."""
    objective, late = service.objective, 1 - PROMISED
    asked: tuple[tuple[Decides, float | None], ...] = (
        ("whole-answer", objective.latency_s),
        ("first-token", objective.first_s),
        ("further-tokens", objective.token_s),
    )
    found = state_of(service, peak_per_s, replicas)
    if found is None:
        return next((name for name, limit in asked if limit is not None), "utilisation")
    limit = objective.latency_s
    if limit is not None and _late(service, peak_per_s, replicas, service.safe_s(limit)) > late:
        return "whole-answer"
    return next((name for name, share in _late_tokens(service, *found) if share > late), None)


@lru_cache(maxsize=256)
def _late(service: Service, peak_per_s: float, replicas: int, limit_s: float) -> float:
    """The share of requests that take longer than the limit."""
    single = _single(service, peak_per_s, replicas)
    if single is not None:
        return single.late_share(limit_s)
    found = state_of(service, peak_per_s, replicas)
    return 1.0 if found is None else late_share(*found, limit_s)


def _single(service: Service, peak_per_s: float, replicas: int) -> Single | None:
    """A replica that serves one at a time; None where it serves more."""
    if service.curve.cap > 1:
        return None
    return Single(peak_per_s, service.burstiness, replicas, 1 / service.curve.best_per_s, service.varies)


def _late_tokens(service: Service, state: InFlight, replica: Replica) -> list[tuple[Decides, float]]:
    """The shares of requests whose first token, and whose further tokens, come too late, where that is limited.

    An arriving request finds so many in flight; those beyond the cap have to be served before its first token.
    """
    found = state.found
    count = np.arange(1, len(found) + 1, dtype=np.float64)
    served = np.minimum(count, service.curve.cap)
    wait = (count - served) / service.curve.best_per_s * replica.wait_factor
    asked: tuple[tuple[Decides, Tails | None, float | None, FloatArray], ...] = (
        ("first-token", service.first, service.objective.first_s, wait),
        ("further-tokens", service.token, service.objective.token_s, np.zeros(len(count))),
    )
    return [
        (name, float(found @ tails.late_shares(served, extra, service.safe_s(limit))))
        for name, tails, limit, extra in asked
        if tails is not None and limit is not None
    ]


def replicas_needed(service: Service, peak_per_s: float) -> int | None:
    """The fewest replicas that hold; None where no number of them does."""
    least = max(math.ceil(peak_per_s / (service.utilisation * service.curve.best_per_s) - 1e-9), 1)
    if holds(service, peak_per_s, least):
        return least
    low, high = least, least
    while not holds(service, peak_per_s, high):
        low, high = high, high * 2
        if high > MOST_REPLICAS or peak_per_s / low < 1e-3 / service.curve.idle_s:
            return None  # as good as alone on its replica, and still too late
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(service, peak_per_s, middle) else (middle, high)
    return high


def usable_per_s(service: Service, peak_per_s: float, replicas: int) -> float:
    """Requests a second that each replica may take, to half a percent: the most at which everything holds."""
    low, high = peak_per_s / replicas, service.utilisation * service.curve.best_per_s
    if holds(service, high * replicas, replicas):
        return high
    while high / low > 1.005:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(service, middle * replicas, replicas) else (low, middle)
    return low


def promised_s(service: Service, peak_per_s: float, replicas: int) -> float:
    """The 95th percentile of the latency with so many replicas, as the model has it; infinite where there is none."""
    found = state_of(service, peak_per_s, replicas)
    if found is None:
        return math.inf
    longest = _LONGEST * service.curve.cap / service.curve.best_per_s
    single = _single(service, peak_per_s, replicas)
    if single is not None:
        return single.percentile_s(PROMISED, longest)
    return percentile_s(*found, PROMISED, longest)
