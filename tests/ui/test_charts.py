"""The chart's figures are the plans' figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whygpu_ui.charts import PALETTE, description, memory_chart, parts

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
