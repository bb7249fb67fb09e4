"""How, why not, what if, and what would flip it."""

from __future__ import annotations

from datetime import date

import pytest

import whygpu
from whygpu.chain.durable import DurableEngine
from whygpu.consult.driver import consult
from whygpu.errors import AnswerError
from whygpu.explain.advice import Advice
from whygpu.explain.flips import search
from whygpu.render.view.questions import why_not_sections
from whygpu.render.view.request import request

TODAY = date(2026, 11, 21)


@pytest.fixture(scope="module")
def chat(kb: whygpu.KnowledgeBase) -> whygpu.Advice:
    """A 70B chat model on cards of data centres, within a budget."""
    answers = {
        "phase": "inference",
        "model": "llama-3.1-70b",
        "concurrency": 4,
        "accelerators": ["L40S", "A100", "L4", "T4"],
        "budget_per_hour": 6,
        "max_nodes": 1,
    }
    return kb.advise(answers, today=TODAY)


def test_how_walks_back_from_a_conclusion_to_what_was_answered(chat: whygpu.Advice) -> None:
    steps = chat.how("workload.low_concurrency")
    assert [step.rule for step in steps] == ["few-requests-at-once"]
    names = {chat.trace.fact_by_id[fact].name: chat.trace.fact_by_id[fact].origin for fact in steps[0].uses}
    assert names["workload.concurrency"] == "answer"
    with pytest.raises(whygpu.AnswerError, match="nothing in the trace"):
        chat.how("workload.nonsense")


def test_why_not_names_the_rule_with_both_numbers(kb: whygpu.KnowledgeBase) -> None:
    """runpod-42: one L40S holds a quantized 70B model; one T4 (runpod-39: 16 GB) does not."""
    answers = {"model": "llama-3.1-70b", "accelerators": ["L40S", "T4"], "max_count": 1}
    (found,) = kb.advise(answers, today=TODAY).why_not("T4")
    reason = next(reason for reason in found.rejected if reason.rule == "the-need-must-fit")
    assert reason.gap is not None
    assert reason.gap > 0
    assert reason.unit == "GiB"


def test_why_not_of_a_plan_that_lost_names_the_comparison(chat: whygpu.Advice) -> None:
    for plan in chat.alternatives:
        (found,) = chat.why_not(plan.id)
        assert (found.behind is None) == (plan.rank == 1)
    assert chat.recommendation is not None
    assert chat.why_not(chat.recommendation.id)[0].behind is None
    with pytest.raises(whygpu.AnswerError, match="no plan or accelerator 'H1000'"):
        chat.why_not("H1000")


def test_why_not_of_a_plan_that_no_rule_has_tried_says_that_it_would_come_first(kb: whygpu.KnowledgeBase) -> None:
    """A format that is not tried is still read by a card that multiplies it: half of FP8's bytes (nvfp4-blog)."""
    answers = {
        "phase": "inference",
        "model": "llama-3.3-70b",
        "deployment": "on-prem",
        "budget_total": 25_000,
        "concurrency": 8,
        "context_tokens": 16_384,
    }
    engine = DurableEngine(kb.knowledge, without=frozenset({"consider-nvfp4"}))
    advice = Advice(consult(kb.knowledge, kb.check(answers), engine.chain(), TODAY))
    asked = "1x RTX PRO 6000 Blackwell Workstation NVFP4"
    (found,) = advice.why_not(asked)
    assert advice.recommendation is not None
    assert advice.recommendation.format != "nvfp4"
    assert (found.ahead, found.enumerated, found.behind, found.rejected) == (True, False, None, ())
    (section,) = why_not_sections(advice, asked, [found])
    assert "would come first" in section.title
    assert any("answer format = nvfp4" in line.text for line in section.lines)
    (listed,) = advice.why_not(advice.recommendation.id)
    assert not listed.ahead


def test_why_not_of_a_card_that_is_owned_speaks_of_those_that_are_owned(kb: whygpu.KnowledgeBase) -> None:
    owned = [{"accelerator": "rtx-4090", "count": 1}]
    asked = {"phase": "inference", "model": "flux.1-dev", "latency_ms": 1000, "owned": owned}
    (found,) = kb.advise(asked, today=TODAY).why_not("RTX 4090")
    assert found.rejected
    assert found.plan.owned


