"""Processes that answer the rows of a batch: as many at once as there are, results in the rows' order.

Each has a pipe of its own and one group of rows at a time: memory is bounded, one that dies is known by its pipe, and
all of them end where this process does. A row is tried twice: one that ends two processes is an error, and no other row
is lost for it.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from whygpu.collector import settle
from whygpu.commands.groups import WINDOW, groups, in_order
from whygpu.commands.job import failed
from whygpu.errors import AnswerError, InputError, Location, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from whygpu.commands.groups import Group
    from whygpu.commands.job import Job
    from whygpu.commands.row import Row

_AHEAD = 1  # windows that are begun while an earlier one is not done


class Workers:
    """The processes."""

    def __init__(self, job: Job, size: int, window: int = WINDOW) -> None:
        """``size`` processes for a job; they start when lines are first asked for."""
        self._job, self._size, self._window = job, size, window
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, tuple[_Worker, Group]] = {}

    def lines(self, rows: Iterable[Row]) -> Iterator[list[str]]:
        """Result lines, in order; raises AnswerError where the processes cannot work."""
        return in_order(self._results(rows))

    def _results(self, rows: Iterable[Row]) -> Iterator[list[tuple[int, str]]]:
        self._idle = [_Worker(self._job) for _ in range(self._size)]
        waiting = groups(rows, self._size, self._window)
        group = next(waiting, None)
        try:
            while True:
                while self._idle and group is not None and group.window - self._oldest(group) <= _AHEAD:
                    worker = self._idle.pop()
                    worker.give([row for _, row in group.rows])
                    self._busy[worker.pipe] = worker, group
                    group = next(waiting, None)
                if not self._busy:
                    return
                heard = wait(list(self._busy))
                for pipe in [pipe for pipe in self._busy if pipe in heard]:
                    worker, given = self._busy[pipe]
                    if worker.is_ready:
                        del self._busy[pipe]
                        lines = self._answered(worker, [row for _, row in given.rows])
                        yield [(number, line) for (number, _), line in zip(given.rows, lines, strict=True)]
                    else:
                        worker.begin()
        finally:
            for worker in (*self._idle, *(worker for worker, _ in self._busy.values())):
                worker.end()

    def _oldest(self, group: Group) -> int:
        """The first window that is not done."""
        return min((given.window for _, given in self._busy.values()), default=group.window)

    def _answered(self, worker: _Worker, rows: list[Row]) -> list[str]:
        """What a worker says to some rows; where it died, what another one says to each."""
        try:
            lines = worker.take()
        except (EOFError, OSError):
            worker.end()
            return [line for row in rows for line in self._again(row)]
        self._idle.append(worker)
        return lines

    def _again(self, row: Row) -> list[str]:
        worker = self._idle.pop() if self._idle else _Worker(self._job)
        worker.give([row])
        try:
            lines = worker.take()
        except (EOFError, OSError):
            worker.end()
            worker, lines = _Worker(self._job), [failed(row, "crashed", "the process that answered it ended, twice")]
        self._idle.append(worker)
        return lines


class _Worker:
    """One process."""

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        self.is_ready = False
        self._process: SpawnProcess = context.Process(target=_work, args=(far, job), daemon=True)
        with _no_interrupts():
            self._process.start()
        far.close()

    def give(self, rows: list[Row]) -> None:
        """Let it answer these."""
        with suppress(OSError):  # it is gone, as ``take`` will find
            self.pipe.send(rows)

    def begin(self) -> None:
        """Wait until it can answer; raises AnswerError where it never will."""
        try:
            problems: tuple[Problem, ...] = self.pipe.recv()
        except (EOFError, OSError) as error:
            message = "a process ended before it could answer any row"
            raise AnswerError(
                [Problem("crashed", message, Location("--batch"), "is there memory for --jobs?")]
            ) from error
        if problems:
            raise AnswerError(problems)
        self.is_ready = True

    def take(self) -> list[str]:
        """Its lines; raises EOFError or OSError where it is gone, AnswerError where it never began."""
        if not self.is_ready:
            self.begin()
        lines: list[str] = self.pipe.recv()
        return lines

    def end(self) -> None:
        """Stop it, whatever it does."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def _work(pipe: Connection, job: Job) -> None:
    """Answer rows until nobody asks any more: the other end is closed, or its process gone."""
    with suppress(EOFError, OSError):
        try:
            knowledge = job.load()
        except InputError as error:
            pipe.send(error.problems)
            return
        pipe.send(())
        known = job.known()
        settle()
        while True:
            pipe.send([job.line(row, knowledge, known) for row in pipe.recv()])


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """What starts now ignores Ctrl-C, which goes to all processes of a terminal: this one ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
