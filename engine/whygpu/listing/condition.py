"""Rows for which a condition in the knowledge base's own language holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.errors import AnswerError, Location, Problem
from whygpu.language import values as v
from whygpu.language.evaluate import Evaluator
from whygpu.language.names import NameSpec
from whygpu.listing.rows import ENTITY
from whygpu.loader.conditions import Reading
from whygpu.plans.columns import accelerator_columns
from whygpu.yamldoc.document import Document, Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.knowledge.base import Knowledge
    from whygpu.listing.rows import Listing


class _Columns:
    """The environment of a condition: each name is a column over the rows."""

    def __init__(self, columns: Mapping[str, v.Value]) -> None:
        self._columns = columns

    def value(self, name: str) -> v.Value:
        return self._columns[name]

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:  # noqa: ARG002  the protocol's signature
        return v.NO_NUMBER


def where(knowledge: Knowledge, found: Listing, condition: str) -> Listing:
    """The rows for which a condition in the knowledge base's language surely holds; raises AnswerError.

    Names are ``gpu.``, ``offering.`` or ``model.`` and a column. Rows whose figures leave it open are counted.
    """
    specs, columns = _condition_names(knowledge, found)
    problems: list[Problem] = []
    reading = Reading(specs, {}, frozenset(), problems)
    tree = reading.condition(Scalar(condition, condition, Document("--where", condition), 1, 1, len(condition) + 1))
    if problems or tree is None:
        raise AnswerError(problems or [Problem("bad-condition", "cannot be read", Location("--where"))])
    truth = Evaluator(_Columns(columns)).truth(tree.tree)
    size = len(found.rows)
    true = np.broadcast_to(np.asarray(truth.true, dtype=np.bool_), (size,))
    false = np.broadcast_to(np.asarray(truth.false, dtype=np.bool_), (size,))
    rows = tuple(row for row, holds in zip(found.rows, true.tolist(), strict=True) if holds)
    return replace(found, rows=rows, unknown=int((~true & ~false).sum()))


def _condition_names(knowledge: Knowledge, found: Listing) -> tuple[dict[str, NameSpec], dict[str, v.Value]]:
    """What the names are, and their values over the rows."""
    if found.section != "accelerators":
        return _plain_names(found)
    everything = accelerator_columns(knowledge)
    index = {card: number for number, card in enumerate(knowledge.catalogue.accelerators)}
    rows = np.array([index[row.id] for row in found.rows], dtype=np.int64)
    columns = {name: _take(value, rows) for name, value in everything.items()}
    specs = {name: spec for name, spec in knowledge.vocabulary.items() if name in columns}
    prices = np.array(
        [np.nan if row.values["usd_per_hour"] is None else row.values["usd_per_hour"] for row in found.rows]
    )
    specs["gpu.usd_per_hour"] = NameSpec("gpu.usd_per_hour", "number", "its price", Location("catalogue"), "USD/hour")
    columns["gpu.usd_per_hour"] = v.column(prices.astype(np.float64))
    return specs, columns


def _plain_names(found: Listing) -> tuple[dict[str, NameSpec], dict[str, v.Value]]:
    entity = ENTITY[found.section]
    specs: dict[str, NameSpec] = {}
    columns: dict[str, v.Value] = {}
    for column in found.columns:
        name, cells = f"{entity}.{column}", [row.values[column] for row in found.rows]
        given = [cell for cell in cells if cell is not None]
        if any(isinstance(cell, str) for cell in given) or not given:
            specs[name] = NameSpec(name, "text", column, Location("catalogue"))
            columns[name] = v.Word(np.array(["" if cell is None else str(cell) for cell in cells], dtype=np.str_))
        elif all(isinstance(cell, bool) for cell in given):
            specs[name] = NameSpec(name, "flag", column, Location("catalogue"))
            columns[name] = v.Truth(
                np.array([cell is True for cell in cells]), np.array([cell is False for cell in cells])
            )
        else:
            specs[name] = NameSpec(name, "number", column, Location("catalogue"), found.units.get(column))
            columns[name] = v.column(np.array([np.nan if cell is None else float(cell) for cell in cells]))
    return specs, columns


def _take(value: v.Value, rows: NDArray[np.int64]) -> v.Value:
    def pick(item: Any) -> Any:
        return item[rows] if isinstance(item, np.ndarray) else item

    match value:
        case v.Number(low=low, high=high, present=present):
            return v.Number(pick(low), pick(high), pick(present))
        case v.Word(word=word):
            return v.Word(pick(word))
        case v.Truth(true=true, false=false):
            return v.Truth(pick(true), pick(false))
