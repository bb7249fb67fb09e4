"""A batch as a user runs it, over rows drawn from the worked cases: CPU and memory a row.

    python benchmarks/batch.py [--rows 1000] [--jobs 2] [--engine durable] [--ray] [--mix cases fleet budgets loads]

Mixes, each drawn with the same seed. ``cases``: worked cases as they are, over and over where there are more rows than
cases (equal rows are answered once). ``fleet``: 40 of them, each row with another budget, so that all rows differ and
plans of one work are sized once. ``budgets``: the same of all cases. ``loads``: each row another load or size of the
job, so that all plans are sized anew. CPU time is that of all processes, loading included; the time of 100,000 rows on
two cores is computed from it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from whygpu.api import REGISTRY
from whygpu.loader.assemble import default_root, load_texts, read_texts
from whygpu.yamldoc.document import plain_data

MIXES = ("cases", "fleet", "budgets", "loads")
_FLEET = 40


def worked_cases() -> list[dict[str, Any]]:
    """The answers of every worked case."""
    root = default_root()
    cases = load_texts(read_texts(root), str(root), REGISTRY).cases
    found = [plain_data(case.answers) for case in cases]
    return [dict(answers) for answers in found if isinstance(answers, dict)]


def drawn(cases: list[dict[str, Any]], mix: str, count: int) -> list[dict[str, Any]]:
    """So many rows of a mix."""
    draw = Random(17)
    if mix == "cases":
        cases = list(cases)
        draw.shuffle(cases)
        return [{"id": number, **cases[number % len(cases)]} for number in range(count)]
    single = [answers for answers in cases if "phases" not in answers]
    if mix == "fleet":
        single = draw.sample(single, _FLEET)
    rows = []
    for number in range(count):
        answers = {"id": number, **draw.choice(single)}
        trains = answers.get("phase") in ("training", "fine-tuning")
        if mix != "loads":
            answers["budget_total" if trains else "budget_per_hour"] = 1_000_000 + number
        elif trains:
            answers["epochs"] = 1 + number / count
        else:
            answers["concurrency"] = draw.randint(1, 256)
            answers["context_tokens"] = draw.randrange(1024, 16_384)
        rows.append(answers)
    return rows


def measure(rows: list[dict[str, Any]], jobs: int, extra: list[str]) -> dict[str, float]:
    """One run of kb-explain: wall and CPU seconds, bytes written, rows that are errors, and the largest process."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        command = [sys.executable, "-m", "whygpu.cli", "explain", "--batch", str(source), "--out", str(out)]
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--jobs", str(jobs), *extra], check=True)
        seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        lines = out.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    if [row["id"] for row in found] != [row["id"] for row in rows]:
        raise SystemExit("rows are lost, repeated or out of order")
    return {
        "seconds": seconds,
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "bytes": sum(map(len, lines)),
        "errors": sum("error" in row for row in found),
        "largest_mib": after.ru_maxrss / 1024,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", default="durable")
    parser.add_argument("--ray", action="store_true", help="on a Ray of this machine; its CPU time is not counted")
    parser.add_argument("--mix", nargs="+", choices=MIXES, default=MIXES)
    options = parser.parse_args()
    cases = worked_cases()
    for mix in options.mix:
        rows = drawn(cases, mix, options.rows)
        found = measure(rows, options.jobs, ["--engine", options.engine, *(["--ray"] if options.ray else [])])
        each = 1e3 * found["cpu_seconds"] / len(rows)
        processor = f"{each:.1f} ms of CPU a row ({each * 1e5 / 2 / 6e4:.1f} min for 100,000 on two cores), "
        print(
            f"{mix:8} {len(rows)} rows, {options.jobs} processes, {options.engine}: {found['seconds']:.1f} s, "
            f"{'' if options.ray else processor}"
            f"{found['bytes'] / len(rows) / 1e3:.1f} kB a row, {found['errors']:.0f} errors, "
            f"largest process {found['largest_mib']:.0f} MiB",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
