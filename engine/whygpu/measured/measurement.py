"""A measurement as a record: by which tool, of what, its single figures, one point for each load, one row for each
number of accelerators. Figures go by the names of ``measured.`` in the vocabulary, in its units.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.errors import Location, Problem

VERSION = 1
"""Of the schema of a measurement file."""
PREFIX = "measured."


@dataclass(frozen=True, slots=True)
class Tool:
    """What measured."""

    name: str
    version: str | None = None


class SetupAnswers(Protocol):
    """What is read of the answers that describe a setup: as given, typed, and where each stands."""

    @property
    def given(self) -> Mapping[str, Any]:
        """As they were given."""

    @property
    def values(self) -> Mapping[str, float | bool | str]:
        """Typed values by answer key."""

    @property
    def locations(self) -> Mapping[str, Location]:
        """Where each stands."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What was measured, as far as it is said.

    ``answers``: the setup as answers, checked; ``model_name``: the model as it was written; ``accelerator``: an id of
    the catalogue; ``count``: accelerators in all; ``nodes``: machines.
    """

    answers: SetupAnswers
    model_name: str | None = None
    accelerator: str | None = None
    count: int | None = None
    nodes: int | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One load that was tried, and what came of it. Units are those of ``measured.`` in the vocabulary."""

    concurrency: float | None = None
    request_rate: float | None = None
    batch: float | None = None
    context_tokens: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    input_tokens_per_s: float | None = None
    latency_mean_ms: float | None = None
    latency_p50_ms: float | None = None
    latency_p90_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    ttft_mean_ms: float | None = None
    ttft_p50_ms: float | None = None
    ttft_p90_ms: float | None = None
    ttft_p95_ms: float | None = None
    ttft_p99_ms: float | None = None
    tpot_mean_ms: float | None = None
    tpot_p50_ms: float | None = None
    tpot_p90_ms: float | None = None
    tpot_p95_ms: float | None = None
    tpot_p99_ms: float | None = None
    memory_gib: float | None = None
    completed: float | None = None
    failed: float | None = None
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class Scaling:
    """The same work on a number of accelerators, in the same units. ``because``: why a row looks odd and is right."""

    accelerators: float
    nodes: float | None = None
    step_ms: float | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    communication_share: float | None = None
    input_share: float | None = None
    because: str | None = None


POINT = tuple(item.name for item in fields(Point))
SCALING = tuple(item.name for item in fields(Scaling) if item.name != "because")
SETUP = ("accelerator", "nodes")
"""What a setup says beside answers."""
PERCENTILES = ("p50", "p90", "p95", "p99")
TIMES = ("latency", "ttft", "tpot")
"""What percentiles are measured of."""
STEP_SHARES = ("compute_share", "memory_share", "input_share", "communication_share")
"""The parts of a training step: together no more than all of it."""
OF_DEVICE = ("product_tflops", "copy_gb_s", "move_gb_s")
"""Figures of a device alone, which are held against the catalogue."""
SIZED = (
    *("checkpoint_s", "checkpoint_interval_s", "recovery_s", "failures_per_day", "memory_total_gib"),
    *("compute_share", "memory_share", "weights_gib", "activation_gib", "kv_cache_gib", "kv_cache_tokens"),
    *("kv_cache_requests", "graphs_gib", "prefix_hit_rate"),
)
"""Figures that sizing and estimates read."""
TOLD = ("memory_busy", "power_share", "temperature_c", "queue_p50_ms")
"""Figures that tools write and that are shown as they are."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured. ``name``: the file it came from.

    ``figures``: by name without ``measured.``; ``locations``: where each stands; ``questions``: what looks odd in it
    and is kept.
    """

    name: str
    setup: Setup
    tool: Tool | None = None
    date: str | None = None
    source: str | None = None
    figures: Mapping[str, float | bool | str] = field(default_factory=lambda: MappingProxyType({}))
    points: tuple[Point, ...] = ()
    scaling: tuple[Scaling, ...] = ()
    locations: Mapping[str, Location] = field(default_factory=lambda: MappingProxyType({}))
    questions: tuple[Problem, ...] = ()

    def number(self, name: str) -> float | None:
        """A figure that is a number; None where it was not measured."""
        value = self.figures.get(name)
        return value if isinstance(value, float) else None
