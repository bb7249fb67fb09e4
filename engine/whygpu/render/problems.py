"""Problems as a compiler would print them: place, code, message, the line with a caret, help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.errors import Problem
    from whygpu.render.style import Style


def problems_text(problems: Iterable[Problem], style: Style) -> str:
    """All problems, one after the other."""
    return "\n".join(_problem(item, style) for item in problems)


def _problem(item: Problem, style: Style) -> str:
    paint = style.bad if item.severity == "error" else style.doubtful
    lines = [f"{style.strong(str(item.place))}: {paint(item.code)}: {item.message}"]
    if item.snippet and item.snippet.strip():
        lines.append(f"    {item.snippet.rstrip()}")
        if item.place.column:
            width = max(min(item.place.end_column, len(item.snippet) + 1) - item.place.column, 1)
            lines.append("    " + " " * (item.place.column - 1) + paint("^" * width))
    if item.help:
        lines.append(f"  {style.faint('help:')} {item.help}")
    return "\n".join(lines)
