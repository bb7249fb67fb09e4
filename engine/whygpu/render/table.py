"""Plain tables and wrapped text for terminals: aligned, as wide as there is room."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu.render.style import Style

_GAP = "  "
_WIDEST = 44  # of one cell; a longer text is cut, JSON and CSV have it whole


def table(
    headings: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], width: int | None, style: Style
) -> tuple[list[str], int]:
    """The lines of a table, and how many columns at its right did not fit into ``width``.

    The first column always stays. Numbers stand at the right of their column, words at the left.
    """
    rows = [[_cut(cell) for cell in row] for row in cells]
    widths = [max(len(text) for text in column) for column in zip(headings, *rows, strict=True)]
    shown = len(widths)
    while width is not None and shown > 1 and sum(widths[:shown]) + len(_GAP) * (shown - 1) > width:
        shown -= 1

    def line(texts: Sequence[str]) -> str:
        placed = (
            text.rjust(widths[index]) if numeric[index] else text.ljust(widths[index])
            for index, text in enumerate(texts[:shown])
        )
        return _GAP.join(placed).rstrip()

    return [style.strong(line(headings)), *map(line, rows)], len(widths) - shown


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def wrapped(text: str, width: int, indent: str, hanging: str | None = None) -> list[str]:
    """The text in lines, each after ``indent``; those after the first after ``hanging``, where it is given."""
    return textwrap.wrap(
        text,
        max(width, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
