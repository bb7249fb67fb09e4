"""The rules that did not fire, and which of their conditions kept them from it; found when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.explain.conditions import Judge
from whygpu.knowledge.rules import expression_of
from whygpu.trace import Step, content_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.rows import Rows
    from whygpu.trace import StepStatus


def unfired(consultation: Consultation, rows: Rows) -> Iterator[Step]:
    """The rules that did not fire, for the recommendation where they are judged per plan.

    ``silent``: a condition fails; ``blocked``: only an exception stands in the way; ``open``: something is unknown.
    """
    heads, session, plans = rows.heads, consultation.session, consultation.plans
    fired = {rule.id for rule in session.fired} | {rule.id for rule, _ in session.defeated}
    fired |= {rule.id for rule, _, _ in plans.defeated}
    for rule in consultation.knowledge.advising:
        if rule.scope == "session":
            judge = Judge(session.environment, consultation.knowledge.vocabulary)
        elif heads:
            judge = Judge(plans.environment, consultation.knowledge.vocabulary, heads[0])
        else:
            continue
        mask = plans.fired.get(rule.id)
        if rule.id in fired or (mask is not None and bool(mask[heads[0]])):
            continue
        unknown = judge.result(rule.condition) == "unknown"
        holds = judge.result(expression_of(rule.when)) == "true"
        status: StepStatus = "open" if unknown else "blocked" if holds and rule.unless.parts else "silent"
        yield Step(
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
