"""``--batch``: one set of answers a line or row, one JSON result a line, in the same order."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from whygpu.commands import inputs
from whygpu.commands.status import OK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.commands.job import Detail, Job
    from whygpu.commands.row import Row
    from whygpu.commands.rows import Source
    from whygpu.yamldoc.document import Node

MOST_JOBS = 256
_FEW = 16
"""Rows that are answered sooner here than by processes that have to start first."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a batch."""
    parser.add_argument(
        "--batch",
        metavar="IN",
        help="a .jsonl, .csv or .parquet file with one set of answers a line or row; '-' reads JSON lines",
    )
    parser.add_argument(
        "--out",
        metavar="OUT",
        help="with --batch: where to write one JSON result a line (default standard output). It grows as OUT.*.part; "
        "whatever ends the run, the same command goes on from there",
    )
    parser.add_argument("--jobs", type=_jobs, metavar="N", help="with --batch: processes (default: one for each core)")
    parser.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="with --batch: on the Ray cluster at this address (auto, HOST:PORT), or one of this machine",
    )


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a number of processes from 1 to {MOST_JOBS}")
    return int(text)


def run(
    options: argparse.Namespace,
    knowledge: KnowledgeBase,
    key: str,
    answer: Callable[[KnowledgeBase, Node, EngineName | None, Detail], dict[str, Any]],
    detail: Detail,
) -> int:
    """Answer every row; the result stands under ``key``. A bad row becomes an error and never stops the rest.

    Raises AnswerError where the input or the output as a whole cannot be used; then nothing is written.
    """
    from whygpu.commands.groups import SMALL_WINDOW, WINDOW  # noqa: PLC0415
    from whygpu.commands.job import Job  # noqa: PLC0415  --help needs no more
    from whygpu.commands.journal import output  # noqa: PLC0415
    from whygpu.commands.progress import Progress  # noqa: PLC0415
    from whygpu.commands.rows import Source  # noqa: PLC0415
    from whygpu.commands.tally import Tally  # noqa: PLC0415
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415

    if options.answers is not None:
        hint = "give what all rows share with --set and --model"
        raise AnswerError([Problem("bad-option", "--batch takes no answers file beside it", Location("--batch"), hint)])
    common = inputs.read_answers(options, knowledge)  # what is wrong with it is wrong with every row
    job = Job(answer, key, options.engine, options.kb, knowledge.knowledge.hash, common, detail)
    source = Source.of(options.batch, spool=options.out is not None)
    with output(options.out, _digest(job, source)) as out:
        if out.done:
            print(f"continuing after {out.done:,} finished rows", file=sys.stderr)
        progress, tally = Progress(source.lines, out.done), Tally(out.done, out.errors)
        try:
            rows = islice(tally.of(source.rows()), out.done, None)
            window = SMALL_WINDOW if source.is_live or detail.is_long else WINDOW
            if options.ray is None:
                found = _lines(job, knowledge, rows, options.jobs or _cores(), window)
            else:
                from whygpu.commands.cluster import Cluster  # noqa: PLC0415

                found = Cluster(job, options.ray, options.jobs, window).lines(rows)
            for lines in found:
                out.write(lines)
                progress.add(len(lines))
                tally.add(lines)
        finally:
            progress.end()
    print(tally.text, file=sys.stderr)
    return OK  # the contract: once every line is written, whatever the lines say


def _lines(job: Job, knowledge: KnowledgeBase, rows: Iterator[Row], jobs: int, window: int) -> Iterator[list[str]]:
    """Result lines in order, by this process or several."""
    from whygpu.commands.workers import Workers  # noqa: PLC0415

    first: list[Row] = []
    if jobs > 1:
        first = list(islice(rows, _FEW + 1))
    if len(first) > _FEW:
        return Workers(job, jobs, window).lines(chain(first, rows))
    return ([job.line(row, knowledge)] for row in chain(first, rows))


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _digest(job: Job, source: Source) -> str:
    """Of all that the results rest on: where it is the same, so are they."""
    import whygpu  # noqa: PLC0415
    from whygpu.yamldoc.document import plain_data  # noqa: PLC0415

    common = None if job.common is None else plain_data(job.common)
    rests_on = (whygpu.__version__, job.knowledge_hash, job.engine, job.key, job.detail, common, source.digest)
    return hashlib.sha256(repr(rests_on).encode(errors="replace")).hexdigest()
