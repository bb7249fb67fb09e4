"""What sizing rests on: each figure with where it comes from, measured, answered, estimated or assumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whygpu.checks.calculation import Term
from whygpu.errors import AnswerError, Location, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.knowledge.base import Knowledge

How = Literal["measured", "answered", "estimated", "assumed"]


@dataclass(frozen=True, slots=True)
class Basis:
    """One figure that was put in. ``because``: why it is assumed, or what it was estimated by."""

    name: str
    meaning: str
    value: float
    unit: str
    how: How
    because: str = ""
    sources: tuple[str, ...] = ()

    def term(self, name: str | None = None) -> Term:
        """As a term of a formula."""
        return Term(name or self.name, self.value, self.unit, self.sources, f"{self.meaning} ({self.how})")


def fact(knowledge: Knowledge, name: str, called: str, context: Mapping[str, str] | None = None) -> Basis:
    """A figure of the knowledge base, assumed."""
    found = knowledge.catalogue.coefficients.pick(name, context or {})
    return Basis(called, found.meaning, found.likely, found.unit, "assumed", found.note, found.source)


def refuse(code: str, message: str, place: str, hint: str) -> AnswerError:
    """One thing without which nothing can be sized."""
    return AnswerError([Problem(code, message, Location(place), hint)])
