"""How many of the cases that choose an accelerator may choose from the whole catalogue, as people who ask do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY
from whygpu.knowledge.cases import Ahead, AmongFirst, Recommends
from whygpu.language.tree import names
from whygpu.loader.assemble import load_texts
from whygpu.yamldoc.document import Mapping

if TYPE_CHECKING:
    from whygpu.api import KnowledgeBase
    from whygpu.knowledge.cases import Case, Outcome
    from whygpu.yamldoc.document import Node

pytestmark = pytest.mark.slow

LEAST_SHARE = 1 / 3
NARROWING = ("accelerators", "exclude_accelerators", "providers", "owned")


def _chooses(outcome: Outcome) -> bool:
    """Whether an expectation says which accelerators come first, or before others."""
    match outcome:
        case Recommends(selector=one) | AmongFirst(selector=one):
            selectors = [one]
        case Ahead(this=one, other=other):
            selectors = [one, other]
        case _:
            return False
    return any(name.name.startswith("gpu.") for item in selectors for name in names(item.condition))


def _open(answers: Node) -> bool:
    """Whether nothing in the answers, or in those of a phase of its own, narrows the catalogue to what it names."""
    if not isinstance(answers, Mapping):
        return True
    return not any(key in NARROWING for key in answers.items) and all(_open(item) for item in answers.items.values())


def choosing(cases: tuple[Case, ...]) -> dict[str, bool]:
    """The cases that choose an accelerator, and whether each asks the whole catalogue."""
    return {case.id: _open(case.answers) for case in cases if any(_chooses(item.outcome) for item in case.expected)}


_CASES = """cases:
- id: asks-all
  title: One
  answers: {phase: inference}
  expect: {recommended: {family: T4}}
  source: [runpod-23]
- id: asks-two
  title: Two
  answers: {accelerators: [T4, H100]}
  expect: {not_recommended: {class: edge}}
  source: [runpod-23]
- id: asks-all-but-one
  title: Three
  answers: {exclude_accelerators: [T4]}
  expect: {ahead: {this: {count: 1}, of: {family: T4}}}
  source: [runpod-23]
- id: asks-one-to-train
  title: Four
  answers: {phases: {train: {accelerators: [T4]}, serve: {}}}
  expect: {train: {among_first: {2: {accelerator: T4}}}}
  source: [runpod-23]
- id: chooses-none
  title: Five
  answers: {phase: inference}
  expect: {recommended: {count: 1}, fires: [half-precision-inference]}
  source: [runpod-23]
"""


def test_what_chooses_and_what_is_open() -> None:
    """A choice names what hardware is, and a count alone does not; what a phase is asked narrows too."""
    knowledge = load_texts({**small_texts(), "cases/x.yaml": _CASES}, "kb", REGISTRY)
    assert choosing(knowledge.cases) == {
        "asks-all": True,
        "asks-two": False,
        "asks-all-but-one": False,
        "asks-one-to-train": False,
    }


def test_a_third_of_the_cases_that_choose_ask_the_whole_catalogue(whole_kb: KnowledgeBase) -> None:
    found = choosing(whole_kb.knowledge.cases)
    closed = [name for name, is_open in found.items() if not is_open]
    assert len(found) - len(closed) >= LEAST_SHARE * len(found), closed
