"""Speed of models that work on whole samples: operations per sample over the share of the peak rate they reach.

Products take turns with kernels that only move activations (norms, sums, what is between layers), so arithmetic and the
moving of activations add up; what products read and write themselves (weights, of a recommender's tables the rows
looked up, and feature maps) hides behind their arithmetic where that takes longer. Where operators are dispatched one
by one the host is ahead of the card or the card waits for it, so that the longer of the two counts; an engine's
launches, and what goes with the image alone (copying it to the card, decoding boxes), come on top. Diffusion repeats
it for every step. Where the parts of a pipeline take turns on the card, all of them are copied to it once for each
batch.

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
from whygpu.checks.speed.columns import LIKELY, Band, Columns, coefficient_of
from whygpu.checks.speed.host import sees
from whygpu.checks.speed.inference import overlapped
from whygpu.checks.speed.video import decoded_frames_s, decodes

COPY_RATE = "component-copy-bytes-s"
UNCERTAIN = (
    "joules-per-operation",
    "product-rate-share",
    "vision-product-share",
    "vision-software-share",
    "product-traffic",
    "traffic-per-activation",
    "forward-traffic-left",
    "decode-bandwidth-share",
    "forward-operators",
    "forward-operator-s",
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
    share: FloatArray
    weight_bytes: float
    compute_s: FloatArray
    read_s: FloatArray
    moved_s: FloatArray
    host_s: FloatArray
    fixed_s: FloatArray
    waiting_s: FloatArray
    image_s: FloatArray
    copy_s: FloatArray
    batch_s: FloatArray
    samples_s: FloatArray


def work(columns: Columns) -> VisionWork:
    """Compute one batch of all plans."""
    shape, setup = columns.shape, columns.setup
    steps = max(shape.steps, 1)
    flops = (
        shape.flops_per_sample * setup.operations_scale(shape) * setup.batch_size
        if shape.flops_per_sample
        else float("nan")
    )
    share = product_share(columns)
    weights = read_bytes(columns)
    compute = flops * columns.operations_error() / (columns.tensor * columns.flops_s() * share)
    bandwidth = columns.device.bandwidth_bytes_s * columns.more_is_better("decode-bandwidth-share")
    handed = columns.less_is_better("product-traffic") * kept_bytes(columns)
    read = (weights + handed) / columns.tensor / bandwidth
    moved = moved_bytes(columns) * columns.less_is_better("forward-traffic-left") / columns.tensor / bandwidth
    host = host_s(columns)
    fixed = columns.less_is_better("vision-step-s")
    waiting = columns.less_is_better("forward-operator-s") * shape.sample_operators * setup.batch_size
    image = columns.less_is_better("vision-pixel-s") * pixels(columns)
    copy = _copied_bytes(columns) / columns.more_is_better(COPY_RATE) if takes_turns(columns) else np.zeros_like(image)
    batch = steps * (np.maximum(overlapped(read, compute) + moved, host) + fixed) + waiting + image + copy
    batch = batch * columns.unmodelled()
    samples = columns.data * columns.pipeline * setup.batch_size / batch
    times = (compute, read, moved, host, fixed, waiting, image, copy)
    return VisionWork(columns, flops, steps, share, weights, *times, batch, samples)


def product_share(columns: Columns) -> FloatArray:
    """Rows: share of the peak rate that products reach: what the best one does, or the power limit sustains where that
    is less, and of that what those of the model do under the card's software.
    """
    best = np.minimum(columns.more_is_better("product-rate-share"), columns.power_share())
    share: FloatArray = best * columns.more_is_better("vision-product-share")
    return share * columns.more_is_better("vision-software-share")


def host_s(columns: Columns) -> FloatArray:
    """Rows: seconds in which the host dispatches the operators of one forward pass, whatever the batch."""
    operators = columns.shape.forward_operators or columns.less_is_better("forward-operators")
    seconds: FloatArray = columns.less_is_better("forward-operator-s") * operators
    return seconds


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


def moved_bytes(columns: Columns) -> FloatArray:
    """Rows: bytes that kernels between products read and write for one batch, one by one: the model's own figure, else
    in proportion to its activations.
    """
    shape, setup = columns.shape, columns.setup
    if shape.forward_bytes_per_sample:
        each = shape.forward_bytes_per_sample * setup.format.compute_bits / 32
        return np.full((1, columns.device.size), each * setup.pixel_scale(shape) * setup.batch_size)
    return columns.less_is_better("traffic-per-activation") * kept_bytes(columns)


def kept_bytes(columns: Columns) -> float:
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
        coefficient_of(done.columns, i, "decode-bandwidth-share", "reached"),
    )


def _kept(done: VisionWork, i: int, name: str, term: str) -> tuple[Term, Term]:
    """A batch's activations as training would keep them, and what is moved for each byte of them."""
    columns = done.columns
    return (
        Term(
            "kept", kept_bytes(columns), "bytes", columns.shape.source, "activations of a batch, as training keeps them"
        ),
        coefficient_of(columns, i, name, term),
    )


