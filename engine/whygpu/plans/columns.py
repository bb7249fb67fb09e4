"""The names of the plans as columns: what rules read under ``gpu.`` and ``plan.``, each with how it is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from whygpu.chain.environment import GivenColumns
from whygpu.checks.cost import money
from whygpu.checks.speed.estimate import FIGURES
from whygpu.kept import kept
from whygpu.language import values as v
from whygpu.language.numbering import Lasting
from whygpu.plans.admission import admitted
from whygpu.plans.capacity import most_requests_per_s
from whygpu.plans.costs import watts_of
from whygpu.plans.plan_set import cards_of
from whygpu.plans.price import fresh_days
from whygpu.plans.recent import Recent
from whygpu.plans.sharing import SHARING_NAMES, sharing_columns
from whygpu.plans.waiting import answer_p95_ms
from whygpu.plans.ways import NEEDS, batch_of, cards_of_way, format_of, replicas_of
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator
    from whygpu.language.names import NameSpec
    from whygpu.language.tree import Expression
    from whygpu.plans.capacity import InTime
    from whygpu.plans.costs import Costs
    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.price import Price
    from whygpu.plans.purchase import PurchaseTerms
    from whygpu.plans.ways import RunConfiguration

GPU_NAMES = ("gpu.id", "gpu.name", "gpu.family", "gpu.vendor", "gpu.usable_gib")


@dataclass(frozen=True, slots=True)
class PricedPlans:
    """The plans that columns are computed over, what they cost on a day, and what was answered of them."""

    plan_set: PlanSet
    costs: Costs
    knowledge: Knowledge
    today: np.datetime64
    runtime: str | None
    accelerators_chosen: bool
    in_time: InTime | None = None
    """How soon a service must answer, where a load is asked for."""
    per_s: float | None = None
    """Requests a second that were asked for."""

    def gib(self, part: str) -> NDArray[np.float64]:
        """GiB of one accelerator that each plan needs: of a part, the likely total or its high end."""
        return self.plan_set.each(NEEDS[part]) / GIB

    def usable_gib(self) -> NDArray[np.float64]:
        """GiB of one accelerator that a program gets."""
        return self.plan_set.cards.usable_bytes[self.plan_set.card] / GIB


Column: TypeAlias = "Callable[[PricedPlans], v.Value | None]"
"""How a name is computed for all plans at once; None where it does not apply."""


def _numbers(values: NDArray[np.generic]) -> v.Number:
    return v.column(values.astype(np.float64))


def _flags(values: NDArray[np.bool_]) -> v.Truth:
    return v.Truth(values, ~values)


def _every(plans: PricedPlans, flag: bool) -> v.Truth:
    """The same for every plan."""
    return _flags(np.full(len(plans.plan_set), flag))


def _number_of(of: Callable[[RunConfiguration], float]) -> Column:
    return lambda plans: _numbers(plans.plan_set.each(of))


def _word_of(of: Callable[[RunConfiguration], str]) -> Column:
    return lambda plans: v.Word(plans.plan_set.each(of))


def _flag_of(of: Callable[[RunConfiguration], bool]) -> Column:
    return lambda plans: _flags(plans.plan_set.each(of).astype(np.bool_))


def _price_of(of: Callable[[Price], float], unpriced: float = math.nan) -> Column:
    return lambda plans: _numbers(plans.costs.prices.each(of, unpriced))


def _price_word_of(of: Callable[[PricedPlans, Price], str], owned: str) -> Column:
    def column(plans: PricedPlans) -> v.Word:
        words = plans.costs.prices.each(lambda price: of(plans, price), "")
        return v.Word(np.where(plans.plan_set.owned, owned, words))

    return column


def _purchase_of(of: Callable[[PricedPlans, PurchaseTerms], NDArray[np.float64]]) -> Column:
    """Something of buying the plans; unknown where nothing is known of that."""

    def column(plans: PricedPlans) -> v.Number | None:
        terms = plans.costs.purchase_terms
        return None if terms is None else _numbers(of(plans, terms))

    return column


def _figure(name: str) -> Column:
    """A figure of speed, where the work has it."""

    def column(plans: PricedPlans) -> v.Number | None:
        values = plans.plan_set.speeds.figures.get(name)
        return None if values is None else _numbers(values)

    return column


def _most_requests_per_s(plans: PricedPlans) -> v.Number | None:
    return None if plans.in_time is None else _numbers(most_requests_per_s(plans.plan_set, plans.in_time))


def _answer_p95_ms(plans: PricedPlans) -> v.Number | None:
    found = None if plans.per_s is None else answer_p95_ms(plans.plan_set, plans.per_s)
    return None if found is None else _numbers(found)


def _batch_size(plans: PricedPlans) -> v.Number | None:
    trains = plans.plan_set.configurations[0].setup.trains
    return _numbers(plans.plan_set.each(batch_of)) if trains else None


def _format_runs(plans: PricedPlans) -> v.Truth:
    """Whether the stack that is named runs the format; where none is, each format has one that does."""
    if plans.runtime is None:
        return _every(plans, True)
    names, which = np.unique(plans.plan_set.each(format_of), return_inverse=True)
    formats = plans.knowledge.catalogue.formats
    return _flags(np.array([formats[name].runs_on(plans.runtime) for name in names.tolist()])[which])


def _verdict(plans: PricedPlans) -> v.Word:
    usable, likely, high = plans.usable_gib(), plans.gib("total"), plans.gib("high")
    verdict = np.where(likely > usable, "no", np.where(high > usable, "tight", "fits"))
    return v.Word(np.where(np.isnan(usable), "", verdict))


def _break_even_hours(plans: PricedPlans, terms: PurchaseTerms) -> NDArray[np.float64]:
    rent = np.where(plans.plan_set.owned, np.nan, plans.costs.usd_per_hour)
    return money.break_even_hours(terms.usd_purchase, rent, terms.usd_power_per_hour)


def _break_even_months(plans: PricedPlans, terms: PurchaseTerms) -> NDArray[np.float64]:
    return _break_even_hours(plans, terms) / terms.terms.hours_a_month


def _smaller_card_usd_per_hour(plans: PricedPlans) -> v.Number:
    """The least that an hour costs on as many cards of the same family with less memory; unknown where none has a
    price.
    """
    cards = plans.plan_set.cards.accelerators
    memory_gb = [card.number("marketing_gb") or math.nan for card in cards]
    card, count = plans.plan_set.card.tolist(), plans.plan_set.each(cards_of_way).tolist()
    least: dict[tuple[str, int], dict[float, float]] = {}
    for i, n, usd in zip(card, count, plans.costs.hourly.tolist(), strict=True):
        if not math.isnan(usd):
            of_family = least.setdefault((cards[i].family, n), {})
            of_family[memory_gb[i]] = min(usd, of_family.get(memory_gb[i], math.inf))
    return v.column(
        np.array(
            [
                min(
                    (usd for gb, usd in least.get((cards[i].family, n), {}).items() if gb < memory_gb[i]),
                    default=math.nan,
                )
                for i, n in zip(card, count, strict=True)
            ]
        )
    )


def _spot_usd_per_hour(plans: PricedPlans) -> v.Number:
    found = [plans.costs.spot_price(plans.plan_set, index) for index in range(len(plans.plan_set))]
    return v.column(np.array([math.nan if price is None else price.usd_per_hour for price in found]))


def _price_age_days(plans: PricedPlans) -> v.Number:
    dates = plans.costs.prices.each(lambda price: price.offering.as_of or "NaT", "NaT")
    return v.column(_days_since(plans, dates))


def _purchase_age_days(plans: PricedPlans) -> v.Number:
    """Days since the purchase price of each plan's accelerator was that; NaN where none is known, or of no day."""
    bought = plans.knowledge.catalogue.purchase_by_accelerator
    found = [bought.get(card.id) for card in plans.plan_set.cards.accelerators]
    dates = np.array([(item and item.as_of) or "NaT" for item in found])
    return v.column(_days_since(plans, dates)[plans.plan_set.card])


