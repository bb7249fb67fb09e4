"""Coefficients: measured shares, overheads and rates that a formula cannot give. Each is a fact with a range and a
source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.errors import KnowledgeBaseError, Location, Problem

_MOST_ROWS = 4096

Context = Mapping[str, str]
"""What a coefficient may depend on, as words: runtime, format, method, optimizer, generation, class, ..."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A figure between `low` and `high`. `low` is the lesser figure, whichever of the two is the better one."""

    id: str
    low: float
    likely: float
    high: float
    unit: str
    meaning: str = ""
    source: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """Another figure under a condition: every word of `when` has to match one of its allowed words."""

    when: tuple[tuple[str, tuple[str, ...]], ...]
    figure: Coefficient

    def matches(self, context: Context) -> bool:
        """Whether each condition holds; what the context leaves out does not hold."""
        return all(context.get(key) in words for key, words in self.when)


class Coefficients:
    """A read-only set of coefficients. `pick` gives the most specific case that matches, the plain figure where none
    does.

    An entry with `rows` instead of figures is a table, which `table` gives as it is.
    """

    __slots__ = ("_cases", "_keys", "_memo", "_plain", "_rows", "_tables")

    def __init__(
        self,
        plain: Mapping[str, Coefficient],
        cases: Mapping[str, tuple[Case, ...]],
        tables: Mapping[str, tuple[Mapping[str, Any], ...]] | None = None,
    ) -> None:
        self._plain = dict(plain)
        self._tables = dict(tables or {})
        # The most specific case first, so that the first match decides.
        self._cases = {
            name: tuple(sorted(rows, key=lambda row: -len(row.when))) for name, rows in cases.items() if rows
        }
        self._keys = {
            name: tuple(sorted({key for row in rows for key, _ in row.when})) for name, rows in self._cases.items()
        }
        self._memo: dict[tuple[str | None, ...], Coefficient] = {}
        self._rows: dict[tuple[object, ...], tuple[object, NDArray[np.float64]]] = {}

    @classmethod
    def of(cls, entries: Iterable[Mapping[str, Any]]) -> Coefficients:
        """Build from the entries of kb/facts/coefficients.yaml as plain data. Raises ValueError naming a bad entry."""
        plain: dict[str, Coefficient] = {}
        cases: dict[str, tuple[Case, ...]] = {}
        tables: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for entry in entries:
            name = str(entry["id"])
            if name in plain or name in tables:
                raise ValueError(f"coefficient {name} is given twice")
            if "rows" in entry:
                tables[name] = tuple(entry["rows"])
                continue
            plain[name] = figure = _figure(name, entry, None)
            cases[name] = tuple(_case(name, row, figure) for row in entry.get("by", ()))
            _refuse_ties(name, cases[name])
        return cls(plain, cases, tables)

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    def __contains__(self, name: str) -> bool:
        return name in self._plain

    def cases(self, name: str) -> tuple[Case, ...]:
        """The cases of one coefficient, the most specific first."""
        return self._cases.get(name, ())

    def table(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """The rows of a table, empty where there is none of the name."""
        return self._tables.get(name, ())

    def pick(self, name: str, context: Context) -> Coefficient:
        """The figure that holds in this context. Raises KnowledgeBaseError where no coefficient has the name."""
        keys = self._keys.get(name)
        if keys is None:
            if name not in self._plain:
                raise _missing(name)
            return self._plain[name]
        seen = (name, *map(context.get, keys))
        found = self._memo.get(seen)
        if found is None:
            found = next((row.figure for row in self._cases[name] if row.matches(context)), self._plain[name])
            self._memo[seen] = found
        return found

    def rows(
        self,
        name: str,
        bases: Sequence[Context],
        cards: object,
        contexts: Callable[[Context], Sequence[Context]],
    ) -> NDArray[np.float64]:
        """Low, likely and high for each kind of card, in one column where all are alike; such a table for each of the
        ``bases``, the words of the work, where these make a difference.

        ``contexts`` gives the words of each kind beside those of the work. What was picked for the same cards and the
        same other words is not picked again. Raises KnowledgeBaseError where no coefficient has the name.
        """
        keys = self._keys.get(name, ())
        words = tuple([tuple(map(base.get, keys)) for base in bases]) if keys else ()
        seen = (name, id(cards), words)
        known = self._rows.get(seen)
        if known is not None and known[0] is cards:
            return known[1]
        if len(set(words)) > 1:
            # each picked once, in whatever company it comes
            rows = _together([self.rows(name, (base,), cards, contexts) for base in bases], len(contexts(bases[0])))
        else:
            rows = self._picked(name, contexts(bases[0]))
        if len(self._rows) >= _MOST_ROWS:
            self._rows.clear()
        self._rows[seen] = (cards, rows)  # the cards are kept, so that their identity stays theirs
        return rows

    def _picked(self, name: str, contexts: Sequence[Context]) -> NDArray[np.float64]:
        """Low, likely and high in each of the contexts, in one column where all are alike."""
        picked = [self.pick(name, context) for context in contexts]
        if all(figure is picked[0] for figure in picked):
            picked = picked[:1]
        return np.array([[c.low for c in picked], [c.likely for c in picked], [c.high for c in picked]])


def _together(tables: Sequence[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    """The tables of several words of the work, ``width`` kinds of cards each, or one where they are the same."""
    if all(np.array_equal(table, tables[0]) for table in tables):
        return tables[0]
    return np.stack([np.broadcast_to(table, (len(table), width)) for table in tables])


def _missing(name: str) -> KnowledgeBaseError:
    """A check asks for a coefficient that the knowledge base does not have."""
    return KnowledgeBaseError(
        [
            Problem(
                "missing-coefficient",
                f"there is no coefficient '{name}', which a numeric check needs",
                Location("facts/coefficients.yaml"),
                "put it back: 'id', 'low', 'likely', 'high', 'unit', 'source'",
            )
        ]
    )


def _refuse_ties(name: str, cases: tuple[Case, ...]) -> None:
    """Two cases with equally many conditions that one context can satisfy would be decided by their order."""
    for number, first in enumerate(cases):
        for second in cases[number + 1 :]:
            shared = dict(second.when)
            apart = any(key in shared and not set(words) & set(shared[key]) for key, words in first.when)
            covered = any(len(other.when) > len(first.when) and _covers(other, first, second) for other in cases)
            if len(first.when) == len(second.when) and not apart and not covered:
                raise ValueError(
                    f"coefficient {name}: cases {dict(first.when)} and {shared} can both hold; add one for both"
                )


def _covers(other: Case, first: Case, second: Case) -> bool:
    """Whether a more specific case settles what both of two cases match."""
    keys = {key for key, _ in first.when} | {key for key, _ in second.when}
    return {key for key, _ in other.when} <= keys


def _sources(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _figure(name: str, row: Mapping[str, Any], base: Coefficient | None) -> Coefficient:
    low, likely, high = (float(row[key]) for key in ("low", "likely", "high"))
    if not low <= likely <= high:
        raise ValueError(f"coefficient {name}: {low} <= {likely} <= {high} does not hold")
    return Coefficient(
        id=name,
        low=low,
        likely=likely,
        high=high,
        unit=base.unit if base else str(row["unit"]),
        meaning=base.meaning if base else str(row["meaning"]),
        source=_sources(row.get("source")) or (base.source if base else ()),
        note=str(row.get("note", "")),
    )


def _case(name: str, row: Mapping[str, Any], base: Coefficient) -> Case:
    when = tuple(
        (str(key), (words,) if isinstance(words, str) else tuple(str(word) for word in words))
        for key, words in sorted(row["when"].items())
    )
    return Case(when, _figure(name, row, base))
