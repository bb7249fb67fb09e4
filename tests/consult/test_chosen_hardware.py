"""What the cards to choose among are made for, where as many are made for one thing as for another."""

from __future__ import annotations

from itertools import pairwise

from whygpu.answers import Answers
from whygpu.api import KnowledgeBase
from whygpu.consult.hardware import hardware_facts


def test_of_equally_many_the_first_of_the_catalogue_decides_in_every_process(kb: KnowledgeBase) -> None:
    """The order of a set of texts decided: each process of a batch could recommend something else."""
    catalogue = kb.knowledge.catalogue
    cards = catalogue.accelerators.values()
    pairs = [(one, other) for one, other in pairwise(cards) if one.text("class") != other.text("class")]
    assert len(pairs) > 10  # each is decided by chance, where it is
    for one, other in pairs:
        for accelerators in ((one.id, other.id), (other.id, one.id)):
            facts = hardware_facts(Answers(values={}, locations={}, accelerators=accelerators), catalogue)
            assert facts["chosen.class"] == one.text("class")
