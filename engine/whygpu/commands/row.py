"""One row of a batch: its id and its answers, or what is wrong with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.answers import apply_settings, is_text, node_of
from whygpu.errors import AnswerError, Location, Problem

if TYPE_CHECKING:
    from whygpu.yamldoc.document import Node

MAX_ROWS = 2_000_000
MAX_LINE_BYTES = 1024 * 1024
MAX_COLUMNS = 500
MAX_ID = 200
_MOST_COMPARED = 4096  # characters of answers by which equal rows are found
SPLIT = "split it into several files"

Id = str | int | float


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its ``id`` (where it has none, its place) and its answers, or what is wrong with it."""

    id: Id
    name: str
    """The file and the place in it, as problems name it."""
    data: dict[str, Any] | None = None
    settings: tuple[str, ...] = ()
    problem: str | None = None

    def node(self) -> Node:
        """The answers; raises AnswerError."""
        if self.problem is not None:
            raise AnswerError([Problem("bad-row", self.problem, Location(self.name))])
        return node_of({}, self.name) if self.data is None and not self.settings else self._given()

    @property
    def given(self) -> str | None:
        """Its answers as a text, equal where they are; None where it has none, or long ones."""
        if self.problem is not None:
            return None
        text = repr((self.data, self.settings))
        return text if len(text) <= _MOST_COMPARED else None

    @property
    def likeness(self) -> str:
        """The same for rows about one model and phase: most of them are sized alike."""
        if self.data is not None:
            return repr((self.data.get("model"), self.data.get("phase")))
        return repr([text for text in self.settings if text.startswith(("model", "phase="))])

    def _given(self) -> Node:
        return apply_settings(None, self.settings, self.name) if self.data is None else node_of(self.data, self.name)


def with_id(data: dict[str, Any], place: str, name: str) -> Row:
    """The row of some data, its id taken out; ``place`` is the id of one that has none, or a bad one."""
    identifier, problem = _id(data.pop("id", None), place)
    return Row(identifier, name, None if problem else data, problem=problem)


def with_settings(settings: dict[str, str], place: str, name: str) -> Row:
    """The same for texts by dotted keys."""
    identifier, problem = _id(settings.pop("id", None), place)
    given = () if problem else tuple(f"{key}={text}" for key, text in settings.items())
    return Row(identifier, name, settings=given, problem=problem)


def _id(given: object, place: str) -> tuple[Id, str | None]:
    """The id of a row, and what is wrong with the one that it was given."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return place, None
    good = isinstance(given, str | int | float) and not isinstance(given, bool) and len(str(given)) <= MAX_ID
    if not good or (isinstance(given, float) and not math.isfinite(given)):
        return place, f"'id' must be a text of up to {MAX_ID} characters or a finite number"
    if isinstance(given, str) and not is_text(given):
        return place, "'id' holds half a character (a lone surrogate), which is no text"
    return given, None  # type: ignore[return-value]  # one of them, as seen above


def too_many(name: str) -> AnswerError:
    """The error of a file with too many rows."""
    return AnswerError([Problem("too-large", f"has more than {MAX_ROWS:,} rows", Location(name), SPLIT)])
