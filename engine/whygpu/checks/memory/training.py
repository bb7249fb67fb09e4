"""Memory of training: model states, activations, logits.

States per parameter and how ZeRO divides them: Rajbhandari et al. 2020 (arXiv:1910.02054), section 3 and figure 1.
A recommender's tables are spread over the cards and updated row by row as their gradients come, which are never held;
its dense layers are copied (torchrec: table sharding, optimizer fused into the backward pass).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from whygpu.checks.calculation import Range
from whygpu.checks.coefficients import Coefficient, Coefficients, Context
from whygpu.checks.memory.activations import Activations, activations
from whygpu.checks.memory.adapters import adapter_parameters
from whygpu.checks.memory.alignment import Beside, beside_policy, with_beside
from whygpu.checks.memory.parts import NOTHING, MemoryParts, Need, overhead, stage_share
from whygpu.checks.memory.weights import ENDS, beside_bytes, held_weights, turns
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import GATHERING, SHARDS_GRADIENTS, TABLES, ParallelLayout, Setup

SHARDS_OPTIMIZER = frozenset({"zero1", "zero2"}) | GATHERING
FSDP = frozenset({"fsdp", "fsdp1"})
OFFLOADED = frozenset({"optimizer", "all"})
"""What is offloaded of training state: the optimizer's, or all of it."""


@dataclass(frozen=True, slots=True)
class States:
    """Counts and divisors the model states are computed from, per accelerator."""

    trained: int
    """Without a recommender's tables, which have an optimizer of their own."""
    share: float
    held_share: float
    """As ``share``, of what no rank shards: less where experts are spread over more cards than all else is."""
    weight_ranks: int
    table_ranks: int
    gradient_share: float
    optimizer_ranks: int
    weight: Coefficient
    master: Coefficient
    gradient: Coefficient
    moments: Coefficient
    table_weight: Coefficient
    table_moments: Coefficient
    gathered: Coefficient
    gathered_ends: Coefficient
    upcast: Coefficient


