"""``whygpu replay RECORD``: does a decision still hold, and what changed since?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygpu.commands.inputs import MAX_ANSWERS_BYTES, add_date, add_engine, add_kb
from whygpu.commands.status import CHANGED, OK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = (
        "Asks again what a decision record answers, and says whether the decision still holds. Exit status: 0 it "
        "holds, 1 something else is recommended now, 2 bad input."
    )
    parser.add_argument("record", metavar="RECORD", help="a file that 'kb-explain --record' wrote")
    add_date(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_kb(parser)
    add_engine(parser)


def run(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Replay one record; raises AnswerError where it cannot be read."""
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu.render import decision  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.screen import Screen  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415
    from whygpu.render.view import view_of  # noqa: PLC0415
    from whygpu.render.view.questions import replay_section  # noqa: PLC0415

    old = decision.checked(_read(options.record), options.record)
    knowledge = whygpu.load(options.kb)
    answers = knowledge.check_as(old["answers"], str(old.get("life", "alone")))
    advice = knowledge.advise(answers, engine=options.engine, today=options.date)
    new = decision.record(advice, view_of(advice))
    holds, changes = decision.holds(old, new), decision.changes(old, new)
    if options.format == "json":
        found = [{"where": where, "before": before, "after": after} for where, before, after in changes]
        write_json(
            {"schema": decision.SCHEMA, "engine": advice.engine, "holds": holds, "changes": found, "record": new}
        )
    else:
        sys.stdout.write(Screen(Style.of(sys.stdout)).sections([replay_section(old, new, changes, holds=holds)]))
    return OK if holds else CHANGED


def _read(name: str) -> object:
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415
    from whygpu.files import read_bounded, unreadable  # noqa: PLC0415

    try:
        data = read_bounded(Path(name), MAX_ANSWERS_BYTES)
    except (OSError, ValueError) as error:
        raise AnswerError([unreadable(name, error, "name a file that 'kb-explain --record' wrote")]) from error
    if data is None:
        raise AnswerError([Problem("too-large", f"more than {MAX_ANSWERS_BYTES:,} bytes", Location(name))])
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AnswerError([Problem("no-record", f"is not JSON: {str(error)[:80]}", Location(name))]) from error
    return found


def write(name: str, data: Mapping[str, Any]) -> None:
    """Write a record atomically; raises AnswerError where it cannot be written."""
    from whygpu.files import write_whole  # noqa: PLC0415
    from whygpu.render.output import json_text  # noqa: PLC0415

    write_whole(Path(name), json_text(data, indent=1) + "\n")
