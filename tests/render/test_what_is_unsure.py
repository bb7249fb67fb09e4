"""What an answer rests on is told: whose price, how old, a model by its size, requests at their longest."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

import pytest

import whygpu
from whygpu.chain.environment import plain
from whygpu.explain.flips import doubled
from whygpu.plans.price import price_list
from whygpu.render.view.build import view_of

DAY = datetime.date(2026, 11, 21)
CHAT: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-70b", "concurrency": 8}


@cache
def kb() -> whygpu.KnowledgeBase:
    return whygpu.load()


def advise(**answers: Any) -> whygpu.Advice:
    advice = kb().advise(answers, today=DAY)
    assert isinstance(advice, whygpu.Advice)
    return advice


def test_who_asks_clearly_less_stands_beside_the_median() -> None:
    advice = advise(**CHAT)
    plan = advice.recommendation
    assert plan is not None
    assert plan.cost is not None
    assert plan.cost.least is not None
    assert plan.cost.least.usd_per_hour < 0.9 * plan.cost.usd_per_hour
    name = advice.consultation.knowledge.catalogue.providers[plan.cost.least.provider].name
    assert f"from ${plan.cost.least.usd_per_hour:.2f} at {name}" in view_of(advice).headline.price
    own = advise(**CHAT, providers=[plan.cost.least.provider], accelerators=[plan.accelerator.id])
    assert own.recommendation is not None
    assert own.recommendation.cost is not None
    assert own.recommendation.cost.usd_per_hour == pytest.approx(plan.cost.least.usd_per_hour), "it is to be had"
    assert own.recommendation.cost.least is None


def test_no_provider_is_cheaper_than_the_cheapest() -> None:
    knowledge = kb().knowledge
    prices = price_list(knowledge, kb().check(CHAT), DAY)
    for card in knowledge.catalogue.accelerators:
        price = prices.price(card, 1, 1)
        if price is not None:
            least = price.least or price
            assert least.usd_per_hour <= price.usd_per_hour
            assert (price.least is None) == (least.usd_per_hour == price.usd_per_hour)


@pytest.mark.parametrize("answers", [CHAT, {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_tokens": 1e7}])
def test_an_old_price_is_no_sure_one(answers: dict[str, Any]) -> None:
    advice = advise(**answers)
    plan, head = advice.recommendation, view_of(advice).headline
    assert plan is not None
    environment = advice.consultation.plans.environment
    age, fresh = (plain(environment.at(f"plan.price_{of}_days", plan.index)) for of in ("age", "fresh"))
    assert isinstance(age, float)
    assert isinstance(fresh, float)
    assert ("days old" in head.why) == (age > fresh)
    assert head.confidence == "rough estimate" or age <= fresh


def test_one_of_them_is_old_and_one_is_not() -> None:
    found = {
        "days old" in view_of(advise(**CHAT, accelerators=[card])).headline.why for card in ("h200-sxm", "rtx-4090")
    }
    assert found == {True, False}


def test_a_model_known_by_its_size_is_no_sure_one() -> None:
    head = view_of(advise(**{**CHAT, "model": "70B"})).headline
    assert head.confidence == "rough estimate"
    assert "figures of the model are guessed" in head.why
    assert "guessed" not in view_of(advise(**CHAT)).headline.why


def test_a_model_that_nobody_named_is_no_sure_one() -> None:
    """As for who says only what is owned: the answer is one for another model than theirs."""
    unnamed = {key: value for key, value in CHAT.items() if key != "model"}
    head = view_of(advise(**unnamed, owned=[{"accelerator": "rtx-3090", "count": 4}])).headline
    assert head.confidence == "rough estimate"
    assert "no model was named, and Llama 3.1 8B stands for it" in head.why


def test_half_the_context_is_tried_as_the_average_of_many_requests() -> None:
    """Twenty requests of 8,000 tokens take a B200 where all are as long, an H200 where they are half as long."""
    answers = {**CHAT, "concurrency": 20, "context_tokens": 8000, "output_tokens": 500, "criticality": "production"}
    first = doubled(advise(**answers).consultation)[0]
    assert (first.answer, first.before, first.after, first.near) == ("average_context_tokens", 8000, 4000, 1)
    told = advise(**answers, average_context_tokens=4000)
    assert told.recommendation is not None
    assert first.plan is not None
    assert told.recommendation.id == first.plan.id
    alone = doubled(advise(**{**answers, "concurrency": 1}).consultation)
    said = doubled(told.consultation)
    assert all(flip.answer != "average_context_tokens" for flip in (*alone, *said))


def test_what_is_to_spare_is_what_the_bar_leaves_free() -> None:
    for answers in (CHAT, {**CHAT, "model": "llama-3.1-8b", "requests_per_second": 2, "latency_ms": 5000}):
        rows = [row for row in view_of(advise(**answers)).meters if row.margin.endswith("to spare")]
        assert rows
        for row in rows:
            assert row.used is not None
            assert row.margin == f"{1 - row.used:.0%} to spare"


def test_what_speaks_against_a_plan_is_told_of_that_plan() -> None:
    view = view_of(advise(phase="inference", model="yolo11m", streams=8))
    told = [row.told for row in view.shortlist if not row.recommended]
    assert all(told)
    assert any("times as much" in text for text in told)
    assert any(row.against and row.against != row.told for row in view.shortlist)


def test_what_speaks_against_a_plan_has_all_that_it_names() -> None:
    """Rules about the field name figures of the plan, too."""
    for answers in (
        {"phase": "training", "model": {"parameters": 3e9}, "dataset_tokens": 1e11, "deadline_hours": 504},
        {"phase": "inference", "model": "llama-3.1-70b", "owned": "4x RTX 3090"},
        {"phase": "inference", "model": "llama-3.1-405b"},
    ):
        told = [row.told for row in view_of(advise(**answers)).shortlist]
        assert any(told)
        assert not any("unknown" in text for text in told), told


def test_what_is_owned_and_barely_out_is_to_be_measured_first() -> None:
    """A token of a limit's length is an estimate of a third either way."""
    answers = {
        **CHAT,
        "model": "qwen2.5-32b",
        "concurrency": 16,
        "criticality": "production",
        "deployment": "on-prem",
        "owned": "2x L40S",
    }
    sized = advise(**answers).recommendation
    assert sized is not None
    assert sized.owned
    token = sized.speed["token_ms"]
    assert token is not None

    def said(limit: float) -> str:
        found = advise(**answers, kv_format="fp16", token_latency_ms=limit)
        return " ".join(item.text for item in found.warnings if item.id.startswith("owned-out"))

    assert "measure it there before you spend money" in said(0.9 * token.likely)
    assert "measure it there" not in said(0.3 * token.low)
