"""The primer's two programs as benchmarks, and what explains them: a matrix product, copies, the input pipeline.

The primer times one pass without warm-up and without waiting for the device (primer-12), and one epoch of single images
(primer-13). Here the same work is warmed up, repeated and synchronised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.answers import check, node_of
from whygpu.measured.measurement import Measurement, Point, Setup, Tool
from whygpu.measuring.timing import Timing, time_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whygpu.knowledge.base import Knowledge
    from whygpu.measuring.backend import Backend, Ran
    from whygpu.measuring.timing import Clock, Work

BATCH = 100
"""Images of one pass (primer-12)."""
IMAGES = 10_000
"""Images of one epoch (primer-13)."""
SIDE = 224
"""Pixels of a side of an image (primer-12)."""
LEARNING_RATE, MOMENTUM = 0.01, 0.9
"""Of SGD (primer-13)."""
PRODUCT_SIDE: Mapping[str, int] = MappingProxyType({"cpu": 2048})
COPIED: Mapping[str, int] = MappingProxyType({"cpu": 2**28})
_PRODUCT_SIDE, _COPIED, _MOVED = 8192, 2**30, 2**28
"""On accelerators: large enough that to start it counts for nothing."""
SHARES: Mapping[str, float] = MappingProxyType(
    {"inference": 0.3, "training": 0.35, "pipeline": 0.1, "product": 0.1, "copy": 0.08, "move": 0.07}
)
"""Of the time there is, by program."""
NAMES = tuple(SHARES)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be measured, and for how long."""

    programs: tuple[str, ...] = NAMES
    batch: int = BATCH
    train_batch: int = 1
    images: int | None = None
    """Exactly so many images of an epoch; None: as many as there is time for, 10,000 at most."""
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured of each program; those that do not apply are not there."""

    ran: Ran
    asked: Asked
    timings: Mapping[str, Timing] = field(default_factory=lambda: MappingProxyType({}))
    memory_gib: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def per_s(self, program: str) -> float | None:
        """Images a second of inference, training or the pipeline."""
        timing = self.timings.get(program)
        batch = self.asked.train_batch if program == "training" else self.asked.batch
        return None if timing is None else batch / timing.median_s

    @property
    def epoch_s(self) -> float | None:
        """Seconds of an epoch of 10,000 images, at the pace of those that were timed."""
        pace = self.per_s("training")
        return None if pace is None else IMAGES / pace

    @property
    def product_tflops(self) -> float | None:
        """Operations of the matrix product a second: two for each of size^3."""
        timing = self.timings.get("product")
        side = PRODUCT_SIDE.get(self.ran.kind, _PRODUCT_SIDE)
        return None if timing is None else 2 * side**3 / timing.median_s / 1e12

    @property
    def copy_gb_s(self) -> float | None:
        """Bytes that a copy reads and writes a second: two for each byte copied."""
        timing = self.timings.get("copy")
        size = COPIED.get(self.ran.kind, _COPIED)
        return None if timing is None else 2 * size / timing.median_s / 1e9

    @property
    def move_gb_s(self) -> float | None:
        """Bytes moved from the host a second."""
        timing = self.timings.get("move")
        return None if timing is None else _MOVED / timing.median_s / 1e9


def run(backend: Backend, asked: Asked, clock: Clock, told: Callable[[str, float], None]) -> Results:
    """Run the programs; ``told`` hears which one is running, and what share of all is done."""
    timings: dict[str, Timing] = {}
    memory: dict[str, float] = {}
    done = 0.0
    whole = sum(SHARES[name] for name in asked.programs)
    for name in asked.programs:
        work = _work(backend, name, asked)
        told(name, done / whole)
        if work is not None:
            backend.memory_gib()
            timings[name] = _timed(backend, name, work, asked, clock, whole)
            used = backend.memory_gib()
            if used is not None:
                memory[name] = used
        done += SHARES[name]
    told("", 1.0)
    return Results(backend.ran, asked, MappingProxyType(timings), MappingProxyType(memory))


def _timed(backend: Backend, name: str, work: Work, asked: Asked, clock: Clock, whole: float) -> Timing:
    seconds = asked.seconds * SHARES[name] / whole
    steps = None if asked.images is None else max(1, asked.images // asked.train_batch)
    return time_of(work, backend.synchronize, clock, seconds, runs=steps if name == "training" else None)


def _work(backend: Backend, name: str, asked: Asked) -> Work | None:
    kind = backend.ran.kind
    match name:
        case "inference":
            return backend.inference(asked.batch)
        case "training":
            return backend.training(asked.train_batch)
        case "pipeline":
            return backend.pipeline(asked.batch)
        case "product":
            return backend.product(PRODUCT_SIDE.get(kind, _PRODUCT_SIDE))
        case "copy":
            return backend.copy(COPIED.get(kind, _COPIED))
        case "move":
            return backend.move(_MOVED)
    raise ValueError(name)


def measurement_of(
    results: Results, knowledge: Knowledge, accelerator: str | None, version: str, day: date
) -> Measurement:
    """What was measured as a measurement that sizing, diagnosis and estimates read.

    The pass is a load of its batch; the step stands among the figures, with its own batch.
    """
    given = {
        "model": "resnet-18",
        "format": results.ran.format,
        "runtime": "transformers",
        "count": 1,
        "method": "full",
        "optimizer": "sgd-momentum",
        "training_precision": results.ran.format if results.ran.format != "tf32" else "fp32",
    }
    figures: dict[str, float | bool | str] = {}
    if (training := results.timings.get("training")) is not None:
        figures |= {"batch": float(results.asked.train_batch), "step_ms": 1000 * training.median_s}
        figures["samples_per_s"] = results.asked.train_batch / training.median_s
    rates = {"product_tflops": results.product_tflops, "copy_gb_s": results.copy_gb_s, "move_gb_s": results.move_gb_s}
    figures |= {name: value for name, value in rates.items() if value is not None}
    if "training" in results.memory_gib:
        figures["memory_gib"] = results.memory_gib["training"]
    points = []
    if (inference := results.timings.get("inference")) is not None:
        point = Point(
            batch=float(results.asked.batch),
            requests_per_s=results.asked.batch / inference.median_s,
            latency_p50_ms=1000 * inference.median_s,
            memory_gib=results.memory_gib.get("inference"),
            completed=float(results.asked.batch * inference.runs),
        )
        points.append(point)
    return Measurement(
        name="whygpu measure",
        setup=Setup(check(node_of(given, "whygpu measure"), knowledge), "resnet-18", accelerator, 1, None),
        tool=Tool("whygpu measure", version),
        date=day.isoformat(),
        source=f"whygpu measure on {results.ran.name}, {results.ran.software}",
        figures=MappingProxyType(figures),
        points=tuple(points),
    )
