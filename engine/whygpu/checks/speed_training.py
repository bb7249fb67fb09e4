"""Speed of training: operations per token over the share of the peak rate that training reaches, and what the network
adds.

6 operations per parameter and token (2 forward, 4 backward), 2 more where the forward pass is repeated, 4 where the
weights are frozen and only adapters learn; attention 12 * layers * width * length, halved by the causal mask.
Sources: Kaplan et al. 2020 (2.1), Chowdhery et al. 2022 (appendix B), Korthikanti et al. 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.activations import step_tokens
from whygpu.checks.adapters import adapter_parameters
from whygpu.checks.reckoning import Reckoning, Term
from whygpu.checks.setup import FloatArray
from whygpu.checks.shape import TOKEN_KINDS
from whygpu.checks.speed_columns import LIKELY, WIRE, Band, Columns, power_term
from whygpu.checks.weights import ENDS

UNCERTAIN = (
    "joules-per-operation",
    "training-mfu",
    "vision-training-mfu",
    "training-launch-s-per-layer",
    "gather-launch-s-per-layer",
    "vision-step-s",
    "unpack-share",
    "decode-bandwidth-share",
    "exchange-overlap",
    "formula-error",
    *WIRE,
)


@dataclass(frozen=True, slots=True)
class TrainingWork:
    """Columns and rows behind the figures. Seconds per optimizer step over one micro-batch; rows over n plans
    unless said.
    """

    columns: Columns
    flops: float
    mfu: FloatArray
    power: FloatArray
    bubble: FloatArray
    launch_s: FloatArray
    unpack_s: FloatArray
    compute_s: FloatArray
    update_s: FloatArray
    tensor_wire_s: FloatArray
    data_wire_s: FloatArray
    step_s: FloatArray
    samples_s: FloatArray
    tokens_s: FloatArray
    work_total: float


def passes(columns: Columns) -> float:
    """Operations per parameter and token."""
    setup = columns.setup
    forward_backward = 6.0 if setup.method == "full" else 4.0
    return forward_backward + (2.0 if setup.gradient_checkpointing == "full" else 0.0)


def step_flops(columns: Columns) -> float:
    """Operations of one micro-batch over one data-parallel rank."""
    shape, setup = columns.shape, columns.setup
    if shape.flops_per_sample and shape.kind not in TOKEN_KINDS:
        return passes(columns) / 2 * shape.flops_per_sample * setup.pixel_scale(shape) * setup.batch_size
    tokens = step_tokens(shape, setup)
    length = tokens / max(setup.batch_size, 1)
    causal = 1.0 if shape.kind == "encoder" else 0.5
    attention = (
        2 * passes(columns) * causal * (shape.attention_layers + shape.encoder_layers) * shape.query_width * length
    )
    return (passes(columns) * shape.matmul_parameters + attention) * tokens


def work(columns: Columns) -> TrainingWork:
    """Reckon a training step of all plans."""
    shape, setup, device = columns.shape, columns.setup, columns.device
    flops = step_flops(columns)
    mfu = columns.more_is_better(
        "training-mfu" if shape.kind in TOKEN_KINDS or shape.kind == "vit" else "vision-training-mfu"
    )
    power = columns.power_share()
    wire = columns.wire()
    accumulation = max(setup.gradient_accumulation, 1)
    bubble = (columns.pipeline - 1) / (accumulation + columns.pipeline - 1)
    layers = shape.layers + shape.encoder_layers
    host = columns.less_is_better("training-launch-s-per-layer")
    host = host + columns.gathers * (columns.data > 1) * columns.less_is_better("gather-launch-s-per-layer")
    launch = host * layers
    if shape.kind not in TOKEN_KINDS:
        launch = np.maximum(launch, columns.less_is_better("vision-step-s"))  # a step has a forward pass in it
    cards = columns.tensor * columns.pipeline
    unpack = unpacked_bytes(columns) / cards / (device.bandwidth_bytes_s * columns.more_is_better("unpack-share"))
    worked = flops * columns.operations_error() / (cards * device.flops_s * power * mfu)
    compute = np.maximum(worked + unpack, launch) / (1 - bubble)
    trained = float(
        min(shape.trained_parameters, shape.touched_parameters(setup.batch_size))
        if setup.method == "full"
        else adapter_parameters(shape, setup.lora_rank, setup.lora_targets)
    )
    update = (
        _update_bytes(columns, trained)
        / cards
        / (device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share"))
    )
    payload = step_tokens(shape, setup) * shape.hidden_size * 2.0
    reduces = layers / columns.pipeline * (6 if setup.gradient_checkpointing == "full" else 4)
    tensor_wire = reduces * wire.all_reduce_s(columns.tensor, np.full(device.size, payload))
    # sharded weights are gathered, and their gradients scattered, for every micro-batch; others are exchanged once
    together = np.where(columns.gathers > 0, 1, accumulation)
    data_wire = _gradient_exchange(columns, trained, wire.data_bytes_s, compute * together) / together
    step = compute + tensor_wire + data_wire + update / accumulation
    step = step * columns.unmodelled()
    samples = columns.data * setup.batch_size / step
    tokens = samples * setup.sequence_tokens
    total = setup.epochs * (
        setup.dataset_tokens / setup.sequence_tokens if setup.dataset_tokens else setup.dataset_samples
    )
    return TrainingWork(
        columns,
        flops,
        mfu,
        power,
        bubble,
        launch,
        unpack,
        compute,
        update,
        tensor_wire,
        data_wire,
        step,
        samples,
        tokens,
        total,
    )


def unpacked_bytes(columns: Columns) -> float:
    """Bytes moved in a step to turn quantized frozen weights into 16-bit ones: read at their format and written at 16
    bits each time a layer is passed through (forward, backward, and again where the forward pass is repeated).
    """
    shape, setup = columns.shape, columns.setup
    if setup.method == "full" or not setup.format.quantized:
        return 0.0
    inside = sum(part.parameters for part in shape.parts if part.name not in ENDS) * setup.format.bits_per_weight / 8
    written = inside * 16 / setup.format.bits_per_weight
    return (3.0 if setup.gradient_checkpointing == "full" else 2.0) * (inside + written)


def _update_bytes(columns: Columns, trained: float) -> float:
    """Bytes the optimizer moves in a step: states read and written, weights and gradients once each."""
    context = columns.contexts[0]
    pick = columns.coefficients.pick
    states = pick("training-master-bytes", context).likely + pick("optimizer-bytes", context).likely
    return trained * (
        2 * states + pick("training-weight-bytes", context).likely + pick("training-gradient-bytes", context).likely
    )


def _gradient_exchange(columns: Columns, trained: float, bytes_s: FloatArray, compute_s: FloatArray) -> FloatArray:
    """Seconds of the gradients' all-reduce that arithmetic does not hide; gathering the weights adds half as much
    again.

    Ring: 2 (n - 1) / n * bytes (NCCL); ZeRO-3 moves 1.5 times that (Rajbhandari et al. 2020, 7.2).
    """
    ranks = columns.data
    size = trained / (columns.tensor * columns.pipeline) * 2.0
    frozen = 0.0 if columns.setup.method == "full" else columns.setup.format.weight_bytes(columns.shape)
    volume = 2 * size * np.where(columns.gathers > 0, 1.5, 1.0) + columns.gathers * 2 * frozen / (
        columns.tensor * columns.pipeline
    )
    seconds = (ranks - 1) / ranks * volume / bytes_s
    hidden = columns.more_is_better("exchange-overlap") * compute_s
    return np.maximum(seconds - hidden, 0.0)


def bands(done: TrainingWork) -> dict[str, Band]:
    """The figures of the contract, by name."""
    found = {"samples_per_s": Band.of(done.samples_s)}
    if done.columns.shape.kind in TOKEN_KINDS:
        found["train_tokens_per_s"] = Band.of(done.tokens_s)
    if done.work_total:
        found["train_hours"] = Band.of(done.work_total / done.samples_s / 3600)
    return found


def reckon(done: TrainingWork, i: int) -> list[Reckoning]:
    """How the likely figures of one plan came about."""
    columns = done.columns
    shape, setup, device = columns.shape, columns.setup, columns.device
    context = columns.contexts[int(device.kind[i])]

    def likely(rows: FloatArray) -> float:
        return float(rows[LIKELY, i])

    name = "training-mfu" if shape.kind in TOKEN_KINDS or shape.kind == "vit" else "vision-training-mfu"
    mfu = columns.coefficients.pick(name, context)
    flops = _reckon_flops(done)
    compute = Reckoning(
        "compute_s",
        "max(flops / (tensor * pipeline * rate * power * mfu) + unpack, launch) / (1 - bubble)",
        (
            flops.as_term(),
            Term("tensor", float(columns.tensor[i]), "cards"),
            Term("pipeline", float(columns.pipeline[i]), "stages"),
            Term("rate", float(device.flops_s[i]), "operations/s"),
            power_term(done.power, i),
            Term("mfu", mfu.likely, mfu.unit, mfu.source, mfu.meaning),
            Term("unpack", likely(done.unpack_s), "s", (), "quantized weights turned into 16-bit ones"),
            Term("launch", likely(done.launch_s), "s", (), "host work of a step"),
            Term("bubble", float(done.bubble[i]), "share", (), "pipeline stages idle"),
        ),
        likely(done.compute_s),
        "s",
    )
    step = Reckoning(
        "step_s",
        "compute_s + tensor_wire + data_wire + update / accumulation",
        (
            compute.as_term(),
            Term("tensor_wire", likely(done.tensor_wire_s), "s", (), "all-reduces of tensor parallelism"),
            Term("data_wire", likely(done.data_wire_s), "s", (), "exchange of gradients that arithmetic does not hide"),
            Term("update", likely(done.update_s), "s", (), "the optimizer's pass over its states"),
            Term("accumulation", float(max(setup.gradient_accumulation, 1)), "micro-batches"),
        ),
        likely(done.step_s),
        "s",
    )
    samples = Reckoning(
        "samples_per_s",
        "data * batch / step_s",
        (
            Term("data", float(columns.data[i]), "ranks"),
            Term("batch", setup.batch_size, "samples"),
            step.as_term(),
        ),
        likely(done.samples_s),
        "1/s",
    )
    found = [flops, compute, step, samples]
    if shape.kind in TOKEN_KINDS:
        found.append(
            Reckoning(
                "train_tokens_per_s",
                "samples_per_s * sequence",
                (
                    samples.as_term(),
                    Term("sequence", setup.sequence_tokens, "tokens"),
                ),
                likely(done.tokens_s),
                "tokens/s",
            )
        )
    if done.work_total:
        found.append(
            Reckoning(
                "train_hours",
                "samples / samples_per_s / 3600",
                (
                    Term("samples", done.work_total, "samples", (), "of the data, all epochs"),
                    samples.as_term(),
                ),
                done.work_total / likely(done.samples_s) / 3600,
                "h",
            )
        )
    return found


def _reckon_flops(done: TrainingWork) -> Reckoning:
    columns = done.columns
    shape, setup = columns.shape, columns.setup
    every = Term("passes", passes(columns), "operations per parameter", ("kaplan-2020",))
    if shape.flops_per_sample and shape.kind not in TOKEN_KINDS:
        return Reckoning(
            "flops",
            "passes / 2 * forward * area * batch",
            (
                every,
                Term("forward", shape.flops_per_sample, "operations", columns.sources_of_operations()),
                Term("area", setup.pixel_scale(shape), "share"),
                Term("batch", setup.batch_size, "samples"),
            ),
            done.flops,
            "operations",
        )
    tokens = step_tokens(shape, setup)
    return Reckoning(
        "flops",
        "(passes * active + 2 * passes * causal * layers * width * length) * tokens",
        (
            every,
            Term("active", shape.matmul_parameters, "parameters", shape.source),
            Term("causal", 1.0 if shape.kind == "encoder" else 0.5, "share", (), "of the scores that are computed"),
            Term("layers", shape.attention_layers + shape.encoder_layers, "layers", shape.source),
            Term("width", shape.query_width, "elements", shape.source),
            Term("length", tokens / max(setup.batch_size, 1), "tokens"),
            Term("tokens", tokens, "tokens"),
        ),
        done.flops,
        "operations",
    )