def test_what_if_runs_again_and_says_whether_the_recommendation_changed(chat: whygpu.Advice) -> None:
    same = chat.what_if(criticality="development")
    assert not same.changed
    other = chat.what_if(quantization="forbidden", budget_per_hour=None)
    assert other.changed
    assert other.advice.recommendation is not None
    assert other.advice.recommendation.format in ("bf16", "fp16")
    with pytest.raises(whygpu.AnswerError):
        chat.what_if(phase="nonsense")


def test_each_flip_does_flip(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise(
        {"model": "llama-3.1-8b", "accelerators": ["L4", "L40S", "A100 80GB"], "max_nodes": 1}, today=TODAY
    )
    found = advice.flips()
    assert {"concurrency", "context_tokens"} & {flip.answer for flip in found}
    for flip in found:
        assert advice.what_if(**{flip.answer: flip.after}).changed


def test_what_did_not_fire_says_why(chat: whygpu.Advice) -> None:
    steps = {step.rule: step for step in chat.unfired()}
    assert steps["training-changes-weights"].status == "silent"
    assert [outcome.result for outcome in steps["training-changes-weights"].conditions] == ["false"]
    fired = {step.rule for step in chat.trace.steps if step.plan is None and step.rule}
    assert not fired & steps.keys()
    assert all(step.conditions for step in steps.values())


def test_an_open_question_says_who_waits_for_it(chat: whygpu.Advice) -> None:
    found = {item.question: item for item in chat.open}
    assert "budget_per_hour" not in found  # it was answered
    assert found["latency_ms"].why.startswith("it is needed by")
    assert "first-answer-in-time" in found["latency_ms"].why
    assert found["criticality"].why.startswith("a value is assumed; it is read by")


def test_a_search_for_tipping_points_can_be_ended_and_is_kept(kb: whygpu.KnowledgeBase) -> None:
    """As by who chooses something else on the page meanwhile."""
    consultation = kb.consult(
        {"phase": "inference", "model": "llama-3.2-1b", "accelerators": ["l4", "t4"]}, engine="evaluator"
    )
    tried: list[str] = []

    def end(key: str) -> None:
        tried.append(key)
        if len(tried) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        search(consultation, end)
    found = search(consultation, tried.append)
    assert len(set(tried)) > 3
    number = len(tried)
    assert search(consultation, tried.append) is found
    assert len(tried) == number


@pytest.mark.parametrize(("text", "told"), [("1,5", True), ("0,20", True), ("lots", False)])
def test_a_comma_in_a_number_is_told_of(kb: whygpu.KnowledgeBase, text: str, told: bool) -> None:
    with pytest.raises(AnswerError) as caught:
        kb.advise({"phase": "inference", "budget_per_hour": text})
    assert ("set off by a point" in str(caught.value.problems[0].help)) == told


@pytest.mark.parametrize(("people", "at_once"), [(4, 1), (25, 3), (300, 30)])
def test_of_the_people_who_use_a_service_one_in_ten_asks_at_once(
    kb: whygpu.KnowledgeBase, people: int, at_once: int
) -> None:
    """users-of-an-agent-server: answers of 3 s, and 30 s of thinking between them. A rate says more."""
    serving = {"phase": "inference", "model": "llama-3.1-8b", "criticality": "production"}
    counted, said = kb.advise({**serving, "people": people}), kb.advise({**serving, "concurrency": at_once})
    assert counted.consultation.plans.work.setup.concurrency == at_once
    assert counted.consultation.plans.work == said.consultation.plans.work
    with_rate = kb.advise({**serving, "people": people, "requests_per_second": 2})
    assert with_rate.consultation.plans.work == kb.advise({**serving, "requests_per_second": 2}).consultation.plans.work


def test_a_request_says_for_how_many_people(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({"phase": "inference", "model": "llama-3.1-8b", "people": 300, "regions": ["germany", "eu"]})
    said = request(advice.consultation)
    assert "for 300 people, 30 requests at once?" in said
    assert "in Germany or EU and EEA" in said


def test_a_request_says_how_long_samples_are_taken_for(kb: whygpu.KnowledgeBase) -> None:
    """Ten thousand of 200 tokens are a tenth of the work of as many of 2,048."""
    tuning = {"phase": "fine-tuning", "model": "llama-3.1-8b", "dataset_samples": 10_000}
    assert "-token samples?, 10,000 samples" in request(kb.advise(tuning).consultation)
    assert "-token samples?" not in request(kb.advise({**tuning, "model": "stable-diffusion-xl"}).consultation)
