"""Bytes of weights on the fullest card, by the true bits of each part, and how parallelism divides them."""

from __future__ import annotations

from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.memory_parts import coefficient_term, scaled, stage_share
from whygpu.checks.reckoning import Range, Reckoning, Term
from whygpu.checks.setup import Format, Split
from whygpu.checks.shape import ModelShape

ENDS = frozenset({"embedding", "head"})
"""Parts outside the layers: the token table and the head."""


def held_weights(
    shape: ModelShape, number_format: Format, split: Split, coefficients: Coefficients, context: Context
) -> Range:
    """Bytes on the fullest card.

    Tensor parallelism divides the layers, and the two ends except for the share that the runtime copies to every
    rank; a pipeline stage has its layers and one end at most.
    """
    slack = coefficients.pick("weight-slack", context)
    if split.tensor * split.pipeline == 1:
        return scaled(slack, number_format.weight_bytes(shape))
    copied = coefficients.pick("copied-ends", context)
    inside, end = _inside_and_end(shape, number_format, split)
    low, likely, high = (inside + end * _end_share(split, share) for share in (copied.low, copied.likely, copied.high))
    return Range(low * slack.low, likely * slack.likely, high * slack.high)


def _end_share(split: Split, copied: float) -> float:
    return copied + (1 - copied) / split.tensor


def _inside_and_end(shape: ModelShape, number_format: Format, split: Split) -> tuple[float, float]:
    """Bytes of one rank's layers, and those of the ends that stand on one stage."""
    ends = end_sizes(shape, number_format)
    inside = (number_format.weight_bytes(shape) - sum(ends)) * stage_share(shape.layers, split.pipeline) / split.tensor
    return inside, sum(ends) if split.pipeline <= 1 else max(ends, default=0.0)


def end_sizes(shape: ModelShape, number_format: Format) -> list[float]:
    """Bytes of the token table and of the head, as far as the model has them."""
    return [part.parameters * number_format.bits_in(shape, part.name) / 8 for part in shape.parts if part.name in ENDS]


def largest_tensor_bytes(shape: ModelShape) -> float:
    """Bytes of the largest single tensor at 16 bits: the token table, or a feed-forward matrix."""
    return 2.0 * max(shape.embedding_parameters, shape.hidden_size * shape.ffn_size)


def reckon_weights(
    shape: ModelShape, number_format: Format, split: Split, coefficients: Coefficients, context: Context, value: float
) -> Reckoning:
    """How the bytes of weights came about."""
    slack = coefficients.pick("weight-slack", context)
    bits = Term(
        "bits",
        number_format.effective_bits(shape),
        "bits per weight",
        number_format.source,
        _mixture(shape, number_format),
    )
    terms = [Term("parameters", shape.parameters, "parameters", shape.source), bits, coefficient_term("slack", slack)]
    if split.tensor * split.pipeline == 1:
        return Reckoning("weights", "parameters * bits / 8 * slack", tuple(terms), value, "bytes")
    return Reckoning(
        "weights",
        "((parameters * bits / 8 - ends) * stage / tensor + end * held) * slack",
        (*terms, *_split_terms(shape, number_format, split, coefficients.pick("copied-ends", context))),
        value,
        "bytes",
    )


def _split_terms(shape: ModelShape, number_format: Format, split: Split, copied: Coefficient) -> tuple[Term, ...]:
    ends = end_sizes(shape, number_format)
    return (
        Term("ends", sum(ends), "bytes", (), "token table and head"),
        Term("stage", stage_share(shape.layers, split.pipeline), "share", (), "layers of the fullest pipeline stage"),
        Term("tensor", split.tensor, "cards"),
        Term(
            "end", _inside_and_end(shape, number_format, split)[1], "bytes", (), "of the two, what stands on one stage"
        ),
        Term("held", _end_share(split, copied.likely), "share", copied.source, "of it that each rank holds"),
    )


def _mixture(shape: ModelShape, number_format: Format) -> str:
    if not number_format.parts:
        return ""
    listed = ", ".join(
        f"{part.name} {number_format.bits_in(shape, part.name):g}"
        for part in shape.parts
        if number_format.bits_in(shape, part.name) != number_format.bits_per_weight
    )
    return f"{number_format.bits_per_weight:g} bits, but {listed}" if listed else ""
