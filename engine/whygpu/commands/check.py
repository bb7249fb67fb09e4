"""``whygpu check``: what is wrong with a knowledge base or one file of it, where, and how to fix it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_date
from whygpu.commands.status import NO_SUCH_FILE, OK, PROBLEMS

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from whygpu.api import KnowledgeBase
    from whygpu.lint.review import Review, Target
    from whygpu.yamldoc.parsed import Parsed

POLL_SECONDS = 0.3
DESCRIPTION = (
    "Loads a knowledge base, checks types, sources and tables, runs the tests beside the rules and the worked cases, "
    "and looks for what is suspect. Exit status: 0 clean, 1 problems, 2 no such file. Warnings do not fail."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "path",
        nargs="?",
        metavar="FILE|DIR",
        help="a knowledge base's folder, or one file, seen in the knowledge base it lies in or else the default one",
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")
    ways.add_argument(
        "--coverage", action="store_true", help="list who cites each claim and which cases show it; fail on gaps"
    )
    ways.add_argument(
        "--robust", action="store_true", help="run the cases at model size +-20%% and prices +-15%% instead"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="judge and test too what passed an earlier check and rests on nothing new"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_date(parser, "prices are judged by, and cases without a day of their own are asked on")


def run(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Check once, or for as long as somebody watches."""
    from whygpu.lint.review import NotThereError, Target  # noqa: PLC0415  --help needs no numpy

    try:
        target = Target.of(options.path)
    except NotThereError as error:
        print(f"whygpu check: {error}", file=sys.stderr)
        return NO_SUCH_FILE
    if options.watch:
        return _watch(target, options)
    if options.coverage or options.robust:
        return _deep(target, options)
    return _once(target, options)


def _deep(target: Target, options: argparse.Namespace) -> int:
    """Coverage or robustness of a whole knowledge base; of one that does not load, its problems."""
    from whygpu.errors import KnowledgeBaseError  # noqa: PLC0415

    try:
        knowledge = target.load(options.date)
    except KnowledgeBaseError:
        return _once(target, options)
    return (_coverage if options.coverage else _robust)(knowledge, target, options.format)


def _coverage(knowledge: KnowledgeBase, target: Target, form: str) -> int:
    from whygpu.lint.coverage import cover  # noqa: PLC0415
    from whygpu.render.coverage import coverage_data, coverage_text  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    found = cover(knowledge)
    problems = [target.shown(item) for item in found.faults()]
    if form == "json":
        _dump(coverage_data(found, problems))
    else:
        sys.stdout.write(coverage_text(found, problems, Style.of(sys.stdout)))
    return PROBLEMS if any(item.severity == "error" for item in problems) else OK


def _robust(knowledge: KnowledgeBase, target: Target, form: str) -> int:
    from whygpu.lint.robust import robustness  # noqa: PLC0415
    from whygpu.render.problems import problems_data, problems_text  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    found = robustness(knowledge)
    problems = [target.shown(item) for item in found.problems]
    failed = any(item.severity == "error" for item in problems)
    if form == "json":
        data = {"clean": not problems, "cases": found.cases, "variations": found.variations}
        _dump({**data, "problems": problems_data(problems)})
    else:
        if problems:
            print(problems_text(problems, Style.of(sys.stdout)), end="\n\n")
        count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}" if problems else "all hold"
        cases = f"{found.cases} case{'' if found.cases == 1 else 's'}"
        print(f"{cases}, {found.variations} variations: {count}")
    return PROBLEMS if failed else OK


def _once(target: Target, options: argparse.Namespace, parsed: Parsed | None = None) -> int:
    from whygpu.lint.review import review  # noqa: PLC0415

    found = review(target, options.date, fresh=options.fresh, parsed=parsed)
    if options.format == "json":
        _print_json(found, target)
    else:
        _print_text(found, target)
    sys.stdout.flush()
    return OK if found.clean else PROBLEMS


def _watch(target: Target, options: argparse.Namespace) -> int:
    """Poll the files' times of change; Ctrl-C is how one stops, and no failure."""
    from whygpu.errors import InputError  # noqa: PLC0415
    from whygpu.yamldoc.parsed import Parsed  # noqa: PLC0415

    parsed = Parsed()
    seen: dict[Path, tuple[int, int]] | None = None
    try:
        while True:
            now = _stamps(target)
            if now != seen:
                seen = now
                try:
                    _once(target, options, parsed)
                except InputError as error:  # the folder is gone for a moment: say so and go on
                    print(error, file=sys.stderr)
                if options.format == "text":
                    print("watching; Ctrl-C ends", flush=True)
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        return OK


def _stamps(target: Target) -> dict[Path, tuple[int, int]]:
    found: dict[Path, tuple[int, int]] = {}
    for path in target.paths:
        try:
            status = path.stat()
        except OSError:  # deleted between listing and looking
            continue
        found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _print_json(found: Review, target: Target) -> None:
    from whygpu.render.problems import problems_data  # noqa: PLC0415

    data = {
        "clean": found.clean and not found.problems,
        "knowledge_base": str(target.root),
        "errors": found.errors,
        "warnings": found.warnings,
        "elsewhere": len(found.elsewhere),
        "summary": found.summary,
        "earlier": found.earlier,
        "problems": problems_data(found.problems),
    }
    _dump(data)


def _dump(data: object) -> None:
    from whygpu.render.output import write_json  # noqa: PLC0415

    write_json(data)


def _print_text(found: Review, target: Target) -> None:
    from whygpu.render.problems import problems_text  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    style = Style.of(sys.stdout)
    if found.problems:
        print(problems_text(found.problems, style), end="\n\n")
    counts = [
        f"{number} {noun}{'' if number == 1 else 's'}"
        for number, noun in ((found.errors, "problem"), (found.warnings, "warning"))
        if number
    ]
    if not found.summary:
        counts.append("tests and cases did not run")
    print(", ".join([*counts, found.summary] if found.summary else counts) if counts else f"clean: {found.summary}")
    if found.earlier:
        cases = f"{found.earlier} case{'' if found.earlier == 1 else 's'}"
        print(f"{cases} not judged again: passed an earlier check and rest on nothing new (--fresh judges all)")
    broken = [item for item in found.elsewhere if item.severity == "error"]
    if broken:
        first = broken[0].location
        print(f"{len(broken)} more in other files, the first at {first}: check the folder {target.root} to see them")
