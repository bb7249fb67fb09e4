"""Where a character of a value stands in its file: through quotes, escapes, folded lines and block scalars.

Whitespace is what YAML changes when it folds and strips, so positions are found by counting the other characters: the
n-th of the value is the n-th of the source, once quotes and escapes are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what YAML 1.1 parsers, libyaml among them, count as line ends
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_BLANK_ESCAPES = frozenset("ntNLPvfr_ \t\n")


def split_lines(text: str) -> list[str]:
    """The lines as the YAML parser counts them."""
    return _BREAK.split(text)


def positions(lines: Sequence[str], line: int, column: int, value: str, start: int, end: int) -> tuple[int, int, int]:
    """Line, column and end column of ``value[start:end]``, for a scalar that begins at ``line``, ``column`` (1-based).

    The end column is that of the first line where the part spans several.
    """
    first = _visible(value[:start])
    count = max(_visible(value[start:end]), 1)
    spots = list(_spots(lines, line, column, min(first + count, _visible(value))))
    if first >= len(spots):  # beyond the last character: just after it
        at_line, at_column = spots[-1] if spots else (line, column)
        return at_line, at_column + (1 if spots else 0), at_column + (2 if spots else 1)
    at_line, at_column = spots[first]
    same = [spot for spot in spots[first : first + count] if spot[0] == at_line]
    return at_line, at_column, same[-1][1] + 1


def _visible(text: str) -> int:
    return sum(not character.isspace() for character in text)


def _spots(lines: Sequence[str], line: int, column: int, most: int) -> Iterator[tuple[int, int]]:
    """Positions of the visible characters of the scalar's text, at most ``most``."""
    opening = lines[line - 1][column - 1 : column] if 0 < line <= len(lines) else ""
    if opening in ("|", ">"):
        line, column = line + 1, 1
        reader = _plain(lines, line, column)
    elif opening in ("'", '"'):
        reader = _quoted(lines, line, column + 1, opening)
    else:
        reader = _plain(lines, line, column)
    for _, spot in zip(range(most), reader, strict=False):
        yield spot


def _plain(lines: Sequence[str], line: int, column: int) -> Iterator[tuple[int, int]]:
    for number in range(line, len(lines) + 1):
        text = lines[number - 1]
        for index in range(column - 1 if number == line else 0, len(text)):
            if not text[index].isspace():
                yield number, index + 1


def _quoted(lines: Sequence[str], line: int, column: int, quote: str) -> Iterator[tuple[int, int]]:
    for number in range(line, len(lines) + 1):
        text = lines[number - 1]
        index = column - 1 if number == line else 0
        while index < len(text):
            width = 1
            visible = not text[index].isspace()
            if quote == "'" and text[index : index + 2] == "''":
                width = 2
            elif quote == '"' and text[index] == "\\":
                kind = text[index + 1 : index + 2]
                width = 2 + _HEX_ESCAPES.get(kind, 0)
                visible = kind not in _BLANK_ESCAPES and kind != ""
            elif text[index] == quote:
                return
            if visible:
                yield number, index + 1
            index += width
