"""What an expression rests on, and what is taken of it from another evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.language import values as v
from whygpu.language.evaluate import Evaluator
from whygpu.language.numbering import CALLED, Numbering, Rests
from whygpu.language.tree import All, Arithmetic, Call, Compare, Constant, Expression, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGE = Compare(">", Name("x.n"), Constant(1.0))
DERIVED = Compare(">", Name("x.twice"), Constant(1.0))
SIZED = Compare(">", Call("need", (Name("x.m"),)), Constant(1.0))
LEAST = Compare(">", Call("min", (Name("x.m"), Constant(2.0))), Constant(1.0))
ALL = All((LARGE, SIZED))
TWICE = Arithmetic("*", Constant(2.0), Name("x.n"))
NUMBERING = Numbering((LARGE, DERIVED, SIZED, LEAST, ALL, TWICE))
COMPUTED: dict[str, Expression] = {"x.twice": TWICE}


class Given:
    """Values of names, and how often each was asked for."""

    def __init__(self, **numbers: float) -> None:
        self.numbers, self.asked = numbers, 0

    def value(self, name: str) -> v.Value:
        """The name's."""
        self.asked += 1
        return v.number(2 * self.numbers["n"] if name == "x.twice" else self.numbers[name.removeprefix("x.")])

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """A check that gives back what it takes."""
        assert function == "need"
        return arguments[0]


def _rests() -> Rests:
    return Rests(NUMBERING, COMPUTED.get)


def test_names_are_followed_through_derived_ones_and_checks_have_a_bit_of_their_own() -> None:
    rests = _rests()
    n, m, twice = (rests.bit(f"x.{name}") for name in ("n", "m", "twice"))
    assert len({n, m, twice, CALLED, rests.bit("x.other")}) == 5
    found = {node: rests.of(NUMBERING.numbers[id(node)]) for node in (LARGE, DERIVED, SIZED, LEAST, ALL)}
    assert found == {LARGE: n, DERIVED: n | twice, SIZED: m | CALLED, LEAST: m, ALL: n | m | CALLED}
    assert rests.bits(("x.n", "x.m")) == n | m


def test_only_what_rests_on_nothing_that_differs_is_taken() -> None:
    rests, first, second = _rests(), Given(n=3.0, m=3.0), Given(n=3.0, m=0.0)
    before = Evaluator(first, NUMBERING.numbers, None, rests)
    assert before.truth(ALL).true
    evaluator = Evaluator(second, NUMBERING.numbers, None, rests, before)
    evaluator.differs = rests.bit("x.m")
    assert evaluator.truth(LARGE).true
    assert second.asked == 0
    assert evaluator.truth(ALL).false
    assert second.asked == 1


def test_what_an_engine_numbers_later_rests_on_names_too() -> None:
    """The adapter of durable-rules adds the parts of its program when it is first asked."""
    numbering = Numbering((LARGE,))
    rests = Rests(numbering, COMPUTED.get)
    numbering.add((ALL,))
    before = Evaluator(Given(n=3.0, m=3.0), numbering.numbers, None, rests)
    assert before.truth(ALL).true
    evaluator = Evaluator(Given(n=3.0, m=0.0), numbering.numbers, None, rests, before)
    evaluator.differs = rests.bit("x.m")
    assert evaluator.truth(ALL).false


def test_what_was_taken_is_forgotten_when_a_name_gets_another_value() -> None:
    rests, given = _rests(), Given(n=3.0, m=3.0)
    before = Evaluator(Given(n=3.0, m=3.0), NUMBERING.numbers, None, rests)
    assert before.truth(LARGE).true
    evaluator = Evaluator(given, NUMBERING.numbers, None, rests, before)
    assert evaluator.truth(LARGE).true
    given.numbers["n"] = 0.0
    evaluator.renew("x.n")
    evaluator.differs = rests.bit("x.n")
    assert evaluator.truth(LARGE).false


def test_what_rests_on_other_names_is_remembered() -> None:
    rests, given = _rests(), Given(n=3.0, m=3.0)
    evaluator = Evaluator(given, NUMBERING.numbers, None, rests)
    assert evaluator.truth(LARGE).true
    assert evaluator.truth(SIZED).true
    given.numbers |= {"n": 0.0, "m": 0.0}
    evaluator.forget_what_rests_on(rests.bit("x.m"))
    assert (evaluator.truth(LARGE).true, evaluator.truth(SIZED).true) == (True, False)
