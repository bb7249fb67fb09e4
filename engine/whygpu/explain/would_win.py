"""From which load, context or size of a job an accelerator that lost would be recommended: what a why-not ends with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from whygpu.explain.bracket import Tried, nearest
from whygpu.explain.flips import Flip
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rerun import LOADS, Among, assumed_otherwise, first_of_each, lead, rerun_or_none
from whygpu.explain.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.consult.consultation import Consultation
    from whygpu.plans.enumerate import Planner

_CONTENDERS = 5
"""Cards beside it among which the search goes on: what it finds is made sure of among all of them."""


def would_win(consultation: Consultation, card: str) -> tuple[Flip, ...]:
    """For each load that is known, given or assumed, the nearest one from which the accelerator (an id) comes first.

    Each is found among the best few accelerators and verified among all of them. Empty where none was found, within
    ``bracket.LADDER`` times more or less, or where it comes first already.
    """
    rows = Rows(consultation)
    names = [rows.identity(row)[0] for row in rows.heads[:_CONTENDERS]]
    if names[:1] == [card]:
        return ()
    among = Among(frozenset((card, *names)))
    found = [flip for key in LOADS for flip in _of_answer(consultation, card, key, among)]
    return tuple(sorted(found, key=lambda item: item.near))


def tried(consultation: Consultation) -> tuple[str, ...]:
    """The answers that ``would_win`` tries: those that have a number."""
    return tuple(key for key in LOADS if consultation.session.number(key))


def _of_answer(consultation: Consultation, card: str, key: str, among: Planner) -> Iterator[Flip]:
    """On each side of the number that holds now."""
    value, spec = consultation.session.number(key), consultation.knowledge.name_by_answer.get(key)
    if spec is None or not value:
        return
    attempt = partial(_attempt, consultation, card, key)
    for up in (True, False):
        for planner in (among, None):  # what is not true among all is looked for among all
            ends = nearest(value, _behind(consultation, card), spec, partial(attempt, planner), up=up)
            if ends is None:
                break
            after = rerun_or_none(consultation, {key: ends[1]})
            if after is not None and _first(after, card) and not attempt(None, ends[0]).changes:
                assumed = assumed_otherwise(consultation, after)
                yield Flip(key, value, ends[1], PlanMaker(after).best(), ends[0], assumed=assumed)
                break


def _attempt(consultation: Consultation, card: str, key: str, planner: Planner | None, number: float) -> Tried:
    after = rerun_or_none(consultation, {key: number}, planner)
    return Tried(changes=False, lead=None) if after is None else Tried(_first(after, card), _behind(after, card))


def _first(consultation: Consultation, card: str) -> bool:
    rows = Rows(consultation)
    return bool(rows.heads) and rows.identity(rows.heads[0])[0] == card


def _behind(consultation: Consultation, card: str) -> float | None:
    """How much more the accelerator's best plan counts than the best other one, as a logarithm; None where either is
    out or has no price.
    """
    plan_set = consultation.plans.plan_set
    mine = np.array([item.id == card for item in plan_set.cards.accelerators])[plan_set.card]
    firsts = first_of_each(consultation, mine)
    return None if firsts is None else lead(consultation, firsts[1], firsts[0])
