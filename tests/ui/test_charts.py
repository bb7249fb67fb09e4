"""The chart's figures are the plans' figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whygpu_ui.charts import (
    PALETTE,
    description,
    memory_chart,
    parts,
    price_speed,
    price_speed_rows,
    scatter,
)
from whygpu_ui.details import between

if TYPE_CHECKING:
    from whygpu import KnowledgeBase


@pytest.mark.parametrize("answers", [{"phase": "inference"}, {"phase": "training"}, {"phase": "fine-tuning"}])
def test_parts_add_up_to_the_need(answers: dict[str, str], kb: KnowledgeBase) -> None:
    for plan in kb.advise(answers).plans:
        assert sum(parts(plan.memory).values()) == pytest.approx(plan.memory.total_gib, rel=0.01, abs=0.02)
        assert set(parts(plan.memory)) <= set(PALETTE)


def test_bars_ticks_and_words_are_of_the_plans(kb: KnowledgeBase) -> None:
    plans = kb.advise({"phase": "inference", "model": "llama-3.1-70b"}).plans[:4]
    spec = memory_chart(plans, dark=False).to_dict()
    bars, ranges, ticks = (spec["datasets"][layer["data"]["name"]] for layer in spec["layer"])
    for plan, mark in zip(plans, ticks, strict=True):
        stacked = sum(row["GiB"] for row in bars if row["plan"] == mark["plan"])
        assert stacked == pytest.approx(plan.memory.total_gib, rel=0.02)
        assert mark["usable"] == plan.memory.usable_gib
    assert ranges == ticks
    assert f"{plans[0].label} uses {plans[0].memory.total_gib:.1f} of" in description(plans)
    assert "http" not in str(spec["layer"])


def test_points_and_target_lines_are_of_the_plans_and_the_answers(kb: KnowledgeBase) -> None:
    advice = kb.advise({"phase": "inference", "model": "llama-3.1-8b", "token_latency_ms": 70, "budget_per_hour": 3})
    found = scatter(advice.plans, advice.consultation.answers.values)
    assert found is not None
    assert (found.most_time, found.most_usd) == (70.0, 3.0)
    spec = price_speed(found, dark=False, height=300).to_dict()
    dots, _, *lines = (spec["datasets"][layer["data"]["name"]] for layer in spec["layer"])
    assert [row["id"] for row in dots] == [plan.id for plan, _, _ in found.points]
    assert lines == [[{"price": 3.0}], [{"time": 70.0}]]
    for (plan, price, time), row in zip(found.points, price_speed_rows(found), strict=True):
        assert plan.cost is not None
        assert price == plan.cost.compared.usd_per_hour
        assert f"{time:.3g} ms a token" in row
    assert scatter(advice.plans[:0], {}) is None


def test_a_limit_far_from_every_plan_pushes_none_together(kb: KnowledgeBase) -> None:
    advice = kb.advise({"phase": "inference", "model": "llama-3.1-8b", "budget_per_hour": 3})
    found = scatter(advice.plans, {"budget_per_hour": 3_500.0, "token_latency_ms": 60_000.0})
    assert found is not None
    assert (found.most_time, found.most_usd) == (None, None)


def test_what_costs_nothing_has_no_place_on_a_logarithmic_axis(kb: KnowledgeBase) -> None:
    """An owned card where power is free."""
    owned = [{"accelerator": "rtx-4090", "count": 1}]
    asked = {"phase": "inference", "model": "llama-3.1-8b", "deployment": "workstation", "owned": owned}
    advice = kb.advise({**asked, "electricity_usd_per_kwh": 0})
    best = advice.recommendation
    assert best is not None
    assert best.cost is not None
    assert best.cost.compared.usd_per_hour == 0
    found = scatter(advice.plans, advice.consultation.answers.values)
    assert found is not None
    assert all(price > 0 for _, price, _ in found.points)
    price_speed(found, dark=False, height=300)


def test_the_staircase_changes_at_the_next_number() -> None:
    """Steps read 1 to 1.7 and 2.8 to 8: what is recommended at 2 could not be seen."""

    def at(value: float) -> tuple[str, str]:
        return ("small", "") if value < 1234 else ("large", "")

    found = between(800, 1600, {800: at(800), 1600: at(1600)}, at, whole=True)
    last, first = max(v for v in found if found[v][0] == "small"), min(v for v in found if found[v][0] == "large")
    assert last < 1234 <= first <= last * 1.1

    found = between(
        1, 8, {1: ("one", ""), 8: ("more", "")}, lambda value: ("one" if value < 2 else "more", ""), whole=True
    )
    assert found[2] == ("more", "")
    assert all(value == int(value) for value in found)


def test_the_staircase_has_no_gap_where_a_third_plan_lies_between() -> None:
    """It read 40 to 49, then 64: from which number on the last is recommended was not looked for."""

    def at(value: float) -> tuple[str, str]:
        return ("few" if value < 35 else "some" if value < 58 else "many"), ""

    found = between(10, 80, {10: at(10), 80: at(80)}, at, whole=True)
    for name, after in (("few", 35), ("some", 58)):
        last = max(value for value in found if found[value][0] == name)
        first = min(value for value in found if value > last)
        assert last < after <= first <= last * 1.1
