"""Speed of models that work on whole samples: operations per sample over the share of the peak rate they reach.

Products take turns with kernels that only move activations (norms, sums, what is between layers), so arithmetic and the
moving of activations add up; reading weights (of a recommender's tables the rows looked up) hides behind the products
where these take longer. The host's work, and what goes with the image alone (copying it to the card, decoding boxes),
come on top. Diffusion repeats it for every step. Where the parts of a pipeline take turns on the card, all of them are
copied to it once for each batch.

Source: Ivanov et al. 2020, Data movement is all you need (arXiv:2007.00072), 3: operators other than products are bound
by memory, and are 40% of the time of a transformer that does 0.2% of its arithmetic in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.memory.weights import waiting_bytes
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import FloatArray, Setup
from whygpu.checks.speed import video
from whygpu.checks.speed.columns import LIKELY, Band, Columns, coefficient_of, power_term
from whygpu.checks.speed.host import sees
from whygpu.checks.speed.video import decoded_frames_s, decodes

COPY_RATE = "component-copy-bytes-s"
UNCERTAIN = (
    "joules-per-operation",
    "vision-mfu",
    "traffic-per-activation",
    "decode-bandwidth-share",
    "vision-step-s",
    "vision-pixel-s",
    "video-decode-share",
    COPY_RATE,
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
    moved_s: FloatArray
    fixed_s: FloatArray
    image_s: FloatArray
    copy_s: FloatArray
    batch_s: FloatArray
    samples_s: FloatArray


def work(columns: Columns) -> VisionWork:
    """Compute one batch of all plans."""
    shape, setup, device = columns.shape, columns.setup, columns.device
    steps = max(shape.steps, 1)
    flops = (
        shape.flops_per_sample * setup.operations_scale(shape) * setup.batch_size
        if shape.flops_per_sample
        else float("nan")
    )
    mfu = columns.more_is_better("vision-mfu")
    power = columns.power_share()
    weights = read_bytes(columns)
    compute = flops * columns.operations_error() / (columns.tensor * device.flops_s * power * mfu)
    bandwidth = device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    read = weights / columns.tensor / bandwidth
    moved = columns.less_is_better("traffic-per-activation") * moved_bytes(columns) / columns.tensor / bandwidth
    fixed = columns.less_is_better("vision-step-s")
    image = columns.less_is_better("vision-pixel-s") * pixels(columns)
    copy = _copied_bytes(columns) / columns.more_is_better(COPY_RATE) if takes_turns(columns) else np.zeros_like(image)
    batch = steps * (np.maximum(compute, read) + moved + fixed) + image + copy
    batch = batch * columns.unmodelled()
    samples = columns.data * columns.pipeline * setup.batch_size / batch
    return VisionWork(
        columns, flops, steps, mfu, power, weights, compute, read, moved, fixed, image, copy, batch, samples
    )


def takes_turns(columns: Columns) -> bool:
    """Whether the parts of a pipeline are on the card in turn."""
    return columns.setup.offload == "components" and waiting_bytes(columns.shape, columns.setup.format) > 0


def _copied_bytes(columns: Columns) -> float:
    """Bytes of all parts of a pipeline."""
    return columns.setup.format.weight_bytes(columns.shape)


def pixels(columns: Columns) -> float:
    """Pixels of one batch's images, 0 where the model has no image size."""
    side = columns.setup.pixels or columns.shape.image_size
    return float(side**2 * columns.setup.batch_size)


def read_bytes(columns: Columns) -> float:
    """Bytes of weights that one pass over a batch reads; of looked-up tables only the rows."""
    shape, setup = columns.shape, columns.setup
    return setup.format.weight_bytes(shape) * shape.touched_parameters(setup.batch_size) / shape.parameters


def moved_bytes(columns: Columns) -> float:
    """Bytes of one batch's activations at the computing width: the model's own figure, else by its arithmetic.

    Attention's scores are among them: fused kernels do not move these, but take as much longer than products.
    """
    shape, setup = columns.shape, columns.setup
    each = shape.activation_bytes_per_sample * setup.format.compute_bits / 32
    if not each and shape.flops_per_sample:
        share = columns.coefficients.pick("activation-bytes-per-gflop", columns.contexts[0]).likely
        each = share * shape.flops_per_sample / 1e9 * setup.format.compute_bits / 16
    return each * setup.pixel_scale(shape) * setup.batch_size


def bands(done: VisionWork) -> dict[str, Band]:
    """The figures of the contract, by name. `ttft_ms` is the time of one batch."""
    found = {
        "ttft_ms": Band.of(done.batch_s, 1e3),
        "samples_per_s": Band.of(done.samples_s),
        "requests_per_s": Band.of(done.samples_s),
    }
    if sees(done.columns.shape):
        found["frames_per_s"] = found["samples_per_s"]
    if "frames_per_s" in found and decodes(done.columns):
        frames = decoded_frames_s(done.columns)
        found["decoded_frames_per_s"] = Band.of(frames)
        found["frames_per_s"] = Band.of(np.fmin(done.samples_s, frames))
    return found


