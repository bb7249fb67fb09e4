"""What the knowledge base rests on: documents, claims, formulas, and where claims disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whygpu.checks.calculation import Phase
    from whygpu.errors import Location


CHOICES = ("card", "count", "format", "method")
"""What a plan chooses: advice about any of these must move plans or their ranking."""


ABOUT = (*CHOICES, "operation")
"""What advice may be about; ``operation`` is serving stack, storage, monitoring, networking and way of working."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a source document, in our own words."""

    id: str
    document: str
    kind: str
    says: str
    location: Location
    about: tuple[str, ...] = ()
    """What advice is about (see ABOUT); other kinds have none."""

    @property
    def chooses(self) -> bool:
        """Whether it is advice about what a plan chooses."""
        return not set(CHOICES).isdisjoint(self.about)


@dataclass(frozen=True, slots=True)
class Citation:
    """One source that something of the knowledge base names: a rule, a fact, a formula, a question, a table's row."""

    source: str
    kind: str
    by: str
    location: Location


@dataclass(frozen=True, slots=True)
class Tension:
    """Claims that disagree, and what settles it: rules, tables, formulas or questions, and which way and why."""

    id: str
    between: tuple[str, ...]
    about: str
    settled_by: tuple[str, ...]
    how: str | None
    location: Location


@dataclass(frozen=True, slots=True)
class Formula:
    """What some checks compute, in words, and who says so; ``note`` tells where a source simplifies."""

    id: str
    title: str
    says: str
    checks: tuple[str, ...]
    phases: tuple[Phase, ...]
    sources: tuple[str, ...]
    note: str | None
    location: Location


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that claims come from."""

    id: str
    title: str
    author: str | None
    publisher: str | None
    date: str | None
