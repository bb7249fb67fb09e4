"""What running costs: electricity, owning against renting, an expensive fast card against a cheap slow one.

Pure functions over numbers or columns of them (numpy broadcasting); money in USD, power in watts, time in hours or
months. NaN in, NaN out: what is not known stays so. No figure of the market is here; those are facts in kb/facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Amount: TypeAlias = "float | NDArray[np.float64]"
Column: TypeAlias = "NDArray[np.float64]"

HOURS_PER_MONTH = 365 * 24 / 12
"""730: a month that runs day and night, as clouds bill it."""


def _column(value: Amount) -> Column:
    return np.asarray(value, dtype=np.float64)


def _ratio(upper: Amount, lower: Amount) -> Column:
    """``upper / lower``, NaN where ``lower`` is not above zero."""
    top, bottom = np.broadcast_arrays(_column(upper), _column(lower))
    found: Column = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return found


# ---- by the hour, month, token and job ----


def hours_a_month(hours_per_day: float) -> float:
    """Hours of use in a month, of which 24 a day make ``HOURS_PER_MONTH``."""
    return HOURS_PER_MONTH * hours_per_day / 24


def per_month_usd(usd_per_hour: Amount, hours: float = HOURS_PER_MONTH) -> Column:
    """USD a month of so many hours of use, 730 of which are day and night (griddly-01: inference runs 24/7)."""
    return _column(usd_per_hour) * hours


def per_million_usd(usd_per_hour: Amount, per_second: Amount) -> Column:
    """USD per million tokens (samples, images) at ``per_second`` of them; NaN where the rate is not above zero."""
    return _ratio(_column(usd_per_hour) * 1e6, _column(per_second) * 3600)


def run_usd(usd_per_hour: Amount, hours: Amount) -> Column:
    """USD of one job: price per hour x hours (runpod-64)."""
    return _column(usd_per_hour) * _column(hours)


# ---- owning ----


def power_usd_per_hour(watts: Amount, draw: Amount, pue: Amount, usd_per_kwh: Amount) -> Column:
    """Electricity of accelerators that may draw ``watts``: watts x draw x PUE / 1000 x USD per kWh.

    ``draw`` is the power of the machine at work over that of its accelerators, ``pue`` that of the site over the
    machine's (runpod-30: power sets the running cost).
    """
    return _column(watts) * draw * pue / 1000 * usd_per_kwh


def purchase_usd(
    usd_each: Amount,
    count: Amount,
    host_share: Amount,
    host_floor: Amount = 0.0,
    machines: Amount = 1.0,
    memory: Amount = 0.0,
) -> Column:
    """USD for ``count`` cards and the machines around them: cards + max(share x cards, floor x machines) + memory.

    A machine costs ``host_share`` per USD of the cards in it, and never less than ``host_floor``: board, processor,
    memory, power supply and case are needed for the smallest card too (the figures: kb/facts/money.yaml). ``memory``:
    USD of what it takes beyond the usual, for weights that are kept there.
    """
    cards = _column(usd_each) * count
    return cards + np.maximum(cards * host_share, _column(host_floor) * machines) + memory


def spread_months(service_months: float, life_months: float) -> float:
    """Months that a purchase is spread over: the service's, at most the hardware's (a longer one buys it again)."""
    return min(service_months, life_months)


def purchase_usd_per_hour(purchase: Amount, months: Amount, power: Amount, hours: float = HOURS_PER_MONTH) -> Column:
    """USD an hour of what is bought: the purchase over all ``hours`` of use of each of ``months``, and the power of an
    hour.
    """
    return _ratio(purchase, _column(months) * hours) + power


def break_even_hours(purchase: Amount, rent: Amount, power: Amount) -> Column:
    """Hours of use after which buying has cost as much as renting: purchase / (rent - power), both USD an hour.

    Infinite where renting costs no more than the power alone, so that buying never pays.
    """
    margin = _column(rent) - power
    return np.where(margin <= 0, _column(purchase) * np.inf, _ratio(purchase, margin))


def break_even_months(purchase: Amount, rent: Amount, power: Amount, hours: float = HOURS_PER_MONTH) -> Column:
    """The same in months of so many ``hours`` of use each."""
    return break_even_hours(purchase, rent, power) / hours


def hours_a_month_to_own(purchase: Amount, months: Amount, rent: Amount, power: Amount) -> Column:
    """Hours of use a month above which buying, spread over ``months``, is cheaper than renting by the hour."""
    return break_even_hours(purchase, rent, power) / months


# ---- an expensive fast card against a cheap slow one ----


def price_ratio(expensive: Amount, cheap: Amount) -> Column:
    """How many times more expensive an hour is."""
    return _ratio(expensive, cheap)


def faster_is_cheaper(price: Amount, speed: Amount) -> NDArray[np.bool_]:
    """Whether the more expensive hour is cheaper in total: speed-up above price ratio (runpod-64, runpod-10)."""
    return _column(speed) > _column(price)


def usd_per_hour_saved(
    expensive_usd: Amount, cheap_usd: Amount, cheap_hours: Amount, expensive_hours: Amount
) -> Column:
    """What each hour that the more expensive plan saves costs: the difference of the totals over that of the hours.

    Zero or less where it is no more expensive in total (runpod-107: half the time at double the price costs the
    same); NaN where it is no faster.
    """
    return _ratio(_column(expensive_usd) - cheap_usd, _column(cheap_hours) - expensive_hours)