def explain(done: VisionWork, i: int) -> list[Calculation]:
    """How the likely figures of one plan came about."""
    compute, read, moved = _explain_compute(done, i), _explain_read(done, i), _explain_moved(done, i)
    batch = _explain_batch(done, i, compute, read, moved)
    terms = (
        Term("data", float(done.columns.data[i]), "replicas"),
        Term("pipeline", float(done.columns.pipeline[i]), "stages"),
        Term("batch", done.columns.setup.batch_size, "samples"),
        batch.as_term(),
    )
    formula, value = "data * pipeline * batch / batch_s", float(done.samples_s[LIKELY, i])
    found = [compute, read, moved, batch, Calculation("samples_per_s", formula, terms, value, "1/s")]
    if decodes(done.columns) and sees(done.columns.shape) and np.isfinite(done.columns.device.video_frames_s[i]):
        found.append(video.explain(done.columns, decoded_frames_s(done.columns), i))
    return found


def _tensor(done: VisionWork, i: int) -> Term:
    return Term("tensor", float(done.columns.tensor[i]), "cards")


def _path(done: VisionWork, i: int) -> tuple[Term, Term, Term]:
    """What bytes are divided by."""
    return (
        _tensor(done, i),
        Term("bandwidth", float(done.columns.device.bandwidth_bytes_s[i]), "bytes/s"),
        coefficient_of(done.columns, i, "decode-bandwidth-share", "share"),
    )


def _explain_compute(done: VisionWork, i: int) -> Calculation:
    columns, shape, setup = done.columns, done.columns.shape, done.columns.setup
    operations = shape.flops_per_sample or float("nan")
    terms = (
        Term("forward", operations, "operations", columns.sources_of_operations()),
        *_area_terms(shape, setup),
        Term("batch", setup.batch_size, "samples"),
        _tensor(done, i),
        Term("rate", float(columns.device.flops_s[i]), "operations/s"),
        power_term(done.power, i),
        coefficient_of(columns, i, "vision-mfu", "mfu"),
    )
    formula = f"{_grown_forward(shape)} * batch / (tensor * rate * power * mfu)"
    return Calculation("compute_s", formula, terms, float(done.compute_s[LIKELY, i]), "s")


def area_term(shape: ModelShape, setup: Setup) -> Term:
    """How much larger a sample is than the model's own."""
    return Term("area", setup.pixel_scale(shape), "share", (), "against what the figures are for")


def _area_terms(shape: ModelShape, setup: Setup) -> tuple[Term, ...]:
    """What the operations of a sample grow by where it is larger than the model's own."""
    area = area_term(shape, setup)
    if not shape.square_flops_per_sample:
        return (area,)
    square = shape.square_flops_per_sample / shape.flops_per_sample
    return (area, Term("square", square, "share", shape.source, "of attention to itself, which grows twice as fast"))


def _grown_forward(shape: ModelShape) -> str:
    """The operations of a sample, by the names of its terms."""
    return "forward * area * (1 - square + square * area)" if shape.square_flops_per_sample else "forward * area"


def _explain_read(done: VisionWork, i: int) -> Calculation:
    weights = Term("weights", done.weight_bytes, "bytes", done.columns.shape.source, "read in a pass over a batch")
    formula = "weights / tensor / (bandwidth * share)"
    return Calculation("read_s", formula, (weights, *_path(done, i)), float(done.read_s[LIKELY, i]), "s")


def _explain_moved(done: VisionWork, i: int) -> Calculation:
    columns = done.columns
    terms = (
        Term("activations", moved_bytes(columns), "bytes", columns.shape.source, "of a batch"),
        coefficient_of(columns, i, "traffic-per-activation", "traffic"),
        *_path(done, i),
    )
    formula = "activations * traffic / tensor / (bandwidth * share)"
    return Calculation("moved_s", formula, terms, float(done.moved_s[LIKELY, i]), "s")


def _explain_batch(
    done: VisionWork, i: int, compute: Calculation, read: Calculation, moved: Calculation
) -> Calculation:
    columns = done.columns
    terms: tuple[Term, ...] = (
        Term("steps", done.steps, "steps", columns.shape.source),
        compute.as_term(),
        read.as_term(),
        moved.as_term(),
        coefficient_of(columns, i, "vision-step-s", "fixed"),
        Term("pixels", pixels(columns), "pixels", (), "of a batch"),
        coefficient_of(columns, i, "vision-pixel-s", "pixel"),
    )
    formula = "steps * (max(compute_s, read_s) + moved_s + fixed) + pixels * pixel"
    if takes_turns(columns):
        parts = Term(
            "parts", _copied_bytes(columns), "bytes", columns.shape.source, "of the pipeline, in turn on the card"
        )
        terms, formula = (*terms, parts, coefficient_of(columns, i, COPY_RATE, "copy")), f"{formula} + parts / copy"
    return Calculation("batch_s", formula, terms, float(done.batch_s[LIKELY, i]), "s")
