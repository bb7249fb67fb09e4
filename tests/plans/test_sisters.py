"""Cards of one family: more memory for no more money is no reason against a card."""

from __future__ import annotations

from datetime import date

import pytest

import whygpu

DAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    "answers",
    [
        {"phase": "inference", "model": "mistral-7b", "concurrency": 32},
        {"phase": "inference", "model": "llama-2-13b", "concurrency": 8},
        {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora"},
    ],
)
def test_the_smaller_card_is_not_first_at_a_higher_price(kb: whygpu.KnowledgeBase, answers: dict[str, object]) -> None:
    before: list[whygpu.Plan] = []
    for plan in kb.advise(answers, engine="evaluator", today=DAY).plans:
        sisters = [one for one in before if one.accelerator.family == plan.accelerator.family]
        wrong = [
            one.label
            for one in sisters
            if one.count == plan.count
            and (one.accelerator.marketing_gb or 0) < (plan.accelerator.marketing_gb or 0)
            and one.cost
            and plan.cost
            and (one.cost.usd_per_hour or 0) >= (plan.cost.usd_per_hour or 0)
        ]
        assert not wrong, f"{wrong} before {plan.label}"
        before.append(plan)
