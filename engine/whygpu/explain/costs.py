"""What a plan costs, with the formula and the source of every figure: rented, bought, or owned already."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.cost import money
from whygpu.explain.plan import Buying, Cost, Offer, Spot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.checks.coefficients import Coefficient
    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.catalogue import Purchase
    from whygpu.plans.plan_set import Candidate
    from whygpu.plans.price import Price
    from whygpu.plans.purchase import PurchaseTerms, Terms

_RATES = ("tokens_per_s", "train_tokens_per_s")
ESTIMATE = "estimate"
"""What stands for the purchase and its kind where the price is estimated."""


class _Where(NamedTuple):
    """Where a plan's hour is paid for, by which kind of price, and the day of it."""

    offering: str
    provider: str
    provider_class: str
    region: str | None
    price_kind: str
    as_of: str | None


class CostSheet:
    """The costs of the plans of one consultation."""

    def __init__(self, consultation: Consultation) -> None:
        """Nothing is worked out yet."""
        self._answers = consultation.answers
        self._costs, self._plan_set = consultation.plans.costs, consultation.plans.plan_set
        self._catalogue = consultation.knowledge.catalogue

    def cost(self, index: int) -> Cost | None:
        """What one plan costs; None where it is unknown."""
        hourly = _known(self._costs.usd_per_hour[index])
        buying, objective = self._buying(index), _known(self._costs.objective[index])
        if hourly is None and buying is not None and self._costs.basis[index] == "buying":
            hourly = buying.usd_per_hour
        if hourly is None:
            return None
        where = self._where(index, buying)
        price, ends = self._costs.prices[index], self._ends(index)
        hours = self._plan_set.speeds.likely("train_hours", index)
        return Cost(
            usd_per_hour=hourly,
            offering=where.offering,
            provider=where.provider,
            provider_class=where.provider_class,
            region=where.region,
            price_kind=where.price_kind,
            as_of=where.as_of,
            usd_per_month=float(money.per_month_usd(hourly, self._month)),
            usd_per_million_tokens=_known(money.per_million_usd(hourly, self._tokens_per_s(index))),
            usd_total=_known(money.run_usd(hourly, hours)),
            objective=objective,
            objective_unit=self._costs.unit,
            basis=str(self._costs.basis[index]),
            usd_power_per_hour=None
            if self._purchase_terms is None
            else _known(self._purchase_terms.usd_power_per_hour[index]),
            spot=self._spot(index),
            buying=buying,
            machines=None if price is None else price.machines,
            machine_accelerators=None if price is None else price.offering.count,
            estimated=ends is not None,
            least=None if price is None or price.least is None else _offer(price.least),
            low=None if ends is None else ends[0],
            high=None if ends is None else ends[1],
        )

    def unpriced(self, index: int) -> str:
        """Why a plan has no cost."""
        card = self._plan_set.candidate(index).accelerator
        if self._costs.basis[index] == "buying":
            known = self._purchase_terms is not None and math.isfinite(self._purchase_terms.usd_purchase[index])
            if known:
                return "the cost of owning it depends on its power and the months of use, and one of them is unknown"
            return card.unpriced or (
                "hardware is bought here, and its purchase price is neither known nor can it be estimated from "
                "similar hardware; a rental price does not count"
            )
        return self._costs.listed.why_none(card.id)

    @property
    def _month(self) -> float:
        """Hours of use in a month."""
        return money.HOURS_PER_MONTH if self._purchase_terms is None else self._purchase_terms.terms.hours_a_month

    @property
    def _purchase_terms(self) -> PurchaseTerms | None:
        return self._costs.purchase_terms

    def _where(self, index: int, buying: Buying | None) -> _Where:
        price = self._costs.prices[index]
        if price is not None:
            item = price.offering
            provider = self._catalogue.providers[item.provider]
            return _Where(item.id, provider.id, provider.provider_class, item.region, item.price_kind, item.as_of)
        if buying is not None:
            return _Where(buying.purchase, "own", "own", None, "purchase", buying.as_of)
        return _Where("owned", "own", "own", None, "owned", self._power_as_of())

    def _power_as_of(self) -> str | None:
        """The day of the price of electricity; None where it is the user's own."""
        if self._purchase_terms is None or "electricity_usd_per_kwh" in self._answers.values:
            return None
        sources = self._purchase_terms.terms.site["electricity-usd-per-kwh"].source
        days = [self._catalogue.references[name].as_of for name in sources if name in self._catalogue.references]
        return max((day for day in days if day is not None), default=None)

    def _tokens_per_s(self, index: int) -> float:
        rates = (self._plan_set.speeds.likely(name, index) for name in _RATES)
        return next((rate for rate in rates if math.isfinite(rate)), math.nan)

    def _spot(self, index: int) -> Spot | None:
        price = self._costs.spot_price(self._plan_set, index)
        if price is None:
            return None
        item = price.offering
        return Spot(price.usd_per_hour, item.id, item.provider, item.region, item.as_of)

    def _buying(self, index: int) -> Buying | None:
        """None where it is owned already, where no price to buy is known, or not for how long it would be used."""
        purchase_terms = self._purchase_terms
        if (
            purchase_terms is None
            or bool(self._plan_set.owned[index])
            or not math.isfinite(purchase_terms.usd_per_hour[index])
        ):
            return None
        purchase = purchase_terms.terms.purchases[int(self._plan_set.card[index])]
        usd, power = float(purchase_terms.usd_purchase[index]), float(purchase_terms.usd_power_per_hour[index])
        hourly, rent = float(purchase_terms.usd_per_hour[index]), float(self._costs.usd_per_hour[index])
        months = purchase_terms.terms.months
        return Buying(
            usd_purchase=usd,
            count=int(purchase_terms.bought[index]),
            machine=self._machine(index, purchase_terms),
            usd_memory=self._memory(index, purchase_terms).value,
            usd_per_hour=hourly,
            usd_per_month=float(money.per_month_usd(hourly, self._month)),
            usd_per_million_tokens=_known(money.per_million_usd(hourly, self._tokens_per_s(index))),
            usd_total=_known(money.run_usd(hourly, self._plan_set.speeds.likely("train_hours", index))),
            months=months,
            break_even_hours=_known(money.break_even_hours(usd, rent, power)),
            break_even_months=_known(money.break_even_months(usd, rent, power, self._month)),
            hours_a_month=_known(money.hours_a_month_to_own(usd, months, rent, power)),
            purchase=ESTIMATE if purchase is None else purchase.id,
            kind=ESTIMATE if purchase is None else purchase.kind,
            as_of=None if purchase is None else purchase.as_of,
            source=() if purchase is None else purchase.source,
        )

    def _ends(self, index: int) -> tuple[float, float] | None:
        """USD an hour at the low and at the high end of an estimated price; None where it is not estimated."""
        purchase_terms = self._purchase_terms
        if purchase_terms is None or not self._costs.estimated(self._plan_set)[index]:
            return None
        card, terms, power = (
            int(self._plan_set.card[index]),
            purchase_terms.terms,
            float(purchase_terms.usd_power_per_hour[index]),
        )
        ends = np.array([terms.estimates.low[card], terms.estimates.high[card]])
        count, nodes = float(purchase_terms.bought[index]), float(self._plan_set.candidate(index).layout.nodes)
        share, floor = purchase_terms.host_share[index], purchase_terms.host_floor[index]
        usd = money.purchase_usd(ends, count, share, floor, nodes, self._memory(index, purchase_terms).value)
        low, high = money.purchase_usd_per_hour(usd, terms.months, power, self._month).tolist()
        return low, high

    def _machine(self, index: int, purchase_terms: PurchaseTerms) -> bool:
        """Whether the price is of a machine too, and not of cards for one that is there."""
        of_cards = bool(purchase_terms.terms.host_floor[int(self._plan_set.card[index])])
        return not of_cards or bool(purchase_terms.host_floor[index])

    def _memory(self, index: int, purchase_terms: PurchaseTerms) -> Term:
        """USD of the memory that is bought for what is kept in it."""
        gib, each = float(purchase_terms.memory_gib[index]), purchase_terms.terms.site["host-memory-usd-per-gib"]
        return Term("memory", gib * each.likely, "USD", each.source, f"{gib:,.0f} GiB at {each.likely:g} USD")

    # how each figure comes about

    def calculations(self, index: int) -> list[Calculation]:
        """How the plan's costs come about, each figure after those it rests on."""
        return [item for item in self._calculations(index) if math.isfinite(item.value)]

    def _calculations(self, index: int) -> Iterator[Calculation]:
        candidate, price, purchase_terms = (
            self._plan_set.candidate(index),
            self._costs.prices[index],
            self._purchase_terms,
        )
        if price is not None:
            offer = price.offering
            terms = (
                Term("machines", price.machines, "", (), f"of {offer.count}x {offer.accelerator} at {offer.provider}"),
                Term("usd_each", offer.usd_per_hour, "USD/hour", offer.source, offer.id),
            )
            note = f"the median over {price.providers} providers" if price.providers > 1 else ""
            yield Calculation("usd_per_hour", "machines * usd_each", terms, price.usd_per_hour, "USD/hour", note=note)
        if purchase_terms is not None:
            yield from self._of_purchase_terms(index, candidate, purchase_terms)
        rates = [name for name in _RATES if math.isfinite(self._plan_set.speeds.likely(name, index))]
        hours = self._plan_set.speeds.likely("train_hours", index)
        name, hourly = _BASES[str(self._costs.basis[index])], float(self._costs.hourly[index])
        rate = Term(name, hourly, "USD/hour")
        month = Term("hours_a_month", self._month, "h")
        value = float(money.per_month_usd(hourly, self._month))
        yield Calculation("usd_per_month", f"{name} * hours_a_month", (rate, month), value, "USD/month")
        if rates:
            speed = Term(rates[0], self._plan_set.speeds.likely(rates[0], index), "tokens/s")
            formula = f"{name} * 1e6 / ({rates[0]} * 3600)"
            value = float(money.per_million_usd(hourly, speed.value))
            yield Calculation("usd_per_million_tokens", formula, (rate, speed), value, "USD/million tokens")
        if math.isfinite(hours):
            terms = (rate, Term("train_hours", hours, "h"))
            value = float(money.run_usd(hourly, hours))
            yield Calculation("usd_total", f"{name} * train_hours", terms, value, "USD")

    def _of_purchase_terms(
        self, index: int, candidate: Candidate, purchase_terms: PurchaseTerms
    ) -> Iterator[Calculation]:
        card, terms = int(self._plan_set.card[index]), purchase_terms.terms
        count, power = float(purchase_terms.bought[index]), float(purchase_terms.usd_power_per_hour[index])
        boards = f"boards of {terms.sold_by[card]:g}" if terms.sold_by[card] > 1 else ""
        if count < candidate.layout.cards:
            boards = f"beside {terms.owned[card]:g} already owned"
        yield _power(terms, card, candidate, power)
        purchase = terms.purchases[card]
        if bool(self._plan_set.owned[index]):
            return
        usd = float(purchase_terms.usd_purchase[index])
        parts = (
            _each(terms, card, purchase),
            Term("count", count, "", (), boards),
            *(
                _host(name, coefficient, float(column[index]), purchase, there=bool(of_card[card]))
                for name, coefficient, column, of_card in (
                    (
                        "host_price_ratio",
                        terms.cards["host-price-ratio"][card],
                        purchase_terms.host_share,
                        terms.host_share,
                    ),
                    (
                        "host_price_floor",
                        terms.cards["host-price-floor"][card],
                        purchase_terms.host_floor,
                        terms.host_floor,
                    ),
                )
            ),
            Term("machines", float(candidate.layout.nodes), ""),
        )
        formula = "usd_each * count + max(host_price_ratio * usd_each * count, host_price_floor * machines)"
        if purchase_terms.memory_gib[index]:
            parts, formula = (*parts, self._memory(index, purchase_terms)), f"{formula} + memory"
        yield Calculation("usd_purchase", formula, parts, usd, "USD")
        bought, drawn = Term("usd_purchase", usd, "USD"), Term("usd_power_per_hour", power, "USD/hour")
        month = Term("hours_a_month", self._month, "h")
        life = terms.site["hardware-life-months"]
        spread = Term("months", terms.months, "months", life.source, f"of the service, at most {life.likely:g}")
        yield Calculation(
            "usd_owning_per_hour",
            "usd_purchase / (months * hours_a_month) + usd_power_per_hour",
            (bought, spread, month, drawn),
            float(purchase_terms.usd_per_hour[index]),
            "USD/hour",
        )
        rent = float(self._costs.usd_per_hour[index])
        pays = float(money.break_even_months(usd, rent, power, self._month))
        yield Calculation(
            "break_even_months",
            "usd_purchase / (usd_per_hour - usd_power_per_hour) / hours_a_month",
            (bought, Term("usd_per_hour", rent, "USD/hour"), drawn, month),
            pays,
            "months",
        )


