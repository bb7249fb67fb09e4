"""The board: what each criterion is worth for a few plans, and the rules behind each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.quantity import show
from whygpu.render.view.lists import quoted
from whygpu.render.view.model import Board, BoardCell, BoardRow, Line
from whygpu.render.view.rivals import money_with_handling
from whygpu.render.view.words import Words
from whygpu.render.words import money_text, short_text, worth_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.explain.advice import Advice
    from whygpu.explain.plan import Counted, Plan


def board(advice: Advice, plans: Sequence[Plan]) -> Board:
    """The board of these plans, of which those that count as nothing (out, or without a price) are left out."""
    compared = [(plan, plan.counted) for plan in plans if plan.counted is not None]
    words = Words(advice.consultation)
    criteria = dict.fromkeys(item.criterion for _, counted in compared for item in counted.factors)
    rows = tuple(
        BoardRow(criterion, tuple(_cell(advice, words, plan, counted, criterion) for plan, counted in compared))
        for criterion in criteria
    )
    said = (line.evidence for row in rows for cell in row.cells for line in cell.said)
    return Board(
        tuple(short_text(plan) for plan, _ in compared),
        tuple(money_text(plan) for plan, _ in compared),
        tuple(money_with_handling(plan) for plan, _ in compared),
        rows,
        tuple(show(counted.value, counted.unit) for _, counted in compared),
        quoted(advice.consultation.knowledge, said),
    )


def _cell(advice: Advice, words: Words, plan: Plan, counted: Counted, criterion: str) -> BoardCell:
    worth = next((item.worth for item in counted.factors if item.criterion == criterion), 1.0)
    return BoardCell(worth_text(worth), tuple(_said(advice, words, plan, criterion)))


def _said(advice: Advice, words: Words, plan: Plan, criterion: str) -> Iterator[Line]:
    rules = advice.consultation.knowledge.rule_by_id
    for verdict in plan.verdicts:
        if verdict.criterion == criterion:
            for name in verdict.rules:
                rule = rules[name]
                text, evidence = words.because(rule, plan.index), words.of_rule(rule)
                yield Line(text, 0, "+" if verdict.favourable else "-", evidence)
