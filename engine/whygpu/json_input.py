"""JSON that others send, read strictly: no key twice, no number that is none."""

from __future__ import annotations

import json
from typing import Any


def parse(text: str) -> Any:
    """The data; raises ValueError, or RecursionError where it is nested too deeply."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")
