"""Every figure can be traced: its formula, with the terms put in, gives the figure."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.checks.formulas import value_of
from tests.checks.strategies import FACTS, works
from whygpu.checks.calculation import Calculation
from whygpu.checks.memory import estimate as memory
from whygpu.checks.memory.estimate import PART_NAMES
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed

Work = tuple[ModelShape, Setup, ParallelLayout]
CARDS = Device.of(
    [3.2e11, 1.008e12, 3.35e12],
    [65e12, 165e12, 989e12],
    link_bytes_s=[0, 0, 4.5e11],
    link_cards=[0, 0, 8],
    pcie_bytes_s=[1.6e10, 3.2e10, 6.4e10],
    kinds=[
        CardKind("turing", "data-centre"),
        CardKind("ada", "consumer"),
        CardKind("hopper", "data-centre", memory="hbm3"),
    ],
)


def assert_holds(calculation: Calculation) -> None:
    assert math.isclose(value_of(calculation), calculation.value, rel_tol=1e-9, abs_tol=1e-9), calculation


@given(works())
def test_memory(work: Work) -> None:
    done = memory.estimate(*work, FACTS.coefficients)
    found = {calculation.name: calculation for calculation in done.calculations()}
    for calculation in found.values():
        assert_holds(calculation)
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
        assert_holds(calculation)
    for name in speed.FIGURES:
        band = getattr(done, name)
        if band is not None and name in found:
            assert math.isclose(found[name].value, band.at(index).likely, rel_tol=1e-9)
    assert found.keys() & set(speed.FIGURES)
