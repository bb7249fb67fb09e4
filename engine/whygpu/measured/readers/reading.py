"""What a reader is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from whygpu.errors import AnswerError, Location, Problem

MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file of a tool says, in the words of a measurement file.

    ``card``: the accelerator as its driver calls it, with its memory in MiB where that is said; ``doubts``: what the
    file does not say well enough.
    """

    version: str | None = None
    date: str | None = None
    setup: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    figures: Mapping[str, float | bool | str] = field(default_factory=lambda: MappingProxyType({}))
    points: tuple[Mapping[str, float], ...] = ()
    card: str | None = None
    card_mib: float | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """A tool's file format: how it is known, and how it is read (raises AnswerError)."""

    tool: str
    recognises: Callable[[str], bool]
    read: Callable[[str, str], Reading]


def refused(name: str, message: str, hint: str, line: int = 0, code: str = "unreadable") -> AnswerError:
    """A file that cannot be used, and what to do instead."""
    return AnswerError([Problem(code, message, Location(name, line), hint)])


def known(values: Mapping[str, float | None]) -> dict[str, float]:
    """The figures that were found."""
    return {name: value for name, value in values.items() if value is not None}
