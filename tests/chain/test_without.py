"""Under durable-rules, advice is built only from what it fired: take one compiled rule away and the answer changes."""

from __future__ import annotations

from datetime import date
from functools import cache

import numpy as np
import pytest

from whygpu.api import KnowledgeBase, load
from whygpu.chain.durable import DurableEngine
from whygpu.consult.consultation import Consultation
from whygpu.consult.driver import consult
from whygpu.explain.advice import Advice

pytestmark = pytest.mark.slow

TODAY = date(2026, 11, 21)
ANSWERS = (
    {"model": "llama-3.1-8b", "phase": "inference", "concurrency": 8},
    {"model": "llama-3.1-8b", "phase": "fine-tuning"},
)


@cache
def base() -> KnowledgeBase:
    return load()


def _consult(answers: dict[str, object], without: frozenset[str] = frozenset()) -> Consultation:
    engine = DurableEngine(base().knowledge, without=without)
    return consult(base().knowledge, base().check(answers), engine.chain(), TODAY)


def _fired(found: Consultation) -> set[str]:
    return {rule.id for rule in found.session.fired} | set(found.plans.fired)


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda answers: answers["phase"])
def test_a_rule_that_fires_is_missed_when_it_is_not_compiled(answers: dict[str, object]) -> None:
    """Every fourth one of those that decide something, or say it of the recommendation."""
    whole = _consult(answers)
    best = whole.plans.ranking.order[0]
    fired = {
        rule
        for rule in _fired(whole)
        if rule not in whole.plans.fired
        or whole.plans.fired[rule][best]
        or not base().knowledge.rule_by_id[rule].only_says
    }
    assert len(fired) > 10
    advice = Advice(whole).to_dict()
    for rule in sorted(fired)[::4]:
        less = _consult(answers, frozenset({rule}))
        assert rule not in _fired(less)
        assert Advice(less).to_dict() != advice, rule


def test_without_the_rule_that_the_need_must_fit_plans_that_do_not_fit_stay() -> None:
    whole, less = _consult(ANSWERS[0]), _consult(ANSWERS[0], frozenset({"the-need-must-fit"}))
    assert (less.plans.alive & ~whole.plans.alive).any()
    assert not (whole.plans.alive & ~less.plans.alive).any()


def test_without_any_rule_nothing_is_said() -> None:
    found = _consult(ANSWERS[0], frozenset(base().knowledge.rule_by_id))
    assert _fired(found) == set()
    assert found.plans.environment is None or np.all(found.plans.alive)


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda answers: answers["phase"])
def test_both_engines_give_the_same_advice(answers: dict[str, object]) -> None:
    durable = base().advise(answers, engine="durable", today=TODAY).to_dict()
    evaluator = base().advise(answers, engine="evaluator", today=TODAY).to_dict()
    assert (durable.pop("engine"), evaluator.pop("engine")) == ("durable", "evaluator")
    assert durable == evaluator