def _days_since(plans: PricedPlans, dates: NDArray[np.generic]) -> NDArray[np.float64]:
    """Days from each date to today; NaN where there is none."""
    ages = (plans.today - dates.astype("datetime64[D]")).astype("timedelta64[D]")
    return np.where(np.isnat(ages), np.nan, ages.astype(np.float64))


def _price_fresh_days(plans: PricedPlans) -> v.Number:
    catalogue = plans.knowledge.catalogue
    classes = plans.costs.prices.each(lambda price: catalogue.provider_class(price.offering), "").tolist()
    fresh = {name: fresh_days(catalogue, name) for name in dict.fromkeys(classes)}
    return v.column(np.array([fresh[name] for name in classes]))


def _offered_by(plans: PricedPlans) -> v.Word:
    cards, listed = plans.plan_set.cards.accelerators, plans.costs.listed
    return v.Word(np.array([listed.offered_by(card.id) or "no provider" for card in cards])[plans.plan_set.card])


_COLUMNS: Mapping[str, Column] = MappingProxyType(
    {
        "plan.count": _number_of(cards_of_way),
        "plan.nodes": lambda plans: _numbers(plans.plan_set.nodes),
        "plan.tensor": _number_of(lambda item: item.layout.tensor),
        "plan.pipeline": _number_of(lambda item: item.layout.pipeline),
        "plan.expert": _number_of(lambda item: item.layout.expert),
        "plan.data": _number_of(replicas_of),
        "plan.cache_split": _word_of(lambda item: item.layout.cache_split),
        "plan.sharding": _word_of(lambda item: item.layout.sharding),
        "plan.format": _word_of(format_of),
        "plan.kv_format": _word_of(lambda item: item.setup.kv_format.id if item.setup.kv_format else "native"),
        "plan.quantized": _flag_of(lambda item: item.setup.format.quantized),
        "plan.weight_bits": _number_of(lambda item: item.setup.format.bits_per_weight),
        "plan.format_runs": _format_runs,
        "plan.format_stacks": _word_of(lambda item: ", ".join(item.setup.format.runtimes) or "all"),
        "plan.method": _word_of(lambda item: item.setup.method),
        "plan.checkpointing": _word_of(lambda item: item.setup.gradient_checkpointing),
        "plan.batch_size": _batch_size,
        "plan.weights_gib": lambda plans: v.column(plans.gib("weights")),
        "plan.kv_cache_gib": lambda plans: v.column(plans.gib("kv_cache")),
        "plan.total_gib": lambda plans: v.column(plans.gib("total")),
        "plan.high_gib": lambda plans: v.column(plans.gib("high")),
        "plan.usable_gib": lambda plans: v.column(plans.usable_gib()),
        "plan.verdict": _verdict,
        "plan.admits": lambda plans: _numbers(admitted(plans.plan_set)),
        **{f"plan.{name}": _figure(name) for name in FIGURES},
        "plan.most_requests_per_s": _most_requests_per_s,
        "plan.answer_p95_ms": _answer_p95_ms,
        "plan.watts": lambda plans: v.column(watts_of(plans.plan_set)),
        "plan.accelerators_chosen": lambda plans: _every(plans, plans.accelerators_chosen),
        "plan.owned": lambda plans: _flags(plans.plan_set.owned),
        "plan.usd_per_hour": lambda plans: v.column(plans.costs.usd_per_hour),
        "plan.usd_compared_per_hour": lambda plans: v.column(plans.costs.hourly),
        "plan.smaller_card_usd_per_hour": _smaller_card_usd_per_hour,
        "plan.usd_total": lambda plans: v.column(plans.costs.usd_total),
        "plan.bought": _purchase_of(lambda _, terms: terms.bought),
        "plan.usd_purchase": _purchase_of(lambda _, terms: terms.usd_purchase),
        "plan.usd_power_per_hour": _purchase_of(lambda _, terms: terms.usd_power_per_hour),
        "plan.usd_owning_per_hour": _purchase_of(lambda _, terms: terms.usd_per_hour),
        "plan.break_even_hours": _purchase_of(_break_even_hours),
        "plan.break_even_months": _purchase_of(_break_even_months),
        "plan.spot_usd_per_hour": _spot_usd_per_hour,
        "plan.provider_class": _price_word_of(
            lambda plans, price: plans.knowledge.catalogue.provider_class(price.offering), "own"
        ),
        "plan.price_kind": _price_word_of(lambda _, price: price.offering.price_kind, "owned"),
        "plan.providers": _price_of(lambda price: price.providers, 0.0),
        "plan.large_providers": _price_of(lambda price: price.large_providers, 0.0),
        "plan.rented": _price_of(lambda price: price.rented),
        "plan.machine_accelerators": _price_of(lambda price: price.offering.count),
        "plan.price_age_days": _price_age_days,
        "plan.purchase_age_days": _purchase_age_days,
        "plan.price_fresh_days": _price_fresh_days,
        "plan.price_estimated": lambda plans: _flags(plans.costs.estimated(plans.plan_set)),
        "plan.providers_chosen": lambda plans: _every(plans, plans.costs.listed.chosen_providers),
        "plan.places_chosen": lambda plans: _every(plans, plans.costs.listed.restricted),
        "plan.offered_by": _offered_by,
    }
)

