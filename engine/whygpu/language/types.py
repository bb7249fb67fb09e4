"""Type-checks an expression against the vocabulary: names and choices that exist, like with like, units that agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whygpu.errors import Problem, did_you_mean
from whygpu.language.parse import problem_at
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
    names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.language.names import NameSpec
    from whygpu.yamldoc.document import Scalar


@dataclass(frozen=True, slots=True)
class Type:
    """What an expression yields; ``unit`` is None where it is not known (a bare constant, a product)."""

    kind: Literal["number", "flag", "word"]
    unit: str | None = None
    values: frozenset[str] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """A named numeric check as expressions see it: the kinds of its arguments, and the unit of the number it gives."""

    name: str
    parameters: tuple[Literal["number", "word"], ...]
    unit: str | None
    meaning: str
    allowed: tuple[frozenset[str] | None, ...] = ()
    """For word parameters, the words there are."""


_FLAG = Type("flag")
_NOUN = {"number": "a number", "flag": "a condition", "word": "a word"}


def check(
    node: Expression,
    want: Literal["number", "flag", "word"],
    where: Scalar,
    vocabulary: Mapping[str, NameSpec],
    functions: Mapping[str, Signature],
    problems: list[Problem],
) -> bool:
    """Whether the expression is well typed and yields ``want``; adds each problem found."""
    checker = _Checker(where, vocabulary, functions, problems)
    found = checker.type_of(node)
    if found is None:
        return False
    if found.kind != want:
        checker.add(node, "wrong-type", f"this is {_NOUN[found.kind]}, where {_NOUN[want]} is needed")
        return False
    return True


class _Checker:
    def __init__(
        self,
        where: Scalar,
        vocabulary: Mapping[str, NameSpec],
        functions: Mapping[str, Signature],
        problems: list[Problem],
    ) -> None:
        self._where = where
        self._vocabulary = vocabulary
        self._functions = functions
        self._problems = problems

    def add(self, node: Expression, code: str, message: str, help_text: str | None = None) -> None:
        self._problems.append(problem_at(self._where, node, code, message, help_text))

    def type_of(self, node: Expression) -> Type | None:
        match node:
            case Constant(value=bool()):
                return _FLAG
            case Constant(value=float()):
                return Type("number")
            case Constant(value=str() as word):
                return Type("word", values=frozenset([word]))
            case Name():
                return self._name(node)
            case Known(name=name):
                return _FLAG if self._name(name) is not None else None
            case Not(part=part):
                return self._flags(part)
            case All(parts=parts) | Any(parts=parts):
                return self._flags(*parts)
            case Arithmetic():
                return self._arithmetic(node)
            case Compare():
                return self._compare(node)
            case OneOf():
                return self._one_of(node)
            case Call():
                return self._call(node)
        return None

    def _name(self, node: Name) -> Type | None:
        spec = self._vocabulary.get(node.name)
        if spec is None:
            near = did_you_mean(node.name, self._vocabulary)
            if near is None and "." not in node.name:
                near = f"put a word in quotes: '{node.name}'"
            self.add(
                node, "unknown-name", f"there is no name '{node.name}'", near or "names are listed in vocabulary.yaml"
            )
            return None
        match spec.kind:
            case "number":
                return Type("number", spec.unit, None, spec.name)
            case "flag":
                return Type("flag", None, None, spec.name)
            case "choice":
                return Type("word", None, frozenset(spec.words), spec.name)
            case "text":
                return Type("word", None, None, spec.name)

    def _flags(self, *parts: Expression) -> Type | None:
        found = [self.type_of(part) for part in parts]
        for part, kind in zip(parts, found, strict=True):
            if kind is not None and kind.kind != "flag":
                self.add(
                    part,
                    "wrong-type",
                    f"this is {_NOUN[kind.kind]}, where a condition is needed",
                    "compare it with something",
                )
                return None
        return _FLAG if all(kind is not None for kind in found) else None

    def _arithmetic(self, node: Arithmetic) -> Type | None:
        left, right = self.type_of(node.left), self.type_of(node.right)
        if left is None or right is None:
            return None
        for side, kind in ((node.left, left), (node.right, right)):
            if kind.kind != "number":
                self.add(side, "wrong-type", f"'{node.op}' needs numbers; this is {_NOUN[kind.kind]}")
                return None
        if node.op in "+-":
            if not self._units_agree(node, left, right):
                return None
            return Type("number", left.unit or right.unit)
        scaled = (
            left.unit if isinstance(node.right, Constant) else right.unit if isinstance(node.left, Constant) else None
        )
        return Type("number", scaled if node.op == "*" or isinstance(node.right, Constant) else None)

    def _units_agree(self, node: Expression, left: Type, right: Type) -> bool:
        if left.unit and right.unit and left.unit != right.unit:
            self.add(
                node,
                "unit-mismatch",
                f"{left.unit} and {right.unit} do not compare",
                "convert one, or use the name in the other unit",
            )
            return False
        return True

    def _compare(self, node: Compare) -> Type | None:
        left, right = self.type_of(node.left), self.type_of(node.right)
        if left is None or right is None:
            return None
        if left.kind != right.kind:
            self.add(
                node,
                "wrong-type",
                f"{_NOUN[left.kind]} cannot be compared with {_NOUN[right.kind]}",
                _quoted(left, right),
            )
            return None
        if left.kind != "number" and node.op not in ("==", "!="):
            plural = _NOUN[left.kind].removeprefix("a ")
            self.add(node, "wrong-type", f"'{node.op}' needs numbers; these are {plural}s", "use == or !=")
            return None
        if left.kind == "number":
            return _FLAG if self._units_agree(node, left, right) else None
        for one, other, side in ((left, right, node.right), (right, left, node.left)):
            if one.name and isinstance(side, Constant) and not self._is_choice(one, other, side):
                return None
        return _FLAG

    def _is_choice(self, name: Type, constant: Type, node: Expression) -> bool:
        if name.values is None or constant.values is None or constant.values <= name.values:
            return True
        word = next(iter(constant.values))
        near = did_you_mean(word, name.values) or f"it is one of {', '.join(sorted(name.values)[:20])}"
        self.add(node, "bad-choice", f"'{word}' is not a value of {name.name}", near)
        return False

    def _one_of(self, node: OneOf) -> Type | None:
        left = self.type_of(node.left)
        if left is None:
            return None
        good = True
        for option in node.options:
            kind = self.type_of(option)
            if kind is None or kind.kind != left.kind:
                self.add(
                    option,
                    "wrong-type",
                    f"this is {_NOUN[kind.kind if kind else 'word']}, the left side is {_NOUN[left.kind]}",
                )
                good = False
            elif left.kind == "word" and not self._is_choice(left, kind, option):
                good = False
        return _FLAG if good else None

    def _call(self, node: Call) -> Type | None:
        found = [self.type_of(argument) for argument in node.arguments]
        if any(kind is None for kind in found):
            return None
        kinds = [kind for kind in found if kind is not None]
        if node.function in ("min", "max"):
            if len(kinds) < 2 or any(kind.kind != "number" for kind in kinds):
                self.add(node, "wrong-type", f"{node.function}() takes two numbers or more")
                return None
            first = next((kind for kind in kinds if kind.unit), kinds[0])
            return first if all(self._units_agree(node, first, kind) for kind in kinds) else None
        signature = self._functions.get(node.function)
        if signature is None:
            known = [*self._functions, "min", "max", "known"]
            self.add(
                node,
                "unknown-check",
                f"there is no check '{node.function}'",
                did_you_mean(node.function, known) or f"there are {', '.join(sorted(known))}",
            )
            return None
        wanted = signature.parameters
        if len(kinds) != len(wanted) or any(kind.kind != want for kind, want in zip(kinds, wanted, strict=False)):
            self.add(
                node, "wrong-type", f"{node.function} takes ({', '.join(wanted) or 'nothing'}): {signature.meaning}"
            )
            return None
        for name in names(node):
            if self._vocabulary[name.name].scope != "session":
                self.add(
                    name,
                    "wrong-scope",
                    f"{node.function} is computed once per consultation; {name.name} belongs to a plan",
                )
                return None
        for argument, kind, allowed in zip(node.arguments, kinds, signature.allowed, strict=False):
            if allowed is not None and isinstance(argument, Constant) and kind.values and not kind.values <= allowed:
                word = next(iter(kind.values))
                self.add(
                    argument, "bad-choice", f"'{word}' is not known to {node.function}", did_you_mean(word, allowed)
                )
                return None
        return Type("number", signature.unit)


def _quoted(left: Type, right: Type) -> str | None:
    if "word" in (left.kind, right.kind):
        return "numbers stand without quotes, words with them"
    return None
