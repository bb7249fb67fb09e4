"""docs/reference/rule-language.md shows every construct, and every example there is loaded and tested."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import Block, blocks
from tests.loader.small import small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.knowledge.rules import Advise, Conclude, Consider, Exclude, Require, Sign, Verdict, Warn
from whygpu.lint.cases import judged
from whygpu.lint.diagnoses import check_diagnoses
from whygpu.lint.registry import lint
from whygpu.lint.tests import check_tests
from whygpu.loader.assemble import load_texts
from whygpu.loader.cases import EXPECTATIONS, LIFE_EXPECTATIONS
from whygpu.loader.tables import HITS

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rule-language.md"
TEXT = GUIDE.read_text(encoding="utf-8")
EXAMPLES = [block for block in blocks(GUIDE) if block.language == "yaml"]


@cache
def _loaded(block: Block) -> Knowledge:
    """The small knowledge base and one example."""
    return load_texts({**small_texts(), block.file: block.text}, "kb", REGISTRY)


@pytest.mark.slow
@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.file)
def test_example(block: Block) -> None:
    """It loads, its tests and cases hold, and nothing about it is suspect."""
    assert block.file, "begin each example with its path: # rules/x.yaml"
    knowledge = _loaded(block)
    own = [rule for rule in knowledge.rules if rule.location.file == block.file]
    found = [
        *check_tests(knowledge, own),
        *(problem for case in knowledge.cases for problem in judged(KnowledgeBase(knowledge), case)[0]),
        *check_diagnoses(KnowledgeBase(knowledge)),
    ]
    found += [item for item in lint(knowledge) if item.location.file == block.file and item.code != "no-price"]
    assert [str(item) for item in found] == []


@pytest.mark.slow
def test_every_construct_is_shown() -> None:
    """Effects, strengths, overrides, tests, table policies and expectations of cases."""
    rules = [rule for block in EXAMPLES for rule in _loaded(block).rules if rule.location.file == block.file]
    shown = {type(effect) for rule in rules for effect in rule.effects}
    assert shown == {Advise, Conclude, Consider, Exclude, Require, Sign, Verdict, Warn}
    assert {test.expect for rule in rules for test in rule.tests} == {"fires", "silent", "unknown"}
    assert any(rule.overrides for rule in rules)
    assert any(rule.unless.parts for rule in rules)
    assert {table.hit for block in EXAMPLES for table in _loaded(block).tables} == set(HITS)
    for word in (*EXPECTATIONS, *(f"{name}: {{" for name in LIFE_EXPECTATIONS)):
        assert word in TEXT, f"docs/reference/rule-language.md does not mention {word}"
