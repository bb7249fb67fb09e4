"""The names of the plans as columns: what rules read under ``gpu.`` and ``plan.``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from whygpu.language import values as v
from whygpu.quantity import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    "plan.price_age_days",
)
GPU_NAMES = ("gpu.id", "gpu.name", "gpu.family", "gpu.vendor", "gpu.usable_gib")
SPEEDS = (
    "ttft_ms",
    "token_ms",
    "tokens_per_s",
    "requests_per_s",
    "train_tokens_per_s",
    "samples_per_s",
    "frames_per_s",
    "train_hours",
)


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices of the plans and what they compare by: USD an hour, USD a job or a unit of work, or watts."""

    prices: tuple[Price | None, ...]
    usd_per_hour: NDArray[np.float64]
    usd_total: NDArray[np.float64]
    objective: NDArray[np.float64]
    unit: str


@lru_cache(maxsize=8)
def accelerator_columns(knowledge: Knowledge) -> tuple[dict[str, int], dict[str, v.Value]]:
    """Each accelerator's row, and every ``gpu.`` name as a column over all accelerators."""
    cards = list(knowledge.catalogue.accelerators.values())
    columns: dict[str, v.Value] = {
        "gpu.id": v.Word(np.array([card.id for card in cards])),
        "gpu.name": v.Word(np.array([card.name for card in cards])),
        "gpu.family": v.Word(np.array([card.family for card in cards])),
        "gpu.vendor": v.Word(np.array([card.vendor for card in cards])),
        "gpu.usable_gib": v.column(
            np.array([math.nan if (mib := card.number("usable_mib")) is None else mib * MIB / GIB for card in cards])
        ),
    }
    for name, spec in knowledge.vocabulary.items():
        if spec.entity == "gpu" and name not in columns:
            columns[name] = _column(spec, name.removeprefix("gpu."), cards)
    return {card.id: row for row, card in enumerate(cards)}, columns


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
    plans = field.candidates
    found = tuple(
        prices.price(
            plan.accelerator.id,
            plan.split.tensor * plan.split.pipeline if not plan.setup.trains else plan.split.cards,
            plan.split.data if not plan.setup.trains else 1,
        )
        for plan in plans
    )
    hourly = np.array([math.nan if price is None else price.usd_per_hour for price in found])
    total = np.full(len(plans), np.nan)
    bands = field.speeds.bands
    setup = work.setup
    objective, unit = hourly, "USD/hour"
    if setup.trains or setup.phase == "batch-inference":
        hours = bands["train_hours"].likely if "train_hours" in bands else total
        if np.isfinite(hours).any():
            total = hourly * hours
            objective, unit = total, "USD"
        else:
            for name, label, scale in (
                ("train_tokens_per_s", "USD/million tokens", 1e6),
                ("tokens_per_s", "USD/million tokens", 1e6),
                ("samples_per_s", "USD/million samples", 1e6),
                ("frames_per_s", "USD/million samples", 1e6),
            ):
                if name in bands:
                    with np.errstate(all="ignore"):
                        objective, unit = hourly / 3600.0 / bands[name].likely * scale, label
                    break
    return Costs(found, hourly, total, objective, unit)


def comparable(costs: Costs, field: Field, alive: Mask) -> Costs:
    """The same costs, compared by power where no plan that is left has a price."""
    if np.isfinite(costs.objective[alive]).any():
        return costs
    watts = np.array([_watts(plan.accelerator, plan.split.cards) for plan in field.candidates])
    return replace(costs, objective=watts, unit="W") if np.isfinite(watts[alive]).any() else costs


def _watts(card: Accelerator, count: int) -> float:
    tdp = card.number("tdp_w")
    return math.nan if tdp is None else tdp * count


def fill(environment: PlanEnvironment, knowledge: Knowledge, field: Field, costs: Costs, today: np.datetime64) -> None:
    """Give every ``gpu.`` and ``plan.`` name its column."""
    plans = field.candidates
    row_of, columns = accelerator_columns(knowledge)
    rows = np.array([row_of[plan.accelerator.id] for plan in plans], dtype=np.int64)
    for name, value in columns.items():
        environment.set(name, _take(value, rows))

    def numbers(name: str, values: Sequence[float] | NDArray[np.float64]) -> None:
        environment.set(f"plan.{name}", v.column(np.asarray(values, dtype=np.float64)))

    def words(name: str, values: Sequence[str]) -> None:
        environment.set(f"plan.{name}", v.Word(np.array(values)))

    splits = [plan.split for plan in plans]
    numbers("count", [split.cards for split in splits])
    for part in ("nodes", "tensor", "pipeline", "data"):
        numbers(part, [getattr(split, part) for split in splits])
    words("sharding", [split.sharding for split in splits])
    words("format", [plan.setup.format.id for plan in plans])
    words("method", [plan.setup.method for plan in plans])
    words("checkpointing", [plan.setup.gradient_checkpointing for plan in plans])
    quantized = np.array([plan.setup.format.quantized for plan in plans])
    environment.set("plan.quantized", v.Truth(quantized, ~quantized))
    usable = np.array([plan.accelerator.number("usable_mib") or math.nan for plan in plans]) * MIB
    numbers("usable_gib", usable / GIB)
    for part in ("weights", "kv_cache", "total", "high"):
        numbers(f"{part}_gib", np.array([getattr(plan.memory, part) for plan in plans]) / GIB)
    words("verdict", [plan.memory.verdict(size) for plan, size in zip(plans, usable, strict=True)])
    for name in SPEEDS:
        band = field.speeds.bands.get(name)
        if band is not None:
            numbers(name, band.likely)
    numbers("usd_per_hour", costs.usd_per_hour)
    numbers("usd_total", costs.usd_total)
    numbers("watts", [_watts(plan.accelerator, plan.split.cards) for plan in plans])
    classes = [
        "" if price is None else knowledge.catalogue.providers[price.offering.provider].provider_class
        for price in costs.prices
    ]
    words("provider_class", classes)
    ages = [
        math.nan
        if price is None or price.offering.as_of is None
        else float((today - np.datetime64(price.offering.as_of)).astype(int))
        for price in costs.prices
    ]
    numbers("price_age_days", ages)
