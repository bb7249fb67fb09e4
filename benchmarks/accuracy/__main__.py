"""Compare estimates with published measurements and write docs/explanation/accuracy.md and its plot.

    python -m benchmarks.accuracy [--data DIR] [--out docs/explanation/accuracy.md] [--kb DIR] [--rows] [--write]

Exits 2 where the measurements are not there. `--rows` prints every compared row, the worst first; `--write` keeps the
figures on families as if never seen (unseen.yaml), by which a test finds what got worse.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.accuracy import (
    fits,
    gate,
    inference_memory,
    inference_speed,
    recent_memory,
    recent_speed,
    report,
    roofline,
    training_memory,
    training_speed,
    unseen,
)
from benchmarks.accuracy.plot import draw
from benchmarks.accuracy.rows import KINDS, Compared, DataMissingError, LeftOut, Measurements, Outcome, Row
from benchmarks.accuracy.subjects import Subjects, by_family

import whygpu

ROOT = Path(__file__).parents[2]
MEMORY = by_family({**inference_memory.READERS, **recent_memory.READERS})
SPEED = roofline.beside(by_family({**inference_speed.READERS, **recent_speed.READERS}))


def compare(measurements: Measurements, subjects: Subjects, families: frozenset[str] = frozenset()) -> list[Outcome]:
    """Every row of a compared kind, or of some families of them, compared or left out."""
    kinds: tuple[tuple[Callable[[Row, Subjects], Outcome], tuple[Row, ...]], ...] = (
        (MEMORY, measurements.inference_memory),
        (training_memory.compare, measurements.training_memory),
        (SPEED, measurements.inference_speed),
        (training_speed.compare, measurements.training_speed),
    )
    return [
        compared(row, subjects) for compared, rows in kinds for row in rows if not families or row["family"] in families
    ]


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0, or 2 where there is nothing to compare with."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "calibration")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "explanation" / "accuracy.md")
    parser.add_argument("--kb", type=Path, default=ROOT / "kb")
    parser.add_argument("--rows", action="store_true", help="print every compared row, the worst first")
    parser.add_argument("--write", action="store_true", help=f"keep the figures on unseen families in {gate.KEPT.name}")
    asked = parser.parse_args(arguments)
    try:
        measurements = Measurements.read(asked.data)
    except DataMissingError as missing:
        print(missing, file=sys.stderr)
        return 2
    subjects = Subjects(whygpu.load(asked.kb).knowledge.catalogue)
    outcomes = compare(measurements, subjects)
    compared = [outcome for outcome in outcomes if isinstance(outcome, Compared)]
    by_kind = {kind: rows for kind in KINDS if (rows := [row for row in compared if row.kind == kind])}
    done = report.Results(
        by_kind,
        tuple(outcome for outcome in outcomes if isinstance(outcome, LeftOut)),
        tuple(fits.judge(row, subjects) for row in measurements.fits),
        measurements.other,
        unseen.leave_out(compared, subjects, partial(compare, measurements)),
    )
    plot = asked.out.with_suffix(".svg")
    asked.out.write_text(report.markdown(done, datetime.date.today(), plot.name), encoding="utf-8")
    plot.write_text(draw(by_kind), encoding="utf-8")
    if asked.rows:
        for row in sorted(compared, key=lambda row: -abs(row.error)):
            held = "" if row.held is None or row.held.fits else "  does not fit"
            print(
                f"{row.kind:24.24} {row.family:22} {row.id} measured {row.measured:.4g} "
                f"estimated {row.likely:.4g} ({row.error:+.0%}) [{row.low:.4g} {row.high:.4g}]{held}"
            )
    if asked.write:
        gate.write(gate.figures(done.unseen))
    print(report.summary(done))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
