"""One entry whole: every value with who says so, what others say, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from whygpu.knowledge.catalogue import Accelerator, Entry, Figure, Offering
from whygpu.listing.documents import listed_beside
from whygpu.listing.rows import A_MONTH
from whygpu.plans.price import usual_prices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.errors import Location
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Plain, Purchase
    from whygpu.listing.rows import Section
    from whygpu.plans.price import Price


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value was read. ``where``: an address, or what a claim of a document says."""

    id: str
    title: str
    where: str | None
    as_of: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One named figure of the entry, and its unit."""

    name: str
    unit: str | None
    figure: Figure


@dataclass(frozen=True, slots=True)
class Whole:
    """One entry of a catalogue; of an accelerator with what it costs to rent and to buy."""

    section: Section
    id: str
    name: str
    aliases: tuple[str, ...]
    location: Location
    facts: tuple[Fact, ...]
    sources: tuple[Source, ...]
    offerings: tuple[Offering, ...] = ()
    purchases: tuple[Purchase, ...] = ()
    price: Price | None = None
    """What a plan with one of the accelerator pays, unless the answers restrict providers or kinds of price."""
    unpriced: str | None = None
    """Why it has no such price."""
    listed: Mapping[str, Offering | None] = field(default_factory=dict)
    """For each offering that is a document's word (by id): what its provider lists for the same."""


def whole(knowledge: Knowledge, section: Section, identifier: str, today: date | None = None) -> Whole:
    """The entry with this id, its price judged by a day; raises KeyError where there is none."""
    catalogue = knowledge.catalogue
    match section:
        case "accelerators":
            return _accelerator(knowledge, catalogue.accelerators[identifier], today or date.today())
        case "models":
            return _model(knowledge, catalogue.models[identifier])
        case _:
            return _offering(knowledge, {item.id: item for item in catalogue.offerings}[identifier])


def sources_of(knowledge: Knowledge, ids: Iterable[str]) -> tuple[Source, ...]:
    """Each source once, in order: a reference, a document, or a claim of one."""
    return tuple(_source(knowledge, identifier) for identifier in dict.fromkeys(ids))


def _source(knowledge: Knowledge, identifier: str) -> Source:
    reference = knowledge.catalogue.references.get(identifier)
    if reference is not None:
        return Source(identifier, reference.title, reference.where, reference.as_of, reference.note)
    claim = knowledge.claims.get(identifier)
    document = knowledge.documents[claim.document if claim is not None else identifier]
    return Source(identifier, document.title, claim.says if claim is not None else None, document.date)


def _accelerator(knowledge: Knowledge, card: Accelerator, today: date) -> Whole:
    catalogue = knowledge.catalogue
    said = {"family": card.family, "vendor": card.vendor, "note": card.note}
    facts = [_plain_fact(name, text, (), card.location) for name, text in said.items() if text is not None]
    for name, figure in card.figures.items():
        facts.append(Fact(name, knowledge.vocabulary[f"gpu.{name}"].unit, figure))
    offerings = sorted(
        catalogue.offerings_by_accelerator.get(card.id, ()),
        key=lambda item: (item.never_used is not None, item.price_kind, item.usd_per_hour / item.count, item.id),
    )
    purchases = tuple(item for item in catalogue.purchases if item.accelerator == card.id)
    prices = usual_prices(catalogue, today)
    price = prices.price(card.id, 1, 1)
    cited = [source for fact in facts for source in _cited(fact.figure)]
    priced: list[Offering | Purchase] = [*offerings, *purchases]
    cited += [source for item in priced for source in item.source]
    return Whole(
        "accelerators",
        card.id,
        card.name,
        card.aliases,
        card.location,
        tuple(facts),
        sources_of(knowledge, cited),
        tuple(offerings),
        purchases,
        price,
        prices.why_none(card.id) if price is None else None,
        {item.id: listed_beside(catalogue, item) for item in offerings if item.claims},
    )


def _model(knowledge: Knowledge, entry: Entry) -> Whole:
    hidden = ("id", "name", "aliases", "source")
    facts = tuple(
        Fact(name, A_MONTH if name == "downloads" else None, entry.figures[name])
        if name in entry.figures
        else _plain_fact(name, _shown(value), entry.own_sources, entry.location)
        for name, value in entry.data.items()
        if name not in hidden and value is not None
    )
    sources = sources_of(knowledge, entry.sources)
    return Whole("models", entry.id, entry.name, entry.aliases, entry.location, facts, sources)


def _shown(value: object) -> Plain:
    """A value of a preset; what has parts of its own (the networks of a pipeline) as one text."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain_text(inner)}" for key, inner in value.items())
    return "; ".join(_plain_text(_shown(item)) for item in value) if isinstance(value, list) else str(value)


def _plain_text(value: object) -> str:
    return f"{value:,.15g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _offering(knowledge: Knowledge, item: Offering) -> Whole:
    values: Mapping[str, Plain | None] = {
        "accelerator": item.accelerator,
        "count": float(item.count),
        "usd_per_hour": item.usd_per_hour,
        "price_kind": item.price_kind,
        "provider": knowledge.catalogue.providers[item.provider].name,
        "provider_class": knowledge.catalogue.providers[item.provider].provider_class,
        "region": item.region,
        "instance": item.instance,
        "as_of": item.as_of,
        "vcpu": item.vcpu,
        "ram_gib": item.ram_gib,
        "statistic": item.statistic,
        "suspect": item.suspect,
        "document": ", ".join(item.claims) or None,
        "note": item.note,
    }
    facts = [
        _plain_fact(name, value, item.source, item.location) for name, value in values.items() if value is not None
    ]
    cited = list(item.source)
    listed = listed_beside(knowledge.catalogue, item)
    if listed is not None:
        facts.append(_plain_fact("listed_usd_per_hour", listed.usd_per_hour, listed.source, listed.location))
        facts.append(_plain_fact("listed_as_of", listed.as_of or "no date", listed.source, listed.location))
        cited += listed.source
    return Whole("offerings", item.id, item.id, (), item.location, tuple(facts), sources_of(knowledge, cited))


def _plain_fact(name: str, value: Plain, sources: tuple[str, ...], location: Location) -> Fact:
    return Fact(name, None, Figure(value, sources, location))


def _cited(figure: Figure) -> Iterable[str]:
    yield from figure.sources
    for _, sources in figure.others:
        yield from sources
