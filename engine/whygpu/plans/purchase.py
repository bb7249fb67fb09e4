"""What the plans cost where they are bought, or owned already: the purchase, the power, and when buying pays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.cost import money
from whygpu.kept import kept
from whygpu.plans.sharing import host_gib
from whygpu.plans.typical import purchase_estimates
from whygpu.plans.ways import NEEDS
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from whygpu.checks.coefficients import Coefficient
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Purchase
    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.typical import Estimates

OWN_DEPLOYMENTS = ("on-prem", "workstation", "edge")
"""Where hardware stands that is bought: nobody rents it by the hour."""
_OF_THE_SITE = ("electricity-usd-per-kwh", "hardware-life-months", "host-memory-usd-per-gib")
_HELD = "hours-held-per-job"
_OF_THE_CARD = ("wall-power-ratio", "pue", "host-price-ratio", "host-price-floor")


@dataclass(frozen=True, slots=True)
class Site:
    """Where the hardware stands, for how long it is used, and what is there already."""

    deployment: str
    months: float | None
    """Months of use; None where nobody says."""
    usd_per_kwh: float | None = None
    """The user's own price of electricity; None: a published average."""
    hours_a_month: float = money.HOURS_PER_MONTH
    """Of use."""
    host: str = "desktop"
    """The board that the memory for weights asks for: desktop or server."""
    machine_is_there: bool = False
    """Whether a plan of one machine needs none to be bought."""
    owned: tuple[tuple[int, int], ...] = ()
    """Accelerators that are there, as rows of the catalogue, and how many."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What owning costs beside the cards, at one site: coefficients, those of the card by its class."""

    site: Mapping[str, Coefficient]
    cards: Mapping[str, tuple[Coefficient, ...]]
    """Of every accelerator of the catalogue, in order."""
    purchases: tuple[Purchase | None, ...]
    usd_each: NDArray[np.float64]
    """Of every accelerator: what one costs to buy; NaN where nobody says.

    Where hardware is bought, that is estimated as far as others of the kind allow.
    """
    estimates: Estimates
    estimated: NDArray[np.bool_]
    """Of every accelerator: whether what one costs is estimated."""
    host_share: NDArray[np.float64]
    """Of every accelerator: USD of machine per USD of cards; zero where the price is the whole machine's."""
    host_floor: NDArray[np.float64]
    """Of every accelerator: USD of the cheapest machine around it; zero likewise."""
    sold_by: NDArray[np.float64]
    """Of every accelerator: how many are sold together on one board."""
    processors: NDArray[np.bool_]
    """Of every accelerator: whether it is a processor, sold without the memory that it works in."""
    draw: NDArray[np.float64]
    """Of every accelerator: the machine's power over that of its accelerators."""
    pue: NDArray[np.float64]
    """Of every accelerator: the power of the site that it stands in over that of its machines."""
    owned: NDArray[np.float64]
    """Of every accelerator: how many are there already."""
    machine_is_there: bool
    usd_per_kwh: float
    months: float
    """Months a purchase is spread over; NaN where nobody says how long the service runs."""
    hours_a_month: float
    """Hours that it is used in each of them."""
    held_hours: float
    """Hours of owning that a job counts at the least."""


@dataclass(frozen=True, slots=True)
class PurchaseTerms:
    """What owning each plan costs, in columns; NaN where a price or the power is not known."""

    terms: Terms
    bought: NDArray[np.float64]
    """Accelerators that are paid for, beside those that are there: whole boards."""
    host_share: NDArray[np.float64]
    """USD of machine per USD of cards; zero where the machine is there, or the price is the whole machine's."""
    host_floor: NDArray[np.float64]
    """USD of the cheapest machine; zero likewise."""
    memory_gib: NDArray[np.float64]
    """What is kept in the memory of its machines, which is bought for that."""
    usd_purchase: NDArray[np.float64]
    usd_power_per_hour: NDArray[np.float64]
    usd_per_hour: NDArray[np.float64]
    """Purchase over the months, and power."""


@kept(32)
def terms_of(knowledge: Knowledge, place: Site) -> Terms | None:
    """The terms at a site; None where the knowledge base lacks one of their coefficients."""
    coefficients = knowledge.catalogue.coefficients
    if any(name not in coefficients for name in (*_OF_THE_SITE, *_OF_THE_CARD)):
        return None
    catalogue = knowledge.catalogue
    pick = catalogue.coefficients.pick
    at = {"deployment": place.deployment, "host": place.host}
    site = {name: pick(name, at) for name in _OF_THE_SITE}
    cards = {
        name: tuple(pick(name, at | {"class": card.text("class") or ""}) for card in catalogue.accelerators.values())
        for name in _OF_THE_CARD
    }
    purchases = tuple(catalogue.purchase_by_accelerator.get(name) for name in catalogue.accelerators)
    known = np.array([math.nan if item is None else item.usd for item in purchases])
    estimates, sold_whole = purchase_estimates(catalogue)
    prices = np.where(np.isnan(known), estimates.likely, known) if place.deployment in OWN_DEPLOYMENTS else known
    whole = np.array([sold_whole[row] if item is None else item.whole_machine for row, item in enumerate(purchases)])
    sold_by = np.array([card.number("sold_by") or 1.0 for card in catalogue.accelerators.values()])
    draw, pue, share, floor = (np.array([item.likely for item in cards[name]]) for name in _OF_THE_CARD)
    owned = np.zeros(len(purchases))
    for row, count in place.owned:
        owned[row] += count
    return Terms(
        site,
        cards,
        purchases,
        prices,
        estimates,
        np.isnan(known) & np.isfinite(prices),
        np.where(whole, 0.0, share),
        np.where(whole, 0.0, floor),
        sold_by,
        np.array([card.text("class") == "cpu" for card in catalogue.accelerators.values()]) & ~whole,
        draw,
        pue,
        owned,
        place.machine_is_there,
        site["electricity-usd-per-kwh"].likely if place.usd_per_kwh is None else place.usd_per_kwh,
        math.nan if place.months is None else money.spread_months(place.months, site["hardware-life-months"].likely),
        place.hours_a_month,
        pick(_HELD, at).likely if _HELD in coefficients else 0.0,
    )


def purchase_terms_of(terms: Terms, plan_set: PlanSet, watts: NDArray[np.float64]) -> PurchaseTerms:
    """The columns; ``watts``: what each plan's accelerators may draw."""
    card, nodes, counts = plan_set.card, plan_set.nodes.astype(np.float64), plan_set.counts
    missing = np.where(counts > terms.owned[card], counts - terms.owned[card], counts)  # what suffices is an own plan
    bought = np.ceil(missing / terms.sold_by[card]) * terms.sold_by[card]
    there = (nodes == 1) & terms.machine_is_there
    share, floor = (np.where(there, 0.0, each[card]) for each in (terms.host_share, terms.host_floor))
    gib = host_gib(plan_set) + terms.processors[card] * bought * plan_set.each(NEEDS["total"]) / GIB
    memory = gib * terms.site["host-memory-usd-per-gib"].likely
    purchase = money.purchase_usd(terms.usd_each[card], bought, share, floor, nodes, memory)
    power = money.power_usd_per_hour(watts, terms.draw[card], terms.pue[card], terms.usd_per_kwh)
    months = np.full(len(plan_set), terms.months)
    hourly = money.purchase_usd_per_hour(purchase, months, power, terms.hours_a_month)
    return PurchaseTerms(terms, bought, share, floor, gib, purchase, power, hourly)
