"""Advice on a whole life as text: both plans in short, what the life costs, and what the rules say of that."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from whygpu.quantity import show
from whygpu.render.figures import show_plain
from whygpu.render.table import table
from whygpu.render.text import TextRenderer
from whygpu.render.words import price_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.advice import Advice, Item
    from whygpu.checks.life import LifeCost
    from whygpu.life import LifeAdvice

_MOST_OTHERS = 3
_UNKNOWN = "unknown"


class LifeRenderer(TextRenderer):
    """Renders advice on a whole life; of each phase what an answer about it alone begins with."""

    def render_life(self, advice: LifeAdvice) -> str:
        """The whole answer."""
        sections = [
            list(self._phase("Train", advice.train)),
            list(self._phase("Serve", advice.serve)),
            list(self._cost(advice)),
            list(self._said((*advice.warnings, *advice.advice))),
            list(self._taken(advice)),
            [
                *self._footer(advice.train),
                self._style.faint("--only train or --only serve explains that phase in full."),
            ],
        ]
        return self._style.safe("\n\n".join("\n".join(lines) for lines in sections if lines) + "\n")

    def _phase(self, title: str, advice: Advice) -> Iterator[str]:
        yield self._style.strong(title)
        for line in self._verdict(advice):
            yield f"  {line}"
        others = list(islice((plan for plan in advice.alternatives if plan.rank != 1), _MOST_OTHERS))
        if others:
            shown = "; ".join(f"{plan.label} {plan.format.upper()}, {price_text(plan)}" for plan in others)
            yield from self._wrap(f"Next: {shown}.", "    ", "  ")
        for item in advice.warnings:
            yield from self._wrap(f"Warning: {item.text}", "    ", "  ")

    # the cost

    def _cost(self, advice: LifeAdvice) -> Iterator[str]:
        yield self._style.strong("What the whole life costs")
        rows = cost_rows(advice)
        if rows:
            lines, _ = table(("", "", "USD", "share"), rows, (False, False, True, True), self._width - 2, self._style)
            yield from (f"  {line}" for line in lines)
        for text in (*why_unknown(advice), *instead(advice)):
            yield from self._wrap(text)

    def _said(self, items: tuple[Item, ...]) -> Iterator[str]:
        for item in items:
            yield from self._wrap(f"{item.text} [{', '.join(item.claims)}]", "    ", "  - ")

    def _taken(self, advice: LifeAdvice) -> Iterator[str]:
        """What was assumed; once where both phases assume it alike."""
        phases: dict[str, list[str]] = {}
        for name, phase in (("training", advice.train), ("serving", advice.serve)):
            for item in phase.assumed:
                spec = self._vocabulary.get(item.name)
                value = show_plain(item.value, spec.unit if spec else None, item.name)
                phases.setdefault(f"{item.answer} = {value}: {item.because}", []).append(name)
        if phases:
            yield self._style.strong("Assumed, since nothing was said (answer to change it)")
        for text, names in phases.items():
            yield from self._wrap(text if len(names) > 1 else f"{names[0]}: {text}", "    ", "  - ")


def cost_rows(advice: LifeAdvice) -> list[tuple[str, str, str, str]]:
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


def why_unknown(advice: LifeAdvice) -> Iterator[str]:
    """Why a part of the cost is not known."""
    if advice.cost is None:
        yield "Nobody says for how many months it serves: answer service_months."
    for what, because in (("training", advice.unknown.train), ("serving", advice.unknown.serve)):
        if because:
            yield f"The cost of {what} is unknown: {because}."


def instead(advice: LifeAdvice) -> Iterator[str]:
    """What serving on the accelerator that trains would cost, where it is not recommended anyway."""
    plan, cost, because = advice.same, advice.cost, advice.unknown.same
    best = advice.serve.recommendation
    if because:
        yield f"Serving on the accelerator that trains: {because.removesuffix('.')}."
    elif plan is not None and cost is not None and (best is None or best.id != plan.id):
        times = "" if cost.same_times is None else f", {show(cost.same_times)} times the recommended"
        yield (
            f"Serving on the accelerator that trains, {plan.label} in {plan.format.upper()}: "
            f"{_serving(cost.service_months, cost.same_usd_per_month)}, {_usd(cost.same_serve_usd)}{times}."
        )


def _usd(value: float | None) -> str:
    return _UNKNOWN if value is None else show(value, "USD")


def _share(value: float | None) -> str:
    return "" if value is None else show(value, "share")


def _training(advice: LifeAdvice, cost: LifeCost) -> str:
    plan = advice.train.recommendation
    each = plan.cost.usd_total if plan is not None and plan.cost else None
    runs = show(cost.runs, "runs")
    if cost.trainings > 1:
        runs += f" in {show(cost.trainings)} trainings"
    return runs if each is None else f"{runs}, {show(each, 'USD')} each"


def _serving(months: float, usd_per_month: float | None) -> str:
    period = show(months, "months")
    return period if usd_per_month is None else f"{period} at {show(usd_per_month, 'USD')} a month"
