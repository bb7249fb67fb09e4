"""The measurements as they are read, and what becomes of each: compared, or left out with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

Row: TypeAlias = Mapping[str, Any]

COMPARED_KINDS = frozenset(
    {"measured", "vendor_measured", "maintainer_measured", "file_size", "paper", "paper_formula"}
)
FILES = ("memory_inference.yaml", "memory_training.yaml", "throughput.yaml")
RECENT = ("memory_2026_11.yaml", "throughput_2026_11.yaml")
"""Files read later, of families that no coefficient was set from; left out where they are not there."""

WEIGHTS_AND_KV = "weights and KV"
INFERENCE_MEMORY = "inference memory, total"
STARTUP = "set aside at start"
TRAINING_MEMORY = "training memory"
TRAINING_STATES = "training states (a paper's formula)"
DECODE = "decode speed"
PROMPT = "prompt speed"
REQUEST = "whole requests"
VISION = "vision speed"
TRAINING_SPEED = "training speed"
KINDS = (
    WEIGHTS_AND_KV,
    INFERENCE_MEMORY,
    STARTUP,
    TRAINING_MEMORY,
    TRAINING_STATES,
    DECODE,
    PROMPT,
    REQUEST,
    VISION,
    TRAINING_SPEED,
)


@dataclass(frozen=True, slots=True)
class Held:
    """What a plan needs on each card, at most too, and what the card has; bytes."""

    needed: float
    usable: float
    most: float

    @property
    def fits(self) -> bool:
        return self.needed <= self.usable

    @property
    def tight(self) -> bool:
        """Whether it fits by the likely need alone."""
        return self.needed <= self.usable < self.most


@dataclass(frozen=True, slots=True)
class Compared:
    """One measurement and its estimate, in the measurement's unit. `peers` are other tools' figures, where they say
    one; `held` is there for rows measured on a named card.
    """

    kind: str
    family: str
    id: str
    measured: float
    low: float
    likely: float
    high: float
    peers: Mapping[str, float] = field(default_factory=dict)
    held: Held | None = None

    @property
    def error(self) -> float:
        """Relative error of the likely figure."""
        return self.likely / self.measured - 1

    @property
    def inside(self) -> bool:
        """Whether the range holds the measurement, to the last digit that is printed of it (0.5%)."""
        return self.low * 0.995 <= self.measured <= self.high * 1.005

    @property
    def half_width(self) -> float:
        """Half of the range, relative to the likely figure."""
        return (self.high - self.low) / 2 / self.likely


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row of a compared kind that is not compared, and why."""

    family: str
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class FitSeen:
    """A row that says whether something ran on a card, and what is estimated. `held` is None where it cannot be."""

    family: str
    id: str
    ran: bool
    held: Held | None
    reason: str = ""


Outcome: TypeAlias = Compared | LeftOut


class DataMissingError(Exception):
    """The measurements are not where they were looked for."""


@dataclass(frozen=True, slots=True)
class Measurements:
    """The rows of the kinds that are compared, and the rows on what fits."""

    inference_memory: tuple[Row, ...]
    training_memory: tuple[Row, ...]
    inference_speed: tuple[Row, ...]
    training_speed: tuple[Row, ...]
    fits: tuple[Row, ...]
    other: int

    @classmethod
    def read(cls, folder: Path) -> Measurements:
        """Raises DataMissingError where a file is absent."""
        files = [_load(folder / name) for name in FILES]
        memory, training, speed = files
        recent_memory, recent_speed = (_load(folder / name) if (folder / name).is_file() else {} for name in RECENT)
        groups = [
            [*memory["rows"], *recent_memory.get("inference", ())],
            [*training["rows"], *recent_memory.get("training", ())],
            [*speed["inference"], *recent_speed.get("inference", ())],
            [*speed["training"], *recent_speed.get("training", ())],
        ]
        wanted = [tuple(_compared(rows)) for rows in groups]
        fits = tuple(row for file in files for row in file.get("fits") or ())
        other = sum(len(rows) for rows in groups) - sum(len(rows) for rows in wanted)
        return cls(wanted[0], wanted[1], wanted[2], wanted[3], fits, other)


def _compared(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of the kinds that are compared, each with an id: its own, or its family and place."""
    for number, row in enumerate(rows, start=1):
        if row.get("kind") in COMPARED_KINDS:
            yield {"id": f"{row['family']}-{number}", **row}


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise DataMissingError(f"no measurements at {path}: name their directory with --data")
    content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    if not isinstance(content, dict):
        raise DataMissingError(f"{path} holds no table of measurements")
    return content
