"""Text to trees: every construct, its precedence, where problems are placed, and that nothing else gets through."""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.texts import parsed, refusal, scalar
from whygpu.language.parse import MAX_LENGTH, MAX_NESTING, MAX_OPTIONS, parse
from whygpu.language.tree import (
    All,
    Any,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expression,
    Known,
    Name,
    Not,
    OneOf,
    atoms,
    names,
    negated_names,
)

if TYPE_CHECKING:
    from whygpu.errors import Problem

A, B, C = Name("a.x"), Name("b.x"), Name("c.x")
ONE, TWO, FIVE = Constant(1.0), Constant(2.0), Constant(5.0)

TREES: dict[str, Expression] = {
    "a.x": A,
    "5": FIVE,
    "-5": Constant(-5.0),
    "1e3": Constant(1000.0),
    "2.5": Constant(2.5),
    "'word'": Constant("word"),
    '"it\'s"': Constant("it's"),
    "'größe'": Constant("größe"),
    "'end\\\\'": Constant("end\\"),
    "true": Constant(True),
    "false": Constant(False),
    "True": Constant(True),
    "a.x == 5": Compare("==", A, FIVE),
    "a.x != 5": Compare("!=", A, FIVE),
    "a.x < 5": Compare("<", A, FIVE),
    "a.x <= 5": Compare("<=", A, FIVE),
    "a.x > 5": Compare(">", A, FIVE),
    "a.x >= 5": Compare(">=", A, FIVE),
    "5 < a.x": Compare("<", FIVE, A),
    "1 < a.x <= 5": All((Compare("<", ONE, A), Compare("<=", A, FIVE))),
    "a.x == b.x == c.x": All((Compare("==", A, B), Compare("==", B, C))),
    "a.x in [1, 2]": OneOf(A, (ONE, TWO)),
    "a.x in (1, 2)": OneOf(A, (ONE, TWO)),
    "a.x in {1, -2}": OneOf(A, (ONE, Constant(-2.0))),
    "a.x in ['p', true]": OneOf(A, (Constant("p"), Constant(True))),
    "a.x not in ['p']": Not(OneOf(A, (Constant("p"),))),
    "1 < a.x in [2, 5]": All((Compare("<", ONE, A), OneOf(A, (TWO, FIVE)))),
    "not a.x": Not(A),
    "not not a.x": Not(Not(A)),
    "a.x and b.x": All((A, B)),
    "a.x and b.x and c.x": All((A, B, C)),
    "a.x or b.x": Any((A, B)),
    "a.x + 1": Arithmetic("+", A, ONE),
    "a.x - 1": Arithmetic("-", A, ONE),
    "a.x * 2": Arithmetic("*", A, TWO),
    "a.x / 2": Arithmetic("/", A, TWO),
    "-a.x": Arithmetic("-", Constant(0.0), A),
    "known(a.x)": Known(A),
    "min(a.x, 5)": Call("min", (A, FIVE)),
    "max(a.x, b.x, 5)": Call("max", (A, B, FIVE)),
    "weights_gib('int4')": Call("weights_gib", (Constant("int4"),)),
    "(a.x)": A,
    # precedence
    "a.x or b.x and c.x": Any((A, All((B, C)))),
    "(a.x or b.x) and c.x": All((Any((A, B)), C)),
    "not a.x and b.x": All((Not(A), B)),
    "not (a.x and b.x)": Not(All((A, B))),
    "not a.x == 5": Not(Compare("==", A, FIVE)),
    "a.x + b.x * 2 > 5": Compare(">", Arithmetic("+", A, Arithmetic("*", B, TWO)), FIVE),
    "(a.x + b.x) * 2": Arithmetic("*", Arithmetic("+", A, B), TWO),
    "a.x - b.x - c.x": Arithmetic("-", Arithmetic("-", A, B), C),
    "a.x / b.x * c.x": Arithmetic("*", Arithmetic("/", A, B), C),
    "-a.x * 2": Arithmetic("*", Arithmetic("-", Constant(0.0), A), TWO),
    # words that Python keeps for itself
    "gpu.class == 'x'": Compare("==", Name("gpu.class"), Constant("x")),
    "a.in in ['.in']": OneOf(Name("a.in"), (Constant(".in"),)),
    "a.x == 'it\\'s a.class'": Compare("==", A, Constant("it's a.class")),
    # line breaks of a folded YAML text
    "a.x\n and b.x": All((A, B)),
    "  a.x  ": A,
}


