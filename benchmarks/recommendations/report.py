"""docs/explanation/ranking-figures.md: what the command measured, as tables; ranking.md beside it explains them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.recommendations import experts, panel, stability
from benchmarks.recommendations.panel import Judged
from benchmarks.recommendations.stability import Moved
from benchmarks.recommendations.strips import short
from benchmarks.recommendations.sweeps import Strip, Sweep

COMMAND = "python -m benchmarks.recommendations --write docs/explanation/ranking-figures.md"


@dataclass(frozen=True, slots=True)
class Results:
    """All that the page tells; ``plots`` are the files of the sweeps, by id."""

    panel: Sequence[Judged]
    workloads: Sequence[Judged]
    documents: Sequence[experts.Compared]
    left_out: Sequence[tuple[str, str]]
    moved: Sequence[Moved]
    sweeps: Sequence[tuple[Sweep, Sequence[Strip]]]
    plots: Mapping[str, str]


def markdown(done: Results, day: datetime.date) -> str:
    """The whole page."""
    blocks = [
        [
            "# Figures of the ranking",
            "",
            f"Written by `{COMMAND}` on {day}; [ranking.md](ranking.md) judges them.",
            "The panel and what documents recommend are not part of this repository: `--data` names their directory.",
            "Our own workloads are in [workloads.yaml](../../benchmarks/recommendations/workloads.yaml).",
        ],
        ["## Labelled workloads", "", *_table(scores(done.panel, done.workloads))],
        [
            "*Acceptable*: an engineer who saw no answer would defend it; *embarrassing*: would not live it down; the",
            "rest is neither. A price is that of the first answer, of bought hardware the hour of owning.",
        ],
        ["### First answers that are not acceptable", "", *_misses([*done.panel, *done.workloads])],
        ["## What documents recommend", "", *_table(experts.table(done.documents))],
        [
            "*First* and *first three* are of all accelerators of the catalogue; *own cards* of those alone that the",
            f"document names. Left out: {len(done.left_out)} ({_reasons(done.left_out)}).",
        ],
        ["### Not among the first three of the document's own cards", "", *_strangers(done.documents)],
        ["## Stability", "", *_table(stability.table(done.moved))],
        ["### Workloads where prices of one accelerator decide", "", *_unsteady(done.moved)],
        [
            "## Sweeps",
            "",
            "Each transition says of the plan that came first before it what changed: how many it takes,",
            "what it counts as against the new first one, and what makes most of that difference: money,",
            "or one criterion and its rules.",
        ],
        *[_sweep(sweep, strips, done.plots[sweep.id]) for sweep, strips in done.sweeps],
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def scores(public: Sequence[Judged], own: Sequence[Judged]) -> list[list[str]]:
    """A heading, then each score of the panel and of the workloads of this repository."""
    lines = [["", f"panel ({len(public)})", f"own workloads ({len(own)})"]]
    for name, ours in panel.scores(own):
        theirs = dict(panel.scores(public)).get(name)
        lines.append(
            [
                name,
                *("" if score is None else f"{score[0]} of {score[1]} ({_share(score)})" for score in (theirs, ours)),
            ]
        )
    return lines


def _share(score: tuple[int, int]) -> str:
    return f"{score[0] / max(score[1], 1):.0%}"


def _table(lines: Sequence[Sequence[str]]) -> list[str]:
    head, *rows = lines
    return [_row(head), "|" + "---|" * len(head), *(_row(row) for row in rows)]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _misses(judged: Iterable[Judged]) -> list[str]:
    lines = [["workload", "first answer", "verdict", "next two"]]
    for one in judged:
        if one.acceptable:
            continue
        verdict = "embarrassing" if one.embarrassing else "neither"
        later = ", ".join(str(plan) for plan in one.answer.plans[1:3])
        first = one.answer.first
        lines.append([one.label.id, one.answer.status if first is None else str(first), verdict, later])
    return _table(lines) if len(lines) > 1 else ["None."]


def _reasons(left: Sequence[tuple[str, str]]) -> str:
    reasons = [reason for _, reason in left]
    return "; ".join(f"{reasons.count(reason)}: {reason}" for reason in dict.fromkeys(reasons))


def _strangers(done: Iterable[experts.Compared]) -> list[str]:
    lines = [["row", "document", "first three of all"]]
    lines += [[one.id, one.family, one.says] for one in done if one.own is not None and not one.own.three]
    return _table(lines) if len(lines) > 1 else ["None."]


def _unsteady(moved: Sequence[Moved]) -> list[str]:
    lines = [["workload", "first", "and at prices 15% off"]]
    first = {one.label.id: one.before for one in moved}
    for name, others in stability.unsteady(moved).items():
        before = first[name]
        lines.append([name, "nothing" if before is None else before.accelerator, ", ".join(others)])
    return _table(lines) if len(lines) > 1 else ["None."]


def _sweep(sweep: Sweep, strips: Sequence[Strip], plot: str) -> list[str]:
    block = [f"### {sweep.title}", "", f"![First recommendation by {sweep.title}]({plot})"]
    for strip in strips:
        lines = [["", sweep.unit, "first", "USD an hour", "why not the one before any longer"]]
        for number, stretch in enumerate(strip.stretches, 1):
            low, high = stretch.span
            first = stretch.points[0].first
            price = "" if first is None or first.usd_per_hour is None else f"{first.usd_per_hour:.2f}"
            span = short(low) if low == high else f"{short(low)} to {short(high)}"
            lines.append([str(number), span, stretch.label, price, stretch.why])
        block += ["", f"**{strip.setting}**", "", *_table(lines)]
        if strip.returns:
            block += ["", f"Comes back after it was beaten: {', '.join(strip.returns)}."]
    return block
