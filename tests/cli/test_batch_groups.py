"""Rows alike are answered one after another, equal ones once, and results keep the order of the rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from whygpu.api import KnowledgeBase
from whygpu.commands.groups import groups, in_order
from whygpu.commands.job import Detail, Job, Known
from whygpu.commands.row import Row

MODELS = ("a", "b", "c")


def rows_of(count: int) -> list[Row]:
    draw = Random(1)
    return [Row(number, f"row {number}", {"model": draw.choice(MODELS), "count": number}) for number in range(count)]


@pytest.mark.parametrize(("count", "processes", "window"), [(0, 2, 8), (1, 2, 8), (100, 2, 16), (100, 3, 1000)])
def test_each_row_is_in_one_group_of_its_window_beside_those_of_its_model(
    count: int, processes: int, window: int
) -> None:
    rows = rows_of(count)
    found = list(groups(rows, processes, window))
    numbered = [item for group in found for item in group.rows]
    assert sorted(numbered, key=lambda item: item[0]) == list(enumerate(rows))
    assert all(number // window == group.window for group in found for number, _ in group.rows)
    for first in range(0, count, window):
        models = [row.data["model"] for number, row in numbered if number // window == first // window and row.data]
        changes = sum(before != after for before, after in pairwise(models))
        assert changes < len(MODELS)


def test_results_come_in_order_as_soon_as_none_is_missing() -> None:
    found = [[(1, "b"), (3, "d")], [(0, "a")], [(2, "c"), (4, "e")]]
    assert list(in_order(iter(found))) == [["a", "b"], ["c", "d", "e"]]


@pytest.fixture
def counted() -> tuple[Callable[..., dict[str, Any]], list[object]]:
    asked: list[object] = []

    def answer(*given: Any) -> dict[str, Any]:
        asked.append(given)
        return {"answers": len(given[1].items)}

    return answer, asked


def test_equal_answers_are_answered_once_and_keep_their_ids(
    kb: KnowledgeBase, counted: tuple[Callable[..., dict[str, Any]], list[object]]
) -> None:
    answer, asked = counted
    job = Job(answer, "advice", "evaluator", None, kb.knowledge.hash, None, Detail())
    rows = [Row("x", "1", {"count": 1}), Row("y", "2", {"count": 1}), Row("z", "3", {"count": True})]
    bad = Row("bad", "4", problem="it is not one JSON object")
    known = Known()
    lines = [json.loads(job.line(row, kb, known)) for row in (*rows, bad, bad)]
    assert [line["id"] for line in lines] == ["x", "y", "z", "bad", "bad"]
    assert len(asked) == 2
    assert [json.loads(job.line(row, kb)) for row in rows] == lines[:3]


def test_known_results_are_few() -> None:
    known = Known(2)
    for text in "abc":
        known.keep(text, text)
    assert [known.get(text) for text in "abc"] == [None, "b", "c"]
