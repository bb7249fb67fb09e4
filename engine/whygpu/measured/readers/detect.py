"""Finds out which tool wrote a file, and reads it as a measurement.

The reader of a tool is an entry of ``READERS``; what cannot be read is named as far as it is known.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whygpu.answers import node_of
from whygpu.errors import Location, Problem
from whygpu.measured.read import is_measurement, measurement_of
from whygpu.measured.readers import load_tests, metrics, nvidia_smi, points_csv, profiler_table, rocm_smi, vllm_log
from whygpu.measured.readers.cards import by_driver
from whygpu.measured.readers.reading import refused
from whygpu.yamldoc.document import parse

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement
    from whygpu.measured.readers.reading import Reader, Reading

READERS: tuple[Reader, ...] = (
    *(nvidia_smi.READER, rocm_smi.READER, metrics.READER, profiler_table.READER, vllm_log.READER),
    *load_tests.READERS,
)
_OTHERS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"^\| NVIDIA-SMI ", re.MULTILINE), "the table of plain nvidia-smi", nvidia_smi.QUERY),
    (re.compile(r"^# gpu +(?:pwr|sm)\b", re.MULTILINE), "the table of 'nvidia-smi dmon'", nvidia_smi.QUERY),
    (
        re.compile(
            r"\A\s*(?:[ .,]{0,9}[0-9][0-9, .%MiBW/:]{0,500}(?:\n|\Z)|[^\n{]{0,500}[0-9] (?:%|MiB|W|MHz)(?:,|\n|\Z))"
        ),
        "a table without a header",
        "the output of nvidia-smi without 'noheader' in --format",
    ),
    (re.compile(r"\ARun Info,|^ *\"?guidellm_version\"?:", re.MULTILINE), "a report of GuideLLM", "benchmarks.json"),
    (
        re.compile(r'"per_combination_metrics"'),
        "the summary of a sweep by AIPerf",
        "profile_export_aiperf.json of each of its runs",
    ),
    (
        re.compile(r'"(?:avg_latency|elapsed_time)"'),
        "a result of 'vllm bench latency' or 'throughput'",
        "that of 'vllm bench serve'",
    ),
    (re.compile(r"server_args=ServerArgs|KV Cache is allocated\. #tokens"), "a log of SGLang", ""),
    (re.compile(r"text_generation_(?:router|launcher)"), "a log of Text Generation Inference", ""),
    (re.compile(r"\[TensorRT-LLM\]|\[TRT-LLM\]"), "a log of TensorRT-LLM", ""),
    (re.compile(r"llama_model_load|llama_kv_cache|srv +load_model"), "a log of llama.cpp", ""),
    (
        re.compile(r"ROCm System Management Interface|^GPU\[0\]", re.MULTILINE),
        "the table of rocm-smi",
        rocm_smi.QUERY,
    ),
    (re.compile("gfx_activity", re.IGNORECASE), "the output of amd-smi", rocm_smi.QUERY),
    (re.compile(r'"traceEvents"'), "a Chrome trace", "what print(prof.key_averages().table()) prints"),
)
"""What is known and not read: how it is recognised, what it is, and what to give instead."""
_COLUMNS = (
    "concurrency",
    "requests_per_s",
    "latency_p50_ms",
    "latency_p95_ms",
    "utilization.gpu [%]",
    "power.draw [W]",
)


def read_any(text: str, name: str, knowledge: Knowledge) -> Measurement:
    """A measurement from the text of a file: a measurement file, or what one of the tools wrote. Raises AnswerError."""
    reader = next((reader for reader in READERS if reader.recognises(text)), None)
    if reader is not None:
        return as_measurement(reader.tool, reader.read(text, name), name, knowledge)
    for pattern, what, instead in _OTHERS:
        if pattern.search(text[:200_000]):
            hint = f"give instead: {instead}" if instead else f"what is read: {_known()}"
            raise refused(name, f"is {what}, which is not read", hint, code="other-tool")
    if points_csv.is_table(text):
        message = f"is a table without the columns of one, such as {', '.join(_COLUMNS)}"
        raise refused(name, message, "'whygpu schema measurement' has all names under 'points'", code="other-tool")
    if not text.strip():
        raise refused(name, "is empty", f"what is read: {_known()}", code="empty")
    problems: list[Problem] = []
    node = parse(text, name, problems)
    if node is None or problems or not is_measurement(node):
        raise refused(
            name, "is written by no tool that is known, and is no measurement file", f"what is read: {_known()}"
        )
    return measurement_of(node, name, knowledge)


def _known() -> str:
    return f"a measurement file ('measurement: 1'), {', '.join(reader.tool for reader in READERS)}"


def as_measurement(tool: str, found: Reading, name: str, knowledge: Knowledge) -> Measurement:
    """What a reader found, checked like a measurement file; raises AnswerError."""
    setup: dict[str, Any] = dict(found.setup)
    doubts = list(found.doubts)
    if found.card is not None:
        card = by_driver(knowledge.catalogue, found.card, found.card_mib)
        if card is None:
            doubts.append(f"no one card of the catalogue is called '{found.card[:60]}'")
        else:
            setup["accelerator"] = card
    data = {
        "measurement": 1,
        "tool": {"name": tool, "version": found.version},
        "date": found.date,
        "setup": setup,
        "figures": dict(found.figures),
        "points": [dict(point) for point in found.points],
    }
    measurement = measurement_of(node_of(data, name), name, knowledge)
    asked = [Problem("doubt", doubt, Location(name), severity="warning") for doubt in doubts]
    return replace(measurement, questions=(*measurement.questions, *asked))
