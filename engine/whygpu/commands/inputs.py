"""The answers that explain and estimate take from a file, ``--set`` and ``--model``."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from whygpu.chain.names import ENGINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu.api import KnowledgeBase
    from whygpu.errors import Problem
    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement
    from whygpu.yamldoc.document import Node

MAX_ANSWERS_BYTES = 1024 * 1024


def add_options(parser: argparse.ArgumentParser, formats: tuple[str, ...] = ("text", "json")) -> None:
    """The options that explain and estimate share."""
    parser.add_argument(
        "answers",
        nargs="?",
        metavar="ANSWERS.yaml",
        help="answers as YAML or JSON; '-' reads standard input. Or a sentence: 'serve a 7B chatbot on Azure'",
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
        metavar="ID|SIZE|ORG/NAME|FILE",
        help="the model: a preset, a size such as 7B, a model in the Hugging Face cache or on the Hub, or the path of "
        "a config.json, .safetensors or .gguf file, of a folder with one, or of a diffusers pipeline's folder",
    )
    parser.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="a measurement file of your own, or a folder of them: it corrects the estimates of the same model, card "
        "and runtime; 'kept' is what 'whygpu measure --keep' has kept; may be repeated",
    )
    parser.add_argument("--format", choices=formats, default="text")
    add_kb(parser)
    add_engine(parser)
    add_date(parser)


def add_kb(parser: argparse.ArgumentParser) -> None:
    """The knowledge base that is asked."""
    parser.add_argument(
        "--kb", metavar="DIR", help="the knowledge base's folder (by default the one that comes with whygpu)"
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    """The engine; where none is named durable-rules, or the evaluator where that is not installed."""
    parser.add_argument(
        "--engine", choices=ENGINES, help="which engine fires the rules (default durable, where it is installed)"
    )


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
    given = (options.answers, options.model, options.batch)
    return all(item is None for item in given) and not options.set and not options.measured


def read_answers(options: argparse.Namespace, knowledge: KnowledgeBase) -> Node | None:
    """The answers of the command line; None where there are none. Raises AnswerError."""
    from whygpu.answers import apply_settings  # noqa: PLC0415  --help needs no numpy

    given = _said(options, knowledge.knowledge) or answers_in(options.answers)
    node = with_measured(apply_settings(given, options.set), options.measured, knowledge)
    return with_model(node, options.model, knowledge) if options.model is not None else node


def _said(options: argparse.Namespace, knowledge: Knowledge) -> Node | None:
    """The answers that a sentence says, and on standard error what of it counts; None where it is the name of a file.
    Raises AnswerError.
    """
    text = options.answers
    if text is None or " " not in text or "\n" in text or _is_there(text):
        return None
    from whygpu.answers import node_of  # noqa: PLC0415  --help needs no numpy
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415
    from whygpu.intake.sentence import closed_within, not_sized, partly_read, read_sentence  # noqa: PLC0415

    said = read_sentence(text, knowledge)
    if said is None:
        message = f"'{text[:60]}' is no file, and no sentence that says what the hardware is for and which model"
        example = "such as: kb-explain 'serve Llama 3.1 8B on Azure for $500 a month'"
        hint = closed_within(text, knowledge.catalogue) or not_sized(text, knowledge) or example
        raise AnswerError([Problem("unreadable", message, Location("command line"), hint)])
    _warn(partly_read(said, knowledge, "add the rest with --set"), options.format)
    return node_of(said.answers, "sentence")


def _is_there(name: str) -> bool:
    """Whether there is such a file; what is too long to be a name is none."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def _warn(problem: Problem, form: str) -> None:
    """On standard error, as errors are."""
    import json  # noqa: PLC0415  --help needs none

    from whygpu.render.problems import problems_data, problems_text  # noqa: PLC0415
    from whygpu.render.style import Style  # noqa: PLC0415

    text = json.dumps({"warning": problems_data([problem])}) if form == "json" else None
    print(text or problems_text([problem], Style.of(sys.stderr)), file=sys.stderr)


def answers_in(name: str | None) -> Node | None:
    """The answers in a file, or with ``-`` on standard input; None where none is named. Raises AnswerError."""
    from whygpu.answers import read_text  # noqa: PLC0415  --help needs no numpy

    return None if name is None else read_text(*read_input(name, MAX_ANSWERS_BYTES, "answers"))


