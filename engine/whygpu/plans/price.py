"""What a plan costs an hour: the median over the providers that rent out what it needs, at prices one can pay today.

Each kind of price is a market of its own: of the kinds allowed the one that is cheapest for the plan. Within a kind the
first of these groups that anybody is in gives the price, and no median mixes two of them: machines that the plan fills
before those it leaves partly idle, managed providers before marketplaces (unless those were asked for), fresh prices
before stale ones; undated prices come after all that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.kept import kept
from whygpu.knowledge.catalogue import PROVIDER_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.answers import Answers
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Catalogue, Offering


@dataclass(frozen=True, slots=True)
class Price:
    """USD an hour for the whole plan, and the offering it rests on; ``machines`` of it are rented."""

    usd_per_hour: float
    offering: Offering
    machines: int
    providers: int = 1
    """How many providers the median is over: those whose prices are as fresh, for machines of this size."""
    large_providers: int = 0
    """How many of them are large clouds."""
    least: Price | None = None
    """The cheapest of those that the median is over; None where it is that one."""

    @property
    def rented(self) -> int:
        """Accelerators that are paid for, those that the plan leaves idle included."""
        return self.machines * self.offering.count


Restriction = tuple[str, ...] | None
_MOST_NAMED = 5


def fresh_days(catalogue: Catalogue, provider_class: str) -> float:
    """The age in days up to which such a provider's price passes as today's; NaN where nothing says."""
    if "price-fresh-days" not in catalogue.coefficients:
        return math.nan
    return catalogue.coefficients.pick("price-fresh-days", {"provider_class": provider_class}).likely


def first_fresh_days(catalogue: Catalogue, today: date) -> Mapping[str, str]:
    """The first day (ISO) whose prices pass as today's, for each class of providers; all do where nothing says."""
    days = {name: fresh_days(catalogue, name) for name in PROVIDER_CLASSES}
    first = {name: max(today.toordinal() - int(age), 1) for name, age in days.items() if not math.isnan(age)}
    return MappingProxyType({name: date.fromordinal(day).isoformat() for name, day in first.items()})


def usual_prices(catalogue: Catalogue, today: date) -> PriceList:
    """The prices of the day where the answers restrict nothing: on demand, of any provider."""
    return PriceList(catalogue, since=first_fresh_days(catalogue, today))


def price_list(knowledge: Knowledge, answers: Answers, today: date) -> PriceList:
    """The prices under the answers' restrictions; the same list for the same restrictions on the same day."""
    return _price_list(
        knowledge.catalogue, answers.price_kinds, answers.providers, answers.provider_classes, answers.regions, today
    )


def spot_list(knowledge: Knowledge, answers: Answers, today: date) -> PriceList | None:
    """The spot prices under the same restrictions; None where spot capacity is what was asked for already."""
    if "spot" in answers.price_kinds:
        return None
    return _price_list(
        knowledge.catalogue, ("spot",), answers.providers, answers.provider_classes, answers.regions, today
    )


@kept(64)
def _price_list(
    catalogue: Catalogue,
    kinds: tuple[str, ...],
    providers: Restriction,
    classes: Restriction,
    regions: Restriction,
    today: date,
) -> PriceList:
    since = first_fresh_days(catalogue, today)
    return PriceList(catalogue, kinds, providers, classes, regions, since)


