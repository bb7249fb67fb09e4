"""Memory in inference of models that work on whole samples: images, detections, tables, denoising steps.

Weights of all components, and about the two largest neighbouring tensors of one sample, which grow with the area of
the image.
"""

from __future__ import annotations

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficients, Context
from whygpu.checks.memory.parts import MemoryParts, coefficient_term, explain_overhead, overhead, scaled
from whygpu.checks.memory.weights import explain_weights, held_weights, left_by_turns
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup


def parts(shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients) -> MemoryParts:
    """Bytes per accelerator of one step over `batch_size` samples."""
    context = setup.context(shape)
    workspace = coefficients.pick("vision-workspace-bytes", context)
    left = left_by_turns(shape, setup.format, context)
    peak = _peak(shape, coefficients, context).times(_width(shape, setup))
    beyond = Range(max(peak.low - left, 0.0), max(peak.likely - left, 0.0), max(peak.high - left, 0.0))
    return MemoryParts(
        weights=held_weights(shape, setup.format, layout, coefficients, context),
        activations=Range(workspace.low, workspace.likely, workspace.high) + beyond,
        overhead=overhead(layout, coefficients, context),
    )


def _width(shape: ModelShape, setup: Setup) -> float:
    """Samples at once, times their area against the model's own, times the width of a number against FP32."""
    return setup.batch_size * setup.pixel_scale(shape) * setup.format.compute_bits / 32


def _peak(shape: ModelShape, coefficients: Coefficients, context: Context) -> Range:
    """FP32 bytes one sample holds at most: as measured for the model, else a share of its arithmetic."""
    if shape.peak_bytes_per_sample:
        return scaled(coefficients.pick("peak-slack", context), shape.peak_bytes_per_sample)
    return scaled(coefficients.pick("peak-bytes-per-gflop", context), shape.flops_per_sample / 1e9)


def explain(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, done: MemoryParts
) -> list[Calculation]:
    """How each part of `parts` came about."""
    context = setup.context(shape)
    peak: tuple[Term, ...]
    if shape.peak_bytes_per_sample:
        peak = (
            Term("peak", shape.peak_bytes_per_sample, "FP32 bytes", shape.source),
            coefficient_term("slack", coefficients.pick("peak-slack", context)),
        )
        formula = "peak * slack"
    else:
        peak = (
            Term("gflop", shape.flops_per_sample / 1e9, "GFLOP", shape.source),
            coefficient_term("share", coefficients.pick("peak-bytes-per-gflop", context)),
        )
        formula = "gflop * share"
    formula = f"batch * area * compute_bits / 32 * {formula}"
    left = left_by_turns(shape, setup.format, context)
    if left:
        said = "that the text encoder leaves when it leaves the card"
        peak, formula = (*peak, Term("left", left, "bytes", shape.source, said)), f"max({formula} - left, 0)"
    return [
        explain_weights(shape, setup.format, layout, coefficients, context, done.weights.likely),
        Calculation(
            "activations",
            f"{formula} + workspace",
            (
                Term("batch", setup.batch_size, "samples"),
                Term("area", setup.pixel_scale(shape), "share", (), "image area against the model's own"),
                Term("compute_bits", setup.format.compute_bits, "bits"),
                *peak,
                coefficient_term("workspace", coefficients.pick("vision-workspace-bytes", context)),
            ),
            done.activations.likely,
            "bytes",
        ),
        explain_overhead(layout, coefficients, context, done.overhead.likely),
    ]
