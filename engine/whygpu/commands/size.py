"""``whygpu size training`` and ``whygpu size inference``: how much hardware, from the user's own measurements."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from whygpu.commands.inputs import add_date, add_engine, add_kb, read_measurements
from whygpu.commands.status import INFEASIBLE, OK

if TYPE_CHECKING:
    import argparse

MOST_BYTES = 64 * 1024 * 1024
DESCRIPTION = (
    "How much hardware, from your own measurements. FILE is a measurement file, or what a load test wrote: vllm bench "
    "serve, sglang.bench_serving, AIPerf or GenAI-Perf, GuideLLM, or a CSV of loads; several are taken together. "
    "Exit status: 0 sized, 2 bad input, 3 nothing meets what is asked."
)
EXAMPLE = "whygpu size inference load.json --set requests_per_second=50 --set p95_ms=10s --set accelerators=l40s"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, f"example: {EXAMPLE}"
    parser.add_argument("of", choices=("training", "inference"), help="what is sized: a training run or a service")
    parser.add_argument("files", nargs="*", metavar="FILE", help="measurements; '-' reads standard input")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an answer, one of sizing's own (p95_ms, steps ...), or a measured figure (measured.checkpoint_s=40)",
    )
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument("--why", action="store_true", help="every figure with its formula and the numbers put in")
    add_kb(parser)
    add_engine(parser)
    add_date(parser)


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Size what is asked for."""
    if not options.files and not options.set:
        parser.print_help()
        return OK
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu.answers import apply_settings  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.sizing import sizing_markdown, sizing_text  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    knowledge = whygpu.load(options.kb)
    measured = read_measurements(options.files, (), knowledge.knowledge, MOST_BYTES)
    size = knowledge.size_training if options.of == "training" else knowledge.size_inference
    found = size(measured, apply_settings(None, options.set), engine=options.engine, today=options.date)
    if options.format == "json":
        write_json(found.to_dict())
    elif options.format == "markdown":
        sys.stdout.write(sizing_markdown(found))
    else:
        sys.stdout.write(sizing_text(found, Style.of(sys.stdout), why=options.why))
    return OK if found.possible else INFEASIBLE
