"""Finds the accelerator that a driver means by its name ("NVIDIA A100-SXM4-80GB") and by its memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whygpu.knowledge.catalogue import fold

if TYPE_CHECKING:
    from whygpu.knowledge.catalogue import Accelerator, Catalogue

_MAKERS = re.compile(r"\b(?:nvidia|geforce|tesla|amd|instinct|radeon|graphics|server edition)\b", re.IGNORECASE)
_SAME_MEMORY = 0.03
"""Drivers of different releases reserve some percent of a card's memory differently."""


def by_driver(catalogue: Catalogue, text: str, mib: float | None) -> str | None:
    """The id of the card; None where none or several are meant."""
    bare = _MAKERS.sub(" ", text).strip()
    for word in (text, bare):
        ids = catalogue.find_accelerators(word)
        if len(ids) == 1:
            return ids[0]
    cards = [card for card in catalogue.accelerators.values() if fold(card.family) in fold(bare)]
    longest = max((len(fold(card.family)) for card in cards), default=0)
    cards = [card for card in cards if len(fold(card.family)) == longest]
    if mib is not None:
        cards = [card for card in cards if _has(card, mib)]
    if len(cards) > 1:
        named = [card for card in cards if _form(card.name) and _form(card.name) in fold(bare)]
        cards = named or [card for card in cards if _form(card.name) in ("", "sxm")]  # the others say so: "H200 NVL"
    return cards[0].id if len(cards) == 1 else None


def _has(card: Accelerator, mib: float) -> bool:
    usable = card.number("usable_mib")
    return usable is not None and abs(usable / mib - 1) <= _SAME_MEMORY


def _form(name: str) -> str:
    """What a name says of how the card is built in."""
    return next((form for form in ("sxm", "pcie", "nvl") if form in fold(name)), "")
