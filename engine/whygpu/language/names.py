"""The names that rules may use: each with its type, unit, meaning and what it holds for."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.errors import Location


Kind = Literal["choice", "number", "flag", "text"]


Scope = Literal["session", "plan", "field"]


_SCOPES: Mapping[str, Scope] = {"gpu": "plan", "plan": "plan", "start": "plan", "field": "field"}


@dataclass(frozen=True, slots=True)
class NameSpec:
    """A name rules may use: ``entity.attribute``, its type, unit and meaning, and the answer it comes from."""

    name: str
    kind: Kind
    meaning: str
    location: Location
    unit: str | None = None
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    answer: str | None = None
    also: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Other words that answers may use for a value."""
    minimum: float | None = None
    maximum: float | None = None
    integer: bool = False
    otherwise: float | bool | str | None = None
    unanswered: str | None = None
    """The choice by which one may also say nothing."""
    scope: Scope = field(init=False)
    """Whether it holds for the consultation, for one plan, or for the field of plans."""

    def __post_init__(self) -> None:
        """The entity says what the name holds for."""
        object.__setattr__(self, "scope", _SCOPES.get(self.entity, "session"))

    @property
    def entity(self) -> str:
        """The part before the dot."""
        return self.name.partition(".")[0]

    @property
    def words(self) -> tuple[str, ...]:
        """The choices it can have, in order: not the one that says nothing."""
        return tuple(word for word in self.values if word != self.unanswered)
