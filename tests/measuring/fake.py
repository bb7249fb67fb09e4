"""A device whose programs take as long as one likes, on a clock that only they move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from whygpu.measuring.backend import Ran

Work = Callable[[], None]
SECONDS = {"inference": 0.5, "training": 0.02, "pipeline": 0.2, "product": 0.1, "copy": 0.01, "move": 0.05}


@dataclass
class FakeDevice:
    """Work is queued, as on an accelerator: its time has passed once it is waited for."""

    kind: str = "cuda"
    name: str = "NVIDIA H100 80GB HBM3"
    memory_mib: float | None = 81559.0
    format: str = "tf32"
    slow: float = 1.0
    """How much slower the first run of each program is."""
    now: float = 0.0
    queued: float = 0.0
    runs: dict[str, int] = field(default_factory=dict)

    @property
    def ran(self) -> Ran:
        return Ran(self.name, self.kind, self.memory_mib, "a fake", self.format)

    def clock(self) -> float:
        return self.now

    def synchronize(self) -> None:
        self.now += self.queued
        self.queued = 0.0

    def _work(self, name: str, times: float = 1.0) -> Work:
        def once() -> None:
            first = self.runs.setdefault(name, 0) == 0
            self.runs[name] += 1
            self.queued += SECONDS[name] * times * (self.slow if first else 1.0)

        return once

    def inference(self, batch: int) -> Work:
        return self._work("inference", batch / 100)

    def training(self, batch: int) -> Work:
        return self._work("training", batch)

    def pipeline(self, batch: int) -> Work:
        return self._work("pipeline", batch / 100)

    def product(self, size: int) -> Work:
        return self._work("product")

    def copy(self, size: int) -> Work:
        return self._work("copy")

    def move(self, size: int) -> Work | None:
        return None if self.kind == "cpu" else self._work("move")

    def memory_gib(self) -> float | None:
        return None if self.kind == "cpu" else 2.5
