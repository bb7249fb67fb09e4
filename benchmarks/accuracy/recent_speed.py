"""Rows on the speed of inference read in November 2026: families that no coefficient was set from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.accuracy.rows import DECODE, PROMPT, REQUEST, VISION, LeftOut, Outcome, Row
from benchmarks.accuracy.speeds import compared, degree, inference, per_second, run, step_s, time_of
from benchmarks.accuracy.subjects import Subjects, layered

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.checks.speed.columns import Band
from whygpu.checks.speed.inference import prompt_flops

FIRST = 128
"""Tokens of a short chat prompt, where a row does not print it."""
OUTPUT = 256
"""Tokens of a chat answer, where a row does not print it."""
MOST_OF_PEAK = 0.75
"""Share of the dense peak that no server's prompts reach."""
MOST_REQUESTS = 2048
"""TensorRT-LLM's max_batch_size where nothing else is said."""
REQUESTS = {(1024, 1024): 3000, (8192, 1024): 1500, (1024, 8192): 1500, (32768, 1024): 1000, (1024, 32768): 1000}
"""How many requests its benchmarks queue, by tokens in and out (perf-overview.md, "Preparing a Dataset")."""


def _served(row: Row, subjects: Subjects) -> Outcome:
    """Mean time between tokens of as many clients as are named, each of which asks anew when it is answered."""
    runtime = re.split(r"[ ]", row["framework"].lower())[0]
    prompt, output = row["input_tokens"], row["output_tokens"]
    number_format = subjects.format(row["precision"])
    # Its quantized checkpoints keep the cache in FP8: 60 requests of Qwen3-32B are in flight where 16 bits hold 32.
    cached_in_8_bits = runtime == "tensorrt-llm" and number_format.bits_per_weight < 16
    setup = Setup(
        number_format,
        kv_format=subjects.format("fp8") if cached_in_8_bits else None,
        context_tokens=prompt + output,
        output_tokens=output,
        runtime=runtime,
    )
    layout = ParallelLayout(tensor=degree("TP", row.get("parallel") or "") or row["gpus"])
    shape = subjects.shape(row["model"])
    # Requests that the cache has no room for wait, which is no part of the time between tokens.
    setup = replace(setup, concurrency=_room(subjects, row["gpu"], shape, setup, layout, row["concurrency"]))
    done = run(row, subjects, shape, setup, layout)
    if number_format.weight_bytes(shape) > layout.cards * 1e9 * float(
        subjects.card(row["gpu"]).number("marketing_gb") or 0
    ):
        return LeftOut(row["family"], row["id"], "the weights alone are more than the named cards hold")
    cycle = (row["ttft_ms"] + (output - 1) * row["value"]) / 1e3
    rate = float(done.work.columns.device.flops_s[0]) * layout.cards
    if row["concurrency"] * prompt_flops(shape, prompt) / cycle > MOST_OF_PEAK * rate:
        return LeftOut(row["family"], row["id"], "more operations than products reach: its prompts came from the cache")
    return compared(row, REQUEST, time_of(done.token_ms), subjects, shape, setup, layout)


