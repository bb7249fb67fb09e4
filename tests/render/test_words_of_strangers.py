"""What strangers found wrong in what is printed, each as it was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygpu.explain.repairs import repairs
from whygpu.explain.shortlist import answer_ms
from whygpu.quantity import show
from whygpu.render.view import view_of
from whygpu.render.view.questions import why_not_sections

if TYPE_CHECKING:
    import whygpu
    from whygpu.render.view import View

CHAT: dict[str, Any] = {"model": "llama-3.1-8b", "phase": "inference", "concurrency": 8}
LONG: dict[str, Any] = {"model": "llama-3.1-8b", "phase": "inference", "context_tokens": 1e6}
SPOT: dict[str, Any] = {**CHAT, "price_kinds": ["spot"], "criticality": "development"}
OWNED: dict[str, Any] = {
    "model": "deepseek-r1",
    "phase": "inference",
    "context_tokens": 16_000,
    "owned": [{"accelerator": "apple-m3-ultra", "count": 1}],
}


def seen(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> tuple[whygpu.Advice, View]:
    found = kb.advise(answers, engine="evaluator")
    return found, view_of(found)


def warned(view: View) -> set[str | None]:
    return {item.evidence.rule for item in view.items if item.kind == "warning"}


def test_assumed_data_is_in_the_request_and_first_among_what_was_assumed(kb: whygpu.KnowledgeBase) -> None:
    _, view = seen(kb, {"model": {"parameters": 7e9}, "phase": "training"})
    assert "140B tokens?" in view.request.text
    assert view.assumed[0].answer == "dataset_tokens"


def test_a_spot_price_says_so_wherever_it_stands(kb: whygpu.KnowledgeBase) -> None:
    _, view = seen(kb, SPOT)
    assert " on spot" in view.headline.price
    assert all(" on spot" in row.price for row in view.shortlist)
    assert "a-service-on-spot-goes-away" in warned(view)
    _, demand = seen(kb, {**SPOT, "price_kinds": ["on-demand"]})
    assert "on spot" not in demand.headline.price
    assert "a-service-on-spot-goes-away" not in warned(demand)


def test_a_job_of_unknown_length_has_no_price_by_the_month(kb: whygpu.KnowledgeBase) -> None:
    overnight = {"model": "llama-3.1-8b", "phase": "fine-tuning", "deadline_hours": 10}
    _, view = seen(kb, overnight)
    assert "a month" not in view.headline.price
    assert any("known once dataset_tokens" in item.text for item in view.items if item.kind == "warning")
    _, sized = seen(kb, {**overnight, "dataset_tokens": 1e7})
    assert "for the job" in sized.headline.price
    assert "a month" in seen(kb, CHAT)[1].headline.price


def test_what_is_worked_through_at_once_is_a_batch_and_in_training_a_micro_batch(kb: whygpu.KnowledgeBase) -> None:
    job = {"model": "bge-m3", "phase": "batch-inference", "dataset_samples": 1e7}
    _, view = seen(kb, job)
    assert "(batch of " in view.headline.text
    _, trained = seen(kb, {"model": "llama-3.1-8b", "phase": "fine-tuning"})
    assert "micro-batch of " in trained.headline.text


def test_a_first_answer_of_minutes_is_warned_of_and_the_list_tells_the_whole_answer(kb: whygpu.KnowledgeBase) -> None:
    advice, view = seen(kb, LONG)
    assert "a-first-answer-of-minutes" in warned(view)
    tokens = advice.consultation.plans.work.setup.output_tokens
    times = {pick.role: answer_ms(pick.plan, tokens) or 0.0 for pick in advice.shortlist}
    assert min(times, key=times.__getitem__) == "fastest"
    assert [row.speed for row in view.shortlist] == [f"{show(time / 1000, 's')} an answer" for time in times.values()]


def test_the_next_best_is_no_copy_of_what_is_owned(kb: whygpu.KnowledgeBase) -> None:
    advice, view = seen(kb, {**OWNED, "accelerators": ["apple-m3-ultra", "apple-m4-max"]})
    best = advice.recommendation
    assert best is not None
    assert best.owned
    assert advice.alternatives[0].accelerator.id == best.accelerator.id
    assert f"1x {best.accelerator.name} " not in view.because[0].text


def test_a_limit_that_nobody_gave_is_marked(kb: whygpu.KnowledgeBase) -> None:
    answers = {"model": "orpheus-3b", "phase": "inference", "task": "speech"}
    row = next(row for row in seen(kb, answers)[1].meters if row.label == "each token")
    assert row.needs.endswith("? (assumed)")
    given = next(row for row in seen(kb, {**answers, "token_latency_ms": 12})[1].meters if row.label == "each token")
    assert "assumed" not in given.needs


def test_a_model_that_nobody_named_is_marked_as_assumed(kb: whygpu.KnowledgeBase) -> None:
    _, named = seen(kb, CHAT)
    _, assumed = seen(kb, {"phase": "inference", "task": "language"})
    assert named.request.text.startswith("Serve Llama 3.1 8B: ")
    assert assumed.request.text.startswith("Serve Llama 3.1 8B?: ")


def test_one_accelerator_that_was_named_is_not_said_to_rule_out_others(kb: whygpu.KnowledgeBase) -> None:
    _, view = seen(kb, {**CHAT, "accelerators": ["tpu-v6e"]})
    assert view.because[0].text.startswith("It is the accelerator that was asked for")


def test_a_card_that_experts_fill_has_nothing_to_spare(kb: whygpu.KnowledgeBase) -> None:
    """As many experts go onto the cards as have room there: the rest of them is what the host's memory holds."""
    owned = [{"accelerator": "rtx-3090", "count": 2}]
    for model, margin in (("gpt-oss-120b", "experts take the rest"), ("gpt-oss-20b", "to spare")):
        answers = {"phase": "inference", "model": model, "concurrency": 1, "owned": owned}
        row = next(row for row in seen(kb, answers)[1].meters if row.label.startswith("memory"))
        assert margin in row.margin


