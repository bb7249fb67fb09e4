"""Score what whygpu recommends against labelled workloads and documents.

    python -m benchmarks.recommendations [--data DIR] [--kb DIR] [--rows] [--write docs/explanation/ranking-figures.md]

`--rows` prints every row; `--write` also moves prices, sweeps one number at a time, and writes the page with its plots.
Exits 2 where the labels or the documents' recommendations are not there, or labels are wrong.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from benchmarks.recommendations import experts, panel, report, stability, strips, sweeps

import whygpu

ROOT = Path(__file__).parents[2]
PANEL = "panel.yaml"
WORKLOADS = Path(__file__).with_name("workloads.yaml")


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0, or 2 where there is nothing to compare with or labels are wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recommendations", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "calibration")
    parser.add_argument("--kb", type=Path, default=ROOT / "kb")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page, and its plots beside it")
    asked = parser.parse_args(arguments)
    missing = [name for name in (PANEL, *experts.FILES) if not (asked.data / name).is_file()]
    if missing:
        print(f"no {', '.join(missing)} in {asked.data}: name their directory with --data", file=sys.stderr)
        return 2
    kb = whygpu.load(asked.kb)
    try:
        labels = [panel.read(path) for path in (asked.data / PANEL, WORKLOADS)]
    except panel.LabelError as error:
        print(error, file=sys.stderr)
        return 2
    public, own = ([panel.judge(label, panel.answer_of(kb, label.answers)) for label in some] for some in labels)
    done, left = experts.compare_all([row for name in experts.FILES for row in _rows(asked.data / name)], kb)
    if asked.rows:
        print(panel.rows([*public, *own]), experts.rows_text(done, left), sep="\n\n", end="\n\n")
    _print_table(report.scores(public, own))
    _print_table(experts.table(done))
    print(f"left out: {len(left)}")
    if asked.write:
        moved = stability.move([label for some in labels for label in some], kb)
        swept = sweeps.run_all(sweeps.read(), kb)
        plots = {sweep.id: asked.write.with_name(f"{asked.write.stem}-{sweep.id}.svg") for sweep, _ in swept}
        for sweep, found in swept:
            plots[sweep.id].write_text(strips.draw(sweep, found), encoding="utf-8")
        names = {name: plot.name for name, plot in plots.items()}
        results = report.Results(public, own, done, left, moved, swept, names)
        asked.write.write_text(report.markdown(results, datetime.date.today()), encoding="utf-8")
    return 0


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["rows"]
    return rows


def _print_table(lines: Sequence[Sequence[str]]) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        print("  ".join([first.ljust(widths[0]), *cells]))
    print()


if __name__ == "__main__":
    raise SystemExit(main())
