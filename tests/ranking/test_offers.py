"""Prices and cards: a better offer never hurts, other cards change nothing, and all prices together change no order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest

from tests.ranking.asked import SLIGHTLY, TODAY, Asked, ask, asked, knowledge, one_in, swapped
from whygpu.checks.coefficients import Coefficient, Coefficients
from whygpu.knowledge.base import Knowledge
from whygpu.knowledge.catalogue import Accelerator, Figure, Offering
from whygpu.lint.robust import repriced

pytestmark = pytest.mark.slow


def offered(change: Callable[[Offering], Offering | None], *more: Offering) -> Knowledge:
    """The knowledge with other offers."""
    kb = knowledge()
    kept = [other for item in kb.catalogue.offerings if (other := change(item)) is not None]
    return replace(kb, catalogue=replace(kb.catalogue, offerings=(*kept, *more)))


def cheaper(one: Offering) -> Knowledge:
    """The same offer for a fifth less."""
    return offered(lambda item: replace(item, usd_per_hour=0.8 * item.usd_per_hour) if item is one else item)


def read_again(one: Offering) -> Knowledge:
    """The same offer, and all others of its provider for the card, read today."""

    def alike(item: Offering) -> bool:
        return item.provider == one.provider and item.accelerator == one.accelerator

    return offered(lambda item: replace(item, as_of=TODAY.isoformat()) if alike(item) else item)


def cheapest_of_all(one: Offering) -> Knowledge:
    """The offer at a tenth less than any of the card asks."""
    least = min(item.usd_per_hour / item.count for item in _offers(one.accelerator))
    return offered(lambda item: replace(item, usd_per_hour=0.9 * least * item.count) if item is one else item)


BETTER = (cheaper, read_again, cheapest_of_all)


@cache
def _offers(card: str) -> tuple[Offering, ...]:
    found = knowledge().catalogue.offerings_by_accelerator.get(card, ())
    return tuple(item for item in found if item.never_used is None)


def _of_cards(found: Asked, most: int) -> Iterator[Offering]:
    """An offer of each of the first cards in order of rank."""
    cards = dict.fromkeys(str(plan[0]) for plan in found.rows if not plan[1])
    for number, card in enumerate([card for card in cards if _offers(card)][:most]):
        yield _offers(card)[number % len(_offers(card))]


@one_in(70)
def test_a_better_offer_never_hurts_the_plan(every: int) -> None:
    """Of a card whose prices were all old, the fresh ones alone are counted as providers: that may be fewer."""
    found: list[str] = []
    tried = 0
    for before in asked(every):
        for one in _of_cards(before, 3):
            for change in BETTER:
                after = ask(before.workload, change(one))
                assert after is not None
                tried += 1
                for plan in before.rows.keys() & after.rows.keys():
                    mine = plan[0] == one.accelerator and not plan[1]
                    refreshed = before.rules(plan) & OLD and not after.rules(plan) & OLD
                    if mine and not refreshed and after.value(plan) > before.value(plan) * (1 + SLIGHTLY):
                        found.append(f"{change.__name__} {one.id}: {before.told(after, plan)}")
    assert tried > 20
    assert not found, "\n".join(found)


OLD = {"price-is-old", "price-of-no-known-day"}


@one_in(70)
def test_a_cheaper_card_never_falls_behind(every: int) -> None:
    """All offers of one card a tenth cheaper: its best plan is ranked no lower among the best of each card."""
    for before in asked(every):
        for one in _of_cards(before, 2):
            after = ask(before.workload, repriced(knowledge(), 0.9, {one.accelerator}))
            assert after is not None
            locations = [_location(found, one.accelerator) for found in (before, after)]
            assert locations[1] <= locations[0], (
                f"{before.workload.id}: {one.accelerator} from {locations[0]} to {locations[1]}"
            )


def _location(found: Asked, card: str) -> int:
    return list(dict.fromkeys(plan[0] for plan in found.rows)).index(card)


# ---- other cards ----
def with_card(source: str, name: str, *, speed: float, memory: float, price: float | None) -> Knowledge:
    """The knowledge with one more card: another at so much of its speed, memory and (None: nobody rents it) price."""
    kb = knowledge()
    model = kb.catalogue.accelerators[source]
    scales = {"bandwidth_gb_s": speed, "usable_mib": memory, "marketing_gb": memory}
    figures = {
        key: _scaled(value, scales.get(key, speed if key.endswith(("flops", "tops")) else 1.0))
        for key, value in model.figures.items()
    }
    card = replace(model, id=name, name=name, aliases=(), family=name, figures=MappingProxyType(figures))
    cards: dict[str, Accelerator] = {**kb.catalogue.accelerators, name: card}
    offers = tuple(
        replace(item, id=f"{item.id}-{name}", accelerator=name, usd_per_hour=item.usd_per_hour * (price or 1))
        for item in (() if price is None else _offers(source))
    )
    catalogue = replace(
        kb.catalogue, accelerators=MappingProxyType(cards), offerings=(*kb.catalogue.offerings, *offers)
    )
    return replace(kb, catalogue=catalogue)


def _scaled(figure: Figure, factor: float) -> Figure:
    number = isinstance(figure.value, int | float) and not isinstance(figure.value, bool)
    return replace(figure, value=figure.value * factor) if number and factor != 1 else figure  # type: ignore[operator]


WORSE = {"slower-and-more expensive": ("l4", 0.8, 1.0, 1.5), "more expensive-h100": ("h100-sxm", 0.9, 1.0, 1.3)}
EXOTIC = {"enormous": ("b300", 20.0, 20.0, None)}


@pytest.mark.parametrize("card", [*WORSE.items(), *EXOTIC.items()], ids=[*WORSE, *EXOTIC])
@one_in(30)
def test_one_more_card_changes_nothing_of_the_others(
    every: int, card: tuple[str, tuple[str, float, float, float | None]]
) -> None:
    """One that is worse than another, and one beyond all others that nobody rents."""
    name, (source, speed, memory, price) = card
    base = with_card(source, name, speed=speed, memory=memory, price=price)
    found: list[str] = []
    for before in asked(every):
        after = ask(before.workload, base)
        assert after is not None
        bought = str(before.workload.answers.values.get("deployment", "cloud")) != "cloud"
        if price is None and bought:
            continue  # there its price is estimated, so that it can be had
        for plan in before.rows:
            if plan not in after.rows or abs(after.value(plan) / before.value(plan) - 1) > SLIGHTLY:
                found.append(
                    f"{before.workload.id}: {plan} is gone" if plan not in after.rows else before.told(after, plan)
                )
    assert not found, "\n".join(found)


# ---- all prices ----
class _Scaled(Coefficients):
    """Coefficients with those in USD so many times as large."""

    def __init__(self, base: Coefficients, factor: float) -> None:
        for slot in Coefficients.__slots__:
            setattr(self, slot, getattr(base, slot))
        self._memo = {}
        self._factor = factor

    def pick(self, name: str, context: object) -> Coefficient:
        found: Coefficient = super().pick(name, context)  # type: ignore[arg-type]
        if not found.unit.startswith("USD"):
            return found
        return replace(found, **{end: getattr(found, end) * self._factor for end in ("low", "likely", "high")})


def inflated(factor: float) -> Knowledge:
    """The knowledge with all that is in USD so many times as large: prices, electricity, machines and handling."""
    base = repriced(knowledge(), factor)
    handling = base.preferences.handling
    assert handling is not None
    catalogue = replace(base.catalogue, coefficients=_Scaled(base.catalogue.coefficients, factor))
    prices = replace(
        base.preferences,
        handling=replace(
            handling,
            usd_per_hour=factor * handling.usd_per_hour,
            own_usd_per_hour=factor * handling.own_usd_per_hour,
            field_usd_per_hour=factor * handling.field_usd_per_hour,
        ),
    )
    return replace(base, catalogue=catalogue, preferences=prices)


USD = ("budget_per_hour", "budget_total", "electricity_usd_per_kwh")


@pytest.mark.parametrize("factor", [0.5, 3.0])
@one_in(20)
def test_all_prices_together_change_no_order(every: int, factor: float) -> None:
    """As if counted in another currency: all values are so many times as large, budgets with them."""
    base = inflated(factor)
    found: list[str] = []
    for before in asked(every):
        usd = {name: factor * float(value) for name, value in before.workload.answers.values.items() if name in USD}
        after = ask(before.workload.with_(**usd), base)
        assert after is not None
        times = factor if before.counted.money.unit.startswith("USD") else 1.0
        for plan in before.rows:
            one, other = before.value(plan), after.value(plan) if plan in after.rows else math.nan
            if math.isfinite(one) and not math.isclose(other, times * one, rel_tol=SLIGHTLY):
                found.append(
                    before.told(after, plan) if plan in after.rows else f"{before.workload.id}: {plan} is gone"
                )
        order = swapped(before, after)
        if order is not None:
            found.append(order)
    assert not found, "\n".join(found)
