"""Strata: rules judged together, in the order in which they may be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.knowledge.rules import Rule

if TYPE_CHECKING:
    from whygpu.knowledge.questions import DerivedValue


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rules judged together, and the concluded names that are settled once they have been."""

    rules: tuple[Rule, ...]
    settles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strata:
    """The strata of a knowledge base: once per consultation; then per plan, hard, and soft on what is left."""

    session: tuple[Stratum, ...]
    hard: tuple[Stratum, ...]
    soft: tuple[Stratum, ...]
    aggregates: tuple[DerivedValue, ...] = ()
    """Values over the plans left, between the hard and the soft; one that uses another comes after it."""
