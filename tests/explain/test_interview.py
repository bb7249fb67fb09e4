"""The next question: only what can still change the recommendation, and why it is asked."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import whygpu
from whygpu.errors import AnswerError
from whygpu.explain.interview import _finds_anew
from whygpu.explain.rerun import choice, rerun, rerun_or_none
from whygpu.explain.trials import REACH, trials
from whygpu.plans.ways import Ways

if TYPE_CHECKING:
    from whygpu import KnowledgeBase
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.interview import Interview
    from whygpu.knowledge.questions import Question

pytestmark = pytest.mark.slow

SERVING: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}
TUNING: dict[str, Any] = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora"}
NOTHING_LEFT: dict[str, Any] = {**SERVING, "budget_per_hour": 0.01}


def test_what_the_work_is_comes_first(kb: KnowledgeBase) -> None:
    first = kb.next_question({})
    assert first is not None
    assert (first.id, first.assumed) == ("phase", "inference")
    second = kb.next_question({"phase": "inference"})
    assert second is not None
    assert second.id == "model"


def test_a_question_says_why_it_is_asked(kb: KnowledgeBase) -> None:
    asked = kb.next_question(SERVING)
    assert asked is not None
    assert asked.witness is not None
    before = choice(kb.consult(SERVING, engine="evaluator"))
    assert choice(kb.consult({**SERVING, asked.id: asked.witness.value}, engine="evaluator")) != before
    assert asked.contenders
    if asked.assumed is not None:
        assert asked.because


CAMERAS: dict[str, Any] = {"phase": "inference", "model": "yolo11m", "streams": 8}
JOB: dict[str, Any] = {"phase": "training", "model": "resnet-50", "dataset_samples": 1e6}


@pytest.mark.parametrize("answers", [TUNING, CAMERAS, JOB])
def test_what_tells_on_the_best_few_tells_on_all(answers: dict[str, Any], kb: KnowledgeBase) -> None:
    """Answers are tried on the best few accelerators first; a consultation of its own looks at all."""
    asked = kb.next_question(answers)
    assert asked is not None
    assert asked.witness is not None
    assert asked.witness.changes
    before, after = (choice(kb.consult(answers | more, engine="evaluator")) for more in ({}, {asked.id: asked.telling}))
    assert after == asked.witness.identity != before


def test_what_decides_most_often_is_tried_first(kb: KnowledgeBase) -> None:
    first, last = "requests_per_second", "hours_per_day"
    shares = {first: 0.9, last: 0.1}
    for swapped in (False, True):
        found = dict(zip(shares, reversed(shares.values()), strict=True)) if swapped else shares
        questions = [replace(item, decides=found.get(item.id, 0.0)) for item in kb.knowledge.questions]
        other = whygpu.KnowledgeBase(replace(kb.knowledge, questions=tuple(questions)))
        order = [item.id for item in other.interview(SERVING).candidates]
        assert sorted(order[:2]) == sorted(shares)
        assert order[0] == (last if swapped else first)


def test_the_topic_of_what_was_said_last_goes_on(kb: KnowledgeBase) -> None:
    """It was that of the answer that is last in the alphabet."""
    questions = {item.id: replace(item, decides=0.5) for item in kb.knowledge.questions}
    alike = whygpu.KnowledgeBase(replace(kb.knowledge, questions=tuple(questions.values())))
    said: dict[str, object] = {"requests_per_second": 2, "budget_per_hour": 20, "deployment": None}
    for last, value in said.items():
        answers = {**SERVING, **{key: other for key, other in said.items() if key != last}, last: value}
        asked = alike.interview(answers).candidates[0]
        assert asked.topic == questions[last].topic


def test_what_is_left_to_the_assumption_is_not_asked_again(kb: KnowledgeBase) -> None:
    asked = kb.next_question(SERVING)
    assert asked is not None
    other = kb.next_question({**SERVING, asked.id: None})
    assert other is None or other.id != asked.id


def test_what_was_chosen_from_the_list_is_not_left_to_the_rules(kb: KnowledgeBase) -> None:
    """The number format usually is, so that it is asked last; not of those who ticked it."""
    work = {"phase": "inference", "model": "llama-3.1-8b"}
    left = {item.id: None for item in kb.interview(work).choosable if item.id not in ("format", "budget_per_hour")}
    one, other = kb.next_question({**work, **left}), kb.next_question({**left, **work})
    assert one is not None
    assert other is not None
    assert (one.id, other.id) == ("budget_per_hour", "format")


def test_the_model_answers_for_its_task(kb: KnowledgeBase) -> None:
    assert "task" not in {item.id for item in kb.interview(SERVING).candidates}
    assert "task" in {item.id for item in kb.interview({"phase": "inference"}).candidates}


def test_how_much_is_read_is_asked_though_the_model_says_what_is_usual(kb: KnowledgeBase) -> None:
    """Four times the twenty tokens per parameter made three machines of one, and nobody was asked."""
    answers = {"phase": "training", "model": "llama-3.1-8b"}
    assert "dataset_tokens" in {item.id for item in kb.interview(answers).candidates}
    short = {"phase": "training", "model": "gpt2"}
    assert "sequence_tokens" in {item.id for item in kb.interview(short).candidates}


@pytest.mark.parametrize("answers", [SERVING, TUNING, {"phase": "training", "model": "llama-3.1-8b"}])
def test_all_that_applies_is_asked_but_the_task_of_the_model(answers: dict[str, Any], kb: KnowledgeBase) -> None:
    interview = kb.interview(answers)
    applicable = {item.id for item in interview.consultation.applied.applicable}
    assert applicable - {*answers, *(item.id for item in interview.candidates)} == {"task"}


def test_the_interview_ends(kb: KnowledgeBase) -> None:
    answers: dict[str, Any] = {**SERVING, "accelerators": ["l4"], "format": "int8", "count": 1}
    for _ in kb.knowledge.questions:
        asked = kb.next_question(answers)
        if asked is None:
            break
        answers[asked.id] = None
    assert kb.next_question(answers) is None


def test_numbers_are_tried_on_both_sides_of_what_rules_compare_with(kb: KnowledgeBase) -> None:
    consultation = kb.consult(SERVING, engine="evaluator")
    tried = trials(consultation, kb.knowledge.name_by_answer["budget_per_hour"], None)
    plan = kb.advise(SERVING, engine="evaluator").recommendation
    assert plan is not None
    assert plan.cost is not None
    assert any(isinstance(value, float) and value < plan.cost.compared.usd_per_hour for value in tried)


def _values(interview: Interview, kb: KnowledgeBase, question: Question, draw: random.Random) -> list[Any]:
    """Answers within reach of what is assumed, other ones than those that were tried."""
    spec = kb.knowledge.vocabulary[question.name]
    if spec.kind in ("choice", "flag"):
        return list(spec.words) if spec.kind == "choice" else [True, False]
    assumed = {item.question.id: item.value for item in interview.consultation.applied.assumed}
    now = assumed.get(question.id)
    if not isinstance(now, float):
        return []
    found = [now * REACH ** draw.uniform(-1, 1) for _ in range(4)]
    return [max(round(item), 1) if spec.integer else item for item in found]


@pytest.mark.parametrize(
    "answers",
    [SERVING, pytest.param(TUNING, marks=pytest.mark.slow), pytest.param(NOTHING_LEFT, marks=pytest.mark.slow)],
)
def test_what_is_reported_irrelevant_never_changes_the_recommendation(
    answers: dict[str, Any], kb: KnowledgeBase
) -> None:
    """By consultations that take nothing from that of the interview."""
    interview = kb.interview(answers)
    before = choice(interview.consultation)
    irrelevant = interview.irrelevant()
    assert irrelevant
    draw = random.Random(15)
    for question in irrelevant:
        for value in _values(interview, kb, question, draw):
            try:
                after = choice(kb.consult({**answers, question.id: value}, engine="evaluator"))
            except AnswerError:
                continue
            assert after == before, (question.id, value)


HOPELESS: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-70b", "deployment": "edge", "power_watts": 40}


def test_where_nothing_is_possible_few_answers_are_tried(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def counted(*of: Any) -> Any:
        tried.append(of[1])
        return rerun_or_none(*of)

    monkeypatch.setattr("whygpu.explain.interview.rerun_or_none", counted)
    interview = kb.interview(HOPELESS)
    assert interview.next() is None
    assert 20 < len(tried) <= 40
    numbers = [item for item in interview.candidates if kb.knowledge.vocabulary[item.name].kind == "number"]
    assert numbers
    assert all(len(interview.worth_trying(item)) <= 2 for item in numbers)


def test_where_less_is_possible_it_is_asked_for(kb: KnowledgeBase) -> None:
    """Eight times as much data would be tried first where a plan is recommended."""
    asked = kb.next_question({"phase": "training", "model": "llama-3.2-1b", "budget_total": 100})
    assert asked is not None
    assert (asked.id, asked.assumed is not None) == ("dataset_tokens", True)
    assert isinstance(asked.telling, float)
    assert isinstance(asked.assumed, float)
    assert asked.telling < asked.assumed


@pytest.mark.parametrize("answers", [SERVING, TUNING, NOTHING_LEFT])
def test_an_answer_does_what_a_consultation_of_its_own_says(answers: dict[str, Any], kb: KnowledgeBase) -> None:
    interview, draw = kb.interview(answers), random.Random(3)
    before = choice(interview.consultation)
    few = [question for question in interview.candidates if len(interview.worth_trying(question)) < 6]
    for question in draw.sample(few, 6):
        for effect in interview.effects(question):
            after = choice(kb.consult({**answers, question.id: effect.value}, engine="evaluator"))
            assert (effect.identity, effect.changes) == (after, after != before), (question.id, effect.value)


@pytest.mark.parametrize("model", ["stable-diffusion-xl"])  # a detector computes on its own size
def test_images_are_asked_for_as_they_are_answered(model: str, kb: KnowledgeBase) -> None:
    interview = kb.interview({"phase": "inference", "model": model})
    question = next(item for item in interview.candidates if item.id == "resolution")
    tried = interview.worth_trying(question)
    effects = interview.effects(question)
    assert [item.value for item in effects] == list(tried)
    assert any(item.changes for item in effects)
    side = kb.knowledge.catalogue.models[model].data["image_size"]
    assert tried[0] == f"{2 * side}x{2 * side}"


LARGE: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-405b", "concurrency": 8}


@pytest.mark.parametrize("answers", [SERVING, LARGE, TUNING])
def test_a_limit_matters_where_the_recommendation_just_misses_it(answers: dict[str, Any], kb: KnowledgeBase) -> None:
    """What is assumed of the number of accelerators refuses nothing, so that more of them, or fewer that are enough,
    change nothing.
    """
    interview = kb.interview(answers)
    before = choice(interview.consultation)
    assert before is not None
    count = before[1]
    question = next(item for item in interview.candidates if item.id == "max_count")
    assert interview.worth_trying(question) == ((count - 1.0,) if count > 1 else ())
    for value in (count, 2 * count, 40, 500):
        assert choice(rerun(interview.consultation, {"max_count": float(value)})) == before
    assert all(item.changes for item in interview.effects(question))


def test_a_larger_limit_matters_where_plans_are_beyond_the_assumed_one(kb: KnowledgeBase) -> None:
    answers = {"phase": "training", "model": "llama-3.1-70b", "dataset_tokens": 1e12}
    interview = kb.interview(answers)
    question = next(item for item in interview.candidates if item.id == "max_count")
    assert max(value for value in interview.worth_trying(question) if isinstance(value, float)) > 64


def test_plans_are_others_by_how_they_run_not_by_their_numbers(kb: whygpu.KnowledgeBase) -> None:
    """The numbers of ways depend on what was asked before; whether they are the same decides what is tried later."""
    before = kb.consult({"model": "llama-3.1-8b", "concurrency": 8}, engine="evaluator")
    plan_set = before.plans.plan_set
    ways = plan_set.configurations

    def after(configurations: Any, configuration: Any) -> Consultation:
        changed = replace(plan_set, configurations=Ways(configurations), configuration=configuration)
        return replace(before, plans=replace(before.plans, plan_set=changed))

    assert not _finds_anew(before, after(reversed(ways), len(ways) - 1 - plan_set.configuration))
    other = replace(ways[0], setup=replace(ways[0].setup, concurrency=9))
    assert _finds_anew(before, after((other, *ways[1:]), plan_set.configuration))
