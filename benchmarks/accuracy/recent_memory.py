"""Rows on memory in inference read in November 2026: families that no coefficient was set from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.accuracy.inference_memory import GB, GIB, allocated, compared
from benchmarks.accuracy.rows import INFERENCE_MEMORY, STARTUP, WEIGHTS_AND_KV, LeftOut, Outcome, Row
from benchmarks.accuracy.subjects import Subjects

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.parts import scaled
from whygpu.checks.setup import ParallelLayout, Setup


def _vllm(row: Row, subjects: Subjects) -> Outcome:
    """What vLLM logs at start: the weights of a card, and what it sets aside beside them and the cache for as many
    requests as it admits where nothing is said.
    """
    layout = ParallelLayout(tensor=row["gpus"])
    context = row.get("context_tokens") or 8192
    setup = Setup(subjects.format(row["precision"]), context_tokens=context, concurrency=256, runtime="vllm")
    done = memory.estimate(subjects.shape(row["model"]), setup, layout, subjects.coefficients)
    parts = done.ranges
    if row["includes"].startswith("weights"):
        return compared(row, WEIGHTS_AND_KV, parts.weights, GIB, done)
    if row["includes"].startswith("activation"):
        beside = parts.activations + parts.logits + parts.overhead + parts.reused
        return compared(row, STARTUP, beside, GIB, done)
    return LeftOut(row["family"], row["id"], "what is left for the cache: said by the other rows of the same start")


PROJECTIONS = {"FLUX.1-dev": (2 * 19 + 38) * 3 * 3072**2}
"""Parameters of queries, keys and values in self-attention: two streams in 19 blocks, one in 38 (its config.json)."""


def _pipeline(row: Row, subjects: Subjects) -> Outcome:
    """torch.cuda.max_memory_allocated of a batch of pictures, all components on the card: they were moved there in 16
    bits and quantized afterwards, so that the peak is no less than that. Where projections were fused, the single ones
    stay beside them (diffusers, fuse_qkv_projections, which unfuse_qkv_projections undoes).
    """
    if not isinstance(row["image_px"], int):
        return LeftOut(row["family"], row["id"], "a video, whose frames the row does not print")
    form = subjects.format(row["precision"])
    setup = Setup(form, batch_size=row["batch"], pixels=row["image_px"], runtime="transformers")
    shape = subjects.shape(row["model"])
    done = memory.estimate(shape, setup, ParallelLayout(), subjects.coefficients)
    copied = PROJECTIONS[row["model"]] if "fused" in row["framework"] else 0.0
    workspace = subjects.coefficients.pick("vision-workspace-bytes", setup.context(shape))
    loaded = scaled(subjects.coefficients.pick("weight-slack", setup.context(shape)), 2.0 * (shape.parameters + copied))
    loaded = loaded + Range(workspace.low, workspace.likely, workspace.high)
    extra = copied * form.bits_per_weight / 8
    return compared(row, INFERENCE_MEMORY, larger(allocated(done) + Range(extra, extra, extra), loaded), GIB, done)


def _mlx(row: Row, subjects: Subjects) -> Outcome:
    """Peak of MLX's allocator over a prompt, which is read 2,048 tokens at once (mlx-lm, prefill_step_size), and an
    answer.
    """
    prompt, output = row["input_tokens"], row["output_tokens"]
    setup = Setup(
        subjects.format(row["precision"]), context_tokens=prompt + output, output_tokens=output, runtime="transformers"
    )
    done = memory.estimate(subjects.shape(row["model"]), setup, ParallelLayout(), subjects.coefficients)
    return compared(row, INFERENCE_MEMORY, allocated(done), GB, done, subjects.held(done, row["gpu"]))


def larger(one: Range, other: Range) -> Range:
    """What two moments need that follow each other."""
    return Range(max(one.low, other.low), max(one.likely, other.likely), max(one.high, other.high))


def _transformers(row: Row, subjects: Subjects) -> Outcome:
    """torch.cuda.max_memory_allocated of the fullest card, layers divided over several, or the sum over cards.

    These are releases of 2023, which wrote attention's scores out, gave the logits of whole prompts (last done in 4.45,
    huggingface/transformers#31292) and held the old cache beside the new one while a token was written (#30536).
    """
    prompt, output, cards = row.get("input_tokens") or 1, row.get("output_tokens") or 1, row["gpus"]
    batch = row.get("batch") or 1
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=prompt + output,
        output_tokens=output,
        concurrency=batch,
        attention="eager",
        runtime="transformers",
    )
    summed = "sum" in row["unit"]
    done = memory.estimate(
        subjects.shape(row["model"]), setup, ParallelLayout(pipeline=1 if summed else cards), subjects.coefficients
    )
    parts = done.ranges
    each = subjects.coefficients.pick("logit-bytes", setup.context(done.shape))
    reading = parts.kv_cache + larger(parts.activations, scaled(each, batch * prompt * done.shape.vocab_size))
    figure = parts.weights + larger(reading, parts.kv_cache.times(2.0 if output > 1 else 1.0) + parts.activations)
    if summed:
        figure = figure + parts.activations.times(cards - 1)
    return compared(row, INFERENCE_MEMORY, figure, GIB, done, None if summed else subjects.held(done, row["gpu"]))


READERS: Mapping[str, Callable[[Row, Subjects], Outcome]] = {
    "vllm-logs": _vllm,
    "diffusers-torchao": _pipeline,
    "mlx-lm": _mlx,
    "qwen1-inference": _transformers,
    "deepseek-llm": _transformers,
}
