"""What a worked case rests on among the rules: those that may have had a say in it, what the session came to, and which
parts of conditions were false of all plans.

A rule whose condition is false for what the session came to, whatever the plans are, has no say: it fires for no plan,
concludes nothing and is not open. Nor has one a part of whose condition was false of every plan, by names that the
plans have whatever rules say of them. So a case has the same outcome under other rules as long as those that may have
had a say are there, judged in the same order, and each rule that is new or was changed has none either. By induction
over the strata: every rule finds the values it found before, for a rule without a say gives none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.environment import SessionEnvironment, unknown_of
from whygpu.chain.strata import used_names
from whygpu.kept import kept
from whygpu.knowledge.rules import Advise, Warn
from whygpu.language import values as v
from whygpu.language.tree import All, Expression, Known, children
from whygpu.lint.content import digest_of
from whygpu.plans.columns import OBJECTIVE, PLAN_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule

_GIVEN = frozenset(PLAN_NAMES) - {OBJECTIVE}
_SHORT = 16

Heard = tuple[tuple[tuple[str, ...], ...], ...]
"""By stage and stratum the digests of the rules that may have a say; strata without any left out."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The rules that may have had a say in a case, and the session's names as plain data."""

    heard: Heard
    session: Mapping[str, tuple[Any, ...]]
    failed: frozenset[str] = frozenset()
    """Parts of conditions, as digests, that were false of every plan: the first of each rule that had no say so."""


class Rules:
    """The rules of a knowledge base, and which of them can have a say where the session came to something."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Nothing is judged yet."""
        self._knowledge = knowledge
        digests = digests_of(knowledge)
        self._rules = {digests[rule.id]: rule for rule in knowledge.advising}
        self._digest_of = {rule.id: digest for digest, rule in self._rules.items()}
        self.digests = tuple(self._rules)
        self.concluded = tuple(sorted(knowledge.concluded))
        self._concluded = knowledge.concluded
        self._given = {name for name, spec in knowledge.vocabulary.items() if spec.entity == "gpu"} | _GIVEN
        numbers, bits, of_plans = knowledge.numbering.numbers, knowledge.rests.of, knowledge.of_plans
        self._sure = {  # those about the session alone first: they are the ones that are false
            rule.id: sorted(
                self._surely_judged(rule.condition), key=lambda part: bits(numbers[id(part)]) & of_plans > 0
            )
            for rule in knowledge.advising
        }
        self._parts: dict[str, tuple[tuple[Expression, str], ...]] = {}

    def ground(self, consultation: Consultation) -> Ground:
        """What a case rests on that this came of."""
        environment, plans = consultation.session.environment, consultation.plans
        truth = plans.environment.evaluator.truth
        once = bool(plans.alive.any()) and not plans.options.short  # else rules were asked of other plans before these
        fired = {*plans.fired, *(rule.id for rule in consultation.session.fired)}
        failed: set[str] = set()

        def has_no_say(rule: Rule) -> bool:
            if rule.id in fired:
                return False
            if self._silent(rule, environment):
                return True
            for part, name in self._parts_of(rule) if once else ():
                false = truth(part).false
                if false is True or (isinstance(false, np.ndarray) and false.all()):
                    failed.add(name)
                    return True
            return False

        heard = self._heard(lambda rule: not has_no_say(rule))
        names = (name for name, spec in self._knowledge.vocabulary.items() if spec.scope == "session")
        found = {name: environment.value(name) for name in names}
        vocabulary = self._knowledge.vocabulary
        known = {name: _plain(value) for name, value in found.items() if value != unknown_of(vocabulary[name])}
        return Ground(heard, known, frozenset(failed))

    def bear(self, ground: Ground, before: Sequence[str]) -> bool:
        """Whether a case with this ground has the same outcome, where the rules were ``before``, in this order."""
        heard = {digest for stage in ground.heard for stratum in stage for digest in stratum}
        if [digest for digest in self.digests if digest in heard] != [digest for digest in before if digest in heard]:
            return False
        if self._heard(lambda rule: self._digest_of[rule.id] in heard) != ground.heard:
            return False
        known = set(before)
        new = [self._rules[digest] for digest in self.digests if digest not in known]
        environment = SessionEnvironment(self._knowledge)
        for name, value in ground.session.items():
            environment.set(name, _value(value))
        return all(
            self._silent(rule, environment) or any(name in ground.failed for _, name in self._parts_of(rule))
            for rule in new
        )

    def _parts_of(self, rule: Rule) -> tuple[tuple[Expression, str], ...]:
        """The parts of a condition that rest on the session and on what the plans are given alone, with a digest."""
        if rule.id not in self._parts:
            parts = (part for part in _conjuncts(rule.condition) if self._rests_on_given(part))
            self._parts[rule.id] = tuple((part, digest_of(part)[:_SHORT]) for part in parts)
        return self._parts[rule.id]

    def _rests_on_given(self, node: Expression) -> bool:
        """Whether no rule about plans, and nothing over those that are left, has a say in what it comes to."""
        values, vocabulary = self._knowledge.values, self._knowledge.vocabulary
        for name in used_names([node], values):
            if name in values:
                if values[name].aggregate is not None:
                    return False
            elif vocabulary[name].scope != "session" and (name not in self._given or name in self._concluded):
                return False
        return True

    def _heard(self, which: Callable[[Rule], bool]) -> Heard:
        strata = self._knowledge.strata
        return tuple(
            tuple(
                found
                for stratum in stage
                if (found := tuple(self._digest_of[rule.id] for rule in stratum.rules if which(rule)))
            )
            for stage in (strata.session, strata.hard, strata.soft)
        )

    def _silent(self, rule: Rule, environment: SessionEnvironment) -> bool:
        """Whether it is false whatever the plans are, of which nothing is known here."""
        return any(environment.evaluator.truth(part).false is True for part in self._sure[rule.id])

    def _surely_judged(self, node: Expression) -> Iterator[Expression]:
        """The parts of a condition that are false of every plan if they are false where no plan is known: all but those
        that ask, themselves or by a derived value, whether something of the plans is known.
        """
        if isinstance(node, All):
            for part in node.parts:
                yield from self._surely_judged(part)
        elif not self._asks_whether_known(node):
            yield node

    def _asks_whether_known(self, node: Expression) -> bool:
        values, vocabulary = self._knowledge.values, self._knowledge.vocabulary
        computed = {name: value for name, value in values.items() if value.aggregate is None}  # others are unknown here
        used = (computed[name] for name in used_names([node], computed) if name in computed)
        trees = [node, *(tree for value in used for tree in value.expressions)]
        return any(vocabulary[known.name.name].scope != "session" for tree in trees for known in _knowns(tree))


