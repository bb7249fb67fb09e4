"""What a piece of work takes, apart from what else the machine does: processor time in loops, and memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

_ADDITIONS = 1_000_000
PATIENCE = 300
"""Seconds that nothing takes, however busy the machine is: what hangs fails by it, and what is slow does not."""


def _loop() -> float:
    begun = time.thread_time()
    total = 0
    for number in range(_ADDITIONS):
        total += number
    return time.thread_time() - begun


def loops(work: Callable[[], Any]) -> float:
    """Processor time of the work in this thread, in plain loops of a million additions on the same machine."""
    before = _loop()
    begun = time.thread_time()
    work()
    taken = time.thread_time() - begun
    return taken / max(before, _loop())


def peak_mb(work: Callable[[], Any]) -> float:
    """The most memory that Python's objects of the work take at once, in megabytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
