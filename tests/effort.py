"""What a piece of work takes, apart from what else the machine does; and which cases of a test are tried each time."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_ADDITIONS = 1_000_000
_QUICKEST = 0.005
"""Seconds in which no machine of today adds up so much."""
PATIENCE = 300
"""Seconds that nothing takes, however busy the machine is: what hangs fails by it, and what is slow does not."""


def one_in(every: int, cases: Iterable[Any], ids: Iterable[str] | None = None) -> list[Any]:
    """The cases as parameters: one in so many is tried each time, the others where slow tests are."""
    named = zip(cases, ids, strict=True) if ids is not None else ((case, None) for case in cases)
    return [
        pytest.param(case, id=name, marks=pytest.mark.slow if number % every else ())
        for number, (case, name) in enumerate(named)
    ]


def _loop() -> float:
    begun = time.thread_time()
    total = 0
    for number in range(_ADDITIONS):
        total += number
    return time.thread_time() - begun


def takes_less(work: Callable[[], Any], most: float) -> bool:
    """Whether the work takes less processor time in this thread than so many plain loops of a million additions on the
    same machine; the loops are timed only where it takes longer than they do anywhere.
    """
    begun = time.thread_time()
    work()
    taken = time.thread_time() - begun
    return taken < most * _QUICKEST or taken < most * max(_loop(), _loop())


def peak_mb(work: Callable[[], Any]) -> float:
    """The most memory that Python's objects of the work take at once, in megabytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
