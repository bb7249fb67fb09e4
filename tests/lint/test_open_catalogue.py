"""How many of the cases that choose an accelerator may choose from the whole catalogue, as people who ask do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lint.test_cases import KB
from tests.load.small import small_texts

from whygpu.api import REGISTRY
from whygpu.cases import Ahead, AmongFirst, Recommends
from whygpu.language.tree import names
from whygpu.load.document import Mapping
from whygpu.load.knowledge import load_texts

if TYPE_CHECKING:
    from whygpu.cases import Case, Outcome
    from whygpu.load.document import Node

LEAST_SHARE = 1 / 3
NARROWING = ("accelerators", "exclude_accelerators", "providers", "owned")


def _chooses(outcome: Outcome) -> bool:
    """Whether an expectation says which accelerators come first, or before others."""
    match outcome:
        case Recommends(selector=one) | AmongFirst(selector=one):
            selectors = (one,)
        case Ahead(this=one, other=other):
            selectors = (one, other)
        case _:
            selectors = ()
    return any(name.name.startswith("gpu.") for item in selectors for name in names(item.condition))


def _open(answers: Node) -> bool:
    """Whether nothing in the answers, or in those of a phase of its own, narrows the catalogue to what it names."""
    if not isinstance(answers, Mapping):
        return True
    return not any(key in NARROWING for key in answers.items) and all(_open(item) for item in answers.items.values())


def choosing(cases: tuple[Case, ...]) -> dict[str, bool]:
    """The cases that choose an accelerator, and whether each asks the whole catalogue."""
    return {case.id: _open(case.answers) for case in cases if any(_chooses(item.outcome) for item in case.expected)}


def test_a_third_of_the_cases_that_choose_ask_the_whole_catalogue() -> None:
    found = choosing(KB.knowledge.cases)
    closed = [name for name, is_open in found.items() if not is_open]
    assert len(found) - len(closed) >= LEAST_SHARE * len(found), closed
