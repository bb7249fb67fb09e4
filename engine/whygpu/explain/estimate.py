"""Memory, speed and cost of one plan that was named, whether it fits or not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.share import filled_bytes, takes_share
from whygpu.checks.model_shape import GENERATIVE, TOKEN_KINDS
from whygpu.errors import AnswerError, Location, Problem
from whygpu.explain.advice import Advice
from whygpu.explain.parts import Assumed, Item, Reason
from whygpu.explain.plan import Plan
from whygpu.plans.slices import Slices
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.answers import Answers
    from whygpu.checks.calculation import Calculation
    from whygpu.checks.memory.estimate import Size
    from whygpu.consult.consultation import Consultation
    from whygpu.plans.plan_set import Candidate


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest size that still fits, the others as they are; 0 where not even one does."""

    size: Size
    value: int
    now: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """What a serving runtime takes of each accelerator, and what that leaves for the cache."""

    runtime: str
    taken_gib: float
    cache_gib: float
    requests: int
    """Requests of the full context that the cache then holds, per accelerator group."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One plan and how its figures come about."""

    plan: Plan
    model: str
    memory: tuple[Calculation, ...]
    speed: tuple[Calculation, ...]
    cost: tuple[Calculation, ...]
    limits: tuple[Limit, ...]
    reserved: Reserved | None
    checkpointing: str | None
    against: tuple[Reason, ...]
    """Rules that would keep the plan out of an advice."""
    assumed: tuple[Assumed, ...]
    warnings: tuple[Item, ...]


def one_accelerator(answers: Answers) -> Answers:
    """The answers, for exactly one accelerator and a count; raises AnswerError where they name none or several."""
    named = answers.accelerators or ()
    if len(named) != 1:
        location = answers.locations.get("accelerators", Location("answers"))
        message = "an estimate is of one accelerator, and none is named"
        hint = "add 'accelerators: [h100-sxm]' or --set accelerators=h100-sxm; 'whygpu catalogue' lists them"
        if named:
            message = f"an estimate is of one accelerator; 'accelerators' selects {len(named)}: {', '.join(named[:24])}"
            hint = f"name one by its id, for example accelerators: [{named[0]}]"
        raise AnswerError([Problem("one-accelerator", message, location, hint)])
    return replace(answers, exclude_accelerators=())


def estimate_of(consultation: Consultation) -> Estimate:
    """The estimate of a consultation over one explicit plan; raises AnswerError where nobody rents that many."""
    plans, advice = consultation.plans, Advice(consultation)
    if len(plans) != 1:
        raise ValueError("an estimate needs a consultation over one plan")
    candidate = plans.plan_set.candidate(0)
    setup = candidate.setup
    _in_slices(consultation, candidate)

    def sourced(calculations: Iterable[Calculation]) -> tuple[Calculation, ...]:
        return tuple(consultation.knowledge.sourced(calculations, trains=setup.trains))

    usable = consultation.knowledge.catalogue.usable_bytes(candidate.accelerator)
    return Estimate(
        plan=advice.maker.at(0),
        model=plans.work.shape.name,
        memory=sourced(candidate.memory.calculations()),
        speed=sourced(item for item in plans.plan_set.estimate(0).calculations() if math.isfinite(item.value)),
        cost=sourced(advice.maker.sheet.calculations(0)),
        limits=tuple(_limits(candidate, usable)),
        reserved=_reserved(candidate, usable),
        checkpointing=setup.gradient_checkpointing if setup.trains else None,
        against=_against(advice),
        assumed=advice.assumed,
        warnings=advice.warnings,
    )


def _in_slices(consultation: Consultation, candidate: Candidate) -> None:
    """Raises AnswerError where the accelerator is rented in slices, and the plan fills none."""
    slices, layout = Slices.of(candidate.accelerator), candidate.layout
    trains = candidate.setup.trains
    if slices is None or slices.rentable(layout, trains):
        return
    name, group = candidate.accelerator.name, layout.tensor * layout.pipeline
    what = "a job takes one" if trains else f"a replica that needs {group} takes one of {slices.smallest(group)}"
    message = f"{layout.cards}x {name} cannot be rented: {slices.said()}, and {what}"
    nearest = " or ".join(str(count) for count in slices.nearest(layout.cards))
    location = consultation.answers.locations.get("count", Location("answers"))
    raise AnswerError([Problem("no-such-slice", message, location, f"set count to {nearest}")])


def _against(advice: Advice) -> tuple[Reason, ...]:
    return tuple(reason for rejection in advice.rejected for reason in rejection.because)


def _limits(candidate: Candidate, usable: float) -> Iterator[Limit]:
    """How far each size that the work has can grow."""
    need = candidate.memory
    setup, kind = candidate.setup, need.shape.kind
    sizes: tuple[Size, ...]
    if setup.trains:
        sizes = ("batch_size", "sequence_tokens") if kind in TOKEN_KINDS else ("batch_size",)
    else:
        sizes = ("concurrency", "context_tokens") if kind in TOKEN_KINDS else ("batch_size",)
    for size in sizes if math.isfinite(usable) else ():
        room = need.uncorrected(usable)
        value = memory.largest(need.shape, setup, candidate.layout, need.coefficients, room, size)
        yield Limit(size, value, int(getattr(setup, size)))


def _reserved(candidate: Candidate, usable: float) -> Reserved | None:
    """What the runtime takes beside what is needed; None where it takes what it needs."""
    need, setup = candidate.memory, candidate.setup
    if not takes_share(need) or need.shape.kind not in GENERATIVE or not need.total <= usable:
        return None
    filled = filled_bytes(usable, need, setup.runtime, candidate.accelerator.text("form"))
    taken = max(filled, need.total)  # a share is rounded
    room = need.uncorrected(taken)
    requests = memory.largest(need.shape, setup, candidate.layout, need.coefficients, room, "concurrency")
    return Reserved(setup.runtime, taken / GIB, (taken - need.total + need.kv_cache) / GIB, requests)
