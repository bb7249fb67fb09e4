"""Evaluates the formula of a calculation with its terms put in."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from whygpu.checks.calculation import Calculation

OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "ceil": math.ceil}


def value_of(calculation: Calculation) -> float:
    """What the formula gives. Raises KeyError for a name that is no term."""
    terms = {term.name: float(term.value) for term in calculation.terms}
    assert len(terms) == len(calculation.terms), calculation.name
    return _value(ast.parse(calculation.formula, mode="eval").body, terms)


def _value(node: ast.expr, terms: dict[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return terms[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, terms)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_value(left, terms), _value(right, terms))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name](*(_value(argument, terms) for argument in arguments))
    raise AssertionError(ast.dump(node))
