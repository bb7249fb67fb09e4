"""Advice on a lifecycle as text: both plans in short, what the life costs, and what the rules say of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.explain.figures import show_plain
from whygpu.lifecycle.answers import PARTS
from whygpu.lifecycle.machines import job_hours, usd_per_run
from whygpu.quantity import show
from whygpu.render.screen import Screen, cited, terminal_width
from whygpu.render.style import Style
from whygpu.render.table import table
from whygpu.render.view import view_of
from whygpu.render.view.model import Evidence, Grid, Line, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.checks.cost.lifecycle import LifecycleCost
    from whygpu.explain.parts import Item
    from whygpu.lifecycle.advice import LifecycleAdvice
    from whygpu.lifecycle.answers import Part
    from whygpu.render.view import View

LINES = 55
_UNKNOWN = "unknown"
_COST = "What the lifecycle costs"
_METERS = (3, 2, 1)
"""Needs that are told of each phase: as many as there is room for."""
_MOST_ASSUMED = 6


class LifeRenderer:
    """Renders advice on a lifecycle; of each phase what an answer about it alone begins with."""

    def __init__(self, style: Style | None = None, width: int | None = None) -> None:
        """``width`` in characters, the terminal's by default."""
        self._style, self._width = style or Style(False), width or terminal_width()
        self._screen = Screen(self._style, self._width)

    def render(self, advice: LifecycleAdvice) -> str:
        """The whole answer."""
        views = [view_of(phase) for phase in advice.phases]
        lines: list[str] = []
        for meters in _METERS:
            lines = list(self._whole(advice, views, meters))
            if len(lines) <= LINES:
                break
        return self._style.safe("\n".join(lines) + "\n")

    def _whole(self, advice: LifecycleAdvice, views: Sequence[View], meters: int) -> Iterator[str]:
        for part, view in zip(PARTS, views, strict=True):
            yield self._style.strong(part.upper() + where_done(advice, part))
            yield from self._screen.verdict(view, meters)
            for item in view.items:
                if item.kind == "warning" and item.evidence.rule is not None:
                    yield from self._screen.labelled("WARNING", item.text + cited(item.evidence))
            yield ""
        yield from self._cost(advice)
        yield ""
        yield from self._said((*advice.warnings, *advice.advice))
        yield from self._screen.labelled("ASSUMED", self._taken(advice))
        yield ""
        yield self._style.faint(views[0].footer)
        yield self._style.faint("--only train or --only serve explains that phase in full.")

    # the cost

    def _cost(self, advice: LifecycleAdvice) -> Iterator[str]:
        yield self._style.strong(_COST)
        rows = cost_rows(advice)
        if rows:
            lines, _ = table(("", "", "USD", "share"), rows, (False, False, True, True), self._width - 2, self._style)
            yield from (f"  {line}" for line in lines)
        for text in (*why_unknown(advice), *instead(advice)):
            yield from self._screen.wrap(text, "  ")

    def _said(self, items: tuple[Item, ...]) -> Iterator[str]:
        for item in items:
            yield from self._screen.wrap(f"{item.text} [{', '.join(item.claims)}]", "    ", "  - ")

    def _taken(self, advice: LifecycleAdvice) -> str:
        """What was assumed, in short; once where both phases assume it alike."""
        phases: dict[str, list[str]] = {}
        for name, phase in (("training", advice.train), ("serving", advice.serve)):
            for item in phase.assumed:
                spec = phase.consultation.knowledge.vocabulary.get(item.name)
                value = show_plain(item.value, spec.unit if spec else None, item.name)
                phases.setdefault(f"{item.answer} = {value}", []).append(name)
        texts = [text if len(names) > 1 else f"{names[0]} {text}" for text, names in phases.items()]
        left = len(texts) - _MOST_ASSUMED
        return "; ".join(texts[:_MOST_ASSUMED]) + (f" (+{left} more: --only PHASE --assumed)" if left > 0 else "")


