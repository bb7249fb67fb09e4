"""Every relative link of the docs leads to a file, and to a heading of it; addresses elsewhere are not asked."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import yaml
from docs.tools.site import LISTS
from tests.docs.pages import PAGES, ROOT, named, prose

_LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?)(?: \{ #([\w-]+) \})?$", re.M)
_PATH = re.compile(r"`((?:[\w.*-]+/)+[\w.*-]*\.(?:py|yaml|yml|md))(?:::(\w+))?`")
_MARK = re.compile(r"<!-- generated: ([a-z-]+) -->")


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub and mkdocs make them."""
    found = set()
    for title, given in _HEADING.findall(prose(page)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower()
        found.add(given or re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip()))
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_has_its_place_in_the_navigation() -> None:
    """mkdocs would only warn of one that has none."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md", settings.partition("\nnav:")[2])
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")]
    assert sorted(listed) == sorted(pages)
    assert yaml.safe_load(settings)["strict"] is True


def test_generated_lists_are_asked_for_by_name_and_each_once() -> None:
    asked = [name for page in PAGES for name in _MARK.findall(page.read_text(encoding="utf-8"))]
    assert sorted(asked) == sorted(LISTS)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_files_that_are_named_are_there(page: Path) -> None:
    """Paths in prose, from the checkout's root or from a package's, and tests in them; those of the reader's own copy
    are examples.
    """
    roots = (ROOT, ROOT / "kb", ROOT / "engine" / "whygpu", ROOT / "ui" / "whygpu_ui")
    missing = [
        name
        for name, test in _PATH.findall(prose(page))
        if (not name.startswith("mykb/") and not any(list(root.glob(name)) for root in roots))
        or (test and f"\ndef {test}(" not in (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_the_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|", text.partition("## Packages")[2].partition("\n## ")[0], re.MULTILINE
    )
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == {path.parent.name for path in (ROOT / "engine" / "whygpu").glob("*/__init__.py")}
