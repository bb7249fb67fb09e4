"""How many rows of a batch there are, how many are answered, and whose ids are the same."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.commands.row import Row

_ERROR = re.compile(r'\{"id": (?:"(?:[^"\\]|\\.)*"|[^",]*), "error": ')


def is_error(line: str) -> bool:
    """Whether a result line, or the beginning of one, is an error."""
    return _ERROR.match(line) is not None


class Tally:
    """Counts rows and results."""

    def __init__(self, done: int, errors: int) -> None:
        """``done``: rows answered before, of which ``errors`` are errors."""
        self._rows, self._errors = done, errors
        self._ids = array("q")  # eight bytes a row, of two million

    def of(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, their ids noted."""
        for row in rows:
            self._ids.append(hash(repr(row.id)))
            yield row

    def add(self, lines: Iterable[str]) -> None:
        """So many more results are there."""
        for line in lines:
            self._rows += 1
            self._errors += is_error(line)

    @property
    def text(self) -> str:
        """What became of the rows, in one line."""
        from numpy import unique  # noqa: PLC0415  --help needs no numpy

        count = f"{self._rows:,} row{'s' * (self._rows != 1)}"
        if not self._rows:
            said = "no rows"
        elif not self._errors:
            said = f"{count}, all answered"
        elif self._errors == self._rows:
            said = f"{count}, none answered: each line of the results says why"
        else:
            said = f"{count}, {self._rows - self._errors:,} answered and {self._errors:,} in error"
        again = len(self._ids) - len(unique(self._ids))
        return said if not again else f"{said}; {again:,} with the id of an earlier row"
