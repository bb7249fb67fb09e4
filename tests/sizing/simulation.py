"""A service as a discrete-event simulation (simpy), written apart from the model that sizes it.

Requests come with Gamma distributed times between them and go to a replica at random. A replica admits so many at once
and works on those it has admitted at the rate of its service curve, each at an equal share; others wait in turn.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy


@dataclass(frozen=True, slots=True)
class Workload:
    """``sizes`` are over their mean; ``gaps`` are seconds between requests; ``to``: the replica each goes to."""

    gaps: Sequence[float]
    sizes: Sequence[float]
    to: Sequence[int]


def workload(per_s: float, burstiness: float, varies: float, replicas: int, count: int, seed: int) -> Workload:
    """Random requests: Gamma between them, lognormal sizes, replicas drawn at random."""
    random = np.random.default_rng(seed)
    spread = math.sqrt(math.log1p(varies**2))
    return Workload(
        random.gamma(burstiness, 1 / (per_s * burstiness), count).tolist(),
        np.exp(random.normal(-(spread**2) / 2, spread, count)).tolist(),
        random.integers(0, replicas, count).tolist(),
    )


def seen_by_one(per_s: float, burstiness: float, varies: float, replicas: int, count: int, seed: int) -> Workload:
    """So many requests as one of the replicas sees them: of the whole stream those that are sent to it."""
    random = np.random.default_rng(seed)
    came: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    found, last = 0, 0.0
    while found < count:
        times = last + np.cumsum(random.gamma(burstiness, 1 / (per_s * burstiness), 100_000))
        last = float(times[-1])
        came.append(times[random.integers(0, replicas, len(times)) == 0])
        found += len(came[-1])
    gaps = np.diff(np.concatenate((np.zeros(1), *came)))[:count]
    spread = math.sqrt(math.log1p(varies**2))
    sizes = np.exp(random.normal(-(spread**2) / 2, spread, count))
    return Workload(gaps.tolist(), sizes.tolist(), [0] * count)


class _Replica:
    """Shares its rate equally; ``done[k]``: when each admitted request ends, in work done for each of them so far."""

    def __init__(self, env: simpy.Environment, rates: Sequence[float], cap: int, took: list[float]) -> None:
        self._env, self._rates, self._cap, self._took = env, rates, cap, took
        self._each, self._since = 0.0, 0.0
        self._admitted: list[tuple[float, int]] = []
        self._waiting: deque[tuple[int, float]] = deque()
        self._came: dict[int, float] = {}
        self._alarm = 0

    def _advance(self) -> None:
        count = len(self._admitted)
        if count:
            self._each += (self._env.now - self._since) * self._rates[count] / count
        self._since = self._env.now

    def receive(self, request: int, size: float) -> None:
        self._advance()
        self._came[request] = self._env.now
        if len(self._admitted) < self._cap:
            heapq.heappush(self._admitted, (self._each + size, request))
        else:
            self._waiting.append((request, size))
        self._set_alarm()

    def _set_alarm(self) -> None:
        """When the next one ends, if nothing comes between."""
        self._alarm += 1
        if self._admitted:
            count = len(self._admitted)
            left = max(self._admitted[0][0] - self._each, 0.0) * count / self._rates[count]
            event = self._env.timeout(left, self._alarm)
            assert event.callbacks is not None
            event.callbacks.append(self._ring)

    def _ring(self, event: simpy.Event) -> None:
        if event.value != self._alarm:  # something came between
            return
        self._advance()
        _, request = heapq.heappop(self._admitted)
        self._took[request] = self._env.now - self._came.pop(request)
        if self._waiting:
            following, size = self._waiting.popleft()
            heapq.heappush(self._admitted, (self._each + size, following))
        self._set_alarm()


def latencies(rates: Sequence[float], cap: int, replicas: int, load: Workload) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Seconds that each request took, those of the first tenth left out. ``rates[n]``: requests a second with n."""
    env = simpy.Environment()
    took = [math.nan] * len(load.gaps)
    servers = [_Replica(env, rates, cap, took) for _ in range(replicas)]

    def source() -> Generator[simpy.Event, Any, None]:
        for number, (gap, size, to) in enumerate(zip(load.gaps, load.sizes, load.to, strict=True)):
            yield env.timeout(gap)
            servers[to].receive(number, size)

    env.process(source())
    env.run()
    return np.array(took[len(took) // 10 :])
