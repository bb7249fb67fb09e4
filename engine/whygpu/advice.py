"""What a consultation gives back: plans and advice, as typed objects; renderers turn them into text, JSON and pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.checks.reckoning import Range
    from whygpu.trace import Trace

Status = Literal["recommended", "tied", "infeasible"]


@dataclass(frozen=True, slots=True)
class AcceleratorName:
    """Which accelerator a plan uses."""

    id: str
    name: str
    family: str
    vendor: str
    marketing_gb: float | None
    usable_mib: float | None


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How the work is spread."""

    tensor: int
    pipeline: int
    data: int
    sharding: str


@dataclass(frozen=True, slots=True)
class Memory:
    """GiB per accelerator: the parts sum to ``total_gib``.

    ``overhead_gib`` lies outside the framework's allocator; ``reused_gib`` is zero or negative, room that gradients and
    activations take one after the other.
    """

    weights_gib: float
    kv_cache_gib: float
    gradients_gib: float
    optimizer_gib: float
    activations_gib: float
    logits_gib: float
    overhead_gib: float
    reused_gib: float
    total_gib: float
    low_gib: float
    high_gib: float
    usable_gib: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What the plan costs and the offering that says so."""

    usd_per_hour: float
    offering: str
    provider: str
    provider_class: str
    region: str | None
    price_kind: str
    as_of: str | None
    usd_per_month: float
    usd_per_million_tokens: float | None
    usd_total: float | None
    objective: float | None
    objective_unit: str


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """One side's strongest verdict on a plan by one criterion, and every rule that says so."""

    criterion: str
    strength: str
    favourable: bool
    rules: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to run the work."""

    id: str
    accelerator: AcceleratorName
    count: int
    nodes: int
    format: str
    kv_format: str | None
    method: str | None
    techniques: tuple[str, ...]
    parallelism: Parallelism
    memory: Memory
    speed: Mapping[str, Range | None]
    cost: Cost | None
    verdicts: tuple[PlanVerdict, ...]
    rank: int | None
    unverified: bool
    index: int
    """Its row in the consultation."""
    behind: str | None = None
    """What the recommendation has over it; None for the recommendation itself and its equals."""
    variants: tuple[Plan, ...] = ()

    @property
    def label(self) -> str:
        """How a person would name it: "2x L40S in INT4"."""
        return f"{self.count}x {self.accelerator.name}"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a plan is out: the rule, what it says, and the two numbers it compared."""

    rule: str
    text: str
    left: float | str | bool | None
    right: float | str | bool | None
    gap: float | None
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
    """Why nothing is left: a smallest set of constraints in conflict, and each that alone would bring a plan back."""

    conflict: tuple[str, ...]
    relaxations: tuple[Relaxation, ...]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Lifting this one constraint brings ``plan`` back."""

    constraint: str
    text: str
    plan: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer to a consultation."""

    knowledge_version: str
    knowledge_hash: str
    engine: str
    status: Status
    answers: Mapping[str, Any]
    assumed: tuple[Assumed, ...]
    recommendation: Plan | None
    alternatives: tuple[Plan, ...]
    rejected: tuple[Rejection, ...]
    techniques: tuple[Item, ...]
    advice: tuple[Item, ...]
    warnings: tuple[Item, ...]
    conflicts: tuple[Conflict, ...]
    open: tuple[OpenQuestion, ...]
    infeasible: Infeasible | None
    trace: Trace = field(repr=False)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The recommendation and the alternatives, ranked."""
        return (*((self.recommendation,) if self.recommendation else ()), *self.alternatives)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form of contract.md."""
        from whygpu.render.plain import advice_dict  # noqa: PLC0415  renderers depend on this module, not the reverse

        return advice_dict(self)
