"""The parts of a diagnosis as records: signs, causes, and the measurement that tells causes apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from whygpu.knowledge.rules import Strength
from whygpu.trace import Outcome

Standing = Literal["likely", "possible", "weak", "unlikely", "no sign"]
"""How a cause stands: the weight of its signs reaches that of a strong one, of a normal one, is above zero, is not,
or nothing measured speaks of it.
"""
Ending = Literal["found", "open", "none"]
"""Whether one cause leads, several may be it, or nothing measured speaks for any."""


@dataclass(frozen=True, slots=True)
class FoundSign:
    """A rule that fired: what was measured, and how much it says."""

    rule: str
    title: str
    text: str
    strength: Strength
    weight: float
    """As a strength counts, below zero against the cause."""
    conditions: tuple[Outcome, ...]
    claims: tuple[str, ...]
    place: str
    """File and line of the rule."""


@dataclass(frozen=True, slots=True)
class FoundCause:
    """A cause as it stands after what was measured. ``actions``: first things first."""

    id: str
    name: str
    means: str
    standing: Standing
    weight: float
    signs: tuple[FoundSign, ...]
    """Those for it, then those against it, the weightiest first."""
    actions: tuple[str, ...]
    confirm: str
    claims: tuple[str, ...]
    place: str

    @property
    def favourable(self) -> tuple[FoundSign, ...]:
        """The signs for it."""
        return tuple(sign for sign in self.signs if sign.weight > 0)

    @property
    def against(self) -> tuple[FoundSign, ...]:
        """The signs against it."""
        return tuple(sign for sign in self.signs if sign.weight < 0)


@dataclass(frozen=True, slots=True)
class Possibility:
    """One answer that a measurement may give, and the cause that would lead then; None where several would."""

    answer: str
    leads: str | None


@dataclass(frozen=True, slots=True)
class NextMeasure:
    """A figure that is not measured yet and tells causes apart. ``worth``: how far its answers move them."""

    figure: str
    meaning: str
    unit: str | None
    take: str
    command: str | None
    worth: float
    possible: tuple[Possibility, ...]
    apart: tuple[str, ...]
    """The causes that it tells apart, by id."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure as it was measured. ``where``: file and line, or the formula where it is ``computed``."""

    figure: str
    value: float | bool | str
    unit: str | None
    meaning: str
    where: str
    computed: bool
