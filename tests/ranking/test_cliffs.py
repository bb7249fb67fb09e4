"""No cliffs: a change of 5% in one number of the load changes what every plan counts as by less than a quarter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from tests.ranking.asked import Asked, Workload, ask, asked, knowledge, named, one_in
from whygpu.chain.environment import plain
from whygpu.knowledge.base import Knowledge
from whygpu.knowledge.rules import Effect, Verdict
from whygpu.lint.robust import resized

pytestmark = pytest.mark.slow

NUMBERS = (
    "concurrency",
    "requests_per_second",
    "context_tokens",
    "output_tokens",
    "streams",
    "frames_per_second",
    "resolution",
    "sequence_tokens",
    "dataset_tokens",
    "dataset_samples",
    "epochs",
    "latency_ms",
    "token_latency_ms",
    "deadline_hours",
    "budget_per_hour",
    "budget_total",
    "power_watts",
    "service_months",
    "hours_per_day",
)
MOST = 1.25
STEP = 0.05
WHOLE = (
    "field.smallest_count",
    "field.within_assumed",
    "field.smallest_shard",
    "field.least_memory_gb",
    "field.single_cards",
)
"""Whole accelerators that hold the work, or a size of card: where another card begins to hold it, these step."""
WRITING = ("grpo", "ppo")
CLASSES = ("workload.size_class", "workload.much_compute")
"""The documents' own classes of training jobs: what 16 GB hold, what a 24 GB card holds, a week of an A100."""


def nearby(workload: Workload, before: Asked) -> Iterator[tuple[str, Asked]]:
    """The workload with each number 5% smaller and larger, and with a model of so many more or fewer layers."""
    specs = {spec.answer: spec for spec in knowledge().vocabulary.values()}
    ignored = {question.id for question in before.consultation.applied.irrelevant}
    assumed = {taken.question.id: taken.value for taken in before.consultation.applied.assumed}
    data = {name: float(assumed[name]) for name in ("dataset_tokens", "dataset_samples") if name in assumed}
    for factor in (1 - STEP, 1 + STEP):  # of the model alone: what is assumed of the data goes with its size
        for name in NUMBERS:
            value, spec = workload.answers.values.get(name, assumed.get(name)), specs[name]
            if not isinstance(value, float) or name in ignored:
                continue
            other = value * factor
            if spec.integer:
                other = float(math.floor(other) if factor < 1 else math.ceil(other))
            small = other == value or abs(other / value - 1) > STEP + 1e-9  # of few requests one is more than 5%
            if small or not (spec.minimum or 0) <= other <= (spec.maximum or math.inf):
                continue
            after = ask(workload.with_(**{name: other}))
            if after is not None:
                yield f"{name} {value:g} -> {other:g}", after
        after = ask(workload.with_(**data), reshape=partial(resized, factor=factor))
        if after is not None:
            yield f"model x{factor:g}", after


def cliffs(before: Asked, change: str, after: Asked) -> Iterator[str]:
    """The plans, the same in both, whose value changes by more than it may.

    Where other cards begin or cease to hold the work, or the job comes into another of the documents' classes, verdicts
    that compare plans with the smallest, or cards with the class, may step. Of a job that writes the answers it learns
    from, a card writes as many whole answers at once as it has room left for: from two to one is no fault of a rule.
    """
    if before.counted.money.unit != after.counted.money.unit or _stepped(before, after):
        return
    if plain(before.consultation.session.environment.value("workload.algorithm")) in WRITING:
        return
    for plan in before.rows.keys() & after.rows.keys():
        one, other = before.value(plan), after.value(plan)
        if _large_job(before, plan) != _large_job(after, plan):
            continue
        if math.isfinite(one) != math.isfinite(other) or abs(math.log(other / one)) > math.log(MOST):
            yield f"{change}: {before.told(after, plan)}"


def _stepped(before: Asked, after: Asked) -> bool:
    def steps(found: Asked) -> list[object]:
        plans, session = found.consultation.plans.environment, found.consultation.session.environment
        assert plans is not None
        fields = [plain(plans.value(name)) for name in WHOLE]
        return [*fields, *(plain(session.value(name)) for name in CLASSES)]

    return steps(before) != steps(after)


def _large_job(found: Asked, plan: tuple[object, ...]) -> object:
    return plain(found.consultation.plans.environment.at("plan.large_job", found.rows[plan]))


@one_in(16)
def test_no_plan_changes_by_a_quarter_for_a_twentieth(every: int) -> None:
    found: list[str] = []
    tried = 0
    for before in asked(every):
        for change, after in nearby(before.workload, before):
            found += cliffs(before, change, after)
            tried += 1
    assert tried > 20
    assert not found, "\n".join(found)


def test_a_verdict_that_steps_is_found() -> None:
    """The property can fail: tight memory that counts in full as soon as it is tight."""
    kb = knowledge()
    rule = kb.rule_by_id["tight-memory-is-fragile"]
    plainly = replace(rule, effects=tuple(_ungraded(effect) for effect in rule.effects))
    broken = replace(kb, rules=tuple(plainly if item is rule else item for item in kb.rules))
    assert list(_around("production-counts-one-replica-more", broken))
    assert not list(_around("production-counts-one-replica-more", kb))


def _ungraded(effect: Effect) -> Effect:
    return replace(effect, grade=None) if isinstance(effect, Verdict) else effect


def _around(name: str, base: Knowledge) -> Iterator[str]:
    before = ask(named(name), base)
    assert before is not None
    for factor in (1 - STEP, 1 + STEP):
        after = ask(named(name), base, reshape=partial(resized, factor=factor))
        assert after is not None
        yield from cliffs(before, f"model x{factor:g}", after)


LADDERS = {
    "chat": ("chat-helpdesk-8b", "concurrency", 20, 600),
    "chat-context": ("chat-helpdesk-8b", "context_tokens", 1024, 65536),
    "large": ("chat-70b-service", "concurrency", 20, 400),
    "large-limit": ("chat-70b-service", "token_latency_ms", 15, 4000),
}


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_there_is_no_cliff_anywhere_along_a_ladder(ladder: tuple[str, str, float, float]) -> None:
    """The same, step by step over two orders of magnitude: what no workload happens to be near."""
    name, number, value, most = ladder
    integer = next(spec.integer for spec in knowledge().vocabulary.values() if spec.answer == number)
    found: list[str] = []
    before = ask(named(name).with_(**{number: float(value)}))
    while value < most:
        value = math.floor(value * (1 + STEP)) if integer else value * (1 + STEP)
        after = ask(named(name).with_(**{number: float(value)}))
        if before is not None and after is not None:
            found += cliffs(before, f"{number} to {value:g}", after)
        before = after
    assert not found, "\n".join(found)
