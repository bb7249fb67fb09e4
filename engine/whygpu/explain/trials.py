"""The answers to a question that are worth trying: every choice, and numbers beside what rules compare with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from whygpu.chain.environment import plain
from whygpu.explain.conditions import Judge
from whygpu.explain.rows import Rows
from whygpu.kept import kept
from whygpu.language import tree as t
from whygpu.language import values as v

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.base import Knowledge
    from whygpu.language.names import NameSpec

Value = float | bool | str
_Number = TypeVar("_Number", int, float)
REACH = 8.0
"""An answer is thought of as within this many times of what is assumed, either way."""
_FACTORS = (REACH, 1 / REACH, 2.0, 1 / 2)
"""How many times the value that holds now; the most telling first."""
_SIDES = (2.0, 1 / 2, 4.0)
"""The same of an image's sides."""
_BESIDE = 0.05
"""A number just beside another is this share away from it."""
_USUAL = (1.0, 100.0)
"""Numbers that are tried where nothing says how large one usually is."""


def trials(consultation: Consultation, spec: NameSpec, now: Value | None) -> tuple[Value, ...]:
    """Answers to try in the place of ``now`` (None: nothing is answered or assumed), the most telling first."""
    match spec.kind:
        case "flag":
            return tuple(value for value in (True, False) if value != now)
        case "choice":
            return tuple(word for word in spec.words if word != now)
        case "number" if spec.unit == "pixels":
            sides = tuple(dict.fromkeys(_sides(consultation, spec, now)))
            return tuple(f"{side}x{side}" for side in _hopeful(consultation, sides, now))
        case "number":
            tried = _just_beyond if now is not None and _only_limits(consultation.knowledge, spec.name) else _numbers
            bounded = (_within(value, spec) for value in tried(consultation, spec, now))
            numbers = tuple(dict.fromkeys(value for value in bounded if value != now and math.isfinite(value)))
            return _hopeful(consultation, numbers, now)
        case "text":
            return ()


def _hopeful(consultation: Consultation, numbers: tuple[_Number, ...], now: Value | None) -> tuple[_Number, ...]:
    """All of the numbers; where nothing is recommended the ends, for what lies between allows no more than one of them:
    of an amount that is assumed the least first, of a limit that nobody set the widest.
    """
    if not numbers or Rows(consultation).heads:
        return numbers
    ends = min(numbers), max(numbers)
    return tuple(dict.fromkeys(ends if now is not None else reversed(ends)))


def _numbers(consultation: Consultation, spec: NameSpec, now: Value | None) -> Iterator[float]:
    cuts = sorted(cut_points(consultation, spec.name), reverse=True)
    if isinstance(now, float) and now > 0:
        yield from (now * factor for factor in _FACTORS)
        cuts = [cut for cut in cuts if now / REACH <= cut <= now * REACH]
        yield from (_short(cut * share) for cut in cuts for share in (1 - _BESIDE, 1 + _BESIDE))
    else:  # a limit that nobody set yet matters where it is just missed
        yield from (_short(cut * share) for share in (1 - _BESIDE, 1 / 2, 1 + _BESIDE) for cut in cuts)
        yield from _USUAL if not cuts else ()


def _just_beyond(consultation: Consultation, spec: NameSpec, now: Value | None) -> Iterator[float]:
    """A limit that is assumed refuses nothing: one that is answered matters where the recommendation just misses it,
    and a larger one where plans are beyond what is assumed.
    """
    for cut in sorted(cut_points(consultation, spec.name), reverse=True):
        below = _short(cut * (1 - _BESIDE))
        below = math.floor(below) if spec.integer else below
        if below >= (spec.minimum or 0.0):
            yield below
    plans = consultation.plans
    for other in compared_with(consultation.knowledge, spec.name):
        figures = plans.environment.evaluator.value(other)
        if isinstance(figures, v.Number) and isinstance(now, float) and (plans.alive & (figures.high > now)).any():
            yield now * REACH


def _only_limits(knowledge: Knowledge, name: str) -> bool:
    """Whether rules compare a number with figures of plans alone."""
    others = compared_with(knowledge, name)
    return bool(others) and all(
        isinstance(other, t.Name) and knowledge.vocabulary[other.name].scope == "plan" for other in others
    )


def _sides(consultation: Consultation, spec: NameSpec, now: Value | None) -> Iterator[int]:
    """Sides of square images, as they are answered: beside those that hold now, or that the model is made for."""
    side = math.sqrt(now) if isinstance(now, float) else consultation.plans.work.shape.image_size
    yield from (round(side * factor) for factor in _SIDES if side)
    for area in cut_points(consultation, spec.name):
        yield from (round(math.sqrt(area * share)) for share in (1 - _BESIDE, 1 + _BESIDE))


def cut_points(consultation: Consultation, name: str) -> set[float]:
    """The numbers that rules compare an answer with: constants, and figures of the recommendation."""
    heads = Rows(consultation).heads
    knowledge = consultation.knowledge
    found: set[float] = set()
    for other in compared_with(knowledge, name):
        if isinstance(other, t.Constant):
            value: object = other.value
        elif heads:
            value = plain(Judge(consultation.plans.environment, knowledge.vocabulary, heads[0]).value(other))
        else:
            continue
        if isinstance(value, float) and value > 0 and math.isfinite(value):
            found.add(float(f"{value:.4g}"))
    return found


@kept(256)
def compared_with(knowledge: Knowledge, name: str) -> tuple[t.Expression, ...]:
    """The other sides of every comparison that has the name alone on one side, in rules and derived values."""
    found: dict[t.Expression, None] = {}
    for node in _expressions(knowledge):
        for part in _comparisons(node):
            for one, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(one, t.Name) and one.name == name:
                    found[other] = None
    return tuple(found)


def _expressions(knowledge: Knowledge) -> Iterator[t.Expression]:
    for rule in knowledge.rules:
        yield rule.condition
        yield from rule.grades
    for value in knowledge.values.values():
        yield from value.expressions
    for question in knowledge.questions:
        yield question.when
        yield from (item.when for item in question.assumptions)


def _comparisons(node: t.Expression) -> Iterator[t.Compare]:
    if isinstance(node, t.Compare):
        yield node
    for child in t.children(node):
        yield from _comparisons(child)


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _within(value: float, spec: NameSpec) -> float:
    value = min(max(value, spec.minimum or 0.0), spec.maximum or math.inf)
    return float(round(value)) if spec.integer else value
