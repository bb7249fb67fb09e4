"""What is compiled stays inside the safe subset of durable-rules: every limit, statically and by running at it."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain.drive import run
from tests.chain.programs import program
from tests.chain.small import ADVISE, FLAG, NUMBER, PREFER, TEXT, answered, knowledge, program_of
from tests.chain.subset import STACK, violations
from whygpu.api import load
from whygpu.chain.durable import DurableEngine, Program, dumps
from whygpu.chain.engines import EvaluatorChain
from whygpu.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.chain.programs import Cell
    from whygpu.knowledge.base import Knowledge

pytestmark = pytest.mark.slow


@cache
def real() -> Knowledge:
    return load().knowledge


def test_the_real_knowledge_base_compiles_to_the_subset() -> None:
    definition = DurableEngine(real()).program.definition
    assert list(violations(definition)) == []
    assert len(definition) > len(real().rules)


@pytest.mark.parametrize("first", range(1, 301, 100))
def test_generated_programs_compile_to_the_subset(first: int) -> None:
    for seed in range(first, first + 100):
        base = program(seed).knowledge
        assert list(violations(Program(base, base.strata).definition)) == [], f"seed {seed}"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"none": []}, "not a conjunction"),
        ({"all": [{"m": {"$and": [{"v": 1.0}, {"g": "y"}]}}]}, "the group is not tested first"),
        ({"all": [{"m": {"$or": [{"g": "x"}, {"v": 1.0}]}}]}, "'$or' is outside the subset"),
        ({"all": [{"m": {"$and": [{"g": "x"}, {"v": {"m_0": "v"}}]}}]}, "does not test against a constant"),
        ({"all": [{f"m{i}": {"$and": [{"g": "x"}]}} for i in range(17)]}, "17 patterns"),
        ({"dist": 1}, "dist 0"),
    ],
)
def test_the_check_sees_what_leaves_the_subset(change: dict[str, Any], expected: str) -> None:
    rule = {"all": [{"m": {"$and": [{"g": "x"}]}}], "pri": 1, "dist": 0}
    assert list(violations({"r": rule})) == []
    assert any(expected in problem for problem in violations({"r": {**rule, **change}}))


def _pairs(first: int, second: int) -> dict[str, Any]:
    """Rules that share ``first`` tests, below one of which stand ``second`` more."""
    group = [{"g": "g1"}]
    pairs = [(i,) for i in range(first - 1)] + [(first, j) for j in range(second)]
    return {
        "boot": {"all": [{"m_0": {"g": "boot"}}], "pri": 0, "dist": 0},
        **{
            f"r{number}": {
                "all": [{"m": {"$and": [*group, *({"$gt": {f"t{i}": 0.0}} for i in pair)]}}],
                "pri": 1,
                "dist": 0,
            }
            for number, pair in enumerate(pairs)
        },
    }


@pytest.mark.parametrize(("first", "second"), [(64, 1), (65, 1), (40, 25), (40, 26), (1, 64), (1, 65)])
def test_the_stack_is_computed_as_the_library_fills_it(first: int, second: int) -> None:
    import durable_rules_engine  # noqa: PLC0415

    definition = _pairs(first, second)
    handle = durable_rules_engine.create_ruleset(f"stack{first}-{second}", dumps(definition))
    durable_rules_engine.assert_fact(handle, '{"id":"1","sid":"s","g":"boot"}')
    held = {f"t{i}": 1.0 for i in range(max(first, second) + 1)}
    fact = json.dumps({"id": "2", "sid": "s", "g": "g1", **held})
    if first - 1 + second > STACK:
        assert list(violations(definition)) == [f"{first - 1 + second} tests on the stack"]
        with pytest.raises(durable_rules_engine.error):
            durable_rules_engine.assert_fact(handle, fact)
    else:
        assert list(violations(definition)) == []
        assert durable_rules_engine.assert_fact(handle, fact)[0] == 0


def _wide(names: int, rules: int) -> Knowledge:
    vocabulary = answered(**{f"x{i}": NUMBER for i in range(names)})
    return knowledge([([f"workload.x{i % names} > 1", f"gpu.n0 > {i}"], PREFER) for i in range(rules)], vocabulary)


def _deep(strata: int) -> Knowledge:
    first: tuple[list[str], object] = (["workload.n > 1"], {"conclude": {"need.x0": True}})
    rest = [([f"need.x{i - 1}"], {"conclude": {f"need.x{i}": True}}) for i in range(1, strata)]
    return knowledge([first, *rest], {f"need.x{i}": FLAG for i in range(strata)})


def _ands(name: str) -> list[str]:
    return [" and ".join(f"{name} != {100 * row + column}" for column in range(8)) for row in range(25)]


def _lists(first: int, last: int, above: int, options: int) -> Knowledge:
    """A rule for each number: whether it, or one of those that follow it, is the answer."""
    found = ([float(above + i + j) for j in range(options)] for i in range(first, last))
    return knowledge([([f"workload.n in {numbers}"], ADVISE) for numbers in found])


LIMITS: Mapping[str, tuple[Callable[[], Knowledge], int]] = {
    "300 tests of one session name, all true": (
        lambda: knowledge([([f"workload.n > {i}"], ADVISE) for i in range(300)]),
        300,
    ),
    "300 tests of one plan name, all true": (
        lambda: knowledge([([f"gpu.n0 > {i}"], PREFER) for i in range(300)]),
        300,
    ),
    "900 rules on one condition": (lambda: knowledge([(["workload.n > 1"], ADVISE)] * 900), 900),
    "900 plan rules on one condition": (lambda: knowledge([(["gpu.n0 > 1"], PREFER)] * 900), 900),
    "200 conditions on one plan name in one rule": (lambda: knowledge([(_ands("gpu.n0"), PREFER)]), 1),
    "200 conditions on one session name in one rule": (lambda: knowledge([(_ands("workload.n"), ADVISE)]), 1),
    "700 session names beside plan tests": (lambda: _wide(700, 700), 700),
    "150 lists of 20 options": (lambda: _lists(9_990, 10_140, 0, 20), 11),
    "1,500 rules on lists of 8 options, 12,000 alternatives": (lambda: _lists(-3, 1_497, 10_000, 8), 4),
    "a text of 5,000 characters": (lambda: knowledge([(["workload.t != 'a'"], ADVISE)], answered(t=TEXT)), 1),
    "400 strata": (lambda: _deep(400), 400),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_at_the_limit_both_engines_agree(limit: str) -> None:
    make, fire = LIMITS[limit]
    base = make()
    session: dict[str, Cell] = {name: 10_000.0 for name, spec in base.vocabulary.items() if spec.answer is not None}
    if "workload.t" in session:
        session["workload.t"] = "x" * 5_000
    given_program = program_of(base, session, 10_000.0, 20_000.0, 0.5)
    engine = DurableEngine(base)
    assert list(violations(engine.program.definition)) == []
    wanted = run(given_program, EvaluatorChain())
    assert len(wanted.fired) + len(wanted.fired_plans) == fire
    assert run(given_program, engine.chain()) == wanted
    engine.share = False
    assert run(given_program, engine.chain()) == wanted


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: knowledge([([f"workload.n > {i}"], ADVISE) for i in range(4_100)]), "4101 compiled rules"),
        (lambda: _deep(510), "510 groups"),
    ],
)
def test_beyond_the_limit_it_is_refused_with_the_limit(make: Callable[[], Knowledge], message: str) -> None:
    base = make()
    with pytest.raises(EngineError, match=f"{message}.*durable-rules takes"):
        DurableEngine(base)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_printed_without_loss_and_with_a_point(number: float) -> None:
    text = dumps(number)
    assert float(text) == number
    assert re.fullmatch(r"-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?", text)


@given(
    st.dictionaries(
        st.text(max_size=5), st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text())
    )
)
def test_facts_are_valid_json(fact: dict[str, object]) -> None:
    assert json.loads(dumps(fact)) == fact


NUMBERS = (
    1e-05,
    1e16,
    8030261248.0,
    0.1 + 0.2,
    1 / 3,
    5e-324,
    1e299,
    -1e299,
    -0.0,
    2.0**53,
    4294967296.0,
    123456789.123456789,
)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_thresholds_hit_exactly(number: float, op: str) -> None:
    base = knowledge([([f"workload.n {op} {number!r}"], ADVISE), ([f"gpu.n0 {op} {number!r}"], PREFER)])
    around = (number, math.nextafter(number, math.inf), math.nextafter(number, -math.inf))
    test = {
        "==": float.__eq__,
        "!=": float.__ne__,
        "<": float.__lt__,
        "<=": float.__le__,
        ">": float.__gt__,
        ">=": float.__ge__,
    }
    for value in around:
        outcome = run(program_of(base, {"workload.n": value}, *around), DurableEngine(base).chain())
        assert ("r0" in outcome.fired) == test[op](value, number)
        wanted = tuple(test[op](one, number) for one in around)
        assert outcome.fired_plans.get("r1", (False,) * 3) == wanted


WORDS = (
    "24",
    "true",
    "null",
    "it's",
    'say "hi"',
    "end\\",
    "\\",
    "größe",
    "日本",
    " ",
    "a\tb",
    "{}",
    "[1]",
    "costarring",
    "x" * 1_000,
)
COLLIDING = {"costarring": "liquid"}  # the same 32-bit FNV-1a hash


@pytest.mark.parametrize("word", WORDS)
def test_odd_words_compare_as_texts(word: str) -> None:
    quoted = json.dumps(word, ensure_ascii=False)
    same, other = ([f"workload.t == {quoted}"], ADVISE), ([f"workload.t != {quoted}"], ADVISE)
    # too long for an expression, so it is only compared as a fact
    base = knowledge(
        [same, other] if len(word) < 900 else [(["workload.t == 'x'"], ADVISE), (["workload.t != 'x'"], ADVISE)],
        answered(t=TEXT),
    )
    engine = DurableEngine(base)
    equal = run(program_of(base, {"workload.t": word}, 1.0), engine.chain()).fired
    unequal = run(program_of(base, {"workload.t": COLLIDING.get(word, word + "z")}, 1.0), engine.chain()).fired
    assert equal == ({"r0"} if len(word) < 900 else {"r1"})
    assert unequal == {"r1"}
    assert run(program_of(base, {}, 1.0), engine.chain()).fired == set()
