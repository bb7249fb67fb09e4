"""Which accelerator of the catalogue a machine of someone's price list has."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from whygpu.errors import Location, Problem
from whygpu.imports.offers import MOST_ENTRIES, PriceRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.imports.feeds import Machine
    from whygpu.knowledge.catalogue import Catalogue

_MEMORY_TOLERANCE = 0.1
"""A card's memory is printed in GB, GiB or what is left of it."""
_SHOWN = 8


def machine_rows(
    machines: Iterable[Machine],
    catalogue: Catalogue,
    provider: str,
    regions: tuple[str, ...],
    as_of: str,
    problems: list[Problem],
) -> tuple[list[tuple[PriceRow, Location]], tuple[str, ...]]:
    """The machines whose accelerator is known as rows, the cheapest of those alike, and notes on those left out.

    ``regions``: regions or areas to keep, all where there is none.
    """
    known = _known_instances(catalogue, provider)
    locations = catalogue.locations.get(provider, {})
    rows: dict[tuple[str, str, str], tuple[PriceRow, Location]] = {}
    unknown: dict[str, None] = {}
    for machine in machines:
        if regions and machine.region not in regions and locations.get(machine.region, frozenset()).isdisjoint(regions):
            continue
        what = known.get(machine.instance) or _by_name(machine, catalogue)
        if what is None:
            if machine.count:
                unknown[f"{machine.instance} ({machine.accelerator or machine.count})"] = None
            continue
        accelerator, count = what
        region = machine.region
        row = PriceRow(accelerator, count, machine.usd_per_hour, machine.price_kind, region, machine.instance, as_of)
        key = (machine.instance, machine.region, machine.price_kind)
        if key not in rows or machine.usd_per_hour < rows[key][0].usd_per_hour:
            rows[key] = (row, machine.location)
    if len(rows) > MOST_ENTRIES:
        location = next(iter(rows.values()))[1]
        message = f"{len(rows):,} prices, more than {MOST_ENTRIES:,}"
        problems.append(Problem("too-many-rows", message, location, "name the regions you need with --region"))
    return list(rows.values()), _notes(list(unknown))


def _notes(unknown: list[str]) -> tuple[str, ...]:
    if not unknown:
        return ()
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    listed = ", ".join(unknown[:_SHOWN])
    return (
        f"left out, since the catalogue does not tell which accelerator they have: {listed}{more}; add one offering of "
        "such a machine by hand, and its instance is known",
    )


def _known_instances(catalogue: Catalogue, provider: str) -> Mapping[str, tuple[str, int]]:
    """The provider's machines that the catalogue has prices of: what is in them, where all of them agree."""
    found: dict[str, set[tuple[str, int]]] = {}
    for item in catalogue.offerings:
        if item.provider == provider and item.instance and item.suspect is None:
            found.setdefault(item.instance, set()).add((item.accelerator, item.count))
    return {instance: next(iter(what)) for instance, what in found.items() if len(what) == 1}


def _by_name(machine: Machine, catalogue: Catalogue) -> tuple[str, int] | None:
    """The one accelerator that is called so and has as much memory; None where there are none or several."""
    if not machine.count or not machine.accelerator:
        return None
    ids = catalogue.find_accelerators(machine.accelerator)
    if not math.isnan(machine.memory_gb):
        ids = tuple(
            name
            for name in ids
            if (size := catalogue.accelerators[name].number("marketing_gb")) is not None
            and abs(size / machine.memory_gb - 1) <= _MEMORY_TOLERANCE
        )
    if len(ids) > 1:  # the machine's own name may say which form it is: gpu-h200-sxm_8gpu-128vcpu-1600gb
        words = set(re.split(r"[^a-z0-9]+", machine.instance.lower()))
        shared = set.intersection(*(set(name.split("-")) for name in ids))
        ids = tuple(name for name in ids if (set(name.split("-")) - shared) & words)
    return (ids[0], machine.count) if len(ids) == 1 else None
