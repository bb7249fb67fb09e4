"""Reads who rents accelerators out, at which prices, and what they cost to buy."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.catalogue import (
    PRICE_KINDS,
    PROVIDER_CLASSES,
    PURCHASE_KINDS,
    Accelerator,
    Area,
    Offering,
    Provider,
    Purchase,
)
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import DAY, FLAG, IDENTIFIER, NUMBER, TEXT, TEXTS, list_of, needed, one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.loader.facts import FactReader
    from whygpu.yamldoc.forms import Form

PROVIDER: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "class": needed(one_of(PROVIDER_CLASSES)),
        "source": needed(TEXTS),
        "note": TEXT,
        "name": needed(TEXT),
    }
)
REGIONS: Form = MappingProxyType({"provider": needed(TEXT), "source": needed(TEXTS), "note": TEXT, "ids": TEXTS})
AREA: Form = MappingProxyType(
    {"id": needed(IDENTIFIER), "name": needed(TEXT), "aliases": TEXTS, "regions": list_of(REGIONS)}
)
OFFERING: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "provider": needed(TEXT),
        "accelerator": needed(TEXT),
        "count": needed(NUMBER),
        "usd_per_hour": needed(NUMBER),
        "price_kind": needed(one_of(PRICE_KINDS)),
        "source": needed(TEXTS),
        "region": TEXT,
        "instance": TEXT,
        "as_of": DAY,
        "suspect": TEXT,
        "note": TEXT,
        "statistic": TEXT,
        "vcpu": NUMBER,
        "ram_gib": NUMBER,
        "network_gbit_s": NUMBER,
    }
)
PURCHASE: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "accelerator": needed(TEXT),
        "usd": needed(NUMBER),
        "kind": needed(one_of(PURCHASE_KINDS)),
        "as_of": DAY,
        "source": needed(TEXTS),
        "whole_machine": FLAG,
        "note": TEXT,
    }
)


def read_providers(reader: FactReader) -> dict[str, Provider]:
    found: dict[str, Provider] = {}
    for fields, identifier in reader.entries("providers", "provider", PROVIDER):
        kind = fields.choice("class")
        reader.sources(fields)
        fields.text("note")
        name = fields.text("name") or identifier
        fields.done()
        if kind is not None:
            found[identifier] = Provider(identifier, name, kind)
    return found


def read_areas(reader: FactReader, providers: dict[str, Provider]) -> dict[str, Area]:
    """Parts of the world, and the regions that providers have there."""
    found: dict[str, Area] = {}
    for fields, identifier in reader.entries("areas", "area", AREA):
        name = fields.text("name") or identifier
        aliases = fields.texts("aliases")
        regions: dict[str, tuple[str, ...]] = {}
        for row in fields.mappings("regions", fields.what):
            provider = _known(reader, row, "provider", providers)
            reader.sources(row)
            row.text("note")
            ids = row.texts("ids")
            row.done()
            if provider is not None:
                regions[provider] = (*regions.get(provider, ()), *ids)
        fields.done()
        found[identifier] = Area(identifier, name, aliases, MappingProxyType(regions), fields.node.location)
    return found


def _known(
    reader: FactReader, fields: Fields, key: str, known: dict[str, Accelerator] | dict[str, Provider]
) -> str | None:
    text = fields.text(key)
    if text is not None and text not in known:
        problem(
            reader.problems,
            fields.node.items[key],
            f"unknown-{key}",
            f"there is no {key} '{text}'",
            did_you_mean(text, known),
        )
        return None
    return text


def read_offerings(
    reader: FactReader, accelerators: dict[str, Accelerator], providers: dict[str, Provider]
) -> Iterator[Offering]:
    for fields, identifier in reader.entries("offerings", "offering", OFFERING):
        provider = _known(reader, fields, "provider", providers)
        accelerator = _known(reader, fields, "accelerator", accelerators)
        count = fields.number("count")
        usd = fields.number("usd_per_hour")
        kind = fields.choice("price_kind")
        sources = reader.sources(fields)
        region, instance = fields.text("region"), fields.text("instance")
        as_of, suspect, note = fields.date("as_of"), fields.text("suspect"), fields.text("note")
        statistic, vcpu, ram_gib = fields.text("statistic"), fields.number("vcpu"), fields.number("ram_gib")
        network = fields.number("network_gbit_s")
        fields.done()
        if usd is not None and usd <= 0:
            problem(
                reader.problems,
                fields.node.items["usd_per_hour"],
                "bad-price",
                f"{fields.what} costs {usd:g}",
                "a price is above zero",
            )
        elif count is not None and (count < 1 or count != int(count)):
            problem(
                reader.problems, fields.node.items["count"], "bad-count", f"{fields.what} has {count:g} accelerators"
            )
        elif provider and accelerator and count and usd and kind:
            yield Offering(
                identifier,
                provider,
                accelerator,
                int(count),
                usd,
                kind,
                region,
                instance,
                as_of,
                sources,
                suspect,
                note,
                fields.node.location,
                vcpu,
                ram_gib,
                network,
                statistic,
                () if any(name in reader.references for name in sources) else sources,
            )


def read_purchases(reader: FactReader, accelerators: dict[str, Accelerator]) -> Iterator[Purchase]:
    for fields, identifier in reader.entries("purchases", "purchase", PURCHASE):
        accelerator = _known(reader, fields, "accelerator", accelerators)
        usd = fields.number("usd")
        kind = fields.choice("kind")
        as_of = fields.date("as_of")
        sources = reader.sources(fields)
        whole = fields.flag("whole_machine")
        note = fields.text("note")
        fields.done()
        if usd is not None and usd <= 0:
            problem(
                reader.problems,
                fields.node.items["usd"],
                "bad-price",
                f"{fields.what} costs {usd:g}",
                "a price is above zero",
            )
        elif accelerator and usd and kind:
            yield Purchase(identifier, accelerator, usd, kind, as_of, sources, fields.node.location, note, whole)
