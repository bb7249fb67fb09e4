"""What plans count as: money times a factor for each criterion, speed beyond need, and what is put first."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.counted import MILD, NORMAL, STRONG, TOKENS, counted, dollars, only, preferences, priority, tallied
from whygpu.knowledge.preferences import POWER, SPEED
from whygpu.knowledge.rules import Verdict

PLAIN = preferences()
FAST = preferences(speeds=(TOKENS,))
NOTHING = tallied()


def tokens(*values: float) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    return {"token_ms": np.array(values)}


def test_a_plan_counts_as_its_money_times_each_factor() -> None:
    verdicts = ((Verdict(False, "reliability", "normal"), only(0)), (Verdict(True, "latency", "mild"), only(0, 1)))
    found = counted(dollars(1, 2, 3), tallied(*verdicts), PLAIN)
    assert found.values == pytest.approx([NORMAL / MILD, 2 / MILD, 3])
    assert found.product(0) == pytest.approx(NORMAL / MILD)


@given(
    st.lists(st.floats(0.01, 1e5), min_size=3, max_size=3),
    st.lists(st.sampled_from(["cost", "memory", "latency"]), max_size=5),
    st.sampled_from([None, "cost", "latency", "efficiency", "reliability"]),
)
def test_the_value_is_the_product_of_what_is_told(money: list[float], criteria: list[str], first: str | None) -> None:
    """Whatever is put first: value = money x product of the factors, to the last digit that matters."""
    rows = (
        priority("cost", all_factors=0.7),
        priority("latency", twice_the_speed=2.0),
        priority("efficiency", half_the_power=2.0),
        priority("reliability", criterion="reliability", criterion_power=2.0),
    )
    verdicts = tallied(*((Verdict(False, name, "mild"), only(index % 3)) for index, name in enumerate(criteria)))
    watts = np.array([70.0, 300.0, 700.0])
    found = counted(
        dollars(*money), verdicts, preferences(*rows, speeds=(TOKENS,)), first, speeds=tokens(5, 50, 500), watts=watts
    )
    for index in range(3):
        assert found.values[index] == pytest.approx(money[index] * found.product(index), rel=1e-12)


# ---- speed beyond need ----
def test_without_a_limit_speed_counts_from_what_is_usual_down_to_enough() -> None:
    found = counted(dollars(1, 1, 1, 1, 1), tallied(of=5), FAST, speeds=tokens(40, 20, 10, 5, 80))
    assert found.factors[SPEED] == pytest.approx([1, 1 / 2, 1 / 4, 1 / 4, 2])


@pytest.mark.parametrize("limit", [20.0, 60.0, 500.0])
def test_faster_than_a_limit_is_worth_nothing(limit: float) -> None:
    found = counted(
        dollars(1, 1, 1), NOTHING, FAST, speeds=tokens(limit, limit / 2, 1), limits={"token_latency_ms": limit}
    )
    assert len(set(found.factors[SPEED].tolist())) == 1


@pytest.mark.parametrize("limit", [1000.0, 5000.0])
def test_a_loose_limit_says_no_more_than_none(limit: float) -> None:
    speeds = tokens(40, 20, 5)
    loose, none = (
        counted(dollars(1, 1, 1), NOTHING, FAST, speeds=speeds, limits=limits)
        for limits in ({"token_latency_ms": limit}, {})
    )
    assert loose.values.tolist() == none.values.tolist()


@given(st.floats(1.0, 3000.0))
def test_from_half_of_loose_on_a_limit_fades_without_a_step(limit: float) -> None:
    enough, after = TOKENS.enough_with(limit), TOKENS.enough_with(limit * 1.001)
    assert TOKENS.enough <= enough or limit < TOKENS.enough
    assert abs(math.log(after / enough)) < 0.01
    assert TOKENS.enough_with(500.0) == pytest.approx(500.0)
    assert TOKENS.enough_with(500.0 * 2**0.5) == pytest.approx((500.0 * 10.0) ** 0.5)
    assert TOKENS.enough_with(1000.0) == 10.0


def test_the_first_figure_of_speed_that_plans_have_counts_alone() -> None:
    answers = replace(TOKENS, figure="ttft_ms", limit="latency_ms")
    prices = preferences(speeds=(TOKENS, answers))
    speeds = {"ttft_ms": np.array([40.0, 80.0, 160.0]), "token_ms": np.full(3, np.nan)}
    found = counted(dollars(1, 1, 1), NOTHING, prices, speeds=speeds)
    assert found.speed is not None
    assert found.speed.figure == "ttft_ms"
    both = counted(dollars(1, 1, 1), NOTHING, prices, speeds={**speeds, **tokens(40, 40, 40)})
    assert both.factors[SPEED].tolist() == [1, 1, 1]


def test_a_speed_that_is_not_known_counts_neither_for_nor_against() -> None:
    found = counted(dollars(1, 1, 1), NOTHING, FAST, speeds=tokens(20, math.nan, 80))
    assert found.factors[SPEED] == pytest.approx([0.5, 1, 2])
    assert counted(dollars(1, 1, 1), NOTHING, FAST).speed is None


# ---- what is put first ----
AGAINST = (
    (Verdict(False, "reliability", "normal"), only(0)),
    (Verdict(False, "right-size", "strong"), only(1)),
    (Verdict(True, "memory", "normal"), only(2)),
)


def test_cost_first_raises_all_factors_to_less_and_one_of_them_back() -> None:
    prices = preferences(priority("cost", all_factors=0.5, criterion="reliability", criterion_power=2.0))
    assert counted(dollars(1, 1, 1), tallied(*AGAINST), prices, "cost").values == pytest.approx(
        [NORMAL, STRONG**0.5, NORMAL**-0.5]
    )


@pytest.mark.parametrize("first", ["latency", "throughput"])
def test_speed_first_is_worth_as_much_beyond_a_limit_and_nothing_is_too_large(first: str) -> None:
    row = priority(first, twice_the_speed=3.0, criterion="right-size", criterion_power=0.0)
    prices = preferences(row, speeds=(TOKENS,))
    limits = {"token_latency_ms": 100.0}
    found = counted(dollars(1, 1, 1), tallied(*AGAINST), prices, first, speeds=tokens(40, 4, 2), limits=limits)
    assert found.factors[SPEED] == pytest.approx([1, 3 ** -math.log2(10), 3 ** -math.log2(20)])
    assert found.factors["right-size"].tolist() == [1, 1, 1]
    assert found.factors["reliability"].tolist() == [NORMAL, 1, 1]


def test_efficiency_first_counts_the_power_against_the_least_that_is_left() -> None:
    prices = preferences(priority("efficiency", half_the_power=2.0))
    watts = np.array([10.0, 70.0, 280.0])
    found = counted(dollars(1, 1, 1), NOTHING, prices, "efficiency", watts=watts, alive=only(1, 2))
    assert found.factors[POWER][1:] == pytest.approx([1, 4])
    unknown = counted(dollars(1, 1, 1), NOTHING, prices, "efficiency")
    assert unknown.factors[POWER].tolist() == [1, 1, 1]


def test_reliability_first_counts_its_verdicts_twice_over() -> None:
    prices = preferences(priority("reliability", criterion="reliability", criterion_power=2.0))
    assert counted(dollars(1, 1, 1), tallied(*AGAINST), prices, "reliability").values == pytest.approx(
        [NORMAL**2, STRONG, 1 / NORMAL]
    )


def test_what_no_row_speaks_of_changes_nothing() -> None:
    found = [counted(dollars(1, 2, 3), tallied(*AGAINST), PLAIN, first).values.tolist() for first in (None, "cost")]
    assert found[0] == found[1]


# ---- money ----
def test_a_service_counts_what_handling_costs_an_hour() -> None:
    found = counted(dollars(0.02, 1, 3, handling=0.25), NOTHING, PLAIN)
    assert found.values == pytest.approx([0.27, 1.25, 3.25])


def test_a_job_has_hours_beside_its_own() -> None:
    """Of two jobs whose plans cost the same an hour, one of a minute and one of two, neither is twice the other."""
    found = counted(dollars(1, 1, handling=0.25, job_hours=(1 / 60 + 1, 2 / 60 + 1)), tallied(of=2), PLAIN)
    assert found.values[1] / found.values[0] < 1.02


@given(st.floats(0.05, 50), st.floats(0.05, 50), st.floats(0.01, 1000))
def test_at_the_price_that_is_told_a_plan_counts_as_told(price: float, target: float, hours: float) -> None:
    verdicts = tallied((Verdict(False, "cost", "strong"), only(0, of=2)), of=2)
    found = counted(dollars(price, target, handling=0.25, job_hours=(hours, hours)), verdicts, PLAIN)
    told = found.hourly_to_count(0, float(found.values[1]))
    assert told == pytest.approx((target + 0.25) / STRONG - 0.25)
    again = counted(dollars(told, target, handling=0.25, job_hours=(hours, hours)), verdicts, PLAIN)
    assert again.values[0] == pytest.approx(found.values[1])


def test_without_money_the_factors_alone_count() -> None:
    found = counted(dollars(1, 2, math.nan), tallied(*AGAINST), replace(PLAIN, by_money=False))
    assert found.values[:2].tolist() == [NORMAL, STRONG]
    assert math.isnan(found.values[2])
