"""Memory per accelerator: which model of the kind of work applies, and what it gives.

The parts sum to `total`. `low` and `high` are what the coefficients' ranges allow: a card with less usable memory than
`total` does not hold the plan, one with less than `high` holds it tightly.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.correction import Correction, distance, explained, operating_point
from whygpu.checks.memory import inference as memory_inference
from whygpu.checks.memory import training as memory_training
from whygpu.checks.memory import training_formulas
from whygpu.checks.memory import vision as memory_vision
from whygpu.checks.memory.parts import MemoryParts
from whygpu.checks.model_shape import TOKEN_KINDS, ModelShape
from whygpu.checks.setup import ParallelLayout, Setup

Verdict = Literal["fits", "tight", "no"]
PART_NAMES = ("weights", "kv_cache", "gradients", "optimizer", "activations", "logits", "overhead", "reused")
MEASURED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"memory": PART_NAMES, "weights": ("weights",), "activations": ("activations", "logits")}
)
"""The parts that a measured figure of memory is of."""
Size = Literal["concurrency", "context_tokens", "batch_size", "sequence_tokens"]


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes per accelerator. The parts sum to `total`; `low` and `high` bound it; `ranges` has each part's own range.

    `overhead` lies outside the framework's allocator. `reused` is zero or negative: room that two parts take one
    after the other: gradients and activations, or logits and the layers before them.
    """

    weights: float
    kv_cache: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    overhead: float
    reused: float
    total: float
    low: float
    high: float
    ranges: MemoryParts
    shape: ModelShape
    setup: Setup
    layout: ParallelLayout
    coefficients: Coefficients
    corrections: tuple[Correction, ...] = ()
    """What was measured, where parts and the total are corrected by it."""
    estimated: float = 0.0
    """The total without it, where it is corrected."""

    def uncorrected(self, usable_bytes: float) -> float:
        """Bytes that what is estimated without measurements may take where the measured takes so many."""
        return usable_bytes * self.estimated / self.total if self.corrections else usable_bytes

    def verdict(self, usable_bytes: float) -> Verdict:
        """Whether a card with so much usable memory holds it: no beyond the likely need, tight beyond only the high
        end.
        """
        if self.total > usable_bytes:
            return "no"
        return "tight" if self.high > usable_bytes else "fits"

    def calculations(self) -> list[Calculation]:
        """Every figure with its formula and the numbers put in, the total last."""
        explain = _check_for(self.shape, self.setup)[1]
        found = explain(self.shape, self.setup, self.layout, self.coefficients, self.ranges)
        for correction in self.corrections:  # the values are corrected already
            parts = MEASURED[correction.kind]
            found = [_explained(item, correction) if item.name in parts else item for item in found]
        named = {calculation.name for calculation in found}
        terms = tuple(Term(name, getattr(self, name), "bytes") for name in PART_NAMES if name in named)
        total = " + ".join(term.name for term in terms)
        return [
            *found,
            Calculation("total", total, terms, self.total, "bytes", note=f"between {self.low:.0f} and {self.high:.0f}"),
        ]


def _explained(item: Calculation, correction: Correction) -> Calculation:
    return replace(explained(item, correction, 1), value=item.value)


def corrected(found: MemoryEstimate, correction: Correction) -> MemoryEstimate:
    """The estimate as one measured figure corrects it: its parts in proportion, and the range narrowed."""
    away = distance(operating_point(found.shape, found.setup, found.layout), correction.at)
    names = MEASURED[correction.kind]
    parts = {name: getattr(found.ranges, name) for name in names}
    before = Range(found.low, found.total, found.high) if correction.kind == "memory" else _sum(parts.values())
    after = correction.narrowed(before, 1, away)
    ranges = replace(found.ranges, **{name: part.times(correction.factor) for name, part in parts.items()})
    values: dict[str, Any] = {name: getattr(found, name) * correction.factor for name in names}
    values |= {"total": found.total + after.likely - before.likely}
    values |= {"low": found.low + after.low - before.low, "high": found.high + after.high - before.high}
    whole = found.estimated if found.corrections else found.total
    return replace(found, **values, ranges=ranges, corrections=(*found.corrections, correction), estimated=whole)


def _sum(parts: Iterable[Range]) -> Range:
    return functools.reduce(operator.add, parts)


def estimate(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> MemoryEstimate:
    """Memory per accelerator of this work on this model, split so. Raises KnowledgeBaseError where a coefficient is
    missing.
    """
    return estimate_of(
        _check_for(shape, setup)[0](shape, setup, layout, coefficients), shape, setup, layout, coefficients
    )


def estimate_of(
    parts: MemoryParts, shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients
) -> MemoryEstimate:
    """The same, of parts that are known."""
    total = parts.total()
    return MemoryEstimate(
        parts.weights.likely,
        parts.kv_cache.likely,
        parts.gradients.likely,
        parts.optimizer.likely,
        parts.activations.likely,
        parts.logits.likely,
        parts.overhead.likely,
        parts.reused.likely,
        total.likely,
        total.low,
        total.high,
        parts,
        shape,
        setup,
        layout,
        coefficients,
    )


def reserved_bytes(
    usable_bytes: float, needed_bytes: float, runtime: str, form: str | None, coefficients: Coefficients
) -> float:
    """Bytes that a runtime takes of a card of this form, whatever the model needs: serving runtimes fill a set share
    with cache.
    """
    share = coefficients.pick("reserved-share", {"runtime": runtime, "form": form or ""}).likely
    return max(needed_bytes, share * usable_bytes)


def largest(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    coefficients: Coefficients,
    usable_bytes: float,
    size: Size,
    limit: int = 2**24,
) -> int:
    """The largest concurrency, context, batch or sequence up to `limit` whose likely need still fits; 0 where not
    even 1 does.
    """
    return most_within(
        lambda value: estimate(shape, _with(setup, size, value), layout, coefficients).total, usable_bytes, limit
    )


def most_within(need: Callable[[int], float], usable_bytes: float, limit: int) -> int:
    """The largest number up to `limit` whose `need` in bytes still fits; 0 where not even that of 1 does.

    By bisection: memory never falls where there is more of anything.
    """
    fits, fails = 0, limit + 1
    while fails - fits > 1:
        middle = fits + 1 if not fits else min((fits + fails) // 2, fits * 4)
        if need(middle) <= usable_bytes:
            fits = middle
        else:
            fails = middle
    return fits


def _with(setup: Setup, size: Size, value: int) -> Setup:
    if size == "concurrency":
        return replace(setup, concurrency=value)
    if size == "context_tokens":
        return replace(setup, context_tokens=value)
    return replace(setup, batch_size=value) if size == "batch_size" else replace(setup, sequence_tokens=value)


_Parts = Callable[[ModelShape, Setup, ParallelLayout, Coefficients], MemoryParts]
_Reckon = Callable[[ModelShape, Setup, ParallelLayout, Coefficients, MemoryParts], list[Calculation]]


def _check_for(shape: ModelShape, setup: Setup) -> tuple[_Parts, _Reckon]:
    """The check that fits the kind of work: its parts, and how they came about."""
    if setup.trains:
        return memory_training.parts, training_formulas.explain
    if shape.kind in TOKEN_KINDS:
        return memory_inference.parts, memory_inference.explain
    return memory_vision.parts, memory_vision.explain
