"""Runs the tests beside the rules: fires, silent or unknown, given a few values and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.environment import known_value, plain, unknown_of
from whygpu.errors import Problem
from whygpu.language.evaluate import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu.knowledge import Knowledge, Rule, RuleTest
    from whygpu.language import values as v


class _Given:
    """An environment of the values a test gives; derived values are computed from them, the rest is unknown."""

    def __init__(self, knowledge: Knowledge, given: Mapping[str, float | bool | str]) -> None:
        self._knowledge, self._given = knowledge, given
        self.evaluator = Evaluator(self)

    def value(self, name: str) -> v.Value:
        if name in self._given:
            return known_value(self._given[name])
        derived = self._knowledge.values.get(name)
        if derived is not None and derived.aggregate is None:
            return self.evaluator.value(derived.expression)
        return unknown_of(self._knowledge.vocabulary[name])

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """A test has no work to size: what a check gives is unknown unless the test gives its name."""
        del arguments
        name = next(name for name, value in self._knowledge.values.items() if function in value.text)
        return unknown_of(self._knowledge.vocabulary[name])


def check_tests(knowledge: Knowledge) -> Iterator[Problem]:
    """A problem for each test that fails and each rule without one."""
    for rule in knowledge.rules:
        if not rule.tests:
            yield Problem(
                "no-test",
                f"rule '{rule.id}' has no test",
                rule.place,
                "add 'tests:' with what makes it fire and what does not",
            )
        for test in rule.tests:
            found = outcome(knowledge, rule, test)
            if found != test.expect:
                yield Problem(
                    "test-failed",
                    f"rule '{rule.id}' is expected {_word(test.expect)}, and is {_word(found)}",
                    test.place,
                    "; ".join(_judged(knowledge, rule, test)),
                )


def outcome(knowledge: Knowledge, rule: Rule, test: RuleTest) -> str:
    """What the rule does given the test's values: fires, silent or unknown."""
    truth = _Given(knowledge, test.given).evaluator.truth(rule.condition)
    return "fires" if truth.true else "silent" if truth.false else "unknown"


def _word(expectation: str) -> str:
    return {"fires": "to fire", "silent": "to stay silent"}.get(expectation, "undecided")


def _judged(knowledge: Knowledge, rule: Rule, test: RuleTest) -> Iterator[str]:
    from whygpu.explain.conditions import conditions_of  # noqa: PLC0415  explain builds on consultations, lint need not

    evaluator = _Given(knowledge, test.given).evaluator
    for condition in conditions_of(rule.when):
        result = plain(evaluator.truth(condition.tree))
        yield f"{condition.text}: {'unknown' if result is None else 'true' if result else 'false'}"
