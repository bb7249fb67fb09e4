"""Values as readers see them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.chain.environment import plain
from whygpu.language import values as v
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.explain.plan import Plan
    from whygpu.language.names import NameSpec

LABELS = MappingProxyType(
    {
        "total_gib": "memory",
        "admits": "at once",
        "ttft_ms": "answer",
        "token_ms": "each token",
        "answer_p95_ms": "95% of answers",
        "tokens_per_s": "output",
        "most_requests_per_s": "peak requests",
        "requests_per_s": "requests",
        "frames_per_s": "frames",
        "times_real_time": "sound",
        "piece_seconds": "piece of speech",
        "train_hours": "time to finish",
        "usd_per_hour": "price",
        "usd_compared_per_hour": "hourly budget",
        "usd_total": "budget",
        "usd_purchase": "purchase",
        "watts": "power",
    }
)
"""What figures of plans are called, by their names without what they are of."""
_FIRST = "first token"
"""What comes first of an answer that is written token by token; other models give it whole."""
_FORMATS = (
    "workload.format",
    "workload.kv_format",
    "workload.native_format",
    "plan.format",
    "model.published_format",
)


def called(figure: str, plan: Plan) -> str:
    """What a figure of a plan is called."""
    if figure == "ttft_ms" and plan.speed.get("token_ms") is not None:
        return _FIRST
    return LABELS.get(figure, figure.replace("_", " "))


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
