"""What plans cost, rented or bought, and compare by: USD an hour, a job, a unit of work; watts where none is priced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.checks.cost import money
from whygpu.plans.counting import Money
from whygpu.plans.purchase import purchase_terms_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import Setup
    from whygpu.knowledge.preferences import Handling
    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.price import Price, PriceList
    from whygpu.plans.purchase import PurchaseTerms, Terms
    from whygpu.plans.ways import RunConfiguration

_UNITS_OF_WORK = {
    "train_tokens_per_s": "USD/million tokens",
    "tokens_per_s": "USD/million tokens",
    "samples_per_s": "USD/million samples",
    "frames_per_s": "USD/million samples",
}


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of each plan, by row: None where nobody allowed offers it, or it is owned."""

    different: tuple[Price | None, ...]
    which: NDArray[np.int64]
    """Which of these each plan has."""

    def __getitem__(self, row: int) -> Price | None:
        """That of one plan."""
        return self.different[int(self.which[row])]

    def each(self, of: Callable[[Price], float | str], unpriced: float | str) -> NDArray[Any]:
        """Something of each plan's price; ``unpriced`` where there is none."""
        return np.array([unpriced if price is None else of(price) for price in self.different])[self.which]

    def only(self, plans: Mask) -> Prices:
        """Those of some of the plans, and none of the others."""
        return Prices((*self.different, None), np.where(plans, self.which, len(self.different)))


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices of the plans and what they compare by: USD an hour, USD a job or a unit of work, or watts.

    ``usd_per_hour`` is what a plan is rented for, or draws where it is owned already. ``basis`` says what the plan
    compares by: "renting" it, "owned" (its power), or "buying" (the purchase over the service, and its power).
    Where hardware is bought, a plan without a price to buy has no rent either.
    """

    prices: Prices
    usd_per_hour: NDArray[np.float64]
    usd_total: NDArray[np.float64]
    objective: NDArray[np.float64]
    unit: str
    purchase_terms: PurchaseTerms | None
    basis: NDArray[np.str_]
    hourly: NDArray[np.float64]
    """What an hour costs by that basis."""
    held: NDArray[np.float64]
    """Hours of owning that a job counts at the least: what is bought for it idles before and after."""
    spot: PriceList | None
    """Spot prices, where the plan is not priced by them already."""
    listed: PriceList
    """The prices that the answers allow."""

    def spot_price(self, plan_set: PlanSet, index: int) -> Price | None:
        """What one plan costs on spot capacity; None where nobody allowed offers it, or it is priced so already."""
        if self.spot is None or self.prices[index] is None:
            return None
        card, configuration = int(plan_set.card[index]), plan_set.configurations[int(plan_set.configuration[index])]
        shard, replicas = _group(configuration)
        return self.spot.price(
            plan_set.cards.accelerators[card].id, shard, replicas, int(plan_set.cards.per_node[card])
        )

    def estimated(self, plan_set: PlanSet) -> NDArray[np.bool_]:
        """The plans that compare by an estimated price: bought ones that nobody says the price of."""
        if self.purchase_terms is None:
            return np.zeros(len(plan_set), dtype=np.bool_)
        found: NDArray[np.bool_] = (self.basis == "buying") & self.purchase_terms.terms.estimated[plan_set.card]
        return found


def _group(configuration: RunConfiguration) -> tuple[int, int]:
    """Accelerators that must share a machine where they can, and how many such groups there are."""
    layout = configuration.layout
    return (layout.cards, 1) if configuration.setup.trains else (layout.tensor * layout.pipeline, layout.data)


def costs_of(
    plan_set: PlanSet, prices: PriceList, setup: Setup, terms: Terms | None, *, bought: bool, spot: PriceList | None
) -> Costs:
    """Prices and objectives: a job's cost for training and batch work where it is sized, a unit's where it is not.

    ``terms``: what owning costs. Where hardware is ``bought``, a plan compares by owning it: what others rent it out
    for is no price there, and a plan whose purchase price is unknown has none.
    """
    found = _prices(plan_set, prices)
    purchase_terms = None if terms is None else purchase_terms_of(terms, plan_set, watts_of(plan_set))
    new = np.full(len(plan_set), math.nan) if purchase_terms is None else purchase_terms.usd_per_hour
    if bought:
        found = found.only(np.isfinite(new))
    rent = found.each(lambda price: price.usd_per_hour, math.nan)
    if purchase_terms is not None:
        rent = np.where(plan_set.owned, purchase_terms.usd_power_per_hour, rent)
    hourly = np.where(plan_set.owned, rent, new) if bought else rent
    basis = np.where(plan_set.owned, "owned", "buying" if bought else "renting")
    held = np.where(basis == "buying", 0.0 if terms is None else terms.held_hours, 0.0)
    total, objective, unit = _objective(plan_set, setup, hourly)
    if unit == "USD" and purchase_terms is not None:
        idle = np.maximum(held - plan_set.speeds.figures["train_hours"], 0.0)  # without power
        objective = objective + np.where(idle > 0, (hourly - purchase_terms.usd_power_per_hour) * idle, 0.0)
    return Costs(found, rent, total, objective, unit, purchase_terms, basis, hourly, held, spot, prices)


def _prices(plan_set: PlanSet, prices: PriceList) -> Prices:
    """The price of each plan; of those on as many of a card in the same groups at once."""
    groups: dict[tuple[int, int], int] = {}
    numbers = [groups.setdefault(_group(configuration), len(groups)) for configuration in plan_set.configurations]
    kind = plan_set.card * len(groups) + np.array(numbers, dtype=np.int64)[plan_set.configuration]
    kinds, place = np.unique(np.where(plan_set.owned, -1, kind), return_inverse=True)
    sizes, cards, together = tuple(groups), plan_set.cards.accelerators, plan_set.cards.per_node.tolist()

    def price(kind: int) -> Price | None:
        card, group = divmod(kind, len(groups))
        return None if kind < 0 else prices.price(cards[card].id, *sizes[group], together[card])

    return Prices(tuple(price(kind) for kind in kinds.tolist()), place)


def _objective(
    plan_set: PlanSet, setup: Setup, hourly: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """What the job costs (NaN where it is not sized), what plans compare by, and its unit."""
    figures = plan_set.speeds.figures
    total = np.full(len(plan_set), np.nan)
    if not (setup.trains or setup.phase == "batch-inference"):
        return total, hourly, "USD/hour"
    hours = figures.get("train_hours", total)
    if np.isfinite(hours).any():
        total = money.run_usd(hourly, hours)
        return total, total, "USD"
    for name, unit in _UNITS_OF_WORK.items():
        if name in figures:
            return total, money.per_million_usd(hourly, figures[name]), unit
    return total, hourly, "USD/hour"


def money_of(costs: Costs, plan_set: PlanSet, setup: Setup, handling: Handling, deployment: str) -> Money:
    """What the plans count from: their objective, with what handling the machines and the job costs added, by where
    they stand. What is owned is looked after anyway.
    """
    there = {"workstation": handling.own_usd_per_hour, "edge": handling.field_usd_per_hour}
    new = there.get(deployment, handling.usd_per_hour)
    each = np.where(plan_set.owned, min(new, handling.own_usd_per_hour), new)
    rented = costs.prices.each(lambda price: float(price.machines), 0.0)
    bought = np.array(costs.basis != "renting")
    machines = np.where(bought, plan_set.nodes, np.maximum(rented, plan_set.nodes)).astype(np.float64) * each
    if costs.unit == "W":
        return Money(costs.objective, costs.unit, np.full(len(plan_set), np.nan), machines)
    if costs.unit == "USD":
        return _of_a_job(costs, plan_set, machines, handling.hours_per_job)
    hourly = costs.hourly + machines
    _, values, unit = _objective(plan_set, setup, hourly)
    with np.errstate(all="ignore"):
        return Money(values, unit, values / hourly, machines)


def _of_a_job(costs: Costs, plan_set: PlanSet, machines: NDArray[np.float64], more: float) -> Money:
    """The same of a job, with what ``more`` hours cost; what is owned draws little while it is set up."""
    hours = plan_set.speeds.figures["train_hours"]
    set_up = np.where(plan_set.owned, machines, costs.hourly + machines) * more
    values = costs.objective + machines * hours + set_up
    counted = np.maximum(hours, costs.held) + np.where(plan_set.owned, 0.0, more)
    with np.errstate(all="ignore"):
        return Money(values, costs.unit, counted, values / counted - costs.hourly)


def comparable(costs: Costs, plan_set: PlanSet, alive: Mask) -> Costs:
    """The same costs, compared by power where no plan that is left has a price."""
    if np.isfinite(costs.objective[alive]).any():
        return costs
    watts = watts_of(plan_set)
    return replace(costs, objective=watts, unit="W") if np.isfinite(watts[alive]).any() else costs


def drawn_of(plan_set: PlanSet, setup: Setup) -> NDArray[np.float64]:
    """What each plan draws for its work: watts of a service, energy of a job; NaN where it is not known."""
    return _objective(plan_set, setup, watts_of(plan_set))[1]


def watts_of(plan_set: PlanSet) -> NDArray[np.float64]:
    """Power that each plan's accelerators may draw; NaN where it is not known."""
    drawn: NDArray[np.float64] = plan_set.cards.power_w[plan_set.card] * plan_set.counts
    return drawn
