"""A consultation, stage by stage: answers in, everything that was decided out. The driver of both engines.

Facts and assumptions; session rules; plans enumerated; hard rules; values over the plans left; soft rules; ranking.
Where hard rules leave no plan that holds all requests at once, plans that let the rest queue are tried instead.
An engine is asked only which rules of a stratum fire; overrides, conclusions and ``otherwise`` are settled here, once
for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

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
from whygpu.plans.admission import may_queue, most_admitting
from whygpu.plans.enumerate import Planner
from whygpu.plans.existing import plans_with_owned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.answers import Answers
    from whygpu.chain.engines import Chain
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
) -> Consultation:
    """Run one consultation over the plans that ``planner`` finds; raises AnswerError where the model is no model,
    or cannot be spread as asked.

    ``reshape`` puts another model in the place of the one answered: how far does the answer hang on its size?
    """
    day = today or date.today()
    answering = Answering(knowledge, answers, reshape)
    applied = answering.applied()
    answering.environment.provide(answering.work().checks())
    with chain:
        session = fire_session_rules(knowledge, answering.environment, chain)
        work = answering.work()  # by now the format to size it in is concluded
        work = with_measured(work, answers, knowledge, day, consult)
        panel = _Panel(Planning(work, answers, applied, session), answers, applied, session, chain)
        planned = panel.planning.plan(planner, day)
        plans = panel.judged(planned)
    if may_queue(work, planned.options) and len(plans) and not plans.alive.any() and not _only_slow(knowledge, plans):
        with chain:  # afresh: what was asserted of the other plans is not of these
            tried = panel.planning.plan(planner, day, short=True)
            left = panel.rejected(tried).alive
        if left.any():
            with chain:
                rows = most_admitting(tried.plan_set, left)
                waiting = panel.judged(panel.planning.of_those(tried, rows, day))
            plans = plans if waiting.objections else waiting
    return Consultation(knowledge, answers, chain.engine, day, applied, session, plans)


def _only_slow(knowledge: Knowledge, plans: PlanResult) -> bool:
    """Whether a plan that holds what it is to hold could be had, were it fast enough: then no request need wait."""
    left = plans.plan_set.fits
    for rule_id, mask in plans.fired.items():
        rule = knowledge.rule_by_id[rule_id]
        if rule.rejects and not _SPEEDS & used_names([rule.condition], knowledge.values):
            left = left & ~mask
    return bool(left.any())


_SPEEDS = frozenset(f"plan.{name}" for name in FIGURES)


@dataclass(frozen=True, slots=True)
class _Panel:
    """What judges the plans of one consultation."""

    planning: Planning
    answers: Answers
    applied: AppliedAnswers
    session: SessionResult
    chain: Chain

    def rejected(self, planned: Planned) -> Judging:
        """The hard rules fired."""
        judging = Judging(self.session, planned.environment, self.chain)
        if len(planned.plan_set):
            judging.reject()
        return judging

    def judged(self, planned: Planned) -> PlanResult:
        """All that the rules say of the plans, and their order."""
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
