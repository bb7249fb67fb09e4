"""Processes that answer the rows of a batch: as many at once as there are, results in the rows' order.

Each has a pipe of its own and one chunk of rows at a time: memory is bounded, one that dies is known by its pipe, and
all of them end where this process does. A row is tried twice: one that ends two processes is an error, and no other row
is lost for it.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from whygpu.commands.job import failed
from whygpu.errors import AnswerError, InputError, Location, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from whygpu.commands.job import Job
    from whygpu.commands.row import Row

CHUNK = 8  # rows a process is given at once; what it loses when it is killed, and answers again
_AHEAD = 4  # chunks a process that wait for an earlier one


def chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows a few at a time."""
    rows = iter(rows)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


class Workers:
    """The processes."""

    def __init__(self, job: Job, size: int) -> None:
        """``size`` processes for a job; they start when lines are first asked for."""
        self._job, self._size = job, size
        self._idle: list[_Worker] = []
        self._busy: dict[Connection, tuple[_Worker, int, list[Row]]] = {}

    def lines(self, rows: Iterable[Row]) -> Iterator[list[str]]:
        """Result lines, in order; raises AnswerError where the processes cannot work."""
        self._idle = [_Worker(self._job) for _ in range(self._size)]
        waiting = enumerate(chunks(rows))
        ready: dict[int, list[str]] = {}
        number = following = 0
        try:
            while True:
                while self._idle and number - following < self._size * _AHEAD:
                    number, chunk = next(waiting, (number, []))
                    if not chunk:
                        break
                    worker = self._idle.pop()
                    worker.give(chunk)
                    self._busy[worker.pipe] = worker, number, chunk
                if not self._busy:
                    return
                heard = wait(list(self._busy))
                for pipe in [pipe for pipe in self._busy if pipe in heard]:
                    worker, at, chunk = self._busy[pipe]
                    if worker.is_ready:
                        del self._busy[pipe]
                        ready[at] = self._answered(worker, chunk)
                    else:
                        worker.begin()
                while following in ready:
                    yield ready.pop(following)
                    following += 1
        finally:
            for worker in (*self._idle, *(worker for worker, _, _ in self._busy.values())):
                worker.end()

    def _answered(self, worker: _Worker, chunk: list[Row]) -> list[str]:
        """What a worker says to a chunk; where it died, what another one says to each row."""
        try:
            lines = worker.take()
        except (EOFError, OSError):
            worker.end()
            return [line for row in chunk for line in self._again(row)]
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

    def give(self, chunk: list[Row]) -> None:
        """Let it answer these."""
        with suppress(OSError):  # it is gone, as ``take`` will find
            self.pipe.send(chunk)

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
    """Answer chunks until nobody asks any more: the other end is closed, or its process gone."""
    with suppress(EOFError, OSError):
        try:
            knowledge = job.load()
        except InputError as error:
            pipe.send(error.problems)
            return
        pipe.send(())
        while True:
            pipe.send([job.line(row, knowledge) for row in pipe.recv()])


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
