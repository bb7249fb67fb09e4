"""What training keeps of each layer for the backward pass, and the logits.

Per token and layer, bytes in 16-bit training: hidden * h + keys * n_kv * d + ffn * f (+ 5 * heads * length where the
scores are written out). The factors are coefficients: Korthikanti et al. 2022 (arXiv:2205.05198) count 34 h for a plain
transformer with f = 4h; saved-tensor hooks on gated models count 20 h + 4 n_kv d + 8 f.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficients, Context
from whygpu.checks.memory.parts import NOTHING, coefficient_term, scaled, stage_share
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup

FULL_WIDTH = frozenset({"fp32", "tf32"})
"""Precisions that keep 32-bit activations; the factors are for 16-bit ones."""


AUTOCAST = frozenset({"mixed", "mixed-bf16", "mixed-fp16"})
"""Precisions that compute in 16 bits from FP32 weights, and leave softmax in FP32."""


_WHOLE_TENSORS = 3


@dataclass(frozen=True, slots=True)
class Activations:
    """Bytes per accelerator at the end of the forward pass: of the layers, and of the logits."""

    layers: Range
    logits: Range


def activations(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Activations:
    """Bytes kept per accelerator, by the measured figure of a sample where the model has one, else layer by layer."""
    if shape.activation_bytes_per_sample:
        return Activations(
            _whole(shape, setup, layout, coefficients, context) + _workspace(coefficients, context), NOTHING
        )
    if not shape.layers or not shape.hidden_size:
        each = coefficients.pick("activation-bytes-per-gflop", context)
        samples = setup.batch_size * setup.pixel_scale(shape) * shape.flops_per_sample / 1e9 * width(setup) / 2
        samples *= stage_share(0, layout.pipeline) / layout.tensor
        return Activations(scaled(each, samples) + _workspace(coefficients, context), NOTHING)
    each_layer = layer_range(shape, setup, layout, coefficients, context)
    tokens = step_tokens(shape, setup)
    held = in_flight_layers(shape, setup, layout)
    logits = _logits(shape, setup, layout, coefficients, context)
    whole = whole_bytes(shape, setup, layout)
    if setup.gradient_checkpointing == "full":
        kept = NOTHING
        if setup.offload != "activations":
            kept = checkpoint_bytes(shape, setup, layout, coefficients, context).times(tokens * held)
        # While the last layer is recomputed its activations stand beside the checkpoints; the logits are gone by then.
        layers = kept + Range(
            max(each_layer.low * tokens - logits.low, 0),
            max(each_layer.likely * tokens - logits.likely, 0),
            each_layer.high * tokens,
        )
        return Activations(layers + whole, logits)
    return Activations(each_layer.times(tokens * held) + whole, logits)


def width(setup: Setup) -> float:
    """Bytes of one activation."""
    return 4.0 if setup.training_precision in FULL_WIDTH else 2.0


def step_tokens(shape: ModelShape, setup: Setup) -> float:
    """Tokens of one step on one card; a vision transformer has its patches."""
    if shape.image_size and shape.positions:
        return setup.batch_size * shape.positions * setup.pixel_scale(shape)
    return float(setup.batch_size * setup.sequence_tokens)


def in_flight_layers(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> float:
    """Layers whose activations a stage holds: its own, for as many micro-batches as are under way (1F1B).

    At most as many micro-batches as stages, and no more than all layers: the first stage can be given the fewer layers.
    An encoder's layers count as often as its source is longer than the text.
    """
    layers = shape.layers + shape.encoder_layers
    under_way = min(layout.pipeline, max(setup.gradient_accumulation, 1))
    whole = shape.layers + shape.encoder_layers * shape.longer_source(setup.sequence_tokens)
    return min(stage_share(layers, layout.pipeline) * under_way, 1.0) * whole


def checkpoint_bytes(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    """Bytes per token kept at the start of each recomputed layer: its input (2 s b h in 16-bit, Korthikanti et al.
    2022, 5.3; twice that where the residual stream is in FP32).
    """
    each = coefficients.pick("checkpoint-bytes", context)
    return scaled(each, shape.hidden_size * width(setup) / 2 / layout.tensor)


def whole_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> Range:
    """Bytes that each card of a tensor group holds undivided while it works on a layer: what is kept is divided by
    tokens, but products take all of them. Backward that is the input gathered anew, the gradient of the output and that
    of the input (Korthikanti et al. 2022, 4.2.2, figures 5 and 6).
    """
    if layout.tensor == 1:
        return NOTHING
    size = _WHOLE_TENSORS * step_tokens(shape, setup) * shape.hidden_size * width(setup)
    return Range(size, size, size)


def mean_ffn(shape: ModelShape) -> float:
    """Feed-forward width a token passes through, averaged over the layers."""
    routed = (shape.experts_per_token + shape.shared_experts) * shape.expert_ffn_size
    layers = max(shape.layers, 1)
    return ((layers - shape.moe_layers) * shape.ffn_size + shape.moe_layers * routed) / layers


def layer_range(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    """Bytes per token that one layer keeps on one tensor-parallel rank."""
    pick = coefficients.pick
    hidden, keys, ffn = (
        pick("activation-hidden-bytes", context),
        pick("activation-kv-bytes", context),
        pick("activation-ffn-bytes", context),
    )
    selective = pick("selective-share", context)
    slack = pick("allocator-slack", context)
    compiled = pick("compiled-kept-share", context)
    ffn_size, scores = mean_ffn(shape), score_bytes(shape, setup)
    low, likely, high = (
        (h * shape.hidden_size + k * shape.kv_width + f * ffn_size) * s * c * a * width(setup) / 2 + scores
        for h, k, f, s, c, a in (
            (hidden.low, keys.low, ffn.low, selective.low, compiled.low, slack.low),
            (hidden.likely, keys.likely, ffn.likely, selective.likely, compiled.likely, slack.likely),
            (hidden.high, keys.high, ffn.high, selective.high, compiled.high, slack.high),
        )
    )
    return Range(low / layout.tensor, likely / layout.tensor, high / layout.tensor)


def score_bytes(shape: ModelShape, setup: Setup) -> float:
    """Bytes per token of written-out attention scores, their softmax and its mask: 5 * heads * length (Korthikanti et
    al. 2022, 4.1); 7 under autocast, which keeps the softmax in FP32 (PyTorch, autocast op reference).
    """
    if setup.attention != "eager" or setup.gradient_checkpointing == "selective":
        return 0.0
    length = (
        shape.positions * setup.pixel_scale(shape) if shape.image_size and shape.positions else setup.sequence_tokens
    )
    each = 7.0 if setup.training_precision in AUTOCAST else 5.0 * width(setup) / 2
    return each * shape.heads * length


def _whole(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    slack = coefficients.pick("allocator-slack", context)
    return scaled(
        slack, sample_bytes(shape, setup) * setup.batch_size * stage_share(0, layout.pipeline) / layout.tensor
    )


def _workspace(coefficients: Coefficients, context: Context) -> Range:
    return scaled(coefficients.pick("training-workspace-bytes", context), 1.0)


def sample_bytes(shape: ModelShape, setup: Setup) -> float:
    """Bytes kept of one sample, scaled with the area of the image and the width of the numbers.

    Checkpoints keep about 2 sqrt(layers) of them (Chen et al. 2016, arXiv:1604.06174). Where each block of a
    transformer is one, as diffusers does it, they keep the input of each and all of one: 2 of the 34 bytes that a block
    keeps of an element (Korthikanti et al. 2022, 4.1 and 5.3).
    """
    share = 1.0 if setup.training_precision in FULL_WIDTH else shape.activation_16bit_share or 0.5
    kept = setup.activation_bytes(shape) * share
    if setup.gradient_checkpointing != "full" or not shape.layers:
        return kept
    if any(component.name == "transformer" for component in shape.components):
        return kept * (2 / 34 + 1 / shape.layers)
    return kept * min(2 / math.sqrt(shape.layers), 1.0)


def _logits(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    if not shape.vocab_size or shape.kind == "encoder":
        return NOTHING
    tokens = setup.batch_size * setup.sequence_tokens
    return scaled(coefficients.pick("training-logit-bytes", context), tokens * shape.vocab_size / layout.tensor)


def explain_activations(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    coefficients: Coefficients,
    context: Context,
    kept: Activations,
) -> list[Calculation]:
    """How the activations and the logits came about."""
    pick = coefficients.pick
    batch = Term("batch", setup.batch_size, "samples")
    tensor = Term("tensor", layout.tensor, "cards")
    workspace = coefficient_term("workspace", pick("training-workspace-bytes", context))
    if shape.activation_bytes_per_sample:
        return [
            Calculation(
                "activations",
                "batch * sample * slack * stage / tensor + workspace",
                (
                    batch,
                    Term("sample", sample_bytes(shape, setup), "bytes per sample", shape.source),
                    coefficient_term("slack", pick("allocator-slack", context)),
                    Term("stage", stage_share(0, layout.pipeline), "share"),
                    tensor,
                    workspace,
                ),
                kept.layers.likely,
                "bytes",
            ),
            _no_logits(),
        ]
    if not shape.layers or not shape.hidden_size:
        return [
            Calculation(
                "activations",
                "batch * area * gflop * each * bytes / 2 * stage / tensor + workspace",
                (
                    batch,
                    Term("area", setup.pixel_scale(shape), "share"),
                    Term("gflop", shape.flops_per_sample / 1e9, "GFLOP", shape.source),
                    coefficient_term("each", pick("activation-bytes-per-gflop", context)),
                    Term("bytes", width(setup), "bytes"),
                    Term("stage", stage_share(0, layout.pipeline), "share"),
                    tensor,
                    workspace,
                ),
                kept.layers.likely,
                "bytes",
            ),
            _no_logits(),
        ]
    return [
        *_explain_layers(shape, setup, layout, coefficients, context, kept),
        _explain_logits(shape, setup, layout, coefficients, context, kept),
    ]


def _explain_layers(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    coefficients: Coefficients,
    context: Context,
    kept: Activations,
) -> list[Calculation]:
    """One layer, and all that a stage holds at the end of the forward pass."""
    layer = _explain_layer(shape, setup, layout, coefficients, context)
    note = "held by a stage, for each micro-batch under way"
    terms: tuple[Term, ...] = (
        Term("tokens", step_tokens(shape, setup), "tokens"),
        Term("layers", in_flight_layers(shape, setup, layout), "layers", shape.source, note),
    )
    whole = whole_bytes(shape, setup, layout).likely
    undivided = Term("whole", whole, "bytes", ("korthikanti-2022",), "undivided while a layer is worked on")
    added = (undivided,) if whole else ()
    beside = " + whole" if whole else ""
    if setup.gradient_checkpointing != "full":
        formula = f"tokens * layers * layer_activations{beside}"
        terms = (*terms, layer.as_term(), *added)
        return [layer, Calculation("activations", formula, terms, kept.layers.likely, "bytes")]
    offloaded = setup.offload == "activations"
    checkpoint = checkpoint_bytes(shape, setup, layout, coefficients, context).likely
    picked = coefficients.pick("checkpoint-bytes", context).source
    at_host = Term("checkpoint", 0, "bytes per token and layer", ("checkpoint-offload",), "the host has them")
    on_card = Term("checkpoint", checkpoint, "bytes per token and layer", picked)
    terms = (
        *terms,
        at_host if offloaded else on_card,
        layer.as_term(),
        Term("logits", kept.logits.likely, "bytes"),
        *added,
    )
    return [
        layer,
        Calculation(
            "activations",
            f"tokens * layers * checkpoint + max(tokens * layer_activations - logits, 0){beside}",
            terms,
            kept.layers.likely,
            "bytes",
            note="only the larger of one recomputed layer and the logits stands beside the checkpoints",
        ),
    ]


def _explain_layer(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Calculation:
    pick = coefficients.pick
    terms = (
        coefficient_term("hidden_bytes", pick("activation-hidden-bytes", context)),
        Term("hidden", shape.hidden_size, "elements", shape.source),
        coefficient_term("kv_bytes", pick("activation-kv-bytes", context)),
        Term("kv", shape.kv_width, "elements", shape.source),
        coefficient_term("ffn_bytes", pick("activation-ffn-bytes", context)),
        Term("ffn", mean_ffn(shape), "elements", shape.source),
        coefficient_term("kept", pick("selective-share", context)),
        coefficient_term("compiled", pick("compiled-kept-share", context)),
        coefficient_term("slack", pick("allocator-slack", context)),
        Term("bytes", width(setup), "bytes", (), "of one activation"),
        Term("scores", score_bytes(shape, setup), "bytes", (), "attention scores, where written out"),
        Term("tensor", layout.tensor, "cards"),
    )
    products = "(hidden_bytes * hidden + kv_bytes * kv + ffn_bytes * ffn)"
    formula = f"({products} * kept * compiled * slack * bytes / 2 + scores) / tensor"
    value = layer_range(shape, setup, layout, coefficients, context).likely
    return Calculation("layer_activations", formula, terms, value, "bytes per token")


def _no_logits() -> Calculation:
    return Calculation("logits", "none", (Term("none", 0, "bytes", (), "the model writes no tokens"),), 0.0, "bytes")


def _explain_logits(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    coefficients: Coefficients,
    context: Context,
    kept: Activations,
) -> Calculation:
    if not kept.logits.high:
        return _no_logits()
    return Calculation(
        "logits",
        "batch * sequence * vocabulary * logit_bytes / tensor",
        (
            Term("batch", setup.batch_size, "sequences"),
            Term("sequence", setup.sequence_tokens, "tokens"),
            Term("vocabulary", shape.vocab_size, "tokens", shape.source),
            coefficient_term("logit_bytes", coefficients.pick("training-logit-bytes", context)),
            Term("tensor", layout.tensor, "cards"),
        ),
        kept.logits.likely,
        "bytes",
    )
