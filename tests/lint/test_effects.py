"""No verdict of the knowledge base can change direction, strength, criterion or grade, or go, and pass every test."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from whygpu.api import REGISTRY
from whygpu.knowledge.rules import CRITERIA, STRENGTHS, Rule, Verdict
from whygpu.lint.tests import check_tests
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import default_root, read_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whygpu.knowledge.base import Knowledge

    Change = Callable[[Verdict], Verdict | None]

_OPPOSITE = {"prefer": "avoid", "avoid": "prefer"}


@cache
def _knowledge() -> Knowledge:
    return load_texts(read_texts(default_root()), "kb", REGISTRY, cases=False)


def _inverted(verdict: Verdict) -> Verdict:
    return replace(verdict, favourable=not verdict.favourable)


def _stronger(steps: int) -> Change:
    return lambda verdict: replace(verdict, strength=STRENGTHS[(STRENGTHS.index(verdict.strength) + steps) % 3])


def _criterion(steps: int) -> Change:
    size = len(CRITERIA)
    return lambda verdict: replace(verdict, criterion=CRITERIA[(CRITERIA.index(verdict.criterion) + steps) % size])


def _grade_turned(verdict: Verdict) -> Verdict | None:
    grade = verdict.grade
    return verdict if grade is None else replace(verdict, grade=replace(grade, start=grade.full, full=grade.start))


def _ungraded(verdict: Verdict) -> Verdict:
    return replace(verdict, grade=None)


def _gone(_: Verdict) -> None:
    return None


CHANGES: dict[str, Change] = {
    "inverted": _inverted,
    "one strength up": _stronger(1),
    "two strengths up": _stronger(2),
    **{f"criterion {steps} on": _criterion(steps) for steps in range(1, len(CRITERIA))},
    "gone": _gone,
    "grade turned round": _grade_turned,
    "ungraded": _ungraded,
}


FURTHER = ("one strength", "two strengths", *(f"criterion {steps}" for steps in range(2, len(CRITERIA))))
"""Changes that say little which those before them do not."""


def _mutants(change: Change) -> Iterator[Rule]:
    """Every rule with a verdict, once for each of its verdicts changed."""
    for rule in _knowledge().rules:
        for number, effect in enumerate(rule.effects):
            if isinstance(effect, Verdict):
                new = change(effect)
                if new == effect:  # not graded
                    continue
                rest = (*rule.effects[:number], *([new] if new is not None else []), *rule.effects[number + 1 :])
                yield replace(rule, id=f"{rule.id}#{number}", effects=rest)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change, id=name, marks=pytest.mark.slow if name.startswith(FURTHER) else ())
        for name, change in CHANGES.items()
    ],
)
def test_no_changed_verdict_passes(change: Change) -> None:
    mutants = list(_mutants(change))
    assert len(mutants) > 10
    caught = {problem.message.split("'")[1] for problem in check_tests(_knowledge(), mutants)}
    assert [rule.id for rule in mutants if rule.id not in caught] == []


def _turned(line: str) -> str:
    words = r"\b(prefer|avoid)\b" if line.startswith("  then: [") else r"\b(prefer|avoid)(?=:)"
    return re.sub(words, lambda match: _OPPOSITE[match.group()], line)


@pytest.mark.slow
def test_no_file_turned_round_passes() -> None:
    """The same in the text: each ``prefer`` of a rule or table an ``avoid`` and the other way round; tests stay."""
    texts = read_texts(default_root())
    for name, text in texts.items():
        if name.startswith(("rules/", "tables/")):
            texts[name] = "\n".join(map(_turned, text.split("\n")))
    knowledge = load_texts(texts, "kb", REGISTRY, cases=False)
    caught = {problem.message.split("'")[1] for problem in check_tests(knowledge)}
    assert caught == {rule.id for rule in knowledge.rules if any(isinstance(item, Verdict) for item in rule.effects)}
