"""What verdicts are worth: the strongest of a criterion and side counts, opposites cancel, graded ones grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.counted import MILD, NORMAL, STRONG, only, tallied
from whygpu.knowledge.rules import Grade, Verdict
from whygpu.language.tree import Name

AVOID = Verdict(False, "reliability", "normal")
PREFER = Verdict(True, "reliability", "normal")


def graded(start: float, full: float, strength: str = "strong", *, favourable: bool = False) -> Verdict:
    """A verdict that grows between these figures."""
    return Verdict(favourable, "latency", strength, Grade("plan.token_ms", Name("plan.token_ms"), start, full))  # type: ignore[arg-type]


def test_a_verdict_against_multiplies_and_one_for_divides() -> None:
    found = tallied((AVOID, only(0)), (PREFER, only(1)))
    assert found.factor("reliability").tolist() == [NORMAL, 1 / NORMAL, 1.0]


def test_many_rules_that_agree_weigh_no_more_than_one() -> None:
    found = tallied((AVOID, only(0)), (AVOID, only(0)), (Verdict(False, "reliability", "mild"), only(0, 1)))
    assert found.factor("reliability").tolist() == [NORMAL, MILD, 1.0]


def test_the_strongest_against_stands_against_the_strongest_for() -> None:
    against, mild = Verdict(False, "reliability", "strong"), Verdict(True, "reliability", "mild")
    found = tallied((against, only(0)), (PREFER, only(0)), (mild, only(0)))
    assert found.factor("reliability")[0] == STRONG / NORMAL
    assert not found.conflict("reliability").any()


def test_equal_opposites_cancel_and_are_a_conflict() -> None:
    found = tallied((AVOID, only(0)), (PREFER, only(0, 1)))
    assert found.factor("reliability").tolist() == [1.0, 1 / NORMAL, 1.0]
    assert found.conflict("reliability").tolist() == [True, False, False]


def test_verdicts_of_different_criteria_do_not_meet() -> None:
    found = tallied((AVOID, only(0)), (Verdict(True, "cost", "normal"), only(0)))
    assert found.factor("reliability")[0] == NORMAL
    assert found.factor("cost")[0] == 1 / NORMAL
    assert not found.conflict("reliability").any()
    assert not found.conflict("cost").any()


@pytest.mark.parametrize(("start", "full"), [(100.0, 400.0), (400.0, 100.0)])
def test_a_graded_verdict_counts_nothing_at_from_all_of_it_at_to_and_no_more_beyond(start: float, full: float) -> None:
    """Half of the way, by ratio, it counts half as many times: the root."""
    ratio = full / start
    figures = np.array([start, start * ratio**0.5, full, full * ratio, start / ratio])
    found = tallied((graded(start, full), np.ones(5, dtype=np.bool_)), figure=figures, of=5)
    assert found.factor("latency") == pytest.approx([1.0, STRONG**0.5, STRONG, STRONG, 1.0])


def test_a_graded_verdict_for_a_plan_divides() -> None:
    found = tallied((graded(1, 4, favourable=True), only(0, 1, 2)), figure=np.array([1.0, 2.0, 4.0]))
    assert found.factor("latency") == pytest.approx([1.0, STRONG**-0.5, 1 / STRONG])


def test_a_graded_verdict_speaks_only_where_its_rule_fired() -> None:
    assert tallied((graded(1, 4), only(1)), figure=np.array([9.0, 9.0, 9.0])).factor("latency").tolist() == [
        1,
        STRONG,
        1,
    ]


def test_a_figure_that_is_not_known_counts_as_reached() -> None:
    found = tallied((graded(1, 4), only(0, 1)), figure=np.array([np.nan, 1.0, 1.0]))
    assert found.factor("latency").tolist() == [STRONG, 1.0, 1.0]


@given(st.floats(1.0, 1e4), st.floats(1.0001, 1.05))
def test_a_graded_verdict_has_no_step(figure: float, more: float) -> None:
    """Over a factor of four a strong verdict grows by no more than the figure does."""
    found = tallied((graded(100, 400), only(0, 1, of=2)), figure=np.array([figure, figure * more]), of=2)
    before, after = found.factor("latency")
    assert before <= after <= before * more * (1 + 1e-9)


@given(st.permutations(range(6)))
def test_the_order_of_verdicts_does_not_matter(order: list[int]) -> None:
    verdicts = [
        (Verdict(True, "cost", "normal"), only(0, 1)),
        (Verdict(False, "cost", "strong"), only(1)),
        (Verdict(True, "memory", "mild"), only(2)),
        (Verdict(False, "memory", "mild"), only(0, 2)),
        (Verdict(True, "latency", "strong"), only(2)),
        (Verdict(False, "quality", "normal"), only(0)),
    ]
    first, other = tallied(*verdicts), tallied(*(verdicts[index] for index in order))
    assert all(first.factor(name).tolist() == other.factor(name).tolist() for name in first.favour)
