"""Values and evaluation: Kleene's tables, lacks, intervals that hold every point, columns that agree with scalars."""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.language.texts import parsed
from whygpu.chain.environment import known_value, one, plain
from whygpu.language import values as v
from whygpu.language.evaluate import Evaluator
from whygpu.language.tree import All, Any, Arithmetic, Call, Compare, Constant, Expression, Known, Name, Not, OneOf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN: dict[str, v.Value] = {"n": v.NO_NUMBER, "f": v.UNKNOWN, "w": v.NO_WORD}
TRUTHS = {True: v.TRUE, False: v.FALSE, None: v.UNKNOWN}
Cell = float | bool | str | None | tuple[float, float] | v.Number


class Given:
    """An environment of plain values; a pair is an interval."""

    def __init__(self, values: Mapping[str, v.Value]) -> None:
        self._values = values

    def value(self, name: str) -> v.Value:
        return self._values[name]

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        assert function == "half"
        (argument,) = arguments
        assert isinstance(argument, v.Number)
        return v.arithmetic("*", argument, v.number(0.5))


def evaluate(text: str, **cells: Cell) -> v.Value:
    """The value of ``text`` where each name x.KEY has the cell."""
    values = {f"x.{key}": _value(cell, UNKNOWN[key[0]]) for key, cell in cells.items()}
    return Evaluator(Given(values)).value(parsed(text))


def _value(cell: Cell, unknown: v.Value) -> v.Value:
    if cell is None:
        return unknown
    if isinstance(cell, v.Number):
        return cell
    return v.Number(*cell) if isinstance(cell, tuple) else known_value(cell)


def truth(text: str, **cells: Cell) -> float | bool | str | None:
    """Plain truth: None is unknown."""
    value = evaluate(text, **cells)
    assert isinstance(value, v.Truth)
    return plain(value)


# Kleene's strong logic

AND = {(a, b): False if False in (a, b) else None if None in (a, b) else True for a in TRUTHS for b in TRUTHS}
OR = {(a, b): True if True in (a, b) else None if None in (a, b) else False for a in TRUTHS for b in TRUTHS}


@pytest.mark.parametrize(("left", "right"), AND)
def test_kleene_tables(left: bool | None, right: bool | None) -> None:
    assert truth("x.f and x.f2", f=left, f2=right) is AND[left, right]
    assert truth("x.f or x.f2", f=left, f2=right) is OR[left, right]
    same = None if None in (left, right) else left == right
    assert truth("x.f == x.f2", f=left, f2=right) is same
    assert truth("x.f != x.f2", f=left, f2=right) is (None if same is None else not same)


@pytest.mark.parametrize(("flag", "opposite"), [(True, False), (False, True), (None, None)])
def test_not(flag: bool | None, opposite: bool | None) -> None:
    assert truth("not x.f", f=flag) is opposite


def test_empty_all_is_true_and_empty_any_is_false() -> None:
    evaluator = Evaluator(Given({}))
    assert evaluator.truth(All(())) == v.TRUE
    assert evaluator.truth(Any(())) == v.FALSE


def test_a_number_is_not_a_condition() -> None:
    with pytest.raises(TypeError):
        Evaluator(Given({})).truth(Constant(1.0))
    with pytest.raises(TypeError):
        Evaluator(Given({"x.f": v.TRUE})).value(Arithmetic("+", Name("x.f"), Constant(1.0)))


# comparisons of points, unknowns, lacks

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


@pytest.mark.parametrize(("left", "right"), [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (-0.0, 0.0)])
@pytest.mark.parametrize("op", OPERATORS)
def test_points_compare_as_numbers(op: str, left: float, right: float) -> None:
    wanted = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right}
    assert truth(f"x.n {op} x.n2", n=left, n2=right) is wanted.get(op, left >= right)


