"""Plain data as JSON text that any reader takes: no lone surrogates, no control characters."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, TypedDict

from whygpu.explain.json_form import SCHEMA, json_value
from whygpu.render.view.model import Section

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


class SectionsJson(TypedDict):
    """Answers to questions about an advice: ``--why-not``, ``--what-if``, ``--flip``, ``--how``, ``--assumed``."""

    schema: int
    engine: str
    sections: list[Section]


_HALF = "\ud800-\udfff"  # surrogates, which stand for nothing alone
_UNSAFE = re.compile(f"[\x7f-\x9f\u2028-\u202e\u2066-\u2069{_HALF}]")
_NOT_ASCII = re.compile("[^\x00-\x7e]")


def json_text(data: Any, *, indent: int | None = None) -> str:
    """The data as JSON; raises ValueError for a number that is not finite."""
    return _UNSAFE.sub(_escaped, json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False))


def sections_dict(sections: Iterable[Section], engine: str) -> SectionsJson:
    """Answers to questions about an advice: the sections that every renderer draws."""
    return {"schema": SCHEMA, "engine": engine, "sections": [json_value(section) for section in sections]}


def in_ascii(text: str) -> str:
    """JSON text for a stream that has no other characters."""
    return _NOT_ASCII.sub(_escaped, text)


def is_utf8(stream: TextIO) -> bool:
    """Whether a stream has every character."""
    return (stream.encoding or "utf-8").lower().replace("-", "") == "utf8"


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if "\ud800" <= character <= "\udfff":
        return "\\ufffd"
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else json.dumps(character)[1:-1]


def write_json(data: Any, stream: TextIO | None = None) -> None:
    """Write the data to a stream (standard output), in the characters that it has."""
    stream = stream or sys.stdout
    text = json_text(data, indent=1)
    stream.write((text if is_utf8(stream) else in_ascii(text)) + "\n")
