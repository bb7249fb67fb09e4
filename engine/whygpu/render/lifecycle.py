"""Advice on a lifecycle as text: both plans in short, what the life costs, and what the rules say of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.explain.figures import show_plain
from whygpu.quantity import show
from whygpu.render.screen import Screen
from whygpu.render.table import table
from whygpu.render.text import TextRenderer
from whygpu.render.view import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.checks.cost.lifecycle import LifecycleCost
    from whygpu.explain.parts import Item
    from whygpu.lifecycle.advice import LifecycleAdvice
    from whygpu.render.view import View

LINES = 55
_UNKNOWN = "unknown"
_METERS = (3, 2, 1)
"""Needs that are told of each phase: as many as there is room for."""
_MOST_ASSUMED = 6


class LifeRenderer(TextRenderer):
    """Renders advice on a lifecycle; of each phase what an answer about it alone begins with."""

    def render_life(self, advice: LifecycleAdvice) -> str:
        """The whole answer."""
        views = [view_of(phase) for phase in advice.phases]
        lines: list[str] = []
        for meters in _METERS:
            lines = list(self._whole(advice, views, meters))
            if len(lines) <= LINES:
                break
        return self._style.safe("\n".join(lines) + "\n")

    def _whole(self, advice: LifecycleAdvice, views: Sequence[View], meters: int) -> Iterator[str]:
        screen = Screen(self._style, self._width)
        for title, view in zip(("TRAIN", "SERVE"), views, strict=True):
            yield self._style.strong(title)
            yield from screen.verdict(view, meters)
            yield ""
        yield from self._cost(advice)
        yield ""
        yield from self._said((*advice.warnings, *advice.advice))
        yield from screen.labelled("ASSUMED", self._taken(advice))
        yield ""
        yield from self._footer(advice.train)
        yield self._style.faint("--only train or --only serve explains that phase in full.")

    # the cost

    def _cost(self, advice: LifecycleAdvice) -> Iterator[str]:
        yield self._style.strong("What the lifecycle costs")
        rows = cost_rows(advice)
        if rows:
            lines, _ = table(("", "", "USD", "share"), rows, (False, False, True, True), self._width - 2, self._style)
            yield from (f"  {line}" for line in lines)
        for text in (*why_unknown(advice), *instead(advice)):
            yield from self._wrap(text)

    def _said(self, items: tuple[Item, ...]) -> Iterator[str]:
        for item in items:
            yield from self._wrap(f"{item.text} [{', '.join(item.claims)}]", "    ", "  - ")

    def _taken(self, advice: LifecycleAdvice) -> str:
        """What was assumed, in short; once where both phases assume it alike."""
        phases: dict[str, list[str]] = {}
        for name, phase in (("training", advice.train), ("serving", advice.serve)):
            for item in phase.assumed:
                spec = self._vocabulary.get(item.name)
                value = show_plain(item.value, spec.unit if spec else None, item.name)
                phases.setdefault(f"{item.answer} = {value}", []).append(name)
        texts = [text if len(names) > 1 else f"{names[0]} {text}" for text, names in phases.items()]
        left = len(texts) - _MOST_ASSUMED
        return "; ".join(texts[:_MOST_ASSUMED]) + (f" (+{left} more: --only PHASE --assumed)" if left > 0 else "")


def cost_rows(advice: LifecycleAdvice) -> list[tuple[str, str, str, str]]:
    """What is paid for, what it is made of, USD, and its share of the total; nothing where no months are known."""
    cost = advice.cost
    if cost is None:
        return []
    share = None if cost.serving_share is None else 1 - cost.serving_share
    serving = _serving(cost.service_months, cost.usd_per_month)
    return [
        ("training", _training(advice, cost), _usd(cost.train_usd), _share(share)),
        ("serving", serving, _usd(cost.serve_usd), _share(cost.serving_share)),
        ("total", "", _usd(cost.usd_total), ""),
    ]


def why_unknown(advice: LifecycleAdvice) -> Iterator[str]:
    """Why a part of the cost is not known."""
    if advice.cost is None:
        yield "The months of service are unknown: answer service_months."
    for what, because in (("training", advice.unknown.train), ("serving", advice.unknown.serve)):
        if because:
            yield f"The cost of {what} is unknown: {because}."


def instead(advice: LifecycleAdvice) -> Iterator[str]:
    """What serving on the accelerator that trains would cost, where it is not recommended anyway."""
    plan, cost, because = advice.same, advice.cost, advice.unknown.same
    best = advice.serve.recommendation
    if because:
        yield f"Serving on the training accelerator: {because.removesuffix('.')}."
    elif plan is not None and cost is not None and (best is None or best.id != plan.id):
        times = "" if cost.same_times is None else f", {show(cost.same_times)} times the recommended"
        yield (
            f"Serving on the training accelerator, {plan.label} in {plan.format.upper()}: "
            f"{_serving(cost.service_months, cost.same_usd_per_month)}, {_usd(cost.same_serve_usd)}{times}."
        )


def _usd(value: float | None) -> str:
    return _UNKNOWN if value is None else show(value, "USD")


def _share(value: float | None) -> str:
    return "" if value is None else show(value, "share")


def _training(advice: LifecycleAdvice, cost: LifecycleCost) -> str:
    plan = advice.train.recommendation
    each = plan.cost.usd_total if plan is not None and plan.cost else None
    runs = show(cost.runs, "runs")
    if cost.trainings > 1:
        runs += f" in {show(cost.trainings)} trainings"
    return runs if each is None else f"{runs}, {show(each, 'USD')} each"


def _serving(months: float, usd_per_month: float | None) -> str:
    period = show(months, "months")
    return period if usd_per_month is None else f"{period} at {show(usd_per_month, 'USD')} a month"
