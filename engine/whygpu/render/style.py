"""Colour for terminals, nothing for pipes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_MARKDOWN = re.compile(
    r"\\([\\`*\[\]<>!|])"  # an escaped mark is the mark itself
    r"|\*\*(?! )([^*]+)(?<! )\*\*|`([^`]+)`|(?<![\w*])\*([^*\s][^*]*)\*|\[([^\]]+)\]\([^)]+\)"
)


# What a terminal obeys rather than shows: control characters (C0 without tab and newline, DEL, C1) and marks that
# reorder text (Unicode's bidirectional controls), but for the colours below.
_OBEYED = re.compile(r"(\x1b\[(?:[012]|3[123])m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text, or leaves it plain."""

    colour: bool

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """Colour only on a terminal, and never where NO_COLOR is set (https://no-color.org)."""
        return cls(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def safe(self, text: str) -> str:
        """Text for a terminal, without what it would obey: names and messages may come from files of others."""
        return _OBEYED.sub(lambda match: (match[1] or "") if self.colour else "", text)

    def strong(self, text: str) -> str:
        """What matters most."""
        return self._paint("1", text)

    def faint(self, text: str) -> str:
        """Sources and places."""
        return self._paint("2", text)

    def good(self, text: str) -> str:
        """Fits, for."""
        return self._paint("32", text)

    def doubtful(self, text: str) -> str:
        """Tight, warnings."""
        return self._paint("33", text)

    def bad(self, text: str) -> str:
        """Does not fit, against, errors."""
        return self._paint("31", text)


def plain_markdown(text: str) -> str:
    """Markdown as a terminal shows it: without the marks."""
    return _MARKDOWN.sub(lambda match: next(group for group in match.groups() if group is not None), text)
