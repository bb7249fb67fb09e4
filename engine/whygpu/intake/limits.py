"""Reads numbers out of untrusted mappings: within their limits, of the right type, every problem collected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whygpu.intake.problems import IntakeProblem
from whygpu.quantity import show

# Far beyond any model there is, near enough to refuse what cannot be meant. They bound the arithmetic that follows.
LIMITS: Mapping[str, tuple[float, float]] = {
    "parameters": (1, 1e14),
    "layers": (1, 4096),
    "hidden": (1, 1_048_576),
    "heads": (1, 16_384),
    "head": (1, 65_536),
    "vocabulary": (1, 16_777_216),
    "experts": (1, 16_384),
    "tokens": (1, 1_073_741_824),
    "pixels": (1, 65_536),
    "flops": (1, 1e18),
    "bytes": (1, 1e15),
    "seconds": (0.01, 1e5),
    "rate": (0.1, 1e5),
    "steps": (1, 10_000),
    "passes": (1, 100),
    "operators": (1, 10_000_000),
    "frames": (1, 1_000_000),
    "columns": (1, 10_000_000),
    "ratio": (1e-3, 1e3),
    "bits": (0.1, 64),
}
SHOWN = 60


def shown(value: object) -> str:
    """A value for a message, cut to a readable length."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return type(value).__name__
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


@dataclass(slots=True)
class Reader:
    """Reads the keys of one mapping, keeping every problem. `at` is the path of the mapping."""

    data: Mapping[Any, Any]
    at: str = ""
    problems: list[IntakeProblem] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def path(self, key: str) -> str:
        """The dotted path of a key."""
        return f"{self.at}.{key}" if self.at else key

    def complain(self, key: str, message: str, hint: str = "", severity: str = "error") -> None:
        """Keep a problem at a key."""
        self.problems.append(IntakeProblem(self.path(key) if key else self.at, message, hint, severity))

    def has(self, *keys: str) -> bool:
        """Whether one of the keys holds something other than null."""
        return any(self.data.get(key) is not None for key in keys)

    def raw(self, *keys: str) -> tuple[str, Any]:
        """The first of the keys that holds something, and that; the first key and None where none does."""
        self.seen.update(keys)
        for key in keys:
            value = self.data.get(key)
            if value is not None:
                return key, value
        return keys[0], None

    def number(self, limit: str, *keys: str) -> float | None:
        """A number within the limits of that name under the first key that has one. None where missing or wrong."""
        key, value = self.raw(*keys)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.complain(key, f"is {shown(value)}, not a number")
            return None
        low, high = LIMITS[limit]
        if isinstance(value, float) and not math.isfinite(value):
            self.complain(key, f"is {value}, not a number")
            return None
        if not low <= value <= high:
            self.complain(key, f"is {shown(value)}, outside {show(low)} to {show(high)}", "check the unit")
            return None
        return float(value)

    def whole(self, limit: str, *keys: str) -> int | None:
        """A whole number likewise."""
        key, raw = self.raw(*keys)
        value = self.number(limit, *keys)
        if value is None:
            return None
        if value != int(value):
            self.complain(key, f"is {shown(raw)}, not a whole number")
            return None
        return int(raw)

    def count(self, limit: str, *keys: str) -> int:
        """A whole number that may be 0 or missing, which both mean none."""
        key, value = self.raw(*keys)
        if value is None or (not isinstance(value, (bool, str)) and value == 0):
            return 0
        return self.whole(limit, key) or 0

    def flag(self, otherwise: bool, *keys: str) -> bool:
        """true or false under the first key that has one."""
        key, value = self.raw(*keys)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            self.complain(key, f"is {shown(value)}, not true or false")
            return otherwise
        return value

    def text(self, *keys: str) -> str:
        """A text under the first key that has one, empty where none does."""
        key, value = self.raw(*keys)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > 200:
            self.complain(key, f"is {shown(value)}, not a short text")
            return ""
        return value

    def inner(self, *keys: str) -> Reader | None:
        """A reader of a mapping inside this one, which adds to the same problems."""
        key, value = self.raw(*keys)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.complain(key, f"is {shown(value)}, not a mapping")
            return None
        return Reader(value, self.path(key), self.problems)
