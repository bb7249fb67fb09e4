"""The evaluator: an expression tree and an environment to a value, for one consultation or over a column of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from whygpu.language import values as v
from whygpu.language.tree import All, Any, Arithmetic, Call, Compare, Constant, Expression, Known, Name, Not, OneOf

if TYPE_CHECKING:
    from collections.abc import Sequence


class Environment(Protocol):
    """What expressions are evaluated in."""

    def value(self, name: str) -> v.Value:
        """The value of a vocabulary name; unknown ones as the unknown of their type."""

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """The value of a named numeric check."""


class Evaluator:
    """Evaluates expressions in one environment and remembers what it found until it is told to forget."""

    __slots__ = ("_asked", "_environment", "_found")

    def __init__(self, environment: Environment) -> None:
        """Start with nothing remembered."""
        self._environment = environment
        self._found: dict[Expression, v.Value] = {}
        self._asked: set[str] = set()

    def forget(self) -> None:
        """Forget all that was found."""
        self._found.clear()
        self._asked.clear()

    def renew(self, name: str) -> None:
        """The name has another value now: forget what was found, unless it cannot rest on the name."""
        if name in self._asked:
            self.forget()

    def truth(self, node: Expression) -> v.Truth:
        """Three-valued truth of a type-checked condition."""
        value = self.value(node)
        if not isinstance(value, v.Truth):
            raise TypeError(f"not a condition: {node}")
        return value

    def value(self, node: Expression) -> v.Value:
        """Value of a type-checked expression."""
        if isinstance(node, Constant | Name):  # not remembered: Constant(1.0) equals Constant(True) in Python
            return self._compute(node)
        found = self._found.get(node)
        if found is None:
            found = self._found[node] = self._compute(node)
        return found

    def _number(self, node: Expression) -> v.Number:
        value = self.value(node)
        if not isinstance(value, v.Number):
            raise TypeError(f"not a number: {node}")
        return value

    def _compute(self, node: Expression) -> v.Value:
        match node:
            case Constant(value=bool() as flag):
                return v.TRUE if flag else v.FALSE
            case Constant(value=float() as number):
                return v.number(number)
            case Constant(value=word):
                return v.Word(word)
            case Name(name=name):
                self._asked.add(name)
                return self._environment.value(name)
            case Compare(op=op, left=left, right=right):
                return self._compare(op, self.value(left), self.value(right))
            case OneOf(left=left, options=options):
                value = self.value(left)
                truth = v.FALSE
                for option in options:
                    truth = truth | self._compare("==", value, self.value(option))
                return truth
            case All(parts=parts):
                truth = v.TRUE
                for part in parts:
                    truth = truth & self.truth(part)
                    if truth.false is True:  # false for every plan alike: the rest cannot change it
                        break
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
