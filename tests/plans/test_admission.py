"""Plans that admit fewer requests than are asked for: said in figures, and only where no plan holds them all."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import whygpu
from whygpu.checks.calculation import Range
from whygpu.render.estimate import estimate_text

MANY = {"phase": "inference", "model": "llama-3.1-8b", "format": "fp8", "concurrency": 200, "context_tokens": 16384}
ONE_L4 = {**MANY, "accelerators": ["l4"], "count": 1}


def test_where_no_plan_holds_all_requests_the_rest_queue(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise(ONE_L4)
    assert advice.recommendation is not None
    assert "what-is-not-admitted-queues" in {
        rule for verdict in advice.recommendation.verdicts for rule in verdict.rules
    }
    text = next(item.text for item in advice.techniques if item.id == "the-rest-queue")
    admitted = int(text.split("admits ")[1].split()[0])
    fits = kb.estimate({**ONE_L4, "concurrency": admitted})
    assert fits.memory.verdict != "no"
    assert kb.estimate({**ONE_L4, "concurrency": admitted + 1}).memory.verdict == "no"
    assert advice.recommendation.memory.total_gib == pytest.approx(fits.memory.total_gib)


def test_where_weights_do_not_fit_nothing_is_admitted(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({**ONE_L4, "model": "llama-3.1-70b"})
    assert advice.recommendation is None
    assert advice.infeasible is not None
    assert "the-need-must-fit" in advice.infeasible.conflict


def test_where_some_plan_holds_all_requests_none_queues(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({**MANY, "concurrency": 16, "accelerators": ["l4", "h100-sxm"], "count": 1})
    assert advice.recommendation is not None
    assert advice.recommendation.accelerator.id == "h100-sxm"
    assert not any(item.id == "the-rest-queue" for item in advice.techniques)


def test_where_no_plan_that_holds_all_can_be_chosen_the_rest_queue(kb: whygpu.KnowledgeBase) -> None:
    """Invariants, seed 20001: what nobody may choose held all requests, so none might queue, and nothing was left."""
    asked = {**MANY, "concurrency": 8, "accelerators": ["l4", "h100-sxm"], "budget_per_hour": 1}
    for limit in ({"count": 1}, {"max_count": 1}, {"max_count": 8}, {"max_count": 8, "max_nodes": 8}):
        advice = kb.advise({**asked, **limit})
        assert advice.recommendation is not None
        assert (advice.recommendation.accelerator.id, advice.recommendation.count) == ("l4", 1), limit
        assert any(item.id == "the-rest-queue" for item in advice.techniques)
        assert "h100-sxm" in {item.plan.accelerator.id for item in advice.rejected}


def test_those_that_queue_are_no_answer_where_most_would_wait(kb: whygpu.KnowledgeBase) -> None:
    """Then what can be done about those that hold all is said."""
    advice = kb.advise({**MANY, "concurrency": 200, "budget_per_hour": 0.5})
    assert advice.recommendation is None
    assert advice.infeasible is not None
    assert "hourly-budget" in advice.infeasible.conflict


def test_who_queues_cannot_keep_a_limit_on_the_first_token(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({**ONE_L4, "concurrency": 10, "context_tokens": 8192, "count": 1, "latency_ms": 5000})
    later = kb.advise({**ONE_L4, "concurrency": 20, "context_tokens": 8192, "count": 1, "latency_ms": 5000})
    assert "who-queues-misses-a-stated-limit" not in {r.rule for item in advice.rejected for r in item.because}
    assert "who-queues-misses-a-stated-limit" in {r.rule for item in later.rejected for r in item.because}


def test_an_estimate_says_how_many_it_admits(kb: whygpu.KnowledgeBase) -> None:
    text = " ".join(estimate_text(kb.estimate_in_full(ONE_L4)).split())
    assert "of 200 requests at once it admits 5, and the rest queue" in text


def test_requests_wait_where_all_at_once_would_be_too_slow(kb: whygpu.KnowledgeBase) -> None:
    """More cards, which hold all requests but too slowly, leave no less than fewer do."""
    asked = {**MANY, "model": "qwen2.5-14b", "concurrency": 18, "context_tokens": 32768, "accelerators": ["l4"]}
    asked["kv_format"] = "bf16"
    limits = {"max_nodes": 1, "token_latency_ms": 200, "criticality": "production"}
    for count in (4, 8):
        advice = kb.advise({**asked, **limits, "max_count": count})
        assert advice.recommendation is not None, count
        assert _token_ms(advice.recommendation.speed) <= 200
        assert any(item.id == "the-rest-queue" for item in advice.techniques)
    assert _token_ms(kb.estimate({**asked, "count": 8}).speed) > 200


def _token_ms(speed: Mapping[str, Range | None]) -> float:
    found = speed["token_ms"]
    assert found is not None
    return found.likely


def test_who_is_too_slow_alone_need_not_wait(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({**MANY, "model": "llama-3.1-70b", "accelerators": ["l4"], "token_latency_ms": 1})
    assert advice.recommendation is None
