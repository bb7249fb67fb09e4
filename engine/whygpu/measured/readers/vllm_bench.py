"""Reads what ``vllm bench serve --save-result`` writes, and the client that speaks for several turns.

Which percentiles there are is the user's choice (``--metric-percentiles``, 99 alone by default), and which times
(``--percentile-metrics``, without the end of the answer by default, and nothing but it for pooling models). One file
has one load, or with ``--append-result`` several; the summary of ``vllm bench sweep`` is a list of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.measured.readers.load_json import inside, json_objects, number, share_of, time
from whygpu.measured.readers.reading import Reader, Reading, known, refused

if TYPE_CHECKING:
    from whygpu.measured.readers.load_json import Data

TOOL = "vllm-bench"
_TIMES = {"latency": "e2el", "ttft": "ttft", "tpot": "tpot"}
_PARTS = {"mean": ("mean",), "p50": ("p50", "median"), "p90": ("p90",), "p95": ("p95",), "p99": ("p99",)}


def recognises(text: str) -> bool:
    """Whether it is such a result; SGLang's has other names for the end of the answer."""
    return any(_is_result(item) for item in json_objects(text) or ())


def _is_result(data: Data) -> bool:
    if not {"completed", "duration", "request_throughput"} <= data.keys() or "mean_e2e_latency_ms" in data:
        return False
    return bool({"model_id", "tokenizer_id", "endpoint_type"} & data.keys())


def read(text: str, name: str) -> Reading:
    """The load of each result in the file; raises AnswerError."""
    results = [item for item in json_objects(text) or () if _is_result(item)]
    if not results:
        raise refused(name, "has no result of vllm bench serve", "run it with --save-result")
    model = results[0].get("model_id")
    doubts = []
    if not any(f"{part}_e2el_ms" in item for item in results for part in ("mean", "median", "p50", "p95")):
        doubts.append("the time to the end of an answer is not in it: run with --percentile-metrics ttft,tpot,itl,e2el")
    if any(item.get("ramp_up_strategy") for item in results):
        doubts.append("its load rose while it was measured (--ramp-up-strategy): measure each load by itself")
    if not any(f"p95_{what}_ms" in item for item in results for what in _TIMES.values()):
        doubts.append("p95 is not in it and is computed from p99: run with --metric-percentiles 50,95,99")
    return Reading(
        date=_day(results[0].get("date")),
        setup={"model": model} if isinstance(model, str) else {},
        points=tuple(_point(item) for item in results),
        doubts=tuple(doubts),
    )


def _point(data: Data) -> dict[str, float]:
    rate = number(data.get("request_rate"))
    found: dict[str, float | None] = {
        "concurrency": number(data.get("max_concurrency")) or number(data.get("multi_turn_concurrency")),
        "request_rate": rate,
        "requests_per_s": number(data.get("request_throughput")),
        "output_tokens_per_s": number(data.get("output_throughput")),
        "input_tokens": share_of(data.get("total_input_tokens"), data.get("completed")),
        "output_tokens": share_of(data.get("total_output_tokens"), data.get("completed")),
        "completed": number(data.get("completed")),
        "failed": number(data.get("failed")),
        "duration_s": number(data.get("duration")),
    }
    for what, theirs in _TIMES.items():
        for part, words in _PARTS.items():
            values = (time(inside(data, f"{word}_{theirs}_ms")) for word in words)
            found[f"{what}_{part}_ms"] = next((value for value in values if value is not None), None)
    return known(found)


def _day(text: object) -> str | None:
    """20260816-160853 or 2026-09-04T20:39:50Z as a day."""
    digits = "".join(letter for letter in text if letter.isdigit())[:8] if isinstance(text, str) else ""
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if len(digits) == 8 else None


READER = Reader(TOOL, recognises, read)
