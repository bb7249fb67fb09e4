"""Rewrites a condition as alternatives of plain conjunctions: the shape durable-rules can be trusted with."""

from __future__ import annotations

from dataclasses import dataclass

from whygpu.language.tree import MIRRORED, All, Any, Compare, CompareOp, Constant, Expression, Name, Not, OneOf

MAX_ALTERNATIVES = 24


@dataclass(frozen=True, slots=True)
class Literal:
    """A part that must hold, or (not ``positive``) must not."""

    part: Expression
    positive: bool


def alternatives(condition: Expression, most: int = MAX_ALTERNATIVES) -> tuple[tuple[Literal, ...], ...]:
    """The condition as an ``or`` of ``and`` of literals; as one literal where there would be more than ``most``."""
    found = _alternatives(condition, True, most)
    if found is None:
        return ((Literal(condition, True),),)
    return tuple(dict.fromkeys(tuple(dict.fromkeys(parts)) for parts in found))


def _alternatives(node: Expression, positive: bool, most: int) -> list[tuple[Literal, ...]] | None:
    match node:
        case Not(part=part):
            return _alternatives(part, not positive, most)
        case All(parts=parts) | Any(parts=parts):
            inner = [_alternatives(part, positive, most) for part in parts]
            known = [item for item in inner if item is not None]
            if len(known) < len(inner):
                return None
            if isinstance(node, All) == positive:
                return _product(known, most)
            together = [literals for item in known for literals in item]
            return together if len(together) <= most else None
        case OneOf(left=left, options=options) if positive and len(options) <= most:
            return [(Literal(Compare("==", left, option), True),) for option in options]
        case Constant(value=bool() as value):
            return [()] if value == positive else []
    return [(Literal(node, positive),)]


def _product(parts: list[list[tuple[Literal, ...]]], most: int) -> list[tuple[Literal, ...]] | None:
    found: list[tuple[Literal, ...]] = [()]
    for part in parts:
        if len(found) * len(part) > most:
            return None
        found = [(*left, *right) for left in found for right in part]
    return found


@dataclass(frozen=True, slots=True)
class ConstantTest:
    """``name op constant``: what durable-rules tests by itself."""

    name: str
    op: CompareOp
    constant: float | bool | str


def constant_test(literal: Literal) -> ConstantTest | None:
    """The literal as a test of one name against a constant; None where it must be computed before."""
    match literal.part:
        case Name(name=name):
            return ConstantTest(name, "==", literal.positive)
        case Compare(op=op, left=Name(name=name), right=Constant(value=value)):
            return _test(name, op, value, literal.positive)
        case Compare(op=op, left=Constant(value=value), right=Name(name=name)):
            return _test(name, MIRRORED[op], value, literal.positive)
    return None


def _test(name: str, op: CompareOp, value: float | bool | str, positive: bool) -> ConstantTest | None:
    if isinstance(value, bool):
        return ConstantTest(name, "==", (value == (op == "==")) == positive)
    # not (x > 5) is true where x is a known lack, and x <= 5 is not: a negated comparison is computed before
    return ConstantTest(name, op, value) if positive else None
