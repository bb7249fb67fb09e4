"""``whygpu diagnose``: measured signs in; causes, first actions and what to measure next out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_engine, add_kb, read_measurements
from whygpu.commands.status import OK

if TYPE_CHECKING:
    import argparse

MOST_BYTES = 32 * 1024 * 1024
"""Of one file: samples of a night, or a server's log."""
DESCRIPTION = (
    "What is wrong, by what was measured: causes with the signs for and against each, what to do first, and what to "
    "measure next to tell them apart. FILE is a measurement file, or what a tool wrote: nvidia-smi --query-gpu as CSV, "
    "metrics of vLLM or the DCGM exporter, the table of the PyTorch profiler, vLLM's start-up log. Exit status: 0, or "
    "2 bad input."
)
EXAMPLE = "whygpu diagnose samples.csv --set phase=training --set input_share=30%"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, f"example: {EXAMPLE.replace('%', '%%')}"
    parser.add_argument("files", nargs="*", metavar="FILE", help="of one system; '-' reads standard input")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a measured figure (gpu_utilisation=55%%) or the setup (phase=training); may be repeated",
    )
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    add_kb(parser)
    add_engine(parser)


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Diagnose what the files and settings say together; raises AnswerError with every problem of them."""
    if not options.files and not options.set:
        parser.print_help()
        return OK
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu.render.diagnosis import diagnosis_dict, diagnosis_markdown, diagnosis_text  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.screen import Screen  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    kb = whygpu.load(options.kb)
    claims = kb.knowledge.claims
    found = kb.diagnose(*read_measurements(options.files, options.set, kb.knowledge, MOST_BYTES), engine=options.engine)
    match options.format:
        case "json":
            write_json(diagnosis_dict(found, claims))
        case "markdown":
            sys.stdout.write(diagnosis_markdown(found, claims))
        case _:
            sys.stdout.write(diagnosis_text(found, claims, Screen(Style.of(sys.stdout))))
    return OK
