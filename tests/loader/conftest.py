"""Files that a test leaves as they are need not be parsed again for each one that it changes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.loader.small import small_texts
from whygpu.loader import assemble as knowledge
from whygpu.yamldoc import document

if TYPE_CHECKING:
    from whygpu.errors import Problem


@cache
def _remembered(text: str, name: str) -> tuple[document.Node | None, tuple[Problem, ...]]:
    problems: list[Problem] = []
    return document.parse(text, name, problems), tuple(problems)


def _parse(text: str, name: str, problems: list[Problem]) -> document.Node | None:
    if small_texts().get(name) != text:
        return document.parse(text, name, problems)
    node, found = _remembered(text, name)
    problems += found
    return node


@pytest.fixture(autouse=True)
def parse_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are only read, so tests can share them."""
    monkeypatch.setattr(knowledge, "parse", _parse)
