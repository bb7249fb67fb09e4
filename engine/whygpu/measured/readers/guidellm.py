"""Reads the report of GuideLLM (``benchmarks.json``): one load for each benchmark in it.

Releases keep the model in different places. Latency is in seconds there, all else in milliseconds. Its
``time_per_output_token_ms`` shares the time to the first token among all tokens; what others call so is its
``inter_token_latency_ms``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygpu.measured.readers.load_json import inside, json_objects, number, time
from whygpu.measured.readers.reading import Reader, Reading, known, refused

if TYPE_CHECKING:
    from whygpu.measured.readers.load_json import Data

TOOL = "guidellm"
_TIMES = {
    "latency": (("request_latency", 1000.0), ("request_latency_ms", 1.0)),
    "ttft": (("time_to_first_token_ms", 1.0),),
    "tpot": (("inter_token_latency_ms", 1.0),),
}
_PARTS = ("p50", "p90", "p95", "p99")


def recognises(text: str) -> bool:
    """Whether it is such a report."""
    found = json_objects(text)
    return found is not None and len(found) == 1 and bool(_benchmarks(found[0]))


def _benchmarks(data: Data) -> list[Data]:
    items = data.get("benchmarks")
    if not isinstance(items, list):
        return []
    return [item for item in items if inside(item, "metrics", "requests_per_second") is not None]


def read(text: str, name: str) -> Reading:
    """The load of each benchmark; raises AnswerError."""
    data = (json_objects(text) or [{}])[0]
    items = _benchmarks(data)
    if not items:
        raise refused(name, "has no benchmark with 'requests_per_second'", "give the report as GuideLLM wrote it")
    places = (
        (data, "args", "model"),
        (data, "args", "backend_kwargs", "model"),
        (data, "config", "spec", "backend", "model"),
        (items[0], "config", "backend", "model"),
    )
    model = next((found for top, *path in places if (found := inside(top, *path))), None)
    version = inside(data, "metadata", "guidellm_version")
    return Reading(
        version=version if isinstance(version, str) else None,
        setup={"model": model} if isinstance(model, str) else {},
        points=tuple(_point(item) for item in items),
    )


def _point(item: Data) -> dict[str, float]:
    strategy: Any = inside(item, "config", "strategy") or inside(item, "args", "strategy")
    kind = inside(strategy, "type_")
    streams = number(inside(strategy, "streams")) or number(inside(strategy, "max_concurrency"))
    start, end = (number(inside(item, "scheduler_metrics", f"measure_{word}_time")) for word in ("start", "end"))
    found: dict[str, float | None] = {
        "concurrency": 1.0 if kind == "synchronous" else streams if kind in ("concurrent", None) else None,
        "request_rate": number(inside(strategy, "rate")),
        "requests_per_s": _mean(item, "requests_per_second"),
        "output_tokens_per_s": _mean(item, "output_tokens_per_second"),
        "input_tokens": _mean(item, "prompt_token_count"),
        "output_tokens": _mean(item, "output_token_count"),
        "completed": number(inside(item, "metrics", "request_totals", "successful")),
        "failed": number(inside(item, "metrics", "request_totals", "errored")),
        "duration_s": end - start if start is not None and end is not None and end > start else None,
    }
    for what, metrics in _TIMES.items():
        for metric, scale in metrics:
            place = inside(item, "metrics", metric, "successful")
            if place is None:
                continue
            values = {"mean": inside(place, "mean"), **{part: inside(place, "percentiles", part) for part in _PARTS}}
            values["p50"] = values["p50"] if values["p50"] is not None else inside(place, "median")
            for part, value in values.items():
                found[f"{what}_{part}_ms"] = time(value, scale)
    return known(found)


def _mean(item: Data, metric: str) -> float | None:
    return number(inside(item, "metrics", metric, "successful", "mean"))


READER = Reader(TOOL, recognises, read)
