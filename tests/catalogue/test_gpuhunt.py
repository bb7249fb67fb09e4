"""Memory and compute capability against gpuhunt, whose table others rent by; every disagreement is judged in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    import whygpu
    from whygpu.knowledge.catalogue import Accelerator, Catalogue

JUDGED = Path(__file__).with_name("gpuhunt_disagreements.yaml")
LEAST_SHARED = 50  # fewer means that names have stopped to match


def _judged() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(JUDGED.read_text(encoding="utf-8"))["disagreements"]
    return found


def _theirs() -> Iterator[tuple[str, float, float | None]]:
    """Name, memory in GB and compute capability of each accelerator that gpuhunt knows."""
    gpuhunt = pytest.importorskip("gpuhunt", reason="gpuhunt is not installed (pip install 'whygpu[test]')")
    for card in gpuhunt.KNOWN_NVIDIA_GPUS:
        major, minor = card.compute_capability
        yield card.name, float(card.memory), float(f"{major}.{minor}")
    for card in (*gpuhunt.KNOWN_AMD_GPUS, *gpuhunt.KNOWN_INTEL_ACCELERATORS):
        yield card.name, float(card.memory), None


def _shared(catalogue: Catalogue) -> Iterator[tuple[str, float, float | None, list[Accelerator]]]:
    for name, memory_gb, capability in _theirs():
        cards = [catalogue.accelerators[card] for card in catalogue.find_accelerators(name)]
        if cards:
            yield name, memory_gb, capability, cards


def test_every_disagreement_is_judged(kb: whygpu.KnowledgeBase) -> None:
    found: list[dict[str, Any]] = []
    for name, memory_gb, capability, cards in _shared(kb.knowledge.catalogue):
        head = {"name": name, "memory_gb": memory_gb}
        alike = [card for card in cards if card.number("marketing_gb") == memory_gb]
        if not alike:
            found.append({**head, "what": "memory", "ours": {card.id: card.number("marketing_gb") for card in cards}})
        apart = {
            card.id: card.number("compute_capability")
            for card in alike or cards
            if capability is not None and card.number("compute_capability") != capability
        }
        if apart:
            found.append({**head, "what": "compute_capability", "ours": apart})
    judged = [{key: value for key, value in item.items() if key != "judgement"} for item in _judged()]
    assert [item for item in found if item not in judged] == []


def test_most_of_their_cards_are_compared(kb: whygpu.KnowledgeBase) -> None:
    assert len(list(_shared(kb.knowledge.catalogue))) >= LEAST_SHARED


def test_judgements_say_who_is_right() -> None:
    for item in _judged():
        decided, _, why = item["judgement"].partition(": ")
        assert decided in ("ours", "theirs", "both"), item
        assert len(why) > 10, item
