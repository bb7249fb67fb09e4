"""Reads what AIPerf and its forerunner GenAI-Perf export: ``profile_export_*.json`` and ``.csv``, one load in each.

Metrics have a unit, which is read: early releases of GenAI-Perf wrote nanoseconds, and numbers as texts. Phases of
AIPerf that warm up are in its configuration and not in its results.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from whygpu.measured.readers.load_json import inside, json_objects, number, time
from whygpu.measured.readers.reading import Reader, Reading, known, refused

if TYPE_CHECKING:
    from whygpu.measured.readers.load_json import Data

TOOL = "aiperf"
_TIMES = {
    "latency": ("request_latency",),
    "ttft": ("time_to_first_token",),
    "tpot": ("inter_token_latency",),
}
_PARTS = {"mean": "avg", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
_MS = {"ms": 1.0, "s": 1000.0, "sec": 1000.0, "us": 1e-3, "ns": 1e-6}
_NAMES = re.compile(r"[^a-z0-9]+")
_HEADER = re.compile(r"^Metric,avg,min,max,", re.MULTILINE)


def recognises(text: str) -> bool:
    """Whether it is an export as JSON or as CSV."""
    if _HEADER.search(text[:4000]):
        return True
    found = json_objects(text)
    return found is not None and len(found) == 1 and _is_export(found[0])


def _is_export(data: Data) -> bool:
    return inside(data, "request_latency", "unit") is not None and "request_throughput" in data


def read(text: str, name: str) -> Reading:
    """The one load of the export; raises AnswerError."""
    found = json_objects(text)
    if found is None:
        return _of_csv(text, name)
    data = found[0]
    if not _is_export(data):
        raise refused(
            name, "has no 'request_latency' with a unit", "give profile_export_aiperf.json, as it was written"
        )
    model = inside(data, "input_config", "models", "items") or inside(data, "input_config", "model")
    first = model[0] if isinstance(model, list) and model else model
    word = inside(first, "name") if isinstance(first, dict) else first
    version = data.get("aiperf_version")
    started = data.get("start_time")
    loads = _loads(data)
    concurrency, rate = loads[0] if len(loads) == 1 else (None, None)
    doubts = [] if concurrency or rate else ["it does not say at which concurrency it was measured"]
    if len(loads) > 1:
        doubts = ["its results are of several phases with loads of their own: measure each load by itself"]
    if data.get("was_cancelled") is True:
        doubts.append("the run was cancelled")
    return Reading(
        version=version if isinstance(version, str) else None,
        date=started[:10] if isinstance(started, str) and len(started) >= 10 else None,
        setup={"model": word} if isinstance(word, str) else {},
        points=(_point(data, concurrency, rate),),
        doubts=tuple(doubts),
    )


def _loads(data: Data) -> list[tuple[float | None, float | None]]:
    """Concurrency and request rate, where each release keeps them: one for each phase that was measured."""
    config = data.get("input_config")
    phases = inside(config, "phases")
    if isinstance(phases, list):
        kept = [item for item in phases if isinstance(item, dict) and not _warms_up(item)]
        found = [(number(item.get("concurrency")), number(item.get("rate"))) for item in kept]
        return list(dict.fromkeys(item for item in found if any(item)))
    places: list[Any] = [config, inside(config, "loadgen"), inside(config, "perf_analyzer", "stimulus")]
    concurrency = next((value for place in places if (value := number(inside(place, "concurrency")))), None)
    rate = next((value for place in places if (value := number(inside(place, "request_rate")))), None)
    return [(concurrency, rate)] if concurrency or rate else []


def _warms_up(phase: Data) -> bool:
    return phase.get("exclude_from_results") is True or phase.get("kind", phase.get("name")) == "warmup"


def _point(data: Data, concurrency: float | None, rate: float | None) -> dict[str, float]:
    def of(metric: str) -> float | None:
        return number(inside(data, metric, "avg"))

    found: dict[str, float | None] = {
        "concurrency": concurrency,
        "request_rate": rate,
        "requests_per_s": of("request_throughput"),
        "output_tokens_per_s": of("output_token_throughput"),
        "input_tokens": of("input_sequence_length"),
        "output_tokens": of("output_sequence_length"),
        "completed": of("request_count"),
        "failed": of("error_request_count"),
        "duration_s": of("benchmark_duration"),
    }
    for what, metrics in _TIMES.items():
        for metric in metrics:
            scale = _MS.get(str(inside(data, metric, "unit")), 1.0)
            for part, word in _PARTS.items():
                found[f"{what}_{part}_ms"] = time(inside(data, metric, word), scale)
    return known(found)


def _of_csv(text: str, name: str) -> Reading:
    """The tables of the export: percentiles first, then single values; those of each GPU are passed over."""
    data: dict[str, dict[str, Any]] = {}
    heads: list[str] = []
    for row in csv.reader(io.StringIO(text)):
        if not row or row[0] in ("Metric", "Endpoint"):
            heads = row
        elif heads[:1] == ["Metric"] and heads[1:2] != ["GPU"]:
            label, _, unit = row[0].partition(" (")
            key = _NAMES.sub("_", label.lower()).strip("_")
            values = dict(zip(heads[1:], row[1:], strict=False))
            if "Value" in values:
                values = {"avg": values["Value"]}
            data[key] = {"unit": unit.rstrip(")"), **values}
    if "request_latency" not in data:
        raise refused(name, "has no row 'Request Latency'", "give the CSV that AIPerf or GenAI-Perf wrote, all of it")
    return Reading(
        points=(_point(data, None, None),),
        doubts=("a CSV export does not say at which concurrency it was measured: give the JSON beside it",),
    )


READER = Reader(TOOL, recognises, read)
