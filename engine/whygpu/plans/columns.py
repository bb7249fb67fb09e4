"""The names of the plans as columns: what rules read under ``gpu.`` and ``plan.``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.checks.reckoning import Reckoning, Term
from whygpu.checks.speed import FIGURES
from whygpu.language import values as v
from whygpu.plans.enumerate import cards_of
from whygpu.plans.price import fresh_days
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from whygpu.catalogue import Accelerator
    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment
    from whygpu.knowledge import Knowledge, NameSpec
    from whygpu.plans.enumerate import Field
    from whygpu.plans.price import Price, PriceList
    from whygpu.plans.work import Work

PLAN_NAMES = (
    "plan.count",
    "plan.nodes",
    "plan.tensor",
    "plan.pipeline",
    "plan.data",
    "plan.format",
    "plan.quantized",
    "plan.method",
    "plan.sharding",
    "plan.checkpointing",
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
    "plan.usd_total",
    "plan.watts",
    "plan.objective",
    "plan.provider_class",
    "plan.providers",
    "plan.price_age_days",
    "plan.price_fresh_days",
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
    """Prices of the plans and what they compare by: USD an hour, USD a job or a unit of work, or watts."""

    prices: tuple[Price | None, ...]
    usd_per_hour: NDArray[np.float64]
    usd_total: NDArray[np.float64]
    objective: NDArray[np.float64]
    unit: str


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


def costs_of(field: Field, prices: PriceList, work: Work) -> Costs:
    """Prices and objectives: a job's cost for training and batch work where it is sized, a unit's where it is not."""
    setup = work.setup
    groups = [
        (way.split.cards, 1) if setup.trains else (way.split.tensor * way.split.pipeline, way.split.data)
        for way in field.ways
    ]
    names = [card.id for card in field.cards.accelerators]
    found = tuple(
        prices.price(names[card], *groups[way])
        for card, way in zip(field.card.tolist(), field.way.tolist(), strict=True)
    )
    hourly = np.array([math.nan if price is None else price.usd_per_hour for price in found])
    figures = field.speeds.figures
    total = np.full(len(field), np.nan)
    if not (setup.trains or setup.phase == "batch-inference"):
        return Costs(found, hourly, total, hourly, "USD/hour")
    hours = figures.get("train_hours", total)
    if np.isfinite(hours).any():
        total = hourly * hours
        return Costs(found, hourly, total, total, "USD")
    for name, unit in _UNITS_OF_WORK.items():
        if name in figures:
            with np.errstate(all="ignore"):
                return Costs(found, hourly, total, hourly / 3600.0 / figures[name] * 1e6, unit)
    return Costs(found, hourly, total, hourly, "USD/hour")


def reckon_cost(costs: Costs, field: Field, index: int) -> list[Reckoning]:
    """How the cost of a job came about; nothing where it is not known."""
    total, hours = float(costs.usd_total[index]), field.speeds.likely("train_hours", index)
    if not math.isfinite(total):
        return []
    terms = (Term("usd_per_hour", float(costs.usd_per_hour[index]), "USD/hour"), Term("train_hours", hours, "h"))
    return [Reckoning("usd_total", "usd_per_hour * train_hours", terms, total, "USD")]


def comparable(costs: Costs, field: Field, alive: Mask) -> Costs:
    """The same costs, compared by power where no plan that is left has a price."""
    if np.isfinite(costs.objective[alive]).any():
        return costs
    watts = watts_of(field)
    return replace(costs, objective=watts, unit="W") if np.isfinite(watts[alive]).any() else costs


def watts_of(field: Field) -> NDArray[np.float64]:
    """Power that each plan's accelerators may draw; NaN where it is not known."""
    tdp = np.array(
        [math.nan if (watts := card.number("tdp_w")) is None else watts for card in field.cards.accelerators]
    )
    counts = np.array([way.split.cards for way in field.ways])
    drawn: NDArray[np.float64] = tdp[field.card] * counts[field.way]
    return drawn


def fill(environment: PlanEnvironment, knowledge: Knowledge, field: Field, costs: Costs, today: np.datetime64) -> None:
    """Give every ``gpu.`` and ``plan.`` name its column."""
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
    numbers("usd_per_hour", costs.usd_per_hour)
    numbers("usd_total", costs.usd_total)
    numbers("watts", watts_of(field))
    classes = {identifier: provider.provider_class for identifier, provider in knowledge.catalogue.providers.items()}
    priced = ["" if price is None else classes[price.offering.provider] for price in costs.prices]
    environment.set("plan.provider_class", v.Word(np.array(priced)))
    numbers("providers", np.array([0 if price is None else price.providers for price in costs.prices]))
    dates = ["NaT" if price is None or price.offering.as_of is None else price.offering.as_of for price in costs.prices]
    ages = (today - np.array(dates, dtype="datetime64[D]")).astype("timedelta64[D]")
    numbers("price_age_days", np.where(np.isnat(ages), np.nan, ages.astype(np.float64)))
    numbers("price_fresh_days", np.full(len(ages), fresh_days(knowledge.catalogue)))
