"""The meters: what is needed against what the recommendation gives, and figures that nobody set a limit on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whygpu.chain.environment import plain
from whygpu.explain.figures import called
from whygpu.explain.meters import Need, needs
from whygpu.quantity import longest, show, show_ends, show_with_range
from whygpu.render.view.model import MeterRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.checks.calculation import Range
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan

_MEMORY = "plan.total_gib"
_HOST = "plan.host_gib"
_FILLED = "experts take the rest"
_FREE = (
    ("train_hours", "hours"),
    ("ttft_ms", "ms"),
    ("token_ms", "ms"),
    ("tokens_per_s", "tokens/s"),
    ("frames_per_s", "frames/s"),
    ("times_real_time", "times real time"),
)
_WAITED_FOR = frozenset({"ttft_ms", "token_ms"})
"""What users wait for: nobody does while a job runs."""
_MOST = 6
_LEAST = 1e-3  # of what is asked for; less is as good as nothing


def meter_rows(consultation: Consultation, plan: Plan) -> tuple[MeterRow, ...]:
    """The limits, the one nearest to being missed first, then what has none."""
    found = needs(consultation, plan)
    limited = {item.name for item in found}
    assumed = {item.question.name for item in consultation.applied.assumed}
    on_host = plain(consultation.plans.environment.at(_HOST, plan.index)) if plan.method is None else None
    rows = [_limited(item, plan, item.limit_name in assumed) for item in found]
    if on_host is not None:  # as many experts as there is room for go onto the cards, or all of them
        rows = [
            replace(row, margin=_FILLED) if item.name == _MEMORY else row for item, row in zip(found, rows, strict=True)
        ]
    return tuple([*rows, *_free(plan, limited)][:_MOST])


def label_of(need: Need, plan: Plan) -> str:
    """What a limit is on."""
    return called(need.name.partition(".")[2], plan)


def span(band: Range, unit: str | None = None, *beside: float) -> str:
    """Both ends of a figure, in the unit in which it is shown ``beside`` others; nothing where they are the same."""
    return "" if band.low == band.high else show_ends(band.low, band.high, unit, longest(band.likely, *beside))


def _limited(need: Need, plan: Plan, assumed: bool) -> MeterRow:
    share = need.margin
    used = 1 - share if need.at_most else 1 / max(1 + share, _LEAST)
    beyond = "over" if need.at_most else "short"
    # of a limit and of a rate alike: the part that is not used, as the bar has it
    margin = f"{-share:.0%} {beyond}" if share < 0 else f"{1 - used:.0%} to spare"
    both = need.limit, need.got.likely
    limit, got = (show(figure, need.unit, both) for figure in both)
    if need.of_hardware:  # what is needed is the plan's figure, and the accelerator has the limit
        each = " each" if plan.count > 1 else ""
        if need.name == _MEMORY and plan.method is not None and (plan.batch_size or 1) > 1:
            each += f" (micro-batch {plan.batch_size})"  # it was filled: a smaller one needs less
        needed = show_with_range(need.got.low, need.got.likely, need.got.high, need.unit)
        return MeterRow(label_of(need, plan) + each, needed, f"{limit} usable", "", margin, used, need.status)
    word = "at most" if need.at_most else "at least"
    mark = "? (assumed)" if assumed else ""
    return MeterRow(
        label_of(need, plan), f"{word} {limit}{mark}", got, span(need.got, need.unit, *both), margin, used, need.status
    )


def _free(plan: Plan, limited: set[str]) -> Iterator[MeterRow]:
    is_job = plan.speed.get("train_hours") is not None
    for name, unit in _FREE:
        band = plan.speed.get(name)
        if band is not None and f"plan.{name}" not in limited and not (is_job and name in _WAITED_FOR):
            yield MeterRow(
                called(name, plan), "no limit", show(band.likely, unit), span(band, unit), "", None, "no limit"
            )
