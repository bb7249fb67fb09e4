"""The names of the plans as columns: what rules read under ``gpu.`` and ``plan.``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.environment import plain
from whygpu.checks.cost import money
from whygpu.checks.speed.estimate import FIGURES
from whygpu.language import values as v
from whygpu.plans.admission import admitted
from whygpu.plans.counting import Money
from whygpu.plans.plan_set import cards_of
from whygpu.plans.price import fresh_days
from whygpu.plans.purchase import purchase_terms_of
from whygpu.plans.sharing import SHARING_NAMES, fill_sharing
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment
    from whygpu.checks.setup import Setup
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator
    from whygpu.knowledge.preferences import Handling
    from whygpu.language.names import NameSpec
    from whygpu.plans.plan_set import PlanSet, RunConfiguration
    from whygpu.plans.price import Price, PriceList
    from whygpu.plans.purchase import PurchaseTerms, Terms
    from whygpu.plans.work import Work

PLAN_NAMES = (
    "plan.count",
    "plan.nodes",
    "plan.tensor",
    "plan.pipeline",
    "plan.data",
    "plan.format",
    "plan.quantized",
    "plan.weight_bits",
    "plan.format_runs",
    "plan.format_stacks",
    "plan.method",
    "plan.sharding",
    "plan.checkpointing",
    "plan.batch_size",
    "plan.weights_gib",
    "plan.kv_cache_gib",
    "plan.total_gib",
    "plan.high_gib",
    "plan.usable_gib",
    "plan.verdict",
    "plan.admits",
    "plan.ttft_ms",
    "plan.token_ms",
    "plan.tokens_per_s",
    "plan.requests_per_s",
    "plan.train_tokens_per_s",
    "plan.samples_per_s",
    "plan.frames_per_s",
    "plan.train_hours",
    "plan.usd_per_hour",
    "plan.usd_compared_per_hour",
    "plan.usd_total",
    "plan.watts",
    "plan.objective",
    "plan.provider_class",
    "plan.providers",
    "plan.large_providers",
    "plan.rented",
    "plan.machine_accelerators",
    "plan.providers_chosen",
    "plan.places_chosen",
    "plan.accelerators_chosen",
    "plan.offered_by",
    "plan.price_kind",
    "plan.price_age_days",
    "plan.price_estimated",
    "plan.owned",
    "plan.bought",
    "plan.usd_purchase",
    "plan.usd_power_per_hour",
    "plan.usd_owning_per_hour",
    "plan.break_even_months",
    "plan.spot_usd_per_hour",
    "plan.price_fresh_days",
    *SHARING_NAMES,
)
GPU_NAMES = ("gpu.id", "gpu.name", "gpu.family", "gpu.vendor", "gpu.usable_gib")
_UNITS_OF_WORK = {
    "train_tokens_per_s": "USD/million tokens",
    "tokens_per_s": "USD/million tokens",
    "samples_per_s": "USD/million samples",
    "frames_per_s": "USD/million samples",
}


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices of the plans and what they compare by: USD an hour, USD a job or a unit of work, or watts.

    ``usd_per_hour`` is what a plan is rented for, or draws where it is owned already. ``basis`` says what the plan
    compares by: "renting" it, "owned" (its power), or "buying" (the purchase over the service, and its power).
    Where hardware is bought, a plan without a price to buy has no rent either.
    """

    prices: tuple[Price | None, ...]
    usd_per_hour: NDArray[np.float64]
    usd_total: NDArray[np.float64]
    objective: NDArray[np.float64]
    unit: str
    purchase_terms: PurchaseTerms | None
    basis: NDArray[np.str_]
    hourly: NDArray[np.float64]
    """What an hour costs by that basis."""
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


@lru_cache(maxsize=8)
def accelerator_columns(knowledge: Knowledge) -> dict[str, v.Value]:
    """Every ``gpu.`` name as a column over all accelerators."""
    cards = list(knowledge.catalogue.accelerators.values())
    columns: dict[str, v.Value] = {
        "gpu.id": v.Word(np.array([card.id for card in cards])),
        "gpu.name": v.Word(np.array([card.name for card in cards])),
        "gpu.family": v.Word(np.array([card.family for card in cards])),
        "gpu.vendor": v.Word(np.array([card.vendor for card in cards])),
        "gpu.usable_gib": v.column(cards_of(knowledge).usable_bytes / GIB),
    }
    for name, spec in knowledge.vocabulary.items():
        if spec.entity == "gpu" and name not in columns:
            columns[name] = _column(spec, name.removeprefix("gpu."), cards)
    return columns