@pytest.mark.parametrize("text", TREES, ids=repr)
def test_tree(text: str) -> None:
    assert parsed(text) == TREES[text]


def test_numbers_are_floats() -> None:
    found = parsed("5")
    assert isinstance(found, Constant)
    assert type(found.value) is float


def test_spans_count_characters() -> None:
    tree = parsed("a.x == 'größe' and b.x > 10")
    assert isinstance(tree, All)
    assert [part.at for part in tree.parts] == [(0, 14), (19, 27)]


REFUSED = {
    "a.x = 5": "syntax",
    "a.x ==": "syntax",
    "(a.x": "syntax",
    "a.x) > 1": "syntax",
    "": "syntax",
    "a b": "syntax",
    "'open": "syntax",
    "a.x; b.x": "syntax",
    "import os": "syntax",
    "a.x == 08": "syntax",
    "a.x > 5 if b.x else 3": "not-allowed",
    "lambda: 1": "not-allowed",
    "[x for x in a.x]": "not-allowed",
    "{x: 1 for x in a.x}": "not-allowed",
    "(x for x in a.x)": "not-allowed",
    "f'{a.x}'": "not-allowed",
    "b'bytes'": "not-allowed",
    "(y := 5)": "not-allowed",
    "a.x[0]": "not-allowed",
    "a.x[0:1]": "not-allowed",
    "a.x ** 2": "not-allowed",
    "a.x % 2": "not-allowed",
    "a.x // 2": "not-allowed",
    "a.x @ b.x": "not-allowed",
    "a.x | b.x": "not-allowed",
    "a.x << 2": "not-allowed",
    "~a.x": "not-allowed",
    "+a.x": "not-allowed",
    "a.x is b.x": "not-allowed",
    "a.x is not b.x": "not-allowed",
    "None": "not-allowed",
    "...": "not-allowed",
    "1j": "not-allowed",
    "1e400": "not-allowed",
    "9" * 400: "not-allowed",
    "''": "not-allowed",
    "()": "not-allowed",
    "[1, 2]": "not-allowed",
    "{'a': 1}": "not-allowed",
    "a.x in []": "not-allowed",
    "a.x in b.x": "not-allowed",
    "a.x in [b.x]": "not-allowed",
    "a.x in [1 + 1]": "not-allowed",
    "a.x in ['p', *b.x]": "not-allowed",
    "known()": "not-allowed",
    "known(a.x, b.x)": "not-allowed",
    "known('a.x')": "not-allowed",
    "known(1 + 2)": "not-allowed",
    "known(*a.x)": "not-allowed",
    "min(a.x, key=b.x)": "not-allowed",
    "min(*a.x)": "not-allowed",
    "min(**a.x)": "not-allowed",
    "a.x()": "not-allowed",
    "a.x.upper()": "not-allowed",
    "min(a.x, 1).real": "not-allowed",
    "'x'.upper()": "not-allowed",
    "().__class__.__bases__": "not-allowed",
    "(1).real": "not-allowed",
    "'{0.__class__}'.format(a.x)": "not-allowed",
    "(lambda: 1)()": "not-allowed",
    "print(a.x)(b.x)": "not-allowed",
    "await a.x": "not-allowed",
    "(yield a.x)": "not-allowed",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:40])
def test_refused(text: str) -> None:
    assert refusal(text).code == REFUSED[text]


