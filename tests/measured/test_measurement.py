"""Measurement files: read, written and read again; what contradicts itself is refused or questioned by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import whygpu
from whygpu.errors import AnswerError
from whygpu.measured.measurement import Measurement, Point, Scaling, Tool
from whygpu.measured.read import read_measurement
from whygpu.measured.write import measurement_text, plain, write_measurement

WHOLE = """measurement: 1
tool: {name: vllm-bench-serve, version: "0.11.0"}
date: 2026-11-20
source: https://example.com/run
setup: {model: llama-3.1-8b, accelerator: l4, count: 2, nodes: 1, runtime: vllm, format: bf16, context_tokens: 4k}
figures: {step_ms: 412, input_share: 18%, communication_share: 0.1}
points:
- {concurrency: 1, requests_per_s: 0.5, latency_p50_ms: 2s, latency_p95_ms: 2.1s, memory_gib: 20}
- {concurrency: 8, requests_per_s: 3, latency_p50_ms: 2.4s, latency_p95_ms: 3s, memory_gib: 21, failed: 0}
scaling:
- {accelerators: 1, nodes: 1, samples_per_s: 100}
- {accelerators: 8, nodes: 1, samples_per_s: 720, communication_share: 0.1}
"""


def read(text: str, kb: whygpu.KnowledgeBase) -> Measurement:
    return read_measurement(text, "m.yaml", kb.knowledge)


def refused(text: str, kb: whygpu.KnowledgeBase) -> list[str]:
    """Each problem of a measurement that is refused: its line, its code and the figure or word it names."""
    with pytest.raises(AnswerError) as raised:
        read(text, kb)
    assert all(problem.help for problem in raised.value.problems)
    return [f"{item.location.line} {item.code} {item.message.split(chr(39))[1]}" for item in raised.value.problems]


def test_a_measurement_is_read(kb: whygpu.KnowledgeBase) -> None:
    found = read(WHOLE, kb)
    assert found.tool == Tool("vllm-bench-serve", "0.11.0")
    assert (found.date, found.source, found.questions) == ("2026-11-20", "https://example.com/run", ())
    assert (found.setup.accelerator, found.setup.count, found.setup.nodes) == ("l4", 2, 1)
    assert found.setup.answers.values["context_tokens"] == 4000
    assert found.figures == {"step_ms": 412, "input_share": 0.18, "communication_share": 0.1}
    assert found.locations["input_share"].line == 6
    expected = Point(concurrency=8, requests_per_s=3, latency_p50_ms=2400, latency_p95_ms=3000, memory_gib=21, failed=0)
    assert found.points[1] == expected
    assert found.scaling[1] == Scaling(8, 1, samples_per_s=720, communication_share=0.1)


def test_what_is_written_is_read_again(kb: whygpu.KnowledgeBase, tmp_path: Path) -> None:
    found = read(WHOLE, kb)
    write_measurement(tmp_path / "m.yaml", found)
    again = read((tmp_path / "m.yaml").read_text(encoding="utf-8"), kb)
    as_json = read(json.dumps(plain(found)), kb)
    for other in (again, as_json):
        assert replace(other, locations={}, setup=found.setup) == replace(found, locations={})
        assert other.setup.answers.values == found.setup.answers.values
        assert measurement_text(other) == measurement_text(found)


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ("measurement: 1", "measurement: 2", ["1 other-version measurement: 1"]),
        ("step_ms: 412", "stepp_ms: 412", ["6 unknown-figure stepp_ms"]),
        ("input_share: 18%", "input_share: 118%", ["6 out-of-range input_share"]),
        ("input_share: 18%", "input_share: 95%", ["6 contradiction "]),
        ("failed: 0", "failled: 0", ["9 unknown-figure failled"]),
        ("accelerator: l4", "accelerator: l5", ["5 unknown-accelerator l5"]),
        ("accelerator: l4", "accelerator: A100", ["5 several-accelerators A100"]),
        ("count: 2", "count: two", ["5 wrong-type count"]),
        ("latency_p95_ms: 3s", "latency_p95_ms: 2s", ["9 contradiction latency_p95_ms"]),
        ("latency_p50_ms: 2.4s", "latency_p50_ms: 2.4s, ttft_p50_ms: 2.5s", ["9 contradiction ttft_p50_ms"]),
        ("memory_gib: 21", "memory_gib: 24", ["9 contradiction memory_gib"]),
        ("samples_per_s: 720", "samples_per_s: 1000", ["12 contradiction because: ..."]),
        ("accelerators: 8, nodes: 1", "accelerators: 8, nodes: 9", ["12 contradiction nodes"]),
        ("accelerators: 8, nodes: 1", "nodes: 1", ["12 missing-key scaling"]),
    ],
)
def test_what_is_wrong_is_refused_by_name(old: str, new: str, problems: list[str], kb: whygpu.KnowledgeBase) -> None:
    assert old in WHOLE
    with pytest.raises(AnswerError) as raised:
        read(WHOLE.replace(old, new, 1), kb)
    found = raised.value.problems
    assert len(found) == len(problems)
    for item, wanted in zip(found, problems, strict=True):
        line, code, word = wanted.split(" ", 2)
        assert (item.location.line, item.code) == (int(line), code)
        assert word in f"{item.message} {item.help}"


def test_all_problems_come_at_once(kb: whygpu.KnowledgeBase) -> None:
    text = WHOLE.replace("step_ms", "stepms").replace("latency_p95_ms: 3s", "latency_p95_ms: 1s").replace("l4", "l5")
    assert refused(text, kb) == [
        "5 unknown-accelerator l5",
        "6 unknown-figure stepms",
        "9 contradiction latency_p95_ms",
    ]


def test_a_reason_lets_an_efficiency_above_one_pass(kb: whygpu.KnowledgeBase) -> None:
    text = WHOLE.replace("samples_per_s: 720", "samples_per_s: 1000, because: the shard fits the cache")
    assert read(text, kb).scaling[1].because == "the shard fits the cache"


def test_what_is_odd_is_questioned_and_kept(kb: whygpu.KnowledgeBase) -> None:
    text = WHOLE.replace("requests_per_s: 3", "requests_per_s: 30, request_rate: 4, latency_mean_ms: 2500")
    found = read(text.replace("model: llama-3.1-8b", "model: our-own-8b"), kb)
    assert [(item.severity, item.location.line) for item in found.questions] == [
        ("warning", 5),
        ("warning", 9),
        ("warning", 9),
    ]
    assert found.setup.model_name == "our-own-8b"
    assert "Little" in str(found.questions[2].help)
    assert found.points[1].requests_per_s == 30


@pytest.mark.parametrize(
    ("figures", "row", "questioned"),
    [
        ("step_ms: 640", "samples_per_s: 25", []),
        ("step_ms: 320", "samples_per_s: 25", ["'samples_per_s' is 50 by 'step_ms' and 'batch_size', and 25"]),
        ("step_ms: 320", "step_ms: 640", ["'step_ms' is 320, and 640 in the row of 8 accelerators"]),
        (
            "step_ms: 320",
            "tokens_per_s: 51200",
            ["'tokens_per_s' is 102,400 by 'step_ms' and 'batch_size', and 51,200"],
        ),
        ("tokens_per_s: 51000", "tokens_per_s: 51200", []),
    ],
)
def test_a_step_that_its_own_row_contradicts_is_questioned(
    figures: str, row: str, questioned: list[str], kb: whygpu.KnowledgeBase
) -> None:
    text = (
        "measurement: 1\nsetup: {phase: training, count: 8, batch_size: 2, sequence_tokens: 2048}\n"
        f"figures: {{{figures}}}\nscaling: [{{accelerators: 8, nodes: 1, {row}}}]\n"
    )
    found = [item.message for item in read(text, kb).questions]
    assert len(found) == len(questioned)
    assert all(message.startswith(start) for message, start in zip(found, questioned, strict=True))
