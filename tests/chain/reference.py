"""A third opinion: what a program means, by plain recursion over its rules, one plan at a time.

It shares the parsed conditions and nothing else with the engines: no strata, no columns, no numpy, no order of rules.
A row of a decision table is judged by the cells that were drawn and its table's hit policy.
Truth is True, False or None (unknown); a number is (low, high), LACK or None.
"""

from __future__ import annotations

import math
import operator
from itertools import product
from typing import TYPE_CHECKING

from tests.chain.programs import Gap
from tests.chain.tables import ANY
from whygpu.knowledge.rules import AllOf, AnyOf, Conclude, Condition, Require
from whygpu.language import tree as t

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.chain import tables
    from tests.chain.programs import Cell, Program
    from whygpu.knowledge.questions import DerivedValue
    from whygpu.knowledge.rules import ConditionTree, Rule

Interval = tuple[float, float]
Value = Interval | Gap | bool | str | None

EVERYTHING: Interval = (-math.inf, math.inf)
_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class Reference:
    """The meaning of one program; ``plan`` is a plan's number, None for the consultation."""

    def __init__(self, program: Program, checks: Mapping[str, Callable[[Cell], Cell]]) -> None:
        self._program = program
        self._knowledge = program.knowledge
        self._checks = checks
        self._overriders: dict[str, list[Rule]] = {}
        for rule in self._knowledge.rules:
            for other in rule.overrides:
                self._overriders.setdefault(other, []).append(rule)
        self._concluders: dict[str, list[tuple[Rule, float | bool | str]]] = {}
        for rule in self._knowledge.rules:
            for effect in rule.effects:
                if isinstance(effect, Conclude):
                    self._concluders.setdefault(effect.name, []).append((rule, effect.value))
        self._values: dict[tuple[str, int | None], Value] = {}
        self._truths: dict[tuple[str, int | None], bool | None] = {}

    def fires(self, rule: Rule, plan: int | None) -> bool | None:
        """Whether the rule's condition holds."""
        key = rule.id, None if rule.scope == "session" else plan
        if key not in self._truths:
            self._truths[key] = self._judge(rule, key[1])
        return self._truths[key]

    def _judge(self, rule: Rule, plan: int | None) -> bool | None:
        """When, and not unless; what a rule requires must fail for it to reject."""
        required = [effect.condition for effect in rule.effects if isinstance(effect, Require)]
        failed = _not(_all([self._holds(part, plan) for part in required])) if required else True
        if "/" in rule.id:
            return _all([self._matches(rule, plan), failed])
        return _all([self._holds(rule.when, plan), _not(self._holds(rule.unless, plan)), failed])

    def _matches(self, rule: Rule, plan: int | None) -> bool | None:
        """Whether the row of a table counts: its cells, and none of the rows above it where the first counts."""
        identifier, _, row = rule.id.partition("/")
        table = self._program.tables[identifier]
        cells = table.rows[row]
        shared = len(rule.when.parts) - sum(cell != ANY for cell in cells)
        own = [self._holds(part, plan) for part in rule.when.parts[:shared]]
        excepted = [self._holds(part, plan) for part in rule.unless.parts[: table.exceptions]]
        above = [self._row(table.columns, other, plan) for other in table.above(row)]
        return _all([*own, self._row(table.columns, cells, plan), _not(_any([*excepted, *above]))])

    def _row(self, columns: tuple[str, ...], cells: tuple[tables.Cell, ...], plan: int | None) -> bool | None:
        found = []
        for name, cell in zip(columns, cells, strict=True):
            value = self.value(name, plan)
            found.append(_any([_all([_compare(op, value, _given(wanted)) for op, wanted in tests]) for tests in cell]))
        return _all(found)

    def _holds(self, part: ConditionTree, plan: int | None) -> bool | None:
        match part:
            case Condition(tree=tree):
                return self._truth(tree, plan)
            case AllOf(parts=parts):
                return _all([self._holds(inner, plan) for inner in parts])
            case AnyOf(parts=parts):
                return _any([self._holds(inner, plan) for inner in parts])

    def stands(self, rule: Rule, plan: int | None) -> bool:
        """Whether it fires and nothing that stands overrides it."""
        overriders = self._overriders.get(rule.id, ())
        return self.fires(rule, plan) is True and not any(self.stands(other, plan) for other in overriders)

    def alive(self, plan: int) -> bool:
        """Whether no rule that stands rejects the plan."""
        return not any(rule.rejects and self.stands(rule, plan) for rule in self._knowledge.rules)

    def value(self, name: str, plan: int | None) -> Value:
        """What the name is worth."""
        scope = self._knowledge.vocabulary[name].scope
        key = name, plan if scope == "plan" else None
        if key not in self._values:
            self._values[key] = self._find(*key)
        return self._values[key]

    def _find(self, name: str, plan: int | None) -> Value:
        program = self._program
        if name in program.session:
            return _given(program.session[name])
        if name in program.columns and plan is not None:
            return _given(program.columns[name][plan])
        derived = self._knowledge.values.get(name)
        if derived is not None and derived.aggregate is None:
            return self._expression(derived.expression, plan)
        if derived is not None:
            return self._aggregate(derived)
        return self._concluded(name, plan) if name in self._concluders else None

    def _aggregate(self, derived: DerivedValue) -> Value:
        plans = [
            plan
            for plan in range(self._program.size)
            if self.alive(plan) and (derived.where is None or self._expression(derived.where, plan) is True)
        ]
        found = [self._expression(derived.expression, plan) for plan in plans]
        if derived.aggregate == "count":
            count = float(sum(value is True for value in found))
            return count, count
        points = [value[0] for value in found if isinstance(value, tuple) and value[0] == value[1]]
        if not points:
            return None
        best = min(points) if derived.aggregate == "min" else max(points)
        return best, best

    def _concluded(self, name: str, plan: int | None) -> Value:
        said = {value for rule, value in self._concluders[name] if self.stands(rule, plan)}
        if said:
            return _given(said.pop()) if len(said) == 1 else None
        otherwise = self._knowledge.vocabulary[name].otherwise
        if otherwise is None or any(self.fires(rule, plan) is None for rule, _ in self._concluders[name]):
            return None
        return _given(otherwise)

    def _truth(self, node: t.Expression, plan: int | None) -> bool | None:
        value = self._expression(node, plan)
        if value is None or isinstance(value, bool):
            return value
        raise TypeError(node)

    def _expression(self, node: t.Expression, plan: int | None) -> Value:
        match node:
            case t.Constant(value=value):
                return _given(value)
            case t.Name(name=name):
                return self.value(name, plan)
            case t.Known(name=t.Name(name=name)):
                found = self.value(name, plan)
                return found[0] == found[1] if isinstance(found, tuple) else found is not None
            case t.Not(part=part):
                return _not(self._truth(part, plan))
            case t.All(parts=parts):
                return _all([self._truth(part, plan) for part in parts])
            case t.Any(parts=parts):
                return _any([self._truth(part, plan) for part in parts])
            case t.OneOf(left=left, options=options):
                one = self._expression(left, plan)
                return _any([_compare("==", one, self._expression(option, plan)) for option in options])
            case t.Compare(op=op, left=left, right=right):
                return _compare(op, self._expression(left, plan), self._expression(right, plan))
            case t.Arithmetic(op=op, left=left, right=right):
                return _arithmetic(op, self._expression(left, plan), self._expression(right, plan))
            case t.Call(function=("min" | "max") as which, arguments=arguments):
                return _least(which, [self._expression(argument, plan) for argument in arguments])
            case t.Call(function=function, arguments=(argument,)):
                return self._check(function, self._expression(argument, plan))
        raise TypeError(node)

    def _check(self, function: str, argument: Value) -> Value:
        if isinstance(argument, tuple):
            return _given(self._checks[function](argument[0])) if argument[0] == argument[1] else None
        return _given(self._checks[function](Gap.UNKNOWN if argument is None else argument))


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: list[bool | None]) -> bool | None:
    return False if False in truths else None if None in truths else True


