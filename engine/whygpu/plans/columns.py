"""The names of the plans as columns: what rules read under ``gpu.`` and ``plan.``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.environment import plain
from whygpu.checks import money
from whygpu.checks.speed import FIGURES
from whygpu.language import values as v
from whygpu.plans.counting import Money
from whygpu.plans.field import cards_of
from whygpu.plans.owning import owning_of
from whygpu.plans.price import fresh_days
from whygpu.plans.sharing import SHARING_NAMES, fill_sharing
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from whygpu.catalogue import Accelerator
    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment
    from whygpu.checks.setup import Setup
    from whygpu.knowledge import Knowledge, NameSpec
    from whygpu.plans.field import Field, Way
    from whygpu.plans.owning import Owning, Terms
    from whygpu.plans.price import Price, PriceList
    from whygpu.plans.work import Work
    from whygpu.preferences import Handling

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
    owning: Owning | None
    basis: NDArray[np.str_]
    hourly: NDArray[np.float64]
    """What an hour costs by that basis."""
    spot: PriceList | None
    """Spot prices, where the plan is not priced by them already."""
    listed: PriceList
    """The prices that the answers allow."""

    def spot_price(self, field: Field, index: int) -> Price | None:
        """What one plan costs on spot capacity; None where nobody allowed offers it, or it is priced so already."""
        if self.spot is None or self.prices[index] is None:
            return None
        card, way = int(field.card[index]), field.ways[int(field.way[index])]
        shard, replicas = _group(way)
        return self.spot.price(field.cards.accelerators[card].id, shard, replicas, int(field.cards.per_node[card]))

    def estimated(self, field: Field) -> NDArray[np.bool_]:
        """The plans that compare by an estimated price: bought ones that nobody says the price of."""
        if self.owning is None:
            return np.zeros(len(field), dtype=np.bool_)
        found: NDArray[np.bool_] = (self.basis == "buying") & self.owning.terms.estimated[field.card]
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


def _group(way: Way) -> tuple[int, int]:
    """Accelerators that must share a machine where they can, and how many such groups there are."""
    split = way.split
    return (split.cards, 1) if way.setup.trains else (split.tensor * split.pipeline, split.data)


def costs_of(
    field: Field, prices: PriceList, work: Work, terms: Terms | None, *, bought: bool, spot: PriceList | None
) -> Costs:
    """Prices and objectives: a job's cost for training and batch work where it is sized, a unit's where it is not.

    ``terms``: what owning costs. Where hardware is ``bought``, a plan compares by owning it: what others rent it out
    for is no price there, and a plan that nobody knows the price to buy of has none.
    """
    setup = work.setup
    groups = [_group(way) for way in field.ways]
    names = [card.id for card in field.cards.accelerators]
    together = field.cards.per_node.tolist()
    found = tuple(
        None if owned else prices.price(names[card], groups[way][0], groups[way][1], together[card])
        for card, way, owned in zip(field.card.tolist(), field.way.tolist(), field.owned.tolist(), strict=True)
    )
    owning = None if terms is None else owning_of(terms, field, watts_of(field), counts_of(field))
    new = np.full(len(field), math.nan) if owning is None else owning.usd_per_hour
    if bought:
        found = tuple(price if known else None for price, known in zip(found, np.isfinite(new).tolist(), strict=True))
    rent = np.array([math.nan if price is None else price.usd_per_hour for price in found])
    if owning is not None:
        rent = np.where(field.owned, owning.usd_power_per_hour, rent)
    hourly = np.where(field.owned, rent, new) if bought else rent
    basis = np.where(field.owned, "owned", "buying" if bought else "renting")
    total, objective, unit = _objective(field, setup, hourly)
    return Costs(found, rent, total, objective, unit, owning, basis, hourly, spot, prices)


def _objective(
    field: Field, setup: Setup, hourly: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """What the job costs (NaN where it is not sized), what plans compare by, and its unit."""
    figures = field.speeds.figures
    total = np.full(len(field), np.nan)
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


def money_of(costs: Costs, field: Field, setup: Setup, handling: Handling, own: bool) -> Money:
    """What the plans count from: their objective, with what handling the machines and the job costs added; ``own``: the
    machines stand under a desk or in the field.
    """
    each = handling.own_usd_per_hour if own else handling.usd_per_hour
    rented = np.array([0.0 if price is None else float(price.machines) for price in costs.prices])
    bought = np.array(costs.basis != "renting")
    machines = np.where(bought, field.nodes, np.maximum(rented, field.nodes)).astype(np.float64) * each
    if costs.unit == "W":
        return Money(costs.objective, costs.unit, np.full(len(field), np.nan), machines)
    hourly = costs.hourly + machines
    _, values, unit = _objective(field, setup, hourly)
    if unit == "USD":
        values = values + hourly * handling.hours_per_job
    with np.errstate(all="ignore"):
        return Money(values, unit, values / hourly, machines)


def comparable(costs: Costs, field: Field, alive: Mask) -> Costs:
    """The same costs, compared by power where no plan that is left has a price."""
    if np.isfinite(costs.objective[alive]).any():
        return costs
    watts = watts_of(field)
    return replace(costs, objective=watts, unit="W") if np.isfinite(watts[alive]).any() else costs


def watts_of(field: Field) -> NDArray[np.float64]:
    """Power that each plan's accelerators may draw; NaN where it is not known."""
    drawn: NDArray[np.float64] = field.cards.power_w[field.card] * counts_of(field)
    return drawn


