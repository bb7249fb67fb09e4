"""The values that a test of one name allows: what tables and lint compare to find overlaps, gaps and contradictions.

A domain never says less than the truth: where it cannot tell, it is everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.language.names import NameSpec
    from whygpu.language.tree import CompareOp

Plain = float | bool | str


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers from ``low`` to ``high``; ``open_low`` and ``open_high`` leave the ends out."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @property
    def empty(self) -> bool:
        """Whether no number lies in it."""
        return self.low > self.high or (self.low == self.high and (self.open_low or self.open_high))

    def meet(self, other: Interval) -> Interval:
        """The numbers in both."""
        low = max(self.low, other.low)
        high = min(self.high, other.high)
        open_low = any(item.open_low for item in (self, other) if item.low == low)
        open_high = any(item.open_high for item in (self, other) if item.high == high)
        return Interval(low, high, open_low, open_high)

    def within(self, other: Interval) -> bool:
        """Whether every number of this one lies in the other."""
        return self.empty or self.meet(other) == self


@dataclass(frozen=True, slots=True)
class Numbers:
    """A union of intervals."""

    parts: tuple[Interval, ...]

    @property
    def empty(self) -> bool:
        """Whether no value is allowed."""
        return all(part.empty for part in self.parts)

    def meet(self, other: Domain) -> Domain:
        """The values in both."""
        if not isinstance(other, Numbers):
            return self
        met = (one.meet(two) for one in self.parts for two in other.parts)
        return Numbers(tuple(part for part in met if not part.empty))

    def within(self, other: Domain) -> bool:
        """Whether every value of this one is surely in the other."""
        return isinstance(other, Numbers) and all(
            part.empty or any(part.within(whole) for whole in other.parts) for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class Words:
    """Words or flags: those listed, or (``all_but``) all others."""

    listed: frozenset[Plain]
    all_but: bool = False

    @property
    def empty(self) -> bool:
        """Whether no value is allowed."""
        return not self.listed and not self.all_but

    def meet(self, other: Domain) -> Domain:
        """The values in both."""
        if not isinstance(other, Words):
            return self
        if self.all_but and other.all_but:
            return Words(self.listed | other.listed, True)
        if self.all_but:
            return Words(other.listed - self.listed)
        return Words(self.listed - other.listed if other.all_but else self.listed & other.listed)

    def within(self, other: Domain) -> bool:
        """Whether every value of this one is surely in the other."""
        if not isinstance(other, Words):
            return False
        if other.all_but:
            return other.listed <= self.listed if self.all_but else not self.listed & other.listed
        return not self.all_but and self.listed <= other.listed


Domain = Numbers | Words


def everything(spec: NameSpec) -> Domain:
    """All values the name can have."""
    match spec.kind:
        case "number":
            return Numbers((Interval(),))
        case "flag":
            return Words(frozenset([True, False]))
        case "choice":
            return Words(frozenset(spec.words))
        case "text":
            return Words(frozenset(), True)


def of_test(spec: NameSpec, op: CompareOp, constant: Plain) -> Domain:
    """The values for which ``name op constant`` is true."""
    whole = everything(spec)
    if isinstance(constant, bool | str) or not isinstance(whole, Numbers):
        return whole.meet(Words(frozenset([constant]), op == "!="))
    below, above = Interval(high=constant, open_high=True), Interval(low=constant, open_low=True)
    match op:
        case "==":
            return Numbers((Interval(constant, constant),))
        case "!=":
            return Numbers((below, above))
        case "<":
            return Numbers((below,))
        case "<=":
            return Numbers((Interval(high=constant),))
        case ">":
            return Numbers((above,))
    return Numbers((Interval(low=constant),))


def of_any(spec: NameSpec, constants: Iterable[Plain]) -> Domain:
    """The values for which ``name in [constants]`` is true."""
    found = [of_test(spec, "==", constant) for constant in constants]
    numbers = [part for domain in found if isinstance(domain, Numbers) for part in domain.parts]
    words = [domain.listed for domain in found if isinstance(domain, Words)]
    return Numbers(tuple(numbers)) if numbers else Words(frozenset().union(*words))
