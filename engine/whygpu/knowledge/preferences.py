"""What preferences are worth in money: how a verdict, speed beyond need and a priority change what a plan counts as.

All of it is data (``ranking:`` in kb/ranking.yaml); the arithmetic is in ``plans/counting.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from whygpu.knowledge.rules import Strength

RoleId = Literal[
    "recommended",
    "owned",
    "cheapest",
    "fastest",
    "room-to-grow",
    "fewest",
    "easiest-to-get",
    "to-buy",
    "other-vendor",
]
"""What a plan of the shortlist is the best at."""
ROLES: tuple[RoleId, ...] = (
    "recommended",
    "owned",
    "cheapest",
    "fastest",
    "room-to-grow",
    "fewest",
    "easiest-to-get",
    "to-buy",
    "other-vendor",
)
SPEED = "speed"
"""The criterion that speed beyond need counts under, beside those that rules speak to."""
POWER = "power"
"""The criterion that the power drawn counts under where efficiency is put first."""


@dataclass(frozen=True, slots=True)
class Worth:
    """How many times the money a verdict of one strength is worth: 1.75 is three quarters more, for or against."""

    strength: str
    worth: float
    because: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """When the best plan left is no answer: every plan has a strong verdict against it by one of the criteria, or the
    best has them by ``together`` of them. Without criteria any plan is one.
    """

    criteria: tuple[str, ...] = ()
    together: int = 0


@dataclass(frozen=True, slots=True)
class Money:
    """Why plans compare by what they cost."""

    because: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Handling:
    """What a machine costs to have at all, in USD an hour, and the hours a job takes beside its own, so that neither
    cents nor minutes choose. ``own_usd_per_hour``: under a desk, where nobody is paid for it; ``field_usd_per_hour``:
    of a device in the field.
    """

    usd_per_hour: float
    own_usd_per_hour: float
    field_usd_per_hour: float
    hours_per_job: float
    because: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpeedWorth:
    """What twice the speed is worth where nobody set a limit, by one figure of a plan's speed of which less is better.

    ``usual`` is the figure at which it counts neither for nor against; from ``enough`` on more speed is worth nothing.
    A limit says what is enough, unless it is ``loose``: that says no more than no limit.
    """

    figure: str
    limit: str | None
    """The answer that sets a limit on the figure; None where none does."""
    twice: float
    usual: float
    enough: float
    loose: float
    because: str
    sources: tuple[str, ...]

    def enough_with(self, limit: float | None) -> float:
        """The figure from which more speed is worth nothing, given a limit; from half of loose on it fades away."""
        if limit is None or limit >= self.loose:
            return self.enough
        half = self.loose / 2
        if limit <= half:
            return limit
        share = math.log(limit / half) / math.log(2)
        return float(half ** (1 - share) * self.enough**share)


@dataclass(frozen=True, slots=True)
class PriorityWorth:
    """What putting one thing first changes: the exponent of every factor, of one criterion's, and what twice the
    speed, or half the power, is worth.
    """

    priority: str
    all_factors: float
    criterion: str | None
    criterion_power: float
    twice_the_speed: float | None
    half_the_power: float | None
    because: str
    sources: tuple[str, ...]

    def exponent(self, criterion: str) -> float:
        """The power to which the worth of the verdicts by one criterion is raised."""
        return self.all_factors * (self.criterion_power if criterion == self.criterion else 1.0)


@dataclass(frozen=True, slots=True)
class Role:
    """A role of the shortlist and how near to the best a plan has to come to qualify (0.1: within a tenth)."""

    id: RoleId
    within: float
    because: str


@dataclass(frozen=True, slots=True)
class Preferences:
    """All prices of preferences. The empty ones price nothing: plans then compare by money alone."""

    worths: Mapping[str, Worth] = field(default_factory=lambda: MappingProxyType({}))
    money: Money | None = None
    by_money: bool = True
    """Whether money counts at all: what would be chosen if it did not tells what it decides."""
    handling: Handling | None = None
    tied_within: float = 0.0
    """Plans that count as the same within this share are co-recommended."""
    close_within: float = 0.0
    """A recommendation whose next plan counts within this share of it is a close call."""
    no_answer: NoAnswer = NoAnswer()
    speeds: tuple[SpeedWorth, ...] = ()
    """In order: the first figure that the plans have is the one that counts."""
    priorities: Mapping[str, PriorityWorth] = field(default_factory=lambda: MappingProxyType({}))
    roles: tuple[Role, ...] = ()
    shortlist_at_most: float = math.inf
    """How many times what the recommendation counts as a plan of the shortlist may count."""

    def worth(self, strength: Strength) -> float:
        """How many times the money a verdict of that strength is worth; 1 where nobody says."""
        found = self.worths.get(strength)
        return 1.0 if found is None else found.worth

    def without(self, part: str) -> Preferences:
        """The preferences without one part of ranking.yaml; raises KeyError for what is no part."""
        parts: dict[str, dict[str, Any]] = {
            "worths": {"worths": {}},
            "money": {"by_money": False},
            "handling": {"handling": None},
            "speeds": {"speeds": ()},
            "priorities": {"priorities": {}},
            "roles": {"roles": ()},
        }
        return replace(self, **parts[part])

    @property
    def priced_handling(self) -> Handling:
        """What having a machine costs; nothing where nobody says."""
        return Handling(0.0, 0.0, 0.0, 0.0, "", ()) if self.handling is None else self.handling