@pytest.mark.parametrize("op", OPERATORS)
def test_unknown_never_decides_and_a_lack_is_false(op: str) -> None:
    assert truth(f"x.n {op} 5", n=None) is None
    assert truth(f"not (x.n {op} 5)", n=None) is None
    assert truth(f"x.n {op} x.n", n=None) is None
    assert truth(f"x.n {op} 5", n=v.ABSENT) is False
    assert truth(f"5 {op} x.n", n=v.ABSENT) is False
    assert truth(f"x.n {op} x.n2", n=v.ABSENT, n2=None) is False
    assert truth(f"not (x.n {op} 5)", n=v.ABSENT) is True


def test_words() -> None:
    assert truth("x.w == 'a'", w="a") is True
    assert truth("x.w != 'a'", w="b") is True
    assert truth("x.w == 'a'", w=None) is None
    assert truth("x.w != x.w2", w="a", w2=None) is None
    assert truth("x.w in ['a', 'b']", w="b") is True
    assert truth("x.w not in ['a', 'b']", w="c") is True
    assert truth("x.w in ['a', 'b']", w=None) is None
    assert truth("x.w not in ['a', 'b']", w=None) is None


def test_number_in_options() -> None:
    assert truth("x.n in [1, 2]", n=2.0) is True
    assert truth("x.n in [1, 2]", n=3.0) is False
    assert truth("x.n in [1, 2]", n=(1.5, 1.75)) is False
    assert truth("x.n in [1, 2]", n=(1.5, 2.0)) is None
    assert truth("x.n in [1, 2]", n=v.ABSENT) is False
    assert truth("x.n not in [1, 2]", n=v.ABSENT) is True


def test_known() -> None:
    assert [truth("known(x.n)", n=cell) for cell in (1.0, None, (1.0, 2.0), (1.0, 1.0), v.ABSENT)] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert [truth("known(x.w)", w=cell) for cell in ("a", None)] == [True, False]
    assert [truth("known(x.f)", f=cell) for cell in (True, False, None)] == [True, True, False]
    assert truth("not known(x.n)", n=None) is True


@pytest.mark.parametrize(
    ("text", "n", "wanted"),
    [
        ("x.n > 5", (6.0, 9.0), True),
        ("x.n > 5", (5.0, 9.0), None),
        ("x.n >= 5", (5.0, 9.0), True),
        ("x.n < 5", (5.0, 9.0), False),
        ("x.n <= 5", (5.0, 9.0), None),
        ("x.n == 5", (6.0, 9.0), False),
        ("x.n == 5", (5.0, 9.0), None),
        ("x.n != 5", (6.0, 9.0), True),
        ("x.n == 5", (5.0, 5.0), True),
        ("min(x.n, 3) < 5", None, True),
        ("max(x.n, 7) > 5", None, True),
        ("min(x.n, 7) > 5", None, None),
        ("min(x.n, 3) < 5", v.ABSENT, False),
    ],
)
def test_intervals_decide_what_they_can(text: str, n: Cell, wanted: bool | None) -> None:
    assert truth(text, n=n) is wanted


def test_arithmetic_on_points_is_exact_and_what_has_no_answer_is_unknown() -> None:
    def number(text: str, **cells: Cell) -> float | bool | str | None:
        return plain(evaluate(text, **cells))

    assert number("x.n + 0.2", n=0.1) == 0.1 + 0.2
    assert number("x.n - 3", n=1.0) == -2.0
    assert number("x.n * x.n", n=3.0) == 9.0
    assert number("x.n / 3", n=1.0) == 1 / 3
    assert number("-x.n", n=4.0) == -4.0
    assert number("half(x.n)", n=4.0) == 2.0
    assert number("min(x.n, 2, 3)", n=4.0) == 2.0
    assert number("max(x.n, 2, 3)", n=4.0) == 4.0
    for lost in (
        "x.n / 0",
        "0 / 0 + x.n",
        "x.n / (x.n - x.n)",
        "1e200 * 1e200 * x.n",
        "-1e200 * 1e200 + x.n",
        "1e-300 / 1e299 / 0 + x.n",
    ):
        assert evaluate(lost, n=1.0) == v.NO_NUMBER
        assert truth(f"{lost} > 5", n=1.0) is None
        assert truth(f"not ({lost} > 5)", n=1.0) is None


