"""The readers of load tests, each on a real file of its tool (tests/measured/data/loads)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whygpu.errors import AnswerError
from whygpu.measured.readers import aiperf, guidellm, points_csv, sglang_bench, vllm_bench
from whygpu.measured.readers.load_tests import READERS
from whygpu.measured.readers.reading import Reader, Reading

LOADS = Path(__file__).parent / "data" / "loads"
TOOLS = {
    "vllm-0.25.1.json": vllm_bench.READER,
    "vllm-multi-turn.json": vllm_bench.READER,
    "sglang-online.jsonl": sglang_bench.READER,
    "sglang-sharegpt.jsonl": sglang_bench.READER,
    "aiperf-0.11-c128.json": aiperf.READER,
    "aiperf-0.11-c512.csv": aiperf.READER,
    "genai-perf-c100.json": aiperf.READER,
    "genai-perf.csv": aiperf.READER,
    "guidellm-0.5-c4.json": guidellm.READER,
    "points.csv": points_csv.READER,
}


def _text(name: str) -> str:
    return (LOADS / name).read_text(encoding="utf-8")


def _read(name: str) -> Reading:
    return TOOLS[name].read(_text(name), name)


def test_every_file_has_a_test() -> None:
    assert {path.name for path in LOADS.iterdir()} == {*TOOLS, "README.md"}


@pytest.mark.parametrize("name", TOOLS)
def test_one_reader_alone_recognises_a_file(name: str) -> None:
    assert [reader for reader in READERS if reader.recognises(_text(name))] == [TOOLS[name]]


@pytest.mark.parametrize("name", TOOLS)
def test_throughput_and_latency_are_those_of_littles_law(name: str) -> None:
    """Requests a second x seconds each is what was in flight: whatever a reader confuses shows here."""
    for point in _read(name).points:
        if "latency_mean_ms" not in point or "concurrency" not in point:
            continue
        in_flight = point["requests_per_s"] * point["latency_mean_ms"] / 1000
        sent_at_once = point["concurrency"] if point.get("request_rate") is None else 12  # 4.9 a second of 2.4 s each
        assert in_flight == pytest.approx(sent_at_once, rel=0.06)


@pytest.mark.parametrize("name", TOOLS)
def test_tokens_a_second_are_those_of_the_requests(name: str) -> None:
    for point in _read(name).points:
        tokens = point["requests_per_s"] * point["output_tokens"]
        assert tokens == pytest.approx(point["output_tokens_per_s"], rel=0.02)


def test_vllm_says_which_percentiles_were_left_out() -> None:
    found = _read("vllm-0.25.1.json")
    (point,) = found.points
    assert found.date == "2026-08-16"
    assert found.setup == {"model": "facebook/opt-125m"}
    assert point["concurrency"] == 2
    assert point["ttft_p50_ms"] == pytest.approx(55.68, abs=0.01)
    assert "latency_mean_ms" not in point
    assert any("e2el" in doubt for doubt in found.doubts)
    assert any("50,95,99" in doubt for doubt in found.doubts)
    whole = _read("vllm-multi-turn.json")
    assert whole.points[0]["latency_p95_ms"] == pytest.approx(31861.7, abs=0.1)
    assert whole.doubts == ()


def test_sglang_of_early_releases_has_its_throughput_computed() -> None:
    found = _read("sglang-online.jsonl")
    assert [point["request_rate"] for point in found.points] == [1, 2, 4, 8, 16]
    assert found.points[3]["requests_per_s"] == pytest.approx(2400 / 346.775, rel=1e-4)
    assert "latency_p95_ms" not in found.points[0]
    assert any("median" in doubt for doubt in found.doubts)
    later = _read("sglang-sharegpt.jsonl").points[0]
    assert later["latency_p99_ms"] == pytest.approx(9813.9, abs=0.1)
    assert "tpot_p95_ms" not in later, "p95 is of the time between tokens alone, not of tokens of a request"


def test_sglang_of_two_data_sets_is_questioned() -> None:
    text = _text("sglang-online.jsonl") + _text("sglang-sharegpt.jsonl")
    assert any("different data sets" in doubt for doubt in sglang_bench.read(text, "both").doubts)


def test_aiperf_and_genai_perf_keep_the_load_in_different_places() -> None:
    assert _read("aiperf-0.11-c128.json").points[0]["concurrency"] == 128
    assert _read("aiperf-0.11-c128.json").version == "0.11.0"
    assert _read("genai-perf-c100.json").points[0]["concurrency"] == 100
    assert "concurrency" not in _read("genai-perf.csv").points[0]
    assert _read("genai-perf.csv").points[0]["latency_p95_ms"] == pytest.approx(5928.74), "thousands have commas"


def test_genai_perf_in_nanoseconds_is_read_in_milliseconds() -> None:
    data = json.loads(_text("genai-perf-c100.json"))
    for metric in ("request_latency", "time_to_first_token", "inter_token_latency"):
        data[metric] = {key: str(value * 1e6) if key != "unit" else "ns" for key, value in data[metric].items()}
    assert aiperf.read(json.dumps(data), "ns").points[0] == pytest.approx(_read("genai-perf-c100.json").points[0])


def test_guidellm_has_latency_in_seconds_and_its_own_time_per_token() -> None:
    (point,) = _read("guidellm-0.5-c4.json").points
    assert point["latency_p95_ms"] == pytest.approx(3285.66, abs=0.01)
    assert point["tpot_mean_ms"] == pytest.approx(22.92, abs=0.01), "without the first token, unlike its own figure"


def test_a_csv_names_every_wrong_column_and_cell() -> None:
    with pytest.raises(AnswerError) as caught:
        points_csv.read("concurrency,request_per_s,latency_mean_ms\n1,2,fast\n2,3,-4\n", "mine.csv")
    messages = [str(problem) for problem in caught.value.problems]
    assert len(messages) == 3
    assert "did you mean 'requests_per_s'" in messages[0]
    assert "mine.csv:2" in messages[1]


@pytest.mark.parametrize(
    "text",
    [
        "latency_p50_ms,Concurrency, requests_per_s ,duration_s\n1500,8,2.5,60\n",
        '"concurrency";"requests_per_s";"latency_p50_ms";"duration_s"\n8;2.5;1.5 s;1 min\n',
        "concurrency\trequests_per_s\tlatency_p50_ms\tduration_s\n8\t2.5\t1500 ms\t60 s\n",
        'concurrency,requests_per_s,latency_p50_ms,duration_s\n8,2.5,"1,500",60\n',
    ],
)
def test_a_csv_of_other_order_dividers_quotes_and_units(text: str) -> None:
    (point,) = points_csv.read(text, "mine.csv").points
    assert point == {"concurrency": 8, "requests_per_s": 2.5, "latency_p50_ms": 1500, "duration_s": 60}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("concurrency,requests_per_s\n1,2,3\n", "3 values in a row, and 2 columns"),
        ("concurrency,requests_per_s,latency_p50_ms\n1,2\n", "2 values in a row, and 3 columns"),
        ("concurrency,requests_per_s,requests_per_s\n1,2,3\n", "two columns are called 'requests_per_s'"),
        ("concurrency;requests_per_s\n1;1,6\n", "'requests_per_s' is '1,6'"),
        ("concurrency,requests_per_s,latency_p50_ms\n1,2,5m\n", "'latency_p50_ms' is '5m'"),
    ],
)
def test_a_csv_that_does_not_fit_is_refused_by_its_place(text: str, what: str) -> None:
    with pytest.raises(AnswerError) as caught:
        points_csv.read(text, "mine.csv")
    (problem,) = caught.value.problems
    assert what in problem.message
    assert problem.location.line


def _changed(name: str, **changes: object) -> str:
    """The one result of a file with some of its keys changed; None takes a key out."""
    data = json.loads(_text(name)) | changes
    return json.dumps({key: value for key, value in data.items() if value is not None})


def test_vllm_may_have_the_end_of_answers_alone_and_several_results() -> None:
    """``--percentile-metrics e2el``, pooling models, and the list that ``vllm bench sweep`` writes."""
    times = {f"{word}_{what}_ms": None for word in ("mean", "median", "std", "p99") for what in ("ttft", "tpot", "itl")}
    one = _changed("vllm-0.25.1.json", **times, mean_e2el_ms=900.0, p95_e2el_ms=1200.0)
    assert vllm_bench.READER.recognises(one)
    both = vllm_bench.read(f"[{one}, {one}]", "summary.json").points
    assert [point["latency_mean_ms"] for point in both] == [900.0, 900.0]
    assert "ttft_mean_ms" not in both[0]


def test_a_load_that_rises_is_questioned() -> None:
    text = _changed("vllm-0.25.1.json", ramp_up_strategy="linear", ramp_up_start_rps=1, ramp_up_end_rps=30)
    assert any("ramp-up" in doubt for doubt in vllm_bench.read(text, "f").doubts)


def test_times_of_answers_that_were_not_streamed_are_not_measured() -> None:
    """Tools write 0 for the first token of an answer that came as a whole."""
    line = json.loads(_text("sglang-sharegpt.jsonl").splitlines()[0])
    line |= {key: 0.0 for key in line if "_ttft_" in key or "_itl_" in key or "_tpot_" in key}
    (point,) = sglang_bench.read(json.dumps(line), "f").points
    assert "latency_p99_ms" in point
    assert [key for key in point if key.startswith(("ttft", "tpot"))] == []


def test_aiperf_phases_that_warm_up_are_not_what_was_measured() -> None:
    data = json.loads(_text("aiperf-0.11-c128.json"))
    (measured,) = data["input_config"]["phases"]
    warm = measured | {"name": "warmup", "concurrency": 2, "exclude_from_results": True}
    data["input_config"]["phases"] = [warm, measured]
    assert aiperf.read(json.dumps(data), "f").points[0]["concurrency"] == 128
    data["input_config"]["phases"] = [warm, {"name": "profiling", "type": "poisson", "rate": 12.5}]
    point = aiperf.read(json.dumps(data), "f").points[0]
    assert point["request_rate"] == 12.5
    assert "concurrency" not in point
    data["input_config"]["phases"] = [measured, measured | {"concurrency": 256}]
    found = aiperf.read(json.dumps(data), "f")
    assert "concurrency" not in found.points[0]
    assert any("several phases" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(
    "place",
    [
        {"args": {"backend_kwargs": {"model": "org/name"}}},
        {"args": None, "config": {"spec": {"backend": {"model": "org/name"}}}},
    ],
)
def test_guidellm_keeps_the_model_in_several_places(place: dict[str, object]) -> None:
    assert guidellm.read(_changed("guidellm-0.5-c4.json", **place), "f").setup == {"model": "org/name"}


@pytest.mark.parametrize("reader", READERS[:-1], ids=lambda reader: reader.tool)
def test_what_another_tool_wrote_is_refused_by_name(reader: Reader) -> None:
    with pytest.raises(AnswerError) as caught:
        reader.read('{"hello": 1}', "other.json")
    assert "other.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"benchmarks": []}', "a,b\n1,2\n", '{"completed": 1}', "{}\n{}"])
def test_nothing_else_is_recognised(text: str) -> None:
    assert not any(reader.recognises(text) for reader in READERS)