def _full(row: Row, subjects: Subjects) -> Outcome:
    """Offline at maximum load: all requests are queued at once, and as many are in flight as the cards have room for,
    which the row does not print, and as the runtime admits: on each rank, where attention is divided by requests.

    Equal requests that begin together end together: wave after wave, ranks read prompts at the same time, and the last
    wave is not full.
    """
    split = row.get("parallel") or ""
    prompt, output = row["input_tokens"], row["output_tokens"]
    number_format = subjects.format(row["precision"])
    ranks = degree("DEP", split)
    layout = ParallelLayout(tensor=degree("TP", split) or 1, pipeline=degree("PP", split) or 1)
    if ranks:
        layout = ParallelLayout(tensor=ranks, cache_split="requests")
    shape = subjects.shape(row["model"])
    # Its options for gpt-oss keep the cache in 16 bits on Hopper.
    wide = number_format.bits_per_weight >= 16 or (row["gpu"].startswith("H") and row["model"].startswith("gpt-oss"))
    setup = Setup(
        number_format,
        phase="batch-inference",
        kv_format=None if wide else subjects.format("fp8"),
        context_tokens=prompt + output,
        output_tokens=output,
        runtime="tensorrt-llm",
    )
    # Its list has no 1000/1000, which is nearly 1024/1024.
    queued = REQUESTS[1024 if prompt == 1000 else prompt, 1024 if output == 1000 else output]
    most = min(MOST_REQUESTS * (ranks or 1), queued)
    room = _room(subjects, row["gpu"], shape, setup, layout, most)
    seconds = Range(0.0, 0.0, 0.0)
    for waves, requests in ((queued // room, room), (1, queued % room)):
        if requests:
            done = run(row, subjects, shape, replace(setup, concurrency=requests), layout)
            work = inference(done)
            wave = Band.of(requests * work.prefill.total_s / work.stages + (output - 1) * work.decode.token_s).at(0)
            seconds = seconds + wave.times(waves)
    figure = per_second(seconds, queued * output / layout.cards)
    return compared(row, REQUEST, figure, subjects, shape, replace(setup, concurrency=room), layout)


def _room(subjects: Subjects, gpu: str, shape: ModelShape, setup: Setup, layout: ParallelLayout, most: int) -> int:
    """Most requests that the cards hold at once, of so many."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        needed = memory.estimate(shape, replace(setup, concurrency=middle), layout, subjects.coefficients)
        held = subjects.held(needed, gpu)
        low, high = (middle, high) if held is None or held.fits else (low, middle - 1)
    return low


_GGML_FILES = {"MXFP4": "mxfp4-moe"}
"""Formats of files whose rows name the experts' alone: ggml-org's of gpt-oss-20b has 11.27 GiB, so the rest is Q8_0."""


def _llamacpp(row: Row, subjects: Subjects) -> Outcome:
    """llama.cpp and what is built on it: one stream, or equal ones decoded together; prompts of one request."""
    decodes = "decode" in row["metric"]
    output = row.get("output_tokens") or OUTPUT
    prompt = row.get("input_tokens") or FIRST
    batch = row.get("batch") or 1
    shape = subjects.shape(row["model"])
    setup = Setup(
        subjects.format(_GGML_FILES.get(row["precision"]) or row["precision"]),
        context_tokens=prompt + (output if decodes else 1),
        output_tokens=output if decodes else 1,
        concurrency=batch if decodes else 1,
        runtime="vllm" if row["framework"] == "vLLM" else "llama.cpp",
    )
    layout = layered(row["gpus"])
    done = run(row, subjects, shape, setup, layout)
    if not decodes:
        figure = per_second(time_of(done.ttft_ms).times(1e-3), prompt)
        return compared(row, PROMPT, figure, subjects, shape, setup, layout)
    # The rate of the steps alone, without the prompts of others.
    return compared(row, DECODE, per_second(step_s(done), batch), subjects, shape, setup, layout)


def _single(row: Row, subjects: Subjects) -> Outcome:
    """One stream, decoded: a compiled loop (gpt-fast, TinyChat), or plain transformers."""
    output = row.get("output_tokens") or 128
    prompt = row.get("input_tokens") or 4
    shape = subjects.shape(row["model"])
    plain = "ransformers" in row["framework"]
    setup = Setup(
        subjects.format(row["precision"]),
        context_tokens=prompt + output,
        output_tokens=output,
        runtime="transformers" if plain else "compiled",
    )
    layout = ParallelLayout(tensor=degree("TP", row.get("parallel") or "") or row["gpus"])
    done = run(row, subjects, shape, setup, layout)
    figure = step_s(done).times(1e3) if row["metric"] == "token_ms" else per_second(step_s(done), 1)
    return compared(row, DECODE, figure, subjects, shape, setup, layout)


def _images(row: Row, subjects: Subjects) -> Outcome:
    """Images a second of a batch, or milliseconds of a batch of pictures."""
    shape = subjects.shape(row["model"])
    compiled = bool(row.get("compiled")) or "compile" in row["framework"]
    if row.get("steps"):
        shape = replace(shape, steps=row["steps"])
    setup = Setup(
        subjects.format(row["precision"]),
        batch_size=row["batch"],
        pixels=row["image_px"],
        runtime="compiled" if compiled else "transformers",
    )
    done = run(row, subjects, shape, setup, ParallelLayout())
    seconds = time_of(done.ttft_ms).times(1e-3)
    figure = seconds.times(1e3) if row["metric"] == "latency_ms" else per_second(seconds, row["batch"])
    return compared(row, VISION, figure, subjects, shape, setup, ParallelLayout())


READERS: Mapping[str, Callable[[Row, Subjects], Outcome]] = {
    "aic-silicon": _served,
    "trtllm-1.2-overview": _full,
    "llamacpp-dgx-spark": _llamacpp,
    "llmfit-community": _llamacpp,
    "mlx-lm": _llamacpp,
    "gpt-fast": _single,
    "tinychat": _single,
    "qwen1-inference": _single,
    "timm-infer": _images,
    "diffusers-torchao": _images,
}
