"""How far a batch is, in one line on a terminal that is written over again and again; nothing elsewhere."""

from __future__ import annotations

import sys
import time

_SECONDS_BETWEEN = 0.25


class Progress:
    """Counts rows."""

    def __init__(self, total: int | None, done: int) -> None:
        """``total``: about how many rows there are, where that is known; ``done``: those answered before."""
        self._total, self._done, self._before = total, done, done
        self._begun = self._shown = time.monotonic()
        self._live = sys.stderr.isatty()

    def add(self, rows: int) -> None:
        """So many more rows are done."""
        self._done += rows
        now = time.monotonic()
        if self._live and now - self._shown >= _SECONDS_BETWEEN:
            self._shown = now
            self._print(now, "")

    def end(self) -> None:
        """Leave the last state on a line of its own."""
        if self._live:
            self._print(time.monotonic(), "\n")

    def _print(self, now: float, end: str) -> None:
        rate = (self._done - self._before) / max(now - self._begun, 1e-9)
        text = f"{self._done:,} rows, {rate:.1f} a second"
        if self._total is not None and self._total >= self._done:
            left = (self._total - self._done) / rate if rate else 0.0
            text = f"{self._done:,} of {self._total:,} rows, {rate:.1f} a second, {_time(left)} left"
        print(f"\r\x1b[K{text}", end=end, file=sys.stderr, flush=True)


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