def _any(truths: list[bool | None]) -> bool | None:
    return True if True in truths else None if None in truths else False


def _given(cell: Cell) -> Value:
    if isinstance(cell, float):
        return cell, cell
    return None if cell is Gap.UNKNOWN else cell


def _compare(op: str, left: Value, right: Value) -> bool | None:
    if Gap.LACK in (left, right):
        return False
    if isinstance(left, tuple) or isinstance(right, tuple):
        (a, b), (c, d) = _interval(left), _interval(right)
        # an interval answers for all numbers in it, or for none: try the ends against one another
        test = getattr(operator, {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[op])
        ends = {test(x, y) for x in (a, b) for y in (c, d)}
        if len(ends) == 1 and not (op in ("==", "!=") and a <= d and c <= b and (a, c) != (b, d)):
            return bool(ends.pop())
        return None
    if left is None or right is None:
        return None
    return (left == right) == (op == "==")


def _interval(value: Value) -> Interval:
    return value if isinstance(value, tuple) else EVERYTHING


def _arithmetic(op: str, left: Value, right: Value) -> Value:
    if Gap.LACK in (left, right):
        return Gap.LACK
    one, other = _interval(left), _interval(right)
    if op == "/" and other[0] <= 0 <= other[1]:
        return None
    corners = [_OPERATIONS[op](x, y) for x, y in product(one, other)]
    low, high = min(corners), max(corners)
    return None if any(map(math.isnan, corners)) or low == math.inf or high == -math.inf else (low, high)


def _least(which: str, values: list[Value]) -> Value:
    if Gap.LACK in values:
        return Gap.LACK
    pick = min if which == "min" else max
    ends = [_interval(value) for value in values]
    return pick(low for low, _ in ends), pick(high for _, high in ends)
