"""Each catalogue as rows: a value for every column of every entry."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from whygpu.knowledge.catalogue import fold
from whygpu.listing.documents import listed_beside
from whygpu.plans.price import usual_prices
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.errors import Location
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator, Catalogue, Plain

Section = Literal["accelerators", "offerings", "models"]
SECTIONS: tuple[Section, ...] = get_args(Section)
ENTITY: Mapping[Section, str] = MappingProxyType({"accelerators": "gpu", "offerings": "offering", "models": "model"})
"""What a name begins with in a condition; columns leave it out."""
A_MONTH = "a month"
"""The unit of a model's downloads."""


@dataclass(frozen=True, slots=True)
class Row:
    """One entry: a value for each column (None: not known), what is said of the values, and where it comes from."""

    id: str
    values: Mapping[str, Plain | None]
    sources: tuple[str, ...]
    location: Location
    words: str
    """What a search looks in, folded."""
    absent: frozenset[str] = frozenset()
    """Columns that the hardware is known to lack."""
    estimated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of one catalogue. ``columns``: every one there is; ``unknown``: rows that a condition could not judge."""

    section: Section
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    unknown: int = 0

    def of(self, rows: tuple[Row, ...]) -> Listing:
        """The same with other rows."""
        return replace(self, rows=rows)


def listing(knowledge: Knowledge, section: Section, today: date | None = None) -> Listing:
    """Everything of one catalogue, in its files' order; ``today``: the day that prices are judged by."""
    match section:
        case "accelerators":
            return _accelerators(knowledge, today or date.today())
        case "offerings":
            return _offerings(knowledge)
        case _:
            return _models(knowledge)


def _accelerators(knowledge: Knowledge, today: date) -> Listing:
    specs = {name.removeprefix("gpu."): spec for name, spec in knowledge.vocabulary.items() if spec.entity == "gpu"}
    prices = usual_prices(knowledge.catalogue, today)
    rows: list[Row] = []
    for card in knowledge.catalogue.accelerators.values():
        price = prices.price(card.id, 1, 1)
        values = {key: _figure(knowledge.catalogue, card, key) for key in specs}
        values["usd_per_hour"] = None if price is None else price.usd_per_hour
        figures = card.figures
        rows.append(
            Row(
                card.id,
                values,
                tuple(dict.fromkeys(source for figure in figures.values() for source in figure.sources)),
                card.location,
                fold(" ".join((card.id, card.name, card.family, card.vendor, *card.aliases))),
                frozenset(key for key, figure in figures.items() if figure.absent),
                frozenset(_as_gib(key) for key, figure in figures.items() if figure.estimate is not None),
            )
        )
    units = {key: spec.unit for key, spec in specs.items() if spec.unit} | {"usd_per_hour": "USD/hour"}
    return Listing("accelerators", (*specs, "usd_per_hour"), tuple(rows), units)


def _as_gib(key: str) -> str:
    return "usable_gib" if key == "usable_mib" else key


def _figure(catalogue: Catalogue, card: Accelerator, key: str) -> Plain | None:
    if key in ("id", "name", "family", "vendor"):
        return str(getattr(card, key))
    if key == "usable_gib":
        usable = catalogue.usable_bytes(card)
        return None if math.isnan(usable) else usable / GIB
    figure = card.figures.get(key)
    return None if figure is None or isinstance(figure.value, tuple) else figure.value


def _offerings(knowledge: Knowledge) -> Listing:
    catalogue = knowledge.catalogue
    rows: list[Row] = []
    for item in catalogue.offerings:
        listed = listed_beside(catalogue, item)
        values: dict[str, Plain | None] = {
            "id": item.id,
            "accelerator": item.accelerator,
            "count": float(item.count),
            "usd_per_hour": item.usd_per_hour,
            "usd_per_card": item.usd_per_hour / item.count,
            "price_kind": item.price_kind,
            "provider": item.provider,
            "provider_class": catalogue.providers[item.provider].provider_class,
            "region": item.region,
            "instance": item.instance,
            "as_of": item.as_of,
            "vcpu": item.vcpu,
            "ram_gib": item.ram_gib,
            "statistic": item.statistic,
            "suspect": item.suspect,
            "document": ", ".join(item.claims) or None,
            "listed_usd_per_hour": None if listed is None else listed.usd_per_hour,
            "note": item.note,
        }
        card = catalogue.accelerators[item.accelerator]
        words = (item.id, item.provider, card.id, card.name, item.instance or "", item.region or "")
        rows.append(Row(item.id, values, item.source, item.location, fold(" ".join(words))))
    units = dict.fromkeys(("usd_per_hour", "usd_per_card", "listed_usd_per_hour"), "USD/hour") | {"ram_gib": "GiB"}
    return Listing("offerings", tuple(rows[0].values) if rows else (), tuple(rows), units)


def _models(knowledge: Knowledge) -> Listing:
    entries = knowledge.catalogue.models.values()
    names = ("id", "name", *(key for entry in entries for key, value in entry.data.items() if _is_plain(value)))
    columns = tuple(dict.fromkeys(name for name in names if name not in ("source", "aliases")))
    rows = [
        Row(
            entry.id,
            {key: _model_value(entry.data.get(key)) for key in columns} | {"id": entry.id, "name": entry.name},
            entry.sources,
            entry.location,
            fold(" ".join((entry.id, entry.name, str(entry.data.get("task", "")), *entry.aliases))),
        )
        for entry in entries
    ]
    units = dict.fromkeys(("parameters", "active_parameters"), "parameters") | {"downloads": A_MONTH}
    return Listing("models", columns, tuple(rows), units)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _model_value(value: object) -> Plain | None:
    if isinstance(value, bool | str):
        return value
    return float(value) if isinstance(value, int | float) else None
