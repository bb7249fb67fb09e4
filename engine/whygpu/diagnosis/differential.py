"""Differential diagnosis: which figure, of those not measured yet, tells the leading causes apart best.

For each such figure the rules' own tests cut its values into ranges; the rules are judged once for each range, and the
figure is worth how far its answers move the leading causes against each other, all pairs added up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.environment import known_value, plain
from whygpu.consult.driver import judge
from whygpu.diagnosis.parts import NextMeasure, Possibility
from whygpu.diagnosis.weigh import leader, signs_of, sums
from whygpu.explain.trials import compared_with
from whygpu.language import tree as t
from whygpu.quantity import show, show_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whygpu.consult.consultation import SessionResult
    from whygpu.diagnosis.figures import Value
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.causes import Measure
    from whygpu.language.names import NameSpec

_SHOWN = 3
_FAR = 2.0
"""Above the last threshold, how many times it a value is tried at where nothing bounds the figure."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A value that stands for all from ``low`` to below ``high``; None where nothing bounds them."""

    value: Value
    low: float | None = None
    high: float | None = None

    def text(self, unit: str | None) -> str:
        """The range in words."""
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        if isinstance(self.value, str):
            return self.value
        if self.low is None or self.high is None:
            low, high = self.low, self.high
            if low is None and high is None:
                return "any value"
            if high is not None:
                return f"below {show(high, unit)}"
            return f"above {show(0.0, unit)}" if not low else f"{show(low, unit)} or more"
        if self.low == self.high:
            return show(self.low, unit)
        return show_range(self.low, self.high, unit)


class Differential:
    """Asks what could be measured next. ``knowledge``: with the rules that diagnose; ``worth``: of strengths."""

    def __init__(
        self, knowledge: Knowledge, values: Mapping[str, Value], session: SessionResult, worth: Mapping[str, float]
    ) -> None:
        """Nothing is tried yet."""
        self._knowledge, self._values, self._session, self._worth = knowledge, values, session, worth
        self._now = sums(session.fired, worth)

    def leading(self) -> list[str]:
        """The causes that may be it: those that something speaks for, within one strong sign of the first.

        Where nothing speaks for any, all that a rule could still speak for.
        """
        most = max(self._now.values(), default=0.0)
        if most > 0:
            near = most - self._worth["strong"]
            return [cause for cause in self._knowledge.causes if self._now.get(cause, 0.0) > max(near, 0.0)]
        truth = self._session.environment.evaluator.truth
        open_ = {
            sign.cause
            for rule, sign in signs_of(self._knowledge.rules)
            if sign.favourable and not truth(rule.condition).false
        }
        return [cause for cause in self._knowledge.causes if cause in open_ and cause not in self._now]

    def best(self) -> tuple[NextMeasure, ...]:
        """What to measure next, the best first; where nothing speaks for a cause yet, what takes least effort first."""
        leading = self.leading()
        tried = [self._try(measure, leading) for measure in self._knowledge.measures.values()]
        found = [item for item in tried if item is not None]
        if max(self._now.values(), default=0.0) > 0:
            found.sort(key=lambda item: -item.worth)
        return tuple(found[:_SHOWN])

    def _try(self, measure: Measure, leading: Sequence[str]) -> NextMeasure | None:
        """A figure with its worth; None where it is known or changes nothing."""
        if plain(self._session.environment.value(measure.name)) is not None:
            return None
        spec = self._knowledge.vocabulary[measure.name]
        answers = list(self._answers(spec))
        after = [self._with(measure.name, answer.value) for answer in answers]
        worth = 0.0
        apart: dict[str, None] = {}
        for one, other in combinations(leading, 2):
            gaps = [found.get(one, 0.0) - found.get(other, 0.0) for found in after]
            spread = max(gaps, default=0.0) - min(gaps, default=0.0)
            worth += spread
            if spread:
                apart |= dict.fromkeys((one, other))
        if len(leading) == 1 and after:  # nothing to tell apart: does it confirm or refute?
            found = [sums_.get(leading[0], 0.0) for sums_ in after]
            worth = max(found) - min(found)
            apart = dict.fromkeys(leading)
        if worth <= 0:
            return None
        ranges = _merged(answers, after)
        possible = tuple(Possibility(answer.text(spec.unit), leader(found)) for answer, found in ranges)
        moved = {cause for found in after for cause in apart if found.get(cause, 0.0) != self._now.get(cause, 0.0)}
        told = tuple(cause for cause in leading if cause in moved)
        return NextMeasure(measure.name, spec.meaning, spec.unit, measure.take, measure.command, worth, possible, told)

    def _with(self, name: str, value: Value) -> dict[str, float]:
        """The weights of the causes if the figure had this value, too."""
        facts = {key: known_value(item) for key, item in (*self._values.items(), (name, value))}
        return sums(judge(self._knowledge, facts, EvaluatorChain()).fired, self._worth)

    def _answers(self, spec: NameSpec) -> Iterator[_Answer]:
        """A value in each range that the rules tell apart."""
        match spec.kind:
            case "flag":
                yield from (_Answer(True), _Answer(False))
            case "choice":
                yield from (_Answer(word) for word in spec.words)
            case "number":
                others = compared_with(self._knowledge, spec.name)
                constants = (item.value for item in others if isinstance(item, t.Constant))
                yield from _ranges(sorted({value for value in constants if isinstance(value, float)}), spec)
            case "text":
                return


def _ranges(cuts: Sequence[float], spec: NameSpec) -> Iterator[_Answer]:
    """One value below the first cut, between two, and from the last on; what is the least itself is one of its own."""
    if not cuts:
        return
    low = spec.minimum if spec.minimum is not None else min(0.0, 2 * cuts[0])
    high = spec.maximum if spec.maximum is not None else math.inf
    if low < cuts[0]:
        yield _Answer((low + cuts[0]) / 2, None, cuts[0])
    else:
        yield _Answer(low, low, low)
    for one, other in pairwise(cuts):
        yield _Answer((one + other) / 2, one, other)
    if cuts[-1] <= high:
        far = min(high, _FAR * cuts[-1]) if cuts[-1] > 0 else high
        yield _Answer((cuts[-1] + far) / 2 if math.isfinite(far) else cuts[-1] + 1, cuts[-1], None)


def _merged(
    answers: Sequence[_Answer], after: Sequence[dict[str, float]]
) -> Iterator[tuple[_Answer, dict[str, float]]]:
    """Neighbouring ranges with the same cause in the lead as one."""
    last: tuple[_Answer, dict[str, float]] | None = None
    for answer, found in zip(answers, after, strict=True):
        same = last is not None and leader(last[1]) == leader(found)
        if same and last is not None and last[0].high is not None and last[0].high == answer.low:
            one = last[0]
            last = (replace(one, low=None if one.low == one.high else one.low, high=answer.high), found)
            continue
        if last is not None:
            yield last
        last = (answer, found)
    if last is not None:
        yield last
