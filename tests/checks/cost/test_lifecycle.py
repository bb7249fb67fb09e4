"""The cost of a life: the parts sum, months and runs only add, and every figure's formula gives the figure."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.formulas import value_of
from whygpu.checks.cost.lifecycle import Lifecycle, life_cost

MONTHS = st.floats(0.1, 240)
USD = st.none() | st.floats(0, 1e6)


@st.composite
def lives(draw: st.DrawFn) -> Lifecycle:
    return Lifecycle(
        service_months=draw(MONTHS),
        hours_per_month=730.5,
        training_runs=draw(st.floats(1, 1000)),
        retrain_months=draw(st.none() | MONTHS),
        usd_per_run=draw(USD),
        serve_usd_per_hour=draw(USD),
        same_usd_per_hour=draw(USD),
        hours_per_run=draw(st.none() | st.floats(0, 1e4)),
        train_machine_usd_per_month=draw(USD),
        serve_machine_usd_per_month=draw(USD),
        rent_usd_per_run=draw(USD),
        one_machine=draw(st.booleans()),
    )


@st.composite
def rented_lives(draw: st.DrawFn) -> Lifecycle:
    """Without machines that are bought for training: of these a longer service may need fewer."""
    return replace(draw(lives()), train_machine_usd_per_month=None)


def test_by_hand() -> None:
    """Two years, trained each half year in three runs of 100 USD; served at 2 USD an hour, or at 6 where it trained."""
    cost = life_cost(Lifecycle(24, 700, 3, 6, 100, 2, 6))
    assert (cost.trainings, cost.runs, cost.train_usd) == (4, 12, 1200)
    assert (cost.usd_per_month, cost.serve_usd, cost.usd_total) == (1400, 33600, 34800)
    assert cost.serving_share == pytest.approx(33600 / 34800)
    assert cost.equal_runs == 336
    assert (cost.same_usd_per_month, cost.same_serve_usd, cost.same_usd_total) == (4200, 100800, 102000)
    assert cost.same_times == 3


def test_what_is_bought_by_hand() -> None:
    """A machine at 500 USD a month stands there for two years, though twelve runs of ten hours cost 1 USD of power."""
    life = Lifecycle(24, 730, 3, 6, 1, 2, hours_per_run=10, train_machine_usd_per_month=500, rent_usd_per_run=30)
    cost = life_cost(life)
    assert (cost.train_machine_usd, cost.train_usd, cost.rented_train_usd) == (12000, 12012, 360)
    assert cost.training_share == pytest.approx(120 / 17520)
    assert cost.equal_runs is None  # a run more costs its power, and as many as serving costs have not the time
    two = life_cost(replace(life, hours_per_run=1500))  # 18,000 hours of training in 17,520
    assert two.train_machine_usd == 24000


def test_one_machine_by_hand() -> None:
    """What is bought to train, at 500 USD a month, serves for 0.1 USD of power an hour, and trains for 1 USD a run."""
    cost = life_cost(Lifecycle(24, 730, 3, 6, 1, 0.1, serve_machine_usd_per_month=500, one_machine=True))
    assert (cost.usd_per_month, cost.train_usd, cost.usd_total) == (573, 12, 24 * 573 + 12)
    assert cost.equal_runs is None


def test_trained_once_where_nothing_is_said() -> None:
    """runpod-78: often once; griddly-01: or periodically, here also in a month that is begun."""
    assert life_cost(Lifecycle(24, 700)).trainings == 1
    assert life_cost(Lifecycle(24, 700, retrain_months=24)).trainings == 1
    assert life_cost(Lifecycle(25, 700, retrain_months=24)).trainings == 2


@given(lives())
def test_the_total_is_the_sum_of_its_parts(life: Lifecycle) -> None:
    cost = life_cost(life)
    if cost.train_usd is not None and cost.serve_usd is not None:
        assert cost.usd_total == cost.train_usd + cost.serve_usd
        if cost.usd_total:
            assert cost.serving_share is not None
            assert 0 <= cost.serving_share <= 1
    else:
        assert cost.usd_total is None
        assert cost.serving_share is None


@given(rented_lives(), st.floats(1, 10), st.floats(1, 10))
def test_longer_service_and_more_runs_never_cost_less(life: Lifecycle, months: float, runs: float) -> None:
    less = life_cost(life)
    kept = {name: getattr(life, name) for name in Lifecycle.__slots__}
    longer = life_cost(Lifecycle(**kept | {"service_months": life.service_months * months}))
    oftener = life_cost(Lifecycle(**kept | {"training_runs": life.training_runs * runs}))
    for name in ("trainings", "runs", "train_usd", "serve_usd", "usd_total", "same_usd_total"):
        before = getattr(less, name)
        assert before is None or (before <= getattr(longer, name) and before <= getattr(oftener, name)), name
    assert oftener.serve_usd == less.serve_usd


@given(lives())
def test_every_figure_is_traced_and_its_formula_gives_it(life: Lifecycle) -> None:
    cost = life_cost(life)
    for calculation in cost.calculations:
        assert math.isclose(value_of(calculation), calculation.value, rel_tol=1e-9, abs_tol=1e-9), calculation
    given_figures = {"service_months": life.service_months, "run_hours": life.hours_per_run}
    known = {name: value for name, value in given_figures.items() if value is not None}
    assert {item.name: item.value for item in cost.calculations} | known == cost.figures()


@pytest.mark.parametrize(
    "life", [Lifecycle(0, 700), Lifecycle(12, 700, 0), Lifecycle(12, 700, 1, 0), Lifecycle(math.nan, 700)]
)
def test_no_time_and_no_runs_are_refused(life: Lifecycle) -> None:
    with pytest.raises(ValueError, match="above zero"):
        life_cost(life)
