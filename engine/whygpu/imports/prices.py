"""A CSV of prices, or a price list as published, as offerings: each row checked, every bad one told with its line."""

from __future__ import annotations

import csv
import io
from datetime import date
from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.imports.feeds import MOST_BYTES, read_feed
from whygpu.imports.machines import machine_rows
from whygpu.imports.offers import MOST_CARDS, MOST_USD_PER_HOUR, PriceRow, offering_entries
from whygpu.knowledge.catalogue import PRICE_KINDS
from whygpu.loader.files import read_text
from whygpu.quantity import parse_number
from whygpu.spreadsheet import is_formula
from whygpu.yamldoc.document import MAX_BYTES
from whygpu.yamldoc.forms import DATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from whygpu.imports.entries import Entries
    from whygpu.knowledge.catalogue import Catalogue

COLUMNS = ("accelerator", "count", "usd_per_hour", "price_kind", "region", "instance", "as_of", "note")
REQUIRED = ("accelerator", "usd_per_hour")
MOST_ROWS = 5_000
_MOST_TEXT = 200
_TEXTS = ("region", "instance", "note")


def price_entries(
    path: Path,
    catalogue: Catalogue,
    *,
    provider: str,
    sources: tuple[str, ...],
    as_of: str | None,
    today: date,
    regions: tuple[str, ...] = (),
) -> Entries:
    """The offerings of a CSV file or a published list; raises AnswerError with every bad row, and then gives none.

    ``as_of``: the day of rows that do not say theirs. ``regions``: those to keep of a published list; empty: all.
    """
    text = read_text(path, str(path), MOST_BYTES)
    if isinstance(text, Problem):
        raise AnswerError([text])
    reader = _Reader(str(path), catalogue, as_of, today)
    if as_of is not None:
        reader.date(as_of, Location("--as-of"))
    notes: tuple[str, ...] = ()
    feed = read_feed(text, str(path))
    if feed is None:
        if len(text) > MAX_BYTES:
            message = f"the file has more than {MAX_BYTES:,} characters, the limit of such a CSV"
            raise AnswerError([Problem("too-large", message, Location(str(path), 1), "split the file")])
        rows = list(reader.rows(text))
    else:
        reader.problems.extend(feed.problems)
        day = as_of or feed.as_of
        if day is None:
            message = "the list does not say of which day it is"
            reader.problems.append(
                Problem("no-date", message, Location(str(path), 1), "give --as-of, the day it was read")
            )
        elif as_of is None:
            reader.date(day, Location(str(path), 1))
        rows, notes = machine_rows(feed.machines, catalogue, provider, regions, day or "", reader.problems)
    if not rows and not reader.problems:
        message = "there is no price in the file" + ("" if feed is None else " of a machine that the catalogue knows")
        reader.problems.append(Problem("no-rows", message, Location(str(path), 1), notes[0] if notes else None))
    return offering_entries(rows, catalogue, provider, sources, reader.problems, notes)


