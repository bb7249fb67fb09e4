"""Problems as a compiler would print them: place, code, message, the line with a caret, help."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.errors import Problem
    from whygpu.explain.contract import ProblemJson
    from whygpu.render.style import Style

_WINDOW = 110  # characters of a long line that are shown around the caret


def problems_text(problems: Iterable[Problem], style: Style) -> str:
    """All problems, one after the other."""
    return style.safe("\n".join(_problem(item, style) for item in problems))


def problems_data(problems: Iterable[Problem]) -> list[ProblemJson]:
    """The same as data; ``text`` is the first line that ``problems_text`` prints."""
    return [
        {
            "file": item.location.file,
            "line": item.location.line,
            "column": item.location.column,
            "end_column": item.location.end_column,
            "code": item.code,
            "severity": item.severity,
            "message": item.message,
            "help": item.help,
            "snippet": item.snippet,
            "text": f"{item.location}: {item.code}: {item.message}",
        }
        for item in problems
    ]


def _problem(item: Problem, style: Style) -> str:
    paint = style.bad if item.severity == "error" else style.doubtful
    label = item.code if item.severity == "error" else f"warning: {item.code}"
    lines = [f"{style.strong(str(item.location))}: {paint(label)}: {item.message}"]
    if item.snippet and item.snippet.strip():
        shown = _Snippet.of(item.snippet, item.location.column, item.location.end_column)
        lines.append(f"    {shown.text}")
        if shown.width:
            lines.append("    " + " " * shown.indent + paint("^" * shown.width))
    if item.help:
        lines.append(f"  {style.faint('help:')} {item.help}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Snippet:
    """A line as a terminal shows it, and where the carets go, in cells; ``width`` 0: no carets."""

    text: str
    indent: int
    width: int

    @classmethod
    def of(cls, line: str, column: int, end_column: int) -> _Snippet:
        """Cut a long line to a window around ``column``; what would not show, or would move the caret, is replaced."""
        line = "".join(character if character.isprintable() else " " for character in line.rstrip())
        if not column or column > len(line) + 1:
            return cls(line[:_WINDOW], 0, 0)
        start, end = column - 1, max(min(end_column - 1, len(line)), column)
        if len(line) > _WINDOW:
            first = max(min(start - _WINDOW // 3, len(line) - _WINDOW), 0)
            last = first + _WINDOW
            before, after = "…" if first else "", "…" if last < len(line) else ""
            line = before + line[first:last] + after
            start, end = start - first + len(before), min(end, last) - first + len(before)
        return cls(line, _cells(line[:start]), max(_cells(line[start:end]), 1))


def _cells(text: str) -> int:
    """Terminal cells: wide East Asian characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