def states_of(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> States:
    share = stage_share(shape.layers, layout.pipeline) / layout.tensor
    return States(
        trained=shape.trained_at_once - shape.table_parameters
        if setup.method == "full"
        else adapter_parameters(shape, setup.lora_rank, setup.lora_targets),
        share=share,
        held_share=share * (1.0 - experts_elsewhere(shape, layout)),
        weight_ranks=layout.data if layout.sharding in GATHERING else 1,
        table_ranks=layout.data if layout.sharding in GATHERING | {TABLES} else 1,
        gradient_share=_gradient_share(layout, coefficients.pick("accumulated-gradient-share", context)),
        optimizer_ranks=layout.data if layout.sharding in SHARDS_OPTIMIZER else 1,
        weight=coefficients.pick("training-weight-bytes", context),
        master=coefficients.pick("training-master-bytes", context),
        gradient=coefficients.pick("training-gradient-bytes", context),
        moments=coefficients.pick("optimizer-bytes", context),
        table_weight=coefficients.pick("table-weight-bytes", context),
        table_moments=coefficients.pick("table-state-bytes", context),
        gathered=coefficients.pick("gathered-layers", context),
        gathered_ends=coefficients.pick("gathered-ends", context),
        upcast=coefficients.pick("upcast-end-bytes", context),
    )


def experts_elsewhere(shape: ModelShape, layout: ParallelLayout) -> float:
    """Share of what tensor parallelism leaves a card of the model that other cards hold for it: those of the experts
    that are spread over more cards (Liu et al. 2025, arXiv:2504.14960, 3).
    """
    return shape.routed_share * (1.0 - layout.tensor / layout.expert) if layout.spreads_experts else 0.0


def _gradient_share(layout: ParallelLayout, whole: Coefficient) -> float:
    """Share of the gradients one rank holds, of which a part may be kept whole; all of it in a pipeline of FSDP, whose
    micro-batches add up before they are exchanged.
    """
    if layout.sharding not in SHARDS_GRADIENTS:
        return 1.0
    kept = 1.0 if keeps_stage(layout) else whole.likely
    return kept + (1 - kept) / layout.data


def keeps_stage(layout: ParallelLayout) -> bool:
    """Whether a card keeps all layers of its stage gathered from one micro-batch to the next: FSDP does in a pipeline,
    where they would be gathered for each one anew (torchtitan, reshard_after_forward).
    """
    return layout.sharding in FSDP and layout.pipeline > 1 and layout.data > 1


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes per accelerator of what is there whatever the samples of a micro-batch and whatever is recomputed of them,
    and what else the parts need.
    """

    weights: Range
    gradients: Range
    optimizer: Range
    overhead: Range
    reuse: Coefficient
    beside: Beside | None
    ranks: int
    """Over how many the weights are spread."""


def parts(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> MemoryParts:
    """Bytes per accelerator of a training step."""
    return parts_of(held(shape, setup, layout, coefficients), kept(shape, setup, layout, coefficients))


def held(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> Held:
    """What does not depend on the samples of a micro-batch."""
    context = training_context(shape, setup, layout)
    del context["checkpointing"]  # so that no coefficient can depend on it
    states = states_of(shape, setup, layout, coefficients, context)
    gradients = _per_parameter(states.gradient, states.trained * states.held_share * states.gradient_share)
    trained = states.trained * optimizer_share(states)
    optimizer = _per_parameter(states.master, trained / states.optimizer_ranks)
    optimizer = optimizer + _per_parameter(states.moments, trained / states.optimizer_ranks)
    optimizer = optimizer + _per_parameter(states.table_moments, shape.table_parameters / states.table_ranks)
    weights = _weights(shape, setup, layout, states, held_weights(shape, setup.format, layout, coefficients, context))
    if setup.offload in OFFLOADED:
        optimizer = NOTHING
    if setup.offload == "all":
        weights, gradients = gathered_bytes(shape, setup, layout, states), NOTHING
    beside = beside_policy(shape, setup, layout, coefficients, context)
    summed = gradients if beside is None else gradients.times(beside.trained.likely)  # a critic's, too
    outside = _overhead(layout, coefficients, context, summed)
    reuse = coefficients.pick("gradient-reuse", context)
    return Held(weights, gradients, optimizer, outside, reuse, beside, states.weight_ranks)


def kept(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> Activations:
    """What is kept of a micro-batch, which does not depend on the replicas."""
    return activations(shape, setup, layout, coefficients, training_context(shape, setup, layout))


def optimizer_share(states: States) -> float:
    """Share of the optimizer's states on a card, before its ranks divide them: these divide experts, too, whichever
    cards they are spread over.
    """
    return states.share if states.optimizer_ranks > 1 else states.held_share


def parts_of(held_: Held, kept_: Activations) -> MemoryParts:
    """The parts of a step that holds the one and keeps the other."""
    policy = MemoryParts(
        weights=held_.weights,
        gradients=held_.gradients,
        optimizer=held_.optimizer,
        activations=kept_.layers,
        logits=kept_.logits,
        overhead=held_.overhead,
        reused=_reused(held_.gradients, kept_, held_.reuse),
    )
    return with_beside(policy, held_.beside, held_.ranks)


def need_of(held_: Held, kept_: Activations) -> Need | None:
    """What the parts of ``parts_of`` sum to, added up in the same order; None where there is more beside the step."""
    if held_.beside is not None:
        return None
    weights, gradients, optimizer, overhead_ = held_.weights, held_.gradients, held_.optimizer, held_.overhead
    layers, logits, reuse = kept_.layers, kept_.logits, held_.reuse
    likely = weights.likely + gradients.likely + optimizer.likely + layers.likely + logits.likely + overhead_.likely
    high = weights.high + gradients.high + optimizer.high + layers.high + logits.high + overhead_.high
    return Need(
        likely - reuse.likely * min(gradients.likely, layers.likely + logits.likely),
        high - reuse.low * min(gradients.high, layers.high + logits.high),
        weights.likely,
    )


def host_bytes(shape: ModelShape, setup: Setup, coefficients: Coefficients) -> float:
    """Bytes of training state that is offloaded: what the hosts hold of it together, however many cards there are."""
    whole = parts(shape, replace(setup, offload="none"), ParallelLayout(), coefficients)
    kept = whole.weights.likely + whole.gradients.likely if setup.offload == "all" else 0.0
    return kept + (whole.optimizer.likely if setup.offload in OFFLOADED else 0.0)


def training_context(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> dict[str, str]:
    """The words of a setup, and whether gradients live on from one micro-batch to the next."""
    context = setup.context(shape, layout.sharding)
    context["accumulates"] = "yes" if setup.gradient_accumulation > 1 else "no"
    return context


def _per_parameter(each: Coefficient, parameters: float) -> Range:
    return Range(each.low * parameters, each.likely * parameters, each.high * parameters)


def _weights(shape: ModelShape, setup: Setup, layout: ParallelLayout, states: States, frozen: Range) -> Range:
    held = _per_parameter(states.weight, states.trained * states.held_share / states.weight_ranks)
    held = held + _per_parameter(states.table_weight, shape.table_parameters / states.table_ranks)
    share = frozen_share(shape, setup)
    if share:
        held = held + frozen.times(share / states.weight_ranks * states.held_share / states.share)
    held = held + _per_parameter(states.upcast, end_parameters(shape, layout) / states.weight_ranks)
    return held + gathered_bytes(shape, setup, layout, states) if states.weight_ranks > 1 else held


def frozen_share(shape: ModelShape, setup: Setup) -> float:
    """Share of the model that is held but not trained: all of it under adapters, the rest of a pipeline otherwise. What
    is beside the denoiser of a pipeline has left the card where captions and images were encoded beforehand
    (SimpleTuner, FLUX quickstart: a bit more than 30 GB for adapters in 16 bits); of two denoisers the other one has,
    too (musubi-tuner, Wan 2.2: --offload_inactive_dit).
    """
    encoded = setup.offload == "components" and beside_bytes(shape, setup.format) > 0
    if setup.method == "full":
        return 0.0 if encoded else 1 - shape.trained_parameters / shape.parameters
    return turns(shape, setup.format)[0] / setup.format.weight_bytes(shape) if encoded else 1.0


def gathered_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout, states: States) -> Range:
    """Whole layers that a rank gathers while it works on them, and the token table and head around them."""
    ends = _per_parameter(states.gathered_ends, end_bytes(shape, setup, layout))
    if keeps_stage(layout):
        whole = layer_bytes(shape, setup, layout) * stage_layers(shape, layout)
        return Range(whole, whole, whole) + ends
    return _per_parameter(states.gathered, layer_bytes(shape, setup, layout)) + ends


def stage_layers(shape: ModelShape, layout: ParallelLayout) -> float:
    """Layers of the fullest stage."""
    layers = shape.layers + shape.encoder_layers
    return layers * stage_share(layers, layout.pipeline)


def layer_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> float:
    """Bytes of one layer as it is gathered: what is not token table or head, over the layers, at the computing width;
    frozen quantized layers travel as they are stored, and are unpacked matrix by matrix (FSDP and QLoRA: bitsandbytes,
    quant_storage).
    """
    stored = setup.method != "full" and setup.format.quantized
    bits = setup.format.bits_per_weight if stored else setup.format.compute_bits
    inside = sum(part.parameters for part in shape.parts if part.name not in ENDS) - shape.table_parameters
    return inside / max(shape.layers + shape.encoder_layers, 1) * bits / 8 / layout.tensor


def end_parameters(shape: ModelShape, layout: ParallelLayout) -> float:
    """Parameters of the token table and the head on this card."""
    return sum(part.parameters for part in shape.parts if part.name in ENDS) / layout.tensor


def end_bytes(shape: ModelShape, setup: Setup, layout: ParallelLayout) -> float:
    """Bytes of the token table and the head at the computing width."""
    return end_parameters(shape, layout) * setup.format.compute_bits / 8


def _overhead(layout: ParallelLayout, coefficients: Coefficients, context: Context, gradients: Range) -> Range:
    outside = overhead(layout, coefficients, context)
    if layout.data <= 1 or layout.sharding != "none":
        return outside
    copies = coefficients.pick("gradient-copies", context)
    return outside + Range(gradients.low * copies.low, gradients.likely * copies.likely, gradients.high * copies.high)


def _reused(gradients: Range, kept: Activations, share: Coefficient) -> Range:
    """Gradients fill in while activations are freed, so the worst moment holds the larger of the two, not both.

    Not where gradients outlive the step: accumulation over micro-batches, or the partitions that ZeRO keeps.
    """
    room = kept.layers + kept.logits
    return Range(
        -share.high * min(gradients.low, room.low),
        -share.likely * min(gradients.likely, room.likely),
        -share.low * min(gradients.high, room.high),
    )
