"""The command line: ``kb-explain`` and ``whygpu explain | estimate | check | ui``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from whygpu.commands import batch, importers, inputs
from whygpu.commands import catalogue as catalogue_command
from whygpu.commands import check as check_command
from whygpu.commands import estimate as estimate_command
from whygpu.commands.process import guarded
from whygpu.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whygpu.advice import Advice
    from whygpu.api import KnowledgeBase
    from whygpu.chain.engines import EngineName
    from whygpu.commands.job import Detail
    from whygpu.life import LifeAdvice
    from whygpu.load.document import Node

EXAMPLE = "kb-explain --set phase=inference --set model=llama-3.1-70b --set concurrency=8"
OK, BAD_INPUT, INFEASIBLE = 0, 2, 3


def explain_main(arguments: Sequence[str] | None = None) -> int:
    """The ``kb-explain`` command."""
    return guarded(lambda: _explain_command(arguments))


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``whygpu`` command."""
    return guarded(lambda: _command(arguments))


def _explain_command(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(
        prog="kb-explain",
        description="Which hardware for this work, and why: reads answers, prints the recommendation and its reasons.",
        epilog=f"example: {EXAMPLE}",
    )
    _add_explain_options(parser)
    options = parser.parse_args(arguments)
    return _run(lambda: _explain(options, parser), options.format)


def _command(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(
        prog="whygpu", description="Which hardware for this work, and why.", epilog=f"example: {EXAMPLE}"
    )
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    explain = commands.add_parser("explain", help="recommend hardware and explain it (the same as kb-explain)")
    _add_explain_options(explain)
    estimate = commands.add_parser("estimate", help="memory, speed and cost of one plan, whether it fits or not")
    estimate_command.add_options(estimate)
    check = commands.add_parser("check", help="check a knowledge base or a file of it, run its tests and cases")
    check_command.add_options(check)
    catalogue = commands.add_parser("catalogue", help="list what is known of accelerators, prices and models")
    catalogue_command.add_options(catalogue)
    importers.add_model_options(commands.add_parser("import-model", help="a config.json as a model of the catalogue"))
    importers.add_prices_options(
        commands.add_parser("import-prices", help="prices of a CSV, or of a published list, as offerings")
    )
    ui = commands.add_parser("ui", help="the wizard in a browser")
    ui.add_argument("--kb", metavar="DIR", help="the knowledge base's folder")
    ui.add_argument("--port", type=int, default=8501, help="port on 127.0.0.1 (default 8501)")
    ui.add_argument(
        "--engine",
        choices=("durable", "evaluator"),
        default="evaluator",
        help="which engine fires the rules (default evaluator: a crash of durable-rules would end every visit)",
    )
    options = parser.parse_args(arguments)
    match options.command:
        case "explain":
            return _run(lambda: _explain(options, explain), options.format)
        case "estimate":
            return _run(lambda: estimate_command.run(options, estimate), options.format)
        case "check":
            return _run(lambda: check_command.run(options), options.format)
        case "catalogue":
            return _run(lambda: catalogue_command.run(options), options.format)
        case "import-model":
            return _run(lambda: importers.run_model(options))
        case "import-prices":
            return _run(lambda: importers.run_prices(options))
        case _:
            return _run(lambda: _ui(options))


def _add_explain_options(parser: argparse.ArgumentParser) -> None:
    inputs.add_options(parser)
    parser.add_argument("--only", choices=("train", "serve"), help="of a whole life ('phases'), this phase in full")
    batch.add_options(parser)
    parser.add_argument("--all", action="store_true", help="with --batch: every plan, and what is out")
    parser.add_argument("--trace", action="store_true", help="with --batch: each fact and step behind the plans")
    parser.add_argument("--about", action="store_true", help="say what this phase is like, at the end")


def _run(command: Callable[[], int], form: str = "text") -> int:
    """Run a command; every problem of the input goes to standard error, as data where ``form`` is json."""
    try:
        return command()
    except InputError as error:
        from whygpu.render.output import write_json  # noqa: PLC0415  only where something is wrong
        from whygpu.render.problems import problems_data, problems_text  # noqa: PLC0415
        from whygpu.render.style import Style  # noqa: PLC0415

        if form == "json":
            write_json({"error": problems_data(error.problems)}, sys.stderr)
        else:
            print(problems_text(error.problems, Style.of(sys.stderr)), file=sys.stderr)
        return BAD_INPUT
    except EngineError as error:
        print(f"engine: {error}", file=sys.stderr)
        return BAD_INPUT


def _load(path: str | None) -> KnowledgeBase:
    import whygpu  # noqa: PLC0415  --help needs no numpy

    return whygpu.load(path)


def _explain(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if inputs.nothing_given(options):
        parser.print_help()
        return OK
    from whygpu.life import LifeAdvice  # noqa: PLC0415
    from whygpu.render.life import LifeRenderer  # noqa: PLC0415
    from whygpu.render.output import write_json  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    knowledge = _load(options.kb)
    if options.batch is not None:
        from whygpu.commands.job import Detail  # noqa: PLC0415

        return batch.run(options, knowledge, "advice", answer, Detail(options.only, options.all, options.trace))
    _refuse_idle(options)
    node = inputs.read_answers(options, knowledge)
    advice = _of_phase(knowledge.advise({} if node is None else node, engine=options.engine), options.only)
    if options.format == "json":
        write_json(advice.to_dict())
    else:
        renderer = LifeRenderer(knowledge.knowledge.claims, knowledge.knowledge.vocabulary, Style.of(sys.stdout))
        phases = advice.phases if isinstance(advice, LifeAdvice) else (advice,)
        sys.stdout.write(renderer.render_life(advice) if isinstance(advice, LifeAdvice) else renderer.render(advice))
        if options.about:
            sys.stdout.write(renderer.about(phase.profile for phase in phases if phase.profile is not None))
    return INFEASIBLE if advice.status == "infeasible" else OK


def answer(knowledge: KnowledgeBase, node: Node, engine: EngineName, detail: Detail) -> dict[str, Any]:
    """One row of a batch; raises AnswerError."""
    from whygpu.life import LifeAdvice  # noqa: PLC0415
    from whygpu.render.plain import advice_dict, life_dict  # noqa: PLC0415

    advice = _of_phase(knowledge.advise(node, engine=engine), detail.only)
    if isinstance(advice, LifeAdvice):
        return life_dict(advice, every=detail.every, trace=detail.trace)
    return advice_dict(advice, every=detail.every, trace=detail.trace)


def _refuse_idle(options: argparse.Namespace) -> None:
    """Raise AnswerError where an option of a batch is given without one."""
    from whygpu.errors import AnswerError, Place, Problem  # noqa: PLC0415

    message = "it is about a batch; one answer has everything in '--format json'"
    idle = [name for name in ("all", "trace") if getattr(options, name)]
    if idle:
        raise AnswerError([Problem("idle-option", message, Place(f"--{name}"), "leave it out") for name in idle])


def _of_phase(advice: Advice | LifeAdvice, only: str | None) -> Advice | LifeAdvice:
    """The whole advice, or that on one phase of a life; raises AnswerError where the answers are about no life."""
    from whygpu.errors import AnswerError, Place, Problem  # noqa: PLC0415
    from whygpu.life import LifeAdvice  # noqa: PLC0415

    if only is None:
        return advice
    if isinstance(advice, LifeAdvice):
        return advice.train if only == "train" else advice.serve
    message = "the answers are about one phase, and --only picks one of a whole life"
    raise AnswerError([Problem("idle-option", message, Place("--only"), "leave it out, or answer 'phases'")])


def _ui(options: argparse.Namespace) -> int:
    from whygpu_ui.serve import serve  # noqa: PLC0415  streamlit is slow to import

    return serve(options.kb, options.port, options.engine)


if __name__ == "__main__":
    sys.exit(main())
