"""The evaluator: an expression tree and an environment to a value, for one consultation or over a column of plans."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from whygpu.language import values as v
from whygpu.language.tree import All, Any, Arithmetic, Call, Compare, Constant, Expression, Known, Name, Not, OneOf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whygpu.language.numbering import Lasting


class Environment(Protocol):
    """What expressions are evaluated in."""

    def value(self, name: str) -> v.Value:
        """The value of a vocabulary name; unknown ones as the unknown of their type."""

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """The value of a named numeric check."""


class Kept:
    """What expressions came to that rest on names alone that keep their values: for every evaluator that has them."""

    __slots__ = ("conjunctions", "found", "lasting")

    def __init__(self, lasting: Lasting) -> None:
        """Nothing is found yet."""
        self.lasting = lasting
        self.found: dict[int, v.Value] = {}
        self.conjunctions: dict[int, v.Truth] = {}
        """Of a conjunction the parts that last, together."""


_NONE: Mapping[int, int] = MappingProxyType({})


class Evaluator:
    """Evaluates expressions in one environment and remembers what it found until it is told to forget."""

    __slots__ = ("_asked", "_environment", "_found", "_kept", "_numbers", "_others")

    def __init__(self, environment: Environment, numbers: Mapping[int, int] = _NONE, kept: Kept | None = None) -> None:
        """``numbers``: those of a numbering; ``kept``: what was found before of the names that keep their values."""
        self._environment = environment
        self._numbers = numbers
        self._kept = kept
        self._found: dict[int, v.Value] = {}
        self._others: dict[Expression, v.Value] = {}
        self._asked: set[str] = set()

    def forget(self) -> None:
        """Forget all that was found, but for what is kept."""
        self._found.clear()
        self._others.clear()
        self._asked.clear()

    def renew(self, name: str) -> None:
        """The name has another value now: forget what was found, unless it cannot rest on the name."""
        if name in self._asked:
            self.forget()

    def lasts(self, node: Expression) -> bool:
        """Whether what an expression comes to is kept."""
        return self._kept is not None and self._numbers.get(id(node)) in self._kept.lasting.numbers

    def truth(self, node: Expression) -> v.Truth:
        """Three-valued truth of a type-checked condition."""
        value = self.value(node)
        if not isinstance(value, v.Truth):
            raise TypeError(f"not a condition: {node}")
        return value

    def value(self, node: Expression) -> v.Value:
        """Value of a type-checked expression."""
        number = self._numbers.get(id(node))
        if number is None:
            return self._other(node)
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = self._find(number, node)
        return found

    def _find(self, number: int, node: Expression) -> v.Value:
        """The value of what is not remembered: it may be kept from before, or in part."""
        kept = self._kept
        if kept is None:
            return self._compute(node)
        if number in kept.lasting.numbers:
            if number not in kept.found:
                kept.found[number] = self._compute(node)
            return kept.found[number]
        split = kept.lasting.split.get(number)
        return self._compute(node) if split is None else self._split(number, *split)

    def _other(self, node: Expression) -> v.Value:
        """The value of what has no number."""
        if isinstance(node, Name | Constant):  # not remembered: Constant(1.0) equals Constant(True) in Python
            return self._compute(node)
        found = self._others.get(node)
        if found is None:
            found = self._others[node] = self._compute(node)
        return found

    def _split(self, number: int, rest: Sequence[Expression], lasting: Sequence[Expression]) -> v.Truth:
        """A conjunction: where the rest is false for every plan alike, those parts that last cannot change it."""
        truth = self._all(rest)
        if truth.false is True or self._kept is None:
            return truth
        kept = self._kept.conjunctions.get(number)
        if kept is None:
            kept = self._kept.conjunctions[number] = self._all(lasting)
        if kept.true is True:
            return truth
        return kept if truth.true is True else truth & kept

    def _all(self, parts: Sequence[Expression]) -> v.Truth:
        truth = v.TRUE
        for part in parts:
            found = self.truth(part)
            if found.true is True:  # it changes nothing, and takes no column to say so
                continue
            truth = found if truth.true is True else truth & found
            if truth.false is True:  # false for every plan alike: the rest cannot change it
                break
        return truth

    def _number(self, node: Expression) -> v.Number:
        value = self.value(node)
        if not isinstance(value, v.Number):
            raise TypeError(f"not a number: {node}")
        return value

    def _compute(self, node: Expression) -> v.Value:
        match node:
            case Compare(op=op, left=left, right=right):
                return self._compare(op, self.value(left), self.value(right))
            case All(parts=parts):
                return self._all(parts)
            case Constant(value=bool() as flag):
                return v.TRUE if flag else v.FALSE
            case Constant(value=float() as number):
                return v.number(number)
            case Constant(value=word):
                return v.Word(word)
            case Name(name=name):
                self._asked.add(name)
                return self._environment.value(name)
            case OneOf(left=left, options=options):
                value = self.value(left)
                truth = v.FALSE
                for option in options:
                    truth = truth | self._compare("==", value, self.value(option))
                return truth
            case Any(parts=parts):
                truth = v.FALSE
                for part in parts:
                    truth = truth | self.truth(part)
                    if truth.true is True:
                        break
                return truth
            case Not(part=part):
                return ~self.truth(part)
            case Known(name=name):
                return self._known(self.value(name))
            case Arithmetic(op=op, left=left, right=right):
                return v.arithmetic(op, self._number(left), self._number(right))
            case Call(function=("min" | "max") as which, arguments=arguments):
                return v.least([self._number(argument) for argument in arguments], greatest=which == "max")
            case Call(function=function, arguments=arguments):
                return self._environment.call(function, [self.value(argument) for argument in arguments])

    @staticmethod
    def _compare(op: str, left: v.Value, right: v.Value) -> v.Truth:
        match left, right:
            case v.Number(), v.Number():
                return v.compare(op, left, right)
            case v.Word(), v.Word():
                return v.compare_words(op, left, right)
            case v.Truth(), v.Truth():
                same = v.same_truth(left, right)
                return same if op == "==" else ~same
        raise TypeError(f"cannot compare {left} with {right}")

    @staticmethod
    def _known(value: v.Value) -> v.Truth:
        match value:
            case v.Number():
                known = (value.low == value.high) | (value.present ^ True)
            case v.Word():
                known = value.word != ""
            case v.Truth():
                known = value.true | value.false
        return v.Truth(known, known ^ True)
