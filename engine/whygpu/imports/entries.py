"""Entries as YAML text, as an author would write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.yamldoc.document import plain_value

if TYPE_CHECKING:
    from typing import TypeAlias

_PLAIN = re.compile(r"[A-Za-z][\w./ ()+-]*[\w./()+-]\Z|[A-Za-z]\Z", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_WIDTH = 140

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, int]"


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of one section, as YAML list items without indentation."""

    section: str
    items: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What a reader should know of how they came about."""

    def text(self) -> str:
        """A file that holds nothing else."""
        return f"{self.section}:\n" + "".join(self.items)


def scalar(value: Value) -> str:
    """A value as YAML: words plain where that is safe, in double quotes otherwise."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:.12g}" if isinstance(value, float) else str(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {number}' for key, number in value.items())}}}"
    if not isinstance(value, str):
        return f"[{', '.join(scalar(item) for item in value)}]"
    text = " ".join("".join(char if char.isprintable() else " " for char in value).split())
    safe = _DATE.match(text) or (_PLAIN.match(text) and plain_value(text) == text)
    return text if safe else json.dumps(text, ensure_ascii=False)


def block(fields: Mapping[str, Value]) -> str:
    """A list item with each field on a line of its own."""
    lines = [f"{key}: {scalar(value)}" for key, value in fields.items()]
    return "- " + "\n  ".join(lines) + "\n"


def flow(fields: Mapping[str, Value]) -> str:
    """A list item in braces, broken where the line gets long."""
    lines, line = [], "- {"
    for number, (key, value) in enumerate(fields.items()):
        part = f"{key}: {scalar(value)}"
        if number and len(line) + len(part) > _WIDTH:
            lines.append(line.rstrip())
            line = "    "
        line += part + (", " if number < len(fields) - 1 else "}")
    return "\n".join([*lines, line]) + "\n"