@pytest.mark.parametrize(
    "text", ["__import__('os').system('x')", "eval('1')", "a.__class__ == 'x'", "__builtins__", "open('/etc/passwd')"]
)
def test_python_names_are_only_names_that_do_not_exist(text: str) -> None:
    problems: list[Problem] = []
    tree = parse(text, scalar("x"), problems)
    # nothing is looked up or called: either no expression at all, or names and checks that do not exist
    assert (tree is None) == bool(problems)
    if tree is not None:
        assert [name.name for name in names(tree)] or any(isinstance(atom, Call) for atom in atoms(tree))


def test_a_single_equals_sign_is_explained() -> None:
    assert "==" in (refusal("a.x = 5").help or "")
    assert refusal("a.x == 5 5").help is None


def test_limits_are_named() -> None:
    assert len("a.x > 1" + " " * (MAX_LENGTH - 7)) == MAX_LENGTH
    parsed("a.x > 1" + " " * (MAX_LENGTH - 7))
    assert f"{MAX_LENGTH:,}" in refusal("a.x > 1" + " " * (MAX_LENGTH - 6)).message
    parsed("not " * MAX_NESTING + "a.x")
    deep = refusal("not " * (MAX_NESTING + 1) + "a.x")
    assert (deep.code, str(MAX_NESTING) in deep.message) == ("too-deep", True)
    parsed(f"a.x in {[1] * MAX_OPTIONS}")
    many = refusal(f"a.x in {[1] * (MAX_OPTIONS + 1)}")
    assert (many.code, str(MAX_OPTIONS) in many.message) == ("too-long", True)


@pytest.mark.parametrize(
    "text", ["(" * 400 + "a.x" + ")" * 400, "-" * 900 + "1", "[" * 500, "not " * 240 + "a.x", "1" + "+1" * 400]
)
def test_deep_nesting_is_one_problem(text: str) -> None:
    assert refusal(text).code in ("syntax", "too-deep")


@pytest.mark.parametrize(
    "text", ["a.x == '\\d'", "1 is 1", "'a'(1)", "a.x == '\x00'", "\ud800", "a.x == 1if b.x else 2"]
)
def test_python_does_not_warn(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(text, scalar("x"), [])


PLACES = {
    # the file, and the line and column of the '**' or '=='' that is wrong: 1-based, in characters
    "when: a.x ** 2": (1, 7),
    "when:\n- a.x > 1 and b.x ** 2": (2, 15),
    'when:\n- "a.x > 1 and b.x ** 2"': (2, 16),
    "when:\n- 'a.x > 1 and b.x ** 2'": (2, 16),
    "when:\n- a.x == 'größe' and b.x ** 2": (2, 22),
    "when:\n- 'a.x == ''p'' and b.x ** 2'": (2, 21),
    'when:\n- "a.x == \\"p\\" and b.x ** 2"': (2, 21),
    "größe: a.x == '日本語' and b.x ** 2": (1, 25),
    "when:\n- a.x > 1\n  and b.x ** 2": (3, 7),
}


@pytest.mark.parametrize("yaml", PLACES, ids=repr)
def test_problems_are_placed_in_the_file(yaml: str) -> None:
    node = scalar(yaml)
    problems: list[Problem] = []
    assert parse(node.text, node, problems) is None
    (problem,) = problems
    assert (problem.location.file, problem.location.line, problem.location.column) == ("kb.yaml", *PLACES[yaml])
    assert problem.snippet == yaml.split("\n")[problem.location.line - 1]
    assert "'b.x ** 2'" in problem.message or "'a.x ** 2'" in problem.message


_PIECES = (
    *"()[]{}<>=!+-*/%&|^~@,.:;'\"\\#\n\t 0123456789abxyz_é日\x00\x7f\u2028",
    *(" and ", " or ", " not ", " in ", " is ", " if ", " else ", "lambda", " for "),
    *("known(", "min(", "a.x", "gpu.class"),
    *("f'{", "'}'", "'''", "**", "//", ":=", "==", "!=", "<=", "1e9", "0x", "1_0", "None", "true"),
    *("__class__", "await ", "yield "),
)


def test_ten_thousand_random_texts_give_a_tree_or_one_problem() -> None:
    draw = random.Random(3)
    node = scalar("x")
    trees = 0
    for _ in range(10_000):
        text = "".join(draw.choices(_PIECES, k=draw.randint(0, 40)))
        problems: list[Problem] = []
        tree = parse(text, node, problems)
        assert (tree is None) == (len(problems) == 1), text
        trees += tree is not None
    assert 50 < trees < 9_000


@given(st.text(max_size=60))
def test_any_text_gives_a_tree_or_one_problem(text: str) -> None:
    problems: list[Problem] = []
    assert (parse(text, scalar("x"), problems) is None) == (len(problems) == 1)


_LEAVES = st.one_of(
    st.sampled_from([A, B, C, Name("gpu.class"), Constant(True), Constant(False)]),
    st.floats(min_value=-1e290, max_value=1e290).map(lambda number: Constant(number + 0.0)),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=8).map(Constant),
)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.lists(inner, min_size=2, max_size=3).map(tuple)
    options = st.lists(st.floats(-1e9, 1e9).map(Constant), min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Compare, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), inner, inner),
        st.builds(Arithmetic, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(All, pairs),
        st.builds(Any, pairs),
        st.builds(Not, inner),
        st.builds(OneOf, inner, options),
        st.builds(Known, st.sampled_from([A, B])),
        st.builds(Call, st.sampled_from(["min", "max", "half"]), pairs),
    )


