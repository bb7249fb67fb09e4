"""The parts of an advice beside its plans, as typed objects; renderers turn them into text, JSON and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from whygpu.explain.plan import Plan

Status = Literal["recommended", "tied", "infeasible"]


@dataclass(frozen=True, slots=True)
class Pick:
    """A plan of the shortlist: its role, and what one gains and gives up by it against the recommendation."""

    role: str
    plan: Plan
    gains: str
    gives_up: str
    easier: bool
    """Whether more providers rent it out, which ``gains`` tells next after what it costs less."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a plan is out: the rule, what it says, and the two numbers it compared."""

    rule: str
    text: str
    left: float | str | bool | None
    """Both numbers that the rule compares, or what stands for them."""
    right: float | str | bool | None
    gap: float | None
    """How far they are apart."""
    unit: str | None
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A plan that is out, and every reason."""

    plan: Plan
    because: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of advice, a technique or a warning, with every rule that gives it."""

    id: str
    topic: str
    text: str
    rules: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Equal and opposite verdicts on one plan by one criterion."""

    criterion: str
    plan: str
    favour: tuple[str, ...]
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two plans by money and time: the more expensive hour against the cheaper one.

    ``kind``: "fast-or-cheap" (of a training job), "owned-or-rented", or "owned-or-bought" where hardware is bought.
    Figures of ``expensive`` and ``cheap`` are in ``unit``: USD for the job, or per million tokens or samples.
    """

    kind: str
    expensive: str
    cheap: str
    price_ratio: float
    speed_ratio: float | None
    expensive_usd: float | None
    cheap_usd: float | None
    unit: str
    hours_saved: float | None
    usd_per_hour_saved: float | None
    """What each hour sooner costs; negative where the more expensive one is cheaper in total."""
    hours_a_month: float | None
    """Of a service: hours of the other plan that cost as much as the power of the owned one day and night."""
    cheaper: str | None
    """The plan that is cheaper in total."""
    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assumed:
    """A value taken because nothing was answered."""

    name: str
    answer: str
    value: float | bool | str
    because: str


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question not answered, and whether its answer could change the recommendation."""

    question: str
    why: str
    could_change: bool


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Why no plan is left: a smallest set of constraints in conflict, and those that alone allow one if lifted."""

    conflict: tuple[str, ...]
    relaxations: tuple[Relaxation, ...]
    least_bad: Plan | None = None
    """Where plans are left and none is sensible: the one that counts as least. ``conflict`` names what speaks against
    every one of them.
    """


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Lifting this one constraint (or, where no single one suffices, these joined by "and") brings ``plan`` back."""

    constraint: str
    text: str
    plan: str
