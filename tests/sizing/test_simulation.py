"""Replica counts against a discrete-event simulation: the promised p95 holds; with one fewer it mostly does not."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from tests.sizing.services import LATE, Asked, late_share, random_service
from tests.sizing.simulation import latencies, workload
from whygpu.sizing.curve import ServiceCurve
from whygpu.sizing.replicas import Objective, Service, promised_s, replicas_needed

REQUESTS = 2_500
SERVICES = 110
"""For each kind of arrivals."""


def test_the_simulation_is_that_of_a_queue_with_a_known_answer() -> None:
    """One server, Poisson arrivals, exponential sizes: 95% are answered within ln 20 / (mu - lambda)."""
    load = workload(0.7, 1.0, 0.0, 1, 40_000, 1)
    sizes = np.random.default_rng(2).exponential(1.0, 40_000).tolist()
    took = latencies([0.0, 1.0], 1, 1, type(load)(load.gaps, sizes, load.to))
    assert float(np.quantile(took, 0.95)) == pytest.approx(math.log(20) / 0.3, rel=0.08)


def test_the_model_finds_the_known_answer() -> None:
    curve = ServiceCurve((1.0,), (1.0,))
    service = Service(curve, 1.0, 1.0, 1.0, 0.0, Objective())
    assert promised_s(service, 0.7, 1) == pytest.approx(math.log(20) / 0.3, rel=0.1)


@pytest.mark.parametrize("burstiness", [1.0, 0.5])
def test_a_sized_service_keeps_its_promise_and_one_replica_fewer_does_not(burstiness: float) -> None:
    curve = ServiceCurve((1.0, 4.0, 16.0), (0.5, 1.6, 4.0))
    asked = Asked(Service(curve, 0.7, burstiness, 0.95, 0.05, Objective(latency_s=8.0)), 12.0)
    needed = replicas_needed(asked.service, asked.peak_per_s)
    assert needed is not None
    assert needed > 1
    assert late_share(asked, needed, REQUESTS, 5) <= LATE
    assert _breaks(asked, needed - 1, 5)


def _breaks(asked: Asked, replicas: int, seed: int) -> bool:
    """Whether the objective or the utilisation that was chosen is missed."""
    used = asked.peak_per_s / replicas / asked.service.curve.best_per_s
    return used > asked.service.utilisation or late_share(asked, replicas, REQUESTS, seed) > LATE


@pytest.mark.slow
@pytest.mark.parametrize("burstiness", [1.0, 0.4])
def test_the_promise_holds_over_random_services(burstiness: float) -> None:
    """Each within what so few requests can tell, and all together without any allowance."""
    late, broken, several = [], 0, 0
    for seed in range(SERVICES):
        asked = random_service(Random(seed), burstiness, (1, 2, 4, 8, 16))
        needed = replicas_needed(asked.service, asked.peak_per_s)
        if needed is None:
            continue
        late.append(late_share(asked, needed, REQUESTS, seed))
        if needed > 1:
            several += 1
            broken += _breaks(asked, needed - 1, seed)
    assert len(late) >= SERVICES * 0.95
    deviation = math.sqrt(LATE * (1 - LATE) / REQUESTS)
    assert max(late) <= LATE + 6 * deviation, "requests that wait together are late together: six deviations, not three"
    assert sum(share > LATE + deviation for share in late) <= 0.03 * len(late)
    assert float(np.mean(late)) <= LATE
    assert broken >= 0.7 * several
