"""Compare what was measured on a card with what is estimated of the same work, as a table in Markdown.

    python -m benchmarks.card [ROWS.jsonl] [--accelerator h100-sxm] [--kb DIR] [--out FILE]

ROWS.jsonl is what `python -m benchmarks.card.measure` wrote; by default the rows that are kept here. Exits 2 where they
cannot be read. `--out` writes the table into a page between its marks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.report import markdown_table

import whygpu
from whygpu.checks.calculation import Range
from whygpu.explain.plan import Plan
from whygpu.files import write_whole

KEPT = Path(__file__).with_name("h100-sxm-2026-11-28.jsonl")
BEGIN, END = "<!-- begin: python -m benchmarks.card --out -->", "<!-- end -->"
PLANNED = "token_ms"
"""The figure that estimates give without the plans of cuDNN's attention (rule no-attention-planned-for-each-token)."""
FIGURES = {
    "samples_per_s": ("a second", ""),
    "ttft_ms": ("first answer", " ms"),
    "token_ms": ("token", " ms"),
    "allocated_gib": ("memory", " GiB"),
}


@dataclass(frozen=True)
class Compared:
    """One figure of one work."""

    work: str
    figure: str
    measured: float
    told: Range
    busy: float | None

    @property
    def error(self) -> float:
        """Of the likely figure, relative to the measurement."""
        return self.told.likely / self.measured - 1

    @property
    def inside(self) -> bool:
        """Whether the low-high range holds the measurement."""
        return self.told.low <= self.measured <= self.told.high


def compare(rows: Iterable[Mapping[str, Any]], knowledge: whygpu.KnowledgeBase, accelerator: str) -> Iterator[Compared]:
    """Every figure that was measured and is estimated."""
    for row in rows:
        plan = knowledge.estimate({**row["answers"], "accelerators": accelerator, "count": 1})
        default = row["attention"] == "default"
        for figure, measured in row.get("measured", {}).items():
            told = estimated(plan, figure)
            if told is not None and not (figure == PLANNED and default):
                work = row["case"] if default else f"{row['case']}, {row['attention']}"
                yield Compared(work, figure, measured, told, row["busy"])


def estimated(plan: Plan, figure: str) -> Range | None:
    """The plan's figure; PyTorch's allocator does not see what the driver holds."""
    if figure == "allocated_gib":
        memory = plan.memory
        return Range(
            *(max(gib - memory.overhead_gib, 0.0) for gib in (memory.low_gib, memory.total_gib, memory.high_gib))
        )
    told: Any = plan.speed[figure]
    return told if isinstance(told, Range) else None


def table(compared: list[Compared]) -> str:
    """The page's tables: a summary, then every figure."""
    sums = []
    for figure, (name, _) in FIGURES.items():
        rows = [row for row in compared if row.figure == figure]
        if rows:
            median = statistics.median(abs(row.error) for row in rows)
            bias = statistics.median(row.error for row in rows)
            held = f"{sum(row.inside for row in rows)} of {len(rows)}"
            sums.append((name, str(len(rows)), f"{median:.1%}", f"{bias:+.1%}", held))
    each = []
    for row in compared:
        name, unit = FIGURES[row.figure]
        told = f"{row.told.likely:,.4g} ({row.told.low:,.4g} to {row.told.high:,.4g})"
        busy = "" if row.busy is None else f"{row.busy:.0%}"
        error = f"{row.error:+.0%}" if row.inside else f"**{row.error:+.0%}**"
        each.append((row.work, name, f"{row.measured:,.4g}{unit}", told, error, busy))
    summary = markdown_table(("figure", "rows", "median error", "bias", "inside"), sums)
    figures = markdown_table(("work", "figure", "measured", "estimated", "error", "card at work"), each)
    return "\n".join([*summary, "", *figures])


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.card", description=__doc__)
    parser.add_argument("rows", type=Path, nargs="?", default=KEPT)
    parser.add_argument("--accelerator", default="h100-sxm", help="which of the catalogue it is")
    parser.add_argument("--kb", type=Path)
    parser.add_argument("--out", type=Path, help="the page to write the tables into")
    asked = parser.parse_args(arguments)
    try:
        rows = [json.loads(line) for line in asked.rows.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        print(f"{asked.rows}: {error}", file=sys.stderr)
        return 2
    written = table(list(compare(rows, whygpu.load(asked.kb), asked.accelerator)))
    if asked.out is None:
        print(written)
        return 0
    page = asked.out.read_text(encoding="utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    write_whole(asked.out, f"{before}{BEGIN}\n{written}\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
