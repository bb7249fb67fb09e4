"""How a plan is started: each tool's command or file as lines, which conditions let in."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.errors import Location
    from whygpu.knowledge.rules import AllOf, Template


@dataclass(frozen=True, slots=True)
class LaunchLine:
    """A line of a command, of a file or of what is said beside it; it stands where every condition holds."""

    text: Template
    when: AllOf


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the tool cannot start, and why not."""

    when: AllOf
    because: Template


@dataclass(frozen=True, slots=True)
class Launch:
    """One tool that starts plans."""

    id: str
    name: str
    version: str
    """The versions that the lines are for."""
    when: AllOf
    """The work it is for: of other work it is not told at all."""
    lines: tuple[LaunchLine, ...]
    notes: tuple[LaunchLine, ...]
    refusals: tuple[Refusal, ...]
    sources: tuple[str, ...]
    location: Location
    runtime: str | None = None
    """The serving stack that it is, as ``runtime`` names it."""
    file: str | None = None
    """The file that the lines are; None where they are one command."""
    run: str | None = None
    """The command that takes the file."""
    cards: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What it calls accelerators, by their ids."""
