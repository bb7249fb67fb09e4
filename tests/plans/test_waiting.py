"""How long pictures wait for each other, beside a simulation; and plans that have replicas for it."""

from __future__ import annotations

import heapq
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygpu.plans.waiting import wait_p95_ms

if TYPE_CHECKING:
    import whygpu

_OF = 200_000


def _simulated(each_s: float, servers: int, per_s: float) -> float:
    """Seconds that 95% of requests wait at most, which come at random and take as long each."""
    draw, now, waits = random.Random(7), 0.0, []
    free = [0.0] * servers
    for _ in range(_OF):
        now += draw.expovariate(per_s)
        begins = max(now, heapq.heappop(free))
        waits.append(begins - now)
        heapq.heappush(free, begins + each_s)
    return float(np.quantile(waits, 0.95))


@pytest.mark.parametrize(("each_s", "servers", "per_s"), [(4.84, 6, 1.0), (4.84, 7, 1.0), (3.6, 1, 0.2), (0.57, 8, 12)])
def test_the_wait_is_that_of_a_simulation(each_s: float, servers: int, per_s: float) -> None:
    found = float(wait_p95_ms(np.array([1000 * each_s]), np.array([servers]), per_s)[0]) / 1000
    assert each_s + found == pytest.approx(each_s + _simulated(each_s, servers, per_s), rel=0.2)


@given(st.floats(1, 1e6), st.integers(1, 500), st.floats(1e-3, 1e3))
def test_more_servers_and_fewer_requests_never_wait_longer(each_ms: float, servers: int, per_s: float) -> None:
    def wait(servers: int, per_s: float) -> float:
        return float(wait_p95_ms(np.array([each_ms]), np.array([servers]), per_s)[0])

    assert wait(servers + 1, per_s) <= wait(servers, per_s)
    assert wait(servers, per_s / 2) <= wait(servers, per_s)


def test_plans_grow_until_pictures_come_in_time_with_their_wait(kb: whygpu.KnowledgeBase) -> None:
    work = {"phase": "inference", "model": "stable-diffusion-xl", "latency_ms": 8000, "accelerators": ["RTX 5090"]}
    counts = []
    for per_s in (0.05, 0.2, 1.0, 3.0):
        best = kb.advise({**work, "requests_per_second": per_s}, engine="evaluator").recommendation
        assert best is not None
        each = best.speed["ttft_ms"]
        assert each is not None
        wait = float(wait_p95_ms(np.array([each.likely]), np.array([best.parallelism.data]), per_s)[0])
        assert each.likely + wait <= 8000
        counts.append(best.count)
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