def test_what_plans_fill_is_no_assumption_to_change(kb: whygpu.KnowledgeBase) -> None:
    """Of batch work it said that 64 requests instead of 32 would change it, where each plan has 256 of its own."""
    _, view = seen(kb, {"phase": "batch-inference", "model": "llama-3.3-70b", "dataset_samples": 5e5})
    assert all(not row.change.startswith("concurrency") for row in view.flips)
    assert view.assumed[0].answer != "concurrency"
    _, view = seen(kb, {"phase": "fine-tuning", "method": "qlora", "model": "llama-3.3-70b", "dataset_tokens": 2e7})
    assert view.assumed[0].answer != "batch_size"


def test_what_is_left_and_no_answer_is_not_called_as_good(kb: whygpu.KnowledgeBase) -> None:
    """Where nothing is recommended a plan was as good as the recommendation."""
    asked = {"phase": "inference", "model": "llama-3.1-8b", "requests_per_second": 1, "regions": ["eu"]}
    asked |= {"hours_per_day": 10, "context_tokens": 4096, "budget_per_hour": 1}
    found = kb.advise(asked, engine="evaluator")
    assert found.recommendation is None
    assert found.infeasible is not None
    bad = found.infeasible.least_bad
    assert bad is not None
    (section,) = why_not_sections(found, bad.id, found.why_not(bad.id))
    assert "no answer" in section.title
    assert section.lines[0].evidence.rule in found.infeasible.conflict
    assert {item.value for item in found.assumed if item.answer == "criticality"} == {"production"}
    for repair in repairs(found.consultation):  # less load makes no service one in development
        assert (repair.plan.label, repair.plan.format) != (bad.label, bad.format)
        given = {key: value for key, value in {**asked, **repair.changes}.items() if value is not None}
        taken = kb.advise(given, engine="evaluator").recommendation
        assert taken is not None
        assert taken.label == repair.plan.label


def test_a_token_comes_first_of_what_has_tokens_alone(kb: whygpu.KnowledgeBase) -> None:
    cameras = {"phase": "inference", "model": "yolo11m", "streams": 2}
    named = [{row.label for row in seen(kb, answers)[1].meters} for answers in (CHAT, cameras)]
    assert ["first token" in labels for labels in named] == [True, False]
    assert ["answer" in labels for labels in named] == [False, True]


def test_work_of_unknown_size_is_compared_by_what_its_tokens_cost(kb: whygpu.KnowledgeBase) -> None:
    """Twice the price an hour was said to cost less, as it is more than twice as fast."""
    found, view = seen(kb, {"model": "llama-3.1-8b", "phase": "batch-inference"})
    assert all("/million tokens" in row.price for row in view.shortlist)
    assert found.recommendation is not None
    assert found.recommendation.cost is not None
    objective = found.recommendation.cost.objective
    assert objective is not None
    shown = show(objective, "USD/million tokens")
    assert view.shortlist[0].price == shown
    assert any(shown in sentence.text for sentence in view.because)
    _, sized = seen(kb, {"model": "llama-3.1-8b", "phase": "batch-inference", "dataset_tokens": 1e9})
    assert all(" in total" in row.price for row in sized.shortlist)


def test_live_speech_says_which_limit_takes_so_many_cards(kb: whygpu.KnowledgeBase) -> None:
    """Two cards for 100 voices, and each limit that was shown was 97% unused."""
    live = {"phase": "inference", "model": "whisper-large-v3-turbo", "streams": 100, "latency_ms": 1000}
    _, view = seen(kb, live)
    first = view.meters[0]
    assert (first.label, first.needs, first.status) == ("piece of speech", "at most 1 s", "met")
