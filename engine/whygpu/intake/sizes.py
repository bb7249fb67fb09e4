"""The shape typical of a number of parameters, for a model of which nothing else is known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TypicalShape:
    """One row of the table `shape-by-parameters` in kb/facts/coefficients.yaml: the sizes of the model named in
    `like`.
    """

    like: str
    parameters: int
    layers: int
    hidden_size: int
    ffn_size: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    tied_embeddings: bool
    source: str


@dataclass(frozen=True, slots=True)
class SizeTable:
    """Typical shapes, the smallest first."""

    rows: tuple[TypicalShape, ...]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> SizeTable:
        """Build from plain data. Raises TypeError or ValueError on malformed rows or none."""
        built = tuple(sorted((TypicalShape(**row) for row in rows), key=lambda row: row.parameters))
        if not built:
            raise ValueError("the table shape-by-parameters has no rows")
        return cls(built)

    def nearest(self, parameters: float) -> TypicalShape:
        """The row nearest by ratio."""
        wanted = math.log(parameters)
        return min(self.rows, key=lambda row: abs(math.log(row.parameters) - wanted))
