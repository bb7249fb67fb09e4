"""Rows of a batch: each with an id and answers, out of JSON lines, CSV or Parquet, within limits."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from whygpu.answers import is_text
from whygpu.commands.parquet import parquet_rows
from whygpu.commands.row import (
    MAX_COLUMNS,
    MAX_LINE_BYTES,
    MAX_ROWS,
    SPLIT,
    Row,
    too_many,
    with_id,
    with_settings,
)
from whygpu.errors import AnswerError, Location, Problem
from whygpu.files import open_regular, unreadable
from whygpu.json_input import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = (".jsonl", ".csv", ".parquet")
STANDARD_INPUT = "-"
MAX_SPOOLED_BYTES = 2**30
_CHUNK = 1024 * 1024
_STREAM = "standard input"


@dataclass(frozen=True, slots=True)
class Source:
    """What rows come from: a file, or JSON lines of a stream."""

    path: Path | None
    stream: BinaryIO | None = None
    lines: int | None = None
    """About how many rows there are; None where that is not known before."""
    digest: str = ""
    """Of the content; empty where it is not known before."""

    @property
    def is_live(self) -> bool:
        """Whether someone may write the rows only now, and wait for their results."""
        return self.stream is not None and not self.digest

    @classmethod
    def of(cls, name: str, *, spool: bool) -> Source:
        """A file, read through once for its digest, or ``-``; ``spool``: standard input, too, so that it has a digest.

        Raises AnswerError where it cannot be used.
        """
        if name == STANDARD_INPUT:
            stream = io.BytesIO() if sys.stdin is None else sys.stdin.buffer
            return cls._spooled(stream) if spool else cls(None, stream)
        path = Path(name)
        if path.suffix.lower() not in FORMATS:
            wanted = f"{', '.join(FORMATS)}, or '-' for JSON lines from standard input"
            raise AnswerError([Problem("bad-option", f"'{name}' is none of {wanted}", Location("--batch"))])
        try:
            with open_regular(path) as file:
                return cls(path, None, *_digest(file, name, counted=path.suffix.lower() != ".parquet"))
        except FileNotFoundError as error:
            raise AnswerError([Problem("unreadable", "there is no such file", Location(name))]) from error
        except (OSError, ValueError) as error:
            raise AnswerError([unreadable(name, error)]) from error

    @classmethod
    def _spooled(cls, stream: BinaryIO) -> Source:
        """All of a stream, in a file that is gone with this process; raises AnswerError where it is too long."""
        file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  it is read later
        while block := stream.read(_CHUNK):
            file.write(block)
            if file.tell() > MAX_SPOOLED_BYTES:
                message = f"has more than {MAX_SPOOLED_BYTES:,} bytes"
                raise AnswerError([Problem("too-large", message, Location(_STREAM), SPLIT)])
        file.seek(0)
        lines, digest = _digest(file, _STREAM, counted=True)
        file.seek(0)
        return cls(None, file, lines, digest)

    def rows(self) -> Iterator[Row]:
        """The rows; raises AnswerError where there are too many, or what they come from is not what it is called."""
        if self.stream is not None:
            return _json_lines(self.stream, _STREAM)
        if self.path is None:
            return iter(())
        if self.path.suffix.lower() == ".parquet":
            return parquet_rows(self.path)
        return _csv(self.path) if self.path.suffix.lower() == ".csv" else _json_file(self.path)


def _digest(file: BinaryIO, name: str, *, counted: bool) -> tuple[int | None, str]:
    """How many lines there are, where they are ``counted``, and the SHA-256 of it all."""
    found, count, last = hashlib.sha256(), 0, b"\n"
    while block := file.read(_CHUNK):
        found.update(block)
        count += block.count(b"\n")
        last = block
        if counted and count > MAX_ROWS + 1:
            raise too_many(name)
    return (count + (not last.endswith(b"\n"))) if counted else None, found.hexdigest()


def _json_file(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from _json_lines(file, str(path))


def _json_lines(file: BinaryIO, source: str) -> Iterator[Row]:
    """One JSON object a line; raises AnswerError beyond the most rows."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        place, name = f"line {number}", f"{source}:{number}"
        if number > MAX_ROWS + 1:
            raise too_many(source)
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if len(line) > MAX_LINE_BYTES:
            while line and not line.endswith(b"\n"):  # the rest of it is passed over
                line = file.readline(_CHUNK)
            yield Row(place, name, problem=f"the line is longer than {MAX_LINE_BYTES:,} bytes")
        elif line.strip():
            yield _json_row(line, place, name)


def _json_row(line: bytes, place: str, name: str) -> Row:
    try:
        data = parse(line.decode("utf-8"))
    except RecursionError:
        return Row(place, name, problem="it is nested too deeply")
    except json.JSONDecodeError as error:  # it would say that this is in line 1
        return Row(place, name, problem=f"it is not one JSON object: {error.msg}, at character {error.colno}")
    except ValueError as error:  # bad JSON, bad UTF-8, an endless number, a key twice
        return Row(place, name, problem=f"it is not one JSON object: {str(error)[:200]}")
    if not isinstance(data, dict):
        return Row(place, name, problem="it is not a JSON object of answers")
    return with_id(data, place, name)


class _Lines:
    """The lines of a CSV file, none longer than the limit; a longer one is an error, and the next one follows."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.number = 0
        """Of the last line read."""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line: str = self._file.readline(MAX_LINE_BYTES + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) <= MAX_LINE_BYTES:
            return line
        while line and not line.endswith(("\n", "\r")):
            line = self._file.readline(_CHUNK)
        raise csv.Error(f"the line is longer than {MAX_LINE_BYTES:,} characters")


def _csv(path: Path) -> Iterator[Row]:
    """Columns are dotted keys, as with ``--set``; an empty cell is no answer."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = _Lines(file)
        reader = csv.reader(lines, strict=True)
        header = _header(reader, str(path))
        while True:
            first = lines.number + 1
            place, name = f"line {first}", f"{path}:{first}"
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                taken = f" (one row of lines {first} to {lines.number})" if lines.number > first else ""
                yield Row(place, name, problem=f"it is not CSV: {error}{taken}")
                continue
            if cells:
                yield _csv_row(header, cells, place, name)


def _header(reader: Iterator[list[str]], name: str) -> list[str]:
    """The names of the columns; raises AnswerError."""
    try:
        header = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        raise AnswerError([Problem("unreadable", f"its header cannot be read: {error}", Location(name))]) from error
    if not all(map(is_text, header)):
        raise AnswerError([Problem("unreadable", "its header is not UTF-8 text", Location(name, 1))])
    if not any(header) or len(header) > MAX_COLUMNS or len(set(header)) != len(header):
        message = f"its header must name up to {MAX_COLUMNS} different columns"
        raise AnswerError([Problem("unreadable", message, Location(name, 1))])
    return header


def _csv_row(header: list[str], cells: list[str], place: str, name: str) -> Row:
    if len(cells) > len(header):
        return Row(place, name, problem=f"it has {len(cells)} cells, more than the {len(header)} columns")
    given = {key: cell.strip() for key, cell in zip(header, cells, strict=False) if cell.strip()}
    if not all(map(is_text, given.values())):
        return Row(place, name, problem="it is not UTF-8 text")
    if "" in given:
        return Row(place, name, problem=f"column {header.index('') + 1} has a cell here, and no name in the header")
    return with_settings(given, place, name)
