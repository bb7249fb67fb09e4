"""Replica counts against a discrete-event simulation: the promised p95 holds; with one fewer it mostly does not."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from tests.sizing.services import LATE, MARGIN, Asked, late_share, random_service, simulated, sure_late_share
from tests.sizing.simulation import latencies, seen_by_one, workload
from whygpu.sizing.curve import ServiceCurve
from whygpu.sizing.replicas import Objective, Service, deciding, promised_s, replicas_needed

REQUESTS = 2_500
CURVE = ServiceCurve((1.0, 4.0, 16.0), (0.5, 1.6, 4.0))
SERVICES = 75
"""For each kind of arrivals."""


def test_the_simulation_is_that_of_a_queue_with_a_known_answer() -> None:
    """One server, Poisson arrivals, exponential sizes: 95% are answered within ln 20 / (mu - lambda)."""
    load = workload(0.7, 1.0, 0.0, 1, 40_000, 1)
    sizes = np.random.default_rng(2).exponential(1.0, 40_000).tolist()
    took = latencies([0.0, 1.0], 1, 1, type(load)(load.gaps, sizes, load.to))
    assert float(np.quantile(took, 0.95)) == pytest.approx(math.log(20) / 0.3, rel=0.08)


def test_one_replica_of_several_is_late_as_often_as_all() -> None:
    """What is simulated of random services is one replica, with the requests that a random balancer sends to it."""
    rates = CURVE.rates(16).tolist()
    whole = latencies(rates, 16, 4, workload(12.0, 0.5, 0.7, 4, 30_000, 3))
    one = latencies(rates, 16, 1, seen_by_one(12.0, 0.5, 0.7, 4, 30_000, 4))
    assert float(np.quantile(one, 0.95)) == pytest.approx(float(np.quantile(whole, 0.95)), rel=0.08)


def test_the_model_finds_the_known_answer() -> None:
    curve = ServiceCurve((1.0,), (1.0,))
    service = Service(curve, 1.0, 1.0, 1.0, 0.0, Objective())
    assert promised_s(service, 0.7, 1) == pytest.approx(math.log(20) / 0.3, rel=0.1)


@pytest.mark.parametrize("burstiness", [1.0, 0.5])
@pytest.mark.slow
def test_a_sized_service_keeps_its_promise_and_one_replica_fewer_does_not(burstiness: float) -> None:
    asked = Asked(Service(CURVE, 0.7, burstiness, 0.95, MARGIN, Objective(latency_s=7.0)), 6.0)
    needed = replicas_needed(asked.service, asked.peak_per_s)
    assert needed is not None
    assert deciding(asked.service, asked.peak_per_s, needed) == "whole-answer"
    assert sure_late_share(asked, needed, 5) <= LATE
    assert sure_late_share(asked, needed - 1, 5) > LATE


def test_where_the_utilisation_decides_one_replica_fewer_is_used_more_and_still_in_time() -> None:
    asked = Asked(Service(CURVE, 0.7, 1.0, 0.6, MARGIN, Objective(latency_s=20.0)), 12.0)
    needed = replicas_needed(asked.service, asked.peak_per_s)
    assert needed is not None
    assert deciding(asked.service, asked.peak_per_s, needed) == "utilisation"
    assert asked.peak_per_s / (needed - 1) / CURVE.best_per_s > 0.6
    assert late_share(asked, needed - 1, REQUESTS, 5) <= LATE


@pytest.mark.slow
@pytest.mark.parametrize("burstiness", [1.0, 0.25])
def test_the_promise_holds_over_random_services_and_what_decides_breaks_at_one_fewer(burstiness: float) -> None:
    """Where one replica is a small step, one fewer is on the edge: 4.5% of requests late and not yet 5%."""
    found = [simulated(random_service(Random(seed), burstiness), seed) for seed in range(5_000, 5_000 + SERVICES)]
    sized = [item for item in found if item is not None]
    assert len(sized) >= SERVICES * 0.95
    assert sum(item.late > LATE for item in sized) <= 0.03 * len(sized)
    assert max(item.late for item in sized) <= 1.15 * LATE
    several = [item for item in sized if item.decides != "one"]
    late = [item.late_at_one_fewer for item in several if item.late_at_one_fewer is not None]
    assert sum(share > LATE for share in late) >= 0.84 * len(late)
    assert sum(share > 0.9 * LATE for share in late) >= 0.97 * len(late)
    assert sum(item.breaks for item in several) >= 0.88 * len(several)
