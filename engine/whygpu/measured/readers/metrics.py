"""Reads a snapshot of Prometheus metrics: the DCGM exporter's and vLLM's, in one scrape or apart.

Names: DCGM exporter, https://docs.nvidia.com/datacenter/dcgm/latest/reference/dcgm-exporter-metrics.html; vLLM,
https://docs.vllm.ai/en/stable/usage/metrics/, with those of its earlier releases.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whygpu.measured.readers.exposition import Snapshot
from whygpu.measured.readers.reading import MIB_PER_GIB, Reader, Reading, known, refused
from whygpu.measured.readers.samples import POWER, THERMAL, busy_cards, idle_doubt, mean, peak, share

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOL = "prometheus"
_OURS = re.compile(r"^(?:DCGM_FI_|vllm:)", re.MULTILINE)
_ANY = re.compile(
    r"^# TYPE ([A-Za-z_][A-Za-z0-9_:]{0,200}) (?:counter|gauge|histogram|summary|untyped)\b", re.MULTILINE
)
"""A line of Prometheus' text format that says which kind of metric follows."""
_BEGINNING = re.compile(r"[A-Za-z0-9]+(?:_vllm|_inference|_llm)?")
_COMMON = ("python", "process", "go", "promhttp", "http")
"""What metrics begin with that every server has."""
_SHARES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))
_HISTOGRAMS = {
    "latency": ("vllm:e2e_request_latency_seconds",),
    "ttft": ("vllm:time_to_first_token_seconds",),
    "tpot": (
        "vllm:request_time_per_output_token_seconds",
        "vllm:inter_token_latency_seconds",
        "vllm:time_per_output_token_seconds",
    ),
    "queue": ("vllm:request_queue_time_seconds",),
}


def recognises(text: str) -> bool:
    """Whether it is a scrape of one of both, or of another exporter."""
    return _OURS.search(text) is not None or _ANY.search(text) is not None


def read(text: str, name: str) -> Reading:
    """Read the metrics; raises AnswerError where they are another server's."""
    if _OURS.search(text) is None:
        hint = "metrics of the DCGM exporter and of vLLM are read; of others, write a measurement file"
        raise refused(name, f"holds the metrics of {_exporter(text)}, which are not read", hint, code="other-tool")
    snapshot = Snapshot(text)
    cards, doubts = _cards(snapshot)
    served = dict(_served(snapshot))
    doubts += tuple(
        f"the histogram of {what} lacks its last bucket: its percentiles are left out"
        for what, names in _HISTOGRAMS.items()
        if snapshot.is_cut(*names)
    )
    doubts += tuple(_few(snapshot))
    if not cards and not served and not doubts:
        hint = "scrape /metrics of the exporter while the work runs"
        raise refused(name, "names no metric that a diagnosis reads", hint)
    totals = _memory(snapshot)
    setup = {"runtime": "vllm"} if "vllm:" in text else {}
    model = snapshot.label("model_name") if "vllm:" in text else None
    return Reading(
        setup=setup | ({"model": model} if model else {}),
        figures=cards | served,
        card=snapshot.label("modelName"),
        card_mib=peak(totals),
        doubts=doubts,
    )


def _exporter(text: str) -> str:
    """What the names of its metrics begin with, those left out that every server has."""
    found = [match[0] for name in _ANY.findall(text) if (match := _BEGINNING.match(name)) is not None]
    return next((item for item in found if item not in _COMMON), "another server")


def _memory(snapshot: Snapshot) -> list[float]:
    """MiB of each card: used, free and reserved."""
    parts = [snapshot.values(f"DCGM_FI_DEV_FB_{part}") for part in ("USED", "FREE", "RESERVED")]
    if not parts[0] or len(parts[1]) != len(parts[0]):
        return []
    reserved = parts[2] if len(parts[2]) == len(parts[0]) else [0.0] * len(parts[0])
    return [sum(item) for item in zip(parts[0], parts[1], reserved, strict=True)]


