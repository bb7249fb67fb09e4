"""Looks at each table: values no row covers, rows that say nothing new, rows that are never reached."""

from __future__ import annotations

from itertools import combinations, islice, product
from math import inf, prod
from typing import TYPE_CHECKING

from whygpu.language.domains import Numbers, Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Table, TableRow
    from whygpu.lint.finding import Finding

_MAX_COMBINATIONS = 5_000
_SHOWN = 3


def gaps(knowledge: Knowledge) -> Iterator[Finding]:
    """Combinations of choices, or ranges of numbers, for which a table has no row."""
    for table in knowledge.tables:
        if table.hit == "collect":
            continue
        missing = list(islice(_uncovered(table, knowledge), _SHOWN + 1))
        if missing:
            shown = "; ".join(missing[:_SHOWN]) + ("; and more" if len(missing) > _SHOWN else "")
            help_text = "add rows; one with '-' in every cell, and no outcome, says that the rest is meant to be empty"
            yield table.location, f"table '{table.id}' has no row for {shown}", help_text


def _uncovered(table: Table, knowledge: Knowledge) -> Iterator[str]:
    listed: list[tuple[int, tuple[str | bool, ...]]] = [
        (index, tuple(sorted(knowledge.vocabulary[name].words)) or (False, True))
        for index, name in enumerate(table.columns)
        if knowledge.vocabulary[name].kind in ("choice", "flag")
    ]
    if listed and prod(len(values) for _, values in listed) <= _MAX_COMBINATIONS:
        for combination in product(*(values for _, values in listed)):
            cells = {index: Words(frozenset([value])) for (index, _), value in zip(listed, combination, strict=True)}
            if not any(all(cell.within(row.domains[index]) for index, cell in cells.items()) for row in table.rows):
                yield ", ".join(
                    f"{table.columns[index]} {str(value).lower()}"
                    for (index, _), value in zip(listed, combination, strict=True)
                )
    for index, name in enumerate(table.columns):
        if knowledge.vocabulary[name].kind == "number":
            yield from (f"{name} {gap}" for gap in _number_gaps(table, index))


def _number_gaps(table: Table, index: int) -> Iterator[str]:
    parts = [part for row in table.rows if isinstance(domain := row.domains[index], Numbers) for part in domain.parts]
    parts.sort(key=lambda part: (part.low, part.open_low))
    if not parts:
        return
    if parts[0].low > -inf:
        yield f"below {parts[0].low:g}"
    reach, reach_open = parts[0].high, parts[0].open_high
    for part in parts[1:]:
        if part.low > reach or (part.low == reach and part.open_low and reach_open):
            yield f"of {reach:g}" if part.low == reach else f"between {reach:g} and {part.low:g}"
        if (part.high, not part.open_high) > (reach, not reach_open):
            reach, reach_open = part.high, part.open_high
    if reach < inf:
        yield f"above {reach:g}"


def redundant(knowledge: Knowledge) -> Iterator[Finding]:
    """Rows of one outcome of which one lies within the other."""
    for table in knowledge.tables:
        if table.hit == "first":
            continue
        for one, two in combinations(table.rows, 2):
            if one.effects != two.effects or not one.effects:
                continue
            if _within(two, one) or _within(one, two):
                inner, outer = (two, one) if _within(two, one) else (one, two)
                message = f"row '{inner.id}' of table '{table.id}' says nothing that '{outer.id}' does not"
                yield inner.location, message, "remove it"


def shadowed(knowledge: Knowledge) -> Iterator[Finding]:
    """Rows of a first-hit table that lie wholly within one above them."""
    for table in knowledge.tables:
        if table.hit != "first":
            continue
        for above, below in combinations(table.rows, 2):
            if _within(below, above):
                message = f"row '{below.id}' of table '{table.id}' is never reached: '{above.id}' matches first"
                yield below.location, message, "move it up, or remove it"


def _within(inner: TableRow, outer: TableRow) -> bool:
    return all(one.within(two) for one, two in zip(inner.domains, outer.domains, strict=True))
