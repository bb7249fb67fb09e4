"""What the README shows is what there is: its length, pictures, accuracy and rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml
from docs.tools import terminal, wizard
from docs.tools.command import COLUMNS
from docs.tools.site import LISTS
from tests.docs.pages import ROOT, blocks

import whygpu
from whygpu.lint.registry import CHECKS

if TYPE_CHECKING:
    from pathlib import Path

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
MOST_LINES = 120
MOST_BYTES = 150_000  # of a picture


def test_it_is_read_in_one_go() -> None:
    assert len(TEXT.splitlines()) <= MOST_LINES


@pytest.mark.durable
def test_the_picture_shows_what_the_command_prints() -> None:
    """Where this fails, look at the new answer and run ``python -m docs.tools.terminal``."""
    held = terminal.shown(terminal.PICTURE.read_text(encoding="utf-8"))
    assert held[0] == f"$ {terminal.COMMAND}"
    assert _steady(held) == _steady(terminal.shown(terminal.answer()))


def _steady(lines: list[str]) -> list[str]:
    """All but the knowledge base's hash, which every edit changes."""
    return [re.sub(r"\([0-9a-f]{16}\)", "(hash)", line) for line in lines]


def test_a_picture_keeps_columns_colours_and_marks() -> None:
    svg = terminal.picture("a < b", "\x1b[1mone\x1b[0m two  \x1b[31mred & bad\x1b[0m\n   indented")
    assert terminal.shown(svg) == ["a &lt; b", "one", "two", "red &amp; bad", "indented"]
    places = re.findall(r'class="(\w*)" x="([\d.]+)" y="(\d+)" textLength', svg)
    first = float(places[0][1])
    assert [kind for kind, _, _ in places] == ["b", "", "r", ""]
    assert [round((float(x) - first) / 8.4) for _, x, _ in places] == [0, 4, 9, 3]
    assert int(places[3][2]) > int(places[0][2])
    assert f'width="{round(COLUMNS * 8.4 + 36)}"' in svg


@pytest.mark.parametrize(
    "picture", [terminal.PICTURE, *map(wizard.IMAGES.joinpath, wizard.PICTURES)], ids=lambda path: path.name
)
def test_pictures_are_small(picture: Path) -> None:
    assert 0 < picture.stat().st_size < MOST_BYTES


def test_the_accuracy_is_the_one_measured() -> None:
    """The rows of all families in the table of families as if never seen."""
    measured = (ROOT / "docs" / "explanation" / "accuracy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z, ]+) \| (\d+) \| ([\d.]+%) \| ([\d.]+%) \| (\d+%) \|$", TEXT, re.MULTILINE)
    assert len(rows) >= 5
    for kind, count, median, ninth, inside in rows:
        assert f"| **{kind}** | **all** | {count} | {median} / {ninth} | {inside} |" in measured, kind


def test_the_rule_is_in_the_knowledge_base() -> None:
    (shown,) = [rule for block in blocks(README) if block.language == "yaml" for rule in yaml.safe_load(block.text)]
    held = yaml.safe_load((ROOT / "kb" / "rules" / "limits.yaml").read_text(encoding="utf-8"))["rules"]
    (rule,) = [rule for rule in held if rule["id"] == shown["id"]]
    assert {key: rule[key] for key in shown if key != "tests"} == {key: shown[key] for key in shown if key != "tests"}
    assert all(test in rule["tests"] for test in shown["tests"])


@pytest.mark.slow
def test_the_lists_of_the_site_are_complete(kb: whygpu.KnowledgeBase) -> None:
    knowledge = kb.knowledge
    rules, lints, problems, options = (LISTS[name]() for name in ("rules", "lints", "problems", "options"))
    tables = {rule.id.partition("/")[0] for rule in knowledge.rules}
    assert [name for name in tables if f"{{ #{name} }}" not in rules] == []
    assert [check.code for check in CHECKS if f"| `{check.code}` |" not in lints] == []
    for code in ("unknown-name", "missing-key", "yaml-syntax", "test-failed", "unknown-model", "bad-option"):
        assert re.search(rf"^\| `{code}` \| [^|]*\w", problems, re.MULTILINE), code
    for command in ("kb-explain", "whygpu check", "whygpu import-prices", "whygpu ui"):
        assert f"### {command}\n" in options
    assert "--why-not PLAN|CARD" in options


def test_the_changelog_counts_what_there_is(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    counts = [len(each) for each in (catalogue.accelerators, catalogue.models, catalogue.offerings)]
    said = "- {:,} accelerators, {:,} models and {:,} offerings".format(*counts)
    assert said in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
