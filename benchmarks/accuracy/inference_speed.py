"""Rows on the speed of inference: what each family ran, and how its figure follows from prompt and token times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.accuracy.rows import DECODE, PROMPT, REQUEST, VISION, LeftOut, Outcome, Row
from benchmarks.accuracy.speeds import compared, degree, per_second, run, time_of
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError, layered

from whygpu.checks.calculation import Range
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.checks.speed.columns import Band
from whygpu.checks.speed.estimate import SpeedEstimate
from whygpu.checks.speed.inference import InferenceWork

SUPERPOD_BYTES_S = 25e9
"""Eight 200 Gbit/s adapters a node of eight cards: the hardware that FasterTransformer's GPT guide states."""


def _tokens(row: Row) -> tuple[int, int]:
    return row.get("input_tokens") or 1, row.get("output_tokens") or 1


def _sglang(row: Row, subjects: Subjects) -> Outcome:
    """One request. One prompt token: decoding alone."""
    prompt, output = _tokens(row)
    shape = subjects.shape(row["model"])
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=prompt + output,
        output_tokens=output,
        runtime="sglang",
    )
    layout = ParallelLayout(tensor=row["gpus"])
    done = run(row, subjects, shape, setup, layout)
    seconds = (time_of(done.ttft_ms) + time_of(done.token_ms).times(output)).times(1e-3)
    alone = prompt == 1
    figure = per_second(seconds, output if alone else prompt + output)
    return compared(row, DECODE if alone else REQUEST, figure, subjects, shape, setup, layout)


def _llamacpp(row: Row, subjects: Subjects) -> Outcome:
    """1,024 tokens read or written, layers divided over the cards; of a release that had flash attention off."""
    tokens = row["tokens"]
    shape = subjects.shape(row["model"])
    decodes = "decode" in row["metric"]
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=tokens + 1,
        output_tokens=tokens if decodes else 1,
        attention="eager",
        runtime="llama.cpp",
    )
    layout = layered(row["gpus"])
    done = run(row, subjects, shape, setup, layout)
    time = time_of(done.token_ms if decodes else done.ttft_ms).times(1e-3)
    kind = DECODE if decodes else PROMPT
    return compared(row, kind, per_second(time, 1 if decodes else tokens), subjects, shape, setup, layout)


def _litgpt(row: Row, subjects: Subjects) -> Outcome:
    shape = subjects.shape(row["model"])
    setup = Setup(subjects.format(row["precision"]), context_tokens=60, output_tokens=50, runtime="transformers")
    done = run(row, subjects, shape, setup, ParallelLayout())
    return compared(
        row, DECODE, per_second(time_of(done.token_ms).times(1e-3), 1), subjects, shape, setup, ParallelLayout()
    )


def _batch_s(done: SpeedEstimate, prompts: int, output: int) -> Range:
    """Seconds of a batch whose prompts are read together, then decoded in step: the first token comes of the prompts.

    Further prompts fill the stages, and are exchanged among the cards of a group with the first.
    """
    work = done.work
    if not isinstance(work, InferenceWork):
        raise UnknownSubjectError("no request is estimated for such a model")
    columns = work.columns
    tensor, setup, shape = columns.tensor, columns.setup, columns.shape
    payload = setup.prompt_tokens * shape.hidden_size * setup.format.compute_bits / 8
    exchanged = 2 * shape.layers * 2 * (tensor - 1) / tensor * payload / columns.wire().tensor_bytes_s
    further = (prompts - 1) * ((work.prefill.compute_s + work.prefill.moved_s) / work.stages + exchanged)
    return Band.of(work.prefill.total_s + further + (output - 1) * work.decode.token_s).at(0)


def _fastertransformer(row: Row, subjects: Subjects) -> Outcome:
    """Milliseconds of a batch of equal requests."""
    prompt, output = _tokens(row)
    layout = row.get("parallel") or ""
    cards = row["gpus"]
    tensor = degree("TP", layout) or cards
    layout = ParallelLayout(
        tensor=tensor, pipeline=degree("PP", layout) or max(1, cards // tensor), nodes=max(1, cards // 8)
    )
    shape = subjects.shape(row["model"])
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=prompt + output,
        output_tokens=output,
        concurrency=row["batch"],
        runtime="fastertransformer",
    )
    done = run(row, subjects, shape, setup, layout, SUPERPOD_BYTES_S)
    seconds = _batch_s(done, row["batch"], output)
    return compared(row, REQUEST, seconds.times(1e3), subjects, shape, setup, layout)


def _tensorrt(row: Row, subjects: Subjects) -> Outcome:
    """Output tokens per second and card of a full batch, or the time to the first token of one request."""
    prompt, output = _tokens(row)
    shape = subjects.shape(row["model"])
    number_format = subjects.format(row["precision"])
    layout = ParallelLayout(tensor=row["tp"])
    setup = Setup(number_format, context_tokens=prompt + 1, output_tokens=1, runtime="tensorrt-llm")
    if row["metric"] == "ttft_ms":
        done = run(row, subjects, shape, setup, layout)
        return compared(row, PROMPT, time_of(done.ttft_ms), subjects, shape, setup, layout)
    setup = replace(
        setup,
        kv_format=number_format if number_format.id == "fp8" else None,
        context_tokens=prompt + output,
        output_tokens=output,
        concurrency=row["batch"],
    )
    seconds = _batch_s(run(row, subjects, shape, setup, layout), row["batch"], output)
    figure = per_second(seconds, row["batch"] * output / row["tp"])
    return compared(row, DECODE, figure, subjects, shape, setup, layout)


def _vit(row: Row, subjects: Subjects) -> Outcome:
    size = "b" if "ViT-B" in row["model"] else "l"
    shape = subjects.read(f"vit-{size}-16")
    pixels = 384 if "384" in row["model"] else 224
    setup = Setup(subjects.format(row["precision"]), batch_size=row["batch"], pixels=pixels, runtime="tensorrt-llm")
    done = run(row, subjects, shape, setup, ParallelLayout())
    return compared(row, VISION, time_of(done.ttft_ms), subjects, shape, setup, ParallelLayout())


def _yolo(row: Row, subjects: Subjects) -> Outcome:
    """Milliseconds per image; the model is described by the row's own parameters and operations."""
    shape = subjects.read(
        {
            "name": row["model"],
            "kind": "detector",
            "parameters": int(row["params_M"] * 1e6),
            "image_size": 640,
            "flops_per_sample": row["gflops_at_640"] * 1e9,
        }
    )
    setup = Setup(subjects.format("fp16"), batch_size=row["batch"], pixels=row["image_px"], runtime="transformers")
    done = run(row, subjects, shape, setup, ParallelLayout())
    return compared(
        row, VISION, time_of(done.ttft_ms).times(1 / row["batch"]), subjects, shape, setup, ParallelLayout()
    )


def _matmul(row: Row, _: Subjects) -> Outcome:
    return LeftOut(row["family"], row["id"], "the rate of a matrix product alone: an input of whygpu, not an estimate")


READERS: Mapping[str, Callable[[Row, Subjects], Outcome]] = {
    "qwen3-sglang": _sglang,
    "xiongjie-dai-llamacpp": _llamacpp,
    "litgpt-inference": _litgpt,
    "ft-gpt": _fastertransformer,
    "trtllm-0.6": _tensorrt,
    "ft-vit": _vit,
    "yolov5": _yolo,
    "mamf": _matmul,
}
"""What sets up the rows of a family."""
