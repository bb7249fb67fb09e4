"""The words that catalogues give to names whose values the vocabulary does not list (gpu.family, model.kind ...)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.checks.model_shape import KINDS

if TYPE_CHECKING:
    from whygpu.knowledge.catalogue import Catalogue


def catalogue_words(catalogue: Catalogue, name: str) -> frozenset[str] | None:
    """Every word that the name can have; None where any text is possible."""
    entity, _, attribute = name.partition(".")
    if name == "model.kind":
        return frozenset(KINDS)
    if entity != "gpu":
        return None
    cards = catalogue.accelerators.values()
    if attribute in ("id", "name", "family", "vendor"):
        return frozenset(str(getattr(card, attribute)) for card in cards)
    words = (card.text(attribute) for card in cards)
    return frozenset(word for word in words if word is not None)
