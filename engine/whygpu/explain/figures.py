"""Values as readers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.environment import plain
from whygpu.language import values as v
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.language.names import NameSpec

_FORMATS = (
    "workload.format",
    "workload.kv_format",
    "workload.native_format",
    "plan.format",
    "model.published_format",
)


def show_value(value: v.Value, spec: NameSpec, beside: Iterable[float] = ()) -> str:
    """A value with its unit, the one that suits those ``beside`` it, too; what is not known says so."""
    if isinstance(value, v.Number) and value.present is False:
        return "none"
    return show_plain(plain(value), spec.unit, spec.name, beside)


def show_plain(value: float | bool | str | None, unit: str | None, name: str = "", beside: Iterable[float] = ()) -> str:
    """A plain value with its unit."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return show_year(value) if name.endswith(".released") else show(value, unit, beside)
    return value.upper() if name in _FORMATS and value != "auto" else value


def show_sides(given: object) -> str:
    """An image's size as it was answered: width and height, or the side of a square."""
    text = str(given)
    return text if "x" in text.lower() else f"{text} pixels a side"


def show_year(value: float) -> str:
    """A year has no thousands separator."""
    return str(int(value))
