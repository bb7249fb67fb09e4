"""Runs the tests beside the rules: fires (and to what effect), silent or unknown, given a few values only.

The evaluator answers all three; durable-rules, where it is installed, must fire exactly where a rule is expected to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.durable import DurableEngine, Program
from whygpu.chain.environment import PlanEnvironment, SessionEnvironment, known_value, plain
from whygpu.errors import EngineUnavailableError, Problem
from whygpu.explain.conditions import conditions_of
from whygpu.knowledge.rules import ABSENT, Sign, Verdict, in_words
from whygpu.knowledge.strata import Strata, Stratum
from whygpu.language import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule, RuleTest

_ONE = np.ones(1, dtype=np.bool_)


def check_tests(knowledge: Knowledge, rules: Sequence[Rule] | None = None) -> Iterator[Problem]:
    """A problem for each test that fails; ``rules``: only theirs."""
    tested = [rule for rule in (knowledge.rules if rules is None else rules) if rule.tests]
    durable = _Durable.of(knowledge, tested)
    for rule in tested:
        for test in rule.tests:
            found = outcome(knowledge, rule, test)
            if found != test.expect:
                message = f"rule '{rule.id}' is expected {_word(test.expect)}, and {_found(found)}"
                yield Problem("test-failed", message, test.location, "; ".join(_judged(knowledge, rule, test)) or None)
            elif test.effects and (differences := "; ".join(_differences(rule, test))):
                message = f"rule '{rule.id}' fires as expected, but not to the effect expected"
                yield Problem("test-failed", message, test.location, differences)
            elif durable is not None and durable.fires(rule, test) != (found == "fires"):
                verb = "does not fire" if found == "fires" else "fires"
                yield Problem(
                    "engines-disagree",
                    f"rule '{rule.id}' {verb} on durable-rules, and the evaluator has it {_word(found)}",
                    test.location,
                    "this is an error of whygpu, not of the rule: please report it",
                )


def _differences(rule: Rule, test: RuleTest) -> Iterator[str]:
    """What a test names and the rule does not do, and the verdicts that it gives and the test does not name."""
    own = {in_words(effect): isinstance(effect, Verdict | Sign) for effect in rule.effects}
    for words in test.effects:
        if words not in own:
            yield f"expected: {words}"
    for words, verdict in own.items():
        if verdict and words not in test.effects:
            yield f"found: {words}"


def outcome(knowledge: Knowledge, rule: Rule, test: RuleTest) -> str:
    """What the rule does given the test's values: fires, silent or unknown."""
    _, plans = _given(knowledge, test.given)
    truth = plans.evaluator.truth(rule.condition)
    return "fires" if np.all(truth.true) else "silent" if np.all(truth.false) else "unknown"


def _given(knowledge: Knowledge, given: Mapping[str, float | bool | str]) -> tuple[SessionEnvironment, PlanEnvironment]:
    """The values a test gives; derived values are computed from them, and the rest is unknown."""
    session = SessionEnvironment(knowledge)
    plans = PlanEnvironment(knowledge, session, 1)
    for name, value in given.items():
        spec = knowledge.vocabulary[name]
        lacks = spec.kind == "number" and value == ABSENT
        (session if spec.scope == "session" else plans).set(name, values.ABSENT if lacks else known_value(value))
    return session, plans


_MOST_STRATA = 16  # each is a group or more, and the library takes longer over a fact the more groups there are


class _Durable:
    """All rules compiled as for a consultation, each in a stratum of its own so that one can be asked alone."""

    def __init__(self, knowledge: Knowledge, rules: Sequence[Rule]) -> None:
        self._knowledge = knowledge
        self._strata = {rule.id: Stratum((rule,), ()) for rule in rules}
        self._engines: dict[str, DurableEngine] = {}
        for first in range(0, len(rules), _MOST_STRATA):
            some = rules[first : first + _MOST_STRATA]
            strata = Strata(tuple(self._strata[rule.id] for rule in some), (), ())
            engine = DurableEngine(knowledge, Program(knowledge, strata))
            self._engines |= dict.fromkeys((rule.id for rule in some), engine)

    @classmethod
    def of(cls, knowledge: Knowledge, rules: Sequence[Rule]) -> _Durable | None:
        """None where durable-rules is not installed."""
        try:
            return cls(knowledge, rules)
        except EngineUnavailableError:
            return None

    def fires(self, rule: Rule, test: RuleTest) -> bool:
        """Whether durable-rules fires the rule given the test's values."""
        session, plans = _given(self._knowledge, test.given)
        with self._engines[rule.id].chain() as chain:
            if rule.scope == "session":
                return rule.id in chain.fired(self._strata[rule.id], session)
            return rule.id in chain.fired_plans(self._strata[rule.id], plans, _ONE)


def _word(expectation: str) -> str:
    return {"fires": "to fire", "silent": "to stay silent"}.get(expectation, "to stay undecided")


def _found(outcome_: str) -> str:
    return {"fires": "fires", "silent": "stays silent"}.get(outcome_, "cannot be decided")


def _judged(knowledge: Knowledge, rule: Rule, test: RuleTest) -> Iterator[str]:
    _, plans = _given(knowledge, test.given)
    for word, part in (("", rule.when), ("unless ", rule.unless)):
        for condition in conditions_of(part):
            result = plain(plans.evaluator.truth(condition.tree))
            yield f"{word}{condition.text}: {'unknown' if result is None else 'true' if result else 'false'}"
