"""``whygpu schema``: JSON Schema of answers, of what the commands write, and of the files of a knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_kb
from whygpu.commands.status import OK

if TYPE_CHECKING:
    import argparse

DESCRIPTION = (
    "JSON Schema (draft 2020-12) of what goes in and out: 'answers', 'measurement'; 'output' (of kb-explain), 'plan' "
    "(of whygpu estimate), 'diagnosis', 'record' and 'error'; and each kind of file of a knowledge base ('rules', "
    "'cases', 'vocabulary' ...). All of them where none is named. Exit status: 0, or 2 for a kind that there is not."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = DESCRIPTION
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="such as answers, output, measurement, or a kb file")
    parser.add_argument("--out", metavar="DIR", help="write each as DIR/KIND.schema.json (default standard output)")
    add_kb(parser)


def run(options: argparse.Namespace, _: argparse.ArgumentParser) -> int:
    """Write the schemas; raises AnswerError where there is no such kind or the folder cannot be written."""
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu.errors import AnswerError, Location, Problem, did_you_mean  # noqa: PLC0415
    from whygpu.files import write_whole  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.schema.build import KINDS, schema_of, schema_text  # noqa: PLC0415

    wrong = [
        Problem(
            "bad-kind", f"there is no schema '{kind[:40]}'", Location("schema"), did_you_mean(kind, KINDS) or _known()
        )
        for kind in options.kinds
        if kind not in KINDS
    ]
    if wrong:
        raise AnswerError(wrong)
    knowledge = whygpu.load(options.kb).knowledge
    found = {kind: schema_of(kind, knowledge) for kind in options.kinds or KINDS}
    if options.out is None:
        write_json(next(iter(found.values())) if len(options.kinds) == 1 else found)
        return OK
    try:
        Path(options.out).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise AnswerError([Problem("unwritable", f"cannot be written: {what}", Location(options.out))]) from error
    for kind, schema in found.items():
        write_whole(Path(options.out) / f"{kind}.schema.json", schema_text(schema))
    return OK


def _known() -> str:
    from whygpu.schema.build import KINDS  # noqa: PLC0415

    return f"known: {', '.join(KINDS)}"
