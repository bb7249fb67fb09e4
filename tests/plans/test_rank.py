"""The order of plans, what is tied, and the sentence on why one is behind."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import whygpu
from tests.plans.counted import counted, dollars, only, preferences, tallied
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.consultation import Consultation
from whygpu.consult.driver import consult
from whygpu.explain.rejections import smallest_cover
from whygpu.knowledge.base import Knowledge
from whygpu.knowledge.rules import Verdict
from whygpu.lint.robust import repriced
from whygpu.plans.rank import Ranking, rank

PLAIN = preferences()
ALL, NONE = only(0, 1, 2), only()
AGAINST = Verdict(False, "reliability", "strong")


def ranked(
    *prices: float, against: tuple[int, ...] = (), unverified: tuple[int, ...] = (), left: tuple[int, ...] = (0, 1, 2)
) -> Ranking:
    """Three plans at these hourly prices in order, some of them strongly spoken against."""
    found = counted(dollars(*prices, handling=0.25), tallied((AGAINST, only(*against))), PLAIN)
    return rank(only(*left), only(*unverified), found, 0.1)


def test_plans_come_in_order_of_what_they_count_as() -> None:
    assert ranked(3, 1, 2).order == (1, 2, 0)
    assert ranked(3, 1, 2, against=(1,)).order == (2, 0, 1)


def test_what_is_out_has_no_rank() -> None:
    assert ranked(3, 1, 2, left=(0, 2)).order == (2, 0)


def test_what_has_no_price_comes_last_by_its_factors() -> None:
    assert ranked(math.nan, 5, math.nan, against=(0,)).order == (1, 2, 0)
    assert ranked(math.nan, 5, math.nan, against=(1, 2)).order == (1, 0, 2)


def test_of_what_has_no_price_more_power_comes_later() -> None:
    """Of two plans without a price 2,192 cards came before 584 that were as fast: they had a little more room."""
    for watts, order in (([1.0, 9e4, 1e4], (0, 2, 1)), ([1.0, 3e4, 1e4], (0, 1, 2)), ([1.0, 1e4, math.nan], (0, 1, 2))):
        prices, verdicts = dollars(5, math.nan, math.nan), tallied((AGAINST, only(2)))
        found = counted(prices, verdicts, PLAIN, watts=np.array(watts))
        assert rank(ALL, NONE, found, 0.1).order == order
    unknown = replace(counted(dollars(5, math.nan, math.nan), tallied((AGAINST, only(2))), PLAIN), cards=np.ones(3))
    assert rank(ALL, NONE, unknown, 0.1).order == (0, 1, 2)
    assert rank(ALL, NONE, replace(unknown, cards=np.array([1.0, 9.0, 2.0])), 0.1).order == (0, 2, 1)


def test_of_jobs_without_a_price_the_one_that_takes_less_energy_comes_first() -> None:
    """Found by random answers: of two plans of the same power the slower one came first."""
    prices, verdicts = dollars(math.nan, math.nan, 5), tallied((AGAINST, only()))
    found = replace(
        counted(prices, verdicts, PLAIN, watts=np.array([300.0, 300.0, 1.0])), drawn=np.array([9.0, 8.0, 1.0])
    )
    assert rank(ALL, NONE, found, 0.1).order == (2, 1, 0)


def test_of_equals_the_one_that_works_on_less_at_once_comes_first() -> None:
    """Found by random answers: of two batches as fast, the one of 260 requests came before that of 130, by the last
    digit of what both count as.
    """
    found = counted(dollars(5 * (1 - 1e-15), 5, 7, handling=0.25), tallied((AGAINST, only())), PLAIN)
    assert rank(ALL, NONE, replace(found, at_once=np.array([260.0, 130.0, 1.0])), 0.1).order == (1, 0, 2)
    assert rank(ALL, NONE, replace(found, at_once=np.array([130.0, 260.0, 1.0])), 0.1).order == (0, 1, 2)


def test_of_equals_the_faster_one_comes_first_though_both_are_fast_enough() -> None:
    """Found by random answers: of two ways to split a cache, both fast enough, the slower one came first."""
    equal = counted(dollars(5, 5, 5), tallied((AGAINST, only())), PLAIN)
    tokens, first = np.array([9.0, 9.0, 8.0]), np.array([30.0, 20.0, math.nan])
    assert rank(ALL, NONE, replace(equal, times=(tokens, first)), 0.1).order == (2, 1, 0)


def test_what_is_unverified_comes_after_everything_verified() -> None:
    assert ranked(1, 2, 3, unverified=(0,)).order == (1, 2, 0)
    assert ranked(1, 2, math.nan, unverified=(0,)).order == (1, 2, 0)
    assert ranked(1, 2, 3, unverified=(0, 1, 2)).order == (0, 1, 2)


def test_plans_within_the_share_are_tied() -> None:
    found = rank(ALL, NONE, counted(dollars(1, 1.1, 1.11), tallied(), PLAIN), 0.1)
    assert found.tied(0, 1)
    assert found.tied(1, 0)
    assert not found.tied(0, 2)
    assert not ranked(1, math.nan, math.nan).tied(0, 1)


def test_behind_tells_the_price_at_which_a_plan_would_win() -> None:
    found = ranked(4, 3, 8, against=(0,))
    assert found.behind(0, 1) == "counts as $17/hour against $3.25/hour: it would win below $0.56/hour"
    assert ranked(0.5625 - 1e-9, 3, 8, against=(0,)).order[0] == 0
    assert ranked(0.5625 + 1e-9, 3, 8, against=(0,)).order[0] == 1


def test_behind_tells_where_no_price_is_low_enough() -> None:
    """Handling alone, four times over, is more than the other counts as."""
    found = ranked(1, 0.5, 8, against=(0,))
    assert (
        found.behind(0, 1)
        == "counts as $5/hour against $0.75/hour: no price is low enough, as the reasons against it weigh more"
    )
    assert ranked(0, 0.5, 8, against=(0,)).order[0] == 1


def test_behind_tells_of_what_has_no_price() -> None:
    assert ranked(1, math.nan, 2).behind(1, 0) == "no price is known, so it ranks after plans that have one"


def test_behind_in_watts_tells_no_price() -> None:
    watts = replace(dollars(70, 300, 700), unit="W", hours=np.full(3, np.nan))
    found = rank(ALL, NONE, counted(watts, tallied(), PLAIN), 0.1)
    assert found.behind(1, 0) == "counts as 300 W against 70 W"


SERVICE = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}
JOB = {"phase": "fine-tuning", "method": "lora", "model": "llama-3.1-8b", "dataset_tokens": 1e8}


@pytest.mark.parametrize("answers", [SERVICE, JOB], ids=["service", "job"])
@pytest.mark.slow
def test_at_the_price_told_an_accelerator_does_win(kb: whygpu.KnowledgeBase, answers: dict[str, object]) -> None:
    """Asked again with the accelerator's offers at just less, and at just more, than what it would win below."""

    def asked(knowledge: Knowledge) -> Consultation:
        return consult(knowledge, kb.check(answers), EvaluatorChain())

    before = asked(kb.knowledge)
    relative = before.plans.fired.get("largest-cards-idle-in-medium-training", np.zeros(len(before.plans), dtype=bool))
    counted_, best = before.plans.ranking.counted, before.plans.ranking.order[0]
    tried = 0
    for index in before.plans.ranking.order[1:]:
        card = before.plans.plan_set.card[index]
        told = counted_.hourly_to_count(index, float(counted_.values[best]))
        if card == before.plans.plan_set.card[best] or not told > 0:
            continue
        name = before.plans.plan_set.cards.accelerators[card].id
        for share, first in ((0.999, index), (1.001, None)):
            factor = share * told / before.plans.costs.hourly[index]
            after = asked(repriced(kb.knowledge, factor, {name})).plans.ranking
            of_card = [row for row in after.order if before.plans.plan_set.card[row] == card]
            if first is not None:
                assert after.order[0] in of_card
            elif of_card[0] == index and not relative[index]:  # that objection shrinks with the price: it wins sooner
                assert after.order[0] not in of_card
        tried += 1
        if tried == 3:
            break
    assert tried == 3


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


@pytest.mark.parametrize(("deployment", "key"), [("edge", "field_usd_per_hour"), ("workstation", "own_usd_per_hour")])
def test_a_machine_is_looked_after_where_it_stands(kb: whygpu.KnowledgeBase, deployment: str, key: str) -> None:
    asked = {"phase": "inference", "model": "yolo11n", "streams": 1, "deployment": deployment}
    money = kb.consult(asked, engine="evaluator").plans.ranking.counted.money
    handling = kb.knowledge.preferences.priced_handling
    assert handling.field_usd_per_hour < handling.own_usd_per_hour < handling.usd_per_hour
    assert np.nanmin(money.handling) == getattr(handling, key)