def written(node: Expression) -> str:
    """The tree as text, everything in brackets."""
    match node:
        case Constant(value=value):
            return repr(value)
        case Name(name=name):
            return name
        case Compare(op=op, left=left, right=right) | Arithmetic(op=op, left=left, right=right):
            return f"({written(left)} {op} {written(right)})"
        case All(parts=parts):
            return f"({' and '.join(map(written, parts))})"
        case Any(parts=parts):
            return f"({' or '.join(map(written, parts))})"
        case Not(part=part):
            return f"(not {written(part)})"
        case OneOf(left=left, options=options):
            return f"({written(left)} in [{', '.join(map(written, options))}])"
        case Known(name=name):
            return f"known({written(name)})"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(written, arguments))})"


@given(st.recursive(_LEAVES, _larger, max_leaves=8))
def test_what_is_written_is_read_back(tree: Expression) -> None:
    text = written(tree)
    if len(text) <= MAX_LENGTH:
        assert repr(_bare(parsed(text))) == repr(_bare(tree))


def _bare(node: Expression) -> object:
    """The tree without its spans, and told apart where Python calls 1.0 and True equal."""
    match node:
        case Constant(value=value):
            return value
        case Name(name=name):
            return ("name", name)
        case Compare(op=op, left=left, right=right) | Arithmetic(op=op, left=left, right=right):
            return (op, _bare(left), _bare(right))
        case All(parts=parts) | Any(parts=parts):
            return (type(node).__name__, *map(_bare, parts))
        case Not(part=part):
            return ("not", _bare(part))
        case OneOf(left=left, options=options):
            return ("in", _bare(left), *map(_bare, options))
        case Known(name=name):
            return ("known", name.name)
        case Call(function=function, arguments=arguments):
            return (function, *map(_bare, arguments))


def test_walks_over_trees() -> None:
    tree = parsed("a.x > 1 and not (b.x > a.x or known(c.x)) and c.x == 2")
    assert [name.name for name in names(tree)] == ["a.x", "b.x", "a.x", "c.x", "c.x"]
    assert [name.name for name in negated_names(tree)] == ["b.x", "a.x", "c.x"]
    assert [type(atom).__name__ for atom in atoms(tree)] == ["Compare", "Compare", "Known", "Compare"]
