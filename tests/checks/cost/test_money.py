"""The formulas of money against figures worked out by hand, each beside its claim; and what must always hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygpu.checks.cost import money

USD = st.floats(0.01, 1e6)
RATE = st.floats(0.01, 100.0)
MONTHS = st.floats(1.0, 120.0)


def test_a_month_has_730_hours() -> None:
    """griddly-01: inference runs 24/7; 365 days of 24 hours in twelve parts."""
    assert float(money.per_month_usd(1.0)) == 730


def test_power_by_hand() -> None:
    """runpod-30: 350 W at 1.38 of it, PUE 1.54, 0.1282 USD/kWh: 0.74382 kW draw 0.0954 USD an hour."""
    assert float(money.power_usd_per_hour(350, 1.38, 1.54, 0.1282)) == pytest.approx(0.74382 * 0.1282)


def test_a_job_costs_price_times_hours() -> None:
    """runpod-64."""
    assert float(money.run_usd(2.5, 40)) == 100


def test_a_million_tokens() -> None:
    """3.60 USD an hour at 1,000 tokens a second: 3.6 million an hour, 1 USD for each."""
    assert float(money.per_million_usd(3.6, 1000)) == pytest.approx(1.0)
    assert math.isnan(money.per_million_usd(3.6, 0))


def test_three_times_the_price_and_four_times_the_speed() -> None:
    """runpod-16: at 3x the price an A100 that trains 4-5x faster saves money; at 2x the speed it would not."""
    price = money.price_ratio(3.0, 1.0)
    assert bool(money.faster_is_cheaper(price, 40 / 10))
    assert not bool(money.faster_is_cheaper(price, 20 / 10))


def test_double_the_cost_for_half_the_time() -> None:
    """runpod-107: the total is the same and the result comes sooner, so an hour sooner costs nothing."""
    assert float(money.run_usd(2, 10)) == float(money.run_usd(1, 20))
    assert not bool(money.faster_is_cheaper(money.price_ratio(2, 1), 20 / 10))
    assert float(money.usd_per_hour_saved(20, 20, 20, 10)) == 0


def test_an_hour_sooner_by_hand() -> None:
    """50 USD against 20, in 10 hours against 25: 30 USD for 15 hours."""
    assert float(money.usd_per_hour_saved(50, 20, 25, 10)) == 2
    assert math.isnan(money.usd_per_hour_saved(50, 20, 10, 10))


def test_the_machine_around_the_cards() -> None:
    """Four cards at 750 USD with 0.438 USD of machine per USD of cards: the 4,314 USD of thinksmart-rigs."""
    assert float(money.purchase_usd(750, 4, 0.438)) == pytest.approx(4314)


def test_a_machine_costs_a_floor_however_cheap_the_card() -> None:
    """One card at 200 USD still needs the 487 USD machine that thinksmart-rigs put around four at 750."""
    assert float(money.purchase_usd(200, 1, 0.44, 487)) == 687
    assert float(money.purchase_usd(200, 4, 0.44, 487, machines=2)) == 800 + 2 * 487
    assert float(money.purchase_usd(750, 4, 0.438, 487)) == pytest.approx(4314)
    assert math.isnan(money.purchase_usd(math.nan, 1, 0.44, 487))


def test_buying_pays_when_the_rent_saved_is_the_price() -> None:
    """7,300 USD against a rent of 2 less a power of 1 USD an hour: 7,300 hours, ten months."""
    assert float(money.break_even_hours(7300, 2, 1)) == 7300
    assert float(money.break_even_months(7300, 2, 1)) == 10
    assert float(money.hours_a_month_to_own(7300, 20, 2, 1)) == 365


def test_buying_never_pays_where_renting_costs_no_more_than_the_power() -> None:
    assert math.isinf(money.break_even_hours(7300, 1, 1))
    assert math.isnan(money.break_even_hours(math.nan, 1, 1))
    assert math.isnan(money.break_even_hours(7300, math.nan, 1))


def test_hardware_is_bought_again_for_a_longer_service() -> None:
    assert money.spread_months(24, 60) == 24
    assert money.spread_months(120, 60) == 60


def test_columns_and_numbers_agree() -> None:
    rents = np.array([0.5, 1.0, 2.0, math.nan])
    found = money.break_even_months(7300, rents, 1.0)
    for at, rent in enumerate(rents.tolist()):
        assert found[at] == pytest.approx(float(money.break_even_months(7300, rent, 1.0)), nan_ok=True)


@given(purchase=USD, more=st.floats(1.01, 10), months=MONTHS, power=RATE)
def test_purchase_terms_costs_more_with_price_and_power_and_less_with_months(
    purchase: float, more: float, months: float, power: float
) -> None:
    cost = float(money.purchase_usd_per_hour(purchase, months, power))
    assert float(money.purchase_usd_per_hour(purchase * more, months, power)) > cost
    assert float(money.purchase_usd_per_hour(purchase, months, power * more)) > cost
    assert float(money.purchase_usd_per_hour(purchase, months * more, power)) < cost


@given(purchase=USD, power=RATE, margin=st.floats(0.01, 100), more=st.floats(1.01, 10))
def test_the_break_even_is_monotone(purchase: float, power: float, margin: float, more: float) -> None:
    """A more expensive rent makes buying pay sooner, a more expensive purchase later."""
    pays = float(money.break_even_months(purchase, power + margin, power))
    assert float(money.break_even_months(purchase, power + margin * more, power)) < pays
    assert float(money.break_even_months(purchase * more, power + margin, power)) > pays


@given(purchase=USD, power=RATE, margin=st.floats(0.01, 100))
def test_at_the_break_even_purchase_terms_costs_what_renting_does(purchase: float, power: float, margin: float) -> None:
    months = float(money.break_even_months(purchase, power + margin, power))
    assert float(money.purchase_usd_per_hour(purchase, months, power)) == pytest.approx(power + margin)


@given(cheap=RATE, price=st.floats(1, 50), hours=st.floats(0.1, 1000), speed=st.floats(0.1, 50))
def test_the_more_expensive_is_cheaper_exactly_where_its_job_costs_less(
    cheap: float, price: float, hours: float, speed: float
) -> None:
    """runpod-64, by the two totals themselves."""
    expensive_usd, cheap_usd = float(money.run_usd(cheap * price, hours / speed)), float(money.run_usd(cheap, hours))
    if expensive_usd != pytest.approx(cheap_usd, rel=1e-9):
        ratio = money.price_ratio(cheap * price, cheap)
        assert bool(money.faster_is_cheaper(ratio, speed)) == (expensive_usd < cheap_usd)
