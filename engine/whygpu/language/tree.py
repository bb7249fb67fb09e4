"""The expression tree: what a condition or a derived value says, as data.

Every node is immutable and hashable. ``at`` is the node's span in the text it came from; it takes no part in
equality, so equal expressions in different rules are one and the same to the engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]
CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]
ArithmeticOp = Literal["+", "-", "*", "/"]

MIRRORED: dict[CompareOp, CompareOp] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class _Node:
    """A base that remembers the hash of a tree: evaluators look each node up many times."""

    __slots__ = ("_hash",)
    _hash: int


def _remembered_hash(node: _Node) -> int:
    try:
        return node._hash
    except AttributeError:
        names_compared = type(node).__match_args__[:-1]  # type: ignore[attr-defined]  # of a dataclass; the last is ``at``
        value = hash((type(node).__name__, *(getattr(node, name) for name in names_compared)))
        object.__setattr__(node, "_hash", value)
        return value


@dataclass(frozen=True, slots=True)
class Constant:
    """A number (always a float), a flag or a text."""

    value: float | bool | str
    at: Span = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name of the vocabulary."""

    name: str
    at: Span = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic(_Node):
    """``left op right`` over numbers."""

    op: ArithmeticOp
    left: Expression
    right: Expression
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class Call(_Node):
    """A named numeric check, or ``min`` and ``max``."""

    function: str
    arguments: tuple[Expression, ...]
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class Compare(_Node):
    """``left op right``; true or false only where both sides are known well enough."""

    op: CompareOp
    left: Expression
    right: Expression
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class OneOf(_Node):
    """``left in [options]``."""

    left: Expression
    options: tuple[Constant, ...]
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class Known(_Node):
    """``known(name)``: whether the name has a value, answered, assumed or concluded."""

    name: Name
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class All(_Node):
    """Every part holds (``and``; an empty one is true)."""

    parts: tuple[Expression, ...]
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class Any(_Node):
    """Some part holds (``or``; an empty one is false)."""

    parts: tuple[Expression, ...]
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


@dataclass(frozen=True, slots=True)
class Not(_Node):
    """The part does not hold."""

    part: Expression
    at: Span = field(default=(0, 0), compare=False)
    __hash__ = _remembered_hash


Expression = Constant | Name | Arithmetic | Call | Compare | OneOf | Known | All | Any | Not


def children(node: Expression) -> tuple[Expression, ...]:
    """The node's direct parts."""
    match node:
        case Constant() | Name():
            return ()
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Call(arguments=parts) | All(parts=parts) | Any(parts=parts):
            return parts
        case OneOf(left=left, options=options):
            return (left, *options)
        case Known(name=name):
            return (name,)
        case Not(part=part):
            return (part,)


def names(node: Expression) -> Iterator[Name]:
    """Every name in the expression, in order, repeats included."""
    if isinstance(node, Name):
        yield node
    for child in children(node):
        yield from names(child)


def negated_names(node: Expression, *, negative: bool = False) -> Iterator[Name]:
    """The names that stand under a ``not``, or in ``known()``: those whose missing value could be mistaken for a no."""
    if isinstance(node, Known):
        yield node.name
    elif isinstance(node, Not):
        yield from negated_names(node.part, negative=True)
    elif negative and isinstance(node, Name):
        yield node
    else:
        for child in children(node):
            yield from negated_names(child, negative=negative)


def atoms(node: Expression) -> Iterator[Expression]:
    """The smallest parts that are true or false by themselves."""
    if isinstance(node, All | Any):
        for part in node.parts:
            yield from atoms(part)
    elif isinstance(node, Not):
        yield from atoms(node.part)
    else:
        yield node
