"""docs/authoring.md works as it stands there: the walk is walked, and every example is loaded and tested."""

from __future__ import annotations

import doctest
import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.loader.small import small_texts

from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.cli import explain_main, main
from whygpu.knowledge.rules import Advise, Conclude, Consider, Exclude, Require, Verdict, Warn
from whygpu.lint.cases import check_cases
from whygpu.lint.registry import CHECKS, lint
from whygpu.lint.tests import check_tests
from whygpu.loader.assemble import load_texts
from whygpu.loader.cases import EXPECTATIONS, LIFE_EXPECTATIONS
from whygpu.loader.files import default_root
from whygpu.loader.tables import HITS

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "authoring.md"
TEXT = GUIDE.read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.yaml)\n")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block; ``file`` is the path in the first line of a YAML one."""

    language: str
    text: str
    file: str


def _blocks() -> list[Block]:
    found = []
    for language, text in _BLOCK.findall(TEXT):
        match = _FILE.match(text)
        found.append(Block(language, text, match.group(1) if match else ""))
    return found


BLOCKS = _blocks()
WALK = [block for block in BLOCKS if block.language == "console" or block.file.startswith("mykb/")]
EXAMPLES = [block for block in BLOCKS if block not in WALK]


def test_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step in order, with the output that is printed beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for block in WALK:
        if block.language == "yaml":
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
            continue
        for step in block.text.split("$ ")[1:]:
            command, _, expected = step.partition("\n")
            _do(command.split())
            found = capsys.readouterr().out
            assert doctest.OutputChecker().check_output(expected, found, _FLAGS), f"$ {command}\n{found}"


def _do(words: list[str]) -> None:
    match words:
        case ["cp", "-r", "kb", target]:
            shutil.copytree(default_root(), target)
        case ["whygpu", *rest]:
            main(rest)
        case ["kb-explain", *rest]:
            explain_main(rest)
        case _:
            pytest.fail(f"the walk has an unknown command: {words}")


@cache
def _loaded(block: Block) -> Knowledge:
    """The small knowledge base and one example."""
    return load_texts({**small_texts(), block.file: block.text}, "kb", REGISTRY)


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.file)
def test_example(block: Block) -> None:
    """It loads, its tests and cases hold, and nothing about it is suspect."""
    assert block.file, "begin each example with its path: # rules/x.yaml"
    knowledge = _loaded(block)
    own = [rule for rule in knowledge.rules if rule.location.file == block.file]
    found = [*check_tests(knowledge, own), *check_cases(KnowledgeBase(knowledge))]
    found += [item for item in lint(knowledge) if item.location.file == block.file and item.code != "no-price"]
    assert [str(item) for item in found] == []


def test_every_construct_is_shown() -> None:
    """Effects, strengths, overrides, tests, table policies, expectations of cases and lint codes."""
    rules = [rule for block in EXAMPLES for rule in _loaded(block).rules if rule.location.file == block.file]
    shown = {type(effect) for rule in rules for effect in rule.effects}
    assert shown == {Advise, Conclude, Consider, Exclude, Require, Verdict, Warn}
    assert {test.expect for rule in rules for test in rule.tests} == {"fires", "silent", "unknown"}
    assert any(rule.overrides for rule in rules)
    assert any(rule.unless.parts for rule in rules)
    assert {table.hit for block in EXAMPLES for table in _loaded(block).tables} == set(HITS)
    for word in (
        *EXPECTATIONS,
        *(f"{name}: {{" for name in LIFE_EXPECTATIONS),
        *(f"`{check.code}`" for check in CHECKS),
    ):
        assert word in TEXT, f"docs/authoring.md does not mention {word}"
