"""The plans left in order: what their verdicts are worth, what each counts as, and what speaks against all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.knowledge.rules import Verdict
from whygpu.language import values as v
from whygpu.plans.costs import drawn_of, money_of, watts_of
from whygpu.plans.counting import count
from whygpu.plans.rank import rank
from whygpu.plans.tally import tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from whygpu.answers import Answers
    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment
    from whygpu.consult.consultation import AppliedAnswers, PlanResult, SessionResult
    from whygpu.consult.judging import Judging
    from whygpu.consult.planning import Planned
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.preferences import Preferences
    from whygpu.knowledge.rules import Grade
    from whygpu.plans.costs import Costs
    from whygpu.plans.rank import Ranking
    from whygpu.plans.tally import VerdictTally


def tally_of(knowledge: Knowledge, fired: Mapping[str, Mask], plans: PlanEnvironment) -> VerdictTally:
    """What the verdicts of the rules that fired are worth, by criterion and plan."""
    verdicts = [
        (effect, mask)
        for rule_id, mask in fired.items()
        for effect in knowledge.rule_by_id[rule_id].effects
        if isinstance(effect, Verdict)
    ]
    return tally(verdicts, plans.size, knowledge.preferences.worth, lambda grade: grown(plans, grade))


def grown(plans: PlanEnvironment, grade: Grade) -> NDArray[np.float64]:
    """What a graded verdict grows with, for every plan: as far as it may have come, since the rule fired."""
    found = plans.evaluator.value(grade.expression)
    if not isinstance(found, v.Number):
        return np.full(plans.size, np.nan)
    return np.broadcast_to(found.high if grade.full > grade.start else found.low, (plans.size,))


def useless(verdicts: VerdictTally, preferences: Preferences) -> Mapping[str, Mask]:
    """By criterion, the plans that a strong verdict makes no answer."""
    strong, criteria = preferences.worth("strong"), preferences.no_answer.criteria
    return {name: verdicts.objection(name, strong) for name in criteria if name in verdicts.against}


class Ranker:
    """Ranks the plans that the rules of one consultation left."""

    def __init__(
        self, answers: Answers, applied: AppliedAnswers, session: SessionResult, judging: Judging | PlanResult
    ) -> None:
        """``judging``: with every plan rule fired."""
        self._answers, self._applied, self._session, self._judging = answers, applied, session, judging
        self._preferences = session.knowledge.preferences

    def ranking(self, planned: Planned, costs: Costs, verdicts: VerdictTally) -> Ranking:
        """The plans left, in order of what they count as; ``costs``: as they are compared."""
        plan_set = planned.plan_set
        alive, priority = self._judging.alive, self._session.answered("priority")
        deployment = str(self._session.answered("deployment") or "")
        counted = count(
            money_of(costs, plan_set, planned.work.setup, self._preferences.priced_handling, deployment),
            verdicts,
            plan_set.speeds.figures,
            watts_of(plan_set),
            alive,
            self._preferences,
            priority if isinstance(priority, str) else None,
            self._limits(),
        )
        drawn = drawn_of(plan_set, planned.work.setup)
        figures = plan_set.speeds.figures
        times = tuple(figures[item.figure] for item in self._preferences.speeds if item.figure in figures)
        counted = replace(counted, drawn=drawn, cards=plan_set.counts, at_once=plan_set.at_once, times=times)
        return rank(alive, self._judging.unverified, counted, self._preferences.tied_within)

    def objections(self, verdicts: VerdictTally, ranking: Ranking) -> tuple[str, ...]:
        """The rules behind a strong verdict that no plan left escapes, by a criterion that makes a plan useless, or
        behind two such verdicts on the plan that counts least.

        Empty when the answers name or own accelerators: that is taken as a choice.
        """
        if self._answers.accelerators is not None or self._answers.owned:
            return ()
        return tuple(self._objections(verdicts, ranking))

    def _limits(self) -> dict[str, float]:
        """The numbers answered that count: speed beyond a limit is worth nothing."""
        ignored = {item.id for item in self._applied.irrelevant}
        answered = self._answers.values.items()
        return {key: value for key, value in answered if isinstance(value, float) and key not in ignored}

    def _objections(self, verdicts: VerdictTally, ranking: Ranking) -> Iterator[str]:
        alive, worth = self._judging.alive, self._preferences.worth
        strong = worth("strong")
        priced = alive & np.isfinite(ranking.counted.values)
        alive = priced if priced.any() else alive  # what nobody prices is no way out
        if strong <= 1 or not alive.any():
            return
        least_bad = next(row for row in ranking.order if alive[row])
        found = useless(verdicts, self._preferences)
        criteria = [name for name, mask in found.items() if mask[alive].all()]
        if not criteria:  # too slow and too frail at once: that others count as even more makes it no answer
            criteria = [name for name, mask in found.items() if mask[least_bad]]
            alive = np.arange(len(alive)) == least_bad
            if len(criteria) < self._preferences.no_answer.together:
                return
        rules = self._session.knowledge.rule_by_id
        for rule_id, mask in self._judging.fired.items():
            against = (item for item in rules[rule_id].effects if isinstance(item, Verdict) and not item.favourable)
            strongly = any(item.criterion in criteria and worth(item.strength) >= strong for item in against)
            if strongly and mask[alive].any():
                yield rule_id
