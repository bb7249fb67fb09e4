"""Reads the JSON lines of ``python -m sglang.bench_serving --output-file``: one load on each line.

Early releases have no ``request_throughput`` and no percentile but the median; later ones 90, 95 and 99 as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.measured.readers.load_json import json_objects, number, share_of, time
from whygpu.measured.readers.reading import Reader, Reading, known, refused

if TYPE_CHECKING:
    from whygpu.measured.readers.load_json import Data

TOOL = "sglang-bench"
_TIMES = {"latency": ("e2e_latency",), "ttft": ("ttft",), "tpot": ("tpot", "itl")}
_PARTS = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}


def recognises(text: str) -> bool:
    """Whether a line is such a result."""
    return any(_is_result(item) for item in json_objects(text) or ())


def _is_result(data: Data) -> bool:
    return {"completed", "duration"} <= data.keys() and "median_e2e_latency_ms" in data


def read(text: str, name: str) -> Reading:
    """The load of each line; raises AnswerError."""
    results = [item for item in json_objects(text) or () if _is_result(item)]
    if not results:
        raise refused(name, "has no result of sglang.bench_serving", "run it with --output-file")
    kinds = {str(item.get("dataset_name")) for item in results}
    doubts = []
    if len(kinds) > 1:
        doubts.append(
            f"its loads are of different data sets ({', '.join(sorted(kinds))}): size each from a file of its own"
        )
    if not any(f"{part}_e2e_latency_ms" in item for item in results for part in ("p90", "p95", "p99")):
        doubts.append("it has no percentile but the median: a later release writes p95 too")
    return Reading(points=tuple(_point(item) for item in results), doubts=tuple(doubts))


def _point(data: Data) -> dict[str, float]:
    completed = data.get("completed")
    per_s = number(data.get("request_throughput"))
    found: dict[str, float | None] = {
        "concurrency": number(data.get("max_concurrency")),
        "request_rate": number(data.get("request_rate")),
        "requests_per_s": share_of(completed, data.get("duration")) if per_s is None else per_s,
        "output_tokens_per_s": number(data.get("output_throughput")),
        "input_tokens": share_of(data.get("total_input_tokens"), completed),
        "output_tokens": share_of(data.get("total_output_tokens"), completed),
        "completed": number(completed),
        "duration_s": number(data.get("duration")),
    }
    for what, theirs in _TIMES.items():
        key = next((key for key in theirs if f"median_{key}_ms" in data), theirs[0])
        for part, word in _PARTS.items():
            found[f"{what}_{part}_ms"] = time(data.get(f"{word}_{key}_ms"))
    return known(found)


READER = Reader(TOOL, recognises, read)
