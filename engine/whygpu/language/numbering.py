"""Expressions by number, so that what one came to is looked up without comparing trees, and which of them last."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from whygpu.language.tree import All, Call, Constant, Expression, Name, children

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

Parts = tuple[Expression, ...]
_ADDING = threading.Lock()


class Numbering:
    """Every part of some expressions, numbered: equal ones have one number."""

    def __init__(self, expressions: Iterable[Expression]) -> None:
        """The expressions are kept: their identities are keys."""
        self.numbers: dict[int, int] = {}
        """By the identity of each part."""
        self.parts: list[Expression] = []
        """One part of each number."""
        self._equal: dict[object, int] = {}
        self._expressions: list[Expression] = []
        self.add(expressions)

    def add(self, expressions: Iterable[Expression]) -> None:
        """Number some more."""
        todo = list(expressions)
        with _ADDING:  # or two that are not equal had one number
            self._expressions += todo
            while todo:
                node = todo.pop()
                # in Python 1.0 equals True
                key = (type(node.value), node.value) if isinstance(node, Constant) else node
                number = self._equal.setdefault(key, len(self._equal))
                if number == len(self.parts):
                    self.parts.append(node)
                self.numbers[id(node)] = number
                todo += children(node)


class Lasting:
    """The expressions of a numbering that rest on certain names alone: what they come to lasts as long as those do."""

    def __init__(
        self, numbering: Numbering, given: Container[str], derived: Callable[[str], Expression | None]
    ) -> None:
        """``given``: the names; ``derived``: the expression of a name that is computed, None for the others."""
        self._numbers, self._given, self._derived = numbering.numbers, given, derived
        self._names: dict[str, bool] = {}
        self._flags: dict[int, bool | None] = {}
        found = {number: self._rests(node) for number, node in enumerate(numbering.parts)}
        constants = {number for number, node in enumerate(numbering.parts) if isinstance(node, Constant)}
        self.numbers = constants.union(number for number, lasts in found.items() if lasts)
        """Those of the expressions that last."""
        self.split: Mapping[int, tuple[Parts, Parts]] = {
            number: split
            for number, node in enumerate(numbering.parts)
            if isinstance(node, All) and number not in self.numbers and (split := self._split(node))[1]
        }
        """Of conjunctions that do not: the parts that do not last, and those that do."""

    def _rests(self, node: Expression) -> bool | None:
        """Whether an expression rests on the names alone; None where it rests on none."""
        if isinstance(node, Name):
            return self._lasts(node.name)
        number = self._numbers.get(id(node))
        if number is not None and number in self._flags:
            return self._flags[number]
        flags = {self._rests(part) for part in children(node)} - {None}
        found = None if not flags else False not in flags
        if number is not None:
            self._flags[number] = found
        return found

    def _lasts(self, name: str) -> bool:
        if name not in self._names:
            computed = None if name in self._given else self._derived(name)
            self._names[name] = name in self._given or (computed is not None and self._rests(computed) is True)
        return self._names[name]

    def _split(self, node: All) -> tuple[Parts, Parts]:
        flags = [(part, self._rests(part)) for part in node.parts]
        return tuple(part for part, lasts in flags if not lasts), tuple(part for part, lasts in flags if lasts)


CALLED = 1
"""The bit of numeric checks: what those come to rests on the work that is sized."""
_PURE = ("min", "max")


class Rests:
    """What each expression of a numbering rests on: a bit for each name, together in one number."""

    def __init__(self, numbering: Numbering, derived: Callable[[str], Expression | None]) -> None:
        """``derived``: the expression of a name that is computed, None for the others."""
        self._numbers, self._parts, self._derived = numbering.numbers, numbering.parts, derived
        self._bits: dict[str, int] = {}
        self._of: dict[int, int] = {}
        for node in numbering.parts:
            self._rests(node)

    def of(self, number: int) -> int:
        """That of an expression, which may have been numbered since: an engine adds its own."""
        found = self._of.get(number)
        return self._rests(self._parts[number]) if found is None else found

    def bit(self, name: str) -> int:
        """That of a name."""
        return self._bits.setdefault(name, 2 << len(self._bits))

    def bits(self, names: Iterable[str]) -> int:
        """Those of several."""
        found = 0
        for name in names:
            found |= self.bit(name)
        return found

    def _rests(self, node: Expression) -> int:
        number = self._numbers.get(id(node))
        if number is not None and number in self._of:
            return self._of[number]
        found = CALLED if isinstance(node, Call) and node.function not in _PURE else 0
        if isinstance(node, Name):
            found = self.bit(node.name)
            computed = self._derived(node.name)
            found |= 0 if computed is None else self._rests(computed)
        for part in children(node):
            found |= self._rests(part)
        if number is not None:
            self._of[number] = found
        return found
