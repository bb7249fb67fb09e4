"""A consultation, stage by stage: answers in, everything that was decided out. The driver of both engines.

Facts and assumptions; session rules; plans enumerated; hard rules; values over the plans left; soft rules; ranking.
Where hard rules leave no plan that holds all requests at once, plans that let the rest queue are tried instead.
An engine is asked only which rules of a stratum fire; overrides, conclusions and ``otherwise`` are settled here, once
for both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import SessionEnvironment
from whygpu.chain.strata import used_names
from whygpu.checks.speed.estimate import FIGURES
from whygpu.consult.answering import Answering, Reshape
from whygpu.consult.consultation import Consultation, PlanResult
from whygpu.consult.correcting import with_measured
from whygpu.consult.judging import Judging
from whygpu.consult.planning import Planning
from whygpu.consult.ranking import Ranker, tally_of
from whygpu.consult.session import fire_session_rules
from whygpu.consult.unchanged import unchanged
from whygpu.plans.admission import held_on_each, may_queue, most_admitting
from whygpu.plans.enumerate import Planner
from whygpu.plans.existing import plans_with_owned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whygpu.answers import Answers
    from whygpu.chain.engines import Chain, Mask
    from whygpu.consult.consultation import AppliedAnswers, SessionResult
    from whygpu.consult.planning import Planned
    from whygpu.knowledge.base import Knowledge
    from whygpu.language import values as v


def consult(
    knowledge: Knowledge,
    answers: Answers,
    chain: Chain,
    today: date | None = None,
    planner: Planner = plans_with_owned,
    reshape: Reshape | None = None,
    *,
    waits: bool = True,
    before: Consultation | None = None,
) -> Consultation:
    """Run one consultation over the plans that ``planner`` finds; raises AnswerError where the model is no model,
    or cannot be spread as asked.

    ``reshape`` puts another model in the place of the one answered: how far does the answer hang on its size?
    ``waits``: whether requests may wait where no plan can be chosen; not where plans are asked about as they are.
    ``before``: one with most of the same answers: what rests on these is taken from it.
    """
    day = today or date.today()
    answering = Answering(knowledge, answers, reshape, None if before is None else before.session.environment)
    applied = answering.applied()
    answering.provide_checks()
    with chain:
        session = fire_session_rules(knowledge, answering.environment, chain)
        work = answering.work()  # by now the format to size it in is concluded
        work = with_measured(work, answers, knowledge, day, consult)
        judged = None if before is None else before.plans.environment
        panel = _Panel(Planning(work, answers, applied, session, judged), answers, applied, session, chain, before)
        planned = panel.planning.plan(planner, day)
        plans = panel.judged(planned)
    if waits and may_queue(work, planned.options) and len(plans) and not plans.alive.any():
        waiting = panel.waiting(planner, day)
        plans = plans if waiting is None or waiting.objections else waiting
    for environment in (session.environment, plans.environment):
        environment.stand_alone()
    return Consultation(knowledge, answers, chain.engine, day, applied, session, plans)


_MORE = frozenset(
    {"plan.admits", "plan.most_requests_per_s", *(f"plan.{name}" for name in FIGURES if name.endswith("_per_s"))}
)
"""What there is more of with more requests in flight."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """What judges the plans of one consultation."""

    planning: Planning
    answers: Answers
    applied: AppliedAnswers
    session: SessionResult
    chain: Chain
    before: Consultation | None

    def rejected(self, planned: Planned) -> Judging:
        """The hard rules fired."""
        judging = Judging(self.session, planned.environment, self.chain)
        if len(planned.plan_set):
            judging.reject()
        return judging

    def waiting(self, planner: Planner, day: date) -> PlanResult | None:
        """The plans that let requests wait: for want of memory, or to be answered fast enough when their turn has come.

        Of the plans on each card in each way the one that admits most is judged; None where none may be chosen.
        """
        tried = self.planning.plan(planner, day, short=True)
        each = self._in_flight(tried, day)
        if not each.any():
            return None
        asked = tried.work.setup.concurrency
        with self.chain:  # each time afresh: what was asserted of other plans is not of these
            tried = self.planning.with_in_flight(tried, np.arange(len(each)), np.where(each, each, asked), day)
            left = self.rejected(tried).alive
        if not left.any():
            return None
        with self.chain:
            return self.judged(self.planning.of_those(tried, most_admitting(tried.plan_set, left), day))

    def _in_flight(self, tried: Planned, day: date) -> NDArray[np.int64]:
        """Requests that each plan takes on at once on a replica: the most that it holds and answers as it must; 0 where
        it cannot with one alone.
        """
        most = np.zeros(len(tried.plan_set), dtype=np.int64)
        slow = np.zeros(len(tried.plan_set), dtype=np.bool_)

        def try_(rows: NDArray[np.int64], each: NDArray[np.int64]) -> Mask:
            with self.chain:
                may, slow[rows] = self._may(self.planning.with_in_flight(tried, rows, each, day))
            most[rows[may]] = each[may]
            return may

        rows = np.arange(len(most))
        rows = rows[try_(rows, most + 1)]
        if not rows.size:
            return most
        fails = held_on_each(tried.plan_set, rows) + 1
        fails[try_(rows, fails - 1)] = 0
        if slow[rows].all():  # with all that they hold: with fewer at once they do less
            return np.zeros_like(most)
        while (left := fails - most[rows] > 1).any():
            middle = (fails[left] + most[rows[left]]) // 2
            may = try_(rows[left], middle)
            fails[left] = np.where(may, fails[left], middle)
        return most

    def _may(self, planned: Planned) -> tuple[Mask, Mask]:
        """The plans that no rule rejects but for doing, or admitting, too little at once; and those that one rejects
        for what they do at once, whatever else there is to say: it rejects them with fewer requests in flight, too.
        """
        knowledge, left = self.session.knowledge, planned.plan_set.fits
        slow = np.zeros_like(left)
        for rule_id, mask in self.rejected(planned).fired.items():
            rule = knowledge.rule_by_id[rule_id]
            if not rule.rejects:
                continue
            used = used_names([rule.condition], knowledge.values)
            if not _MORE & used:
                left = left & ~mask
            elif not any(knowledge.vocabulary[name].scope == "plan" for name in used - _MORE):
                slow = slow | mask
        return left, slow

    def judged(self, planned: Planned) -> PlanResult:
        """All that the rules say of the plans, and their order."""
        found = self._as_before(planned)
        if found is not None:
            return found
        judging, costs = self.rejected(planned), planned.costs
        if len(planned.plan_set):
            costs = judging.compare(costs, planned.plan_set)
            judging.aggregate()
            judging.prefer()
        ranker = Ranker(self.answers, self.applied, self.session, judging)
        verdicts = tally_of(self.session.knowledge, judging.fired, planned.environment)
        ranking = ranker.ranking(planned, costs, verdicts)
        return PlanResult(
            work=planned.work,
            options=planned.options,
            plan_set=planned.plan_set,
            environment=planned.environment,
            costs=costs,
            alive=judging.alive,
            unverified=judging.unverified,
            fired=judging.fired,
            defeated=tuple(judging.defeated),
            unchecked=tuple(judging.unchecked),
            tally=verdicts,
            ranking=ranking,
            objections=ranker.objections(verdicts, ranking),
        )

    def _as_before(self, planned: Planned) -> PlanResult | None:
        """The same where the rules surely say what they said before; None where that is not known."""
        environment = planned.environment.as_before()
        if self.before is None or environment is None or not unchanged(self.session, environment, self.before):
            return None
        plans = self.before.plans
        ranker = Ranker(self.answers, self.applied, self.session, plans)
        ranking = ranker.ranking(planned, plans.costs, plans.tally)
        return replace(
            plans,
            work=planned.work,
            options=planned.options,
            environment=environment,
            ranking=ranking,
            objections=ranker.objections(plans.tally, ranking),
        )


def inapplicable(knowledge: Knowledge, answers: Answers) -> tuple[str, ...]:
    """The keys answered though their questions do not apply; raises AnswerError where the model is no model."""
    return tuple(question.id for question in Answering(knowledge, answers).applied().irrelevant)


def judge(knowledge: Knowledge, facts: Mapping[str, v.Value], chain: Chain) -> SessionResult:
    """What the session rules say about these facts alone: nothing is asked or assumed, and there are no plans."""
    environment = SessionEnvironment(knowledge)
    for name, value in facts.items():
        environment.set(name, value)
    with chain:
        return fire_session_rules(knowledge, environment, chain)
