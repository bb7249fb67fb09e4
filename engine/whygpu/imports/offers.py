"""Prices on their way into a file: one row, the id it gets, and the entry that is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem
from whygpu.imports.entries import Entries, Value, flow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.knowledge.catalogue import Catalogue

MOST_ENTRIES = 5_000
MOST_USD_PER_HOUR = 1e6
MOST_CARDS = 100_000


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price as it will be written."""

    accelerator: str
    count: int
    usd_per_hour: float
    price_kind: str
    region: str
    instance: str
    as_of: str
    note: str = ""

    def stem(self, provider: str) -> str:
        """What names it among the provider's other prices."""
        parts = [provider, self.instance or self.accelerator]
        parts += [f"x{self.count}"] if self.count > 1 else []
        parts += [self.price_kind] if self.price_kind != "on-demand" else []
        parts += [self.region, self.as_of]
        return re.sub(r"[^a-z0-9.]+", "-", "-".join(part for part in parts if part).lower()).strip("-.")


def offering_entries(
    rows: Iterable[tuple[PriceRow, Location]],
    catalogue: Catalogue,
    provider: str,
    sources: tuple[str, ...],
    problems: list[Problem],
    notes: tuple[str, ...] = (),
) -> Entries:
    """The rows as offerings; raises AnswerError with ``problems`` and every price that stands twice."""
    seen = {item.id for item in catalogue.offerings}
    items: list[str] = []
    for row, location in rows:
        identifier = row.stem(provider)
        if identifier in seen:
            message = f"the same price stands twice, or is known already: '{identifier}'"
            hint = "tell them apart by instance, region or as_of, or drop one"
            problems.append(Problem("duplicate-price", message, location, hint))
        seen.add(identifier)
        items.append(flow(_fields(row, identifier, provider, sources)))
    if problems:
        raise AnswerError(problems)
    return Entries("offerings", tuple(items), notes)


def _fields(row: PriceRow, identifier: str, provider: str, sources: tuple[str, ...]) -> dict[str, Value]:
    fields: dict[str, Value] = {"id": identifier, "provider": provider}
    if row.instance:
        fields["instance"] = row.instance
    fields |= {"accelerator": row.accelerator, "count": row.count}
    if row.region:
        fields["region"] = row.region
    fields |= {"price_kind": row.price_kind, "usd_per_hour": row.usd_per_hour, "as_of": row.as_of}
    fields["source"] = sources if len(sources) > 1 else sources[0]
    return {**fields, "note": row.note} if row.note else fields
