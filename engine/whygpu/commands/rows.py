"""Rows of a batch: each with an id and answers, out of JSON lines, CSV or Parquet, within limits."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.answers import apply_settings, node_of
from whygpu.errors import AnswerError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whygpu.load.document import Node

FORMATS = (".jsonl", ".csv", ".parquet")
MAX_ROWS = 100_000
MAX_LINE_BYTES = 1024 * 1024
MAX_COLUMNS = 500
MAX_ID = 200
_CHUNK = 1024 * 1024

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
            raise AnswerError([Problem("bad-row", self.problem, Place(self.name))])
        return node_of({}, self.name) if self.data is None and not self.settings else self._given()

    def _given(self) -> Node:
        return apply_settings(None, self.settings) if self.data is None else node_of(self.data, self.name)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, by its suffix; raises AnswerError where it cannot be read or has too many."""
    try:
        if not path.is_file():
            raise AnswerError([Problem("unreadable", "there is no such file", Place(str(path)))])
        reader = {".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet}[path.suffix.lower()]
        if path.suffix.lower() != ".parquet":
            _check_lines(path)
        return reader(path)
    except (OSError, ValueError) as error:
        raise AnswerError([Problem("unreadable", f"cannot be read: {error}", Place(str(path)))]) from error


def _too_many(path: Path) -> AnswerError:
    mend = "split it into several files"
    return AnswerError([Problem("too-large", f"has more than {MAX_ROWS:,} rows", Place(str(path)), mend)])


def _check_lines(path: Path) -> None:
    count = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            count += chunk.count(b"\n")
            if count > MAX_ROWS + 1:
                raise _too_many(path)


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            name = f"{path}:{number}"
            if len(line) > MAX_LINE_BYTES:
                while line and not line.endswith(b"\n"):  # the rest of it is passed over
                    line = file.readline(_CHUNK)
                yield Row(number, name, problem=f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            elif line.strip():
                yield _json_row(line, number, name)


def _json_row(line: bytes, number: int, name: str) -> Row:
    try:
        data = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"), object_pairs_hook=_unique)
    except RecursionError:
        return Row(number, name, problem="it is nested too deeply")
    except ValueError as error:  # bad JSON, bad UTF-8, an endless number, a key twice
        return Row(number, name, problem=f"it is not one JSON object: {str(error)[:200]}")
    if not isinstance(data, dict):
        return Row(number, name, problem="it is not a JSON object of answers")
    return _with_id(data, number, name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _with_id(data: dict[str, Any], number: int, name: str) -> Row:
    given = data.pop("id", None)
    if given is None:
        return Row(number, name, data)
    if isinstance(given, bool) or not isinstance(given, str | int | float) or len(str(given)) > MAX_ID:
        return Row(number, name, problem=f"'id' must be a text of up to {MAX_ID} characters or a number")
    return Row(given, name, data)


def _csv(path: Path) -> Iterator[Row]:
    """Columns are dotted keys, as with ``--set``; an empty cell is no answer."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file)
        try:
            header = [cell.strip() for cell in next(reader, [])]
        except csv.Error as error:
            raise AnswerError(
                [Problem("unreadable", f"its header cannot be read: {error}", Place(str(path)))]
            ) from error
        if not any(header) or len(header) > MAX_COLUMNS or len(set(header)) != len(header):
            message = f"its header must name up to {MAX_COLUMNS} different columns"
            raise AnswerError([Problem("unreadable", message, Place(str(path), 1))])
        number = 1
        while True:
            number += 1
            name = f"{path}:{number}"
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Row(number - 1, name, problem=f"it is not CSV: {error}")
                continue
            if cells:
                yield _csv_row(header, cells, number - 1, name)


def _csv_row(header: list[str], cells: list[str], number: int, name: str) -> Row:
    if len(cells) > len(header):
        return Row(number, name, problem=f"it has {len(cells)} cells, more than the {len(header)} columns")
    given = {key: cell.strip() for key, cell in zip(header, cells, strict=False) if cell.strip()}
    identifier = given.pop("id", None)
    return Row(
        number if identifier is None else identifier[:MAX_ID],
        name,
        settings=tuple(f"{key}={cell}" for key, cell in given.items()),
    )


def _parquet(path: Path) -> Iterator[Row]:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  slow to import
    except ImportError as error:
        raise AnswerError(
            [Problem("unreadable", "reading Parquet needs pyarrow", Place(str(path)), "pip install pyarrow")]
        ) from error
    try:
        file = parquet.ParquetFile(path)
        if file.metadata.num_rows > MAX_ROWS:
            raise _too_many(path)
        if file.metadata.num_columns > MAX_COLUMNS:
            raise AnswerError([Problem("too-large", f"has more than {MAX_COLUMNS} columns", Place(str(path)))])
        number = 0
        for batch in file.iter_batches(batch_size=256):
            for data in batch.to_pylist():
                number += 1
                yield _with_id(_nested(data), number, f"{path}:{number}")
    except (ArrowException, OSError) as error:
        raise AnswerError([Problem("unreadable", f"is not Parquet: {str(error)[:200]}", Place(str(path)))]) from error


def _nested(data: dict[str, Any]) -> dict[str, Any]:
    """Columns with dotted names as mappings; null is no answer."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        if value is None:
            continue
        *outer, last = str(key).split(".")
        inner = found
        for word in outer:
            below = inner.setdefault(word, {})
            inner = below if isinstance(below, dict) else {}
        inner[last] = _without_nulls(value)
    return found


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
