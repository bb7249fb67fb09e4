"""Speed beside a plain loop: ``python -m benchmarks.speed [--flips] [--check]``.

Every figure is processor time over that of a Python loop of three million additions that runs right before it, as a
script would run it (its names are global); the least of several: other work on the machine slows both alike. What
processes keep lies in a folder of this run.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import yaml

import whygpu
from whygpu.explain.flips import search
from whygpu.lint.review import Target, review
from whygpu.loader.cache import SWITCH
from whygpu.loader.files import default_root
from whygpu.yamldoc.parsed import Parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whygpu.chain.names import EngineName

ROOT = Path(__file__).resolve().parents[1]
LOOP = compile("total = 0\nfor number in range(3_000_000):\n    total += number\n", "loop", "exec")
ENGINES: tuple[EngineName, ...] = ("durable", "evaluator")
ASKED = ("--set=phase=inference", "--set=model=llama-3.1-70b", "--set=concurrency=8")

SAVED, CHANGE = Path("rules", "reliability.yaml"), ("strength: strong", "strength: normal")
"""A file of rules, and what is changed in one of them between two checks; it has a say in a quarter of cases."""
WORDED = ('because: "', 'because: "Now ')
"""What is changed in how a rule is worded."""
ASKS_MORE = (
    Path("rules", "limits.yaml"),
    ("plan.watts > workload.power_watts]", "plan.watts > 1.01 * workload.power_watts]"),
)
"""A rule that has a say in few cases, and what is changed in its condition."""
AS_INSTALLED = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
"""Modules are compiled once, as an installation does, and not by every process again."""


def loop_s() -> float:
    """Seconds of the plain loop."""
    begun = time.process_time()
    exec(LOOP, {})
    return time.process_time() - begun


def in_loops(work: Callable[[], object], times: int = 9) -> float:
    """How many loops a piece of work takes in this process: the least of several, each beside a loop of its own."""
    found = []
    for _ in range(times):
        loop = loop_s()
        begun = time.process_time()
        work()
        found.append((time.process_time() - begun) / loop)
    return min(found)


def process_in_loops(command: list[str], environment: dict[str, str], times: int = 5) -> float:
    """The same of a process and those it starts."""
    return min(timed_process(command, environment)[0] for _ in range(times))


def timed_process(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """The same, once, and the seconds by the clock."""
    loop = min(loop_s() for _ in range(3))
    before, begun = _children_s(), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, env={**AS_INSTALLED, **environment}, cwd=ROOT, check=False)
    return (_children_s() - before) / loop, time.monotonic() - begun


def check_in_loops() -> None:
    """Checks of a copy of the knowledge base: with nothing kept, unchanged, with one rule saved, and of its file; then
    by one process that watches.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "kb")
        shutil.copytree(default_root(), root)
        saved, rare = root / SAVED, root / ASKS_MORE[0]
        environment = {"XDG_CACHE_HOME": folder}
        print("\n| whygpu check | loops, all processes together | seconds by the clock |\n|---|---|---|")
        for name, asked in (
            ("nothing kept", root),
            ("again, unchanged", root),
            ("one rule saved that has a say in a quarter of cases", root),
            ("one rule saved that has a say in few", root),
            ("one rule worded anew", root),
            ("of the file alone", saved),
        ):
            if name.endswith("a quarter of cases"):
                _save(saved, CHANGE)
            elif name.endswith("few"):
                _save(rare, ASKS_MORE[1])
            elif name.endswith("anew"):
                _save(saved, WORDED)
            command = [sys.executable, "-m", "whygpu.cli", "check", str(asked)]
            loops, seconds = timed_process(command, environment)
            print(f"| {name} | {loops:.1f} | {seconds:.1f} |")
        with mock.patch.dict(os.environ, environment):
            _watched(root, (("unchanged", saved, ("", "")), ("few", rare, ASKS_MORE[1][::-1]), ("anew", saved, WORDED)))


def _watched(root: Path, saves: Sequence[tuple[str, Path, tuple[str, str]]]) -> None:
    """What a save takes a process that watches, which knows the other files."""
    target, parsed = Target(root), Parsed()
    for name, file, change in (("first", saves[0][1], ("", "")), *saves):
        _save(file, change)
        loop, before, begun = loop_s(), time.process_time() + _children_s(), time.monotonic()
        review(target, parsed=parsed)
        loops, seconds = (time.process_time() + _children_s() - before) / loop, time.monotonic() - begun
        if name != "first":
            print(f"| watched: {name} | {loops:.1f} | {seconds:.1f} |")


def _save(file: Path, change: tuple[str, str]) -> None:
    """Change a file once, at the first place where what is changed stands."""
    file.write_text(file.read_text(encoding="utf-8").replace(*change, 1), encoding="utf-8")


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """The examples of one consultation."""
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        answers = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "phases" not in answers:
            yield path.stem, answers


def answers_in_loops(kb: whygpu.KnowledgeBase) -> None:
    """Warm answers: the same answers again, and another load each time, which sizes all plans anew."""
    print("| answer | durable | evaluator | new work, durable | new work, evaluator |\n|---|---|---|---|---|")
    for name, answers in examples():
        key = next((key for key in ("streams", "concurrency") if key in answers), "epochs")
        figures = []
        for first, engine in zip((100, 200), ENGINES, strict=True):
            _ = kb.advise(answers, engine=engine).recommendation
            figures.append(in_loops(lambda: kb.advise(answers, engine=engine).recommendation))  # noqa: B023  called here
            loads = iter(range(first, first + 99))
            new = lambda: kb.advise({**answers, key: next(loads)}, engine=engine).recommendation  # noqa: B023, E731
            figures.append(in_loops(new))
        row = (figures[0], figures[2], figures[1], figures[3])
        print(f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in row) + " |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", action="store_true", help="flips of full sets of answers too (a minute)")
    parser.add_argument("--check", action="store_true", help="whygpu check too (a minute)")
    options = parser.parse_args()
    kb = whygpu.load()
    answers_in_loops(kb)
    explain = [sys.executable, "-m", "whygpu.cli", "explain", *ASKED]
    with tempfile.TemporaryDirectory() as folder:
        kept = {"XDG_CACHE_HOME": folder}
        print("\n| process | loops |\n|---|---|")
        print(f"| kb-explain, nothing kept | {process_in_loops(explain, {SWITCH: 'off'}):.2f} |")
        process_in_loops(explain, kept, 1)
        print(f"| kb-explain, knowledge kept | {process_in_loops(explain, kept):.2f} |")
    if options.check:
        check_in_loops()
    if options.flips:
        print("\n| flips | loops |\n|---|---|")
        for name, answers in examples():
            consultation = kb.consult(answers, engine="evaluator")
            print(f"| {name} | {in_loops(lambda: search(consultation), 1):.1f} |")  # noqa: B023  called here


if __name__ == "__main__":
    main()
