"""A worked figure: the formula, the numbers put in, the result. It is what a trace and a reader see of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Number: TypeAlias = "int | float"


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with its uncertainty: low <= likely <= high, all in one unit (NaN throughout where it is not known)."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def times(self, factor: float) -> Range:
        """The range scaled by a factor that is not negative."""
        return Range(self.low * factor, self.likely * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class Term:
    """One number put into a formula. `name` is the word the formula uses; `source` the reference ids, if it is a
    fact.
    """

    name: str
    value: float
    unit: str
    source: tuple[str, ...] = ()
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Reckoning:
    """A figure and how it came about.

    `formula` is an arithmetic expression over the names of `terms` (`+ - * / **`, min, max, ceil), so that putting the
    terms in gives `value`; a term may be the result of an earlier reckoning of the same name.
    """

    name: str
    formula: str
    terms: tuple[Term, ...]
    value: float
    unit: str
    sources: tuple[str, ...] = ()
    note: str = ""

    def as_term(self, name: str | None = None) -> Term:
        """This result as a term of the next formula."""
        return Term(name or self.name, self.value, self.unit, (), self.note)