def _cards(snapshot: Snapshot) -> tuple[dict[str, float], tuple[str, ...]]:
    """The figures of the cards that were used."""
    activity = snapshot.by("gpu", "DCGM_FI_DEV_GPU_UTIL") or snapshot.by("gpu", "DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    _, idle = busy_cards(activity)

    def of(*names: str) -> list[float]:
        found = next((by for name in names if (by := snapshot.by("gpu", name))), {})
        return [value for card, values in found.items() if card not in idle for value in values]

    used = mean(of("DCGM_FI_DEV_GPU_UTIL"))
    engine = mean(of("DCGM_FI_PROF_GR_ENGINE_ACTIVE"))
    memory, totals = peak(of("DCGM_FI_DEV_FB_USED")), _memory(snapshot)
    limits, draws = of("DCGM_FI_DEV_POWER_MGMT_LIMIT"), of("DCGM_FI_DEV_POWER_USAGE")
    reasons = of("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS")
    powered = len(limits) == len(draws) and all(limits)
    figures = {
        "gpu_utilisation": engine if used is None else used / 100,
        "sm_active": mean(of("DCGM_FI_PROF_SM_ACTIVE")),
        "tensor_active": mean(of("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE")),
        "dram_active": mean(of("DCGM_FI_PROF_DRAM_ACTIVE")),
        "memory_gib": None if memory is None else memory / MIB_PER_GIB,
        "memory_total_gib": max(totals) / MIB_PER_GIB if totals else None,
        "temperature_c": peak(of("DCGM_FI_DEV_GPU_TEMP")),
        "power_share": mean(min(one / most, 1.0) for one, most in zip(draws, limits, strict=True)) if powered else None,
        "thermal_share": share(THERMAL, reasons),
        "power_capped_share": share(POWER, reasons),
    }
    return known(figures), idle_doubt(idle)


def _served(snapshot: Snapshot) -> Iterator[tuple[str, float]]:
    """The figures of the service; times in ms."""
    for what, names in _HISTOGRAMS.items():
        found = snapshot.histogram(*names)
        for part, at in _SHARES:
            value = None if found is None else found.quantile(at)
            if value is not None and (what != "queue" or part in ("p50", "p95")):
                yield f"{what}_{part}_ms", 1000 * value
        if found is not None and found.mean is not None and what != "queue":
            yield f"{what}_mean_ms", 1000 * found.mean
    answered = snapshot.sum("vllm:request_success_total", "vllm:request_success")
    preempted = snapshot.sum("vllm:num_preemptions_total", "vllm:num_preemptions")
    asked, hits = snapshot.sum("vllm:prefix_cache_queries_total"), snapshot.sum("vllm:prefix_cache_hits_total")
    yield from known(
        {
            "concurrency": snapshot.sum("vllm:num_requests_running"),
            "requests_waiting": snapshot.sum("vllm:num_requests_waiting"),
            "kv_cache_usage": peak(snapshot.values("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")),
            "completed": answered,
            "preemption_share": None if not answered or preempted is None else min(preempted / answered, 1.0),
            "prefix_hit_rate": None if not asked or hits is None else hits / asked,
            "input_tokens": _mean(snapshot, "vllm:request_prompt_tokens"),
            "output_tokens": _mean(snapshot, "vllm:request_generation_tokens"),
        }
    ).items()


def _mean(snapshot: Snapshot, name: str) -> float | None:
    found = snapshot.histogram(name)
    return None if found is None else found.mean


def _few(snapshot: Snapshot) -> Iterator[str]:
    """Percentiles that too few requests speak for."""
    for what, names in _HISTOGRAMS.items():
        found = snapshot.histogram(*names)
        if found is not None and found.count and found.quantile(0.95) is None:
            count = f"{found.count:g} observation{'' if found.count == 1 else 's'}"
            yield f"{count} of {what} are too few for a 95th percentile (20 at least)"


READER = Reader(TOOL, recognises, read)
