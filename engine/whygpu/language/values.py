"""What an expression is worth: three-valued truth, numbers that may be intervals, words that may be unknown.

Each class holds plain Python values (once per consultation) or numpy arrays over plans; the operators used work on
both alike, so there is one evaluator. Truth is two flags, surely true and surely false; neither set is unknown
(Kleene's strong logic).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Flags = Any  # bool, or a numpy array of bool over plans
Floats = Any  # float, or a numpy array of float64 over plans
Words = Any  # str, or a numpy array of str over plans; "" is unknown


@dataclass(frozen=True, slots=True)
class Truth:
    """Surely true, surely false."""

    true: Flags
    false: Flags

    def __and__(self, other: Truth) -> Truth:
        """Both."""
        return Truth(self.true & other.true, self.false | other.false)

    def __or__(self, other: Truth) -> Truth:
        """Either."""
        return Truth(self.true | other.true, self.false & other.false)

    def __invert__(self) -> Truth:
        """Not."""
        return Truth(self.false, self.true)


TRUE = Truth(True, False)
FALSE = Truth(False, True)
UNKNOWN = Truth(False, False)


@dataclass(frozen=True, slots=True)
class Number:
    """A number between ``low`` and ``high`` (the same object where it is a point); not ``present``: a known lack."""

    low: Floats
    high: Floats
    present: Flags = True

    @property
    def is_point(self) -> bool:
        """Whether it is one known number (of scalars), everywhere (of arrays)."""
        return self.low is self.high


NO_NUMBER = Number(-math.inf, math.inf)
ABSENT = Number(math.nan, math.nan, False)


@dataclass(frozen=True, slots=True)
class Word:
    """A choice or text; the empty text is unknown."""

    word: Words


NO_WORD = Word("")

Value = Truth | Number | Word


def number(value: float) -> Number:
    """A known number; one that is not finite is unknown."""
    return Number(value, value) if math.isfinite(value) else NO_NUMBER


def column(values: Floats, present: Flags = True) -> Number:
    """Numbers over plans; one that is not finite is unknown unless not ``present``."""
    unknown = ~np.isfinite(values)
    if not unknown.any():
        return Number(values, values, present)
    return Number(np.where(unknown, -np.inf, values), np.where(unknown, np.inf, values), present)


_HOLDS: Mapping[str, Callable[[Floats, Floats], bool]] = MappingProxyType(
    {
        ">": operator.gt,
        ">=": operator.ge,
        "<": operator.lt,
        "<=": operator.le,
        "==": operator.eq,
        "!=": operator.ne,
    }
)


def compare(op: str, left: Number, right: Number) -> Truth:
    """Compare two numbers: sure only where the intervals leave no doubt; false wherever one is a known lack."""
    if left.is_point and right.is_point:
        true = _HOLDS[op](left.low, right.low)
        if isinstance(true, bool) and left.present is True and right.present is True:
            return TRUE if true else FALSE
        false = true ^ True
    else:
        true, false = _compare_intervals(op, left, right)
    if left.present is True and right.present is True:
        return Truth(true, false)
    both = left.present & right.present
    return Truth(true & both, false | (both ^ True))


def _compare_intervals(op: str, left: Number, right: Number) -> tuple[Flags, Flags]:
    match op:
        case ">":
            return left.low > right.high, left.high <= right.low
        case ">=":
            return left.low >= right.high, left.high < right.low
        case "<":
            return left.high < right.low, left.low >= right.high
        case "<=":
            return left.high <= right.low, left.low > right.high
    same = (left.low == right.high) & (left.high == right.low)
    apart = (left.low > right.high) | (left.high < right.low)
    return (same, apart) if op == "==" else (apart, same)


def compare_words(op: str, left: Word, right: Word) -> Truth:
    """Equality of two words; unknown where either is."""
    one, other = left.word, right.word
    if isinstance(one, str):
        one, other = other, one
    if isinstance(one, str):
        if not one or not other:
            return UNKNOWN
        return TRUE if (one == other) == (op == "==") else FALSE
    same, known = one == other, one != ""
    if not isinstance(other, str):
        known = known & (other != "")
    elif not other:
        return UNKNOWN
    true, false = same & known, known ^ (same & known)
    return Truth(true, false) if op == "==" else Truth(false, true)


def same_truth(left: Truth, right: Truth) -> Truth:
    """Equality of two flags."""
    return (left & right) | (~left & ~right)


def arithmetic(op: str, left: Number, right: Number) -> Number:
    """Interval arithmetic; exact where both are points. What cannot be computed (x / 0, an overflow) is unknown."""
    present = True if left.present is True and right.present is True else left.present & right.present
    with np.errstate(all="ignore"):
        match op:
            case "+":
                low, high = left.low + right.low, left.high + right.high
            case "-":
                low, high = left.low - right.high, left.high - right.low
            case "*":
                low, high = _extremes(left, right, lambda a, b: a * b)
            case _:
                low, high = _extremes(left, _without_zero(right), lambda a, b: a / b)
        if left.is_point and right.is_point:
            high = low
    return _doubt(low, high, present)


def _without_zero(divisor: Number) -> Number:
    """A divisor that may be zero says nothing: NaN, which ends as unknown."""
    spans = (divisor.low <= 0) & (divisor.high >= 0)
    if isinstance(spans, bool | np.bool_):
        return Number(math.nan, math.nan, divisor.present) if spans else divisor
    low = np.where(spans, np.nan, divisor.low)
    return Number(low, low if divisor.is_point else np.where(spans, np.nan, divisor.high), divisor.present)


def _extremes(left: Number, right: Number, operation: Callable[[Floats, Floats], Floats]) -> tuple[Floats, Floats]:
    first = operation(left.low, right.low)
    if left.is_point and right.is_point:
        return first, first
    corners = [
        first,
        operation(left.low, right.high),
        operation(left.high, right.low),
        operation(left.high, right.high),
    ]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = np.minimum(low, corner), np.maximum(high, corner)  # both carry a NaN on: 0 times infinity
    return low, high


def _doubt(low: Floats, high: Floats, present: Flags) -> Number:
    """Turn NaN and overflow, where the arithmetic has no answer, into the unknown interval."""
    answered = (low < math.inf) & (high > -math.inf)  # neither holds for NaN
    if isinstance(answered, np.ndarray):
        if answered.all():
            return Number(low, high, present)
        return Number(np.where(answered, low, -np.inf), np.where(answered, high, np.inf), present)
    if not answered:
        return Number(-math.inf, math.inf, present)
    first = float(low)
    return Number(first, first if low is high else float(high), present)


def least(numbers: list[Number], *, greatest: bool = False) -> Number:
    """``min`` or ``max`` of several numbers."""
    pick = np.maximum if greatest else np.minimum
    low, high, present = numbers[0].low, numbers[0].high, numbers[0].present
    point = numbers[0].is_point
    for other in numbers[1:]:
        low, high, present = pick(low, other.low), pick(high, other.high), present & other.present
        point = point and other.is_point
    return _doubt(low, low if point else high, present)


def identical(one: Value, other: Value) -> bool:
    """Whether two values are the same, plan by plan, however they were found."""
    if one is other:
        return True
    match one, other:
        case Number(), Number():
            parts = ((one.low, other.low), (one.high, other.high), (one.present, other.present))
            return one.is_point == other.is_point and all(_same(*pair) for pair in parts)
        case Truth(), Truth():
            return _same(one.true, other.true) and _same(one.false, other.false)
        case Word(), Word():
            return _same(one.word, other.word)
    return False


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    return bool(one == other)


def as_float(value: Number) -> float | None:
    """The one number a scalar stands for; None for an interval, an unknown or a lack."""
    if value.present is not True or value.low != value.high or not math.isfinite(value.low):
        return None
    return float(value.low)