class PriceList:
    """Prices of accelerators under restrictions; each is found once."""

    def __init__(
        self,
        catalogue: Catalogue,
        kinds: tuple[str, ...] = ("on-demand",),
        providers: Restriction = None,
        classes: Restriction = None,
        regions: Restriction = None,
        since: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """None: no restriction; ``since``: by provider class the first day (ISO) whose prices pass as today's."""
        self._catalogue = catalogue
        self._kinds = frozenset(kinds)
        self._providers = None if providers is None else frozenset(providers)
        self._classes = None if classes is None else frozenset(classes)
        self._regions = None if regions is None else frozenset(regions)
        self._since = since
        self._found: dict[tuple[str, int, int, int], Price | None] = {}
        self._allowed: dict[str, tuple[Offering, ...]] = {}

    @property
    def restricted(self) -> bool:
        """Whether the answers say who may rent out, or where."""
        return any(item is not None for item in (self._providers, self._classes, self._regions))

    @property
    def chosen_providers(self) -> bool:
        """Whether the answers say who may rent out."""
        return self._providers is not None or self._classes is not None

    def price(self, accelerator: str, shard: int, replicas: int, together: int | None = None) -> Price | None:
        """The price of ``replicas`` groups of ``shard`` accelerators.

        ``together``: how many of a group must stand in one machine; all, where it is left out. None where no allowed
        provider offers it at a usable price.
        """
        key = (accelerator, shard, replicas, shard if together is None else min(together, shard))
        if key not in self._found:
            self._found[key] = self._price(*key)
        return self._found[key]

    def rented_for(self, accelerator: str, shard: int, replicas: int, together: int) -> int:
        """Accelerators that are paid for where so many groups are used, as `price` has them: whole machines; as many as
        are used where nobody allowed offers them.
        """
        price = self.price(accelerator, shard, replicas, together)
        return shard * replicas if price is None else price.rented

    def network_bytes_s(self, accelerator: str, together: int) -> float:
        """Bytes a second of the network between machines, for each accelerator of one that holds ``together`` of them,
        as the offering states it that such machines are priced by; 0 where it states none.
        """
        price = self.price(accelerator, together, 2)
        gbit_s = None if price is None else price.offering.network_gbit_s
        return 0.0 if price is None or gbit_s is None else gbit_s * 1e9 / 8 / price.offering.count

    def host_vcpus(self, accelerator: str) -> float:
        """Threads of the host's processors for each accelerator of the machine that one of them is priced by, else the
        median over the machines that may be rented and state them; 0 where none does.
        """
        price = self.price(accelerator, 1, 1)
        if price is None:
            return 0.0
        for items in ((price.offering,), self._offerings(accelerator)):
            if stated := [item.vcpu / item.count for item in items if item.vcpu is not None]:
                return float(median(stated))
        return 0.0

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
            return f"no provider that the answers allow rents it out; others do: {self.offered_by(accelerator)}"
        sizes = sorted({item.count for item in allowed})
        return f"it is rented only in machines of {' or '.join(str(size) for size in sizes)}"

    def offered_by(self, accelerator: str) -> str:
        """Who rents it out by the kinds of prices allowed, wherever that is, in words; where nobody does, who does by
        other kinds; empty where nobody does at all.
        """
        offerings = self._catalogue.offerings_by_accelerator.get(accelerator, ())
        usable = [item for item in offerings if item.never_used is None]
        by_kind = [item for item in usable if item.price_kind in self._kinds]
        places: dict[str, set[str]] = {}
        for item in by_kind or usable:
            areas = self._catalogue.areas_of(item) if self._regions is not None else ()
            places.setdefault(item.provider, set()).update(areas)
        kinds = (
            "" if by_kind or not usable else f", as {' and '.join(sorted({item.price_kind for item in usable}))} only"
        )
        named = [f"{name} ({', '.join(sorted(areas))})" if areas else name for name, areas in sorted(places.items())]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        return f"{', '.join(named[:_MOST_NAMED])}{more}{kinds}"

    def _nobody(self, accelerator: str) -> str:
        card = self._catalogue.accelerators.get(accelerator)
        if card is not None and card.unpriced is not None:
            return card.unpriced
        bought = any(item.accelerator == accelerator for item in self._catalogue.purchases)
        return "no provider is known to rent it out" + ("; only its purchase price is known" if bought else "")

    def _price(self, accelerator: str, shard: int, replicas: int, together: int) -> Price | None:
        """The cheapest kind's. Kinds are never mixed in one median: allowing another makes no plan more expensive."""
        by_kind: dict[str, list[Price]] = {}
        for item in self._offerings(accelerator):
            price = self._way(item, shard, replicas, together)
            if price is not None:
                by_kind.setdefault(item.price_kind, []).append(price)
        found = [self._median(prices, shard * replicas) for prices in by_kind.values()]
        return min(found, key=lambda price: (price.usd_per_hour, price.offering.id), default=None)

    def _median(self, prices: Iterable[Price], cards: int) -> Price:
        """The median over the providers of the first group that anybody is in."""
        groups: dict[tuple[bool, ...], dict[str, list[Price]]] = {}
        for price in prices:
            item = price.offering
            asked = self._providers is not None or (self._classes is not None and "marketplace" in self._classes)
            group = (
                item.as_of is None,
                price.rented != cards,
                not asked and self._catalogue.provider_class(item) == "marketplace",
                not self._is_fresh(item),
            )
            groups.setdefault(group, {}).setdefault(item.provider, []).append(price)
        first = groups[min(groups)]
        among = sorted((_newest(items) for items in first.values()), key=_cheapest)
        # of the middle two the more expensive: it is a price that exists, and one to be relied on, since half of those
        # who rent it out ask no more; the cheaper one of two would be the best offer, no median
        middle = among[len(among) // 2]
        large = sum(self._catalogue.provider_class(item.offering) == "hyperscaler" for item in among)
        least = among[0] if among[0].usd_per_hour < middle.usd_per_hour else None
        return Price(middle.usd_per_hour, middle.offering, middle.machines, len(among), large, least)

    def _is_fresh(self, offering: Offering) -> bool:
        since = self._since.get(self._catalogue.provider_class(offering), "")
        return offering.as_of is not None and offering.as_of >= since

    def _offerings(self, accelerator: str) -> tuple[Offering, ...]:
        """Those of the accelerator that are allowed."""
        if accelerator not in self._allowed:
            offerings = self._catalogue.offerings_by_accelerator.get(accelerator, ())
            self._allowed[accelerator] = tuple(filter(self._allows, offerings))
        return self._allowed[accelerator]

    def _allows(self, offering: Offering) -> bool:
        return (
            offering.never_used is None
            and offering.price_kind in self._kinds
            and (self._providers is None or offering.provider in self._providers)
            and (self._classes is None or self._catalogue.provider_class(offering) in self._classes)
            and (self._regions is None or self._catalogue.stands_in(offering, self._regions))
        )

    def _way(self, offering: Offering, shard: int, replicas: int, together: int) -> Price | None:
        """Rent enough machines of one offering, each of them whole."""
        if offering.count >= shard:
            machines = -(-replicas // (offering.count // shard))
        elif offering.count == 1 and self._catalogue.provider_class(offering) != "hyperscaler":
            machines = shard * replicas  # priced per accelerator: the provider joins as many as are asked for
        elif offering.count >= together:  # a group over several machines, with as many in each as have to be
            parts = -(-shard // together)
            machines = -(-parts // (offering.count // together)) * replicas
        else:
            return None
        return Price(machines * offering.usd_per_hour, offering, machines)


def _cheapest(price: Price) -> tuple[float, str]:
    return price.usd_per_hour, price.offering.id


def _newest(prices: list[Price]) -> Price:
    """A provider's cheapest way among its newest prices."""
    newest = max(price.offering.as_of or "" for price in prices)
    return min((price for price in prices if (price.offering.as_of or "") == newest), key=_cheapest)
