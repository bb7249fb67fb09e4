"""Reads the cells of decision tables and the selectors of cases: a value, a list, a comparison, or '-' for any."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from whygpu.errors import did_you_mean
from whygpu.knowledge.rules import Condition
from whygpu.language.domains import Domain, everything, of_any, of_test
from whygpu.language.names import NameSpec
from whygpu.language.tree import All, Compare, CompareOp, Constant, Expression, Name, OneOf
from whygpu.loader.facts import fits
from whygpu.yamldoc.document import Node, Scalar, Sequence, plain_value
from whygpu.yamldoc.fields import kind_of, problem

if TYPE_CHECKING:
    from whygpu.errors import Problem

ANY = "-"
_COMPARISONS = re.compile(r"\s*(==|!=|<=|>=|<|>)\s*([^\s<>=!]+(?:\s+(?!and\b)[^\s<>=!]+)*)\s*(?:and\b)?")
_OPERATORS: tuple[CompareOp, ...] = get_args(CompareOp)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell says of its name: the condition (None: anything goes) and the values that meet it."""

    condition: Condition | None
    domain: Domain


def is_any(node: Node) -> bool:
    """Whether the cell is '-'."""
    return isinstance(node, Scalar) and node.text == ANY


def read_cell(node: Node, spec: NameSpec, what: str, problems: list[Problem]) -> Cell | None:
    """One cell of a column typed by ``spec``; None, with a problem added, where it does not fit."""
    if is_any(node):
        return Cell(None, everything(spec))
    if isinstance(node, Sequence):
        return _listed(node, spec, what, problems)
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.text.lstrip()[:1] in ("<", ">", "=", "!"):
        return _comparison(node, spec, what, problems)
    value = _value(node, spec, what, problems)
    if value is None:
        return None
    tree = Compare("==", Name(spec.name), Constant(value))
    return _cell(tree, f"{spec.name} == {_shown(value)}", node, of_test(spec, "==", value))


def _listed(node: Sequence, spec: NameSpec, what: str, problems: list[Problem]) -> Cell | None:
    values = [_value(item, spec, what, problems) for item in node.items]
    if not values:
        problem(problems, node, "bad-cell", f"{what}: the list is empty", "write '-' for any value")
    if not values or None in values:
        return None
    constants = [value for value in values if value is not None]
    text = f"{spec.name} in [{', '.join(_shown(value) for value in constants)}]"
    tree = OneOf(Name(spec.name), tuple(Constant(value) for value in constants))
    return _cell(tree, text, node, of_any(spec, constants))


def _comparison(node: Scalar, spec: NameSpec, what: str, problems: list[Problem]) -> Cell | None:
    parts: list[Expression] = []
    texts: list[str] = []
    domain = everything(spec)
    end = 0
    while end < len(node.text.rstrip()):
        match = _COMPARISONS.match(node.text, end)
        operator = next((known for known in _OPERATORS if match and known == match.group(1)), None)
        if match is None or operator is None:
            help_text = "write '>= 16', '>= 16 < 40' or '!= word'"
            problems.append(node.problem("bad-cell", f"{what}: not a comparison", end, len(node.text), help_text))
            return None
        end = match.end()
        value = plain_value(match.group(2))
        value = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if value is None or not fits(spec, value):
            near = did_you_mean(match.group(2), spec.words) if spec.values else None
            message = f"{what}: {spec.name} is a {spec.kind}, not '{match.group(2)}'"
            problems.append(node.problem("bad-cell", message, *match.span(2), near))
            return None
        if spec.kind != "number" and operator not in ("==", "!="):
            message = f"{what}: '{operator}' needs a number; {spec.name} is a {spec.kind}"
            problems.append(node.problem("bad-cell", message, *match.span(1), "use == or !="))
            return None
        parts.append(Compare(operator, Name(spec.name), Constant(value)))
        texts.append(f"{spec.name} {operator} {_shown(value)}")
        domain = domain.meet(of_test(spec, operator, value))
    if domain.empty:
        problem(problems, node, "bad-cell", f"{what}: no value can be {node.text}")
        return None
    tree = parts[0] if len(parts) == 1 else All(tuple(parts))
    return _cell(tree, " and ".join(texts), node, domain)


def _value(node: Node, spec: NameSpec, what: str, problems: list[Problem]) -> float | bool | str | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, float) and spec.kind == "text" and isinstance(node, Scalar):
        value = node.text
    if value is not None and fits(spec, value):
        return value
    near = did_you_mean(node.text, spec.words) if isinstance(node, Scalar) and spec.values else None
    allowed = f"one of {', '.join(spec.words)}" if spec.values else None
    problem(problems, node, "bad-cell", f"{what}: {spec.name} is a {spec.kind}, not {kind_of(node)}", near or allowed)
    return None


def _cell(tree: Expression, text: str, node: Node, domain: Domain) -> Cell:
    return Cell(Condition(text, tree, node.location), domain)


def _shown(value: float | bool | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else f"'{value}'"