def counts_of(field: Field) -> NDArray[np.float64]:
    """Accelerators of each plan."""
    counts = np.array([way.split.cards for way in field.ways], dtype=np.float64)
    return counts[field.way]


def fill(
    environment: PlanEnvironment,
    knowledge: Knowledge,
    field: Field,
    costs: Costs,
    today: np.datetime64,
    accelerators_chosen: bool,
) -> None:
    """Give every ``gpu.`` and ``plan.`` name its column; ``accelerators_chosen``: the answers name those allowed."""
    for name, value in accelerator_columns(knowledge).items():
        environment.supply(name, lambda value=value: _take(value, field.card))  # type: ignore[misc]  # bound early

    def numbers(name: str, values: NDArray[Any]) -> None:
        environment.set(f"plan.{name}", v.column(values.astype(np.float64)))

    def of_ways(values: Iterable[float | str]) -> NDArray[Any]:
        """Something of each way of running, plan by plan."""
        return np.array(list(values))[field.way]

    ways = field.ways
    numbers("count", of_ways(way.split.cards for way in ways))
    numbers("nodes", field.nodes)
    for part in ("tensor", "pipeline", "data"):
        numbers(part, of_ways(getattr(way.split, part) for way in ways))
    for word, values in (
        ("sharding", (way.split.sharding for way in ways)),
        ("format", (way.setup.format.id for way in ways)),
        ("method", (way.setup.method for way in ways)),
        ("checkpointing", (way.setup.gradient_checkpointing for way in ways)),
    ):
        environment.set(f"plan.{word}", v.Word(of_ways(values)))
    quantized = of_ways(way.setup.format.quantized for way in ways)
    environment.set("plan.quantized", v.Truth(quantized, ~quantized))
    if field.ways and ways[0].setup.trains:
        numbers("batch_size", of_ways(float(way.setup.batch_size) for way in ways))
    numbers("weight_bits", of_ways(way.setup.format.bits_per_weight for way in ways))
    runtime = plain(environment.value(spec.name)) if (spec := knowledge.name_by_answer.get("runtime")) else None
    named = isinstance(runtime, str)  # where no stack is named, each format has one that runs it
    runs = of_ways(not named or way.setup.format.runs_on(str(runtime)) for way in ways)
    environment.set("plan.format_runs", v.Truth(runs, ~runs))
    environment.set(
        "plan.format_stacks", v.Word(of_ways(", ".join(way.setup.format.runtimes) or "all" for way in ways))
    )
    usable = field.cards.usable_bytes[field.card] / GIB
    numbers("usable_gib", usable)
    need = {
        part: of_ways(getattr(way.memory, part) / GIB for way in ways)
        for part in ("weights", "kv_cache", "total", "high")
    }
    for part, values_gib in need.items():
        numbers(f"{part}_gib", values_gib)
    verdict = np.where(need["total"] > usable, "no", np.where(need["high"] > usable, "tight", "fits"))
    environment.set("plan.verdict", v.Word(np.where(np.isnan(usable), "", verdict)))
    for name in FIGURES:
        if name in field.speeds.figures:
            numbers(name, field.speeds.figures[name])
    numbers("watts", watts_of(field))
    named_cards = np.full(len(field), accelerators_chosen)
    environment.set("plan.accelerators_chosen", v.Truth(named_cards, ~named_cards))
    _fill_money(environment, knowledge, field, costs, today)
    fill_sharing(environment, knowledge, field, costs.hourly)


def _fill_money(
    environment: PlanEnvironment, knowledge: Knowledge, field: Field, costs: Costs, today: np.datetime64
) -> None:
    """The names about prices and owning."""

    def numbers(name: str, values: NDArray[np.float64]) -> None:
        environment.set(f"plan.{name}", v.column(np.where(np.isfinite(values), values, np.nan)))

    numbers("usd_per_hour", costs.usd_per_hour)
    numbers("usd_compared_per_hour", costs.hourly)
    numbers("usd_total", costs.usd_total)
    environment.set("plan.owned", v.Truth(field.owned, ~field.owned))
    owning = costs.owning
    if owning is not None:
        power = owning.usd_power_per_hour
        numbers("bought", owning.bought)
        numbers("usd_purchase", owning.usd_purchase)
        numbers("usd_power_per_hour", power)
        numbers("usd_owning_per_hour", owning.usd_per_hour)
        rent = np.where(field.owned, np.nan, costs.usd_per_hour)
        hours = owning.terms.hours_a_month
        numbers("break_even_months", money.break_even_months(owning.usd_purchase, rent, power, hours))

    def spot() -> v.Value:
        found = [costs.spot_price(field, index) for index in range(len(field))]
        return v.column(np.array([math.nan if price is None else price.usd_per_hour for price in found]))

    environment.supply("plan.spot_usd_per_hour", spot)
    catalogue = knowledge.catalogue
    classes = ["" if price is None else catalogue.provider_class(price.offering) for price in costs.prices]
    kinds = ["" if price is None else price.offering.price_kind for price in costs.prices]
    environment.set("plan.provider_class", v.Word(np.where(field.owned, "own", classes)))
    environment.set("plan.price_kind", v.Word(np.where(field.owned, "owned", kinds)))
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
        every = np.full(len(field), chosen)
        environment.set(f"plan.{name}_chosen", v.Truth(every, ~every))
    estimated = costs.estimated(field)
    environment.set("plan.price_estimated", v.Truth(estimated, ~estimated))

    def offered_by() -> v.Value:
        names = np.array([costs.listed.offered_by(card.id) or "nobody" for card in field.cards.accelerators])
        return v.Word(names[field.card])

    environment.supply("plan.offered_by", offered_by)
