"""Answers as the query of an address, and back: each read as ``--set`` reads it, checked as the command line does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.answers import apply_settings, node_of
from whygpu.errors import AnswerError, Location, Problem
from whygpu.intake.resolve import files_named, shape_of
from whygpu.lifecycle.answers import KEY, PARTS, check_lifecycle
from whygpu.yamldoc.document import plain_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu import KnowledgeBase

Given = Any
"""An answer as it was given: a text, number, flag, list or mapping; None for "don't know"."""

PAGE, KNOWLEDGE, ITEM, WAS = "page", "kb", "item", "was"
UNKNOWN = "unknown"
MAX_PARAMETERS = 100
MAX_ITEM = 200
MAX_VALUE = 12_000
MAX_LINK = 16_000
"""Characters of all answers; servers refuse addresses much longer."""


@dataclass(frozen=True, slots=True)
class Link:
    """What an address says: usable answers, the page, the knowledge base it was made with, and what is wrong."""

    answers: Mapping[str, Given]
    page: str | None
    knowledge: str | None
    problems: tuple[Problem, ...]
    item: str = ""
    """What the page is about."""
    was: str | None = None
    """The plan that was recommended when the address was made."""
    unusable: tuple[str, ...] = ()
    """Answers that it names and that cannot be used."""


def read_link(parameters: Mapping[str, Sequence[str]], knowledge_base: KnowledgeBase) -> Link:
    """Read an address; nothing that it says is trusted, and nothing is dropped without a problem that says so."""
    answers: dict[str, Given] = {}
    problems: list[Problem] = []
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, values in list(parameters.items())[:MAX_PARAMETERS]:
        if len(values) != 1:
            problems.append(_problem("repeated-key", f"'{key[:60]}' is given {len(values)} times", key, "give it once"))
        elif len(values[0]) > MAX_VALUE:
            problems.append(_problem("too-large", f"'{key[:60]}' has {len(values[0]):,} characters", key))
        else:
            groups.setdefault(key.partition(".")[0], []).append((key, values[0]))
    if len(parameters) > MAX_PARAMETERS:
        problems.append(_problem("too-large", f"more than {MAX_PARAMETERS} values", "address"))
    page, knowledge, item, was = (
        groups.pop(key, [(key, "")])[0][1][:MAX_ITEM] or None for key in (PAGE, KNOWLEDGE, ITEM, WAS)
    )
    for key, settings in groups.items():
        try:
            answers[key] = _read(key, settings, knowledge_base)
        except AnswerError as error:
            problems.extend(error.problems)
    named = dict.fromkeys(key.partition(".")[0] for key in parameters)
    unusable = tuple(key for key in named if key not in (*answers, PAGE, KNOWLEDGE, ITEM, WAS))
    return Link(answers, page, knowledge, tuple(problems), item or "", was, unusable)


def _read(key: str, settings: Sequence[tuple[str, str]], knowledge_base: KnowledgeBase) -> Given:
    if settings == [(key, UNKNOWN)] and any(item.id == key for item in knowledge_base.knowledge.questions):
        return None
    data = plain_data(apply_settings(None, [f"{name}={value}" for name, value in settings]))
    value = data.get(key) if isinstance(data, dict) else None
    if value is None:
        raise AnswerError(
            [_problem("empty", f"'{key[:60]}' has no value", key, f"'{UNKNOWN}' says that it is not known")]
        )
    check_answer(key, value, knowledge_base)
    return value


def check_answer(key: str, value: Given, knowledge_base: KnowledgeBase) -> None:
    """Check one answer as the command line would; raises AnswerError with every problem.

    Files are not read on behalf of an address: a configuration must be given itself, not as a path on the server.
    """
    refuse_files({key: value})
    if key == KEY:
        parts = [value.get(part) for part in PARTS] if isinstance(value, dict) else []
        for model in [part["model"] for part in parts if isinstance(part, dict) and part.get("model") is not None]:
            check_answer("model", model, knowledge_base)  # before anything reads a file that it names
        check_lifecycle(node_of({KEY: value}, key), knowledge_base.knowledge)
        return
    answers = knowledge_base.check({key: value})
    if answers.model is not None:
        shape_of(answers.model, knowledge_base.knowledge.catalogue, Location("model"))


def refuse_files(value: object) -> None:
    """Raise AnswerError where a model names a file of the server, as of an address that somebody else wrote."""
    named = files_named(value)
    if named:
        message = f"'{named[0]}' names a file, and the wizard reads none by name"
        raise AnswerError([_problem("file-name", message, "model", "upload the config.json, or paste it")])


def write_link(
    answers: Mapping[str, Given], page: str, knowledge_hash: str, item: str = "", was: str | None = None
) -> tuple[dict[str, str], bool]:
    """The query that ``read_link`` reads back to the same, and whether it is whole.

    The longest answers are left out of what would be too long for an address.
    """
    found = {key: _text(value) for key, value in answers.items()}
    whole = True
    while found:
        longest = max(found, key=lambda key: len(found[key]))
        if len(found[longest]) <= MAX_VALUE and sum(len(key) + len(value) for key, value in found.items()) <= MAX_LINK:
            break
        del found[longest]
        whole = False
    rest = {PAGE: page, KNOWLEDGE: knowledge_hash, ITEM: item, WAS: was or ""}
    return found | {key: value for key, value in rest.items() if value}, whole


def _text(value: Given) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _problem(code: str, message: str, key: str, help_text: str | None = None) -> Problem:
    return Problem(code, message, Location(key[:60]), help_text)
