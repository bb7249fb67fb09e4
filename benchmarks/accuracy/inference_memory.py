"""Rows on memory in inference: what each family ran, and which part of the estimate its figure is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.accuracy import peers
from benchmarks.accuracy.rows import INFERENCE_MEMORY, WEIGHTS_AND_KV, Compared, Held, Outcome, Row
from benchmarks.accuracy.subjects import Subjects, untied

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.estimate import MemoryEstimate
from whygpu.checks.setup import ParallelLayout, Setup

GIB = 2.0**30
MIB = 2.0**20
GB = 1e9


def allocated(estimate: MemoryEstimate) -> Range:
    """What the framework's allocator counts: all but the context outside it."""
    outside = estimate.ranges.overhead
    return Range(estimate.low - outside.low, estimate.total - outside.likely, estimate.high - outside.high)


def compared(
    row: Row, kind: str, figure: Range, unit: float, estimate: MemoryEstimate, held: Held | None = None
) -> Compared:
    """A row beside bytes, in its own unit."""
    scaled = figure.times(1 / unit)
    if estimate.setup.trains:
        others = peers.for_training(estimate, unit)
    else:
        others = (peers.for_weights if kind == WEIGHTS_AND_KV else peers.for_inference)(estimate, unit)
    return Compared(kind, row["family"], row["id"], row["memory"], scaled.low, scaled.likely, scaled.high, others, held)


def _estimate(subjects: Subjects, row: Row, setup: Setup, cards: int = 1) -> MemoryEstimate:
    return memory.estimate(subjects.shape(row["model"]), setup, ParallelLayout(tensor=cards), subjects.coefficients)


def _qwen(row: Row, subjects: Subjects) -> Outcome:
    """torch.cuda.max_memory_allocated of a generation, summed over cards: each card has a working set of its own."""
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=row["input_tokens"] + row["output_tokens"],
        output_tokens=row["output_tokens"],
        runtime="transformers",
    )
    done = _estimate(subjects, row, setup)
    figure = allocated(done) + done.ranges.activations.times(row["gpus"] - 1)
    held = subjects.held(done, row.get("gpu")) if row["gpus"] == 1 else None
    return compared(row, INFERENCE_MEMORY, figure, GIB, done, held)


def _litgpt(row: Row, subjects: Subjects) -> Outcome:
    """max_memory_allocated of 50 tokens after a short prompt; LitGPT keeps a head of its own."""
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=row.get("output_tokens", 50) + 5,
        output_tokens=row.get("output_tokens", 50),
        runtime="transformers",
    )
    done = memory.estimate(untied(subjects.shape(row["model"])), setup, ParallelLayout(), subjects.coefficients)
    return compared(row, INFERENCE_MEMORY, allocated(done), GB, done, subjects.held(done, row.get("gpu")))


def _fastertransformer(row: Row, subjects: Subjects) -> Outcome:
    """A card's memory, whole; FasterTransformer keeps a head of its own and fuses attention (batch times prompt alone
    decides: 16 x 512 tokens take what 64 x 128 do).
    """
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=row["input_tokens"] + row["output_tokens"],
        output_tokens=row["output_tokens"],
        concurrency=row["batch"],
        runtime="fastertransformer",
    )
    shape = untied(subjects.gpt(row["layers"], row["heads"], row["head_dim"], row["vocab"], row["model"]))
    done = memory.estimate(shape, setup, ParallelLayout(), subjects.coefficients)
    figure = Range(done.low, done.total, done.high)
    return compared(row, INFERENCE_MEMORY, figure, GIB, done, subjects.held(done, row.get("gpu")))


def _whisper(row: Row, subjects: Subjects) -> Outcome:
    """Peak of the whole process. In PyTorch each beam has a cache of its own, the encoder's output included
    (transformers, _expand_inputs_for_generation; openai/whisper, decoding.py); the others share that output.
    """
    beams = row["beam"] if row["framework"].startswith(("transformers", "openai")) else 1
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=448,
        output_tokens=448,
        concurrency=row["batch"] * beams,
        runtime="llama.cpp" if "cpp" in row["framework"] else "transformers",
    )
    done = _estimate(subjects, row, setup)
    figure = Range(done.low, done.total, done.high)
    return compared(row, INFERENCE_MEMORY, figure, MIB, done, subjects.held(done, row.get("gpu")))


def _weights(row: Row, subjects: Subjects) -> Outcome:
    """Weights alone, of one card where a row has several."""
    done = _estimate(subjects, row, Setup(subjects.format(row["precision"])), row.get("gpus", 1))
    return compared(row, WEIGHTS_AND_KV, done.ranges.weights, GIB, done)


def _kv_per_token(row: Row, subjects: Subjects) -> Outcome:
    setup = Setup(subjects.format(row["precision"]))
    done = _estimate(subjects, row, setup)
    each = done.shape.kv_elements_per_token() * setup.kv_bits / 8 / 1e3
    return Compared(WEIGHTS_AND_KV, row["family"], row["id"], row["memory"], each, each, each, {"hf-mem": each})


READERS: Mapping[str, Callable[[Row, Subjects], Outcome]] = {
    "qwen2.5-transformers": _qwen,
    "litgpt-inference": _litgpt,
    "fastertransformer-gpt": _fastertransformer,
    "faster-whisper": _whisper,
    "llamacpp-quants": _weights,
    "deepspeed-autotp": _weights,
    "deepseek-isca25": _kv_per_token,
}
"""What sets up the rows of a family."""
