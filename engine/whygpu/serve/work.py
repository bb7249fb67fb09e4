"""Where consultations of a server run: a few threads, a bounded queue before them, a limit on each answer's time."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server bears."""

    body_bytes: int = 256 * 1024
    running: int = 4
    """Consultations at once."""
    waiting: int = 200
    """Requests that wait for their turn."""
    seconds: float = 30.0
    """From a request to its answer."""


class BusyError(Exception):
    """Too many requests wait."""


class Work:
    """The threads; everything but the consultations themselves runs in the event loop's thread."""

    def __init__(self, limits: Limits) -> None:
        """They start when something runs."""
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.running, "consultation")
        self.open = 0
        """Consultations that run or wait, those too that nobody waits for any more."""

    async def run(self, function: Callable[[], T]) -> T:
        """What the function gives. Raises BusyError at once, TimeoutError after a time, and what the function raises.

        What is too late is taken out of the queue, or, once begun, goes on to its end unheard.
        """
        if self.open >= self._limits.running + self._limits.waiting:
            raise BusyError
        self.open += 1
        future = self._pool.submit(function)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)

    def _done(self) -> None:
        self.open -= 1

    def close(self) -> None:
        """Take nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