def _conjuncts(node: Expression) -> Iterator[Expression]:
    """The parts of a condition all of which must hold."""
    if isinstance(node, All):
        for part in node.parts:
            yield from _conjuncts(part)
    else:
        yield node


@kept(4)
def digests_of(knowledge: Knowledge) -> Mapping[str, str]:
    """What each rule does, by its id."""
    return {rule.id: _digest(rule) for rule in knowledge.rules}


def _digest(rule: Rule) -> str:
    """What a rule does: how it is worded, what it cites and its own tests say nothing of a case."""
    effects = tuple(
        replace(effect, text=None) if isinstance(effect, Advise | Warn) else effect for effect in rule.effects
    )
    return digest_of((rule.id, rule.topic, rule.when, rule.unless, effects, rule.overrides, rule.condition, rule.helps))


def _knowns(node: Expression) -> Iterator[Known]:
    if isinstance(node, Known):
        yield node
    for child in children(node):
        yield from _knowns(child)


def _plain(value: v.Value) -> tuple[Any, ...]:
    match value:
        case v.Number(low=low, high=high, present=present):
            return ("number", float(low), float(high), bool(present))
        case v.Word(word=word):
            return ("word", str(word))
        case v.Truth(true=true, false=false):
            return ("truth", bool(true), bool(false))


def _value(plain: tuple[Any, ...]) -> v.Value:
    """The value again. Raises ValueError or TypeError where the data are none."""
    match plain:
        case ("number", float(low), float(high), bool(present)):
            return v.Number(low, low if low == high else high, present)
        case ("word", str(word)):
            return v.Word(word)
        case ("truth", bool(true), bool(false)):
            return v.Truth(true, false)
    raise ValueError(plain)
