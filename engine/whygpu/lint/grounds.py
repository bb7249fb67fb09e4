"""What a worked case rests on among the rules: those that may have had a say in it, and what the session came to.

A rule whose condition is false for what the session came to, whatever the plans are, has no say: it fires for no plan,
concludes nothing and is not open. So a case has the same outcome under other rules as long as those that may have had a
say are there, judged in the same order, and each rule that is new or was changed has none either. By induction over the
strata: every rule finds the values it found before, for a rule without a say gives none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whygpu.chain.environment import SessionEnvironment, unknown_of
from whygpu.chain.strata import used_names
from whygpu.knowledge.rules import Advise, Warn
from whygpu.language import values as v
from whygpu.language.tree import All, Expression, Known, children
from whygpu.lint.content import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whygpu.consult.consultation import SessionResult
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule

Heard = tuple[tuple[tuple[str, ...], ...], ...]
"""By stage and stratum the digests of the rules that may have a say; strata without any left out."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The rules that may have had a say in a case, and the session's names as plain data."""

    heard: Heard
    session: Mapping[str, tuple[Any, ...]]


class Rules:
    """The rules of a knowledge base, and which of them can have a say where the session came to something."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Nothing is judged yet."""
        self._knowledge = knowledge
        self._rules = {digest_of_rule(rule): rule for rule in knowledge.advising}
        self._digest_of = {rule.id: digest for digest, rule in self._rules.items()}
        self.digests = tuple(self._rules)
        self.concluded = tuple(sorted(knowledge.concluded))
        self._sure = {rule.id: tuple(self._surely_judged(rule.condition)) for rule in knowledge.advising}

    def ground(self, session: SessionResult) -> Ground:
        """What a case rests on whose session came to this."""
        environment = session.environment
        heard = self._heard(lambda rule: not self._silent(rule, environment))
        names = (name for name, spec in self._knowledge.vocabulary.items() if spec.scope == "session")
        found = {name: environment.value(name) for name in names}
        vocabulary = self._knowledge.vocabulary
        known = {name: _plain(value) for name, value in found.items() if value != unknown_of(vocabulary[name])}
        return Ground(heard, known)

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
        return all(self._silent(rule, environment) for rule in new)

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


def digest_of_rule(rule: Rule) -> str:
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
