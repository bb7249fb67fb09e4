"""Speed of models that work on whole samples: operations per sample over the share of the peak rate they reach.

The longer of arithmetic and of moving weights and activations decides, and the host's work comes on top. Diffusion repeats it for every step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.reckoning import Reckoning, Term
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed_columns import LIKELY, Band, Columns


@dataclass(frozen=True, slots=True)
class VisionWork:
    """Columns and rows behind the figures. Seconds per batch; rows (3, n) unless said."""

    columns: Columns
    flops: float
    steps: int
    mfu: FloatArray
    weight_bytes: float
    compute_s: FloatArray
    read_s: FloatArray
    fixed_s: FloatArray
    batch_s: FloatArray
    samples_s: FloatArray


def work(columns: Columns) -> VisionWork:
    """Reckon one batch of all plans."""
    shape, setup, device = columns.shape, columns.setup, columns.device
    steps = max(shape.steps, 1)
    flops = (
        shape.flops_per_sample * setup.pixel_scale(shape) * setup.batch_size if shape.flops_per_sample else float("nan")
    )
    mfu = columns.more_is_better("vision-mfu")
    weights = setup.format.weight_bytes(shape)
    compute = flops / (columns.tensor * device.flops_s * mfu)
    traffic = columns.less_is_better("traffic-per-activation") * moved_bytes(columns)
    bandwidth = device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    read = (weights + traffic) / columns.tensor / bandwidth
    fixed = columns.less_is_better("vision-step-s")
    batch = steps * (np.maximum(compute, read) + fixed)
    samples = columns.data * columns.pipeline * setup.batch_size / batch
    return VisionWork(columns, flops, steps, mfu, weights, compute, read, fixed, batch, samples)


def moved_bytes(columns: Columns) -> float:
    """Bytes of one batch's activations at the computing width, where the model's figure is known."""
    shape, setup = columns.shape, columns.setup
    each = shape.activation_bytes_per_sample * setup.format.compute_bits / 32
    return each * setup.pixel_scale(shape) * setup.batch_size


def bands(done: VisionWork) -> dict[str, Band]:
    """The figures of the contract, by name. `ttft_ms` is the time of one batch."""
    found = {
        "ttft_ms": Band.of_time(done.batch_s, 1e3),
        "samples_per_s": Band.of_rate(done.samples_s),
        "requests_per_s": Band.of_rate(done.samples_s),
    }
    if done.columns.shape.kind in ("cnn", "vit", "detector", "segmenter"):
        found["frames_per_s"] = found["samples_per_s"]
    return found


def reckon(done: VisionWork, i: int) -> list[Reckoning]:
    """How the likely figures of one plan came about."""
    columns = done.columns
    shape, setup, device = columns.shape, columns.setup, columns.device
    context = columns.contexts[int(device.kind[i])]

    def coefficient(name: str, term: str) -> Term:
        picked = columns.coefficients.pick(name, context)
        return Term(
            term, picked.likely, picked.unit, picked.source, f"{picked.meaning} ({picked.low:g} to {picked.high:g})"
        )

    def likely(rows: FloatArray) -> float:
        return float(rows[LIKELY, i])

    tensor = Term("tensor", float(columns.tensor[i]), "cards")
    compute = Reckoning(
        "compute_s",
        "forward * area * batch / (tensor * rate * mfu)",
        (
            Term("forward", shape.flops_per_sample or float("nan"), "operations", shape.source),
            Term("area", setup.pixel_scale(shape), "share"),
            Term("batch", setup.batch_size, "samples"),
            tensor,
            Term("rate", float(device.flops_s[i]), "operations/s"),
            coefficient("vision-mfu", "mfu"),
        ),
        likely(done.compute_s),
        "s",
    )
    read = Reckoning(
        "read_s",
        "(weights + moved * traffic) / tensor / (bandwidth * share)",
        (
            Term("weights", done.weight_bytes, "bytes", shape.source),
            Term("moved", moved_bytes(columns), "bytes", shape.source, "activations of a batch"),
            coefficient("traffic-per-activation", "traffic"),
            tensor,
            Term("bandwidth", float(device.bandwidth_bytes_s[i]), "bytes/s"),
            coefficient("decode-bandwidth-share", "share"),
        ),
        likely(done.read_s),
        "s",
    )
    batch = Reckoning(
        "batch_s",
        "steps * (max(compute_s, read_s) + fixed)",
        (
            Term("steps", done.steps, "steps", shape.source),
            compute.as_term(),
            read.as_term(),
            coefficient("vision-step-s", "fixed"),
        ),
        likely(done.batch_s),
        "s",
    )
    samples = Reckoning(
        "samples_per_s",
        "data * pipeline * batch / batch_s",
        (
            Term("data", float(columns.data[i]), "replicas"),
            Term("pipeline", float(columns.pipeline[i]), "stages"),
            Term("batch", setup.batch_size, "samples"),
            batch.as_term(),
        ),
        likely(done.samples_s),
        "1/s",
    )
    return [compute, read, batch, samples]
