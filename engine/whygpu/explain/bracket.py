"""The nearest number at which something changes: ever further from the one that holds, then back between the two."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.quantity import as_shown

if TYPE_CHECKING:
    from whygpu.language.names import NameSpec

LADDER = (2.0, 16.0)
"""Numbers are tried this many times more and less; between the first that changes something and the last that does not
the search goes on.
"""
_CLOSE = 1.04
"""Two numbers within this many times of each other are near enough to say where it changes."""
_MOST = 7
_EDGE = 0.1
"""A guess stays this share of the way (as logarithms) from both ends."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What one number did."""

    changes: bool
    lead: float | None
    """By how much what holds now is ahead, as a logarithm, negative where it is behind; None where nobody can say."""


Attempt = Callable[[float], Tried]


def nearest(
    start: float, lead: float | None, spec: NameSpec, attempt: Attempt, *, up: bool
) -> tuple[float, float] | None:
    """The last number found that changes nothing and the first that does; None where none on this side does.

    ``lead``: that at ``start``, which changes nothing. Where both leads are known the next number is guessed from them
    (the Illinois form of false position: Dowell and Jarratt 1971), else halfway.
    """
    same, other = start, None
    ahead, behind = lead, None
    for factor in LADDER:
        number = bounded(start * factor if up else start / factor, spec)
        if number == same:
            continue
        tried = attempt(number)
        if tried.changes:
            other, behind = number, tried.lead
            break
        same, ahead = number, tried.lead
    if other is None:
        return None
    last: bool | None = None
    for _ in range(_MOST):
        guesses = (_between(same, other, ahead, behind), math.sqrt(same * other))
        within = (bounded(guess, spec) for guess in guesses)
        middle = next((guess for guess in within if min(same, other) < guess < max(same, other)), None)
        if middle is None or max(same, other) / min(same, other) < _CLOSE:
            break
        tried = attempt(middle)
        if tried.changes:
            other, behind = middle, tried.lead
            ahead = ahead / 2 if last and ahead is not None else ahead
        else:
            same, ahead = middle, tried.lead
            behind = behind / 2 if last is False and behind is not None else behind
        last = tried.changes
    return same, other


def _between(same: float, other: float, ahead: float | None, behind: float | None) -> float:
    """A number between two, where the lead would be gone if it fell evenly."""
    share = 0.5
    if ahead is not None and behind is not None and ahead > 0 > behind:
        share = min(max(ahead / (ahead - behind), _EDGE), 1 - _EDGE)
    return math.exp(math.log(same) + share * math.log(other / same))


def bounded(value: float, spec: NameSpec) -> float:
    """The number in as many digits as are shown, within what the answer may be."""
    value = min(max(as_shown(value), spec.minimum or 0.0), spec.maximum or math.inf)
    return float(round(value)) if spec.integer else value
