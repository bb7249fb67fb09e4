"""Bytes of weights on the fullest card, by the true bits of each part, and how parallelism divides them."""

from __future__ import annotations

import numpy as np

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.memory.parts import coefficient_term, scaled, stage_share
from whygpu.checks.model_shape import DENOISERS, ModelShape
from whygpu.checks.setup import BESIDE, TRAINING_PHASES, FloatArray, Format, ParallelLayout, Setup

ENDS = frozenset({"embedding", "head"})
"""Parts outside the layers: the token table and the head."""
MARGIN = "fit-margin-bytes"
"""What a runtime leaves of a card that it fills with experts."""


def held_weights(
    shape: ModelShape, number_format: Format, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    """Bytes on the fullest card.

    Tensor parallelism divides all, except for the share of the two ends that the runtime copies to every rank; where
    each card computes attention for requests of its own, the routed experts alone (vLLM, data parallel deployment). Of
    pipeline stages the fullest has its whole layers, and no less than an even share: a stage with an end is given
    fewer layers. Experts that are offloaded lie in the host's memory, and so may a token table that is only looked up.
    """
    slack = coefficients.pick("weight-slack", context)
    host_table = table_on_host(shape, number_format, context)
    on_cards = number_format.weight_bytes(shape) - _offloaded(shape, number_format, context) - host_table
    if layout.tensor * layout.pipeline == 1:
        return scaled(slack, on_cards)
    copied = coefficients.pick("copied-ends", context)
    ends = _ends_on_cards(shape, number_format, context)
    inside = on_cards - sum(ends)
    divided = _experts_on_cards(shape, number_format, context) if layout.by_requests else inside
    inside += divided / layout.tensor - divided
    fullest = inside * stage_share(shape.layers, layout.pipeline)
    low, likely, high = (
        max(fullest, (inside + sum(ends) * held) / layout.pipeline, max(ends, default=0.0) * held)
        for held in (_held(layout, share) for share in (copied.low, copied.likely, copied.high))
    )
    return Range(low * slack.low, likely * slack.likely, high * slack.high)


def expert_bytes(shape: ModelShape, number_format: Format) -> float:
    """Bytes of all routed experts; 0 for a dense model."""
    return _bytes_of(shape, number_format, "experts")


def share_held(
    size_bytes: FloatArray, layers: int, room_bytes: FloatArray, tensor: FloatArray, pipeline: FloatArray
) -> FloatArray:
    """Share of the layers whose experts fit into so many free bytes of each card, of plans whose experts take so many
    bytes in all: whole layers, each divided over a tensor group (llama.cpp --n-cpu-moe, and what --fit finds). 0 where
    it is not known what is free.
    """
    free = np.maximum(np.nan_to_num(room_bytes), 0.0) * tensor
    held: FloatArray = np.minimum(np.floor(free * layers / np.maximum(size_bytes, 1.0)) * pipeline / layers, 1.0)
    return held


def beside_bytes(shape: ModelShape, number_format: Format) -> float:
    """Bytes of what a pipeline has beside its denoisers: text encoders and autoencoder; 0 where there are none."""
    return _bytes_of(shape, number_format, BESIDE)


def _bytes_of(shape: ModelShape, number_format: Format, name: str) -> float:
    """Bytes of the parts with this name."""
    return sum(part.parameters * number_format.bits_in(shape, name) / 8 for part in shape.parts if part.name == name)


def turns(shape: ModelShape, number_format: Format) -> tuple[float, float]:
    """Bytes of the largest denoiser of a pipeline, and of the largest network beside it; 0 where there is none.

    They are on the card in turn (diffusers' enable_model_cpu_offload, ComfyUI): text encoders, then the denoiser, of
    several one after the other (Wan 2.2: first for high noise, then for low), then the autoencoder.
    """
    beside = beside_bytes(shape, number_format)
    sizes: dict[bool, list[int]] = {True: [], False: []}
    for component in shape.components:
        sizes[component.name.startswith(DENOISERS)].append(component.parameters)
    if not beside or not sizes[True] or not sizes[False]:
        return number_format.weight_bytes(shape) - beside, beside
    denoisers, others = ((max(found), sum(found)) for found in (sizes[True], sizes[False]))
    whole = number_format.weight_bytes(shape) - beside
    return whole * denoisers[0] / denoisers[1], beside * others[0] / others[1]


def waiting_bytes(shape: ModelShape, number_format: Format) -> float:
    """Bytes of a pipeline that wait in the host's memory while the largest of its networks is on the card; 0 where
    there is nothing to take turns with.
    """
    denoiser, other = turns(shape, number_format)
    return number_format.weight_bytes(shape) - max(denoiser, other) if other else 0.0


def left_by_turns(shape: ModelShape, number_format: Format, context: Context) -> float:
    """Bytes that a text encoder larger than the denoiser leaves to the activations when it leaves the card."""
    if context["offload"] != "components" or context["phase"] in TRAINING_PHASES:
        return 0.0
    denoiser, other = turns(shape, number_format)
    return max(other - denoiser, 0.0)


def _offloaded(shape: ModelShape, number_format: Format, context: Context) -> float:
    """Bytes of weights kept in the host's memory while serving (llama.cpp --cpu-moe; ktransformers; diffusers)."""
    if context["phase"] in TRAINING_PHASES:
        return 0.0
    kept = {"experts": expert_bytes, "components": waiting_bytes}.get(context["offload"])
    return 0.0 if kept is None else kept(shape, number_format)


def _experts_on_cards(shape: ModelShape, number_format: Format, context: Context) -> float:
    """Bytes of the routed experts that lie on the cards."""
    return expert_bytes(shape, number_format) - _offloaded(shape, number_format, context)


def _held(layout: ParallelLayout, copied: float) -> float:
    """Share of the ends that one tensor rank holds."""
    return 1.0 if layout.by_requests else copied + (1 - copied) / layout.tensor


def end_sizes(shape: ModelShape, number_format: Format) -> list[float]:
    """Bytes of the token table and of the head, as far as the model has them."""
    return [part.parameters * number_format.bits_in(shape, part.name) / 8 for part in shape.parts if part.name in ENDS]


def _ends_on_cards(shape: ModelShape, number_format: Format, context: Context) -> list[float]:
    """The same of those that lie on the cards."""
    if table_on_host(shape, number_format, context):
        return [_bytes_of(shape, number_format, "head")] if any(part.name == "head" for part in shape.parts) else []
    return end_sizes(shape, number_format)


def leaves_table(shape: ModelShape, setup: Setup, form: str, coefficients: Coefficients) -> bool:
    """Whether the setup's runtime leaves the token table in the host's memory beside a card of this form."""
    if setup.trains or not shape.looked_up_embedding:
        return False
    return coefficients.pick("table-on-host", {**setup.context(shape), "form": form}).likely > 0


def table_on_host(shape: ModelShape, number_format: Format, context: Context) -> float:
    """Bytes of a token table that the runtime leaves in the host's memory, as no product takes it: rows of it are
    looked up there (llama.cpp, load_tensors: the input layer); 0 where it is the head's, too.
    """
    if context["token_table"] != "host" or context["phase"] in TRAINING_PHASES or not shape.looked_up_embedding:
        return 0.0
    return _bytes_of(shape, number_format, "embedding")


def largest_tensor_bytes(shape: ModelShape) -> float:
    """Bytes of the largest single tensor at 16 bits: the token table, or a feed-forward matrix."""
    return 2.0 * max(shape.embedding_parameters, shape.hidden_size * shape.ffn_size)


def explain_weights(
    shape: ModelShape,
    number_format: Format,
    layout: ParallelLayout,
    coefficients: Coefficients,
    context: Context,
    value: float,
    name: str = "weights",
) -> Calculation:
    """How the bytes of the model's weights came about."""
    slack = coefficients.pick("weight-slack", context)
    bits = Term(
        "bits",
        number_format.effective_bits(shape),
        "bits per weight",
        number_format.source,
        _mixture(shape, number_format),
    )
    terms = [Term("parameters", shape.parameters, "parameters", shape.source), bits, coefficient_term("slack", slack)]
    whole = "parameters * bits / 8"
    host = _offloaded(shape, number_format, context)
    if host:
        name_of = "experts" if context["offload"] == "experts" else "waiting"
        terms.append(Term(name_of, host, "bytes", shape.source, "in the host's memory"))
        whole = f"({whole} - {name_of})"
    table = table_on_host(shape, number_format, context)
    if table:
        terms.append(Term("table", table, "bytes", shape.source, "the token table, in the host's memory"))
        whole = f"({whole} - table)"
    if layout.tensor * layout.pipeline == 1:
        return Calculation(name, f"{whole} * slack", tuple(terms), value, "bytes")
    inside = f"({whole} - ends) / tensor"
    if layout.by_requests:
        shared = _experts_on_cards(shape, number_format, context)
        terms.append(
            Term("shared", shared, "bytes", shape.source, "of experts, which the cards share: the rest is copied")
        )
        inside = f"({whole} - ends - shared + shared / tensor)"
    return Calculation(
        name,
        f"max({inside} * stage, ({inside} + ends * held) / stages, end * held) * slack",
        (*terms, *_split_terms(shape, number_format, layout, coefficients.pick("copied-ends", context), context)),
        value,
        "bytes",
    )


def _split_terms(
    shape: ModelShape, number_format: Format, layout: ParallelLayout, copied: Coefficient, context: Context
) -> tuple[Term, ...]:
    ends = _ends_on_cards(shape, number_format, context)
    return (
        Term("ends", sum(ends), "bytes", (), "token table and head"),
        Term("end", max(ends, default=0.0), "bytes", (), "the larger of the two"),
        Term("held", _held(layout, copied.likely), "share", copied.source, "of them that a tensor rank holds"),
        Term("stage", stage_share(shape.layers, layout.pipeline), "share", (), "layers of the fullest pipeline stage"),
        Term("stages", layout.pipeline, "stages"),
        Term("tensor", layout.tensor, "cards"),
    )


def _mixture(shape: ModelShape, number_format: Format) -> str:
    if shape.stored_format == number_format.id:
        return "as the file has them"
    if not number_format.parts:
        return ""
    listed = ", ".join(
        f"{part.name} {number_format.bits_in(shape, part.name):g}"
        for part in shape.parts
        if number_format.bits_in(shape, part.name) != number_format.bits_per_weight
    )
    return f"{number_format.bits_per_weight:g} bits, but {listed}" if listed else ""