@pytest.mark.parametrize(
    "text", ["x.n + x.n2", "x.n2 - x.n", "x.n * x.n2", "x.n / x.n2", "x.n2 / x.n", "min(x.n2, x.n)", "-x.n", "x.n / 0"]
)
@pytest.mark.parametrize("other", [5.0, None, (1.0, 2.0)])
def test_whatever_is_computed_from_a_lack_is_a_lack(text: str, other: Cell) -> None:
    found = evaluate(text, n=v.ABSENT, n2=other)
    assert isinstance(found, v.Number)
    assert found.present is False
    assert plain(found) is None
    assert truth(f"{text} == {text}", n=v.ABSENT, n2=other) is False


def test_numbers_that_are_not_finite_are_unknown() -> None:
    assert v.number(math.inf) == v.number(math.nan) == v.NO_NUMBER
    column = v.column(np.array([1.0, np.inf, np.nan, -np.inf]))
    assert [plain(one(column, index)) for index in range(4)] == [1.0, None, None, None]
    assert [bool(item) for item in v.compare(">", column, v.number(0.0)).true] == [True, False, False, False]


# properties

_numbers = st.one_of(st.integers(-64, 64).map(lambda n: n / 8), st.sampled_from([1e-30, 1e30, -1e30, 0.1, 1e-05]))


def _arithmetic(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Call, st.sampled_from(["min", "max"]), pairs),
        st.builds(Call, st.just("half"), st.tuples(inner)),
    )


_number_names = st.sampled_from(["x.n", "x.n2", "x.n3"]).map(Name)
_number_trees = st.recursive(st.one_of(_number_names, _number_names, _numbers.map(Constant)), _arithmetic, max_leaves=6)


def _logic(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(All, pairs), st.builds(Any, pairs), st.builds(Not, inner),
        st.builds(Compare, st.sampled_from(["==", "!="]), inner, inner),
    )  # fmt: skip


_word_names = st.sampled_from(["x.w", "x.w2"]).map(Name)
_words = st.sampled_from(["a", "bb", "größe", "24"])
_atoms: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, st.sampled_from(OPERATORS), _number_trees, _number_trees),
    st.builds(OneOf, _number_trees, st.lists(_numbers.map(Constant), min_size=1, max_size=3).map(tuple)),
    st.builds(Compare, st.sampled_from(["==", "!="]), _word_names, st.one_of(_word_names, _words.map(Constant))),
    st.builds(OneOf, _word_names, st.lists(_words.map(Constant), min_size=1, max_size=3).map(tuple)),
    st.sampled_from(["x.f", "x.f2"]).map(Name),
)
_conditions = st.recursive(_atoms, _logic, max_leaves=5)
_with_known = st.recursive(
    st.one_of(_atoms, _atoms, st.builds(Known, st.sampled_from(["x.n", "x.w", "x.f"]).map(Name))), _logic, max_leaves=5
)

_intervals = st.tuples(_numbers, _numbers).map(lambda pair: (min(pair), max(pair)))


@st.composite
def _narrowed(draw: st.DrawFn) -> tuple[dict[str, v.Value], dict[str, v.Value]]:
    """What is known of the names, and one way for it to turn out: a point in each interval, a value for unknowns."""
    known: dict[str, v.Value] = {}
    real: dict[str, v.Value] = {}
    for name in ("x.n", "x.n2", "x.n3"):
        low, high = draw(_intervals)
        share = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
        point = min(max(low + (high - low) * share, low), high)
        real[name] = v.number(point)
        known[name] = draw(st.sampled_from([v.Number(low, high), v.Number(low, high), v.number(point), v.NO_NUMBER]))
        if draw(st.integers(0, 9)) == 0:
            known[name] = real[name] = v.ABSENT
    for name in ("x.w", "x.w2"):
        real[name] = v.Word(draw(_words))
        known[name] = draw(st.sampled_from([real[name], v.NO_WORD]))
    for name in ("x.f", "x.f2"):
        real[name] = draw(st.sampled_from([v.TRUE, v.FALSE]))
        known[name] = draw(st.sampled_from([real[name], v.UNKNOWN]))
    return known, real


