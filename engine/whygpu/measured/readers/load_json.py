"""What the readers of load tests share: JSON and JSON lines as plain data, numbers out of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from whygpu.measured.readers.reading import refused

MOST_LINES = 2_000
Data = Mapping[str, Any]


def json_data(text: str, name: str) -> Data:
    """One JSON object; raises AnswerError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(name, f"is not JSON: {error}"[:200], "give the file as the tool wrote it") from error
    if not isinstance(found, dict):
        raise refused(name, "is JSON, but no object", "give the file as the tool wrote it")
    return found


def json_objects(text: str) -> list[Data] | None:
    """The objects of a JSON file or of JSON lines; None where it is neither."""
    start = text.lstrip()[:1]
    if start != "{":
        return None
    try:
        found = json.loads(text)
        return [found] if isinstance(found, dict) else None
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
    """A finite number that is not negative, written as one or as its text; None where it is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value.replace(",", "") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def share_of(total: object, count: object) -> float | None:
    """A total over a count; None where either is not known."""
    above, below = number(total), number(count)
    return above / below if above is not None and below else None
