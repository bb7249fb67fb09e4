"""Reads a plain CSV of loads: one row for each, columns by the names of a point (docs/reference/measurements.md).

Lines that begin with '#' are comments. At least one column says how much was sent, one how much was answered.
"""

from __future__ import annotations

import csv
import io

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.measured.measurement import POINT
from whygpu.measured.readers.load_json import MOST_LINES, number
from whygpu.measured.readers.reading import Reader, Reading, refused

TOOL = "csv"
_LOADS = ("concurrency", "request_rate", "batch")


def recognises(text: str) -> bool:
    """Whether its first line names a load and another column of a point."""
    heads = _heads(text)
    return len(set(heads) & set(POINT)) >= 2 and bool(set(heads) & set(_LOADS))


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without comments and empty ones."""
    found = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in found if line.strip() and not line.startswith("#")]


def _heads(text: str) -> list[str]:
    lines = _lines(text[:4000])
    return [item.strip() for item in lines[0][1].split(",")] if lines else []


def read(text: str, name: str) -> Reading:
    """The load of each row; raises AnswerError with every cell that is no number and every column that is unknown."""
    lines = _lines(text)
    if len(lines) - 1 > MOST_LINES:
        raise refused(name, f"has more than {MOST_LINES:,} rows", "give one row for each load")
    heads = _heads(text)
    problems: list[Problem] = []
    for head in heads:
        if head not in POINT:
            hint = did_you_mean(head, POINT) or f"known: {', '.join(POINT)}"
            problems.append(
                Problem("unknown-column", f"there is no column '{head[:40]}'", Location(name, lines[0][0]), hint)
            )
    points = []
    for line, row in lines[1:]:
        point = {}
        for head, cell in zip(heads, next(csv.reader(io.StringIO(row))), strict=False):
            value = number(cell.strip())
            if cell.strip() and value is None and head in POINT:
                message = f"'{head}' is '{cell.strip()[:40]}', and not a number of zero or more"
                problems.append(
                    Problem("wrong-type", message, Location(name, line), "write 12.5, and nothing where unknown")
                )
            elif value is not None:
                point[head] = value
        points.append(point)
    if problems:
        raise AnswerError(problems)
    return Reading(points=tuple(points))


READER = Reader(TOOL, recognises, read)
