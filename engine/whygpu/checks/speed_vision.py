"""Speed of models that work on whole samples: operations per sample over the share of the peak rate they reach.

The longer of arithmetic and of moving weights (of a recommender's tables the rows looked up) and activations decides;
the host's work, and what goes with the image alone (copying it to the card, decoding boxes), come on top. Diffusion
repeats it for every step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.reckoning import Reckoning, Term
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed_columns import LIKELY, Band, Columns, coefficient_of, power_term

UNCERTAIN = (
    "joules-per-operation",
    "vision-mfu",
    "traffic-per-activation",
    "decode-bandwidth-share",
    "vision-step-s",
    "vision-pixel-s",
    "formula-error",
)


@dataclass(frozen=True, slots=True)
class VisionWork:
    """Columns and rows behind the figures. Seconds per batch; rows over n plans unless said."""

    columns: Columns
    flops: float
    steps: int
    mfu: FloatArray
    power: FloatArray
    weight_bytes: float
    compute_s: FloatArray
    read_s: FloatArray
    fixed_s: FloatArray
    image_s: FloatArray
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
    power = columns.power_share()
    weights = read_bytes(columns)
    compute = flops * columns.operations_error() / (columns.tensor * device.flops_s * power * mfu)
    traffic = columns.less_is_better("traffic-per-activation") * moved_bytes(columns)
    bandwidth = device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    read = (weights + traffic) / columns.tensor / bandwidth
    fixed = columns.less_is_better("vision-step-s")
    image = columns.less_is_better("vision-pixel-s") * pixels(columns)
    batch = steps * (np.maximum(compute, read) + fixed) + image
    batch = batch * columns.unmodelled()
    samples = columns.data * columns.pipeline * setup.batch_size / batch
    return VisionWork(columns, flops, steps, mfu, power, weights, compute, read, fixed, image, batch, samples)


def pixels(columns: Columns) -> float:
    """Pixels of one batch's images, 0 where the model has no image size."""
    side = columns.setup.pixels or columns.shape.image_size
    return float(side**2 * columns.setup.batch_size)


def read_bytes(columns: Columns) -> float:
    """Bytes of weights that one pass over a batch reads; of looked-up tables only the rows."""
    shape, setup = columns.shape, columns.setup
    return setup.format.weight_bytes(shape) * shape.touched_parameters(setup.batch_size) / shape.parameters


def moved_bytes(columns: Columns) -> float:
    """Bytes of one batch's activations at the computing width, where the model's figure is known."""
    shape, setup = columns.shape, columns.setup
    each = shape.activation_bytes_per_sample * setup.format.compute_bits / 32
    return each * setup.pixel_scale(shape) * setup.batch_size


def bands(done: VisionWork) -> dict[str, Band]:
    """The figures of the contract, by name. `ttft_ms` is the time of one batch."""
    found = {
        "ttft_ms": Band.of(done.batch_s, 1e3),
        "samples_per_s": Band.of(done.samples_s),
        "requests_per_s": Band.of(done.samples_s),
    }
    if done.columns.shape.kind in ("cnn", "vit", "detector", "segmenter"):
        found["frames_per_s"] = found["samples_per_s"]
    return found


def reckon(done: VisionWork, i: int) -> list[Reckoning]:
    """How the likely figures of one plan came about."""
    columns = done.columns
    shape, setup, device = columns.shape, columns.setup, columns.device
    tensor = Term("tensor", float(columns.tensor[i]), "cards")
    forward = Term("forward", shape.flops_per_sample or float("nan"), "operations", columns.sources_of_operations())
    arithmetic = (
        forward,
        Term("area", setup.pixel_scale(shape), "share", (), "image area against the model's own"),
        Term("batch", setup.batch_size, "samples"),
        tensor,
        Term("rate", float(device.flops_s[i]), "operations/s"),
        power_term(done.power, i),
        coefficient_of(columns, i, "vision-mfu", "mfu"),
    )
    moved = (
        Term("weights", done.weight_bytes, "bytes", shape.source, "read in a pass over a batch"),
        Term("moved", moved_bytes(columns), "bytes", shape.source, "activations of a batch"),
        coefficient_of(columns, i, "traffic-per-activation", "traffic"),
        tensor,
        Term("bandwidth", float(device.bandwidth_bytes_s[i]), "bytes/s"),
        coefficient_of(columns, i, "decode-bandwidth-share", "share"),
    )
    compute = Reckoning(
        "compute_s",
        "forward * area * batch / (tensor * rate * power * mfu)",
        arithmetic,
        float(done.compute_s[LIKELY, i]),
        "s",
    )
    read = Reckoning(
        "read_s",
        "(weights + moved * traffic) / tensor / (bandwidth * share)",
        moved,
        float(done.read_s[LIKELY, i]),
        "s",
    )
    fixed = coefficient_of(columns, i, "vision-step-s", "fixed")
    batch = Reckoning(
        "batch_s",
        "steps * (max(compute_s, read_s) + fixed) + pixels * pixel",
        (
            Term("steps", done.steps, "steps", shape.source),
            compute.as_term(),
            read.as_term(),
            fixed,
            Term("pixels", pixels(columns), "pixels", (), "of a batch"),
            coefficient_of(columns, i, "vision-pixel-s", "pixel"),
        ),
        float(done.batch_s[LIKELY, i]),
        "s",
    )
    terms = (
        Term("data", float(columns.data[i]), "replicas"),
        Term("pipeline", float(columns.pipeline[i]), "stages"),
        Term("batch", setup.batch_size, "samples"),
        batch.as_term(),
    )
    formula = "data * pipeline * batch / batch_s"
    return [compute, read, batch, Reckoning("samples_per_s", formula, terms, float(done.samples_s[LIKELY, i]), "1/s")]
