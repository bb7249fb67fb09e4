"""Text to expression tree, through Python's ``ast`` module and a whitelist; nothing is ever evaluated as Python."""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from sys import intern
from typing import TYPE_CHECKING

from whygpu.language.tree import (
    All,
    Any,
    Arithmetic,
    ArithmeticOp,
    Call,
    Compare,
    CompareOp,
    Constant,
    Expression,
    Known,
    Name,
    Not,
    OneOf,
    Span,
)

if TYPE_CHECKING:
    from whygpu.errors import Problem
    from whygpu.yamldoc.document import Scalar

MAX_LENGTH = 1_000
MAX_NESTING = 20
MAX_OPTIONS = 100

_COMPARE: dict[type[ast.cmpop], CompareOp] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_ARITHMETIC: dict[type[ast.operator], ArithmeticOp] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_FLAGS = {"true": True, "false": False, "True": True, "False": False}


# A name may end in a word that Python keeps for itself (gpu.class): outside quotes it is capitalised for the parser
# and put back.
_ATTRIBUTE = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?<=\.)([a-z]+)\b""")

_SINGLE_EQUALS = re.compile(r"(?<![=!<>:])=(?!=)")


def _spare_keywords(text: str) -> str:
    return _ATTRIBUTE.sub(
        lambda match: (
            match.group(0).capitalize() if match.group(2) and keyword.iskeyword(match.group(2)) else match.group(0)
        ),
        text,
    )


class _RefusedError(Exception):
    def __init__(self, code: str, message: str, node: ast.AST | None, help_text: str | None = None) -> None:
        self.code, self.message, self.node, self.help = code, message, node, help_text


def parse(text: str, where: Scalar, problems: list[Problem]) -> Expression | None:
    """Parse ``text``, which is the scalar ``where``; None, with one problem added, where it is no expression."""
    if len(text) > MAX_LENGTH:
        problems.append(
            _problem(
                where,
                "too-long",
                f"an expression of {len(text):,} characters; the limit is {MAX_LENGTH:,}",
                0,
                "name a part of it in values.yaml",
            )
        )
        return None
    flat = text.replace("\n", " ").strip()
    shift = len(text) - len(text.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of '\d' and of 1 is 1 on standard error
            tree = ast.parse(_spare_keywords(flat), mode="eval").body
        return _Translator(flat).expression(tree, 0)
    except _RefusedError as refused:
        start = _characters(flat, getattr(refused.node, "col_offset", 0)) + shift
        end = _characters(flat, getattr(refused.node, "end_col_offset", None) or 0) + shift
        problems.append(_problem(where, refused.code, refused.message, start, refused.help, max(end, start + 1)))
    except SyntaxError as error:
        message = f"not an expression: {error.msg}"
        help_text = "compare with '==', a single '=' assigns" if _SINGLE_EQUALS.search(flat) else None
        at = (error.offset or 0) - 1
        if not 0 <= at < len(flat):  # it ends too early
            at, help_text = len(flat), "something is missing at the end"
        problems.append(_problem(where, "syntax", message, at + shift, help_text))
    except (ValueError, RecursionError, MemoryError):
        problems.append(_problem(where, "syntax", "not an expression: too deeply nested or with odd characters", 0))
    return None


def _characters(text: str, utf8_offset: int) -> int:
    """``ast`` counts columns in UTF-8 bytes; people count characters."""
    return len(text.encode()[:utf8_offset].decode(errors="ignore"))


def _problem(
    where: Scalar, code: str, message: str, start: int, help_text: str | None = None, end: int | None = None
) -> Problem:
    return where.problem(code, message, start, start + 1 if end is None else end, help_text)


def problem_at(where: Scalar, node: Expression, code: str, message: str, help_text: str | None = None) -> Problem:
    """A problem at the node of an expression that was parsed from ``where``."""
    shift = len(where.text) - len(where.text.lstrip())
    return _problem(where, code, message, node.at[0] + shift, help_text, node.at[1] + shift)


class _Translator:
    def __init__(self, text: str) -> None:
        self._text = text

    def _span(self, node: ast.expr) -> Span:
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return _characters(self._text, node.col_offset), _characters(self._text, end)

    def expression(self, node: ast.expr, depth: int) -> Expression:
        if depth > MAX_NESTING:
            raise _RefusedError(
                "too-deep", f"nested deeper than {MAX_NESTING} levels", node, "name a part in values.yaml"
            )
        at = self._span(node)
        match node:
            case ast.Constant():
                return self._constant(node, at)
            case ast.Name() | ast.Attribute():
                return self._name(node, at)
            case ast.BoolOp(op=ast.And(), values=values):
                return All(tuple(self.expression(value, depth + 1) for value in values), at)
            case ast.BoolOp(values=values):
                return Any(tuple(self.expression(value, depth + 1) for value in values), at)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.expression(operand, depth + 1), at)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.expression(operand, depth + 1)
                if isinstance(inner, Constant) and isinstance(inner.value, float):
                    return Constant(-inner.value, at)
                return Arithmetic("-", Constant(0.0, at), inner, at)
            case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
                left, right = self.expression(node.left, depth + 1), self.expression(node.right, depth + 1)
                return Arithmetic(_ARITHMETIC[type(operator)], left, right, at)
            case ast.Compare():
                return self._compare(node, at, depth)
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
                return self._call(function, arguments, at, depth)
        raise _RefusedError(
            "not-allowed",
            f"'{self._text[slice(*at)][:60]}' is not part of the rule language",
            node,
            "use names, numbers, 'texts', comparisons, in, and, or, not, known(), + - * / and checks",
        )

    def _constant(self, node: ast.Constant, at: Span) -> Constant:
        match node.value:
            case bool() as flag:
                return Constant(flag, at)
            case int() | float() as number if abs(number) < 1e300:
                return Constant(float(number), at)
            case str() as text if text:
                return Constant(text, at)
        raise _RefusedError("not-allowed", "a constant must be a number, true, false or a 'text'", node)

    def _name(self, node: ast.expr, at: Span) -> Expression:
        parts: list[str] = []
        part: ast.expr = node
        while isinstance(part, ast.Attribute):
            parts.append(part.attr.lower() if keyword.iskeyword(part.attr.lower()) else part.attr)
            part = part.value
        if not isinstance(part, ast.Name):
            raise _RefusedError("not-allowed", "a name is written entity.attribute", node)
        parts.append(part.id)
        dotted = ".".join(reversed(parts))
        if dotted in _FLAGS:
            return Constant(_FLAGS[dotted], at)
        return Name(intern(dotted), at)

    def _compare(self, node: ast.Compare, at: Span, depth: int) -> Expression:
        parts: list[Expression] = []
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                inside = OneOf(self.expression(left, depth + 1), self._options(right), at)
                parts.append(Not(inside, at) if isinstance(operator, ast.NotIn) else inside)
            elif type(operator) in _COMPARE:
                sides = self.expression(left, depth + 1), self.expression(right, depth + 1)
                parts.append(Compare(_COMPARE[type(operator)], *sides, at))
            else:
                raise _RefusedError("not-allowed", "'is' is not part of the rule language", node, "use == or !=")
            left = right
        return parts[0] if len(parts) == 1 else All(tuple(parts), at)

    def _options(self, node: ast.expr) -> tuple[Constant, ...]:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set) or not node.elts:
            raise _RefusedError("not-allowed", "after 'in' comes a list of constants", node, "in ['a', 'b']")
        if len(node.elts) > MAX_OPTIONS:
            raise _RefusedError("too-long", f"more than {MAX_OPTIONS} options", node)
        options = [self.expression(item, 0) for item in node.elts]
        if not all(isinstance(option, Constant) for option in options):
            raise _RefusedError(
                "not-allowed", "after 'in' come constants only", node, "join comparisons with 'or' instead"
            )
        return tuple(option for option in options if isinstance(option, Constant))

    def _call(self, function: str, arguments: list[ast.expr], at: Span, depth: int) -> Expression:
        parts = tuple(self.expression(argument, depth + 1) for argument in arguments)
        if function == "known":
            if len(parts) != 1 or not isinstance(parts[0], Name):
                raise _RefusedError("not-allowed", "known() takes one name", arguments[0] if arguments else None)
            return Known(parts[0], at)
        return Call(function, parts, at)
