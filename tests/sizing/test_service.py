"""Loads to a curve, a knee and replicas: what must hold whatever is measured."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu.measured.measurement import Point
from whygpu.sizing.curve import ServiceCurve
from whygpu.sizing.loads import curve_of, knee_of, loads_of, variation_seen
from whygpu.sizing.replicas import Objective, Service, promised_s, replicas_needed, usable_per_s
from whygpu.sizing.service import with_redundancy

CURVE = ServiceCurve((1.0, 2.0, 4.0, 8.0), (1.0, 1.8, 3.0, 4.4))
SERVICE = Service(CURVE, 0.7, 0.5, 0.8, 0.05, Objective(latency_s=5.0))
QUICK = settings(max_examples=8, deadline=None)


def _point(concurrency: float, per_s: float, p95_ms: float | None = None) -> Point:
    mean = 1000 * concurrency / per_s
    p50 = None if p95_ms is None else mean * 0.9
    return Point(
        concurrency=concurrency, requests_per_s=per_s, latency_mean_ms=mean, latency_p50_ms=p50, latency_p95_ms=p95_ms
    )


SATURATING = [
    _point(1, 1, 1500),
    _point(2, 1.9, 1600),
    _point(4, 3.4, 1800),
    _point(8, 4.4, 3000),
    _point(16, 4.5, 6000),
    _point(32, 4.3, 13000),
]


@QUICK
@given(peak=st.floats(0.5, 20), more=st.floats(1.01, 2))
def test_more_load_never_takes_fewer_replicas(peak: float, more: float) -> None:
    fewer, greater = replicas_needed(SERVICE, peak), replicas_needed(SERVICE, peak * more)
    assert fewer is not None
    assert greater is not None
    assert fewer <= greater


@QUICK
@given(limit=st.floats(3, 20), tighter=st.floats(0.5, 0.99))
@pytest.mark.slow
def test_a_tighter_objective_never_takes_fewer_replicas(limit: float, tighter: float) -> None:
    loose = replicas_needed(replace(SERVICE, objective=Objective(latency_s=limit)), 10.0)
    tight = replicas_needed(replace(SERVICE, objective=Objective(latency_s=limit * tighter)), 10.0)
    assert tight is None or (loose is not None and loose <= tight)


@QUICK
@given(burstiness=st.floats(0.2, 1), burstier=st.floats(0.3, 0.99))
def test_burstier_arrivals_never_take_fewer_replicas(burstiness: float, burstier: float) -> None:
    calm = replicas_needed(replace(SERVICE, burstiness=burstiness), 10.0)
    bursty = replicas_needed(replace(SERVICE, burstiness=max(burstiness * burstier, 0.2)), 10.0)
    assert calm is not None
    assert bursty is None or calm <= bursty


def test_what_is_promised_and_usable_agrees_with_the_count() -> None:
    needed = replicas_needed(SERVICE, 10.0)
    assert needed is not None
    assert needed > 1
    assert promised_s(SERVICE, 10.0, needed) * 1.05 <= 5.0 * 1.001
    usable = usable_per_s(SERVICE, 10.0, needed)
    assert 10.0 / needed <= usable < 10.0 / (needed - 1)
    assert usable <= 0.8 * CURVE.best_per_s


def test_a_limit_below_one_request_alone_is_met_by_no_number_of_replicas() -> None:
    alone = SERVICE.idle_tail_s()
    assert replicas_needed(replace(SERVICE, objective=Objective(latency_s=alone * 0.9)), 1.0) is None
    assert replicas_needed(replace(SERVICE, objective=Objective(latency_s=alone * 1.5)), 1.0) is not None


def test_no_objective_leaves_the_utilisation_to_bind() -> None:
    free = replace(SERVICE, objective=Objective())
    assert replicas_needed(free, 0.8 * CURVE.best_per_s * 3) == 3
    assert replicas_needed(free, 0.8 * CURVE.best_per_s * 3.01) == 4


def test_in_flight_is_littles_law_whether_a_number_or_a_rate_was_kept() -> None:
    kept = loads_of([_point(8, 4.0)])[0]
    sent = loads_of([Point(request_rate=4, requests_per_s=4.0, latency_mean_ms=2000)])[0]
    assert kept.in_flight == sent.in_flight == pytest.approx(8)
    light = loads_of([Point(request_rate=0.1, requests_per_s=0.1, latency_mean_ms=2000)])[0]
    assert light.in_flight == 1
    assert light.per_s == pytest.approx(0.5), "what one request alone is answered at, not what was sent"


def test_latency_without_its_end_is_the_first_token_and_the_others() -> None:
    (load,) = loads_of([Point(concurrency=4, requests_per_s=2, ttft_p50_ms=100, tpot_p50_ms=10, output_tokens=101)])
    assert load.mean_s == pytest.approx(1.1)
    assert not load.told


def test_a_point_without_throughput_or_latency_is_no_load() -> None:
    assert loads_of([Point(concurrency=4), Point(requests_per_s=4)]) == ()


def test_the_knee_is_where_p95_begins_to_grow_faster_than_throughput() -> None:
    loads = loads_of(SATURATING)
    knee = knee_of(loads)
    assert knee.at is not None
    assert knee.at.in_flight == 4
    beyond = [(a, b) for a, b in pairwise(loads) if a.in_flight >= 4]
    for lighter, heavier in beyond:
        assert lighter.tail_s is not None
        assert heavier.tail_s is not None
        assert heavier.tail_s / lighter.tail_s > heavier.per_s / lighter.per_s


@pytest.mark.parametrize("count", [1, 2])
def test_few_loads_show_no_knee(count: int) -> None:
    knee = knee_of(loads_of(SATURATING[:count]))
    assert knee.at is None
    assert knee.why_not is not None
    assert "measure at least three" in knee.why_not


def test_loads_that_end_before_the_knee_say_so() -> None:
    knee = knee_of(loads_of(SATURATING[:3]))
    assert knee.at is None
    assert knee.why_not is not None
    assert "heavier loads" in knee.why_not


def test_no_more_is_admitted_than_throughput_grows_for() -> None:
    curve = curve_of(loads_of(SATURATING), 0.97)
    assert curve is not None
    assert curve.cap == 8, "16 in flight do 2% more, which is noise"
    assert curve.rates(40)[40] == pytest.approx(4.4)


def test_how_unlike_requests_are_is_seen_in_p95_over_p50() -> None:
    assert variation_seen(loads_of([_point(4, 3.4)])) is None
    narrow = variation_seen(loads_of([_point(4, 3.4, 1300)]))
    wide = variation_seen(loads_of([_point(4, 3.4, 4000)]))
    assert narrow is not None
    assert wide is not None
    assert narrow < 0.5
    assert wide > 0.8


@pytest.mark.parametrize(
    ("needed", "spares", "zones", "replicas"), [(5, 0, 1, 5), (5, 1, 1, 6), (5, 1, 3, 9), (1, 1, 3, 3), (8, 0, 2, 16)]
)
def test_the_rest_carries_the_peak_though_a_replica_or_a_zone_fails(
    needed: int, spares: int, zones: int, replicas: int
) -> None:
    assert with_redundancy(needed, spares, zones) == replicas
    if zones > 1:
        assert replicas - -(-replicas // zones) >= needed
    assert replicas - spares >= needed
