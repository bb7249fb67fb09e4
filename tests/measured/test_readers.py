"""What tools write, read from real excerpts (tests/measured/data), and what is no such file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import whygpu
from tests.effort import one_in
from whygpu.errors import AnswerError
from whygpu.measured.measurement import Measurement
from whygpu.measured.readers.cards import by_driver
from whygpu.measured.readers.detect import READERS, read_any
from whygpu.measured.readers.exposition import Histogram

DATA = Path(__file__).parent / "data"
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "nvidia-smi.csv": ("nvidia-smi", {"gpu_utilisation": 0.725, "memory_busy": 0.512, "memory_gib": 30.2676}),
    "rocm-smi.csv": ("rocm-smi", {"gpu_utilisation": 0.0, "memory_gib": 0.0259, "memory_total_gib": 19.9844}),
    "rocm-smi.json": ("rocm-smi", {"gpu_utilisation": 0.0, "memory_gib": 0.0259, "memory_total_gib": 19.9844}),
    "rocm-smi-busy.json": ("rocm-smi", {"gpu_utilisation": 1.0, "memory_busy": 0.0, "power_share": 0.2286}),
    "dcgm-exporter.prom": ("prometheus", {"gpu_utilisation": 0.0, "memory_total_gib": 44.9873, "temperature_c": 32.0}),
    "profiler-dataloader.txt": ("pytorch-profiler", {"input_share": 0.8919}),
    "profiler-memory.txt": ("pytorch-profiler", {"input_share": 0.2275, "gpu_utilisation": 0.1097}),
    "profiler-nccl.txt": ("pytorch-profiler", {"gpu_utilisation": 0.6093, "communication_busy": 0.5465}),
    "vllm-v0-0.6.5.log": ("vllm-log", {"weights_gib": 7.48, "activation_gib": 1.26, "memory_total_gib": 79.22}),
    "vllm-v0-0.8.log": ("vllm-log", {"weights_gib": 12.55, "activation_gib": 2.38, "kv_cache_gib": 56.18}),
    "vllm-v0-busy.prom": ("prometheus", {"requests_waiting": 0.0, "kv_cache_usage": 0.0}),
    "vllm-v0.prom": ("prometheus", {}),
    "vllm-v1-0.10.2.log": ("vllm-log", {}),
    "vllm-v1-0.10.log": ("vllm-log", {"kv_cache_gib": 112.61, "kv_cache_tokens": 922496.0, "kv_cache_requests": 23.06}),
    "vllm-v1-0.20.log": ("vllm-log", {"kv_cache_tokens": 396928.0, "kv_cache_requests": 3.03, "graphs_gib": 0.11}),
    "vllm-v1-0.24.log": ("vllm-log", {"kv_cache_gib": 5.98, "kv_cache_tokens": 567978.0, "kv_cache_requests": 4.33}),
    "vllm-v1-0.7.log": ("vllm-log", {"weights_gib": 67.7229, "kv_cache_requests": 10.79}),
    "vllm-v1-load.log": ("vllm-log", {"weights_gib": 2.2845, "load_s": 74.2702}),
    "vllm-v1.prom": ("prometheus", {"kv_cache_usage": 0.0}),
}
REFUSED = {
    "sglang.log": ("other-tool", "a log of SGLang"),
    "amd-smi.json": ("other-tool", "the output of amd-smi"),
    "nvidia-smi-table.txt": ("other-tool", "the table of plain nvidia-smi"),
}


def given(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def read(text: str, kb: whygpu.KnowledgeBase) -> Measurement:
    return read_any(text, "f", kb.knowledge)


def refused(text: str, kb: whygpu.KnowledgeBase) -> tuple[str, str, str]:
    with pytest.raises(AnswerError) as raised:
        read(text, kb)
    (problem,) = raised.value.problems
    return problem.code, problem.message, problem.help or ""


@pytest.mark.parametrize("name", READ)
def test_a_real_file(name: str, kb: whygpu.KnowledgeBase) -> None:
    tool, figures = READ[name]
    found = read(given(name), kb)
    assert found.tool is not None
    assert found.tool.name == tool
    assert {key: found.figures[key] for key in figures} == pytest.approx(figures, abs=1e-4)


def test_every_file_has_a_test_and_an_address() -> None:
    names = {path.name for path in DATA.iterdir() if path.is_file()} - {"README.md"}
    assert names == READ.keys() | REFUSED.keys()
    told = given("README.md")
    assert [name for name in names if name not in told] == []


@pytest.mark.parametrize("name", READ)
def test_one_reader_recognises_a_file(name: str) -> None:
    assert [reader.tool for reader in READERS if reader.recognises(given(name))] == [READ[name][0]]


@pytest.mark.parametrize("name", REFUSED)
def test_another_tool_is_named(name: str, kb: whygpu.KnowledgeBase) -> None:
    code, message, hint = refused(given(name), kb)
    assert (code, hint != "") == (REFUSED[name][0], True)
    assert REFUSED[name][1] in message


@pytest.mark.parametrize(
    ("text", "code", "what"),
    [
        ("", "empty", "is empty"),
        (" \n\n", "empty", "is empty"),
        ("hello there\nfriend", "unreadable", "no tool that is known"),
        ("0, 50 %, 1000 MiB\n0, 51 %, 1000 MiB\n", "other-tool", "without a header"),
        ("device,GPU use (%)\ncard0,1,2\n", "unreadable", "3 values in a row, and 2 columns"),
        ("device,GPU use (%)\n", "unreadable", "says nothing of any card"),
        ('{"card0": {"Fan Speed (%)": "45"}}', "unreadable", "says nothing of any card"),
        ('{"card0": {"GPU use (%)": "45"', "unreadable", "is not JSON"),
        ("0, NVIDIA L4, 50 %, 900 MiB\n", "other-tool", "without a header"),
        ('{"traceEvents": []}', "other-tool", "a Chrome trace"),
        ("Run Info,Run Info\nRun ID,Profile\n", "other-tool", "a report of GuideLLM"),
        ("benchmarks: []\nmetadata:\n  guidellm_version: 0.7.3\n", "other-tool", "a report of GuideLLM"),
        ('{"per_combination_metrics": []}', "other-tool", "the summary of a sweep by AIPerf"),
        ('{"avg_latency": 2, "latencies": [2]}', "other-tool", "'vllm bench latency'"),
        ("Users,Throughput (req/s)\n1,1.6\n", "other-tool", "a table without the columns"),
        ("index, utilization.gpu [%], memory.used [MiB]\n", "unreadable", "no samples"),
        ("index, utilization.gpu [%], memory.used [MiB]\n0, 5 %\n", "unreadable", "2 values in a row, and 3 columns"),
    ],
)
def test_what_is_no_such_file(text: str, code: str, what: str, kb: whygpu.KnowledgeBase) -> None:
    found = refused(text, kb)
    assert found[0] == code
    assert what in found[1]
    assert found[2]


def test_a_measurement_file_is_read_too(kb: whygpu.KnowledgeBase) -> None:
    assert read("measurement: 1\nfigures: {step_ms: 400}\n", kb).figures == {"step_ms": 400.0}


def test_units_may_be_left_out(kb: whygpu.KnowledgeBase) -> None:
    text = given("nvidia-smi.csv")
    head, rows = text.split("\n", 1)
    for unit in (" %", " MiB", " MHz", " W"):
        rows = rows.replace(unit, "")
    assert read(f"{head}\n{rows}", kb).figures == read(text, kb).figures


def test_power_goes_by_several_names(kb: whygpu.KnowledgeBase) -> None:
    head = "gpu_bus_id, power.draw.instant [W], enforced.power.limit [W]"
    assert read(f"{head}\n1A, 350.5 W, 700.0 W\n1A, 349.5 W, 700.0 W\n", kb).number("power_share") == pytest.approx(0.5)


@pytest.mark.parametrize("before", ["vllm-1  | ", "2026-07-06T22:50:34.123456789Z ", "\x1b[0;36m", ""])
def test_a_log_of_a_container_or_with_colours(before: str, kb: whygpu.KnowledgeBase) -> None:
    lines = given("vllm-v1-0.24.log").splitlines()
    coloured = (line.replace(") INFO", ")\x1b[0;0m INFO") for line in lines)
    found = read("".join(f"{before}{line}\n" for line in coloured), kb)
    assert found.figures == read(given("vllm-v1-0.24.log"), kb).figures


def test_of_several_starts_the_last_counts_and_of_ranks_the_least_cache(kb: whygpu.KnowledgeBase) -> None:
    start = "INFO 09-03 16:28:10 [api_server.py:1882] vLLM API server version 0.24.0\n"
    one, less = given("vllm-v1-0.24.log"), given("vllm-v1-0.24.log").replace("567,978", "560,000")
    ranks = read(one + less, kb)
    assert ranks.number("kv_cache_tokens") == 560_000
    assert read(start + less + start + one, kb).number("kv_cache_tokens") == 567_978


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs 4\n", "sglang"),
        ("# TYPE tgi_queue_size gauge\ntgi_queue_size 4\n", "tgi"),
        ("# TYPE python_gc_objects counter\n# TYPE nv_inference_count counter\nnv_inference_count 4\n", "nv_inference"),
        ("# TYPE ray_vllm_num_requests_running gauge\nray_vllm_num_requests_running 4\n", "ray_vllm"),
    ],
)
def test_metrics_of_another_exporter_are_named(text: str, whose: str, kb: whygpu.KnowledgeBase) -> None:
    code, message, _ = refused(text, kb)
    assert (code, message) == ("other-tool", f"holds the metrics of {whose}, which are not read")


@pytest.mark.parametrize(
    "unit", one_in(3, ("\n", "a", "a,", " ", "Name  ", "# gpu ", "1, ", "[", '{"a":', "a\n", "vllm:a{"))
)
def test_a_hostile_file_takes_no_longer_than_its_length(unit: str, kb: whygpu.KnowledgeBase) -> None:
    """A pattern that looks at every place from every place would not come back from these."""
    refused(unit * (1_000_000 // len(unit)), kb)


def test_samples_of_rocm_smi_in_one_file(kb: whygpu.KnowledgeBase) -> None:
    """Cards that rest are left out, and one call after another is one sample after another."""
    one = '{"card0": {"GPU use (%)": "90", "VRAM Total Used Memory (B)": "1073741824"}, "card1": {"GPU use (%)": "0"}}'
    found = read(f"{one}\n{one.replace('90', '70')}\n", kb)
    assert found.number("gpu_utilisation") == pytest.approx(0.8)
    assert found.number("memory_gib") == 1.0
    assert found.setup.count == 1
    table = "device,GPU use (%)\ncard0,90\ncard1,0\ndevice,GPU use (%)\ncard0,70\ncard1,0\n"
    assert read(table, kb).number("gpu_utilisation") == pytest.approx(0.8)


HEADER = (
    "index, name, utilization.gpu [%], clocks.current.sm [MHz], clocks.max.sm [MHz], clocks_throttle_reasons.active"
)
SAMPLES = f"""{HEADER}
0, NVIDIA L4, 90 %, 1500 MHz, 2000 MHz, 0x0000000000000000
1, NVIDIA L4, 0 %, 210 MHz, 2000 MHz, 0x0000000000000001
0, NVIDIA L4, 100 %, 1000 MHz, 2000 MHz, 0x0000000000000040
1, NVIDIA L4, 0 %, 210 MHz, 2000 MHz, 0x0000000000000001
"""


def test_cards_that_rest_do_not_count(kb: whygpu.KnowledgeBase) -> None:
    found = read(SAMPLES, kb)
    assert found.setup.accelerator == "l4"
    assert found.setup.count == 1
    assert found.number("gpu_utilisation") == pytest.approx(0.95)
    assert found.number("clock_share") == pytest.approx(0.625)
    assert found.number("thermal_share") == pytest.approx(0.5)
    assert found.questions


@pytest.mark.parametrize(
    ("name", "mib", "card"),
    [
        ("NVIDIA A100-SXM4-80GB", 81920, "a100-sxm-80gb"),
        ("NVIDIA A100-SXM4-40GB", 40960, "a100-sxm-40gb"),
        ("NVIDIA H100 80GB HBM3", 81559, "h100-sxm"),
        ("NVIDIA H100 PCIe", 81559, "h100-pcie"),
        ("Tesla T4", 15360, "t4"),
        ("NVIDIA L40S", 46068, "l40s"),
        ("NVIDIA GeForce RTX 4090", 24564, "rtx-4090"),
        ("Tesla V100-SXM2-32GB", 32510, "v100-sxm2-32gb"),
        ("NVIDIA H200", 143771, "h200-sxm"),  # the other one says "NVIDIA H200 NVL" (nvidia-product-names)
        ("NVIDIA H200 NVL", 143771, "h200-nvl"),
        ("Something else", None, None),
    ],
)
def test_a_card_by_the_name_of_its_driver(
    name: str, mib: float | None, card: str | None, kb: whygpu.KnowledgeBase
) -> None:
    assert by_driver(kb.knowledge.catalogue, name, mib) == card


BUCKETS = """# TYPE vllm:time_to_first_token_seconds histogram
{rows}vllm:time_to_first_token_seconds_sum{{model_name="m"}} 30.0
vllm:time_to_first_token_seconds_count{{model_name="m"}} 100.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{model_name="m"}} 12.0
"""


def test_percentiles_of_a_histogram(kb: whygpu.KnowledgeBase) -> None:
    """As Prometheus does: evenly within a bucket."""
    counts = {"0.1": 50, "0.5": 90, "1.0": 100, "+Inf": 100}
    rows = "".join(
        f'vllm:time_to_first_token_seconds_bucket{{le="{bound}",model_name="m"}} {count}.0\n'
        for bound, count in counts.items()
    )
    found = read(BUCKETS.format(rows=rows), kb)
    assert found.number("requests_waiting") == 12
    assert found.number("ttft_p50_ms") == pytest.approx(100)
    assert found.number("ttft_p95_ms") == pytest.approx(750)
    assert found.number("ttft_mean_ms") == pytest.approx(300)


def test_quantiles_need_observations() -> None:
    few = Histogram((0.1, 1.0, float("inf")), (5, 9, 10))
    assert few.quantile(0.5) == pytest.approx(0.1)
    assert few.quantile(0.95) is None
    beyond = Histogram((0.1, float("inf")), (50, 100))
    assert beyond.quantile(0.95) == pytest.approx(0.1)  # no more is known than that it is above
    assert Histogram((float("inf"),), (0,), 0.0).mean is None
