"""What holds whatever is asked, and whatever bytes come in: a few of those that benchmarks/ tries by the thousand."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fuzz import surfaces, tried
from benchmarks.invariants import TODAY, Tally, broken, dominated, judge, listed, missing

import whygpu


@pytest.mark.slow
def test_what_holds_for_random_answers(kb: whygpu.KnowledgeBase) -> None:
    tally = Tally()
    for seed in (
        1,
        2,
        1054,
        10681,
        20001,
        20408,
        100737,
        108605,
        116803,
        118213,
        123737,
        177748,
        179180,
        203973,
        777004,
        888017,
    ):  # all but the first two found something once
        judge(seed, kb, tally)
    assert tally.violations == []
    assert tally.plans > 100


@pytest.mark.slow
def test_damaged_bytes_are_answered_or_explained(tmp_path: Path) -> None:
    for name, surface in surfaces(tmp_path).items():
        for seed in range(1, 4 if name == "knowledge" else 41):
            tried(name, surface, seed, measured=seed % 10 == 1)
        assert surface.wrong == [], name


@pytest.fixture(scope="module")
def advice(kb: whygpu.KnowledgeBase) -> dict[str, Any]:
    found = kb.advise({"model": "llama-3.1-8b", "phase": "inference"}, engine="evaluator", today=TODAY).to_dict()
    assert isinstance(found, dict)
    return found


def test_a_plan_beyond_a_limit_is_seen(kb: whygpu.KnowledgeBase, advice: dict[str, Any]) -> None:
    """The properties can fail."""
    plan = advice["recommendation"]
    held = {"max_count": 1, "budget_per_hour": 1e9, "accelerators": [plan["accelerator"]["id"]], "latency_ms": 1e9}
    assert list(broken(plan, held, kb)) == []
    for limits in (
        {"budget_per_hour": 0.001},
        {"token_latency_ms": 0.001},
        {"requests_per_second": 1e9},
        {"count": 3},
        {"exclude_accelerators": [plan["accelerator"]["id"]]},
        {"regions": ["nowhere"]},
        {"provider_classes": ["nobody"]},
        {"deadline_hours": 1},
    ):
        assert len(list(broken(plan, limits, kb))) == 1, limits


def test_a_missing_figure_and_a_worse_plan_are_seen(advice: dict[str, Any]) -> None:
    assert list(missing(advice)) == []
    group = next(listed(advice))
    assert list(dominated(group)) == []
    worse = copy.deepcopy(group[0])
    worse["cost"]["objective"] *= 2
    assert len(list(dominated([worse, group[0]]))) == 1
    assert list(dominated([group[0], worse])) == []
    worse["memory"]["total_gib"] = None
    changed = {**advice, "recommendation": worse}
    assert len(list(missing(changed))) == 1
    worse["memory"]["total_gib"], worse["speed"]["token_ms"] = 1e9, {"low": 1.0, "likely": None, "high": 2.0}
    assert len(list(missing(changed))) == 2
