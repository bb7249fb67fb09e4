"""Looks for prices far from their neighbours', prices nobody can date, old ones, and accelerators without any."""

from __future__ import annotations

from datetime import date
from statistics import median
from typing import TYPE_CHECKING

from whygpu.plans.price import fresh_days, usual_prices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.errors import Location
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue, Offering
    from whygpu.lint.finding import Finding

_SHOWN = 8


def far_prices(knowledge: Knowledge) -> Iterator[Finding]:
    """Prices of one accelerator far from what other providers of the class ask for the card, by the same kind of price.

    What is ``suspect`` is never used; nor is an expensive one whose provider has the same count of the card for less.
    """
    catalogue = knowledge.catalogue
    if "plausible-price-ratio" not in catalogue.coefficients:
        return
    band = catalogue.coefficients.pick("plausible-price-ratio", {})
    groups: dict[tuple[str, str, str], list[Offering]] = {}
    for offering in catalogue.offerings:
        if offering.suspect is None:
            of_class = catalogue.providers[offering.provider].provider_class
            groups.setdefault((offering.accelerator, offering.price_kind, of_class), []).append(offering)
    for (card, kind, of_class), members in groups.items():
        asked = _asked(members)
        for offering in members:
            others = [price for provider, price in asked.items() if provider != offering.provider]
            if not others or _has_cheaper(offering, members):
                continue
            usual = median(others)
            if not band.low * usual <= _each(offering) <= band.high * usual:
                yield (
                    offering.location,
                    f"offering '{offering.id}' is ${_each(offering):.3g} an hour for one '{card}'; the median of what "
                    f"others ask ({kind}, {of_class}) is ${usual:.3g}",
                    "'usd_per_hour' is for the whole row of 'count' cards; where it cannot be trusted, say why with "
                    "'suspect:', and it is shown but never used",
                )


def _asked(offerings: Iterable[Offering]) -> dict[str, float]:
    """The least that each provider asks for one accelerator."""
    least: dict[str, float] = {}
    for offering in offerings:
        least[offering.provider] = min(least.get(offering.provider, _each(offering)), _each(offering))
    return least


def _has_cheaper(offering: Offering, members: Iterable[Offering]) -> bool:
    return any(
        other.provider == offering.provider
        and other.count == offering.count
        and other.usd_per_hour < offering.usd_per_hour
        for other in members
    )


def stale_prices(knowledge: Knowledge, today: date) -> Iterator[Finding]:
    """Cards whose price, as plans take it, is older than passes for today's or of no known day: once for each file."""
    catalogue = knowledge.catalogue
    if "price-fresh-days" not in catalogue.coefficients:
        return
    prices = usual_prices(catalogue, today)
    files: dict[str, list[Offering]] = {}
    for card in catalogue.accelerators:
        price = prices.price(card, 1, 1)
        if price is not None and _is_stale(catalogue, price.offering, today):
            files.setdefault(price.offering.location.file, []).append(price.offering)
    for offerings in files.values():
        first = min(offerings, key=lambda offering: offering.location.line)
        yield (
            first.location,
            f"{_cards(len(offerings))} priced by an undated price or one older than passes for today's: "
            f"{_listed(sorted(offering.accelerator for offering in offerings))}",
            "read the prices again and set 'as_of'; users are told that they are old",
        )


def _is_stale(catalogue: Catalogue, offering: Offering, today: date) -> bool:
    if offering.as_of is None:
        return True
    return (today - date.fromisoformat(offering.as_of)).days > fresh_days(catalogue, catalogue.provider_class(offering))


def unpriced(knowledge: Knowledge) -> Iterator[Finding]:
    """Accelerators that nothing says the price of, to rent or to buy, nor why: one finding for each file."""
    catalogue = knowledge.catalogue
    priced = {item.accelerator for item in catalogue.offerings if item.suspect is None}
    priced |= {item.accelerator for item in catalogue.purchases}
    files: dict[str, list[tuple[str, Location]]] = {}
    for card in catalogue.accelerators.values():
        if card.id not in priced and card.unpriced is None:
            files.setdefault(card.location.file, []).append((card.id, card.location))
    for found in files.values():
        yield (
            found[0][1],
            f"no price to rent or buy is known of {_listed([name for name, _ in found])}",
            "add an offering or a purchase, or say with 'unpriced:' why none is known: a plan of a card without a "
            "price ranks below priced ones",
        )


def _each(offering: Offering) -> float:
    return offering.usd_per_hour / offering.count


def _cards(number: int) -> str:
    return "1 accelerator is" if number == 1 else f"{number} accelerators are"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