def read_input(name: str, most: int, what: str) -> tuple[str, str]:
    """The text of a file, or of standard input for '-', and what it is called; raises AnswerError."""
    from whygpu.errors import AnswerError, Location, Problem  # noqa: PLC0415  --help needs no numpy
    from whygpu.files import read_bounded, unreadable  # noqa: PLC0415

    shown = "standard input" if name == "-" else name
    try:
        data = _standard_input(most) if name == "-" else read_bounded(Path(name), most)
        text = None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AnswerError([Problem("unreadable", f"is not UTF-8 text: {error.reason}", Location(shown))]) from error
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        raise AnswerError([unreadable(shown, error, "'-' reads standard input")]) from error
    if text is None:
        raise AnswerError([Problem("too-large", f"more than {most:,} bytes of {what}", Location(shown))])
    return text, shown


def read_measurements(
    files: Sequence[str], settings: Sequence[str], knowledge: Knowledge, most: int
) -> list[Measurement]:
    """What was measured: files of at most ``most`` bytes each, then settings; raises AnswerError with all problems."""
    from whygpu.errors import AnswerError  # noqa: PLC0415
    from whygpu.measured.readers.detect import read_any  # noqa: PLC0415
    from whygpu.measured.settings import of_settings  # noqa: PLC0415

    found: list[Measurement] = []
    problems: list[Problem] = []
    for name in files:
        try:
            text, shown = read_input(name, most, "a measurement")
            found.append(read_any(text.removeprefix("\ufeff"), shown, knowledge))
        except AnswerError as error:
            problems += error.problems
    try:
        found += [of_settings(settings, knowledge)] if settings else []
    except AnswerError as error:
        problems += error.problems
    if problems:
        raise AnswerError(problems)
    return found


def with_measured(node: Node, named: Sequence[str], knowledge: KnowledgeBase) -> Node:
    """The answers with the measurement files that they and the command line name; raises AnswerError."""
    from whygpu.answers import MEASURED, with_answer  # noqa: PLC0415
    from whygpu.yamldoc import document as d  # noqa: PLC0415

    own = node.items.get(MEASURED) if isinstance(node, d.Mapping) else None
    given = [] if own is None else own.items if isinstance(own, d.Sequence) else [own]
    texts = [item.text for item in given if isinstance(item, d.Scalar) and isinstance(item.value, str)]
    if not texts and not named:
        return node
    from whygpu.measured.kept import read_named  # noqa: PLC0415  most answers name no measurement

    found: list[Node] = [item for item in given if not isinstance(item, d.Scalar)]
    found += [item for text in (*texts, *named) for item in read_named(text, knowledge.knowledge)]
    return with_answer(node, MEASURED, d.Sequence(found, d.Document("--measured", ""), 0, 0))


def _standard_input(most: int) -> bytes | None:
    """All of it, nothing where it is closed; None where it is more than ``most``."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(most + 1)
    return data if len(data) <= most else None


def with_model(node: Node | None, text: str, knowledge: KnowledgeBase) -> Node:
    """The answers with the model that ``--model`` names; raises AnswerError where it is not found."""
    from whygpu.answers import node_of, with_answer  # noqa: PLC0415
    from whygpu.errors import AnswerError, Location, Problem, did_you_mean  # noqa: PLC0415
    from whygpu.intake.files.tensors import WeightsError  # noqa: PLC0415
    from whygpu.intake.huggingface.hub import locate  # noqa: PLC0415
    from whygpu.intake.typed import size_of  # noqa: PLC0415
    from whygpu.knowledge.catalogue import fold  # noqa: PLC0415

    catalogue = knowledge.knowledge.catalogue
    location = Location("--model")
    try:
        known = fold(text) in catalogue.model_names
        model = text if known else locate(text, catalogue.models)
    except WeightsError as error:
        if catalogue.find_models(text) or size_of(text) is not None:
            return with_answer(node, "model", node_of(text, "--model"))
        names = [name for entry in catalogue.models.values() for name in (entry.id, entry.name)]
        hint = catalogue.instead_of(text) or did_you_mean(text, names) or error.hint
        raise AnswerError([Problem("unknown-model", error.message, location, hint)]) from error
    return with_answer(node, "model", node_of(model, "--model"))
