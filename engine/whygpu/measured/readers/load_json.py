"""What the readers of load tests share: JSON, a list of objects and JSON lines as plain data, numbers out of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

MOST_LINES = 2_000
Data = Mapping[str, Any]
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?\Z")


def json_objects(text: str) -> list[Data] | None:
    """The objects of a JSON file, of a list in one, or of JSON lines; None where it is none of them."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(text)
        items = found if isinstance(found, list) else [found]
        return items[:MOST_LINES] if items and all(isinstance(item, dict) for item in items) else None
    except (ValueError, RecursionError):
        pass
    found = []
    for line in text.splitlines()[:MOST_LINES]:
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(item, dict):
            return None
        found.append(item)
    return found or None


def inside(data: object, *path: str) -> Any:
    """What stands at the end of a path of keys; None where there is none."""
    for key in path:
        if not isinstance(data, Mapping):
            return None
        data = data.get(key)
    return data


def number(value: object) -> float | None:
    """A finite number that is not negative, written as one or as its text; None where it is something else.

    Commas set off thousands and nothing else, for "1,5" may be one and a half.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str):
        value = value.replace(",", "") if _THOUSANDS.match(value.strip()) else value
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def time(value: object, scale: float = 1.0) -> float | None:
    """A time in ms, ``scale`` of them in its unit; None where it is none, or 0, which tools write of answers that were
    not streamed.
    """
    found = number(value)
    return found * scale if found else None


def share_of(total: object, count: object) -> float | None:
    """A total over a count; None where either is not known."""
    above, below = number(total), number(count)
    return above / below if above is not None and below else None
