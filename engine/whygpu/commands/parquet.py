"""Rows out of Parquet, in bounded memory: a small file may stand for a very large table.

Texts stay in dictionaries (each once) until a row is known to be short; what a file's metadata says it holds is bounded
before anything is read.
"""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from whygpu.commands.row import MAX_COLUMNS, MAX_LINE_BYTES, MAX_ROWS, Row, too_many, with_id
from whygpu.errors import AnswerError, Location, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_CELLS = 20_000_000  # items of lists count as cells
MAX_GROUP_BYTES = 256 * 2**20  # a group of rows, decompressed but with each text of it once
_BATCH_ROWS, _BATCH_BYTES = 256, 16 * 2**20


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a file; raises AnswerError where it is none, or is beyond the limits."""
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  slow to import
    except ImportError as error:
        raise AnswerError(
            [Problem("unreadable", "reading Parquet needs pyarrow", Location(str(path)), "pip install pyarrow")]
        ) from error
    try:
        with parquet.ParquetFile(path) as plain:
            _check(plain.metadata, str(path))
            schema = plain.schema
            texts = [column.path for column in map(schema.column, range(len(schema))) if "BYTE" in column.physical_type]
        with parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                for data in _short(batch):
                    number += 1
                    yield _row(data, f"row {number}", f"{path}: row {number}")
    except (ArrowException, OSError, ValueError) as error:  # ValueError: a day beyond those of Python
        raise AnswerError(
            [Problem("unreadable", f"is not Parquet: {str(error)[:200]}", Location(str(path)))]
        ) from error


def _check(metadata: Any, name: str) -> None:
    """Refuse what would not fit into bounded memory; raises AnswerError."""
    if metadata.num_rows > MAX_ROWS:
        raise too_many(name)
    if metadata.num_columns > MAX_COLUMNS:
        raise AnswerError([Problem("too-large", f"has more than {MAX_COLUMNS} columns", Location(name))])
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [[group.column(number) for number in range(group.num_columns)] for group in groups]
    if sum(column.num_values for group in columns for column in group) > MAX_CELLS:
        raise AnswerError([Problem("too-large", f"has more than {MAX_CELLS:,} cells", Location(name))])
    if any(sum(column.total_uncompressed_size for column in group) > MAX_GROUP_BYTES for group in columns):
        message = f"has a group of rows of more than {MAX_GROUP_BYTES:,} bytes"
        raise AnswerError([Problem("too-large", message, Location(name), "write it in smaller row groups")])


def _short(batch: Any) -> Iterator[dict[str, Any] | None]:
    """The rows of a batch as data; None for one that is longer than a row may be."""
    if _bytes(batch.to_struct_array()) <= _BATCH_BYTES:
        rows: list[dict[str, Any]] = batch.to_pylist()
        yield from rows
        return
    for number in range(batch.num_rows):
        row = batch.slice(number, 1)
        yield row.to_pylist()[0] if _bytes(row.to_struct_array()) <= MAX_LINE_BYTES else None


def _bytes(array: Any) -> int:
    """What an array takes once every value is written out."""
    import pyarrow  # noqa: PLC0415
    from pyarrow import compute  # noqa: PLC0415

    kind = array.type
    if pyarrow.types.is_dictionary(kind):
        lengths = compute.binary_length(array.dictionary).take(array.indices)
        return int(compute.sum(lengths).as_py() or 0) + 8 * len(array)
    if pyarrow.types.is_struct(kind):
        return sum(map(_bytes, array.flatten()))
    if isinstance(array, pyarrow.ListArray | pyarrow.LargeListArray | pyarrow.FixedSizeListArray):
        return _bytes(array.flatten()) + 8 * len(array)
    return int(array.nbytes)


def _row(data: dict[str, Any] | None, place: str, name: str) -> Row:
    if data is None:
        return Row(place, name, problem=f"it is longer than {MAX_LINE_BYTES:,} bytes")
    nested = _nested(data)
    if nested is None:
        return Row(place, name, problem="a column and one inside it ('a' and 'a.b') both have a value: leave one out")
    return with_id(nested, place, name)


def _nested(data: dict[str, Any]) -> dict[str, Any] | None:
    """Columns with dotted names as mappings; null is no answer. None where one would take the place of another."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        if value is None:
            continue
        *outer, last = str(key).split(".")
        inner = found
        for word in outer:
            inner = inner.setdefault(word, {})
            if not isinstance(inner, dict):
                return None
        if last in inner:
            return None
        inner[last] = _value(value)
    return found


def _value(value: Any) -> Any:
    """A value as JSON would hold it: a decimal is a number, a day a text; what is null in a mapping is left out."""
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if isinstance(value, date | datetime | time) else value
