"""The command line: ``kb-explain`` and ``whygpu explain | check | ui``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.commands import catalogue as catalogue_command
from whygpu.commands import check as check_command
from whygpu.commands import importers
from whygpu.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whygpu.api import KnowledgeBase
    from whygpu.load.document import Node

EXAMPLE = "kb-explain --set phase=inference --set model=llama-3.1-70b --set concurrency=8"
OK, BAD_INPUT, INFEASIBLE = 0, 2, 3
MAX_ANSWERS_BYTES = 1024 * 1024


def explain_main(arguments: Sequence[str] | None = None) -> int:
    """The ``kb-explain`` command."""
    parser = argparse.ArgumentParser(
        prog="kb-explain",
        description="Which hardware for this work, and why: reads answers, prints the recommendation and its reasons.",
        epilog=f"example: {EXAMPLE}",
    )
    _explain_options(parser)
    options = parser.parse_args(arguments)
    return _run(lambda: _explain(options, parser), options.format)


def main(arguments: Sequence[str] | None = None) -> int:
    """The ``whygpu`` command."""
    parser = argparse.ArgumentParser(
        prog="whygpu", description="Which hardware for this work, and why.", epilog=f"example: {EXAMPLE}"
    )
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    explain = commands.add_parser("explain", help="recommend hardware and explain it (the same as kb-explain)")
    _explain_options(explain)
    check = commands.add_parser("check", help="check a knowledge base or a file of it, run its tests and cases")
    check_command.add_options(check)
    catalogue = commands.add_parser("catalogue", help="list what is known of accelerators, prices and models")
    catalogue_command.add_options(catalogue)
    importers.add_model_options(commands.add_parser("import-model", help="a config.json as a model of the catalogue"))
    importers.add_prices_options(commands.add_parser("import-prices", help="a CSV of prices as offerings"))
    ui = commands.add_parser("ui", help="the wizard in a browser")
    ui.add_argument("--kb", metavar="DIR", help="the knowledge base's folder")
    ui.add_argument("--port", type=int, default=8501, help="port on 127.0.0.1 (default 8501)")
    ui.add_argument(
        "--engine", choices=("durable", "evaluator"), default="durable", help="which engine fires the rules"
    )
    options = parser.parse_args(arguments)
    match options.command:
        case "explain":
            return _run(lambda: _explain(options, explain), options.format)
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


def _explain_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "answers", nargs="?", metavar="ANSWERS.yaml", help="answers as YAML or JSON; '-' reads standard input"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an answer, laid over the file's; may be repeated",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--kb", metavar="DIR", help="the knowledge base's folder (by default the one that comes with whygpu)"
    )
    parser.add_argument(
        "--engine", choices=("durable", "evaluator"), default="durable", help="which engine fires the rules"
    )


def _run(command: Callable[[], int], form: str = "text") -> int:
    """Run a command; every problem of the input goes to standard error, as data where ``form`` is json."""
    try:
        return command()
    except InputError as error:
        from whygpu.render.plain import problem_dicts  # noqa: PLC0415  only where something is wrong
        from whygpu.render.problems import problems_text  # noqa: PLC0415
        from whygpu.render.style import Style  # noqa: PLC0415

        if form == "json":
            json.dump({"error": problem_dicts(error.problems)}, sys.stderr, indent=1, ensure_ascii=False)
            sys.stderr.write("\n")
        else:
            print(problems_text(error.problems, Style.of(sys.stderr)), file=sys.stderr)
        return BAD_INPUT
    except EngineError as error:
        print(f"engine: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return 130


def _load(path: str | None) -> KnowledgeBase:
    import whygpu  # noqa: PLC0415  --help needs no numpy

    return whygpu.load(path)


def _explain(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.answers is None and not options.set:
        parser.print_help()
        return OK
    from whygpu.render.style import Style  # noqa: PLC0415
    from whygpu.render.text import TextRenderer  # noqa: PLC0415

    node = _answers(options)
    knowledge = _load(options.kb)
    advice = knowledge.advise(node, engine=options.engine)
    if options.format == "json":
        json.dump(advice.to_dict(), sys.stdout, indent=1, ensure_ascii=False)
        sys.stdout.write("\n")
    else:
        renderer = TextRenderer(knowledge.knowledge.claims, knowledge.knowledge.vocabulary, Style.of(sys.stdout))
        sys.stdout.write(renderer.render(advice))
    return INFEASIBLE if advice.status == "infeasible" else OK


def _answers(options: argparse.Namespace) -> Node:
    from whygpu.answers import apply_settings, read_text  # noqa: PLC0415
    from whygpu.errors import AnswerError, Place, Problem  # noqa: PLC0415

    node: Node | None = None
    if options.answers is not None:
        name = "standard input" if options.answers == "-" else options.answers
        try:
            if options.answers == "-":
                data = sys.stdin.buffer.read(MAX_ANSWERS_BYTES + 1)
            else:
                with Path(options.answers).open("rb") as file:
                    data = file.read(MAX_ANSWERS_BYTES + 1)
            if len(data) > MAX_ANSWERS_BYTES:
                raise AnswerError(
                    [Problem("too-large", f"more than {MAX_ANSWERS_BYTES:,} bytes of answers", Place(name))]
                )
            node = read_text(data.decode("utf-8"), name)
        except OSError as error:
            raise AnswerError([Problem("unreadable", f"cannot be read: {error.strerror}", Place(name))]) from error
        except UnicodeDecodeError as error:
            raise AnswerError([Problem("unreadable", f"is not UTF-8 text: {error.reason}", Place(name))]) from error
    return apply_settings(node, options.set)


def _ui(options: argparse.Namespace) -> int:
    from whygpu_ui.serve import serve  # noqa: PLC0415  streamlit is slow to import

    return serve(options.kb, options.port, options.engine)


if __name__ == "__main__":
    sys.exit(main())
