"""The command: scores on the terminal. Exits 2 where the labels or the documents' recommendations are not there."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml
from benchmarks.recommendations import experts, panel

import whygpu

ROOT = Path(__file__).parents[2]
PANEL = "panel.yaml"


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0, or 2 where there is nothing to compare with or labels are wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recommendations", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "calibration")
    parser.add_argument("--kb", type=Path, default=ROOT / "kb")
    parser.add_argument("--rows", action="store_true", help="print every row")
    asked = parser.parse_args(arguments)
    missing = [name for name in (PANEL, *experts.FILES) if not (asked.data / name).is_file()]
    if missing:
        print(f"no {', '.join(missing)} in {asked.data}: name their directory with --data", file=sys.stderr)
        return 2
    kb = whygpu.load(asked.kb)
    try:
        labels = panel.read(asked.data / PANEL)
    except panel.LabelError as error:
        print(error, file=sys.stderr)
        return 2
    judged = [panel.judge(label, panel.answer_of(kb, label.answers)) for label in labels]
    rows = [row for name in experts.FILES for row in _rows(asked.data / name)]
    done, left = experts.compare_all(rows, kb)
    if asked.rows:
        print(panel.rows(judged), end="\n\n")
        print(experts.rows_text(done, left), end="\n\n")
    print(panel.summary(judged), end="\n\n")
    for line in experts.table(done):
        print(f"{line[0]:22}" + " ".join(f"{cell:>12}" for cell in line[1:]))
    print(f"left out: {len(left)}")
    return 0


def _rows(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["rows"]
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
