"""Two charts, each with its words: memory of a plan against its VRAM, and price against speed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from whygpu import Plan
    from whygpu.explain.plan import Memory

# Distinct for the common kinds of colour vision (Okabe and Ito, https://jfly.uni-koeln.de/color/), and no alarming red.
PALETTE = {
    "weights": "#0072B2",
    "KV cache": "#E69F00",
    "gradients": "#009E73",
    "optimizer": "#CC79A7",
    "activations": "#56B4E9",
    "logits": "#B8A900",
    "overhead": "#8A8A8A",
}
_SMALLEST = 0.005  # GiB; less is not worth a word
_VISIBLE = 0.004  # of the widest bar; less is not worth a colour
_LABEL_CHARACTERS = 24
_LINE_PX, _GAP_PX, _AXIS_PX, _LEGEND_ROW_PX = 15, 18, 56, 22


def parts(memory: Memory) -> dict[str, float]:
    """GiB of each part that is not negligible; what gradients and activations take one after the other counts once."""
    gradients, activations = memory.gradients_gib, memory.activations_gib + memory.reused_gib
    found = {
        "weights": memory.weights_gib,
        "KV cache": memory.kv_cache_gib,
        "gradients": gradients + min(activations, 0.0),
        "optimizer": memory.optimizer_gib,
        "activations": max(activations, 0.0),
        "logits": memory.logits_gib,
        "overhead": memory.overhead_gib,
    }
    return {name: value for name, value in found.items() if value > _SMALLEST}


def memory_chart(plans: Sequence[Plan], *, dark: bool) -> alt.LayerChart | alt.FacetChart:
    """Stacked bars of GiB per accelerator, the range of the estimate, and what is usable."""
    import altair as alt  # noqa: PLC0415  slow, so serve() loads it while the visitor reads the first question

    ink = "#FAFAFA" if dark else "#111111"
    widest = max(max(plan.memory.total_gib, plan.memory.usable_gib or 0.0) for plan in plans)
    rows: list[dict[str, object]] = []
    marks: list[dict[str, object]] = []
    for plan in plans:
        lines = [*wrap(plan.label, _LABEL_CHARACTERS), f"{plan.format.upper()}, {plan.memory.verdict}"]
        label = "|".join(lines)
        for order, (name, gib) in enumerate(parts(plan.memory).items()):
            if gib > _VISIBLE * widest:
                rows.append({"plan": label, "part": name, "GiB": gib, "order": order})
        memory = plan.memory
        marks.append({"plan": label, "usable": memory.usable_gib, "low": memory.low_gib, "high": memory.high_gib})
    bars, limits = alt.InlineData(values=rows), alt.InlineData(values=marks)
    shown = [name for name in PALETTE if any(row["part"] == name for row in rows)]
    axis = alt.Axis(
        labelExpr="split(datum.label, '|')",
        labelLimit=150,
        labelOverlap=False,
        labelOffset=-6,
        labelColor=ink,
        title=None,
    )
    y = alt.Y("plan:N", sort=[str(mark["plan"]) for mark in marks], axis=axis)
    legend = alt.Legend(orient="bottom", columns=2, title=None, labelLimit=150, labelColor=ink, symbolType="square")
    colour = alt.Color("part:N", legend=legend, scale=alt.Scale(domain=shown, range=[PALETTE[name] for name in shown]))
    tooltip = [alt.Tooltip("part:N", title="Part"), alt.Tooltip("GiB:Q", format=".2f")]
    stacked = (
        alt.Chart(bars)
        .mark_bar(height=18)
        .encode(
            x=alt.X("GiB:Q", title="GiB per accelerator", axis=alt.Axis(labelColor=ink, titleColor=ink)),
            y=y,
            color=colour,
            order="order:Q",
            tooltip=tooltip,
        )
    )
    span = [alt.Tooltip("low:Q", title="At least", format=".2f"), alt.Tooltip("high:Q", title="At most", format=".2f")]
    ranges = alt.Chart(limits).mark_rule(color=ink, strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=y, tooltip=span)
    usable = (
        alt.Chart(limits)
        .mark_tick(color=ink, thickness=4, height=32, opacity=1)
        .encode(x="usable:Q", y=y, tooltip=[alt.Tooltip("usable:Q", title="Usable GiB", format=".2f")])
    )
    lines_shown = min(max(str(mark["plan"]).count("|") + 1 for mark in marks), 3)
    height = (_LINE_PX * lines_shown + _GAP_PX) * len(plans) + _AXIS_PX + _LEGEND_ROW_PX * ((len(shown) + 1) // 2)
    return alt.layer(stacked, ranges, usable).properties(height=height)


def description(plans: Sequence[Plan]) -> str:
    """The chart in words."""
    each = (f"{plan.label} uses {plan.memory.total_gib:.1f} of {plan.memory.usable_gib or 0:.1f} GiB" for plan in plans)
    return "Memory per accelerator: " + "; ".join(each) + "."


def memory_rows(plans: Sequence[Plan]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The same as a table: its headings and its rows, GiB for each accelerator."""
    found = [parts(plan.memory) for plan in plans]
    shown = [name for name in PALETTE if any(name in item for item in found)]
    rows = [
        (
            f"{plan.label} {plan.format.upper()}",
            *(f"{item[name]:.2f}" if name in item else "" for name in shown),
            f"{plan.memory.total_gib:.1f} ({plan.memory.low_gib:.1f} to {plan.memory.high_gib:.1f})",
            "unknown" if plan.memory.usable_gib is None else f"{plan.memory.usable_gib:.1f}",
        )
        for plan, item in zip(plans, found, strict=True)
    ]
    return ("GiB each", *shown, "in all", "usable"), rows


