"""The board: its factors are the plan's, its product is what the plan counts as, and each figure names its rules."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pytest

from whygpu.render.view import board

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

ANSWERS = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}

JOB = {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_tokens": "20M"}


def test_each_cell_is_the_plans_factor_with_the_rules_behind_it(kb: KnowledgeBase) -> None:
    advice = kb.advise(ANSWERS, engine="evaluator")
    plans = advice.plans[:3]
    found = board(advice, plans)
    for number, plan in enumerate(plans):
        assert plan.counted is not None
        worth = {item.criterion: item for item in plan.counted.factors}
        for row in found.rows:
            cell, factor = row.cells[number], worth.get(row.criterion)
            assert float(cell.worth[:-1]) == pytest.approx(1.0 if factor is None else factor.worth, abs=0.0051)
            assert {line.evidence.rule for line in cell.said} == set(() if factor is None else factor.rules)
    said = [line for row in found.rows for cell in row.cells for line in cell.said]
    assert {line.mark for line in said} == {"+", "-"}
    assert {claim for line in said for claim in line.evidence.claims} == set(found.claims)


@pytest.mark.parametrize("answers", [ANSWERS, JOB])
def test_what_is_shown_multiplies_to_what_is_shown_below(answers: dict[str, object], kb: KnowledgeBase) -> None:
    """The board showed a price of $0.21, factors of 0.77 in all, and $0.35: the handling was in none of them."""
    advice = kb.advise(answers, engine="evaluator")
    found = board(advice, advice.plans[:3])
    for number in range(len(found.plans)):
        product = math.prod(float(row.cells[number].worth[:-1]) for row in found.rows)
        money, counts = (float(re.sub(r"[^0-9.]", "", text[number])) for text in (found.before, found.counts))
        assert money * product == pytest.approx(counts, rel=0.06)  # each figure has two decimals


def test_money_times_the_factors_is_what_a_plan_counts_as(kb: KnowledgeBase) -> None:
    advice = kb.advise(ANSWERS, engine="evaluator")
    plan = advice.plans[0]
    assert plan.counted is not None
    assert plan.cost is not None
    money = plan.counted.value / math.prod(item.worth for item in plan.counted.factors)
    assert money >= plan.cost.compared.usd_per_hour
    assert money <= plan.cost.compared.usd_per_hour + 0.5  # what each machine takes to handle, a fact of ranking.yaml


def test_a_plan_that_counts_as_nothing_is_left_out(kb: KnowledgeBase) -> None:
    advice = kb.advise({**ANSWERS, "max_count": 1, "budget_per_hour": 0.01, "quantization": "forbidden"})
    assert board(advice, [item.plan for item in advice.rejected][:3]).plans == ()