def documented(advice: LifecycleAdvice) -> tuple[list[View], list[Section]]:
    """What a document of it is made of: both phases as they are reported alone, then what they cost together."""
    return [view_of(phase, flips="loads") for phase in advice.phases], [_cost_section(advice)]


def _cost_section(advice: LifecycleAdvice) -> Section:
    """What the life costs and what the rules say of that, for a document after its phases."""
    items = (*advice.warnings, *advice.advice)
    said = (Line(item.text, evidence=Evidence(claims=item.claims)) for item in items)
    lines = (*map(Line, (*why_unknown(advice), *instead(advice))), *said)
    rows = tuple(cost_rows(advice))
    return Section(_COST, lines, Grid(("phase", "made of", "USD", "share"), rows) if rows else None)


def where_done(advice: LifecycleAdvice, part: Part) -> str:
    """On which machine a phase is done, where it is the other's; what a title ends with."""
    both = advice.machines.both
    return "" if both in (None, part) else f", on the machine that is bought to {both}, owned by then"


def cost_rows(advice: LifecycleAdvice) -> list[tuple[str, str, str, str]]:
    """What is paid for, what it is made of, USD, and its share of the total; nothing where no months are known."""
    cost = advice.cost
    if cost is None:
        return []
    machine, total = cost.train_machine_usd, cost.usd_total
    runs = None if cost.train_usd is None else cost.train_usd - (machine or 0.0)
    job = job_hours(advice.serve.recommendation) is not None
    serving = _serving(cost.service_months, cost.usd_per_month, ", one job in each," if job else "")
    parts = [("training", _training(advice, cost), runs), ("serving", serving, cost.serve_usd)]
    if machine is not None:
        parts.insert(1, ("", "what is bought for it, and for nothing else", machine))
    shares = [usd / total if usd is not None and total else None for _, _, usd in parts]
    rows = [(what, made, _usd(usd), _share(share)) for (what, made, usd), share in zip(parts, shares, strict=True)]
    return [*rows, ("total", "", _usd(total), "")]


def why_unknown(advice: LifecycleAdvice) -> Iterator[str]:
    """Why a part of the cost is not known."""
    if advice.cost is None:
        yield "The months of service are unknown: answer service_months."
    for what, because in (("training", advice.unknown.train), ("serving", advice.unknown.serve)):
        if because:
            yield f"The cost of {what} is unknown: {because}."


def instead(advice: LifecycleAdvice) -> Iterator[str]:
    """What a machine for each phase would cost, and serving on the accelerator that trains, where neither is
    recommended anyway.
    """
    plan, cost, because = advice.same, advice.cost, advice.unknown.same
    best = advice.serve.recommendation
    if advice.machines.both is not None:
        yield from _apart(advice)
    elif because:
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
    each = usd_per_run(plan)
    runs = show(cost.runs, "runs")
    if cost.trainings > 1:
        runs += f" in {show(cost.trainings)} trainings"
    if each is None:
        return runs
    power = " of power" if plan is not None and plan.cost is not None and plan.cost.basis != "renting" else ""
    return f"{runs}, {show(each, 'USD')}{power} each"


def _apart(advice: LifecycleAdvice) -> Iterator[str]:
    """What both phases would cost with a machine for each."""
    plans = [] if advice.apart is None else [item.recommendation for item in advice.apart.advice]
    one, total = advice.cost, advice.apart_cost.usd_total if advice.apart_cost else None
    names = [plan.label for plan in plans if plan is not None]
    if total is None or one is None or not one.usd_total or len(names) != len(PARTS):
        return
    times = f", {show(total / one.usd_total)} times as much" if total > one.usd_total else ""
    yield f"A machine for each, {names[0]} to train and {names[1]} to serve: {_usd(total)}{times}."


def _serving(months: float, usd_per_month: float | None, work: str = "") -> str:
    period = show(months, "months")
    return period if usd_per_month is None else f"{period}{work} at {show(usd_per_month, 'USD')} a month"