# price against speed

_SPEEDS = (
    ("token_ms", "ms a token", "token_latency_ms"),
    ("train_hours", "hours", "deadline_hours"),
    ("ttft_ms", "ms to the first answer", "latency_ms"),
)
"""A figure of speed, the lower the better; how it is called, and the answer that limits it."""
_MOST_POINTS = 25
_BESIDE = 3.0
"""How many times beyond the outermost plans a limit is drawn."""
_MOST_NAMES = 4
_PLOT_PX, _LETTER_PX, _LINE_OF_NAME_PX = 260, 6.5, 16
"""The plot on a phone, a letter's width and a name's height: names that do not meet there meet nowhere."""
_TICKS = "format(datum.value, datum.value < 1000 ? '.3~g' : ',.0f')"
PICK = "pick"
"""The chart's selection: the id of the plan that is clicked."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Plans each at its price and its time, and what limits either."""

    title: str
    money: str
    """What the price is for: the job where it has an end, else an hour."""
    points: tuple[tuple[Plan, float, float], ...]
    most_time: float | None
    most_usd: float | None


def scatter(plans: Sequence[Plan], limits: Mapping[str, object]) -> Scatter | None:
    """The plans by the measure of speed that they have; ``limits``: the answers. None where none has both figures."""
    for name, title, limit in _SPEEDS:
        found = [  # what costs nothing has no place on a logarithmic axis
            (plan, plan.cost.compared, band.likely)
            for plan in plans[:_MOST_POINTS]
            if plan.cost is not None
            and plan.cost.compared.usd_per_hour > 0
            and (band := plan.speed.get(name)) is not None
            and band.likely > 0
        ]
        if not found:
            continue
        jobs = tuple((plan, price.usd_total, time) for plan, price, time in found if price.usd_total is not None)
        hours = tuple((plan, price.usd_per_hour, time) for plan, price, time in found)
        points, money, budget = (jobs, "for the job", "budget_total") if jobs else (hours, "an hour", "budget_per_hour")
        most_usd = _within_sight(limits.get(budget), [price for _, price, _ in points])
        return Scatter(title, money, points, _within_sight(limits.get(limit), [time for *_, time in points]), most_usd)
    return None


