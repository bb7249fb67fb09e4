"""A consultation that takes from another one what rests on nothing that differs comes to what it would from nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whygpu.errors import AnswerError
from whygpu.explain.rerun import rerun
from whygpu.explain.trials import trials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu import KnowledgeBase
    from whygpu.consult.consultation import Consultation

pytestmark = pytest.mark.slow

SERVING: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}
WORKS: tuple[dict[str, Any], ...] = (
    SERVING,
    {
        "phase": "inference",
        "model": "llama-3.1-8b",
        "requests_per_second": 5,
        "budget_per_hour": 0.05,
    },  # nothing is left
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora", "deployment": "workstation"},
    {"phase": "training", "model": "vit-l-16", "dataset_samples": 1e6, "deadline_hours": 40},
    {"phase": "batch-inference", "model": "bge-m3", "dataset_tokens": 1e9},
    {"phase": "inference", "model": "yolo11m", "owned": [{"accelerator": "rtx-4090", "count": 2}]},
)


def _same(one: Consultation, other: Consultation) -> Iterator[bool]:
    yield one.applied == other.applied
    yield one.session.fired == other.session.fired
    yield one.session.origins == other.session.origins
    first, second = one.plans, other.plans
    yield first.fired.keys() == second.fired.keys()
    yield all(np.array_equal(mask, second.fired[rule]) for rule, mask in first.fired.items())
    yield np.array_equal(first.alive, second.alive) and np.array_equal(first.unverified, second.unverified)
    yield (first.unchecked, first.objections) == (second.unchecked, second.objections)
    yield first.ranking.order == second.ranking.order
    yield np.array_equal(first.ranking.counted.values, second.ranking.counted.values, equal_nan=True)


def _changes(kb: KnowledgeBase, consultation: Consultation, draw: random.Random, most: int) -> Iterator[dict[str, Any]]:
    """Answers to questions that apply, of all kinds."""
    questions = list(consultation.applied.applicable)
    assumed = {item.question.id: item.value for item in consultation.applied.assumed}
    for question in draw.sample(questions, len(questions)):
        if question.id in ("phase", "model", "task") or not question.name:
            continue
        tried = trials(consultation, kb.knowledge.vocabulary[question.name], assumed.get(question.id))
        if tried and most > 0:
            most -= 1
            yield {question.id: draw.choice(tried)}


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: f"{answers['phase']} {answers['model']}")
def test_what_is_taken_from_before_is_what_would_be_found(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    draw, before = random.Random(7), kb.consult(answers, engine="evaluator")
    for change in _changes(kb, before, draw, 5):
        try:
            found = rerun(before, change)
        except AnswerError:
            continue
        plain = kb.consult({**answers, **change}, engine="evaluator")
        assert all(_same(found, plain)), change
        again = rerun(found, {"criticality": "mission-critical"})  # from one that took itself
        if "criticality" not in change:
            plain = kb.consult({**answers, **change, "criticality": "mission-critical"}, engine="evaluator")
            assert all(_same(again, plain)), change


def test_what_the_rules_said_stays_where_none_reads_what_changed(kb: KnowledgeBase) -> None:
    before = kb.consult(SERVING, engine="evaluator")
    other = rerun(before, {"priority": "efficiency"})
    assert other.plans.fired is before.plans.fired  # ranked anew, and not judged
    assert other.plans.ranking.counted.factors.keys() != before.plans.ranking.counted.factors.keys()
    assert rerun(before, {"criticality": "mission-critical"}).plans.fired.keys() != before.plans.fired.keys()
    assert rerun(before, {"concurrency": 9.0}).plans.fired is not before.plans.fired  # other plans


def test_a_limit_that_is_answered_is_asked_of_every_plan_again(kb: KnowledgeBase) -> None:
    before = kb.consult(SERVING, engine="evaluator")
    cheap = rerun(before, {"budget_per_hour": 0.01})
    assert before.plans.alive.any()
    assert not cheap.plans.alive.any()
    assert rerun(cheap, {"budget_per_hour": None}).plans.ranking.order == before.plans.ranking.order
