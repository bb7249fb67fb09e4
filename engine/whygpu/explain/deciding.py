"""What each rule decides: take one away, and see whether another plan comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whygpu.consult.ranking import grown
from whygpu.knowledge.rules import Verdict
from whygpu.plans.rank import rank
from whygpu.plans.tally import graded_worth, tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.rows import Rows
    from whygpu.knowledge.rules import Rule

_SAYS_NOTHING = 0.005
"""A worth this near to 1 says nothing."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One rule's verdict on one plan by one criterion: what it is worth there, and what would be first without it."""

    rule: Rule
    row: int
    """The plan that it speaks of, as a row of the consultation."""
    criterion: str
    favourable: bool
    worth: float
    """Times the money: at least 1, whichever side it is on."""
    instead: int | None
    """The plan that would be first without the rule, where that is another choice; None where it changes nothing."""

    @property
    def decides(self) -> bool:
        """Whether the recommendation would be another one without it."""
        return self.instead is not None


class Deciding:
    """Weighs the rules of one consultation."""

    def __init__(self, consultation: Consultation, rows: Rows) -> None:
        """There must be a recommendation."""
        self._knowledge, self._plans, self._rows = consultation.knowledge, consultation.plans, rows
        self._best = rows.heads[0]
        self._preferences = self._knowledge.preferences
        first = consultation.session.answered("priority")
        self._priority = self._preferences.priorities.get(str(first))
        self._without: dict[tuple[str, str], int | None] = {}

    def weights(self, others: Sequence[int] = ()) -> tuple[Weight, ...]:
        """Every verdict on the recommendation, and those on ``others`` that keep them from being it.

        What decides comes first, then what is worth more.
        """
        found = [item for item in self._of(self._best) if item.worth > 1 + _SAYS_NOTHING]
        found += [item for row in others for item in self._of(row) if item.instead == row and not item.favourable]
        return tuple(sorted(found, key=lambda item: (not item.decides, -item.worth, item.rule.id)))

    def apart(self, row: int, other: int, criterion: str) -> tuple[Weight, ...]:
        """The verdicts by a criterion that set two plans apart in favour of the first, those that do so most first: for
        the first, or against the other.
        """
        of_one, of_other = (
            {(item.rule.id, item.favourable): item for item in self._of(each) if item.criterion == criterion}
            for each in (row, other)
        )
        found = [
            (times, item)
            for mine, theirs, favourable in ((of_one, of_other, True), (of_other, of_one, False))
            for key, item in mine.items()
            if item.favourable == favourable
            and (times := item.worth / (theirs[key].worth if key in theirs else 1.0)) > 1 + _SAYS_NOTHING
        ]
        return tuple(item for _, item in sorted(found, key=lambda pair: -pair[0]))

    def _of(self, row: int) -> Iterator[Weight]:
        for rule_id, mask in self._plans.fired.items():
            if not mask[row]:
                continue
            rule = self._knowledge.rule_by_id[rule_id]
            for effect in rule.effects:
                if isinstance(effect, Verdict):
                    worth = self._worth(effect, row)
                    instead = self._instead(rule_id, effect.criterion)
                    yield Weight(rule, row, effect.criterion, effect.favourable, worth, instead)

    def _exponent(self, criterion: str) -> float:
        return 1.0 if self._priority is None else self._priority.exponent(criterion)

    def _worth(self, verdict: Verdict, row: int) -> float:
        worth = self._preferences.worth(verdict.strength)
        if verdict.grade is not None:
            reached = grown(self._plans.environment, verdict.grade)
            worth = float(graded_worth(verdict.grade, worth, reached[row : row + 1])[0])
        return float(worth ** self._exponent(verdict.criterion))

    def _instead(self, rule_id: str, criterion: str) -> int | None:
        """The plan that is first where the rule's verdicts by the criterion do not count; None where that is the same
        choice.
        """
        key = (rule_id, criterion)
        if key not in self._without:
            self._without[key] = self._first_without(rule_id, criterion)
        return self._without[key]

    def _first_without(self, rule_id: str, criterion: str) -> int | None:
        plans, ranking = self._plans, self._plans.ranking
        verdicts = [
            (effect, mask)
            for other, mask in self._plans.fired.items()
            if other != rule_id
            for effect in self._knowledge.rule_by_id[other].effects
            if isinstance(effect, Verdict) and effect.criterion == criterion
        ]
        counted = ranking.counted
        left = tally(verdicts, len(plans), self._preferences.worth, lambda grade: grown(plans.environment, grade))
        factor = left.factor(criterion) ** self._exponent(criterion) if verdicts else np.ones(len(plans))
        other = counted.with_factor(criterion, factor, by_money=self._preferences.by_money)
        first = rank(plans.alive, plans.unverified, other, ranking.tied_within).order[0]
        return None if self._rows.alike(first, self._best) else first
