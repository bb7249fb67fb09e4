"""Every figure can be traced: it is a check that is explained, and its formula, with the terms put in, gives it."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.checks.formulas import value_of
from tests.checks.strategies import CARDS, FACTS, works
from whygpu.checks.calculation import CHECKS, Calculation
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.estimate import PART_NAMES
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed

Work = tuple[ModelShape, Setup, ParallelLayout]


def assert_holds(calculation: Calculation, setup: Setup) -> None:
    """The formula gives the figure, which is one of those that `kb/formulas.yaml` must explain."""
    assert calculation.check in CHECKS["training" if setup.trains else "inference"]
    assert math.isclose(value_of(calculation), calculation.value, rel_tol=1e-9, abs_tol=1e-9), calculation


@given(works())
def test_memory(work: Work) -> None:
    done = memory.estimate(*work, FACTS.coefficients)
    found = {calculation.name: calculation for calculation in done.calculations()}
    for calculation in found.values():
        assert_holds(calculation, work[1])
    for name in PART_NAMES:
        shown = found[name].value if name in found else 0.0
        assert math.isclose(shown, getattr(done, name), rel_tol=1e-12, abs_tol=1e-9), name
    assert found["total"].value == done.total


@given(works(), st.integers(0, 2))
def test_speed(work: Work, index: int) -> None:
    shape, setup, layout = work
    done = speed.estimate(shape, setup, layout, CARDS, FACTS.coefficients)
    found = {calculation.name: calculation for calculation in done.calculations(index)}
    for calculation in found.values():
        assert_holds(calculation, setup)
    for name in speed.FIGURES:
        band = getattr(done, name)
        if band is not None and name in found:
            assert math.isclose(found[name].value, band.at(index).likely, rel_tol=1e-9)
    assert found.keys() & set(speed.FIGURES)
