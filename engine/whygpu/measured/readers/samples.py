"""Samples of several cards brought together: means, peaks, and the cards that did nothing left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

THERMAL = 0x08 | 0x20 | 0x40
POWER = 0x04 | 0x80
"""Bits of the reasons for lowered clocks (NVML, nvmlClocksEventReasons): heat, and the power limit."""


def mean(values: Iterable[float]) -> float | None:
    """The mean; None of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else None


def peak(values: Iterable[float]) -> float | None:
    """The largest; None of nothing."""
    return max(values, default=None)


def share(mask: int, values: Iterable[float]) -> float | None:
    """In which part of the samples one of the bits is set; None where nothing was sampled."""
    return mean(float(bool(int(value) & mask)) for value in values)


def busy_cards(used: Mapping[str, Sequence[float]]) -> tuple[list[str], list[str]]:
    """The cards that were used at all, and those that never were; all count as used where none was."""
    busy = [card for card, values in used.items() if any(value > 0 for value in values)]
    return (busy, [card for card in used if card not in busy]) if busy else (list(used), [])


def idle_doubt(idle: Sequence[str]) -> tuple[str, ...]:
    """What is said of cards that were left out."""
    return (f"{len(idle)} of the cards never ran a kernel and are left out: {', '.join(idle[:8])}",) if idle else ()
