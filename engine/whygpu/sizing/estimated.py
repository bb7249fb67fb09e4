"""The pace of training by whygpu's own estimate, for what was not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError
from whygpu.sizing.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from whygpu.explain.plan import Plan
    from whygpu.sizing.asked import Asked
    from whygpu.sizing.pace import Unit

_SPEEDS = {"tokens": "train_tokens_per_s", "samples": "samples_per_s"}
_LIMITS = ("deadline_hours", "max_count", "max_nodes", "budget_per_hour", "budget_total")


def estimated_pace(asked: Asked, unit: Unit, estimate: Callable[[dict[str, Any]], Plan]) -> Pace | None:
    """The pace on the accelerator and count that are answered, one where none is; None where nothing tells it."""
    speed = _SPEEDS.get(unit)
    given = {key: value for key, value in asked.answers.given.items() if key not in _LIMITS}
    if asked.measured.setup.accelerator is not None:
        given["accelerators"] = [asked.measured.setup.accelerator]
    if speed is None or "model" not in given or len(asked.answers.accelerators or given.get("accelerators", ())) != 1:
        return None
    try:
        plan = estimate(given)
    except AnswerError:
        return None
    band = plan.speed.get(speed)
    return None if band is None or not band.likely > 0 else Pace(unit, band.likely, plan.count, plan.nodes)
