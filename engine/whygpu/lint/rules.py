"""Looks at each rule: untested, impossible or superfluous conditions, and preferences that reward the wrong thing."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.explain.conditions import conditions_of
from whygpu.knowledge.rules import Condition, Sign, Verdict, in_words
from whygpu.language.domains import Interval, Numbers
from whygpu.language.tree import All, Compare, Constant, Expression, Name, OneOf, atoms, names
from whygpu.lint.logic import allowed, satisfiable
from whygpu.loader.words import catalogue_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.language.names import NameSpec
    from whygpu.lint.finding import Finding

_COUNTS = ("plan.count", "plan.tensor", "plan.nodes")
_CARDS = ("gpu.id", "gpu.name", "gpu.family")


def untested(knowledge: Knowledge) -> Iterator[Finding]:
    """A rule without a test, or with none in which it fires."""
    for rule in knowledge.rules:
        if not rule.tests:
            yield (
                rule.location,
                f"rule '{rule.id}' has no test",
                "add 'tests:' with values that make it fire and values that do not",
            )
        elif not any(test.expect == "fires" for test in rule.tests):
            yield rule.location, f"no test makes rule '{rule.id}' fire", "add one that expects 'fires'"


def unnamed_verdicts(knowledge: Knowledge) -> Iterator[Finding]:
    """A rule whose verdicts no test names: turned round, they would pass every test."""
    rows = {row.rule: row.id for table in knowledge.tables for row in table.rows}
    for rule in knowledge.rules:
        verdicts = [in_words(effect) for effect in rule.effects if isinstance(effect, Verdict | Sign)]
        if verdicts and not any(test.effects for test in rule.tests):
            expect = f"{{{rows.get(rule.id, 'fires')}: [{', '.join(verdicts)}]}}"
            yield (
                rule.location,
                f"no test names the verdicts of rule '{rule.id}'",
                f"write 'expect: {expect}' in a test that makes it fire",
            )


def unsatisfiable(knowledge: Knowledge) -> Iterator[Finding]:
    """A rule whose conditions contradict each other."""
    for rule in knowledge.rules:
        if not satisfiable(rule.condition, knowledge.vocabulary):
            yield (
                rule.location,
                f"rule '{rule.id}' can never fire: its conditions contradict each other",
                "two of them leave no value for one name; where either may hold, write {any: [...]}",
            )


def repeated(knowledge: Knowledge) -> Iterator[Finding]:
    """The same condition twice in one rule."""
    for rule in knowledge.rules:
        seen: set[Expression] = set()
        for part in (rule.when, rule.unless):
            for condition in conditions_of(part):
                if condition.tree in seen:
                    yield (
                        condition.location,
                        f"rule '{rule.id}' has the condition '{condition.text}' twice",
                        "remove one",
                    )
                seen.add(condition.tree)


def implied(knowledge: Knowledge) -> Iterator[Finding]:
    """A condition that holds wherever another one of the rule does; cells of tables may narrow their ``when``."""
    rows = {row.rule for table in knowledge.tables for row in table.rows}
    for rule in knowledge.rules:
        if rule.id in rows:
            continue
        tested = [
            (condition, found)
            for condition in rule.when.parts
            if isinstance(condition, Condition) and (found := allowed(condition.tree, knowledge.vocabulary)) is not None
        ]
        for (one, first), (two, second) in combinations(tested, 2):
            if first[0] != second[0] or one.tree == two.tree:
                continue
            if second[1].within(first[1]):
                yield _implied(rule, one, two)
            elif first[1].within(second[1]):
                yield _implied(rule, two, one)


def _implied(rule: Rule, weak: Condition, strong: Condition) -> Finding:
    return weak.location, f"rule '{rule.id}': '{weak.text}' holds wherever '{strong.text}' does", "remove it"


def idle_overrides(knowledge: Knowledge) -> Iterator[Finding]:
    """An override that can never have an effect."""
    for rule in knowledge.rules:
        for other in rule.overrides:
            both = All((rule.condition, knowledge.rule_by_id[other].condition))
            if not satisfiable(both, knowledge.vocabulary):
                yield (
                    rule.location,
                    f"rule '{rule.id}' overrides '{other}', but the two never fire together",
                    "remove the override, or widen a condition",
                )


def rewards_more_cards(knowledge: Knowledge) -> Iterator[Finding]:
    """A preference that asks for several cards without asking whether several are needed."""
    for rule in _preferring(knowledge):
        used = {name.name for name in names(rule.condition)}
        if any(knowledge.vocabulary[name].scope == "field" for name in used):
            continue
        for condition in conditions_of(rule.when):
            found = allowed(condition.tree, knowledge.vocabulary)
            one = Numbers((Interval(1.0, 1.0),))
            if found is not None and found[0] in _COUNTS and found[1].meet(one).empty:
                yield (
                    condition.location,
                    f"rule '{rule.id}' prefers plans because they take several cards",
                    "add a condition such as 'field.smallest_count > 1', or avoid what is worse instead",
                )


def unbounded_count(knowledge: Knowledge) -> Iterator[Finding]:
    """A preference for a card that counts for any number of it."""
    for rule in _preferring(knowledge):
        trees = [condition.tree for condition in conditions_of(rule.when)]
        named = any(_names_a_card(tree) for tree in trees)
        if named and not any(_bounds_count(tree, knowledge) for tree in trees):
            yield (
                rule.location,
                f"rule '{rule.id}' prefers a card, however many of it a plan takes",
                "add 'plan.count == 1', or 'plan.count <= 8'",
            )


def _preferring(knowledge: Knowledge) -> Iterator[Rule]:
    for rule in knowledge.rules:
        if any(isinstance(effect, Verdict) and effect.favourable for effect in rule.effects):
            yield rule


def _names_a_card(tree: Expression) -> bool:
    match tree:
        case OneOf(left=Name(name=name)) | Compare(op="==", left=Name(name=name)):
            return name in _CARDS
    return False


def _bounds_count(tree: Expression, knowledge: Knowledge) -> bool:
    found = allowed(tree, knowledge.vocabulary)
    if found is not None:
        name, domain = found
        return name == "plan.count" and isinstance(domain, Numbers) and all(part.high < 1e9 for part in domain.parts)
    # a bound that is not a constant, such as plan.count == field.smallest_count
    used = {name.name for name in names(tree)}
    return "plan.count" in used and isinstance(tree, Compare) and tree.op in ("==", "<=", "<")


def no_such_value(knowledge: Knowledge) -> Iterator[Finding]:
    """A word compared with a name whose words the catalogues give, which none of them has."""
    known: dict[str, frozenset[str] | None] = {}
    for rule in knowledge.rules:
        for part in (rule.when, rule.unless):
            for condition in conditions_of(part):
                for name, word in _words(condition.tree, knowledge.vocabulary):
                    if name not in known:
                        known[name] = catalogue_words(knowledge.catalogue, name)
                    words = known[name]
                    if words is not None and word not in words:
                        message = f"rule '{rule.id}': nothing has {name} '{word}'"
                        yield condition.location, message, did_you_mean(word, words) or "check the spelling"


def _words(tree: Expression, specs: Mapping[str, NameSpec]) -> Iterator[tuple[str, str]]:
    for atom in atoms(tree):
        match atom:
            case Compare(left=Name(name=name), right=Constant(value=str() as word)):
                if specs[name].kind == "text":
                    yield name, word
            case OneOf(left=Name(name=name), options=options):
                for option in options:
                    if specs[name].kind == "text" and isinstance(option.value, str):
                        yield name, option.value
