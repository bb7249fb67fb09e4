"""Memory against VRAM as a chart: one stacked bar for each plan, a tick for what its accelerator has."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    return alt.layer(stacked, ranges, usable).properties(height=height, description=description(plans))


def description(plans: Sequence[Plan]) -> str:
    """The chart in words."""
    each = (f"{plan.label} uses {plan.memory.total_gib:.1f} of {plan.memory.usable_gib or 0:.1f} GiB" for plan in plans)
    return "Memory per accelerator: " + "; ".join(each) + "."
