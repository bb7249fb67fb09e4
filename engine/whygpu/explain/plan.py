"""A plan as it is told: what it runs on, needs, does and costs, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whygpu.checks.calculation import Range


@dataclass(frozen=True, slots=True)
class AcceleratorName:
    """Which accelerator a plan uses."""

    id: str
    name: str
    family: str
    """The product line ("A100"), never the architecture."""
    vendor: str
    marketing_gb: float | None
    """Of 10^9 bytes."""
    usable_mib: float | None
    """What the driver reports."""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How the work is spread."""

    tensor: int
    pipeline: int
    data: int
    sharding: str
    cache_split: str
    """What divides the cache among the accelerators that share each layer: ``heads``, ``tokens`` or ``requests``."""
    expert: int
    """Accelerators of a stage that share its routed experts in training, each with samples of its own; 1: as the rest.
    """


@dataclass(frozen=True, slots=True)
class Memory:
    """GiB per accelerator: the parts sum to ``total_gib``."""

    weights_gib: float
    kv_cache_gib: float
    gradients_gib: float
    optimizer_gib: float
    activations_gib: float
    logits_gib: float
    overhead_gib: float
    """Outside the framework's allocator: context, NCCL."""
    reused_gib: float
    """Zero or negative: room that two parts take one after the other, gradients and activations, or logits and the
    layers before them.
    """
    total_gib: float
    low_gib: float
    high_gib: float
    usable_gib: float | None
    verdict: str
    """``fits``; ``tight`` where only the high end does not; ``no``."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one provider asks for the whole plan."""

    usd_per_hour: float
    offering: str
    provider: str
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Spot:
    """What the same plan costs on spot capacity, which may be taken back."""

    usd_per_hour: float
    offering: str
    provider: str
    region: str | None
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Buying:
    """What buying the plan's accelerators costs, with the machine around them and the power they draw.

    The hour, month, million tokens and job are those of owning: the purchase over every hour of ``months``, and power.
    The break-even is against renting at the plan's price; None where that is not known, or never comes.
    """

    usd_purchase: float
    count: int
    """Accelerators that are bought: those of the plan, or as many as are missing, in whole boards."""
    machine: bool
    """Whether the price is of the machine too, and not of cards for one that is there."""
    usd_memory: float
    """USD of the machine's memory for weights that are kept there, which is part of ``usd_purchase``."""
    usd_per_hour: float
    usd_per_month: float
    usd_per_million_tokens: float | None
    usd_total: float | None
    months: float
    break_even_hours: float | None
    break_even_months: float | None
    """Of as many hours of use as the service has: day and night, unless ``hours_per_day`` says less."""
    hours_a_month: float | None
    """Hours of use a month above which buying is cheaper."""
    purchase: str
    kind: str
    as_of: str | None
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """What the plan costs and the offering that says so: rent, or the power of what is owned already."""

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
    """What plans are compared by, in ``objective_unit``."""
    objective_unit: str
    basis: str
    """What it compares by: ``renting``, ``buying`` or ``owned``."""
    usd_power_per_hour: float | None
    spot: Spot | None
    buying: Buying | None
    machines: int | None
    """Machines that are rented, and accelerators of each, all of them paid for; None where nothing is rented."""
    machine_accelerators: int | None
    estimated: bool
    """Whether the price is unknown and estimated from similar accelerators."""
    least: Offer | None
    """The cheapest provider of those whose median the rent is; None where it is the one that is named."""
    low: float | None
    """USD an hour at the low and the high end of that estimate; None where the price is known."""
    high: float | None

    @property
    def compared(self) -> Cost | Buying:
        """The part that the plan compares by: what buying costs where its basis is that."""
        return self.buying if self.basis == "buying" and self.buying is not None else self

    @property
    def held(self) -> bool:
        """Whether it is bought for a job and held for longer than that takes: the job's share of it says nothing."""
        total = self.compared.usd_total if self.basis == "buying" else None
        return total is not None and self.objective is not None and self.objective > total


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """One side's strongest verdict on a plan by one criterion, and every rule that says so."""

    criterion: str
    strength: str
    favourable: bool
    rules: tuple[str, ...]
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """What one criterion multiplies a plan's money by, and the rules that say so (none for speed and power)."""

    criterion: str
    worth: float
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """What a plan counts as: its money, with what having the machines costs, times all factors."""

    value: float
    """The plan's price, with what having the machines costs, times all ``factors``."""
    unit: str
    factors: tuple[Factor, ...]


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
    unpriced: str | None
    """Why there is no cost; None where there is."""
    verdicts: tuple[PlanVerdict, ...]
    rank: int | None
    unverified: bool
    counted: Counted | None
    """None where it is out, or no price is known."""
    index: int
    """Its row in the consultation."""
    batch_size: int | None = None
    """Samples at once: of an accelerator and step in training, of a replica in batch work; None in serving."""
    owned: bool = False
    """It runs on what is there already."""
    behind: str | None = None
    """What it counts as against the recommendation and the price at which it would win; None for the recommendation
    and its equals.
    """
    variants: Sequence[Plan] = ()

    @property
    def identity(self) -> tuple[str, int, str, str | None]:
        """What makes it the same choice: accelerator, count, format and method."""
        return self.accelerator.id, self.count, self.format, self.method

    @property
    def label(self) -> str:
        """How a person would name it: "2x L40S"."""
        return f"{self.count}x {self.accelerator.name}{' (owned)' if self.owned else ''}"


class Plans(Sequence[Plan]):
    """Plans in order, each made when it is first looked at: of a hundred accelerators a text tells of ten."""

    def __init__(self, count: int, make: Callable[[int], Plan]) -> None:
        """``make`` gives the plan at a position."""
        self._make = make
        self._plans: list[Plan | None] = [None] * count

    def __len__(self) -> int:
        """How many there are."""
        return len(self._plans)

    def __iter__(self) -> Iterator[Plan]:
        """All of them; an error while one is made is not taken for the end."""
        return (self[position] for position in range(len(self)))

    def __reduce__(self) -> tuple[type[tuple[Plan, ...]], tuple[tuple[Plan, ...]]]:
        """To be pickled as the plans that they are."""
        return tuple, (tuple(self),)

    def __eq__(self, other: object) -> bool:
        """Whether the other holds equal plans in the same order."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # it compares by what it holds, as a list does

    def __repr__(self) -> str:
        """How many there are: to show them would make them."""
        return f"<{len(self)} plans>"

    @overload
    def __getitem__(self, index: int) -> Plan: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Plan, ...]: ...

    def __getitem__(self, index: int | slice) -> Plan | tuple[Plan, ...]:
        """The plan at a position (or the plans of a slice); raises IndexError beyond the last."""
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(len(self))))
        position = range(len(self))[index]
        plan = self._plans[position]
        if plan is None:
            plan = self._plans[position] = self._make(position)
        return plan
