"""The parts of a memory estimate, and what inference and training reckon alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.reckoning import Range, Reckoning, Term
from whygpu.checks.setup import Format, Setup, Split
from whygpu.checks.shape import ModelShape

GIB = 2**30
NOTHING = Range(0.0, 0.0, 0.0)


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


def weight_bytes_per_card(shape: ModelShape, number_format: Format, split: Split) -> float:
    """Bytes of weights on the fullest card: tensor parallelism divides all, a pipeline stage has its layers and one end at most."""
    whole = number_format.weight_bytes(shape)
    if split.pipeline <= 1:
        return whole / split.tensor
    ends = [
        part.parameters * number_format.bits_in(shape, part.name) / 8
        for part in shape.parts
        if part.name in ("embedding", "head")
    ]
    share = stage_share(shape.layers, split.pipeline)
    return ((whole - sum(ends)) * share + max(ends, default=0.0)) / split.tensor


def scaled(coefficient: Coefficient, factor: float) -> Range:
    """A coefficient times a factor that is not negative, with its range."""
    return Range(coefficient.low * factor, coefficient.likely * factor, coefficient.high * factor)


def overhead(split: Split, coefficients: Coefficients, context: Context) -> Range:
    """Bytes outside the framework's allocator: the driver's context and libraries, and communication buffers among cards."""
    own = coefficients.pick("context-bytes", context)
    result = Range(own.low, own.likely, own.high)
    if split.tensor * split.pipeline > 1 or (split.data > 1 and context["phase"] in ("training", "fine-tuning")):
        buffers = coefficients.pick("communication-bytes", context)
        result = result + Range(buffers.low, buffers.likely, buffers.high)
    return result


def reckon_overhead(split: Split, coefficients: Coefficients, context: Context, value: float) -> Reckoning:
    """How `overhead` came about."""
    terms = [coefficient_term("context", coefficients.pick("context-bytes", context))]
    formula = "context"
    if split.tensor * split.pipeline > 1 or (split.data > 1 and context["phase"] in ("training", "fine-tuning")):
        terms.append(coefficient_term("buffers", coefficients.pick("communication-bytes", context)))
        formula = "context + buffers"
    return Reckoning("overhead", formula, tuple(terms), value, "bytes", note="outside the framework's allocator")


def coefficient_term(name: str, coefficient: Coefficient) -> Term:
    """A coefficient's likely figure as a term, with its range in words."""
    spread = "" if coefficient.low == coefficient.high else f" ({coefficient.low:g} to {coefficient.high:g})"
    return Term(name, coefficient.likely, coefficient.unit, coefficient.source, f"{coefficient.meaning}{spread}")


def reckon_weights(shape: ModelShape, number_format: Format, split: Split, value: float) -> Reckoning:
    """How the bytes of weights came about."""
    terms = [
        Term("parameters", shape.parameters, "parameters", shape.source),
        Term(
            "bits",
            number_format.effective_bits(shape),
            "bits per weight",
            number_format.source,
            _mixture(shape, number_format),
        ),
        Term("tensor", split.tensor, "cards"),
    ]
    formula = "parameters * bits / 8 / tensor"
    if split.pipeline > 1:
        ends = [
            p.parameters * number_format.bits_in(shape, p.name) / 8 for p in shape.parts if p.name in ("embedding", "head")
        ]
        terms += [
            Term("ends", sum(ends), "bytes", (), "token table and head"),
            Term("end", max(ends, default=0.0), "bytes", (), "the larger of the two, held by one stage"),
            Term("layers", shape.layers or split.pipeline, "layers", shape.source),
            Term("stages", split.pipeline, "stages"),
        ]
        formula = "((parameters * bits / 8 - ends) * ceil(layers / stages) / layers + end) / tensor"
    return Reckoning("weights", formula, tuple(terms), value, "bytes")


def _mixture(shape: ModelShape, number_format: Format) -> str:
    if not number_format.parts:
        return ""
    listed = ", ".join(
        f"{part.name} {number_format.bits_in(shape, part.name):g}"
        for part in shape.parts
        if number_format.bits_in(shape, part.name) != number_format.bits_per_weight
    )
    return f"{number_format.bits_per_weight:g} bits, but {listed}" if listed else ""


def gathered_tokens(setup: Setup) -> int:
    """Tokens of one training step on one card."""
    return setup.batch_size * setup.sequence_tokens
