"""What a plan costs an hour: the newest usable price of each allowed provider, the median over providers.

Each kind of price is a market of its own: of the kinds allowed the one that is cheapest for the plan. Machines that the
plan fills come before those it leaves partly idle, prices that pass as today's before old ones, and those before
undated ones; marketplaces count where they were asked for or nobody else rents it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from whygpu.answers import Answers
    from whygpu.catalogue import Catalogue, Offering
    from whygpu.knowledge import Knowledge


@dataclass(frozen=True, slots=True)
class Price:
    """USD an hour for the whole plan, and the offering it rests on; ``machines`` of it are rented."""

    usd_per_hour: float
    offering: Offering
    machines: int
    providers: int
    """How many providers list it at a price of this kind, an old one too."""


Restriction = tuple[str, ...] | None


def fresh_days(catalogue: Catalogue) -> float:
    """The age in days up to which a price passes as today's; NaN where the knowledge base does not say."""
    found = "price-fresh-days" in catalogue.coefficients
    return catalogue.coefficients.pick("price-fresh-days", {}).high if found else math.nan


def _since(catalogue: Catalogue, today: date) -> str:
    days = fresh_days(catalogue)
    return "" if math.isnan(days) else (today - timedelta(days=days)).isoformat()


def usual_prices(catalogue: Catalogue, today: date) -> PriceList:
    """The prices of the day where the answers restrict nothing: on demand, of any provider."""
    return PriceList(catalogue, since=_since(catalogue, today))


def price_list(knowledge: Knowledge, answers: Answers, today: date) -> PriceList:
    """The prices under the answers' restrictions; the same list for the same restrictions on the same day."""
    return _price_list(
        knowledge, answers.price_kinds, answers.providers, answers.provider_classes, answers.regions, today
    )


def spot_list(knowledge: Knowledge, answers: Answers, today: date) -> PriceList | None:
    """The spot prices under the same restrictions; None where spot capacity is what was asked for already."""
    if "spot" in answers.price_kinds:
        return None
    return _price_list(knowledge, ("spot",), answers.providers, answers.provider_classes, answers.regions, today)


@lru_cache(maxsize=64)
def _price_list(
    knowledge: Knowledge,
    kinds: tuple[str, ...],
    providers: Restriction,
    classes: Restriction,
    regions: Restriction,
    today: date,
) -> PriceList:
    since = _since(knowledge.catalogue, today)
    return PriceList(knowledge.catalogue, kinds, providers, classes, regions, since)


