"""Reads a plain CSV of loads: one row for each, columns by the names of a point ('whygpu schema measurement').

Columns are divided by commas, semicolons or tabs. Lines that begin with '#' are comments. At least one column says how
much was sent, one how much was answered. A cell may say its unit, where the name of its column has one ("1.5 s").
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.measured.measurement import POINT
from whygpu.measured.readers.load_json import MOST_LINES, number
from whygpu.measured.readers.reading import Reader, Reading, refused
from whygpu.quantity import parse_number

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOL = "csv"
_LOADS = ("concurrency", "request_rate", "batch")
_DIVIDERS = (",", ";", "\t")
_UNITS = (("_ms", "ms"), ("duration_s", "s"), ("_gib", "GiB"))
"""By how the name of a column ends."""
_MOST_HEAD = 4_000


def recognises(text: str) -> bool:
    """Whether its first line names a load and another column of a point."""
    lines = _lines(text[:_MOST_HEAD])
    heads = set(_heads(lines[0][1])) if lines else set()
    return len(heads & set(POINT)) >= 2 and bool(heads & set(_LOADS))


def is_table(text: str) -> bool:
    """Whether it looks like a CSV at all: a line of names, and one of as many values with a number among them."""
    lines = [line for _, line in _lines(text[:_MOST_HEAD])[:2]]
    if len(lines) < 2 or any(letter in lines[0] for letter in "{}[]:"):
        return False
    heads, cells = (_cells(line, _divider(lines[0])) for line in lines)
    return len(heads) == len(cells) > 1 and not any(map(number, heads)) and any(map(number, cells))


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without comments and empty ones."""
    found = enumerate(text.splitlines(), start=1)
    return [(place, line) for place, line in found if line.strip() and not line.startswith("#")]


def _divider(line: str) -> str:
    return max(_DIVIDERS, key=line.count)


def _cells(line: str, divider: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=divider, skipinitialspace=True))]


def _heads(line: str) -> list[str]:
    return [cell.lower() for cell in _cells(line, _divider(line))]


def read(text: str, name: str) -> Reading:
    """The load of each row; raises AnswerError with every cell that is no number, every column that is unknown or
    twice there, and every row that does not fit the columns.
    """
    lines = _lines(text)
    if len(lines) - 1 > MOST_LINES:
        raise refused(name, f"has more than {MOST_LINES:,} rows", "give one row for each load")
    (first, head), *rows = lines
    heads, divider = _heads(head), _divider(head)
    problems = [*_of_heads(heads, Location(name, first))]
    points = []
    for line, row in rows:
        cells = _cells(row, divider)
        if len(cells) != len(heads):
            message = f"has {len(cells)} values in a row, and {len(heads)} columns"
            hint = "leave a value out between its commas, and put quotes around one that has a comma in it"
            problems.append(Problem("unreadable", message, Location(name, line), hint))
            continue
        points.append(_point(dict(zip(heads, cells, strict=True)), divider, Location(name, line), problems))
    if problems:
        raise AnswerError(problems)
    return Reading(points=tuple(points))


def _of_heads(heads: list[str], where: Location) -> Iterator[Problem]:
    for index, head in enumerate(heads):
        if head not in POINT:
            hint = did_you_mean(head, POINT) or f"known: {', '.join(POINT)}"
            yield Problem("unknown-column", f"there is no column '{head[:40]}'", where, hint)
        elif head in heads[:index]:
            yield Problem("two-values", f"two columns are called '{head}'", where, "leave one of them out")


def _point(cells: dict[str, str], divider: str, where: Location, problems: list[Problem]) -> dict[str, float]:
    found = {}
    for head, cell in cells.items():
        if not cell or head not in POINT:
            continue
        unit = next((unit for end, unit in _UNITS if head.endswith(end)), None)
        value = None if "," in cell and divider != "," else parse_number(cell, unit)
        if value is None or value < 0:
            message = f"'{head}' is '{cell[:40]}', and not a number of zero or more"
            problems.append(Problem("wrong-type", message, where, "write 12.5, and nothing where unknown"))
        else:
            found[head] = value
    return found


READER = Reader(TOOL, recognises, read)
