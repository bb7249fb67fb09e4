"""How plans compare: the semantics of the design's section 4, one property a test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whygpu.explain.conclude import smallest_cover
from whygpu.knowledge import Verdict
from whygpu.plans.rank import Figure, Priority, bands, rank, standing

ALL = np.array([True, True, True])
NONE = np.array([False, False, False])


def _only(*plans: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(3, dtype=np.bool_)
    mask[list(plans)] = True
    return mask


def _usd(*values: float) -> Figure:
    return Figure(np.array(values), "USD/hour")


def test_many_rules_that_agree_weigh_no_more_than_one() -> None:
    one = [(Verdict(True, "cost", "normal"), _only(0))]
    many = [
        *one,
        *one,
        *one,
        (Verdict(True, "latency", "normal"), _only(1)),
        (Verdict(True, "memory", "normal"), _only(1)),
    ]
    found = rank(ALL, NONE, standing(many, 3), _usd(1, 1, 1), None)
    assert found.normal.tolist() == [1, 2, 0]
    assert found.order == (1, 0, 2)


def test_the_strongest_verdict_of_a_criterion_counts_alone() -> None:
    verdicts = [(Verdict(True, "cost", "strong"), _only(0)), (Verdict(False, "cost", "normal"), _only(0))]
    found = standing(verdicts, 3)
    assert found.net("cost").tolist() == [3, 0, 0]
    assert not found.conflict("cost").any()


def test_equal_opposites_cancel_and_are_a_conflict() -> None:
    verdicts = [(Verdict(True, "cost", "normal"), _only(0, 1)), (Verdict(False, "cost", "normal"), _only(0))]
    found = standing(verdicts, 3)
    assert found.net("cost").tolist() == [0, 2, 0]
    assert found.conflict("cost").tolist() == [True, False, False]


def test_a_strong_verdict_outweighs_any_number_of_normal_ones() -> None:
    criteria = ("memory", "latency", "throughput", "quality", "efficiency", "reliability")
    verdicts = [(Verdict(True, name, "normal"), _only(0)) for name in criteria]
    verdicts.append((Verdict(True, "interconnect", "strong"), _only(1)))
    assert rank(ALL, NONE, standing(verdicts, 3), _usd(1, 5, 1), None).order[0] == 1


def test_the_objective_decides_beyond_a_tenth_and_mild_verdicts_within_it() -> None:
    verdicts = [(Verdict(True, "quality", "mild"), _only(1))]
    assert rank(ALL, NONE, standing(verdicts, 3), _usd(1.0, 1.09, 2.0), None).order == (1, 0, 2)
    assert rank(ALL, NONE, standing(verdicts, 3), _usd(1.0, 1.2, 2.0), None).order == (0, 1, 2)


def test_plans_alike_but_for_mild_verdicts_are_tied() -> None:
    found = rank(ALL, NONE, standing([(Verdict(True, "quality", "mild"), _only(1))], 3), _usd(1.0, 1.05, 1.3), None)
    assert found.tied(0, 1)
    assert not found.tied(0, 2)


def test_unverified_plans_come_below_every_verified_one() -> None:
    strong = [(Verdict(True, "cost", "strong"), _only(0))]
    assert rank(ALL, _only(0), standing(strong, 3), _usd(1, 2, 3), None).order == (1, 2, 0)


def test_a_number_as_priority_compares_first_beyond_a_tenth() -> None:
    strong = [(Verdict(True, "memory", "strong"), _only(2))]
    latency = Priority("latency", Figure(np.array([10.0, 10.5, 40.0]), "ms"), True)
    found = rank(ALL, NONE, standing(strong, 3), _usd(3, 1, 1), latency)
    assert found.order == (1, 0, 2)
    assert found.behind(2, 1) == "40 ms against 10.5 ms"
    throughput = Priority("throughput", Figure(np.array([10.0, 100.0, 99.0]), "tokens/s"), False)
    assert rank(ALL, NONE, standing(strong, 3), _usd(1, 1, 1), throughput).order == (2, 1, 0)


def test_what_is_strongly_advised_against_comes_last_whatever_comes_first() -> None:
    against = [(Verdict(False, "reliability", "strong"), _only(0))]
    latency = Priority("latency", Figure(np.array([10.0, 20.0, 40.0]), "ms"), True)
    found = rank(ALL, NONE, standing(against, 3), _usd(1, 1, 1), latency)
    assert found.order == (1, 2, 0)
    assert found.behind(0, 1) == "net strong verdicts -1 against 0"
    made_up_for = [*against, (Verdict(True, "memory", "strong"), _only(0))]
    assert rank(ALL, NONE, standing(made_up_for, 3), _usd(1, 1, 1), latency).order == (0, 1, 2)


def test_a_criterion_as_priority_compares_its_verdicts_first() -> None:
    verdicts = [(Verdict(True, "reliability", "mild"), _only(2)), (Verdict(True, "cost", "strong"), _only(0))]
    found = rank(ALL, NONE, standing(verdicts, 3), _usd(1, 1, 1), Priority("reliability", None, True))
    assert found.order[0] == 2


def test_unknown_figures_come_last() -> None:
    assert rank(ALL, NONE, standing([], 3), _usd(float("nan"), 2, 1), None).order == (2, 1, 0)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30))
def test_bands_order_like_their_figures_and_hold_a_tenth(values: list[float]) -> None:
    found = bands(np.array(values), np.ones(len(values), dtype=np.bool_))
    for value, band in zip(values, found, strict=True):
        leader = min(other for other, its in zip(values, found, strict=True) if its == band)
        assert value <= leader * 1.1 * (1 + 1e-12)
        assert all(other >= value for other, its in zip(values, found, strict=True) if its > band)


@given(st.permutations(range(6)))
def test_the_order_of_plans_does_not_depend_on_the_order_of_verdicts(order: list[int]) -> None:
    verdicts = [
        (Verdict(True, "cost", "normal"), _only(0, 1)),
        (Verdict(False, "cost", "strong"), _only(1)),
        (Verdict(True, "memory", "mild"), _only(2)),
        (Verdict(False, "memory", "mild"), _only(0, 2)),
        (Verdict(True, "latency", "strong"), _only(2)),
        (Verdict(False, "quality", "normal"), _only(0)),
    ]
    first = rank(ALL, NONE, standing(verdicts, 3), _usd(1, 2, 3), None)
    other = rank(ALL, NONE, standing([verdicts[index] for index in order], 3), _usd(1, 2, 3), None)
    assert first.order == other.order


@pytest.mark.parametrize(
    ("masks", "cover"),
    [
        ({"a": [1, 1, 0], "b": [0, 0, 1], "c": [0, 1, 1]}, ("a", "b")),
        ({"a": [1, 1, 1], "b": [1, 0, 0]}, ("a",)),
        ({"big": [1, 1, 0, 0], "even": [1, 0, 1, 0], "odd": [0, 1, 0, 1]}, ("even", "odd")),
        ({}, ()),
    ],
)
def test_the_smallest_conflict_is_smallest(masks: dict[str, list[int]], cover: tuple[str, ...]) -> None:
    """The third case is one that taking the largest first gets wrong."""
    assert smallest_cover({name: np.array(mask, dtype=np.bool_) for name, mask in masks.items()}) == cover