OBJECTIVE = "plan.objective"
"""What plans compare by: settled only when the hard rules have rejected."""

PLAN_NAMES = (*_COLUMNS, OBJECTIVE, *SHARING_NAMES)


_RECENT: Recent[GivenColumns] = Recent(16)


def given_columns(plans: PricedPlans) -> GivenColumns:
    """Every ``gpu.`` and ``plan.`` name with its column, made when first asked for; those of the last plans stay."""
    objects = (plans.plan_set, plans.costs, plans.knowledge)
    return _RECENT.get(
        objects,
        (plans.today, plans.runtime, plans.accelerators_chosen, plans.in_time, plans.per_s),
        lambda: _given(plans),
    )


def _given(plans: PricedPlans) -> GivenColumns:
    card = plans.plan_set.card
    columns: dict[str, Callable[[], v.Value | None]] = {}
    for name, value in accelerator_columns(plans.knowledge).items():
        columns[name] = lambda value=value: _take(value, card)  # type: ignore[misc]  # bound early
    for name, column in _COLUMNS.items():
        columns[name] = lambda column=column: column(plans)  # type: ignore[misc]  # bound early
    sharing = cache(lambda: sharing_columns(plans.knowledge, plans.plan_set, plans.costs.hourly))
    for name in SHARING_NAMES:
        columns[name] = lambda name=name: sharing().get(name)  # type: ignore[misc]  # bound early
    return GivenColumns(_lasting(plans.knowledge), columns)


