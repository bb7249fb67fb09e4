"""``whygpu estimate``: memory, speed and cost of one plan that is named, whether it fits or not."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from whygpu.commands import batch, inputs

if TYPE_CHECKING:
    import argparse

OK = 0
DESCRIPTION = (
    "Memory, speed and cost of one explicit plan: the answers name one accelerator and how many of it ('count', 1 by "
    "default). Exit status: 0 whether it fits or not, 2 bad input."
)
EXAMPLE = "whygpu estimate --model llama-3.1-8b --set accelerators=l4 --set count=2 --set context_tokens=32k"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, f"example: {EXAMPLE}"
    inputs.add_options(parser)


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Estimate one plan, or one for each row of a batch."""
    if inputs.nothing_given(options):
        parser.print_help()
        return OK
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu.render.estimate import estimate_text  # noqa: PLC0415
    from whygpu.render.plain import plan_dict  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    knowledge = whygpu.load(options.kb)
    if options.batch is not None:
        return batch.run(
            options,
            knowledge,
            "plan",
            lambda node: plan_dict(knowledge.estimate(node, engine=options.engine)),
        )
    found = knowledge.estimate_in_full(inputs.read_answers(options, knowledge) or {}, engine=options.engine)
    if options.format == "json":
        json.dump(plan_dict(found.plan), sys.stdout, indent=1, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(estimate_text(found, Style.of(sys.stdout)))
    return OK