def _column(spec: NameSpec, key: str, cards: Sequence[Accelerator]) -> v.Value:
    if spec.kind == "number":
        present = np.array([not card.lacks(key) for card in cards])
        numbers = np.array([math.nan if (value := card.number(key)) is None else value for card in cards])
        return v.column(numbers, True if present.all() else present)
    if spec.kind == "flag":
        flags = [card.flag(key) for card in cards]
        return v.Truth(np.array([flag is True for flag in flags]), np.array([flag is False for flag in flags]))
    return v.Word(np.array([card.text(key) or "" for card in cards]))


def _take(value: v.Value, rows: NDArray[np.int64]) -> v.Value:
    match value:
        case v.Number(low=low, high=high, present=present):
            first = low[rows]
            return v.Number(first, first if low is high else high[rows], present if present is True else present[rows])
        case v.Word(word=word):
            return v.Word(word[rows])
        case v.Truth(true=true, false=false):
            return v.Truth(true[rows], false[rows])


def _group(configuration: RunConfiguration) -> tuple[int, int]:
    """Accelerators that must share a machine where they can, and how many such groups there are."""
    layout = configuration.layout
    return (layout.cards, 1) if configuration.setup.trains else (layout.tensor * layout.pipeline, layout.data)


def costs_of(
    plan_set: PlanSet, prices: PriceList, work: Work, terms: Terms | None, *, bought: bool, spot: PriceList | None
) -> Costs:
    """Prices and objectives: a job's cost for training and batch work where it is sized, a unit's where it is not.

    ``terms``: what owning costs. Where hardware is ``bought``, a plan compares by owning it: what others rent it out
    for is no price there, and a plan whose purchase price is unknown has none.
    """
    setup = work.setup
    groups = [_group(configuration) for configuration in plan_set.configurations]
    names = [card.id for card in plan_set.cards.accelerators]
    together = plan_set.cards.per_node.tolist()
    found = tuple(
        None if owned else prices.price(names[card], groups[configuration][0], groups[configuration][1], together[card])
        for card, configuration, owned in zip(
            plan_set.card.tolist(), plan_set.configuration.tolist(), plan_set.owned.tolist(), strict=True
        )
    )
    purchase_terms = (
        None if terms is None else purchase_terms_of(terms, plan_set, watts_of(plan_set), counts_of(plan_set))
    )
    new = np.full(len(plan_set), math.nan) if purchase_terms is None else purchase_terms.usd_per_hour
    if bought:
        found = tuple(price if known else None for price, known in zip(found, np.isfinite(new).tolist(), strict=True))
    rent = np.array([math.nan if price is None else price.usd_per_hour for price in found])
    if purchase_terms is not None:
        rent = np.where(plan_set.owned, purchase_terms.usd_power_per_hour, rent)
    hourly = np.where(plan_set.owned, rent, new) if bought else rent
    basis = np.where(plan_set.owned, "owned", "buying" if bought else "renting")
    total, objective, unit = _objective(plan_set, setup, hourly)
    return Costs(found, rent, total, objective, unit, purchase_terms, basis, hourly, spot, prices)


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


def money_of(costs: Costs, plan_set: PlanSet, setup: Setup, handling: Handling, own: bool) -> Money:
    """What the plans count from: their objective, with what handling the machines and the job costs added; ``own``: the
    machines stand under a desk or in the field.
    """
    each = handling.own_usd_per_hour if own else handling.usd_per_hour
    rented = np.array([0.0 if price is None else float(price.machines) for price in costs.prices])
    bought = np.array(costs.basis != "renting")
    machines = np.where(bought, plan_set.nodes, np.maximum(rented, plan_set.nodes)).astype(np.float64) * each
    if costs.unit == "W":
        return Money(costs.objective, costs.unit, np.full(len(plan_set), np.nan), machines)
    hourly = costs.hourly + machines
    _, values, unit = _objective(plan_set, setup, hourly)
    if unit == "USD":
        values = values + hourly * handling.hours_per_job
    with np.errstate(all="ignore"):
        return Money(values, unit, values / hourly, machines)


