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
    """One row: its ``id`` (its number where it has none) and its answers, or what is wrong with it."""

    id: Id
    name: str
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
        return apply_settings(None, self.settings) if self.data is None else node_of(self.data, self.name)


def with_id(data: dict[str, Any], number: int, name: str) -> Row:
    """The row of some data, its id taken out."""
    given = data.pop("id", None)
    if given is None:
        return Row(number, name, data)
    good = isinstance(given, str | int | float) and not isinstance(given, bool) and len(str(given)) <= MAX_ID
    if not good or (isinstance(given, float) and not math.isfinite(given)):
        problem = f"'id' must be a text of up to {MAX_ID} characters or a finite number"
        return Row(number, name, problem=problem)
    if isinstance(given, str) and not is_text(given):
        return Row(number, name, problem="'id' holds half a character (a lone surrogate), which is no text")
    return Row(given, name, data)


def too_many(name: str) -> AnswerError:
    """The error of a file with too many rows."""
    return AnswerError([Problem("too-large", f"has more than {MAX_ROWS:,} rows", Location(name), SPLIT)])
