"""Questions about an advice: how did it come about, why not this card, what if, and what would flip it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.explain.conclude import Conclusion, conclude
from whygpu.explain.conditions import Judge
from whygpu.explain.rerun import rerun
from whygpu.loader.conditions import expression_of
from whygpu.trace import Step, content_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.consult.driver import Consultation
    from whygpu.explain.advice import Advice, Plan
    from whygpu.trace import StepStatus


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The advice with other answers, beside the recommendation of before."""

    before: Plan | None
    advice: Advice

    @property
    def changed(self) -> bool:
        """Whether accelerator, count, format or method of the recommendation differ, not only its figures."""
        return identity(self.before) != identity(self.advice.recommendation)


def identity(plan: Plan | None) -> tuple[str, int, str, str | None] | None:
    """What makes a recommendation the same one."""
    return None if plan is None else (plan.accelerator.id, plan.count, plan.format, plan.method)


def how(advice: Advice, fact: str) -> tuple[Step, ...]:
    """Every step that led to a fact (its id, or the name of one of the consultation or the recommendation)."""
    trace = advice.trace
    best = advice.recommendation
    for known in trace.facts:
        own = known.plan is None or (best is not None and known.plan == best.id)
        if known.id == fact or (known.name == fact and own):
            return trace.how(known.id)
    near = did_you_mean(fact, {known.name for known in trace.facts})
    raise AnswerError(
        [Problem("unknown-fact", f"nothing in the trace is called '{fact[:80]}'", Location("trace"), near)]
    )


def unfired(consultation: Consultation) -> tuple[Step, ...]:
    """The rules that did not fire, for the recommendation where they are judged per plan, computed on demand.

    ``silent``: a condition fails; ``blocked``: only an exception stands in the way; ``open``: something is unknown.
    """
    groups = Conclusion(consultation).heads
    fired = {rule.id for rule in consultation.fired} | {rule.id for rule, _, _ in consultation.defeated}
    found: list[Step] = []
    for rule in consultation.knowledge.rules:
        if rule.scope == "session":
            judge = Judge(consultation.session, consultation.knowledge.vocabulary)
        elif groups and consultation.plans is not None:
            judge = Judge(consultation.plans, consultation.knowledge.vocabulary, groups[0])
        else:
            continue
        mask = consultation.fired_plans.get(rule.id)
        if rule.id in fired or (mask is not None and bool(mask[groups[0]])):
            continue
        unknown = judge.result(rule.condition) == "unknown"
        holds = judge.result(expression_of(rule.when)) == "true"
        status: StepStatus = "open" if unknown else "blocked" if holds and rule.unless.parts else "silent"
        found.append(
            Step(
                id=content_id("s", rule.id, "unfired"),
                kind="rule",
                status=status,
                title=rule.title,
                text="",
                rule=rule.id,
                conditions=judge.outcomes(rule),
                claims=rule.sources,
                place=str(rule.location),
            )
        )
    return tuple(found)


def what_if(consultation: Consultation, changes: Mapping[str, Any]) -> WhatIf:
    """The advice with these answers merged over the given ones (None takes one away); raises AnswerError."""
    return WhatIf(conclude(consultation).recommendation, conclude(rerun(consultation, changes)))
