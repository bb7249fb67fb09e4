"""What an entry of a catalogue says beyond its values is kept: sources of single fields, notes, lacks that follow."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.listing import whole
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge

MINE = """
references:
- {id: paper, title: The paper, where: "arXiv:2001.00001", as_of: 2026-01-01, note: table 3}
- {id: card, title: The model card, where: "https://example.com/card", as_of: 2026-02-01}
models:
- id: mine
  name: Mine
  task: language
  kind: decoder
  parameters: {is: 7.1e9, source: card, others: [{is: 7.0e9, source: paper}], because: "the paper rounds"}
  layers: 32
  hidden_size: 4096
  source: paper
accelerators:
- {id: linkless, name: Linkless, family: Linkless, vendor: me, link: none, software: cpu, note: a note, source: card}
"""


@cache
def _loaded() -> Knowledge:
    return load_texts({**small_texts(), "facts/mine.yaml": MINE}, "kb", REGISTRY)


def test_a_field_of_a_model_keeps_its_own_source_and_the_disagreement() -> None:
    knowledge = _loaded()
    facts = {fact.name: fact.figure for fact in whole(knowledge, "models", "mine").facts}
    assert facts["parameters"].sources == ("card",)
    assert facts["parameters"].others == ((7.0e9, ("paper",)),)
    assert facts["parameters"].because == "the paper rounds"
    assert facts["layers"].sources == ("paper",)
    assert knowledge.catalogue.models["mine"].data["parameters"] == 7.1e9  # plain for who computes with it


def test_what_another_figure_rules_out_is_a_lack() -> None:
    card = _loaded().catalogue.accelerators["linkless"]
    for name in ("link_gb_s", "link_cards", "compute_capability", "cuda_cores"):
        assert card.lacks(name), name
    assert card.figures["link_gb_s"].sources == ("card",)
    assert card.note == "a note"


def test_a_source_shows_its_note() -> None:
    sources = {source.id: source for source in whole(_loaded(), "models", "mine").sources}
    assert sources["paper"].note == "table 3"
