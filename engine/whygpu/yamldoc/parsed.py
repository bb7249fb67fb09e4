"""Files as they were parsed, for who loads the same ones again and again: where one is saved, the others stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.yamldoc.document import parse

if TYPE_CHECKING:
    from whygpu.errors import Problem
    from whygpu.yamldoc.document import Node


class Parsed:
    """The last text of each file, and what it was read as; nobody changes a node that was read."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._known: dict[str, tuple[str, Node | None, tuple[Problem, ...]]] = {}

    def parse(self, text: str, name: str, problems: list[Problem]) -> Node | None:
        """As ``parse``, with the same problems again where the text is the same."""
        known = self._known.get(name)
        if known is None or known[0] != text:
            found: list[Problem] = []
            node = parse(text, name, found)
            known = self._known[name] = text, node, tuple(found)
        problems += known[2]
        return known[1]
