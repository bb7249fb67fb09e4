"""Sizes a service from its load test: capacity, replicas, redundancy, cost, with each figure's formula and basis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from whygpu.sizing.basis import Basis, fact, refuse
from whygpu.sizing.loads import Knee, Load, curve_of, knee_of, loads_of, powers_of, tails_of, variation_seen
from whygpu.sizing.replicas import Service, deciding, promised_s, replicas_needed, usable_per_s
from whygpu.sizing.service_formulas import service_calculations
from whygpu.sizing.service_size import Change, Row, ServiceSize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Point
    from whygpu.sizing.service_size import Demand


def with_redundancy(needed: int, spares: int, zones: int) -> int:
    """Replicas of which so many may fail, or all of one of the zones, and the rest still carry the peak."""
    spread = zones * math.ceil(needed / (zones - 1)) if zones > 1 else needed
    return max(needed + spares, spread)


def size_service(
    points: Sequence[Point], demand: Demand, knowledge: Knowledge, price: Callable[[int, int], float | None]
) -> ServiceSize:
    """Size a service. ``price``: USD an hour of so many replicas of so many accelerators each.

    Raises AnswerError where the points do not say how long requests take under load.
    """
    loads = loads_of(points)
    curve = curve_of(loads, fact(knowledge, "enough-throughput", "enough").value)
    if curve is None:
        message = "no load says how many requests a second were answered, and how long they took"
        hint = (
            "a point needs requests_per_s (or output_tokens_per_s and output_tokens) and latency_mean_ms or concurrency"
        )
        raise refuse("no-load", message, "measurement", hint)
    if demand.room is not None and demand.room.value >= curve.cap:
        demand = replace(demand, room=None)
    elif demand.room is not None:
        curve = curve.up_to(demand.room.value)
    variation, bursts = _variation(loads, demand, knowledge), _burstiness(demand, knowledge)
    service = Service(
        curve=curve,
        varies=min(max(variation.value, 0.05), 3.0),
        burstiness=min(bursts.value, 1.0),
        utilisation=demand.utilisation.value,
        margin=fact(knowledge, "sizing-model-margin", "margin").value,
        objective=demand.objective,
        first=tails_of(loads, "ttft"),
        token=tails_of(loads, "tpot"),
    )
    _refuse_unmeasured(service)
    knee = knee_of(loads)
    last = next((load for load in reversed(loads) if load.in_flight <= curve.cap + 1e-3), None)
    rows = tuple(
        Row(load, power, knee.at is load, load is last) for load, power in zip(loads, powers_of(loads), strict=True)
    )
    notes = tuple(_notes(loads, knee, math.inf if demand.room is not None else curve.cap))
    basis = (variation, bursts, demand.utilisation, demand.spares, demand.zones, *filter(None, [demand.room]))
    size = ServiceSize(demand, service, rows, knee, basis, notes)
    needed = replicas_needed(service, demand.peak_per_s)
    return size if needed is None else _counted(size, needed, loads, price)


def _counted(
    size: ServiceSize, needed: int, loads: Sequence[Load], price: Callable[[int, int], float | None]
) -> ServiceSize:
    """What the replicas promise and cost, and how each figure came about."""
    demand, service = size.demand, size.service
    usable = usable_per_s(service, demand.peak_per_s, needed)
    replicas = with_redundancy(needed, int(demand.spares.value), int(demand.zones.value))
    hourly = price(replicas, demand.per_replica)
    monthly = None if hourly is None else hourly * demand.hours
    tokens = next((load.point.output_tokens for load in loads if load.point.output_tokens), None)
    each = None if hourly is None or not tokens else hourly * 1e6 / (demand.peak_per_s * tokens * 3600)
    found = replace(
        size,
        needed=needed,
        decides=deciding(service, demand.peak_per_s, needed),
        replicas=replicas,
        usable_per_s=usable,
        promised_s=promised_s(service, demand.peak_per_s, needed),
        usd_per_hour=hourly,
        usd_per_month=monthly,
        usd_per_million_tokens=each,
    )
    return replace(found, calculations=tuple(service_calculations(found, tokens)))


def _refuse_unmeasured(service: Service) -> None:
    """A limit on a time that no load tells cannot be held."""
    asked = service.objective
    for limit, tails, key, what in (
        (asked.first_s, service.first, "latency_ms", "ttft_p50_ms and ttft_p95_ms"),
        (asked.token_s, service.token, "token_latency_ms", "tpot_p50_ms and tpot_p95_ms"),
    ):
        if limit is not None and tails is None:
            message = f"'{key}' is a limit on a time that the load test does not have"
            raise refuse("not-measured", message, key, f"measure {what}, or leave '{key}' out")


def _variation(loads: Sequence[Load], demand: Demand, knowledge: Knowledge) -> Basis:
    assumed = fact(knowledge, "service-variation", "variation")
    if demand.variation is not None:
        return replace(assumed, value=demand.variation, how="answered", because="", sources=())
    seen = variation_seen(loads)
    if seen is None:
        return assumed
    return replace(assumed, value=seen, how="measured", because="by p95 over p50 of the loads", sources=())


def _burstiness(demand: Demand, knowledge: Knowledge) -> Basis:
    assumed = fact(knowledge, "burstiness", "burstiness")
    if demand.burstiness is None:
        return assumed
    return replace(assumed, value=demand.burstiness, how="answered", because="", sources=())


def _notes(loads: Sequence[Load], knee: Knee, cap: float) -> list[str]:
    """What the loads do not show."""
    found = [] if knee.why_not is None else [knee.why_not]
    if not any(load.told for load in loads):
        found.append("no load has the time to the end of an answer: it is the first token's plus the others'")
    if loads and loads[0].in_flight > 1.5:
        found.append(f"the lightest load has {loads[0].in_flight:.3g} in flight: one request alone was not measured")
    if loads and math.isfinite(cap) and loads[-1].in_flight <= cap * (1 + 1e-9) and len(loads) > 1:
        found.append(f"throughput may grow beyond {cap:.3g} in flight: no heavier load was tried")
    failed = [load for load in loads if load.point.failed and load.point.completed is not None]
    share = (
        max(
            (load.point.failed or 0) / max((load.point.completed or 0) + (load.point.failed or 0), 1) for load in failed
        )
        if failed
        else 0
    )
    if share > 0.01:
        found.append(f"up to {share:.0%} of requests of a load failed: its times are of the others")
    return found


def changes_of(size: ServiceSize) -> tuple[Change, ...]:
    """How many replicas other demands would take: twice the peak, a longer limit, no bursts, no headroom."""
    service, peak = size.service, size.demand.peak_per_s
    spares, zones = int(size.demand.spares.value), int(size.demand.zones.value)

    def count(changed: Service, per_s: float) -> int | None:
        needed = replicas_needed(changed, per_s)
        return None if needed is None else with_redundancy(needed, spares, zones)

    found = [Change("twice the peak", count(service, 2 * peak))] if size.needed is not None else []
    limit = service.objective.latency_s
    if size.decides == "utilisation" and service.utilisation < 1:
        found.append(Change("a utilisation of 100%", count(replace(service, utilisation=1.0), peak)))
    if limit is not None:
        longer = replace(service, objective=replace(service.objective, latency_s=1.5 * limit))
        found.append(Change(f"p95 within {1.5 * limit * 1000:,.0f} ms", count(longer, peak)))
    if service.burstiness < 1 and size.needed is not None:
        found.append(Change("Poisson arrivals", count(replace(service, burstiness=1.0), peak)))
    return tuple(found)
