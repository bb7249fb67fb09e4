"""The command line: ``kb-explain`` and ``whygpu explain | estimate | check | ui``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from whygpu.commands import catalogue as catalogue_command
from whygpu.commands import check as check_command
from whygpu.commands import estimate as estimate_command
from whygpu.commands import explain as explain_command
from whygpu.commands import importers
from whygpu.commands import replay as replay_command
from whygpu.commands.process import guarded
from whygpu.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXAMPLE = "kb-explain --set phase=inference --set model=llama-3.1-70b --set concurrency=8"
BAD_INPUT = 2


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
    explain_command.add_options(parser)
    _add_version(parser)
    options = parser.parse_args(arguments)
    return _run(lambda: explain_command.run(options, parser), options.format)


def _command(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(
        prog="whygpu", description="Which hardware for this work, and why.", epilog=f"example: {EXAMPLE}"
    )
    _add_version(parser)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    explain = commands.add_parser("explain", help="recommend hardware and explain it (the same as kb-explain)")
    explain_command.add_options(explain)
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
    replay = commands.add_parser("replay", help="whether a recorded decision still holds, and what changed")
    replay_command.add_options(replay)
    ui = commands.add_parser("ui", help="the wizard in a browser")
    ui.add_argument("--kb", metavar="DIR", help="the knowledge base's folder")
    ui.add_argument("--port", type=int, default=8501, help="port on 127.0.0.1 (default 8501)")
    ui.add_argument(
        "--public", metavar="HOST", help="the host name under which a reverse proxy on this machine publishes it"
    )
    ui.add_argument(
        "--engine",
        choices=("durable", "evaluator"),
        default="evaluator",
        help="which engine fires the rules (default evaluator: a crash of durable-rules would end every visit)",
    )
    options = parser.parse_args(arguments)
    match options.command:
        case "explain":
            return _run(lambda: explain_command.run(options, explain), options.format)
        case "estimate":
            return _run(lambda: estimate_command.run(options, estimate), options.format)
        case "check":
            return _run(lambda: check_command.run(options), options.format)
        case "replay":
            return _run(lambda: replay_command.run(options), options.format)
        case "catalogue":
            return _run(lambda: catalogue_command.run(options), options.format)
        case "import-model":
            return _run(lambda: importers.run_model(options))
        case "import-prices":
            return _run(lambda: importers.run_prices(options))
        case _:
            return _run(lambda: _ui(options))


def _add_version(parser: argparse.ArgumentParser) -> None:
    from whygpu import __version__  # noqa: PLC0415

    parser.add_argument("--version", action="version", version=f"whygpu {__version__}")


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


def _ui(options: argparse.Namespace) -> int:
    from whygpu_ui.serve import serve  # noqa: PLC0415  streamlit is slow to import

    return serve(options.kb, options.port, options.engine, options.public)


if __name__ == "__main__":
    sys.exit(main())
