"""How many replicas a service needs, so that 95% of its requests are answered in time at the peak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from whygpu.sizing.arrivals import Arrivals, felt_burstiness, split_arrivals
from whygpu.sizing.curve import ServiceCurve, Work, lognormal_work
from whygpu.sizing.loads import Tails
from whygpu.sizing.replica import InFlight, Replica, in_flight, late_share, percentile_s

MOST_REPLICAS = 100_000
PROMISED = 0.95
_LONGEST = 60.0
"""Times the mean latency at the cap that a percentile is looked for in."""


@dataclass(frozen=True, slots=True)
class Objective:
    """Within how many seconds 95% of requests have to be answered, have their first token, have each further one."""

    latency_s: float | None = None
    first_s: float | None = None
    token_s: float | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """One replica as measured, and what is asked of it. ``margin``: how far the model may be off under Poisson
    arrivals, a share of latency.

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
        """The limit that the model is held to: the margin is for Poisson arrivals, and grows with how they vary."""
        return limit_s / (1 + self.margin / math.sqrt(self.burstiness))

    def idle_tail_s(self) -> float:
        """The 95th percentile of a request that has a replica for itself."""
        spread = math.sqrt(math.log1p(self.varies**2))
        return self.curve.idle_s * math.exp(1.6448536269514722 * spread - spread**2 / 2)


@lru_cache(maxsize=256)
def _work(varies: float) -> Work:
    return lognormal_work(varies)


def state_of(service: Service, peak_per_s: float, replicas: int) -> tuple[InFlight, Replica] | None:
    """What is in flight at each of so many replicas; None where they cannot keep up."""
    felt = felt_burstiness(service.burstiness, service.varies, service.curve.cap)
    arrivals: Arrivals = split_arrivals(peak_per_s, felt, replicas)
    state = in_flight(service.curve, arrivals)
    return None if state is None else (state, Replica(service.curve, arrivals, service.work, service.varies))


def holds(service: Service, peak_per_s: float, replicas: int) -> bool:
    """Whether every objective and the utilisation hold with so many replicas."""
    if peak_per_s / replicas > service.utilisation * service.curve.best_per_s * (1 + 1e-9):
        return False
    found = state_of(service, peak_per_s, replicas)
    if found is None:
        return False
    state, replica = found
    limit = service.objective.latency_s
    late = 1 - PROMISED
    if limit is not None and late_share(state, replica, service.safe_s(limit)) > late:
        return False
    return all(share <= late for share in _late_tokens(service, state, replica))


def _late_tokens(service: Service, state: InFlight, replica: Replica) -> list[float]:
    """The shares of requests whose first token, and whose further tokens, come too late.

    An arriving request finds so many in flight; those beyond the cap have to be served before its first token.
    """
    found = state.found
    count = np.arange(1, len(found) + 1, dtype=np.float64)
    served = np.minimum(count, service.curve.cap)
    wait = (count - served) / service.curve.best_per_s * replica.wait_factor
    asked = (
        (service.first, service.objective.first_s, wait),
        (service.token, service.objective.token_s, np.zeros(len(count))),
    )
    return [
        float(found @ tails.late_shares(served, extra, service.safe_s(limit)))
        for tails, limit, extra in asked
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
    """Requests a second that each of so many replicas may take, to three digits: the most at which everything holds."""
    low, high = peak_per_s / replicas, service.utilisation * service.curve.best_per_s
    if holds(service, high * replicas, replicas):
        return high
    while high / low > 1.002:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(service, middle * replicas, replicas) else (low, middle)
    return low


def promised_s(service: Service, peak_per_s: float, replicas: int) -> float:
    """The 95th percentile of the latency with so many replicas, as the model has it; infinite where there is none."""
    found = state_of(service, peak_per_s, replicas)
    if found is None:
        return math.inf
    longest = _LONGEST * service.curve.cap / service.curve.best_per_s
    return percentile_s(*found, PROMISED, longest)
