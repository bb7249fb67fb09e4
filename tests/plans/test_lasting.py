"""Conditions judged by what is kept of the plans are worth what they are without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whygpu.language.evaluate import Evaluator
from whygpu.language.numbering import Lasting, Numbering
from whygpu.language.tree import All, Compare, Constant, Expression, Name

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

WORKS: tuple[dict[str, Any], ...] = (
    {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora"},
)


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: answers["phase"])
def test_every_rule_is_judged_alike(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    for _ in range(2):  # first found, then kept
        plans = kb.consult(answers, engine="evaluator").plans
        kept, plain = plans.environment.evaluator, Evaluator(plans.environment)
        rules = [rule for rule in kb.knowledge.rules if rule.scope != "session"]
        assert len(rules) > 100
        for rule in rules:
            one, other = kept.truth(rule.condition), plain.truth(rule.condition)
            for flags, expected in ((one.true, other.true), (one.false, other.false)):
                shape = (len(plans),)
                assert np.array_equal(np.broadcast_to(flags, shape), np.broadcast_to(expected, shape)), rule.id


def test_only_what_rests_on_given_names_lasts() -> None:
    fixed = Compare(">", Name("gpu.n0"), Constant(1.0))
    moving = Compare(">", Name("gpu.n0"), Name("workload.n"))
    derived = Compare(">", Name("plan.twice"), Constant(2.0))
    concluded = Compare(">", Name("plan.concluded"), Constant(2.0))
    both = All((moving, fixed, derived, concluded))
    values: dict[str, Expression] = {
        "plan.twice": Compare(">", Name("gpu.n0"), Constant(4.0)),
        "plan.other": Name("workload.n"),
    }
    numbering = Numbering((both, *values.values()))
    lasting = Lasting(numbering, {"gpu.n0"}, values.get)
    number = {part: numbering.numbers[id(part)] for part in (*both.parts, both)}
    assert {part for part, at in number.items() if at in lasting.numbers} == {fixed, derived}
    assert lasting.split[number[both]] == ((moving, concluded), (fixed, derived))


def test_equal_parts_have_one_number_and_one_and_true_have_two() -> None:
    first, second = Compare("==", Name("x.n"), Constant(2.0)), Compare("==", Name("x.n"), Constant(2.0))
    one, true = Constant(1.0), Constant(True)
    numbers = Numbering((first, second, one, true)).numbers
    assert numbers[id(first)] == numbers[id(second)]
    assert numbers[id(one)] != numbers[id(true)]
