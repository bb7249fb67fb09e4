"""The pages that people read, and the fenced blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
_FENCE = re.compile(r"^(?:<!-- (?P<note>[^\n]*?) -->\n)?```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"# (?P<path>[\w./-]+\.(?:yaml|csv))\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; ``note`` is the comment on the line above, ``file`` the path that it or the first line names."""

    language: str
    text: str
    note: str
    file: str
    line: int


def named(page: Path) -> str:
    """A page as the checkout names it."""
    return page.relative_to(ROOT).as_posix()


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        note, first = match["note"] or "", _FILE.match(match["text"])
        file = note.removeprefix("file: ") if note.startswith("file: ") else first["path"] if first else ""
        found.append(Block(match["language"], match["text"], note, file, text.count("\n", 0, match.start()) + 1))
    return tuple(found)


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))
