"""What the answers say of hardware, owned or to choose among, as facts of the session: defaults follow from it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whygpu.quantity import GIB

if TYPE_CHECKING:
    from whygpu.answers import Answers
    from whygpu.knowledge.catalogue import Accelerator, Catalogue

HARDWARE_NAMES = (
    "owned.class",
    "owned.count",
    "owned.memory_gib",
    "owned.compute_capability",
    "owned.plug_in",
    "chosen.class",
    "chosen.rented",
    "chosen.compute_capability",
)


def hardware_facts(answers: Answers, catalogue: Catalogue) -> dict[str, float | str | bool]:
    """The ``owned.`` and ``chosen.`` names with their values; none where nothing is owned, or may be used, and none
    where the answers name no accelerators to choose among.
    """
    facts: dict[str, float | str | bool] = {}
    if answers.owned and answers.allows_own:
        owned = Counter(dict(answers.owned))
        facts |= _alike("owned", owned, catalogue)
        facts["owned.plug_in"] = any(_in_a_slot(catalogue.accelerators[name]) for name in owned)
        facts["owned.count"] = float(owned.total())
        facts["owned.memory_gib"] = max(  # a plan takes cards of one kind
            count * catalogue.usable_bytes(catalogue.accelerators[name]) / GIB for name, count in owned.items()
        )
    allowed = set(answers.accelerators or ()) - set(answers.exclude_accelerators)
    chosen = Counter(name for name in catalogue.accelerators if name in allowed)  # a set has another order each time
    if chosen:
        facts |= _alike("chosen", chosen, catalogue)
        facts["chosen.rented"] = any(catalogue.offerings_by_accelerator.get(name) for name in chosen)
    return facts


def _in_a_slot(card: Accelerator) -> bool:
    """Whether it is a card in a slot, so that its machine takes cards; a laptop's part has none."""
    return card.text("form") == "pcie" and card.text("market") != "built-in"


def _alike(entity: str, cards: Counter[str], catalogue: Catalogue) -> dict[str, float | str | bool]:
    """What most of the cards are made for, and the highest compute capability among them, where each has one."""
    classes: Counter[str] = Counter()
    for name, count in cards.items():
        classes[catalogue.accelerators[name].text("class") or ""] += count
    facts: dict[str, float | str | bool] = {f"{entity}.class": classes.most_common(1)[0][0]}
    capabilities = [catalogue.accelerators[name].number("compute_capability") for name in cards]
    if None not in capabilities:
        facts[f"{entity}.compute_capability"] = max(item for item in capabilities if item is not None)
    return facts
