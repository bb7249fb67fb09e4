"""Pieces of work on several processes: the same results, in the same order, as on one."""

from __future__ import annotations

import os
import sys
from functools import partial

import pytest

from whygpu.lint import parallel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process is forked")


@pytest.fixture(autouse=True)
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes for few pieces, whatever threads tests have left."""
    monkeypatch.setattr(parallel, "_LEAST", 1)
    monkeypatch.setattr(parallel, "_forks", lambda: True)


def piece(number: int) -> tuple[int, int]:
    return number, os.getpid()


def test_results_come_in_order_from_other_processes() -> None:
    with parallel.at_once([partial(piece, number) for number in range(50)], jobs=3) as wait:
        found = list(wait())
    assert [number for number, _ in found] == list(range(50))
    assert os.getpid() not in {process for _, process in found}


def dying(number: int, here: int) -> int:
    if os.getpid() != here and number == 3:
        os._exit(1)
    return number


def test_one_that_dies_loses_nothing() -> None:
    pieces = [partial(dying, number, os.getpid()) for number in range(6)]
    with parallel.at_once(pieces, jobs=2) as wait:
        assert list(wait()) == list(range(6))


def test_few_pieces_are_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_LEAST", 6)
    with parallel.at_once([partial(piece, number) for number in range(5)], jobs=2) as wait:
        assert list(wait()) == [(number, os.getpid()) for number in range(5)]
    none: list[partial[tuple[int, int]]] = []
    with parallel.at_once(none, jobs=2) as wait:
        assert list(wait()) == []


@pytest.mark.parametrize("count", [0, 1, 7, 10_001])
def test_batches_have_all_items_and_are_not_too_many(count: int) -> None:
    found = parallel.batched(range(count), 4)
    assert [item for batch in found for item in batch] == list(range(count))
    assert len(found) <= 1000
