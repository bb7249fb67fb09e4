"""How each figure of a sized service came about: its formula, the numbers put in, where they come from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whygpu.checks.calculation import Calculation, Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.sizing.service_size import ServiceSize


def service_calculations(size: ServiceSize, tokens: float | None) -> Iterator[Calculation]:
    """The figures of a service that some number of replicas serves; ``tokens``: of an answer, where that is known."""
    peak = Term("peak", size.demand.peak_per_s, "requests/s", (), "requests a second at the peak (answered)")
    yield from _capacity(size, peak)
    replicas = _replicas(size)
    yield replicas
    each = Term("per_replica", float(size.demand.per_replica), "accelerators", (), "of a replica")
    count = float(size.accelerators or 0)
    yield Calculation("accelerators", "replicas * per_replica", (replicas.as_term(), each), count, "accelerators")
    yield from _cost(size, peak, tokens)


def _capacity(size: ServiceSize, peak: Term) -> Iterator[Calculation]:
    demand, curve = size.demand, size.service.curve
    usable, needed = size.usable_per_s or math.nan, size.needed or 0
    at = f"highest throughput, at {curve.cap:.3g} in flight (measured)"
    in_time = "the most at which every objective holds under random arrivals"
    terms = (
        demand.utilisation.term("utilisation"),
        Term("best", curve.best_per_s, "requests/s", (), at),
        Term("in_time", usable, "requests/s", (), in_time),
    )
    yield Calculation("usable_per_s", "min(utilisation * best, in_time)", terms, usable, "requests/s")
    if math.ceil(peak.value / usable - 1e-9) != needed:  # with one fewer, bursts are split less and less is usable
        usable = peak.value / needed
    found = Term("usable", usable, "requests/s", (), "of a replica")
    yield Calculation("needed", "ceil(peak / usable)", (peak, found), float(needed), "replicas")


def _replicas(size: ServiceSize) -> Calculation:
    demand = size.demand
    terms: tuple[Term, ...] = (
        Term("needed", float(size.needed or 0), "replicas", (), "for the peak"),
        demand.spares.term("spares"),
    )
    formula = "needed + spares"
    if demand.zones.value > 1:
        formula = "max(needed + spares, zones * ceil(needed / (zones - 1)))"
        terms = (*terms, demand.zones.term("zones"))
    return Calculation("replicas", formula, terms, float(size.replicas or 0), "replicas")


def _cost(size: ServiceSize, peak: Term, tokens: float | None) -> Iterator[Calculation]:
    if size.usd_per_hour is None or size.usd_per_month is None:
        return
    hourly = Term("usd_per_hour", size.usd_per_hour, "USD/h", (), "all replicas")
    hours = Term("hours", size.demand.hours, "h", (), "of a month")
    yield Calculation("usd_per_month", "usd_per_hour * hours", (hourly, hours), size.usd_per_month, "USD/month")
    if tokens and size.usd_per_million_tokens is not None:
        output = Term("output_tokens", tokens, "tokens", (), "of an answer (measured)")
        formula = "usd_per_hour * 1000000 / (peak * output_tokens * 3600)"
        each = size.usd_per_million_tokens
        yield Calculation("usd_per_million_tokens", formula, (hourly, peak, output), each, "USD")
