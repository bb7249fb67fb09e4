"""Pieces of work on all cores: each process takes the next one that nobody has begun."""

from __future__ import annotations

import gc
import multiprocessing
import os
import struct
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

T = TypeVar("T")

_LEAST = 6
"""Pieces below which processes take longer than they save."""
_MOST = 1000
"""Batches of one kind: the numbers of all pieces must find room in a pipe."""
_NUMBER = struct.Struct("=H")


@contextmanager
def at_once(pieces: Sequence[Callable[[], T]], jobs: int | None = None) -> Iterator[Callable[[], Iterator[T]]]:
    """Begin the pieces in ``jobs`` processes, as many as there are cores; what is yielded waits for what they come to,
    in their order.

    Where processes cannot be forked safely, or the pieces are few, they are done when they are asked for. A process
    that dies loses nothing: what it did not report is done here.
    """
    jobs = min(jobs or _cores(), len(pieces)) if len(pieces) >= _LEAST and _forks() else 0
    workers = _start(pieces, jobs) if jobs > 1 else []

    def wait() -> Iterator[T]:
        done: dict[int, T] = {}
        for pipe, _ in workers:
            try:
                done |= pipe.recv()
            except (EOFError, OSError):  # it died
                continue
        for number, piece in enumerate(pieces):
            yield done[number] if number in done else piece()

    try:
        yield wait
    finally:
        for pipe, process in workers:
            pipe.close()
            process.terminate()
            process.join()


def _start(pieces: Sequence[Callable[[], T]], jobs: int) -> list[tuple[Connection, BaseProcess]]:
    """The processes, each with the pipe it reports by; the numbers of the pieces lie in one that all share."""
    started: list[tuple[Connection, BaseProcess]] = []
    context = multiprocessing.get_context("fork")
    turns, giving = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()  # what is there is read, not written, and stays shared
    try:
        for _ in range(jobs):
            pipe, far = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(far, turns, giving, pieces), daemon=True)
            process.start()
            far.close()
            started.append((pipe, process))
        os.write(giving, b"".join(map(_NUMBER.pack, range(len(pieces)))))
    finally:
        os.close(turns)
        os.close(giving)
        gc.unfreeze()
    return started


def _work(pipe: Connection, turns: int, giving: int, pieces: Sequence[Callable[[], T]]) -> None:
    """Do one piece after the other, and report them all in the end."""
    os.close(giving)  # so that there is an end to the turns
    gc.disable()  # what there is stays, and what is made goes by itself
    try:
        done: dict[int, T] = {}
        while taken := os.read(turns, _NUMBER.size):
            number = _NUMBER.unpack(taken)[0]
            done[number] = pieces[number]()
        pipe.send(done)
    except (KeyboardInterrupt, BrokenPipeError):  # nobody waits any more
        return


def batched(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """The items by so many at a time; by more where these would be more pieces than can wait in line."""
    size = max(size, -(-len(items) // _MOST))
    return [items[first : first + size] for first in range(0, len(items), size)]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _forks() -> bool:
    """Whether this process can be copied: on Linux, and alone, for a copy has but one of its threads."""
    return sys.platform == "linux" and threading.active_count() == 1
