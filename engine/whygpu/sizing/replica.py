"""One replica under random arrivals: how many requests are in flight, and how long one takes.

The replica shares its work among the requests in flight (processor sharing) at the rate that was measured with so many
of them, so that what it holds is a birth-death process with those rates (Cohen 1979, doi 10.1007/BF00264354: for
Poisson arrivals the distribution of what is in flight depends on the sizes' mean alone). How long one request takes is
followed through the same process by uniformisation (Grassmann 1977, doi 10.1016/0305-0548(77)90007-7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whygpu.checks.setup import FloatArray
from whygpu.sizing.arrivals import Arrivals
from whygpu.sizing.curve import ServiceCurve, Work

TAIL = 1e-6
GONE = 1e-4
MOST_IN_FLIGHT = 4000
_LEAST_ROOM = 16


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica and what reaches it. ``work``: the sizes of requests; ``varies``: their coefficient of variation."""

    curve: ServiceCurve
    arrivals: Arrivals
    work: Work
    varies: float

    @property
    def wait_factor(self) -> float:
        """How much longer the queue beyond the cap lasts than if sizes were exponential: (c_a^2 + c_s^2) / (c_a^2 + 1)
        (Allen and Cunneen's approximation; Allen 1990, Probability, Statistics, and Queueing Theory).
        """
        come = self.arrivals.variation**2
        return (come + self.varies**2) / (come + 1)


@dataclass(frozen=True, slots=True)
class InFlight:
    """The long-run distribution of requests in flight, ``share[n, phase]``, and of what an arriving one finds."""

    share: FloatArray
    found: FloatArray

    @property
    def mean(self) -> float:
        """Requests in flight on average."""
        return float(self.share.sum(axis=1) @ np.arange(len(self.share)))


def in_flight(curve: ServiceCurve, arrivals: Arrivals) -> InFlight | None:
    """What is in flight in the long run; None where more comes than is answered, or the queue has no end in sight."""
    if arrivals.per_s >= curve.best_per_s * 0.9999:
        return None
    most = _LEAST_ROOM + int(4 * curve.cap)
    while most <= MOST_IN_FLIGHT:
        rates = curve.rates(most)
        share = _stationary(rates, arrivals)
        if share[-1].sum() < TAIL / 100:
            chance = share @ np.array([1 / arrivals.fast_s, 1 / arrivals.slow_s])
            return InFlight(share, chance / chance.sum())
        most *= 2
    return None


def _stationary(rates: FloatArray, arrivals: Arrivals) -> FloatArray:
    """The long-run share of (in flight, phase): each level follows from the one below (a quasi-birth-death process).

    share[n] = (share[n - 1] . up) ratio[n], where ratio[n] solves the balance of flows at level n and follows from
    ratio[n + 1]; at the top an arrival is turned away. The matrices are a diagonal less a product of two vectors,
    inverted by Sherman and Morrison's formula.
    """
    up = (1 / arrivals.fast_s, 1 / arrivals.slow_s)
    begin = (arrivals.fast, 1 - arrivals.fast)
    ratios = [(0.0, 0.0)] * len(rates)
    back = begin
    for level in range(len(rates) - 1, 0, -1):
        rate = float(rates[level])
        one, two = up[0] + rate, up[1] + rate
        first, second = begin[0] / one, begin[1] / two
        there = first * up[0] + second * up[1]
        again = 1 - back[0] / one * up[0] - back[1] / two * up[1]
        ratios[level] = (first + there * back[0] / one / again, second + there * back[1] / two / again)
        back = (ratios[level][0] * rate, ratios[level][1] * rate)
    share = [(back[0] / up[0], back[1] / up[1])]
    for level in range(1, len(rates)):
        coming = share[-1][0] * up[0] + share[-1][1] * up[1]
        share.append((coming * ratios[level][0], coming * ratios[level][1]))
    found = np.array(share)
    return np.asarray(found / found.sum())


def late_share(state: InFlight, replica: Replica, limit_s: float) -> float:
    """The share of requests that take longer than ``limit_s``."""
    alive, rate = _alive(state, replica, limit_s)
    return _at(alive, rate * limit_s)


def percentile_s(state: InFlight, replica: Replica, share: float, longest_s: float) -> float:
    """The time within which this share of requests is answered; infinite where it is beyond ``longest_s``."""
    alive, rate = _alive(state, replica, longest_s)
    low, high = 0.0, longest_s
    if _at(alive, rate * high) > 1 - share:
        return math.inf
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _at(alive, rate * middle) > 1 - share else (low, middle)
    return high