class PriceList:
    """Prices of accelerators under restrictions; each is found once."""

    def __init__(
        self,
        catalogue: Catalogue,
        kinds: tuple[str, ...] = ("on-demand",),
        providers: Restriction = None,
        classes: Restriction = None,
        regions: Restriction = None,
        since: str = "",
    ) -> None:
        """None: no restriction; ``since``: the first day (ISO) whose prices pass as today's."""
        self._catalogue = catalogue
        self._kinds = frozenset(kinds)
        self._providers = None if providers is None else frozenset(providers)
        self._classes = None if classes is None else frozenset(classes)
        self._regions = None if regions is None else frozenset(regions)
        self._since = since
        self._found: dict[tuple[str, int, int], Price | None] = {}

    def price(self, accelerator: str, shard: int, replicas: int) -> Price | None:
        """The price of ``replicas`` groups of ``shard`` accelerators, each group within one machine where it can be.

        None where no allowed provider offers it at a usable price.
        """
        key = (accelerator, shard, replicas)
        if key not in self._found:
            self._found[key] = self._price(accelerator, shard, replicas)
        return self._found[key]

    def why_none(self, accelerator: str) -> str:
        """Why plans with the accelerator have no price: what is known of it, and which restriction rules it out."""
        offerings = self._catalogue.offerings_by_accelerator.get(accelerator, ())
        if not offerings:
            return self._nobody(accelerator)
        usable = [item for item in offerings if item.never_used is None]
        if not usable:
            return "every price of it is suspect"
        kinds = sorted({item.price_kind for item in usable})
        if not self._kinds & set(kinds):
            return f"its prices are {' and '.join(kinds)} only: allow them with 'price_kinds'"
        allowed = [item for item in usable if self._allows(item)]
        if not allowed:
            renters = sorted({item.provider for item in usable if item.price_kind in self._kinds})
            more = f" and {len(renters) - 5} more" if len(renters) > 5 else ""
            return f"nobody that the answers allow rents it out; others do: {', '.join(renters[:5])}{more}"
        sizes = sorted({item.count for item in allowed})
        return f"it is rented only in machines of {' or '.join(str(size) for size in sizes)}"

    def _nobody(self, accelerator: str) -> str:
        card = self._catalogue.accelerators.get(accelerator)
        if card is not None and card.unpriced is not None:
            return card.unpriced
        bought = any(item.accelerator == accelerator for item in self._catalogue.purchases)
        return "nobody is known to rent it out" + (", it is known only what it costs to buy" if bought else "")

    def _price(self, accelerator: str, shard: int, replicas: int) -> Price | None:
        """The cheapest kind's. Kinds are never mixed in one median, so that allowing another makes no plan dearer."""
        by_kind: dict[str, list[Offering]] = {}
        for item in self._catalogue.offerings_by_accelerator.get(accelerator, ()):
            if self._allows(item):
                by_kind.setdefault(item.price_kind, []).append(item)
        found = [price for items in by_kind.values() if (price := self._median(items, shard, replicas)) is not None]
        return min(found, key=lambda price: (price.usd_per_hour, price.offering.id), default=None)

    def _median(self, allowed: list[Offering], shard: int, replicas: int) -> Price | None:
        """The median over the providers of offerings of one kind."""
        usual = [item for item in allowed if self._class(item) != "marketplace"]
        asked = self._providers is not None or (self._classes is not None and "marketplace" in self._classes)
        for offerings in [allowed] if asked else [usual, allowed]:
            for dated in (True, False):  # undated last
                priced = self._by_provider(
                    [item for item in offerings if (item.as_of is not None) == dated], shard, replicas
                )
                if priced:
                    cards = shard * replicas
                    full = [price for price in priced if price.machines * price.offering.count == cards] or priced
                    fresh = [price for price in full if (price.offering.as_of or "") >= self._since] or full
                    among = sorted(fresh, key=lambda price: (price.usd_per_hour, price.offering.id))
                    # of the middle two the dearer: it is a price that exists, and one to be relied on, since half of
                    # those who rent it out ask no more; the cheaper one of two would be the best offer, no median
                    middle = among[len(among) // 2]
                    return Price(middle.usd_per_hour, middle.offering, middle.machines, len(priced))
        return None

    def _class(self, offering: Offering) -> str:
        return self._catalogue.providers[offering.provider].provider_class

    def _allows(self, offering: Offering) -> bool:
        return (
            offering.never_used is None
            and offering.price_kind in self._kinds
            and (self._providers is None or offering.provider in self._providers)
            and (self._classes is None or self._class(offering) in self._classes)
            and (self._regions is None or offering.region is None or offering.region in self._regions)
        )

    def _by_provider(self, offerings: Iterable[Offering], shard: int, replicas: int) -> list[Price]:
        """Each provider's cheapest way among its newest prices."""
        grouped: dict[str, list[Offering]] = {}
        for offering in offerings:
            grouped.setdefault(offering.provider, []).append(offering)
        found: list[Price] = []
        for items in grouped.values():
            ways = [way for item in items if (way := self._way(item, shard, replicas)) is not None]
            newest = max((way.offering.as_of or "" for way in ways), default="")
            ways = [way for way in ways if (way.offering.as_of or "") == newest]
            if ways:
                found.append(min(ways, key=lambda way: (way.usd_per_hour, way.offering.id)))
        return found

    def _way(self, offering: Offering, shard: int, replicas: int) -> Price | None:
        """Rent enough machines of one offering; a shard larger than the machine needs whole machines."""
        per_machine = offering.count // shard
        if per_machine:
            machines = -(-replicas // per_machine)
        elif offering.count == 1 and self._class(offering) != "hyperscaler":
            machines = shard * replicas  # priced per accelerator: the provider joins as many as are asked for
        elif shard % offering.count == 0 and offering.count > 1:
            machines = shard // offering.count * replicas
        else:
            return None
        return Price(machines * offering.usd_per_hour, offering, machines, 1)
