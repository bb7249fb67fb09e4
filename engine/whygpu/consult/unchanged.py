"""What the rules said before of the very same plans, where nothing that they read of these has changed since.

Most answers that are tried in the place of an assumption touch a few rules. Where each of those says the same of every
plan as it did, all rules do: stratum by stratum the same ones fire, and settle the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.kept import kept
from whygpu.language import values as v

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.chain.environment import PlanEnvironment
    from whygpu.consult.consultation import Consultation, SessionResult
    from whygpu.knowledge.base import Knowledge
    from whygpu.language.tree import Expression


@dataclass(frozen=True, slots=True)
class _Read:
    """Something that is asked of every plan, and the bits of what it rests on."""

    bits: int
    expression: Expression
    rejects: bool


@kept(4)
def _asked_of_plans(knowledge: Knowledge) -> tuple[_Read, ...]:
    return tuple(
        _Read(knowledge.rests.of(knowledge.numbering.numbers[id(expression)]), expression, rejects)
        for expression, rejects in _expressions(knowledge)
    )


def _expressions(knowledge: Knowledge) -> Iterator[tuple[Expression, bool]]:
    for stratum in (*knowledge.strata.hard, *knowledge.strata.soft):
        for rule in stratum.rules:
            yield rule.condition, rule.rejects
            yield from ((expression, False) for expression in rule.grades)
    for value in knowledge.strata.aggregates:
        yield from ((expression, False) for expression in value.expressions)


def unchanged(session: SessionResult, environment: PlanEnvironment, before: Consultation) -> bool:
    """Whether the rules say the same of the plans as before. ``environment``: that of the same plans, with what was
    settled of them before.
    """
    knowledge, differs = session.knowledge, session.environment.evaluator.differs
    if _overriding(session) != _overriding(before.session):
        return False
    for read in _asked_of_plans(knowledge):
        if read.bits & differs:
            now = environment.evaluator.value(read.expression)
            if not v.identical(now, before.plans.environment.evaluator.value(read.expression)):
                return False
            if read.rejects and _open(now):  # what is asked for, and why, may have changed
                return False
    return True


def _overriding(session: SessionResult) -> set[str]:
    """The rules that fired and would defeat others."""
    overriders = {other for others in session.knowledge.overriders.values() for other in others}
    return overriders & {rule.id for rule in session.fired}


def _open(truth: v.Value) -> bool:
    """Whether a condition is neither true nor false of some plan."""
    return isinstance(truth, v.Truth) and not _all(truth.true | truth.false)


def _all(flags: v.Flags) -> bool:
    return bool(flags if isinstance(flags, bool) else flags.all())
