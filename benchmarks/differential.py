"""Both engines and a naive reference on many random programs: ``python benchmarks/differential.py --programs 100000``.

Prints how many programs, rule instances and disagreements there were; the exit status is 1 where engines disagree.
A program is reproduced by its seed alone. With ``--record FILE`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from dataclasses import asdict
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.chain.drive import Tally, judge
from tests.chain.programs import program

CHUNK = 500


def judge_chunk(seeds: range) -> tuple[range, Tally]:
    """The tally of the programs with these seeds."""
    tally = Tally()
    for seed in seeds:
        judge(program(seed), tally)
    return seeds, tally


def recorded(path: Path | None) -> dict[range, Tally]:
    """The tallies in the file of an earlier run; a line that was cut short is none."""
    found = {}
    for line in path.read_text("utf-8").splitlines() if path is not None and path.exists() else ():
        if line.endswith("}}"):
            entry = json.loads(line)
            found[range(*entry["seeds"])] = Tally(**entry["tally"])
    return found


def record(path: Path | None, seeds: range, tally: Tally) -> None:
    """Add a line to the file."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps({"seeds": [seeds.start, seeds.stop], "tally": asdict(tally)}))


def main() -> int:
    """Run, print, and tell whether all agreed."""
    parser = argparse.ArgumentParser(description="Compare the engines on random programs.")
    parser.add_argument("--programs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1, help="the first program's seed; the others follow")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--record", type=Path, help="a file that keeps what was done; delete it when the code changes")
    options = parser.parse_args()
    end = options.seed + options.programs
    chunks = [range(start, min(start + CHUNK, end)) for start in range(options.seed, end, CHUNK)]
    done = {seeds: tally for seeds, tally in recorded(options.record).items() if seeds in chunks}
    total = Tally()
    for tally in done.values():
        total.add(tally)
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=20) as pool:
        for seeds, tally in pool.imap_unordered(judge_chunk, [seeds for seeds in chunks if seeds not in done]):
            total.add(tally)
            record(options.record, seeds, tally)
            for line in tally.disagreements:
                print(line, flush=True)
            if sys.stderr.isatty():
                print(f"\r{total.programs:,} programs", end="", file=sys.stderr, flush=True)
    print(f"date:            {date.today()}")
    print(f"seeds:           {options.seed} to {end - 1}")
    print(f"programs:        {total.programs:,} ({total.refused:,} draws refused by the loader and drawn again)")
    print(f"rules:           {total.rules:,}")
    print(f"rule instances:  {total.instances:,} (a rule, or a rule and a plan)")
    print(f"fired:           {total.share_fired:.1%}")
    print(f"disagreements:   {len(total.disagreements):,}")
    print(f"time:            {time.monotonic() - began:,.0f} s with {options.jobs} process(es)")
    return 1 if total.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
