"""What is served beside the model's own weights: low-rank adapters, and what guesses tokens ahead.

Sources: vLLM's LoRA configuration (room for `max_loras` adapters of `max_lora_rank` is taken at start, half of it
copied to every tensor rank); drafts as their makers publish them.
"""

from __future__ import annotations

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.coefficients import Coefficients, Context
from whygpu.checks.memory.adapters import adapter_parameters
from whygpu.checks.memory.parts import NOTHING, coefficient_term, scaled, stage_share
from whygpu.checks.model_shape import GENERATIVE, ModelShape
from whygpu.checks.setup import ParallelLayout, Setup


def held_beside(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> tuple[Range, Range]:
    """Bytes on the fullest card of the adapters served at once, and of what guesses tokens ahead."""
    return _adapters(shape, setup, layout, coefficients, context), _draft(shape, setup, layout, coefficients, context)


def guesses(shape: ModelShape, setup: Setup) -> bool:
    """Whether tokens are guessed ahead: it is asked for, and the model writes token by token."""
    return setup.speculative != "none" and shape.kind in GENERATIVE


def _adapters(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    if not setup.adapters:
        return NOTHING
    copied = coefficients.pick("adapter-copied-share", context)
    each = _adapter_bytes(shape, setup) * setup.adapters * stage_share(shape.layers, layout.pipeline)
    low, likely, high = (
        each * (share + (1 - share) / layout.tensor) for share in (copied.low, copied.likely, copied.high)
    )
    return Range(low, likely, high)


def _adapter_bytes(shape: ModelShape, setup: Setup) -> float:
    """Bytes of one adapter in the precision computed in."""
    return adapter_parameters(shape, setup.lora_rank, setup.lora_targets) * setup.format.compute_bits / 8


def _draft(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> Range:
    if not guesses(shape, setup):
        return NOTHING
    share = coefficients.pick("speculative-weights-share", context)
    return scaled(share, shape.parameters * setup.format.compute_bits / 8 / layout.tensor)


def explain_beside(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, coefficients: Coefficients, context: Context
) -> list[Calculation]:
    """How the bytes of each came about; empty where nothing is served beside the model."""
    adapters, draft = held_beside(shape, setup, layout, coefficients, context)
    tensor = Term("tensor", layout.tensor, "cards")
    terms: tuple[Term, ...]
    found: list[Calculation] = []
    if setup.adapters:
        copied = coefficients.pick("adapter-copied-share", context)
        terms = (
            Term("adapters", setup.adapters, "adapters", (), "served at once"),
            Term("each", _adapter_bytes(shape, setup), "bytes", ("lora-2021",), f"of rank {setup.lora_rank}"),
            Term("stage", stage_share(shape.layers, layout.pipeline), "share", (), "layers of the fullest stage"),
            coefficient_term("copied", copied),
            tensor,
        )
        formula = "adapters * each * stage * (copied + (1 - copied) / tensor)"
        found.append(Calculation("adapter_weights", formula, terms, adapters.likely, "bytes"))
    if guesses(shape, setup):
        terms = (
            Term("parameters", shape.parameters, "parameters", shape.source),
            Term("compute_bits", setup.format.compute_bits, "bits"),
            coefficient_term("share", coefficients.pick("speculative-weights-share", context)),
            tensor,
        )
        formula = "parameters * compute_bits / 8 * share / tensor"
        found.append(Calculation("draft_weights", formula, terms, draft.likely, "bytes", note=setup.speculative))
    return found
