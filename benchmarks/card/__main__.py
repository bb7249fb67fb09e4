"""Compare what was measured on a card with what is estimated of the same work.

    python -m benchmarks.card ROWS.jsonl --accelerator h100-sxm [--kb DIR]

ROWS.jsonl is what `python -m benchmarks.card.measure` wrote. Exits 2 where it cannot be read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import whygpu
from whygpu.checks.calculation import Range
from whygpu.explain.plan import Plan

PLANNED = "token_ms"
"""The figure that estimates give without the plans of cuDNN's attention (rule no-attention-planned-for-each-token)."""
FIGURES = {"samples_per_s": "1/s", "ttft_ms": "ms", "token_ms": "ms", "allocated_gib": "GiB"}


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.card", description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--accelerator", required=True, help="which of the catalogue it is")
    parser.add_argument("--kb", type=Path)
    asked = parser.parse_args(arguments)
    try:
        rows = [json.loads(line) for line in asked.rows.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        print(f"{asked.rows}: {error}", file=sys.stderr)
        return 2
    knowledge = whygpu.load(asked.kb)
    errors: dict[str, list[float]] = {}
    inside = 0
    print("| work | figure | measured | estimated | error | card at work |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        if "measured" not in row:
            continue
        plan = knowledge.estimate({**row["answers"], "accelerators": asked.accelerator, "count": 1})
        for figure, unit in FIGURES.items():
            told = estimated(plan, figure)
            measured = row["measured"].get(figure)
            if measured is None or told is None or (figure == PLANNED and row["attention"] == "default"):
                continue
            off = told.likely / measured - 1
            errors.setdefault(figure, []).append(off)
            held = told.low <= measured <= told.high
            inside += held
            band = f"{told.likely:.4g} ({told.low:.4g} to {told.high:.4g}){'' if held else ' **outside**'}"
            kernels = "" if row["attention"] == "default" else f", {row['attention']}"
            busy = "" if row["busy"] is None else f"{row['busy']:.0%}"
            print(f"| {row['case']}{kernels} | {figure} | {measured:.4g} {unit} | {band} | {off:+.0%} | {busy} |")
    print()
    for figure, found in errors.items():
        median, bias = statistics.median(map(abs, found)), statistics.median(found)
        print(f"{figure}: {len(found)} rows, median error {median:.1%}, bias {bias:+.1%}")
    print(f"inside: {inside} of {sum(map(len, errors.values()))}")
    return 0


def estimated(plan: Plan, figure: str) -> Range | None:
    """The plan's figure; PyTorch's allocator does not see what the driver holds."""
    if figure == "allocated_gib":
        memory = plan.memory
        return Range(*(each - memory.overhead_gib for each in (memory.low_gib, memory.total_gib, memory.high_gib)))
    told: Any = plan.speed[figure]
    return told if isinstance(told, Range) else None


if __name__ == "__main__":
    sys.exit(main())
