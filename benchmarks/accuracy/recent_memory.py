"""Rows on memory in inference read in November 2026: families that no coefficient was set from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.accuracy.inference_memory import GB, GIB, allocated, compared
from benchmarks.accuracy.rows import INFERENCE_MEMORY, WEIGHTS_AND_KV, LeftOut, Outcome, Row
from benchmarks.accuracy.subjects import Subjects

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
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
        return compared(row, INFERENCE_MEMORY, parts.activations + parts.logits + parts.overhead, GIB, done)
    return LeftOut(row["family"], row["id"], "what is left for the cache: said by the other rows of the same start")


def _pipeline(row: Row, subjects: Subjects) -> Outcome:
    """torch.cuda.max_memory_allocated of a batch of pictures, all components on the card: they were moved there in 16
    bits and quantized afterwards, so that the peak is no less than that.
    """
    if not isinstance(row["image_px"], int):
        return LeftOut(row["family"], row["id"], "a video, whose frames the row does not print")
    setup = Setup(
        subjects.format(row["precision"]), batch_size=row["batch"], pixels=row["image_px"], runtime="transformers"
    )
    shape = subjects.shape(row["model"])
    done = memory.estimate(shape, setup, ParallelLayout(), subjects.coefficients)
    figure, loaded = allocated(done), 2.0 * shape.parameters
    figure = Range(max(figure.low, loaded), max(figure.likely, loaded), max(figure.high, loaded))
    return compared(row, INFERENCE_MEMORY, figure, GIB, done)


def _mlx(row: Row, subjects: Subjects) -> Outcome:
    """Peak of MLX's allocator over a prompt and an answer."""
    prompt, output = row["input_tokens"], row["output_tokens"]
    setup = Setup(
        subjects.format(row["precision"]), context_tokens=prompt + output, output_tokens=output, runtime="llama.cpp"
    )
    done = memory.estimate(subjects.shape(row["model"]), setup, ParallelLayout(), subjects.coefficients)
    return compared(row, INFERENCE_MEMORY, allocated(done), GB, done, subjects.held(done, row["gpu"]))


def _transformers(row: Row, subjects: Subjects) -> Outcome:
    """torch.cuda.max_memory_allocated of each card; layers divided over several."""
    prompt, output = row.get("input_tokens") or 1, row.get("output_tokens") or 1
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=prompt + output,
        output_tokens=output,
        concurrency=row.get("batch") or 1,
        runtime="transformers",
    )
    layout = ParallelLayout(tensor=row["gpus"])
    done = memory.estimate(subjects.shape(row["model"]), setup, layout, subjects.coefficients)
    return compared(row, INFERENCE_MEMORY, allocated(done), GIB, done, subjects.held(done, row["gpu"]))


READERS: Mapping[str, Callable[[Row, Subjects], Outcome]] = {
    "vllm-logs": _vllm,
    "diffusers-torchao": _pipeline,
    "mlx-lm": _mlx,
    "qwen1-inference": _transformers,
    "deepseek-llm": _transformers,
}
