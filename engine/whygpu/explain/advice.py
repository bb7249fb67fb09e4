"""What a consultation gives back: plans and advice, as typed objects; renderers turn them into text, JSON and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whygpu.checks.calculation import Range
    from whygpu.consult.driver import Consultation
    from whygpu.explain.flips import Flip
    from whygpu.explain.what_if import WhatIf
    from whygpu.explain.why_not import WhyNot
    from whygpu.knowledge.questions import Profile
    from whygpu.trace import Step, Trace

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
    """What the plan costs and the offering that says so: rent, or the power of what is owned already.

    ``basis``: what it compares by ("renting", "owned", "buying"), and so what the objective is.
    """

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
    basis: str
    usd_power_per_hour: float | None
    spot: Spot | None
    buying: Buying | None
    machines: int | None
    """Machines that are rented, and accelerators of each, all of them paid for; None where nothing is rented."""
    machine_accelerators: int | None
    estimated: bool
    """Whether nobody says the price, and it is estimated from accelerators of its kind."""
    low: float | None
    """USD an hour at the low and the high end of that estimate; None where the price is known."""
    high: float | None

    @property
    def compared(self) -> Cost | Buying:
        """The part that the plan compares by: what buying costs where its basis is that."""
        return self.buying if self.basis == "buying" and self.buying is not None else self


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
    variants: tuple[Plan, ...] = ()

    @property
    def label(self) -> str:
        """How a person would name it: "2x L40S in INT4"."""
        return f"{self.count}x {self.accelerator.name}{' (owned)' if self.owned else ''}"


@dataclass(frozen=True, slots=True)
class Pick:
    """A plan of the shortlist: its role, and what one gains and gives up by it against the recommendation."""

    role: str
    plan: Plan
    gains: str
    gives_up: str


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
    """Why nothing is left: a smallest set of constraints in conflict, and each that alone would bring a plan back."""

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


class Sections(Protocol):
    """What an advice is made of; each part is made when it is first asked for."""

    consultation: Consultation

    def assumed(self) -> tuple[Assumed, ...]:
        """What was assumed."""

    def best(self) -> Plan | None:
        """The recommended plan."""

    def others(self) -> Sequence[Plan]:
        """The best plan of each other accelerator, in order."""

    def shortlist(self) -> tuple[Pick, ...]:
        """The best plan for each role."""

    def rejected(self) -> tuple[Rejection, ...]:
        """Accelerators without a plan left."""

    def techniques(self) -> tuple[Item, ...]:
        """What the recommendation uses."""

    def advice(self) -> tuple[Item, ...]:
        """Advice beyond the card."""

    def warnings(self) -> tuple[Item, ...]:
        """Warnings."""

    def conflicts(self) -> tuple[Conflict, ...]:
        """Where sources cancel each other."""

    def comparisons(self) -> tuple[Comparison, ...]:
        """Plans by money and time."""

    def open(self) -> tuple[OpenQuestion, ...]:
        """What was not answered."""

    def infeasible(self) -> Infeasible | None:
        """Why nothing is left."""

    def profile(self) -> Profile | None:
        """What the phase is like."""

    def trace(self) -> Trace:
        """The record."""


@dataclass(frozen=True, eq=False)
class Advice:
    """The answer to a consultation. Its parts are made when they are first asked for, and then kept."""

    knowledge_version: str
    knowledge_hash: str
    engine: str
    status: Status
    answers: Mapping[str, Any]
    sections: Sections = field(repr=False)

    @cached_property
    def assumed(self) -> tuple[Assumed, ...]:
        """Values taken for what was not answered."""
        return self.sections.assumed()

    @cached_property
    def recommendation(self) -> Plan | None:
        """The best plan; None where nothing satisfies the constraints."""
        return self.sections.best()

    @cached_property
    def alternatives(self) -> Sequence[Plan]:
        """The best plan of each other accelerator, ranked."""
        return self.sections.others()

    @cached_property
    def plans(self) -> Sequence[Plan]:
        """The recommendation and the alternatives."""
        best, others = self.recommendation, self.alternatives
        return () if best is None else Plans(1 + len(others), lambda index: others[index - 1] if index else best)

    @cached_property
    def shortlist(self) -> tuple[Pick, ...]:
        """The best plan for each role: recommended, cheapest, fastest and so on; each plan once."""
        return self.sections.shortlist()

    @cached_property
    def rejected(self) -> tuple[Rejection, ...]:
        """Accelerators that have no plan left, and why."""
        return self.sections.rejected()

    @cached_property
    def techniques(self) -> tuple[Item, ...]:
        """What the recommended plan uses."""
        return self.sections.techniques()

    @cached_property
    def advice(self) -> tuple[Item, ...]:
        """Advice beyond the card."""
        return self.sections.advice()

    @cached_property
    def warnings(self) -> tuple[Item, ...]:
        """Warnings, and answers that were ignored."""
        return self.sections.warnings()

    @cached_property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Where rules cancel each other on a plan shown."""
        return self.sections.conflicts()

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """An expensive fast plan against a cheap slow one, and what is owned against what could be rented."""
        return self.sections.comparisons()

    @cached_property
    def open(self) -> tuple[OpenQuestion, ...]:
        """Questions that apply and were not answered."""
        return self.sections.open()

    @cached_property
    def infeasible(self) -> Infeasible | None:
        """Why no plan is left; None where one is."""
        return self.sections.infeasible()

    @cached_property
    def profile(self) -> Profile | None:
        """What the phase that this is about is like; None where no profile describes it."""
        return self.sections.profile()

    @cached_property
    def trace(self) -> Trace:
        """Every fact and step behind the plans shown."""
        return self.sections.trace()

    def how(self, fact: str) -> tuple[Step, ...]:
        """Every step that led to a fact, by its id or name; raises AnswerError where the trace has none such."""
        from whygpu.explain import what_if as questions  # noqa: PLC0415  explanations are made of advice, not the reverse

        return questions.how(self, fact)

    def unfired(self) -> tuple[Step, ...]:
        """The rules that did not fire for the recommendation: silent, blocked by an exception, or open."""
        from whygpu.explain import what_if as questions  # noqa: PLC0415

        return questions.unfired(self.sections.consultation)

    def why_not(self, plan: str) -> tuple[WhyNot, ...]:
        """Why a plan (by id) or an accelerator (id, name or family) is not the recommendation; raises AnswerError."""
        from whygpu.explain import why_not  # noqa: PLC0415

        return why_not.why_not(self.sections.consultation, plan)

    def what_if(self, **answers: Any) -> WhatIf:
        """The advice with these answers merged over the given ones (None takes one away); raises AnswerError."""
        from whygpu.explain import what_if as questions  # noqa: PLC0415

        return questions.what_if(self.sections.consultation, answers)

    def flips(self) -> tuple[Flip, ...]:
        """The nearest single changes of an answer, given or assumed, that change the recommendation."""
        from whygpu.explain import flips as tipping  # noqa: PLC0415

        return tipping.search(self.sections.consultation).found

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as docs/reference/json.md lists it."""
        from whygpu.render.plain import advice_dict  # noqa: PLC0415  renderers depend on this module, not the reverse

        return advice_dict(self)