def _explain_compute(done: VisionWork, i: int) -> Calculation:
    columns, shape, setup = done.columns, done.columns.shape, done.columns.setup
    kind = columns.contexts[int(columns.device.kind[i])]
    cited = [columns.coefficients.pick(name, kind).source for name in ("product-rate-share", "vision-product-share")]
    operations = shape.flops_per_sample or float("nan")
    terms = (
        Term("forward", operations, "operations", columns.sources_of_operations()),
        *_area_terms(shape, setup),
        Term("batch", setup.batch_size, "samples"),
        _tensor(done, i),
        Term("rate", float(columns.flops_s()[i]), "operations/s"),
        Term(
            "share",
            float(done.share[LIKELY, i]),
            "share",
            tuple(dict.fromkeys(source for sources in cited for source in sources)),
            "what the best product reaches, or the power limit sustains, times what the model's products reach",
        ),
    )
    formula = f"{_grown_forward(shape)} * batch / (tensor * rate * share)"
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
    terms = (weights, *_kept(done, i, "product-traffic", "handed"), *_path(done, i))
    formula = "(weights + kept * handed) / tensor / (bandwidth * reached)"
    return Calculation("read_s", formula, terms, float(done.read_s[LIKELY, i]), "s")


def _explain_moved(done: VisionWork, i: int) -> Calculation:
    columns = done.columns
    left = coefficient_of(columns, i, "forward-traffic-left", "left")
    terms: tuple[Term, ...]
    if columns.shape.forward_bytes_per_sample:
        text = "that kernels between products read and write for a batch, one by one"
        own = Term("between", float(moved_bytes(columns)[LIKELY, i]), "bytes", columns.shape.source, text)
        terms, formula = (own, left, *_path(done, i)), "between * left / tensor / (bandwidth * reached)"
    else:
        terms = (*_kept(done, i, "traffic-per-activation", "traffic"), left, *_path(done, i))
        formula = "kept * traffic * left / tensor / (bandwidth * reached)"
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
        Term("host", float(done.host_s[LIKELY, i]), "s", _host_sources(done, i), "to dispatch a pass's operators"),
        coefficient_of(columns, i, "vision-step-s", "fixed"),
        Term("pixels", pixels(columns), "pixels", (), "of a batch"),
        coefficient_of(columns, i, "vision-pixel-s", "pixel"),
    )
    formula = "steps * (max((compute_s ** 2 + read_s ** 2) ** 0.5 + moved_s, host) + fixed) + pixels * pixel"
    if done.waiting_s[LIKELY, i]:
        text = f"host work on one sample after another ({columns.shape.sample_operators} operators each)"
        waiting = Term("waiting", float(done.waiting_s[LIKELY, i]), "s", _host_sources(done, i), text)
        terms, formula = (*terms, waiting), f"{formula} + waiting"
    if takes_turns(columns):
        parts = Term(
            "parts", _copied_bytes(columns), "bytes", columns.shape.source, "of the pipeline, in turn on the card"
        )
        terms, formula = (*terms, parts, coefficient_of(columns, i, COPY_RATE, "copy")), f"{formula} + parts / copy"
    return Calculation("batch_s", formula, terms, float(done.batch_s[LIKELY, i]), "s")


def _host_sources(done: VisionWork, i: int) -> tuple[str, ...]:
    columns = done.columns
    picked = columns.coefficients.pick("forward-operator-s", columns.contexts[int(columns.device.kind[i])])
    return (*(columns.shape.source if columns.shape.forward_operators else ()), *picked.source)
