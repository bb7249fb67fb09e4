"""The parts of a memory estimate, and what inference and training compute alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.setup import TRAINING_PHASES, ParallelLayout

NOTHING = Range(0.0, 0.0, 0.0)


class Need(NamedTuple):
    """What the parts of an estimate sum to, found without them: to see whether a card has room takes no more than this.

    Bytes per accelerator, named as those of an estimate are.
    """

    total: float
    high: float
    weights: float
    kv_cache: float = 0.0


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """Bytes per accelerator, each with its range.

    `reused` is zero or negative: room that two other parts take at different moments (activations are freed while
    gradients are filled in), so that the parts sum to what is held at the worst moment.
    """

    weights: Range = NOTHING
    kv_cache: Range = NOTHING
    gradients: Range = NOTHING
    optimizer: Range = NOTHING
    activations: Range = NOTHING
    logits: Range = NOTHING
    overhead: Range = NOTHING
    reused: Range = NOTHING

    def total(self) -> Range:
        """The sum of the parts."""
        low = likely = high = 0.0
        for part in (
            self.weights,
            self.kv_cache,
            self.gradients,
            self.optimizer,
            self.activations,
            self.logits,
            self.overhead,
            self.reused,
        ):
            low += part.low
            likely += part.likely
            high += part.high
        return Range(low, likely, high)


def stage_share(layers: int, pipeline: int) -> float:
    """Share of the layers that the fullest pipeline stage holds: ceil(layers / stages) / layers."""
    if pipeline <= 1:
        return 1.0
    return math.ceil(layers / pipeline) / layers if layers else 1.0 / pipeline


def scaled(coefficient: Coefficient, factor: float) -> Range:
    """A coefficient times a factor that is not negative, with its range."""
    return Range(coefficient.low * factor, coefficient.likely * factor, coefficient.high * factor)


def overhead(layout: ParallelLayout, coefficients: Coefficients, context: Context) -> Range:
    """Bytes outside the framework's allocator: the driver's context and libraries, and communication buffers among
    cards.
    """
    own = coefficients.pick("context-bytes", context)
    result = Range(own.low, own.likely, own.high)
    if layout.tensor * layout.pipeline > 1 or (layout.data > 1 and context["phase"] in TRAINING_PHASES):
        buffers = coefficients.pick("communication-bytes", context)
        result = result + Range(buffers.low, buffers.likely, buffers.high)
    return result


def explain_overhead(layout: ParallelLayout, coefficients: Coefficients, context: Context, value: float) -> Calculation:
    """How `overhead` came about."""
    terms = [coefficient_term("context", coefficients.pick("context-bytes", context))]
    formula = "context"
    if layout.tensor * layout.pipeline > 1 or (layout.data > 1 and context["phase"] in TRAINING_PHASES):
        terms.append(coefficient_term("buffers", coefficients.pick("communication-bytes", context)))
        formula = "context + buffers"
    return Calculation("overhead", formula, tuple(terms), value, "bytes", note="outside the framework's allocator")


def coefficient_term(name: str, coefficient: Coefficient) -> Term:
    """A coefficient's likely figure as a term, with its range in words."""
    spread = "" if coefficient.low == coefficient.high else f" ({coefficient.low:g} to {coefficient.high:g})"
    return Term(name, coefficient.likely, coefficient.unit, coefficient.source, f"{coefficient.meaning}{spread}")
