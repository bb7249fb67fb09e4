"""A service as it is asked for and as it is sized: the records that sizing fills, rules read and views draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whygpu.checks.calculation import Calculation
    from whygpu.sizing.basis import Basis
    from whygpu.sizing.loads import Knee, Load
    from whygpu.sizing.replicas import Decides, Objective, Service


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of the service: at the peak so many requests a second, 95% of them within the objective's limits.

    ``per_replica``: accelerators that a replica takes; ``hours``: of a month; ``burstiness``, ``variation``: None where
    they are not answered; ``room``: requests that fit a replica's memory at once, None where that bounds nothing.
    """

    peak_per_s: float
    objective: Objective
    utilisation: Basis
    spares: Basis
    zones: Basis
    per_replica: int = 1
    hours: float = 730.0
    burstiness: float | None = None
    variation: float | None = None
    room: Basis | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One load of the test as it is shown. ``power``: throughput over latency; ``knee``: latency turns unstable from it
    on; ``cap``: no more is admitted.
    """

    load: Load
    power: float
    knee: bool
    cap: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What another demand would come to."""

    change: str
    replicas: int | None


@dataclass(frozen=True, slots=True)
class ServiceSize:
    """The service as sized; ``needed`` is None where no number of replicas meets the objective."""

    demand: Demand
    service: Service
    rows: tuple[Row, ...]
    knee: Knee
    basis: tuple[Basis, ...]
    notes: tuple[str, ...]
    needed: int | None = None
    decides: Decides | None = None
    replicas: int | None = None
    usable_per_s: float | None = None
    promised_s: float | None = None
    usd_per_hour: float | None = None
    usd_per_month: float | None = None
    usd_per_million_tokens: float | None = None
    calculations: tuple[Calculation, ...] = ()

    @property
    def accelerators(self) -> int | None:
        """Of all replicas."""
        return None if self.replicas is None else self.replicas * self.demand.per_replica

    def figures(self) -> dict[str, float | bool | str]:
        """What rules read, by name without ``sizing.``."""
        service, curve = self.service, self.service.curve
        found: dict[str, float | bool | str | None] = {
            "peak_per_s": self.demand.peak_per_s,
            "best_per_s": curve.best_per_s,
            "cap": curve.cap,
            "memory_room": None if self.demand.room is None else self.demand.room.value,
            "knee": None if self.knee.at is None else self.knee.at.in_flight,
            "idle_p95_ms": service.idle_tail_s() * 1000,
            "attainable": self.needed is not None,
            "target_utilisation": self.demand.utilisation.value,
            "spare_replicas": self.demand.spares.value,
            "zones": self.demand.zones.value,
            "burstiness": service.burstiness,
            "variation": service.varies,
            "needed": self.needed,
            "decides": self.decides,
            "replicas": self.replicas,
            "accelerators": self.accelerators,
            "usable_per_s": self.usable_per_s,
            "usable_share": None if self.usable_per_s is None else self.usable_per_s / curve.best_per_s,
            "promised_p95_ms": None if self.promised_s is None else self.promised_s * 1000,
            "usd_per_month": self.usd_per_month,
            "usd_per_million_tokens": self.usd_per_million_tokens,
        }
        limit = service.objective.latency_s
        if limit is not None:
            found["p95_ms"] = limit * 1000
        return {name: value for name, value in found.items() if value is not None and not _infinite(value)}


def _infinite(value: float | bool | str) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
