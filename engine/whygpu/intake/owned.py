"""Accelerators as a person counts them: "4x RTX 3090", "2 A100 and an L4", "RTX 3090 x2"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.knowledge.catalogue import Catalogue

_AND = (
    re.compile(r"\s*(?:[,;]|\band\b)\s*", re.IGNORECASE),
    re.compile(r"\s+[+&]\s+"),
    re.compile(r"\s*[+&]\s*"),
)
"""What stands between two accelerators, the plainest first: names may hold the last (Ryzen AI Max+)."""
_COUNTED = re.compile(r"(?:(\d{1,6})(?:\s*[x×*]\s*|\s+)|an?\s+)?(\S.*)", re.IGNORECASE)
_COUNTED_AFTER = re.compile(r"(\S.*?)\s*[x×*]\s*(\d{1,6})", re.IGNORECASE)
_OWNS = re.compile(r"(?:(?:i|we)\s+)?(?:already\s+)?(own|have|got)\s+(?=\S)", re.IGNORECASE)


def counted(text: str, catalogue: Catalogue) -> tuple[tuple[str, int], ...]:
    """Names and how many of each, one where no number is said. What is the name of an accelerator is left whole."""
    return tuple(_pieces(text.strip(), catalogue, _AND))


def _pieces(text: str, catalogue: Catalogue, separators: tuple[re.Pattern[str], ...]) -> Iterator[tuple[str, int]]:
    after = _COUNTED_AFTER.fullmatch(text)
    if after is not None and catalogue.find_accelerators(after[1]):
        yield after[1], int(after[2])
        return
    match = _COUNTED.fullmatch(text)
    if match is None:
        return
    if not separators or catalogue.find_accelerators(match[2].strip()):
        yield match[2].strip(), int(match[1] or 1)
        return
    for piece in filter(None, separators[0].split(text)):
        yield from _pieces(piece.strip(), catalogue, separators[1:])


def typed_owned(text: str, catalogue: Catalogue) -> str | None:
    """What the answer ``owned`` is where this was typed ("I own 4 RTX 3090"); None where it names something else."""
    said = _OWNS.match(text.strip())
    rest = text.strip()[said.end() :] if said else text.strip()
    if said and said[1].lower() == "own":  # even where no card is called so: that is the problem then
        return rest
    cards = counted(rest, catalogue)
    return rest if cards and all(catalogue.find_accelerators(name) for name, _ in cards) else None