def comparable(costs: Costs, plan_set: PlanSet, alive: Mask) -> Costs:
    """The same costs, compared by power where no plan that is left has a price."""
    if np.isfinite(costs.objective[alive]).any():
        return costs
    watts = watts_of(plan_set)
    return replace(costs, objective=watts, unit="W") if np.isfinite(watts[alive]).any() else costs


def watts_of(plan_set: PlanSet) -> NDArray[np.float64]:
    """Power that each plan's accelerators may draw; NaN where it is not known."""
    drawn: NDArray[np.float64] = plan_set.cards.power_w[plan_set.card] * counts_of(plan_set)
    return drawn


def counts_of(plan_set: PlanSet) -> NDArray[np.float64]:
    """Accelerators of each plan."""
    counts = np.array([configuration.layout.cards for configuration in plan_set.configurations], dtype=np.float64)
    return counts[plan_set.configuration]


def fill(
    environment: PlanEnvironment,
    knowledge: Knowledge,
    plan_set: PlanSet,
    costs: Costs,
    today: np.datetime64,
    accelerators_chosen: bool,
) -> None:
    """Give every ``gpu.`` and ``plan.`` name its column; ``accelerators_chosen``: the answers name those allowed."""
    for name, value in accelerator_columns(knowledge).items():
        environment.supply(name, lambda value=value: _take(value, plan_set.card))  # type: ignore[misc]  # bound early

    def numbers(name: str, values: NDArray[Any]) -> None:
        environment.set(f"plan.{name}", v.column(values.astype(np.float64)))

    def of_configurations(values: Iterable[float | str]) -> NDArray[Any]:
        """Something of each way of running, plan by plan."""
        return np.array(list(values))[plan_set.configuration]

    configurations = plan_set.configurations
    numbers("count", of_configurations(configuration.layout.cards for configuration in configurations))
    numbers("nodes", plan_set.nodes)
    for part in ("tensor", "pipeline", "data"):
        numbers(part, of_configurations(getattr(configuration.layout, part) for configuration in configurations))
    for word, values in (
        ("sharding", (configuration.layout.sharding for configuration in configurations)),
        ("format", (configuration.setup.format.id for configuration in configurations)),
        ("method", (configuration.setup.method for configuration in configurations)),
        ("checkpointing", (configuration.setup.gradient_checkpointing for configuration in configurations)),
    ):
        environment.set(f"plan.{word}", v.Word(of_configurations(values)))
    quantized = of_configurations(configuration.setup.format.quantized for configuration in configurations)
    environment.set("plan.quantized", v.Truth(quantized, ~quantized))
    if plan_set.configurations and configurations[0].setup.trains:
        numbers(
            "batch_size", of_configurations(float(configuration.setup.batch_size) for configuration in configurations)
        )
    numbers(
        "weight_bits", of_configurations(configuration.setup.format.bits_per_weight for configuration in configurations)
    )
    runtime = plain(environment.value(spec.name)) if (spec := knowledge.name_by_answer.get("runtime")) else None
    named = isinstance(runtime, str)  # where no stack is named, each format has one that runs it
    runs = of_configurations(
        not named or configuration.setup.format.runs_on(str(runtime)) for configuration in configurations
    )
    environment.set("plan.format_runs", v.Truth(runs, ~runs))
    environment.set(
        "plan.format_stacks",
        v.Word(
            of_configurations(
                ", ".join(configuration.setup.format.runtimes) or "all" for configuration in configurations
            )
        ),
    )
    usable = plan_set.cards.usable_bytes[plan_set.card] / GIB
    numbers("usable_gib", usable)
    need = {
        part: of_configurations(getattr(configuration.memory, part) / GIB for configuration in configurations)
        for part in ("weights", "kv_cache", "total", "high")
    }
    for part, values_gib in need.items():
        numbers(f"{part}_gib", values_gib)
    verdict = np.where(need["total"] > usable, "no", np.where(need["high"] > usable, "tight", "fits"))
    numbers("admits", admitted(plan_set))
    environment.set("plan.verdict", v.Word(np.where(np.isnan(usable), "", verdict)))
    for name in FIGURES:
        if name in plan_set.speeds.figures:
            numbers(name, plan_set.speeds.figures[name])
    numbers("watts", watts_of(plan_set))
    named_cards = np.full(len(plan_set), accelerators_chosen)
    environment.set("plan.accelerators_chosen", v.Truth(named_cards, ~named_cards))
    _fill_money(environment, knowledge, plan_set, costs, today)
    fill_sharing(environment, knowledge, plan_set, costs.hourly)


