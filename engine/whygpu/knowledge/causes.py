"""What a diagnosis can find: causes with what to do first, and how each figure is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.errors import Location


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something is slow or unstable. ``actions``: what to do, first things first; ``confirm``: how to be sure."""

    id: str
    name: str
    means: str
    actions: tuple[str, ...]
    confirm: str
    sources: tuple[str, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class Measure:
    """How a figure of the vocabulary is measured. ``command``: what to type, where one command does it."""

    name: str
    take: str
    command: str | None
    sources: tuple[str, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of a worked diagnosis. ``likely``: the first cause is one of these; the others as they are named.

    ``next``: the figure that is asked for next.
    """

    likely: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    no_causes: tuple[str, ...] = ()
    fires: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    next: str | None = None


@dataclass(frozen=True, slots=True)
class DiagnosisCase:
    """A worked diagnosis: a measurement as its file has it, and what must come of it."""

    id: str
    title: str
    measured: Mapping[str, Any]
    expected: Expected
    sources: tuple[str, ...]
    spares: tuple[str, ...]
    location: Location