def _named(found: Scatter) -> set[str]:
    """The ids of the first plans whose names do not run into one another."""
    prices, times = [price for _, price, _ in found.points], [time for _, _, time in found.points]
    taken: dict[str, tuple[float, float, float]] = {}
    for plan, price, time in found.points[:_MOST_NAMES]:
        x, y, half = _px(price, prices), _px(time, times), len(plan.label) * _LETTER_PX / 2
        if all(abs(x - a) > half + b or abs(y - c) > _LINE_OF_NAME_PX for a, c, b in taken.values()):
            taken[plan.id] = (x, y, half)
    return set(taken)


def _px(value: float, values: Sequence[float]) -> float:
    """Where a value stands on a logarithmic axis of all the values."""
    span = math.log(max(values) / min(values))
    return _PLOT_PX * math.log(value / min(values)) / span if span else 0.0


def _within_sight(limit: object, values: Sequence[float]) -> float | None:
    """A limit that lies among these values or beside them: one far off would push them all together."""
    if not isinstance(limit, float):
        return None
    return limit if min(values) / _BESIDE <= limit <= max(values) * _BESIDE else None


def price_speed(found: Scatter, *, dark: bool, height: int) -> alt.LayerChart | alt.FacetChart:
    """A plan each at its price and its time, on logarithmic scales; a click selects it (``PICK``)."""
    import altair as alt  # noqa: PLC0415  slow, so serve() loads it while the visitor reads the first page

    ink = "#FAFAFA" if dark else "#111111"
    blue, orange = ("#6FB1F0", "#FFB066") if dark else ("#0B5CAD", "#A34700")
    named = _named(found)
    rows = [
        {
            "id": plan.id,
            "plan": f"{plan.label} {plan.format.upper()}",
            "price": price,
            "time": time,
            "fill": blue if plan.memory.verdict == "fits" and not plan.unverified else "transparent",
            "size": 260 if number == 0 else 90,
            "name": plan.label if plan.id in named else "",
        }
        for number, (plan, price, time) in enumerate(found.points)
    ]
    axis = alt.Axis(labelColor=ink, titleColor=ink, grid=False, tickCount=5, labelExpr=_TICKS)
    money = f"USD {found.money}"
    x = alt.X("price:Q", scale=alt.Scale(type="log", nice=False, padding=30), title=money, axis=axis)
    y = alt.Y("time:Q", scale=alt.Scale(type="log", nice=False, padding=24), title=found.title, axis=axis)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    dots = (
        base.mark_point(stroke=blue, strokeWidth=2, opacity=1, cursor="pointer")
        .encode(
            fill=alt.Fill("fill:N", scale=None),
            size=alt.Size("size:Q", scale=None),
            tooltip=[
                alt.Tooltip("plan:N", title="Plan"),
                alt.Tooltip("price:Q", title=money, format=".2f"),
                alt.Tooltip("time:Q", title=found.title, format=".3g"),
            ],
        )
        .add_params(alt.selection_point(PICK, fields=["id"], on="click"))
    )
    names = base.mark_text(dy=-14, color=ink, fontSize=12).encode(text="name:N")
    layers = [dots, names]
    for value, field, channel in ((found.most_usd, "price", {"x": x}), (found.most_time, "time", {"y": y})):
        if value is not None:
            at = alt.Chart(alt.InlineData(values=[{field: value}]))
            layers.append(at.mark_rule(color=orange, strokeDash=[6, 4], strokeWidth=2).encode(**channel))
    return alt.layer(*layers).properties(height=height)


def price_speed_text(found: Scatter) -> str:
    """The chart in words."""
    each = "; ".join(
        f"{plan.label} {plan.format.upper()} {show(price, 'USD')} {found.money}, {time:.3g} {found.title}"
        for plan, price, time in found.points[:6]
    )
    return f"Price against speed: {each}"


def price_speed_rows(found: Scatter) -> list[tuple[str, str, str, str]]:
    """The same as a table."""
    return [
        (
            f"{plan.label} {plan.format.upper()}",
            f"{show(price, 'USD')} {found.money}",
            f"{time:.3g} {found.title}",
            plan.memory.verdict,
        )
        for plan, price, time in found.points
    ]
