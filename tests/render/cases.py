"""Works whose screens are kept as texts, to be read for how they read."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import yaml

TODAY = date(2026, 11, 21)
GOLDEN = Path(__file__).parent / "golden"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WIDTHS = (80, 120)


def _example(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


CHAT: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 4, "criticality": "production"}
CASES: dict[str, dict[str, Any]] = {
    "watch-cameras": _example("watch-cameras"),
    "serve-llama-70b": _example("serve-llama-70b"),
    "fine-tune-8b": _example("fine-tune-8b"),
    "train-7b": _example("train-7b"),
    "chat": CHAT,
    "defaults": {},
    "cards-named": {**CHAT, "accelerators": ["L4", "L40S", "A100"]},
    "latency-first": {**CHAT, "priority": "latency", "latency_ms": 300},
    "owned": {"model": "llama-3.1-70b", "owned": [{"accelerator": "rtx-3090", "count": 4}], "criticality": "personal"},
    "bought": {**CHAT, "deployment": "on-prem", "service_months": 36},
    "embedding-batch": {"phase": "batch-inference", "model": "bge-m3", "dataset_samples": "5M", "deadline_hours": 12},
    "budget-too-small": {"phase": "inference", "model": "llama-3.1-70b", "budget_per_hour": 0.2},
    "nothing-fast-enough": {**CHAT, "latency_ms": 0.01},
}
LIFE = _example("train-then-serve")
