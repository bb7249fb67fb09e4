"""Estimates of what nobody prices: by power laws over figures, with the spread of the priced ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whygpu
from whygpu.plans.typical import LEAST_PRICED, REACH, estimate_prices, purchase_estimates

RANDOM = np.random.default_rng(7)
SIZES = RANDOM.uniform(1, 100, (20, 3))
KINDS = ["card"] * 12 + ["board"] * 8
LEVEL = np.where(np.array(KINDS) == "card", 30.0, 5.0)
EXACT = LEVEL * SIZES[:, 0] ** 0.5 * SIZES[:, 1] ** 0.2 * SIZES[:, 2] ** 0.4


def test_a_power_law_is_found_exactly() -> None:
    usd = EXACT.copy()
    order = np.argsort(EXACT)
    usd[[order[order < 12][5], order[order >= 12][4]]] = np.nan  # within what others of their kind cost
    found = estimate_prices(SIZES, KINDS, usd)
    assert found.likely == pytest.approx(EXACT)
    assert found.low == pytest.approx(EXACT)
    assert found.high == pytest.approx(EXACT)


def test_the_spread_holds_about_four_in_five() -> None:
    sizes = RANDOM.uniform(1, 100, (400, 3))
    true = 10 * np.prod(sizes**0.3, axis=1)
    usd = true * np.exp(RANDOM.normal(0, 0.4, 400))
    found = estimate_prices(sizes[:200], ["card"] * 200, usd[:200])
    assert np.mean((usd[:200] > found.low) & (usd[:200] < found.high)) == pytest.approx(0.8, abs=0.03)
    assert (found.high / found.likely)[0] == pytest.approx(np.exp(0.4 * 1.2816), rel=0.2)


def test_an_estimate_is_what_its_sizes_say_or_none() -> None:
    """One cut off at the dearest that is priced was told as a price: every board without one cost as the smallest."""
    cards = SIZES[:12]
    least, most = cards.min(axis=0), cards.max(axis=0)
    asked = np.array(
        [most * REACH * 0.99, least / REACH * 1.01, most * [1, REACH * 1.01, 1], least / [1, 1, REACH * 1.01]]
    )
    usd = np.concatenate([EXACT, np.full(4, np.nan)])
    found = estimate_prices(np.vstack([SIZES, asked]), [*KINDS, *["card"] * 4], usd)
    law = 30.0 * asked[:, 0] ** 0.5 * asked[:, 1] ** 0.2 * asked[:, 2] ** 0.4
    assert found.likely[-4:-2] == pytest.approx(law[:2])
    assert found.likely[-4] > EXACT[:12].max(), "within reach nothing is cut off"
    assert found.likely[-3] < EXACT[:12].min()
    assert np.isnan(found.likely[-2:]).all(), "one size alone that lies too far off is enough"
    assert np.isnan(found.low[-2:]).all()
    assert np.isnan(found.high[-2:]).all()


def test_too_few_prices_of_a_kind_give_no_estimate_and_bear_on_none() -> None:
    usd, kinds = EXACT.copy(), list(KINDS)
    for row in range(LEAST_PRICED - 1):
        kinds[row] = "odd"
        usd[row] = 1e9 * (row + 1)
    found = estimate_prices(SIZES, kinds, usd)
    assert np.isnan(found.likely[: LEAST_PRICED - 1]).all()
    assert found.likely[LEAST_PRICED - 1 :] == pytest.approx(EXACT[LEAST_PRICED - 1 :])


def test_the_same_price_many_times_is_one_price() -> None:
    """One board under two names gave its kind a level."""
    usd, kinds = EXACT.copy(), list(KINDS)
    for row in range(LEAST_PRICED + 1):
        kinds[row] = "odd"
        usd[row] = 249.0 + (row % (LEAST_PRICED - 1))
    found = estimate_prices(SIZES, kinds, usd)
    assert np.isnan(found.likely[: LEAST_PRICED + 1]).all()


def test_nothing_is_estimated_from_nothing() -> None:
    found = estimate_prices(SIZES, KINDS, np.full(20, np.nan))
    assert np.isnan(found.likely).all()


def test_a_figure_that_is_not_known_gives_no_estimate() -> None:
    sizes = SIZES.copy()
    sizes[2, 1] = np.nan
    found = estimate_prices(sizes, KINDS, EXACT)
    assert np.isnan(found.likely[2])
    assert np.isfinite(np.delete(found.likely, 2)).all()


@given(factor=st.floats(0.01, 100))
def test_scaling_prices_scales_estimates(factor: float) -> None:
    usd = EXACT * np.exp(np.sin(np.arange(20)))
    usd[4] = np.nan
    one, many = estimate_prices(SIZES, KINDS, usd), estimate_prices(SIZES, KINDS, usd * factor)
    for name in ("low", "likely", "high"):
        assert getattr(many, name) == pytest.approx(getattr(one, name) * factor, rel=1e-6)


def test_the_catalogue_estimates_what_is_sold_and_nothing_else(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    found, _ = purchase_estimates(catalogue)
    likely = dict(zip(catalogue.accelerators, found.likely.tolist(), strict=True))
    assert 2000 < likely["a10"] < 4000
    assert np.isnan(likely["tpu-v5e"]), "no TPU has a price to buy"
    assert (found.low[np.isfinite(found.low)] > 0).all()
    known = np.isfinite(found.likely)
    assert (found.low[known] <= found.likely[known]).all()
    assert (found.likely[known] <= found.high[known]).all()


def test_what_brings_its_processor_along_is_not_priced_by_cards(kb: whygpu.KnowledgeBase) -> None:
    """A GH200 with a processor and 480 GB of memory was estimated below an H100 for a slot."""
    catalogue = kb.knowledge.catalogue
    estimates, _ = purchase_estimates(catalogue)
    forms = [card.text("form") for card in catalogue.accelerators.values()]
    assert "superchip" in forms
    of_superchips = np.array([form == "superchip" for form in forms])
    assert np.isnan(estimates.likely[of_superchips]).all()
    assert np.isfinite(estimates.likely[np.array([form == "pcie" for form in forms])]).any()