@given(_number_trees, _narrowed())
def test_an_interval_holds_every_point_result(
    tree: Expression, names: tuple[dict[str, v.Value], dict[str, v.Value]]
) -> None:
    wide, point = (Evaluator(Given(values)).value(tree) for values in names)
    assert isinstance(wide, v.Number)
    assert isinstance(point, v.Number)
    assert wide.present == point.present
    exact = v.as_float(point)
    assume(exact is not None)
    assert exact is not None
    assert wide.low <= exact <= wide.high


@given(_conditions, _narrowed())
def test_what_is_sure_stays_so_however_the_unknown_turns_out(
    tree: Expression, names: tuple[dict[str, v.Value], dict[str, v.Value]]
) -> None:
    before, after = (plain(Evaluator(Given(values)).truth(tree)) for values in names)
    assert before is None or before == after


_cells = {
    "n": st.one_of(st.none(), st.just(v.ABSENT), _numbers, _numbers, _numbers),
    "w": st.one_of(st.none(), _words, _words),
    "f": st.one_of(st.none(), st.booleans()),
}


@st.composite
def _tables(draw: st.DrawFn) -> tuple[list[dict[str, v.Value]], dict[str, v.Value]]:
    """Names as rows of scalars and as columns; now and then a column is one value for all."""
    size = draw(st.integers(1, 5))
    rows: list[dict[str, v.Value]] = [{} for _ in range(size)]
    columns: dict[str, v.Value] = {}
    for name in ("x.n", "x.n2", "x.n3", "x.w", "x.w2", "x.f", "x.f2"):
        kind = name[2]
        cells = (
            [draw(_cells[kind])] * size if draw(st.integers(0, 4)) == 0 else [draw(_cells[kind]) for _ in range(size)]
        )
        for row, cell in zip(rows, cells, strict=True):
            row[name] = _value(cell, UNKNOWN[kind])
        columns[name] = rows[0][name] if all(cell is cells[0] for cell in cells) else _column(kind, cells)
    return rows, columns


def _column(kind: str, cells: Sequence[Cell]) -> v.Value:
    if kind == "n":
        present = np.array([not isinstance(cell, v.Number) for cell in cells])
        numbers = np.array([cell if isinstance(cell, float) else np.nan for cell in cells])
        return v.column(numbers, True if present.all() else present)
    if kind == "w":
        return v.Word(np.array([cell if isinstance(cell, str) else "" for cell in cells]))
    return v.Truth(np.array([cell is True for cell in cells]), np.array([cell is False for cell in cells]))


@given(st.one_of(_with_known, _number_trees), _tables())
def test_columns_agree_with_scalars(
    tree: Expression, names: tuple[list[dict[str, v.Value]], dict[str, v.Value]]
) -> None:
    rows, columns = names
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy has nothing to warn of either
        column = Evaluator(Given(columns)).value(tree)
    for index, row in enumerate(rows):
        scalar, cell = Evaluator(Given(row)).value(tree), one(column, index)
        assert plain(cell) == plain(scalar)
        if isinstance(scalar, v.Number) and isinstance(cell, v.Number):
            assert bool(cell.present) == bool(scalar.present)
            if scalar.present:
                assert (cell.low, cell.high) == (scalar.low, scalar.high)


@given(_with_known, _tables())
def test_nothing_is_true_and_false_at_once(
    tree: Expression, names: tuple[list[dict[str, v.Value]], dict[str, v.Value]]
) -> None:
    found = Evaluator(Given(names[1])).truth(tree)
    assert not np.any(np.logical_and(found.true, found.false))


def test_expressions_that_look_alike_to_python_are_told_apart() -> None:
    evaluator = Evaluator(Given({"x.n": v.number(1.0), "x.f": v.TRUE}))
    assert evaluator.value(Constant(1.0)) == v.number(1.0)
    assert evaluator.value(Constant(True)) == v.TRUE
    for left, right in product(("x.n == 1", "x.f == true"), repeat=2):
        assert plain(evaluator.truth(parsed(f"({left}) == ({right})"))) is True
