"""Rows in an order in which those alike follow each other, so that what one has sized serves the next.

Rows are taken a window at a time, which bounds how many results wait for an earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.commands.row import Row

WINDOW = 4096
SMALL_WINDOW = 32
"""Where results are long, or someone waits for each."""
_MOST = 64  # rows of a group: what a process loses when it is killed, and another answers again
_SHARE = 8  # groups of a window for each process, so that none is idle for long at its end


@dataclass(frozen=True, slots=True)
class Group:
    """Some rows of one window, each with its number in the order of the results."""

    window: int
    rows: list[tuple[int, Row]]


def groups(rows: Iterable[Row], processes: int, window: int = WINDOW) -> Iterator[Group]:
    """All rows, those of one model and phase together; models in the order in which they come."""
    numbered = enumerate(rows)
    for number in count():
        taken = list(islice(numbered, window))
        if not taken:
            return
        alike: dict[str, list[tuple[int, Row]]] = {}
        for item in taken:
            alike.setdefault(item[1].likeness, []).append(item)
        ordered = [item for found in alike.values() for item in found]
        size = min(max(len(ordered) // (processes * _SHARE), 1), _MOST)
        for at in range(0, len(ordered), size):
            yield Group(number, ordered[at : at + size])


def in_order(found: Iterable[list[tuple[int, str]]]) -> Iterator[list[str]]:
    """Numbered results as lines in the order of their numbers, as soon as none is missing before them."""
    waiting: dict[int, str] = {}
    following = 0
    for results in found:
        waiting.update(results)
        lines = []
        while following in waiting:
            lines.append(waiting.pop(following))
            following += 1
        if lines:
            yield lines