def _at(alive: FloatArray, mean: float) -> float:
    """The average of ``alive[j]`` over a Poisson number j of steps."""
    logs = np.arange(len(alive)) * math.log(max(mean, 1e-300)) - mean - _log_factorials(len(alive))
    weights = np.exp(logs)
    return float(weights @ alive + max(1 - weights.sum(), 0.0) * alive[-1])


def _log_factorials(count: int) -> FloatArray:
    found: FloatArray = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, max(count, 1))))))[:count]
    return found


def _alive(state: InFlight, replica: Replica, longest_s: float) -> tuple[FloatArray, float]:
    """The chance that a request is still there after 0, 1, ... steps of the uniformised chain, and its steps a second.

    Of a request in service the chain knows how many are in flight, the phase of the arrivals and its own stages left:
    others leave at their share of the rate, it works off its stages at its own. A request beyond the cap waits for as
    many others to leave as are ahead; meanwhile others come behind it.
    """
    chain = _Chain(state, replica)
    steps = int(chain.rate * longest_s + 8 * math.sqrt(chain.rate * longest_s) + 20)
    alive = np.zeros(steps + 1)
    for step in range(steps + 1):
        alive[step] = chain.alive()
        if alive[step] < GONE:
            break
        chain.step()
    return alive, chain.rate


class _Chain:
    """The chances to be still there after some steps, from every state at once (backward equations)."""

    def __init__(self, state: InFlight, replica: Replica) -> None:
        cap, arrivals, work = int(replica.curve.cap), replica.arrivals, replica.work
        seen = np.flatnonzero(state.found > TAIL)
        self._low, top = min(int(seen[0]), cap - 1), max(int(seen[-1]) + 1, cap)
        count = np.arange(self._low + 1, top + 1, dtype=np.float64)  # this one included
        served = np.minimum(count, cap)
        each = replica.curve.rates(cap)[served.astype(int)] / served
        others, own = each * (served - 1), each * work.per_unit
        up = np.array([1 / arrivals.fast_s, 1 / arrivals.slow_s])
        leaving = replica.curve.best_per_s / replica.wait_factor
        self.rate = float(max((others + own).max() + up.max(), leaving))
        self._leave, self._own = others / self.rate, own / self.rate
        self._come = (up / self.rate)[:, None, None]
        self._stay = 1 - self._leave - self._own - self._come
        self._begin = np.array([arrivals.fast, 1 - arrivals.fast])
        self._work = work.stages
        self._there = np.ones((2, len(work.stages), len(count)))
        self._phases = state.share.sum(axis=0)
        # what waits: ahead[k] others have to leave before it is served
        self._turn = leaving / self.rate
        waiting = np.arange(1, top - cap + 1)
        behind = np.rint(waiting * min(arrivals.per_s * replica.wait_factor / replica.curve.best_per_s, 1.0)).astype(
            int
        )
        self._entry = np.minimum(cap - 1 - self._low + behind, len(count) - 1)
        self._waits = np.ones((len(waiting), len(waiting)))
        self._finds = state.found[self._low : cap]
        self._queues = state.found[cap:top]
        self._beyond = float(max(1 - self._finds.sum() - self._queues.sum(), 0.0))

    def alive(self) -> float:
        """The chance to be still there, over all that a request may find; beyond what is followed it is for sure."""
        served = self._served()[: len(self._finds)]
        return float(self._finds @ served + self._queues @ np.diag(self._waits) + self._beyond)

    def _served(self) -> FloatArray:
        """By how many are in flight, for one that begins to be served just as it comes."""
        found: FloatArray = self._begin @ (self._work @ self._there)
        return found

    def step(self) -> None:
        """One step further from the end."""
        there = self._there
        if len(self._waits):
            entering = (self._phases @ (self._work @ there))[self._entry]
            before = np.concatenate((entering[:, None], self._waits[:, :-1]), axis=1)
            self._waits = self._waits + self._turn * (before - self._waits)
        come = self._begin[0] * there[0] + self._begin[1] * there[1]
        come[:, :-1] = come[:, 1:]
        following = there * self._stay
        following[:, :, 1:] += there[:, :, :-1] * self._leave[1:]
        following[:, :, 0] += there[:, :, 0] * self._leave[0]
        following[:, 1:] += there[:, :-1] * self._own
        following += self._come * come
        self._there = following
