"""What a visitor measured: uploads, each read once and bounded, and typed figures; what comes of them, found once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import streamlit as st

from whygpu.answers import apply_settings
from whygpu.errors import AnswerError, Location, Problem
from whygpu.measured.readers.detect import read_any
from whygpu.measured.settings import of_settings
from whygpu_ui.answers_link import refuse_files
from whygpu_ui.knowledge import MOST_KEPT, serving_engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu import KnowledgeBase
    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.measured.measurement import Measurement
    from whygpu.sizing.asked import Of
    from whygpu.sizing.sized import Sized

MOST_BYTES = 1024 * 1024
"""Of one file; the server takes no more (serve.py)."""
MOST_FILES = 16
_MOST_NAME = 80

Settings = tuple[tuple[str, str], ...]
"""Typed figures and answers, each by its key as ``--set`` takes it."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was read. ``digest``: of what it says, to know it again."""

    name: str
    digest: str
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Measured:
    """All that a visitor gave: files by name, and typed texts by key."""

    uploads: tuple[Upload, ...] = ()
    typed: Settings = ()

    def with_these(self, uploads: Iterable[Upload], typed: Mapping[str, str]) -> Measured:
        """With these files, instead of those of the same names, and texts; an empty text takes one back."""
        files = {item.name: item for item in (*self.uploads, *uploads)}
        texts = {key: text for key, text in (dict(self.typed) | dict(typed)).items() if text}
        return Measured(tuple(files.values()), tuple(texts.items()))

    def without(self, name: str) -> Measured:
        """Without the file of this name."""
        return Measured(tuple(item for item in self.uploads if item.name != name), self.typed)


def read_upload(name: str, data: bytes, knowledge_base: KnowledgeBase) -> Upload:
    """Read a file as a measurement; nothing on the server is read that it names. Raises AnswerError."""
    shown = " ".join(name.split())[:_MOST_NAME]
    if len(data) > MOST_BYTES:
        message = f"{shown}: more than {MOST_BYTES:,} bytes"
        hint = "leave out what repeats, or use 'whygpu size' and 'whygpu diagnose', which take larger files"
        raise AnswerError([Problem("too-large", message, Location(shown), hint)])
    try:
        found = read_any(data.decode("utf-8-sig"), shown, knowledge_base.knowledge)
        refuse_files(found.setup.answers.given)
    except UnicodeDecodeError as error:
        message = f"{shown}: not readable as text in UTF-8"
        raise AnswerError([Problem("unreadable", message, Location(shown))]) from error
    except AnswerError as error:
        raise AnswerError([_named(item, shown) for item in error.problems]) from error
    return Upload(shown, sha256(data).hexdigest(), found)


def _named(item: Problem, name: str) -> Problem:
    """A problem whose message says which file it is of, as a page shows no location."""
    line = f", line {item.location.line}" if item.location.line else ""
    return Problem(item.code, f"{name}{line}: {item.message}", item.location, item.help)


def size(of: Of, measured: Measured, keys: Iterable[str], knowledge_base: KnowledgeBase) -> Sized | tuple[Problem, ...]:
    """The sizing by what was measured and the typed texts of these keys, or the problems that prevent it."""
    known = tuple(item for item in measured.typed if item[0] in keys)
    return _found(_key(of, measured, known, knowledge_base), measured, known, knowledge_base, of)


def diagnosis(
    measured: Measured, keys: Iterable[str], knowledge_base: KnowledgeBase
) -> Diagnosis | tuple[Problem, ...]:
    """The diagnosis of what was measured, files and the typed texts of these keys, or the problems that prevent it."""
    known = tuple(item for item in measured.typed if item[0] in keys)
    return _diagnosed(_key("diagnosis", measured, known, knowledge_base), measured, known, knowledge_base)


def _key(what: str, measured: Measured, typed: Settings, knowledge_base: KnowledgeBase) -> str:
    files = [(item.name, item.digest) for item in measured.uploads]
    return json.dumps([what, knowledge_base.knowledge.hash, files, typed])


@st.cache_resource(show_spinner=False, max_entries=MOST_KEPT, ttl=3600)  # no longer: prices age by the day
def _found(
    key: str,  # noqa: ARG001  stands for all that follows
    _measured: Measured,
    _typed: Settings,
    _knowledge_base: KnowledgeBase,
    _of: Of,
) -> Sized | tuple[Problem, ...]:
    run = _knowledge_base.size_training if _of == "training" else _knowledge_base.size_inference
    model = dict(_typed).get("model")
    if model is not None and model not in _knowledge_base.knowledge.catalogue.models:
        return (Problem("unknown-model", f"no model here is called '{model[:60]}'", Location("model")),)
    try:
        given = apply_settings(None, [f"{key}={text}" for key, text in _typed])
        return run([item.measurement for item in _measured.uploads], given, engine=serving_engine())
    except AnswerError as error:
        return error.problems


@st.cache_resource(show_spinner=False, max_entries=MOST_KEPT, ttl=3600)
def _diagnosed(
    key: str,  # noqa: ARG001  stands for all that follows
    _measured: Measured,
    _typed: Settings,
    _knowledge_base: KnowledgeBase,
) -> Diagnosis | tuple[Problem, ...]:
    found = [item.measurement for item in _measured.uploads]
    try:
        if _typed:
            found.append(of_settings([f"{key}={text}" for key, text in _typed], _knowledge_base.knowledge))
        return _knowledge_base.diagnose(*found, engine=serving_engine())
    except AnswerError as error:
        return error.problems