class _Reader:
    """Reads rows and keeps every problem."""

    def __init__(self, name: str, catalogue: Catalogue, as_of: str | None, today: date) -> None:
        self._name, self._catalogue, self._as_of, self._today = name, catalogue, as_of, today
        self.problems: list[Problem] = []

    def rows(self, text: str) -> Iterator[tuple[PriceRow, Location]]:
        """The good rows, each with its place."""
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            header = [cell.strip().lower() for cell in next(reader, [])]
            if not self._header(header):
                return
            for number, cells in enumerate(reader, start=1):
                if number > MOST_ROWS:
                    self._complain("too-many-rows", f"more than {MOST_ROWS:,} rows", reader.line_num, "split the file")
                    return
                if any(cell.strip() for cell in cells):
                    row = self._row(header, cells, reader.line_num)
                    if row is not None:
                        yield row, Location(self._name, reader.line_num)
        except csv.Error as error:
            self._complain("bad-csv", f"not a CSV file: {error}", reader.line_num, "separate by commas, quote texts")

    def _header(self, header: list[str]) -> bool:
        before = len(self.problems)
        columns = ", ".join(COLUMNS)
        for name in header:
            if name not in COLUMNS:
                hint = did_you_mean(name, COLUMNS) or f"columns: {columns}"
                self._complain("unknown-column", f"there is no column '{name[:80]}'", 1, hint)
        for name in REQUIRED:
            if name not in header:
                self._complain("missing-column", f"the first line has no column '{name}'", 1, f"columns: {columns}")
        for name in dict.fromkeys(name for name in header if header.count(name) > 1):
            self._complain("repeated-column", f"the column '{name[:80]}' stands twice", 1, "drop one of them")
        return len(self.problems) == before

    def _row(self, header: list[str], cells: list[str], line: int) -> PriceRow | None:
        before = len(self.problems)
        if len(cells) != len(header):
            hint = "put a text that has a comma in double quotes"
            self._complain("bad-row", f"{len(cells)} cells under {len(header)} columns", line, hint)
            return None
        given = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        for name, cell in given.items():
            if len(cell) > _MOST_TEXT:
                self._complain("too-long", f"'{name}' has more than {_MOST_TEXT} characters", line, "shorten it")
            elif name in _TEXTS and is_formula(cell):
                fix = "begin it with a letter or digit: a spreadsheet would run it"
                self._complain("formula", f"'{name}' is '{cell[:40]}', which reads as a formula", line, fix)
        row = PriceRow(
            self._accelerator(given["accelerator"], line),
            self._count(given.get("count", ""), line),
            self._usd(given["usd_per_hour"], line),
            self._kind(given.get("price_kind", ""), line),
            given.get("region", ""),
            given.get("instance", ""),
            self._day(given.get("as_of", ""), line),
            given.get("note", ""),
        )
        return row if len(self.problems) == before else None

    def _complain(self, code: str, message: str, line: int, hint: str | None) -> None:
        self.problems.append(Problem(code, message, Location(self._name, line), hint))

    def _accelerator(self, text: str, line: int) -> str:
        ids = self._catalogue.find_accelerators(text) if text else ()
        if text in self._catalogue.accelerators:
            return text
        if len(ids) == 1:
            return ids[0]
        if ids:
            self._complain("several-accelerators", f"'{text[:80]}' is more than one", line, f"one of: {', '.join(ids)}")
            return ""
        cards: Mapping[str, object] = self._catalogue.accelerators
        hint = did_you_mean(text, cards) or "'whygpu catalogue accelerators' lists them"
        self._complain("unknown-accelerator", f"there is no accelerator '{text[:80]}'", line, hint)
        return ""

    def _count(self, text: str, line: int) -> int:
        if not text:
            return 1
        if text.isascii() and text.isdecimal() and len(text) < 9 and 0 < int(text) <= MOST_CARDS:
            return int(text)
        self._complain("bad-count", f"count is '{text[:40]}'", line, "a whole number of accelerators, such as 8")
        return 1

    def _usd(self, text: str, line: int) -> float:
        value = parse_number(text, "USD")
        if value is None or not 0 < value <= MOST_USD_PER_HOUR:
            hint = "US dollars an hour for the whole row, such as 2.49"
            self._complain("bad-price", f"usd_per_hour is '{text[:40]}'", line, hint)
            return 0.0
        return value

    def _kind(self, text: str, line: int) -> str:
        word = text.lower().replace("_", "-").replace(" ", "-") or "on-demand"
        if word not in PRICE_KINDS:
            hint = did_you_mean(word, PRICE_KINDS) or f"one of {', '.join(PRICE_KINDS)}"
            self._complain("bad-choice", f"price_kind is '{text[:40]}'", line, hint)
        return word

    def _day(self, text: str, line: int) -> str:
        if text:
            self.date(text, Location(self._name, line))
            return text
        if self._as_of is None:
            self._complain("no-date", "the row has no as_of", line, "fill the column, or give --as-of for all rows")
        return self._as_of or ""

    def date(self, text: str, location: Location) -> None:
        """Complain of what is not a day, or is one to come."""
        try:
            day = date.fromisoformat(text) if DATE.match(text) else None
        except ValueError:
            day = None
        if day is None:
            self.problems.append(Problem("bad-date", f"as_of is '{text[:40]}'", location, "write it as 2026-11-21"))
        elif day > self._today:
            self.problems.append(
                Problem("bad-date", f"as_of is {text}, which is still to come", location, "check the year")
            )
