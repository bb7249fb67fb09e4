"""The same consultation with other answers: what what-if, flips and repairs rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.answers import node_of
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.driver import consult, inapplicable
from whygpu.errors import AnswerError
from whygpu.explain.rows import Identity, Rows
from whygpu.measured.answers import check_answers
from whygpu.plans.existing import plans_with_owned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.answers import Answers
    from whygpu.chain.engines import Mask
    from whygpu.consult.consultation import Consultation
    from whygpu.plans.enumerate import Planner
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.work import Work

ENGINE = EvaluatorChain.engine
"""What runs again: both engines agree, and it is the faster one for a single consultation."""
LOADS = (
    "concurrency",
    "requests_per_second",
    "streams",
    "context_tokens",
    "sequence_tokens",
    "dataset_tokens",
    "dataset_hours",
    "dataset_samples",
)
"""Answers that say how much there is to do at once, in one request, or in all."""
_MATTERS = "criticality"
"""The answer that is assumed by the load: many users suggest customers."""


def rerun(
    consultation: Consultation,
    changes: Mapping[str, Any],
    planner: Planner | None = None,
    answers: Answers | None = None,
    *,
    waits: bool = True,
) -> Consultation:
    """The consultation with these answers merged over the given ones (None takes one away), on the same day.

    ``planner``: what finds the plans, where it is another one than usual; ``answers``: all of them, checked already;
    ``waits``: as ``consult`` has it.
    Raises AnswerError where an answer cannot be used.
    """
    if answers is None:
        answers = _merged(consultation, changes)
    found = planner or plans_with_owned
    knowledge, day = consultation.knowledge, consultation.today
    return consult(knowledge, answers, EvaluatorChain(), day, found, waits=waits, before=consultation)


def _merged(consultation: Consultation, changes: Mapping[str, Any]) -> Answers:
    given = {**consultation.answers.given, **changes}
    kept = {key: value for key, value in given.items() if value is not None}
    answers = check_answers(node_of(kept), consultation.knowledge)
    return replace(answers, life=consultation.answers.life)


def applies(consultation: Consultation, changes: Mapping[str, Any]) -> bool:
    """Whether the changes can be held, and each is asked of such work: QLoRA is no way to serve a model."""
    try:
        unasked = inapplicable(consultation.knowledge, _merged(consultation, changes))
    except AnswerError:
        return False
    return not any(key in unasked for key, value in changes.items() if value is not None)


def assumed_otherwise(before: Consultation, after: Consultation) -> tuple[tuple[str, str], ...]:
    """Answers in words that both assume, each otherwise, and what the second does: a larger load suggests customers."""
    was = {item.question.id: item.value for item in before.applied.assumed}
    return tuple(
        (item.question.id, item.value)
        for item in after.applied.assumed
        if isinstance(item.value, str) and was.get(item.question.id, item.value) != item.value
    )


def assumed_criticality(consultation: Consultation) -> dict[str, Any]:
    """How much a service matters, where that is assumed: with less load it would be taken for one that matters less."""
    return {item.question.id: item.value for item in consultation.applied.assumed if item.question.id == _MATTERS}


def choice(consultation: Consultation) -> Identity | None:
    """What is recommended, without its figures; None where nothing is."""
    rows = Rows(consultation)
    return rows.identity(rows.heads[0]) if rows.heads else None


def lead_of(consultation: Consultation, choice_: Identity | None) -> float | None:
    """By how much the best other choice counts more than this one, as a logarithm; negative where it counts less, None
    where either is out or has no price, or only one of them could be checked.
    """
    if choice_ is None:
        return None
    mine, unverified = Rows(consultation).alike_rows(choice_), consultation.plans.unverified
    firsts = first_of_each(consultation, mine)
    if firsts is None or unverified[firsts[0]] != unverified[firsts[1]]:
        return None
    return lead(consultation, *firsts)


def first_of_each(consultation: Consultation, mine: Mask) -> tuple[int, int] | None:
    """The first plan in the mask and the first that is not, as rows; None where all plans left are on one side."""
    order = consultation.plans.ranking.order
    one = next((row for row in order if mine[row]), None)
    other = next((row for row in order if not mine[row]), None)
    return None if one is None or other is None else (one, other)


def lead(consultation: Consultation, one: int, other: int) -> float | None:
    """By how much the other plan counts more than the one, as a logarithm; None where either has no price."""
    values = consultation.plans.ranking.counted.values
    found = math.log(values[other] / values[one]) if values[one] > 0 < values[other] else math.nan
    return found if math.isfinite(found) else None


def rerun_or_none(
    consultation: Consultation, changes: Mapping[str, Any], planner: Planner | None = None, *, waits: bool = True
) -> Consultation | None:
    """``rerun``; None where the changed answers cannot be held together."""
    try:
        return rerun(consultation, changes, planner, waits=waits)
    except AnswerError:
        return None


def changed(
    consultation: Consultation, changes: Mapping[str, Any], before: Identity | None, planner: Planner | None = None
) -> Consultation | None:
    """The changed consultation, where it can be held and recommends something else than ``before``."""
    after = rerun_or_none(consultation, changes, planner)
    return after if after is not None and choice(after) != before else None


@dataclass(frozen=True, slots=True)
class Among:
    """A planner of the usual plans on some of the accelerators alone: by id."""

    cards: frozenset[str]

    def __call__(self, work: Work, allowed: Mask, options: Options, targets: Targets) -> PlanSet:
        """The plans on those that are allowed, too."""
        left = allowed & np.array([name in self.cards for name in work.catalogue.accelerators])
        return plans_with_owned(work, left, options, targets)
