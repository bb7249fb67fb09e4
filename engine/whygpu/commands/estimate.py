"""``whygpu estimate``: memory, speed and cost of one plan that is named, whether it fits or not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whygpu.commands import batch, inputs
from whygpu.commands.status import OK

if TYPE_CHECKING:
    import argparse

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.commands.job import Detail
    from whygpu.yamldoc.document import Node

DESCRIPTION = (
    "Memory, speed and cost of one explicit plan: the answers name one accelerator and how many of it ('count', 1 by "
    "default). Exit status: 0 whether it fits or not, 2 bad input."
)
EXAMPLE = "whygpu estimate --model llama-3.1-8b --set accelerators=l4 --set count=2 --set context_tokens=32k"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description, parser.epilog = DESCRIPTION, f"example: {EXAMPLE}"
    inputs.add_options(parser)
    batch.add_options(parser)


def run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Estimate one plan, or one for each row of a batch."""
    if inputs.nothing_given(options):
        parser.print_help()
        return OK
    import whygpu  # noqa: PLC0415  --help needs no numpy
    from whygpu.explain.json_form import plan_dict  # noqa: PLC0415
    from whygpu.render.estimate import estimate_text  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    knowledge = whygpu.load(options.kb)
    if options.batch is not None:
        from whygpu.commands.job import Detail  # noqa: PLC0415

        return batch.run(options, knowledge, "plan", answer, Detail(options.date))
    found = knowledge.estimate_in_full(
        inputs.read_answers(options, knowledge) or {}, engine=options.engine, today=options.date
    )
    if options.format == "json":
        write_json(plan_dict(found.plan))
    else:
        sys.stdout.write(estimate_text(found, Style.of(sys.stdout)))
    return OK


def answer(knowledge: KnowledgeBase, node: Node, engine: EngineName | None, detail: Detail) -> dict[str, Any]:
    """One row of a batch; raises AnswerError."""
    from whygpu.explain.json_form import plan_dict  # noqa: PLC0415

    return {**plan_dict(knowledge.estimate(node, engine=engine, today=detail.today))}
