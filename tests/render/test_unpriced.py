"""Where no offer is known of any card that is asked for, the answer says so, and nothing stumbles over it."""

from __future__ import annotations

import pytest

import whygpu
from tests.render.cases import TODAY
from whygpu.explain.flips import price_flips
from whygpu.render.view import view_of

ASKED = {
    "phase": "inference",
    "task": "language",
    "model": "llama-3.1-8b",
    "concurrency": 16,
    "context_tokens": 8000,
    "criticality": "production",
    "deployment": "cloud",
    "accelerators": ["gaudi-2", "gaudi-3"],
}


@pytest.fixture(scope="module")
def advice() -> whygpu.Advice:
    found = whygpu.load().advise(ASKED, today=TODAY)
    assert found.recommendation is not None
    assert found.recommendation.cost is None, "a price of a Gaudi is known now: ask for a card that has none"
    return found


def test_no_price_is_no_tipping_point(advice: whygpu.Advice) -> None:
    assert price_flips(advice.consultation) == ()


def test_what_no_one_offers_is_not_taken_for_an_unchecked_marketplace(advice: whygpu.Advice) -> None:
    assert advice.recommendation is not None
    assert not advice.recommendation.unverified


def test_the_reason_names_no_price_that_is_not_known(advice: whygpu.Advice) -> None:
    said = [sentence.text for sentence in view_of(advice).because]
    assert said[0].startswith("No price is known for it")
    assert not any("costs no price" in text for text in said)
