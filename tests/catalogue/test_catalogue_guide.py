"""docs/reference/catalogue.md explains every field, and the guide beside it every section and column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.commands.catalogue import SECTIONS
from whygpu.imports.prices import COLUMNS, MOST_ROWS

if TYPE_CHECKING:
    import whygpu

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "catalogue.md").read_text(encoding="utf-8")
GUIDE = (DOCS / "how-to" / "add-hardware-and-prices.md").read_text(encoding="utf-8")


def test_the_example_of_a_disagreement_is_real(kb: whygpu.KnowledgeBase) -> None:
    figure = kb.knowledge.catalogue.accelerators["a10g"].figures["fp16_tflops"]
    assert (figure.value, figure.sources, figure.others) == (
        70.0,
        ("llm-analysis",),
        ((125.0, ("lightning-throughput",)),),
    )


def test_every_field_is_explained(kb: whygpu.KnowledgeBase) -> None:
    for card in kb.knowledge.catalogue.accelerators.values():
        for name in card.figures:
            assert (
                f"`{name}`" in REFERENCE or name in ("released", "memory_type") or name.endswith(("tflops", "tops"))
            ), name
    for word in (*SECTIONS, *COLUMNS, f"{MOST_ROWS:,}"):
        assert word in GUIDE
