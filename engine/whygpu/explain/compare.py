"""Two plans by money and time: when does the more expensive hour make the cheaper job, and when does renting pay?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whygpu.checks.cost import money
from whygpu.explain.parts import Comparison
from whygpu.quantity import show, side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu.checks.calculation import Phase
    from whygpu.explain.plan import Plan
    from whygpu.explain.plan_maker import PlanMaker

_TOLD = 9
"""The recommendation, and the alternatives that texts tell of."""
_EVEN, _CENT = 0.01, 0.01
"""Sums within a hundredth, or a cent, of each other are called the same."""
_RATES = {
    "train_tokens_per_s": "tokens",
    "tokens_per_s": "tokens",
    "samples_per_s": "samples",
    "frames_per_s": "images",
    "requests_per_s": "requests",
}
"""Rates of work, the first that a plan has, and what they count."""


def comparisons(maker: PlanMaker) -> tuple[Comparison, ...]:
    """The best plans by money and time."""
    plans, knowledge = maker.heads(), maker.consultation.knowledge
    owned = None
    if maker.consultation.answers.owned:  # to find none it would make them all
        phase: Phase = "training" if maker.consultation.plans.work.setup.trains else "inference"
        owned = owned_or_rented(plans, knowledge.claims_of("usd_power_per_hour", phase))
    job = fast_or_cheap(plans, knowledge.claims_of("usd_total", "training"))
    return tuple(item for item in (owned, job) if item is not None)


def fast_or_cheap(plans: Sequence[Plan], claims: tuple[str, ...]) -> Comparison | None:
    """Of a training job: the recommendation against the alternative of the cheapest hour, if it is that the fastest.

    ``plans``: the best of each accelerator in order of rank, of which the first few are told; ``claims``: who says that
    the job counts, not the hour. None where it is no training job, where it runs on what is owned, or where there is
    nothing to compare with.
    """
    best, others = plans[0] if plans else None, [plan for plan in plans[1:_TOLD] if _priced(plan) and not plan.owned]
    if best is None or best.method is None or best.owned or not _priced(best) or not others:
        return None
    cheap = min(others, key=_hour)
    other = cheap if _hour(cheap) < _hour(best) else max(others, key=lambda plan: _rate(plan) or 0.0)
    return _compared("fast-or-cheap", best, other, claims)


def owned_or_rented(plans: Sequence[Plan], claims: tuple[str, ...]) -> Comparison | None:
    """The best plan on what is owned against the best that is not, to be rented or bought; None where there is none.

    ``claims``: who says that electricity is the cost of what is owned.
    """
    owned = next((plan for plan in plans if plan.owned and _priced(plan)), None)
    other = next((plan for plan in plans if not plan.owned and _priced(plan)), None)
    if owned is None or other is None:
        return None
    kind = "owned-or-rented" if _rented(other) else "owned-or-bought"
    return _compared(kind, owned, other, claims)


def _compared(kind: str, one: Plan, other: Plan, claims: tuple[str, ...]) -> Comparison | None:
    """None where an hour of one of them is free: electricity may cost nothing."""
    expensive, cheap = (one, other) if _hour(one) >= _hour(other) else (other, one)
    if _hour(cheap) <= 0:
        return None
    price = float(money.price_ratio(_hour(expensive), _hour(cheap)))
    fast, slow = _rate(expensive), _rate(cheap)
    speed = None if fast is None or slow is None else fast / slow
    expensive_hours, cheap_hours = _hours(expensive), _hours(cheap)
    expensive_usd, cheap_usd = (None if plan.cost is None else plan.cost.objective for plan in (expensive, cheap))
    unit = "" if one.cost is None else one.cost.objective_unit
    if unit in ("USD/hour", "W"):  # a service: by the tokens it gives
        unit = next((f"USD/million {work}" for name, work in _RATES.items() if expensive.speed.get(name)), "")
        expensive_usd, cheap_usd = (
            None if rate is None else float(money.per_million_usd(hour, rate))
            for hour, rate in ((_hour(expensive), fast), (_hour(cheap), slow))
        )
    saved = cheap_hours - expensive_hours if math.isfinite(cheap_hours - expensive_hours) else None
    per_hour = None
    if saved is not None and saved > 0 and expensive_usd is not None and cheap_usd is not None:
        per_hour = float(money.usd_per_hour_saved(expensive_usd, cheap_usd, cheap_hours, expensive_hours))
    cheaper = None
    if speed is not None and math.isfinite(price) and not _same(expensive_usd, cheap_usd):
        cheaper = expensive.id if bool(money.faster_is_cheaper(price, speed)) else cheap.id
    text = _text(expensive, cheap, price, speed, (expensive_usd, cheap_usd, unit))
    if per_hour is not None and per_hour > 0 and not _same(expensive_usd, cheap_usd):
        text += f" Each hour saved costs {show(per_hour, 'USD')}: take {expensive.label} if it is worth that."
    month = None
    if kind == "owned-or-rented" and one.method is None:
        drawn = float(money.per_month_usd(_hour(one)))
        month = drawn / _hour(other)
        text += (
            f" If it must stay on day and night, {one.label} draws {show(drawn, 'USD')} a month, as much as "
            f"{show(month, 'hours')} of {other.label} cost: for fewer hours, renting is cheaper."
        )
    return Comparison(
        kind=kind,
        expensive=expensive.id,
        cheap=cheap.id,
        price_ratio=price,
        speed_ratio=speed,
        expensive_usd=expensive_usd,
        cheap_usd=cheap_usd,
        unit=unit,
        hours_saved=saved,
        usd_per_hour_saved=per_hour,
        hours_a_month=month,
        cheaper=cheaper,
        text=text,
        claims=claims,
    )


def _text(
    expensive: Plan, cheap: Plan, price: float, speed: float | None, spent: tuple[float | None, float | None, str]
) -> str:
    expensive_usd, cheap_usd, unit = spent
    hours = show(_hour(expensive), "USD"), show(_hour(cheap), "USD")
    text = f"{expensive.label} at {hours[0]} an hour against {cheap.label} at {hours[1]}: "
    text += "an hour costs the same" if show(price) == "1" else f"an hour costs {show(price)} times as much"
    if speed is None:
        return f"{text}; its speed-up is unknown."
    text += f" and does {show(speed)} times the work"
    job = unit == "USD"
    if expensive_usd is not None and cheap_usd is not None:
        per = "" if job else f" per {unit.removeprefix('USD/')}"
        what = "the job" if job else "the same work"
        text += f", so {what} costs {side_by_side(show(expensive_usd, 'USD'), show(cheap_usd, 'USD'))}{per}"
    if _same(expensive_usd, cheap_usd):
        return f"{text}: neither is cheaper, so take the faster one."
    if bool(money.faster_is_cheaper(price, speed)):
        return f"{text}. The higher hourly price makes for the cheaper {'job' if job else 'work'}."
    return f"{text}. It would pay off from {show(price)} times the work."


def _same(one: float | None, other: float | None) -> bool:
    """Whether two sums of money are as good as the same."""
    return one is not None and other is not None and math.isclose(one, other, rel_tol=_EVEN, abs_tol=_CENT)


def _priced(plan: Plan) -> bool:
    return plan.cost is not None


def _rented(plan: Plan) -> bool:
    return plan.cost is not None and plan.cost.basis == "renting"


def _hour(plan: Plan) -> float:
    """What an hour costs by what the plan compares by."""
    return math.inf if plan.cost is None else plan.cost.compared.usd_per_hour


def _hours(plan: Plan) -> float:
    band = plan.speed.get("train_hours")
    return math.nan if band is None else band.likely


def _rate(plan: Plan) -> float | None:
    """Work done in an hour, in whichever unit the work has."""
    hours = _hours(plan)
    if hours > 0:
        return 1 / hours
    return next((band.likely for name in _RATES if (band := plan.speed.get(name)) is not None), None)
