"""Both engines and the reference mean the same, whatever the program; and a difference would be noticed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.chain.drive import Outcome, Tally, judge, run
from tests.chain.programs import program, programs, shuffled
from tests.chain.tables import HITS
from whygpu.chain import durable
from whygpu.chain.durable import DurableEngine
from whygpu.chain.engines import EvaluatorChain
from whygpu.knowledge.rules import Verdict
from whygpu.language import tree as t

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.chain.programs import Program

pytestmark = pytest.mark.slow

CHUNK = 200
FIRSTS = (1, 201)
"""The seeds of 400 programs, in parts that run beside one another; many more are slow."""

CONSTRUCTS = (
    *(f"Compare {op}" for op in ("==", "!=", "<", "<=", ">", ">=")),
    *(f"Arithmetic {op}" for op in "+-*/"),
    *(f"Call {name}" for name in ("min", "max", "twice", "letters")),
    *("All", "Any", "Not", "OneOf", "Known", "unless", "overrides"),
    *(f"table {hit}" for hit in HITS),
    *(f"scope {scope}" for scope in ("session", "plan", "field")),
    *(f"effect {name}" for name in ("Conclude", "Consider", "Exclude", "Require", "Advise", "Warn")),
    *(f"{word} {strength}" for word in ("prefer", "avoid") for strength in ("mild", "normal", "strong")),
)


@dataclass
class Survey:
    """What the programs had in them, and what came of it."""

    tally: Tally = field(default_factory=Tally)
    fired: Counter[str] = field(default_factory=Counter)
    """Constructs by rules that fired with them."""
    depths: Counter[int] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)


@cache
def survey(first: int) -> Survey:
    """Judge a part of the programs, once for all tests."""
    found = Survey()
    for seed in range(first, first + CHUNK):
        given = program(seed)
        outcome = judge(given, found.tally)
        for rule in given.knowledge.rules:
            if rule.id in outcome.fired or rule.id in outcome.fired_plans:
                found.fired.update(_constructs(given, rule.id))
        strata = given.knowledge.strata
        found.depths[len(strata.session) + len(strata.hard) + len(strata.soft)] += 1
        found.outcomes.update(_outcomes(outcome))
    return found


def _constructs(given: Program, identifier: str) -> set[str]:
    rule = given.knowledge.rule_by_id[identifier]
    found = {f"scope {rule.scope}"}
    found |= {_label(node) for node in _nodes(rule.condition)}
    found |= {"unless"} if rule.unless.parts else set()
    found |= {"overrides"} if rule.overrides else set()
    found |= {f"table {given.tables[rule.id.partition('/')[0]].hit}"} if "/" in rule.id else set()
    for effect in rule.effects:
        if isinstance(effect, Verdict):
            found.add(f"{'prefer' if effect.favourable else 'avoid'} {effect.strength}")
        else:
            found.add(f"effect {type(effect).__name__}")
    return found


def _label(node: t.Expression) -> str:
    match node:
        case t.Compare(op=op) | t.Arithmetic(op=op):
            return f"{type(node).__name__} {op}"
        case t.Call(function=function):
            return f"Call {function}"
    return type(node).__name__


def _nodes(node: t.Expression) -> Iterator[t.Expression]:
    yield node
    for child in t.children(node):
        yield from _nodes(child)


def _outcomes(outcome: Outcome) -> Iterator[str]:
    if outcome.defeated:
        yield "a rule defeated"
    if not any(outcome.alive):
        yield "no plan left"
    if any(outcome.alive) and not all(outcome.alive):
        yield "some plans left"
    values = [value for column in outcome.concluded.values() for value in column]
    yield from (f"concluded {type(value).__name__}" for value in values)


@pytest.mark.parametrize("first", FIRSTS)
def test_engines_and_reference_agree(first: int) -> None:
    tally = survey(first).tally
    assert tally.disagreements == []
    assert tally.programs == CHUNK
    assert tally.instances > 10_000
    assert 0.2 < tally.share_fired < 0.8
    assert tally.refused < 0.05 * CHUNK


MANY = range(1_000_001, 1_000_501, 25)
FACTS = 40
"""Sets of facts for each of 500 knowledge bases, 20,000 programs: to load and compile one takes longer than to judge
it."""


@pytest.mark.parametrize("first", MANY)
def test_engines_and_reference_agree_on_many_more(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + MANY.step):
        for each in programs(seed, FACTS):
            judge(each, tally)
    assert tally.disagreements == []
    assert tally.programs == FACTS * MANY.step


SMALL = {
    "PATTERN_TESTS": 3,
    "STACK": 4,
    "FACT_PROPERTIES": 5,
    "GROUP_RULES": 5,
    "SESSION_FACTS": 9,
    "MAX_ALTERNATIVES": 2,
}


def test_they_agree_where_every_limit_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """With limits so small each program folds tests, splits groups, and computes alternatives before."""
    for name, limit in SMALL.items():
        monkeypatch.setattr(durable, name, limit)
    tally = Tally()
    for seed in range(1, 151):
        judge(program(seed), tally)
    assert tally.disagreements == []
    assert tally.instances > 1_000


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_rules_with_each_construct_fire(construct: str) -> None:
    assert survey(FIRSTS[0]).fired[construct] >= 3


def test_programs_are_deep_and_end_in_every_way() -> None:
    found = survey(FIRSTS[0])
    assert sum(count for depth, count in found.depths.items() if depth >= 5) > CHUNK / 4
    wanted = {"a rule defeated", "no plan left", "some plans left"}
    wanted |= {f"concluded {kind}" for kind in ("float", "bool", "str", "NoneType")}
    assert {what for what, count in found.outcomes.items() if count >= 8} >= wanted


def test_the_order_of_rules_and_names_changes_nothing() -> None:
    draw = random.Random(7)
    moved = 0
    for seed in range(1, 41):
        given = program(seed)
        other = shuffled(given, draw)
        moved += [rule.id for rule in given.knowledge.rules] != [rule.id for rule in other.knowledge.rules]
        outcome = run(given, DurableEngine(given.knowledge).chain())
        assert run(other, DurableEngine(other.knowledge).chain()) == outcome, f"seed {seed}"
        assert run(other, EvaluatorChain()) == outcome, f"seed {seed}"
    assert moved > 36


def test_a_program_is_reproduced_by_its_seed() -> None:
    one, other = program(11), program(11)
    assert (one.texts, one.session, one.columns) == (other.texts, other.session, other.columns)
    assert program(12).texts != one.texts
