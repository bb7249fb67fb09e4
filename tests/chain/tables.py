"""Random decision tables, and what their rows mean: read from the cells and the hit policy, not from what is loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from whygpu.language.names import Kind
    from whygpu.language.tree import CompareOp

Plain = float | bool | str
Hit = Literal["unique", "first", "any", "collect"]
HITS: tuple[Hit, ...] = get_args(Hit)
_DRAWN: tuple[Hit, ...] = ("unique", "first", "first", "any", "collect")
Cell = tuple[tuple[tuple["CompareOp", Plain], ...], ...]
"""Alternatives, each of tests that must all hold."""
ANY: Cell = ((),)
_SPELT = re.compile(r"[a-z][a-z0-9]*\Z")
"""Words that a comparison in a cell can name: it has no quotes."""


@dataclass(frozen=True, slots=True)
class Column:
    """A name, and values worth asking it for."""

    name: str
    kind: Kind
    values: Sequence[Plain]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it was drawn."""

    hit: Hit
    columns: tuple[str, ...]
    rows: dict[str, tuple[Cell, ...]]
    """The cells of each row by the row's id, from the top."""
    exceptions: int
    """How many conditions stand under the table's ``unless``."""

    def above(self, row: str) -> list[tuple[Cell, ...]]:
        """The rows that keep this one from counting where they match."""
        identifiers = list(self.rows)
        return [self.rows[other] for other in identifiers[: identifiers.index(row)]] if self.hit == "first" else []


def draw_table(
    draw: random.Random,
    identifier: str,
    columns: Sequence[Column],
    then: Sequence[str],
    effect: Callable[[str], object],
) -> tuple[dict[str, object], Table]:
    """A table with its YAML as plain data; ``effect`` draws what stands in a cell below a word of ``then``."""
    hit = draw.choice(_DRAWN)
    rows = _rows(draw, hit, columns)
    found: list[dict[str, object]] = []
    alike = [effect(word) for word in then]
    for name, cells in rows.items():
        effects = alike if hit == "any" else [effect(word) for word in then]
        if hit != "any":
            effects = ["-" if draw.random() < 0.15 else item for item in effects]
        row: dict[str, object] = {"id": name, "if": _spelt(cells), "then": effects if len(effects) > 1 else effects[0]}
        if any(item != "-" for item in effects):
            row["source"] = "doc-1"
        found.append(row)
    data: dict[str, object] = {
        "id": identifier,
        "title": f"Table {identifier}",
        "hit": hit,
        "because": "It is so.",
        "columns": [column.name for column in columns],
        "then": list(then),
        "rows": found,
    }
    return data, Table(hit, tuple(column.name for column in columns), rows, 0)


def _rows(draw: random.Random, hit: Hit, columns: Sequence[Column]) -> dict[str, tuple[Cell, ...]]:
    if hit == "unique":  # the first column tells the rows apart
        firsts = _apart(draw, columns[0])
    else:
        firsts = [_cell(draw, columns[0]) for _ in range(draw.randint(2, 4))]
    return {
        f"r{number}": (first, *(_cell(draw, column) for column in columns[1:])) for number, first in enumerate(firsts)
    }


def _apart(draw: random.Random, column: Column) -> list[Cell]:
    if column.kind == "number":
        cuts = sorted({float(value) for value in draw.sample(column.values, 2)})
        low, high = cuts[0], cuts[-1]
        middle: list[Cell] = [((("<=", high), (">", low)),)] if low < high else []
        return [((("<=", low),),), *middle, (((">", high),),)]
    values = draw.sample(column.values, min(len(column.values), draw.randint(2, 3)))
    return [(_is(value),) for value in values]


def _cell(draw: random.Random, column: Column) -> Cell:
    if draw.random() < 0.25:
        return ANY
    some = draw.sample(column.values, min(len(column.values), draw.randint(1, 3)))
    if column.kind == "number":
        ends = sorted(float(value) for value in draw.choices(column.values, k=2))
        forms: list[Cell] = [
            (_is(some[0]),),
            tuple(_is(value) for value in some),
            (((draw.choice(("<", "<=", ">", ">=", "!=")), some[0]),),),
            (((">=", ends[0]), ("<=", ends[1])),),
        ]
        return draw.choice(forms)
    if isinstance(some[0], str) and _SPELT.match(some[0]) and some[0] not in ("true", "null") and draw.random() < 0.3:
        return ((("!=", some[0]),),)
    return draw.choice([(_is(some[0]),), tuple(_is(value) for value in some)])


def _is(value: Plain) -> tuple[tuple[CompareOp, Plain], ...]:
    return (("==", value),)


def _spelt(cells: tuple[Cell, ...]) -> object:
    """Cells as they are written; the one of a single column stands alone."""
    found = [_spelt_cell(cell) for cell in cells]
    return found if len(found) > 1 else found[0]


def _spelt_cell(cell: Cell) -> object:
    if cell == ANY:
        return "-"
    if all(len(tests) == 1 and tests[0][0] == "==" for tests in cell):
        values = [tests[0][1] for tests in cell]
        return values if len(values) > 1 else values[0]
    return " ".join(f"{op} {value}" for op, value in cell[0])
