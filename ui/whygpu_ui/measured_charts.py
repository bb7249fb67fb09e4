"""Charts of what was measured, each with its words: latency against load, and a training run by its accelerators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from whygpu.quantity import show as show_number
from whygpu.sizing.pace import relative_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from whygpu.measured.measurement import Scaling
    from whygpu.sizing.service_size import ServiceSize
    from whygpu.sizing.training import TrainingSize

_LOADS_PX, _RUNS_PX, _SPLIT_PX = 340, 250, 160
_PARTS = {
    "compute": "#0072B2",
    "memory": "#56B4E9",
    "input": "#E69F00",
    "communication": "#CC79A7",
    "other": "#8A8A8A",
}
"""Distinct for the common kinds of colour vision (Okabe and Ito), as those of memory."""


@dataclass(frozen=True, slots=True)
class Ink:
    """Colours of a chart that can be told apart on its ground."""

    text: str
    first: str
    second: str

    @classmethod
    def of(cls, *, dark: bool) -> Ink:
        """For the theme."""
        return cls("#FAFAFA", "#6FB1F0", "#FFB066") if dark else cls("#111111", "#0B5CAD", "#A34700")

    def axis(self, count: int = 5) -> alt.Axis:
        """An axis with few ticks and no grid."""
        import altair as alt  # noqa: PLC0415  slow, so serve() loads it while the visitor reads the first page

        return alt.Axis(labelColor=self.text, titleColor=self.text, grid=False, tickCount=count, labelOverlap=True)


# ---- a service ----


def service_charts(size: ServiceSize, *, dark: bool) -> None:
    """Latency against load, with where it turns unstable, what each replica is planned for, and the limit."""
    text = service_text(size)
    st.altair_chart(service_chart(size, dark=dark), width="stretch", height=_LOADS_PX, alt=text)
    st.markdown(f"{text} In brackets: requests in flight.")


def service_chart(size: ServiceSize, *, dark: bool) -> alt.LayerChart | alt.FacetChart:
    """The time of a request by the requests a second of one replica, in the order of the loads; times logarithmic."""
    import altair as alt  # noqa: PLC0415

    ink = Ink.of(dark=dark)
    rows = _load_rows(size)
    x = alt.X("per_s:Q", title="requests a second of one replica", scale=alt.Scale(zero=True), axis=ink.axis())
    y = alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log", nice=False, padding=18), axis=ink.axis())
    shown = list(dict.fromkeys(str(row["what"]) for row in rows))
    legend = alt.Legend(orient="bottom", title=None, labelColor=ink.text, symbolType="stroke")
    colour = alt.Color(
        "what:N", legend=legend, scale=alt.Scale(domain=shown, range=[ink.first, ink.second][: len(shown)])
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    tooltip = [
        alt.Tooltip("in_flight:Q", title="in flight", format=".4~g"),
        alt.Tooltip("per_s:Q", title="requests a second", format=".4~g"),
        alt.Tooltip("ms:Q", format=",.0f"),
    ]
    lines = base.mark_line(strokeWidth=2).encode(color=colour, order="in_flight:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(color=colour, tooltip=tooltip)
    marked = base.transform_filter("datum.mark !== ''")
    rings = marked.mark_point(size=260, strokeWidth=2.5, color=ink.text, opacity=1)
    names = marked.mark_text(dx=-12, dy=-12, align="right", color=ink.text, fontSize=12).encode(text="mark:N")
    layers: list[Any] = [lines, dots, rings, names]
    if size.usable_per_s is not None:
        layers += _rule(alt.X, {"per_s": size.usable_per_s}, "planned for", ink, x=x)
    if size.service.objective.latency_s is not None:
        layers += _rule(alt.Y, {"ms": size.service.objective.latency_s * 1000}, "limit", ink, y=y)
    return alt.layer(*layers)


def _rule(kind: type, at: dict[str, float], text: str, ink: Ink, **channel: Any) -> list[Any]:
    """A dashed line across the chart at a value, with what it is."""
    import altair as alt  # noqa: PLC0415

    found = alt.Chart(alt.InlineData(values=[at]))
    across = kind is alt.X
    place = {"y": alt.value(8)} if across else {"x": alt.value(0)}
    words = (
        found.mark_text(dx=5, align="left", color=ink.second, fontSize=12)
        if across
        else found.mark_text(dx=4, dy=-8, align="left", color=ink.second, fontSize=12)
    )
    return [
        found.mark_rule(color=ink.second, strokeDash=[6, 4], strokeWidth=2).encode(**channel),
        words.encode(text=alt.value(text), **channel, **place),
    ]


def _load_rows(size: ServiceSize) -> list[dict[str, object]]:
    """Each load by its p95 and its mean; marks stand at the p95 where every load has one."""
    tails = all(row.load.tail_s is not None for row in size.rows)
    found: list[dict[str, object]] = []
    for row in size.rows:
        load = row.load
        names = [text for text, is_so in (("knee", row.knee), ("admit no more", row.cap)) if is_so]
        mark = f"{', '.join(names)} ({show_number(load.in_flight)})" if names else ""
        at = {"per_s": load.per_s, "in_flight": load.in_flight}
        if load.tail_s is not None:
            found.append({**at, "ms": load.tail_s * 1000, "what": "p95", "mark": mark if tails else ""})
        found.append({**at, "ms": load.mean_s * 1000, "what": "mean", "mark": "" if tails else mark})
    return found


def service_text(size: ServiceSize) -> str:
    """The chart in words."""
    first, last = size.rows[0].load, size.rows[-1].load
    parts = [
        f"Latency against load: from {_load(first.per_s, first.mean_s)} to {_load(last.per_s, last.mean_s)} on average"
    ]
    if size.knee.at is not None:
        at = size.knee.at
        parts.append(f"the knee, from where latency turns unstable, is at {show_number(at.in_flight)} in flight")
    if size.usable_per_s is not None:
        parts.append(f"each replica is planned for {show_number(size.usable_per_s, 'requests/s')}")
    return "; ".join(parts) + "."


def _load(per_s: float, seconds: float) -> str:
    return f"{show_number(per_s, 'requests/s')} in {show_number(seconds * 1000, 'ms')}"


# ---- a training run ----


@dataclass(frozen=True, slots=True)
class Curve:
    """One figure by the number of accelerators: the runs, the run that is advised, and what was measured."""

    title: str
    runs: tuple[tuple[int, float], ...]
    best: tuple[int, float]
    pays_to: int | None
    limit: float | None = None
    measured: tuple[tuple[int, float], ...] = ()
    log: bool = True


def training_charts(size: TrainingSize, scaling: Sequence[Scaling], *, dark: bool) -> None:
    """Days, cost and efficiency by the number of accelerators, and what a step is spent on."""
    places = [*st.columns(2), *st.columns(2)]  # in this order on a phone
    for number, curve in enumerate(curves(size, scaling)):
        with places[number]:
            st.altair_chart(curve_chart(curve, dark=dark), width="stretch", height=_RUNS_PX, alt=curve_text(curve))
    if size.split:
        with places[-1]:
            st.altair_chart(split_chart(size.split, dark=dark), width="stretch", height=_SPLIT_PX, alt=split_text(size))
            st.markdown(split_text(size))
    st.markdown(training_text(size) + (" Diamonds are measurements." if _measured(scaling) else ""))


def curves(size: TrainingSize, scaling: Sequence[Scaling]) -> tuple[Curve, ...]:
    """Days, cost (accelerator-hours where there is no price) and efficiency."""
    best, runs = size.best, size.runs
    priced = best.usd is not None
    cost = {run.count: run.usd if priced else run.accelerator_hours for run in runs}
    paid = tuple((count, value) for count, value in cost.items() if value is not None)
    days = tuple((run.count, run.all_days) for run in runs)
    spread = tuple((run.count, run.efficiency) for run in runs)
    return (
        Curve("days", days, (best.count, best.all_days), size.pays_to, size.target.deadline_days),
        Curve("USD" if priced else "accelerator-hours", paid, (best.count, cost[best.count] or 0.0), size.pays_to),
        Curve(
            "efficiency",
            spread,
            (best.count, best.efficiency),
            size.pays_to,
            measured=tuple(_measured(scaling)),
            log=False,
        ),
    )


def _measured(scaling: Sequence[Scaling]) -> list[tuple[int, float]]:
    """The efficiency of each row that was measured, where one accelerator alone was."""
    rows = [(int(row.accelerators), rate) for row in scaling if (rate := relative_rate(row)) is not None]
    one = dict(rows).get(1)
    return [(count, rate / count / one) for count, rate in rows] if one else []


def curve_chart(curve: Curve, *, dark: bool) -> alt.LayerChart | alt.FacetChart:
    """The curve on a logarithmic axis of accelerators; a ring at what is advised."""
    import altair as alt  # noqa: PLC0415

    ink = Ink.of(dark=dark)
    scale = alt.Scale(type="log", nice=False, padding=14)
    x = alt.X("count:Q", title="accelerators", scale=scale, axis=ink.axis())
    upright = scale if curve.log else alt.Scale(domain=[0, 1.05])
    y = alt.Y("value:Q", title=curve.title, scale=upright, axis=ink.axis(4))
    if not curve.log:
        y = y.axis(alt.Axis(labelColor=ink.text, titleColor=ink.text, grid=False, tickCount=4, format="%"))

    def rows(pairs: Sequence[tuple[int, float]]) -> alt.Chart:
        values = [{"count": count, "value": value} for count, value in pairs]
        return alt.Chart(alt.InlineData(values=values)).encode(x=x, y=y)

    tooltip = [
        alt.Tooltip("count:Q", title="accelerators"),
        alt.Tooltip("value:Q", title=curve.title, format=".3~s" if curve.log else ".1%"),
    ]
    layers: list[Any] = [
        rows(curve.runs).mark_line(color=ink.first, strokeWidth=2),
        rows(curve.runs).mark_point(color=ink.first, filled=True, size=28, opacity=1).encode(tooltip=tooltip),
        rows([curve.best]).mark_point(color=ink.text, size=260, strokeWidth=2.5, opacity=1),
        rows([curve.best]).mark_text(color=ink.text, dy=20, fontSize=12, text="advised"),
    ]
    if curve.measured:
        layers.append(
            rows(curve.measured).mark_point(color=ink.second, shape="diamond", filled=True, size=110, opacity=1)
        )
    if curve.limit is not None:
        layers += _rule(alt.Y, {"value": curve.limit}, "deadline", ink, y=y)
    if curve.pays_to is not None:
        layers += _rule(alt.X, {"count": float(curve.pays_to)}, "pays up to here", ink, x=x)
    return alt.layer(*layers)


def curve_text(curve: Curve) -> str:
    """The curve in words."""
    unit = "share" if not curve.log else None
    first, last = curve.runs[0], curve.runs[-1]
    return (
        f"{curve.title} by accelerators: {show_number(first[1], unit)} with {first[0]}, "
        f"{show_number(curve.best[1], unit)} with {curve.best[0]} as advised, "
        f"{show_number(last[1], unit)} with {last[0]}."
    )


def training_text(size: TrainingSize) -> str:
    """What the charts show of where more accelerators stop paying."""
    most = size.runs[-1].count
    pays = (
        f"Beyond {size.pays_to} accelerators another doubling saves too little of the time it should."
        if size.pays_to is not None
        else f"Every doubling up to {most} accelerators still pays off."
    )
    return f"The ring is what is advised. {pays}"


def split_chart(split: Sequence[tuple[str, float]], *, dark: bool) -> alt.Chart:
    """One bar: what a step is spent on."""
    import altair as alt  # noqa: PLC0415

    ink = Ink.of(dark=dark)
    rows = [{"part": name, "share": value, "order": number} for number, (name, value) in enumerate(split)]
    names = [name for name, _ in split]
    legend = alt.Legend(orient="bottom", columns=3, title=None, labelColor=ink.text, symbolType="square")
    colour = alt.Color(
        "part:N", legend=legend, scale=alt.Scale(domain=names, range=[_PARTS.get(name, "#8A8A8A") for name in names])
    )
    axis = alt.Axis(format="%", labelColor=ink.text, titleColor=ink.text, grid=False)
    bar: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height=20)
        .encode(
            x=alt.X("share:Q", title="of a step", stack="zero", scale=alt.Scale(domain=[0, 1]), axis=axis),
            color=colour,
            order="order:Q",
            tooltip=[alt.Tooltip("part:N"), alt.Tooltip("share:Q", format=".1%")],
        )
    )
    return bar


def split_text(size: TrainingSize) -> str:
    """The parts of a step in words."""
    return "A step: " + ", ".join(f"{name} {show_number(value, 'share')}" for name, value in size.split) + "."