def _fill_money(
    environment: PlanEnvironment, knowledge: Knowledge, plan_set: PlanSet, costs: Costs, today: np.datetime64
) -> None:
    """The names about prices and owning."""

    def numbers(name: str, values: NDArray[np.float64]) -> None:
        environment.set(f"plan.{name}", v.column(np.where(np.isfinite(values), values, np.nan)))

    numbers("usd_per_hour", costs.usd_per_hour)
    numbers("usd_compared_per_hour", costs.hourly)
    numbers("usd_total", costs.usd_total)
    environment.set("plan.owned", v.Truth(plan_set.owned, ~plan_set.owned))
    purchase_terms = costs.purchase_terms
    if purchase_terms is not None:
        power = purchase_terms.usd_power_per_hour
        numbers("bought", purchase_terms.bought)
        numbers("usd_purchase", purchase_terms.usd_purchase)
        numbers("usd_power_per_hour", power)
        numbers("usd_owning_per_hour", purchase_terms.usd_per_hour)
        rent = np.where(plan_set.owned, np.nan, costs.usd_per_hour)
        hours = purchase_terms.terms.hours_a_month
        numbers("break_even_months", money.break_even_months(purchase_terms.usd_purchase, rent, power, hours))

    def spot() -> v.Value:
        found = [costs.spot_price(plan_set, index) for index in range(len(plan_set))]
        return v.column(np.array([math.nan if price is None else price.usd_per_hour for price in found]))

    environment.supply("plan.spot_usd_per_hour", spot)
    catalogue = knowledge.catalogue
    classes = ["" if price is None else catalogue.provider_class(price.offering) for price in costs.prices]
    kinds = ["" if price is None else price.offering.price_kind for price in costs.prices]
    environment.set("plan.provider_class", v.Word(np.where(plan_set.owned, "own", classes)))
    environment.set("plan.price_kind", v.Word(np.where(plan_set.owned, "owned", kinds)))
    numbers("providers", np.array([0.0 if price is None else price.providers for price in costs.prices]))
    numbers("large_providers", np.array([0.0 if price is None else price.large_providers for price in costs.prices]))
    numbers("rented", np.array([math.nan if price is None else price.rented for price in costs.prices]))
    sizes = [math.nan if price is None else price.offering.count for price in costs.prices]
    numbers("machine_accelerators", np.array(sizes))
    dates = ["NaT" if price is None or price.offering.as_of is None else price.offering.as_of for price in costs.prices]
    ages = (today - np.array(dates, dtype="datetime64[D]")).astype("timedelta64[D]")
    numbers("price_age_days", np.where(np.isnat(ages), np.nan, ages.astype(np.float64)))
    fresh = {name: fresh_days(catalogue, name) for name in dict.fromkeys(classes)}
    numbers("price_fresh_days", np.array([fresh[name] for name in classes]))
    for name, chosen in (("providers", costs.listed.chosen_providers), ("places", costs.listed.restricted)):
        every = np.full(len(plan_set), chosen)
        environment.set(f"plan.{name}_chosen", v.Truth(every, ~every))
    estimated = costs.estimated(plan_set)
    environment.set("plan.price_estimated", v.Truth(estimated, ~estimated))

    def offered_by() -> v.Value:
        names = np.array([costs.listed.offered_by(card.id) or "nobody" for card in plan_set.cards.accelerators])
        return v.Word(names[plan_set.card])

    environment.supply("plan.offered_by", offered_by)
