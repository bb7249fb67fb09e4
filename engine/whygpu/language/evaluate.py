"""The evaluator: an expression tree and an environment to a value, for one consultation or over a column of plans."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast

from whygpu.language import values as v
from whygpu.language.tree import All, Any, Arithmetic, Call, Compare, Constant, Expression, Known, Name, Not, OneOf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whygpu.language.numbering import Lasting, Rests


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
    """Evaluates expressions in one environment and remembers what it found until it is told to forget.

    It may take what another one found before: of expressions that rest on nothing that differs.
    """

    __slots__ = (
        "_asked",
        "_before",
        "_environment",
        "_found",
        "_kept",
        "_numbers",
        "_others",
        "_rests",
        "_taken",
        "differs",
    )

    def __init__(
        self,
        environment: Environment,
        numbers: Mapping[int, int] = _NONE,
        kept: Kept | None = None,
        rests: Rests | None = None,
        before: Evaluator | None = None,
    ) -> None:
        """``numbers``: those of a numbering; ``kept``: what was found before of the names that keep their values;
        ``rests``: what the numbered expressions rest on; ``before``: the evaluator to take from.
        """
        self._environment = environment
        self._numbers = numbers
        self._kept = kept
        self._rests = rests
        self._before = before
        self.differs = 0
        """The bits of what has, or may have, another value than in the evaluator before."""
        self._found: dict[int, v.Value] = {}
        self._others: dict[Expression, v.Value] = {}
        self._asked: set[str] = set()
        self._taken = 0
        """The bits of what the expressions rest on that were taken."""

    def forget(self) -> None:
        """Forget all that was found, but for what is kept."""
        self._found.clear()
        self._others.clear()
        self._asked.clear()
        self._taken = 0

    def forget_what_rests_on(self, bits: int) -> None:
        """Forget what was found of expressions that rest on any of these."""
        if self._rests is None:
            self.forget()
            return
        of = self._rests.of
        self._found = {number: found for number, found in self._found.items() if not of(number) & bits}
        self._others.clear()

    def renew(self, name: str) -> None:
        """The name has another value now: forget what was found, unless it cannot rest on the name."""
        bit = 0 if self._rests is None else self._rests.bit(name)
        if name in self._asked or bit & self._taken:
            self.forget_what_rests_on(bit)

    def stand_alone(self) -> None:
        """Take nothing more: the evaluator before need not be kept for it."""
        self._before = None

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
        """The value of what is not remembered: it may have been found before, or be kept, or in part."""
        kept, before = self._kept, self._before
        if before is not None and self._rests is not None and not (rests := self._rests.of(number)) & self.differs:
            taken = before._found.get(number)
            if taken is not None:
                self._taken |= rests
                return taken
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
        """The value of a node by its kind: each is looked up, for to match class patterns in turn takes longer."""
        return _COMPUTE[type(node)](self, node)

    def _conjunction(self, node: All) -> v.Truth:
        return self._all(node.parts)

    def _compared(self, node: Compare) -> v.Truth:
        return self._compare(node.op, self.value(node.left), self.value(node.right))

    def _constant(self, node: Constant) -> v.Value:
        match node.value:
            case bool() as flag:
                return v.TRUE if flag else v.FALSE
            case float() as number:
                return v.number(number)
            case word:
                return v.Word(word)

    def _name(self, node: Name) -> v.Value:
        self._asked.add(node.name)
        return self._environment.value(node.name)

    def _one_of(self, node: OneOf) -> v.Truth:
        value = self.value(node.left)
        truth = v.FALSE
        for option in node.options:
            truth = truth | self._compare("==", value, self.value(option))
        return truth

    def _disjunction(self, node: Any) -> v.Truth:
        truth = v.FALSE
        for part in node.parts:
            truth = truth | self.truth(part)
            if truth.true is True:
                break
        return truth

    def _negated(self, node: Not) -> v.Truth:
        return ~self.truth(node.part)

    def _is_known(self, node: Known) -> v.Truth:
        return self._known(self.value(node.name))

    def _computed(self, node: Arithmetic) -> v.Number:
        return v.arithmetic(node.op, self._number(node.left), self._number(node.right))

    def _called(self, node: Call) -> v.Value:
        if node.function in ("min", "max"):
            return v.least([self._number(item) for item in node.arguments], greatest=node.function == "max")
        return self._environment.call(node.function, [self.value(item) for item in node.arguments])

    @staticmethod
    def _compare(op: str, left: v.Value, right: v.Value) -> v.Truth:
        if isinstance(left, v.Number) and isinstance(right, v.Number):
            return v.compare(op, left, right)
        if isinstance(left, v.Word) and isinstance(right, v.Word):
            return v.compare_words(op, left, right)
        if isinstance(left, v.Truth) and isinstance(right, v.Truth):
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


_COMPUTE: Mapping[type[Expression], Callable[[Evaluator, Expression], v.Value]] = MappingProxyType(
    cast(
        "dict[type[Expression], Callable[[Evaluator, Expression], v.Value]]",
        {
            All: Evaluator._conjunction,
            Any: Evaluator._disjunction,
            Arithmetic: Evaluator._computed,
            Call: Evaluator._called,
            Compare: Evaluator._compared,
            Constant: Evaluator._constant,
            Known: Evaluator._is_known,
            Name: Evaluator._name,
            Not: Evaluator._negated,
            OneOf: Evaluator._one_of,
        },
    )
)
