"""Worked cases on all cores: each process judges its share of them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whygpu.lint.cases import check_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.errors import Problem
    from whygpu.knowledge.cases import Case

_LEAST = 24
"""Cases below which processes take longer than they save."""


@contextmanager
def cases_at_once(
    kb: KnowledgeBase, engine: EngineName, cases: tuple[Case, ...], jobs: int | None = None
) -> Iterator[Callable[[], Iterator[Problem]]]:
    """Begin to judge the cases in ``jobs`` processes, as many as there are cores; what is yielded waits for them.

    Where processes cannot be forked safely, or the cases are few, they are judged when they are asked for. A process
    that dies loses nothing: its cases are judged here.
    """
    jobs = min(jobs or _cores(), len(cases) // _LEAST)
    shares = [cases[number::jobs] for number in range(jobs)] if jobs > 1 and _forks() else []
    workers = _start(kb, engine, shares)

    def wait() -> Iterator[Problem]:
        if not workers:
            yield from check_cases(kb, engine, cases)
        for (pipe, _), share in zip(workers, shares, strict=True):
            try:
                yield from pipe.recv()
            except (EOFError, OSError):
                yield from check_cases(kb, engine, share)

    try:
        yield wait
    finally:
        for pipe, process in workers:
            pipe.close()
            process.terminate()
            process.join()


def _start(
    kb: KnowledgeBase, engine: EngineName, shares: list[tuple[Case, ...]]
) -> list[tuple[Connection, multiprocessing.process.BaseProcess]]:
    started: list[tuple[Connection, multiprocessing.process.BaseProcess]] = []
    if not shares:
        return started
    context = multiprocessing.get_context("fork")
    sys.stdout.flush()
    sys.stderr.flush()
    gc.freeze()  # what is there is read, not written, and stays shared
    try:
        for share in shares:
            pipe, far = context.Pipe(duplex=False)
            process = context.Process(target=_judge, args=(far, kb, engine, share), daemon=True)
            process.start()
            far.close()
            started.append((pipe, process))
    finally:
        gc.unfreeze()
    return started


def _judge(pipe: Connection, kb: KnowledgeBase, engine: EngineName, cases: tuple[Case, ...]) -> None:
    try:
        pipe.send(list(check_cases(kb, engine, cases)))
    except (KeyboardInterrupt, BrokenPipeError):  # nobody waits any more
        return


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _forks() -> bool:
    """Whether this process can be copied: on Linux, and alone, for a copy has but one of its threads."""
    return sys.platform == "linux" and threading.active_count() == 1
