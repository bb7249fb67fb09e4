"""What is owned, as facts of the session: defaults follow from it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whygpu.quantity import GIB

if TYPE_CHECKING:
    from whygpu.answers import Answers
    from whygpu.knowledge.catalogue import Catalogue

OWNED_NAMES = ("owned.class", "owned.count", "owned.memory_gib")


def owned_facts(answers: Answers, catalogue: Catalogue) -> dict[str, float | str]:
    """The ``owned.`` names with their values; none where nothing is owned, or may be used."""
    if not answers.owned or not answers.allows_own:
        return {}
    classes: Counter[str] = Counter()
    memory = 0.0
    for name, count in answers.owned:
        card = catalogue.accelerators[name]
        classes[card.text("class") or ""] += count
        memory += count * catalogue.usable_bytes(card) / GIB
    return {
        "owned.class": classes.most_common(1)[0][0],
        "owned.count": float(classes.total()),
        "owned.memory_gib": memory,
    }