@kept(8)
def _lasting(knowledge: Knowledge) -> Lasting:
    given = {*accelerator_columns(knowledge), *_COLUMNS, *SHARING_NAMES} - knowledge.concluded

    def derived(name: str) -> Expression | None:
        value = knowledge.values.get(name)
        return None if value is None or value.aggregate is not None else value.expression

    return Lasting(knowledge.numbering, given, derived)


@kept(8)
def accelerator_columns(knowledge: Knowledge) -> dict[str, v.Value]:
    """Every ``gpu.`` name as a column over all accelerators."""
    cards = list(knowledge.catalogue.accelerators.values())
    columns: dict[str, v.Value] = {
        "gpu.id": v.Word(np.array([card.id for card in cards])),
        "gpu.name": v.Word(np.array([card.name for card in cards])),
        "gpu.family": v.Word(np.array([card.family for card in cards])),
        "gpu.vendor": v.Word(np.array([card.vendor for card in cards])),
        "gpu.usable_gib": v.column(cards_of(knowledge.catalogue).usable_bytes / GIB),
    }
    for name, spec in knowledge.vocabulary.items():
        if spec.entity == "gpu" and name not in columns:
            columns[name] = _column(spec, name.removeprefix("gpu."), cards)
    return columns


def _column(spec: NameSpec, key: str, cards: Sequence[Accelerator]) -> v.Value:
    match spec.kind:
        case "number":
            present = np.array([not card.lacks(key) for card in cards])
            numbers = np.array([math.nan if (value := card.number(key)) is None else value for card in cards])
            return v.column(numbers, True if present.all() else present)
        case "flag":
            flags = [card.flag(key) for card in cards]
            return v.Truth(np.array([flag is True for flag in flags]), np.array([flag is False for flag in flags]))
        case "choice" | "text":
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
