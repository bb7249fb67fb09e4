"""Accelerators as a person counts them: "4x RTX 3090", "2 A100 and an L4"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whygpu.knowledge.catalogue import Catalogue

_AND = re.compile(r"\s*(?:[,;+&]|\band\b)\s*", re.IGNORECASE)
_COUNTED = re.compile(r"(?:(\d{1,6})(?:\s*[x×*]\s*|\s+)|an?\s+)?(\S.*)", re.IGNORECASE)
_OWNS = re.compile(r"(?:(?:i|we)\s+)?(?:already\s+)?(own|have|got)\s+(?=\S)", re.IGNORECASE)


def counted(text: str) -> tuple[tuple[str, int], ...]:
    """Names and how many of each, one where no number is said; the names are not looked up."""
    found = filter(None, map(_COUNTED.fullmatch, filter(None, _AND.split(text.strip()))))
    return tuple((match[2].strip(), int(match[1] or 1)) for match in found)


def typed_owned(text: str, catalogue: Catalogue) -> str | None:
    """What the answer ``owned`` is where this was typed ("I own 4 RTX 3090"); None where it names something else."""
    said = _OWNS.match(text.strip())
    rest = text.strip()[said.end() :] if said else text.strip()
    if said and said[1].lower() == "own":  # even where no card is called so: that is the problem then
        return rest
    cards = counted(rest)
    return rest if cards and all(catalogue.find_accelerators(name) for name, _ in cards) else None
