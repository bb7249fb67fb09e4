"""The command line: ``kb-explain`` and ``whygpu``, whose commands are imported when they are used."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.commands.process import guarded
from whygpu.commands.status import BAD_INPUT, OK
from whygpu.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

EXAMPLE = "kb-explain --set phase=inference --set model=llama-3.1-70b --set concurrency=8"


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it is for, and the module and functions that add its options and run it."""

    help: str
    module: str
    options: str = "add_options"
    run: str = "run"


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "explain": Command("recommend hardware and explain it (the same as kb-explain)", "whygpu.commands.explain"),
        "estimate": Command("memory, speed and cost of one plan, whether it fits or not", "whygpu.commands.estimate"),
        "check": Command("check a knowledge base or a file of it, run its tests and cases", "whygpu.commands.check"),
        "catalogue": Command("list accelerators, prices and models with their sources", "whygpu.commands.catalogue"),
        "import-model": Command(
            "a config.json as a model of the catalogue", "whygpu.commands.importers", "add_model_options", "run_model"
        ),
        "import-prices": Command(
            "prices of a CSV, or of a published list, as offerings",
            "whygpu.commands.importers",
            "add_prices_options",
            "run_prices",
        ),
        "measure": Command("measure the device at hand, and say what is in this machine", "whygpu.commands.measure"),
        "diagnose": Command(
            "what is wrong, by what was measured, and what to measure next", "whygpu.commands.diagnose"
        ),
        "replay": Command("whether a recorded decision still holds, and what changed", "whygpu.commands.replay"),
        "schema": Command("JSON Schema of answers, output and knowledge base files", "whygpu.commands.schema"),
        "serve": Command("the same answers over HTTP, for other programs", "whygpu.commands.serve"),
        "mcp": Command(
            "the same answers as tools of the Model Context Protocol",
            "whygpu.commands.serve",
            "add_mcp_options",
            "run_mcp",
        ),
        "size": Command("how much hardware, from your own measurements", "whygpu.commands.size"),
        "ui": Command("the wizard in a browser", "whygpu.commands.ui"),
    }
)


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
    _add_version(parser)
    return _run(COMMANDS["explain"], parser, lambda: parser.parse_args(arguments))


def _command(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="whygpu", description="Which hardware for this work, and why.", epilog=f"example: {EXAMPLE}"
    )
    _add_version(parser)
    commands = parser.add_subparsers(metavar="command")
    parsers = {name: commands.add_parser(name, help=command.help) for name, command in COMMANDS.items()}
    chosen = next((text for text in given if not text.startswith("-")), None)
    if chosen is not None and chosen in COMMANDS:  # of the others no option is read
        return _run(COMMANDS[chosen], parsers[chosen], lambda: parser.parse_args(given))
    parser.parse_args(given)
    parser.print_help()
    return OK


def _add_version(parser: argparse.ArgumentParser) -> None:
    from whygpu import __version__  # noqa: PLC0415

    parser.add_argument("--version", action="version", version=f"whygpu {__version__}")


def _run(command: Command, parser: argparse.ArgumentParser, parse: Callable[[], argparse.Namespace]) -> int:
    """Run a command; every problem of the input goes to standard error, as data where json is asked for."""
    module = import_module(command.module)
    getattr(module, command.options)(parser)
    options = parse()
    try:
        return int(getattr(module, command.run)(options, parser))
    except InputError as error:
        from whygpu.render.output import write_json  # noqa: PLC0415  only where something is wrong
        from whygpu.render.problems import problems_data, problems_text  # noqa: PLC0415
        from whygpu.render.style import Style  # noqa: PLC0415

        if getattr(options, "format", "text") == "json":
            write_json({"error": problems_data(error.problems)}, sys.stderr)
        else:
            print(problems_text(error.problems, Style.of(sys.stderr)), file=sys.stderr)
        return BAD_INPUT
    except EngineError as error:
        print(f"engine: {error}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
