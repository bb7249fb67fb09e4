"""What plans of a service do when they are full: how much more than the load they could take."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from whygpu.explain.meters import needs
from whygpu.explain.plan_maker import PlanMaker
from whygpu.plans.capacity import MOST_DOUBLINGS, InTime, most_requests_per_s

if TYPE_CHECKING:
    import whygpu

ANY_TIME = InTime(math.inf, math.inf)
SERVICE = {"phase": "inference", "model": "qwen3-32b", "requests_per_second": 2, "criticality": "production"}


def plans_of(kb: whygpu.KnowledgeBase, **answers: Any) -> Any:
    """The plans of a service."""
    return kb.consult({**SERVICE, **answers}, engine="evaluator").plans


def test_a_full_plan_answers_no_less_than_as_it_is_sized(kb: whygpu.KnowledgeBase) -> None:
    plan_set = plans_of(kb).plan_set
    full, sized = most_requests_per_s(plan_set, ANY_TIME), plan_set.speeds.figures["requests_per_s"]
    known = plan_set.fits & np.isfinite(sized)
    assert (full >= sized)[known].all()
    assert (full > 1.5 * sized).any()


def test_it_is_full_with_what_it_holds(kb: whygpu.KnowledgeBase) -> None:
    """With as many requests as a plan holds it answers what it is said to when it is full; one more has to wait."""
    asked = {"accelerators": ["h100-sxm"], "count": 1, "format": "fp8", "kv_format": "bf16", "token_latency_ms": 10_000}
    plan_set = plans_of(kb, **asked, requests_per_second=0.3).plan_set
    (row,) = np.flatnonzero(plan_set.fits)
    way = plan_set.configurations[plan_set.configuration[row]]
    full = most_requests_per_s(plan_set, ANY_TIME)[row]
    room = plan_set.cards.usable_bytes[plan_set.card[row]] - way.memory.total
    held = math.floor(way.setup.concurrency * (1 + room / way.memory.kv_cache))
    assert way.setup.concurrency < held < way.setup.concurrency << MOST_DOUBLINGS
    at_most = plans_of(kb, **asked, requests_per_second=None, concurrency=held).plan_set
    assert at_most.fits.any()
    assert at_most.speeds.figures["requests_per_s"][at_most.fits].max() == pytest.approx(full)
    beyond = plans_of(kb, **asked, requests_per_second=None, concurrency=held + 1).plan_set
    assert beyond.at_once.max() == held  # the other one waits


def test_it_answers_in_time(kb: whygpu.KnowledgeBase) -> None:
    plan_set = plans_of(kb).plan_set
    figures, any_time = plan_set.speeds.figures, most_requests_per_s(plan_set, ANY_TIME)
    for limits in (InTime(math.inf, 30), InTime(500, math.inf)):
        in_time = most_requests_per_s(plan_set, limits)
        assert (in_time <= any_time)[np.isfinite(any_time)].all()
        assert (in_time < any_time).any()
        late = (figures["token_ms"] > limits.token_ms) | (figures["ttft_ms"] > limits.ttft_ms)
        assert np.array_equal(in_time[late], figures["requests_per_s"][late], equal_nan=True)


def test_what_reads_whole_inputs_is_as_it_is_sized(kb: whygpu.KnowledgeBase) -> None:
    plan_set = plans_of(kb, model="bge-m3").plan_set
    assert np.array_equal(
        most_requests_per_s(plan_set, ANY_TIME), plan_set.speeds.figures["requests_per_s"], equal_nan=True
    )


def test_room_for_more_is_told(kb: whygpu.KnowledgeBase) -> None:
    """A card that is sized for the few requests that come is not said to be nearly busy (ai-rng-24)."""
    asked = {**SERVICE, "accelerators": ["b200-sxm"], "count": 1}
    consultation = kb.consult(asked, engine="evaluator")
    plan = PlanMaker(consultation).best()
    assert plan is not None
    rate = next(need for need in needs(consultation, plan) if need.name == "plan.most_requests_per_s")
    sized = plan.speed["requests_per_s"]
    assert sized is not None
    assert rate.got.likely > 1.5 * sized.likely
    assert rate.got.low / rate.got.likely == pytest.approx(sized.low / sized.likely)
    assert rate.status == "met"
    assert not consultation.plans.fired.get("little-rate-to-spare", np.zeros(plan.index + 1))[plan.index]


def test_cameras_that_keep_boards_busy_are_tried_on_one_board_more(kb: whygpu.KnowledgeBase) -> None:
    """Two boards do ten cameras at 96%; three were never tried, and a board four times as dear was recommended."""
    asked = {"model": "yolo11m", "deployment": "edge", "streams": 10, "accelerators": ["jetson-orin-nano-super-8gb"]}
    advice = kb.advise({"phase": "inference", "criticality": "production", "format": "int8", **asked})
    plans = [plan for head in advice.plans for plan in (head, *head.variants)]
    busy = {plan.count: 300 / plan.speed["frames_per_s"].likely for plan in plans}
    assert sorted(busy) == [2, 3]
    assert busy[2] > 0.9 > busy[3]


def test_more_cameras_take_no_less_hardware(kb: whygpu.KnowledgeBase) -> None:
    asked = {"phase": "inference", "model": "yolo11m", "deployment": "edge", "criticality": "production"}
    found = [kb.advise({**asked, "streams": number}).recommendation for number in range(4, 64, 4)]
    prices = [plan.cost.compared.usd_per_hour for plan in found if plan is not None and plan.cost is not None]
    assert len(prices) == len(found)
    assert all(more >= 0.99 * less for less, more in pairwise(prices))
