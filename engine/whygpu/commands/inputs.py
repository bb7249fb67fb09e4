"""The answers that explain and estimate take from a file, ``--set`` and ``--model``."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.chain.names import ENGINES

if TYPE_CHECKING:
    from whygpu.api import KnowledgeBase
    from whygpu.yamldoc.document import Node

MAX_ANSWERS_BYTES = 1024 * 1024


def add_options(parser: argparse.ArgumentParser, formats: tuple[str, ...] = ("text", "json")) -> None:
    """The options that explain and estimate share."""
    parser.add_argument(
        "answers", nargs="?", metavar="ANSWERS.yaml", help="answers as YAML or JSON; '-' reads standard input"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an answer, it replaces the file's; may be repeated",
    )
    parser.add_argument(
        "--model",
        metavar="ID|ORG/NAME|FILE",
        help="the model: a preset, a model in the Hugging Face cache or on the Hub, or the path of a config.json, "
        ".safetensors or .gguf file, of a folder with one, or of a diffusers pipeline's folder",
    )
    parser.add_argument("--format", choices=formats, default="text")
    parser.add_argument(
        "--kb", metavar="DIR", help="the knowledge base's folder (by default the one that comes with whygpu)"
    )
    parser.add_argument("--engine", choices=ENGINES, default="durable", help="which engine fires the rules")
    add_date(parser)


def add_date(parser: argparse.ArgumentParser, what: str = "prices are judged by") -> None:
    """The day that is taken for today: an old price counts for less."""
    parser.add_argument("--date", type=_day, metavar="YYYY-MM-DD", help=f"the day that {what} (default today)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a date: write it like 2026-11-21") from error


def nothing_given(options: argparse.Namespace) -> bool:
    """Whether the command line has no answer at all."""
    return options.answers is None and not options.set and options.model is None and options.batch is None


def read_answers(options: argparse.Namespace, knowledge: KnowledgeBase) -> Node | None:
    """The answers of the command line; None where there are none. Raises AnswerError."""
    from whygpu.answers import apply_settings  # noqa: PLC0415  --help needs no numpy

    node = apply_settings(_file(options.answers), options.set)
    return with_model(node, options.model, knowledge) if options.model is not None else node


def _file(name: str | None) -> Node | None:
    from whygpu.answers import read_text  # noqa: PLC0415
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415
    from whygpu.files import read_bounded, unreadable  # noqa: PLC0415

    if name is None:
        return None
    shown = "standard input" if name == "-" else name
    try:
        data = _standard_input() if name == "-" else read_bounded(Path(name), MAX_ANSWERS_BYTES)
        text = None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AnswerError([Problem("unreadable", f"is not UTF-8 text: {error.reason}", Location(shown))]) from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise AnswerError([unreadable(shown, error, "'-' reads standard input")]) from error
    if text is None:
        raise AnswerError([Problem("too-large", f"more than {MAX_ANSWERS_BYTES:,} bytes of answers", Location(shown))])
    return read_text(text, shown)


def _standard_input() -> bytes | None:
    """All of it, nothing where it is closed; None where it is more than answers take."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_ANSWERS_BYTES + 1)
    return data if len(data) <= MAX_ANSWERS_BYTES else None


def with_model(node: Node | None, text: str, knowledge: KnowledgeBase) -> Node:
    """The answers with the model that ``--model`` names; raises AnswerError where it is not found."""
    from whygpu.answers import node_of, with_answer  # noqa: PLC0415
    from whygpu.errors import AnswerError, Location, Problem, did_you_mean  # noqa: PLC0415
    from whygpu.intake.files.tensors import WeightsError  # noqa: PLC0415
    from whygpu.intake.huggingface.hub import locate  # noqa: PLC0415
    from whygpu.knowledge.catalogue import fold  # noqa: PLC0415

    catalogue = knowledge.knowledge.catalogue
    location = Location("--model")
    try:
        known = fold(text) in catalogue.model_names
        model = text if known else locate(text, catalogue.models)
    except WeightsError as error:
        names = [name for entry in catalogue.models.values() for name in (entry.id, entry.name)]
        hint = did_you_mean(text, names) or error.hint
        raise AnswerError([Problem("unknown-model", error.message, location, hint)]) from error
    return with_answer(node, "model", node_of(model, "--model"))
