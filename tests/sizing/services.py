"""Random services: a service curve, what is asked of it, and whether a number of replicas keeps it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

import numpy as np

from tests.sizing.simulation import latencies, seen_by_one
from whygpu.sizing.curve import ServiceCurve
from whygpu.sizing.replicas import Decides, Objective, Service, deciding, replicas_needed

LATE = 0.05
MARGIN = 0.005


@dataclass(frozen=True, slots=True)
class Asked:
    """A service and its peak."""

    service: Service
    peak_per_s: float


def random_service(random: Random, burstiness: float, caps: tuple[int, ...] = (1, 2, 4, 8, 16, 32)) -> Asked:
    """Latency grows linearly with what is in flight; the limit is 1.3 to 6 times that of a request alone."""
    cap = random.choice(caps)
    alone = math.exp(random.uniform(math.log(0.02), math.log(20)))
    each = alone / random.uniform(1.2, 1.2 + cap)
    loads = sorted({1, *(2**power for power in range(12) if 2**power < cap), cap})
    curve = ServiceCurve(tuple(map(float, loads)), tuple(n / (alone + each * (n - 1)) for n in loads))
    varies = random.uniform(0.1, 1.3)
    service = Service(curve, varies, burstiness, random.uniform(0.6, 0.95), MARGIN, Objective())
    limit = service.idle_tail_s() * random.uniform(1.3, 6)
    service = Service(curve, varies, burstiness, service.utilisation, MARGIN, Objective(latency_s=limit))
    return Asked(service, curve.best_per_s * math.exp(random.uniform(math.log(0.3), math.log(10))))


def late_share(asked: Asked, replicas: int, count: int, seed: int) -> float:
    """The share of so many simulated requests of one replica that are late; 1 where more comes than is answered."""
    service, curve = asked.service, asked.service.curve
    limit = service.objective.latency_s
    assert limit is not None
    if asked.peak_per_s / replicas >= curve.best_per_s:
        return 1.0
    load = seen_by_one(asked.peak_per_s, service.burstiness, service.varies, replicas, count, seed)
    took = latencies(curve.rates(int(curve.cap)).tolist(), int(curve.cap), 1, load)
    return float(np.mean(took > limit))


def sure_late_share(asked: Asked, replicas: int, seed: int) -> float:
    """The same of as many requests as it takes to tell on which side of ``LATE`` it is, at most 50,000.

    Where a replica is used much, its queue takes long to build: a short run would not see it.
    """
    used = asked.peak_per_s / replicas / asked.service.curve.best_per_s
    first = LATE if used > 0.8 else late_share(asked, replicas, 4_000, seed)
    return first if abs(first - LATE) > LATE / 2 else late_share(asked, replicas, 50_000, seed + 1)


@dataclass(frozen=True, slots=True)
class Found:
    """A sized service, simulated: who is late at the count, and at one fewer where the limit decides; ``overused``:
    at one fewer each gets more than its planned utilisation.
    """

    decides: Decides
    late: float
    late_at_one_fewer: float | None
    overused: bool

    @property
    def breaks(self) -> bool:
        """Whether what decides is missed with one replica fewer; more than is answered is more than is planned for."""
        return self.overused if self.late_at_one_fewer is None else self.late_at_one_fewer > LATE


def simulated(asked: Asked, seed: int) -> Found | None:
    """Size a service and simulate it; None where no number of replicas is enough."""
    service, peak = asked.service, asked.peak_per_s
    needed = replicas_needed(service, peak)
    if needed is None:
        return None
    decides = deciding(service, peak, needed)
    late = sure_late_share(asked, needed, seed)
    fewer = needed - 1
    return Found(
        decides,
        late,
        sure_late_share(asked, fewer, seed + 2) if decides == "whole-answer" else None,
        fewer > 0 and peak / fewer / service.curve.best_per_s > service.utilisation,
    )