_BASES = {"renting": "usd_per_hour", "owned": "usd_power_per_hour", "buying": "usd_owning_per_hour"}


def _power(terms: Terms, card: int, candidate: Candidate, power: float) -> Calculation:
    tdp = candidate.accelerator.figures.get("tdp_w")
    electricity = terms.site["electricity-usd-per-kwh"]
    own_price = terms.usd_per_kwh != electricity.likely
    parts = (
        Term("count", float(candidate.layout.cards), ""),
        Term("tdp_w", candidate.accelerator.number("tdp_w") or math.nan, "W", tdp.sources if tdp else ()),
        _term("wall_power_ratio", terms.cards["wall-power-ratio"][card]),
        _term("pue", terms.cards["pue"][card]),
        Term("usd_per_kwh", terms.usd_per_kwh, "USD/kWh", () if own_price else electricity.source, "of electricity"),
    )
    formula = "count * tdp_w * wall_power_ratio * pue / 1000 * usd_per_kwh"
    return Calculation("usd_power_per_hour", formula, parts, power, "USD/hour")


def _each(terms: Terms, card: int, purchase: Purchase | None) -> Term:
    """What one accelerator costs to buy."""
    usd = float(terms.usd_each[card])
    if purchase is None:
        low, high = terms.estimates.low[card], terms.estimates.high[card]
        note = f"estimated from similar hardware by memory, bandwidth and compute: {low:,.0f} to {high:,.0f}"
        return Term("usd_each", usd, "USD", (), note)
    return Term("usd_each", usd, "USD", purchase.source, f"{purchase.kind} price of {purchase.as_of}")


def _host(name: str, coefficient: Coefficient, value: float, purchase: Purchase | None, *, there: bool) -> Term:
    """What the machine around the cards costs: nothing where it is ``there``, or the price is the whole machine's."""
    if not value and there:
        return Term(name, 0.0, coefficient.unit, (), "the machine is already there")
    if not value:
        sources = () if purchase is None else purchase.source
        return Term(name, 0.0, coefficient.unit, sources, "the price is the whole machine's")
    return _term(name, coefficient)


def _term(name: str, coefficient: Coefficient) -> Term:
    return Term(name, coefficient.likely, coefficient.unit, coefficient.source, coefficient.meaning)


def _offer(price: Price) -> Offer:
    item = price.offering
    return Offer(price.usd_per_hour, item.id, item.provider, item.as_of)


def _known(value: object) -> float | None:
    """A number that is known and finite."""
    found = float(value)  # type: ignore[arg-type]  # a numpy scalar or an array of none
    return found if math.isfinite(found) else None
