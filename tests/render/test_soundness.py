"""What explanations say, tried: fixes fix, flips flip, what decides decides, and figures are those of the trace."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whygpu
from tests.render.cases import CASES, CHAT, TODAY
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.driver import consult
from whygpu.explain.deciding import Deciding
from whygpu.explain.flips import doubled, limit_flips, price_flips, search
from whygpu.explain.proof import arithmetic, prove
from whygpu.explain.repairs import repairs
from whygpu.explain.rerun import LOADS, choice, rerun
from whygpu.explain.rows import Rows
from whygpu.knowledge.rules import Condition, Verdict
from whygpu.plans.rank import rank
from whygpu.render import decision
from whygpu.render.view import view_of

if TYPE_CHECKING:
    from whygpu.consult.consultation import Consultation

pytestmark = pytest.mark.slow

WORKS = ("chat", "watch-cameras", "train-7b")
CARDS = ("RTX 4090", "2x L40S int8", "T4", "H200", "1x L4 in fp16", "Gaudi 3", "8x MI300X bf16")


@pytest.mark.parametrize("name", WORKS)
@pytest.mark.parametrize("asked", CARDS)
def test_a_why_nots_fix_lifts_the_first_failure(advised: dict[str, whygpu.Advice], name: str, asked: str) -> None:
    advice = advised[name]
    for item in advice.why_not(asked):
        assert item.engine == "evaluator"
        assert item.rejected or item.behind is not None or item.factors or item.plan.rank == 1 or item.left_out
        if not item.fix:
            continue
        changes = dict(item.fix)
        plan = item.plan
        text = f"{plan.count}x {plan.accelerator.id} {plan.format}"
        (after,) = [
            other
            for other in advice.what_if(**changes).advice.why_not(text)
            if other.plan.accelerator.id == plan.accelerator.id
        ]
        assert item.rejected[0].rule not in {reason.rule for reason in after.rejected}


@pytest.mark.parametrize("name", ["chat", "watch-cameras"])
def test_a_plan_wins_below_the_price_that_is_named(advised: dict[str, whygpu.Advice], name: str) -> None:
    consultation = advised[name].consultation
    found = price_flips(consultation)
    assert found
    best = Rows(consultation).heads[0]
    assert any(item.plan.index == best for item in found)
    for item in found:
        up = item.after > item.before
        beyond, short = (item.after * (1.01 if up == outside else 0.99) for outside in (True, False))
        assert _card(consultation, _first_at(consultation, item.plan.index, beyond)) == _card(
            consultation, item.winner.index
        )
        assert _card(consultation, _first_at(consultation, item.plan.index, short)) == _card(consultation, best)


def _card(consultation: Consultation, row: int) -> int:
    return int(consultation.plans.plan_set.card[row])


def _first_at(consultation: Consultation, row: int, price: float) -> int:
    """Which plan comes first where one plan's hour costs so much, and all plans on its card change with it."""
    ranking, costs, field = consultation.plans.ranking, consultation.plans.costs, consultation.plans.plan_set
    assert ranking is not None
    assert costs is not None
    assert field is not None
    counted = ranking.counted
    values, scale = counted.values.copy(), price / costs.hourly[row]
    for other in np.flatnonzero((field.card == field.card[row]) & (field.owned == field.owned[row])).tolist():
        hourly = scale * costs.hourly[other] + counted.money.handling[other]
        values[other] = hourly * counted.money.hours[other] * counted.product(other)
    order = rank(consultation.plans.alive, consultation.plans.unverified, replace(counted, values=values), 0.0).order
    return order[0]


@pytest.mark.parametrize("name", ["chat", "serve-llama-70b", "train-7b"])
def test_a_limit_flips_at_the_value_that_is_named(advised: dict[str, whygpu.Advice], name: str) -> None:
    consultation = advised[name].consultation
    for item in limit_flips(consultation):
        assert choice(rerun(consultation, {item.answer: item.after})) != choice(consultation)
        assert choice(rerun(consultation, {item.answer: item.unchanged})) == choice(consultation)


def test_flips_flip_and_just_short_of_them_nothing_changes(kb: whygpu.KnowledgeBase) -> None:
    answers = {**CHAT, "accelerators": ["L4", "L40S", "A100 80GB"], "max_nodes": 1}
    consultation = kb.advise(answers, engine="evaluator", today=TODAY).consultation
    before, found = choice(consultation), search(consultation)
    assert found.found
    assert [item.near for item in found.found] == sorted(item.near for item in found.found)
    for item in found.found:
        assert choice(rerun(consultation, {item.answer: item.after})) != before
        if item.unchanged is not None and item.unchanged != item.before:
            assert choice(rerun(consultation, {item.answer: item.unchanged})) == before
    assert not {item.answer for item in found.found} & set(found.idle)


@settings(max_examples=12, deadline=None)
@given(concurrency=st.integers(1, 64), context=st.sampled_from([1024, 4096, 16384]), forbid=st.booleans())
def test_what_if_is_a_fresh_run(kb: whygpu.KnowledgeBase, concurrency: int, context: int, forbid: bool) -> None:
    changes: dict[str, Any] = {"concurrency": concurrency, "context_tokens": context}
    if forbid:
        changes["quantization"] = "forbidden"
    advice = kb.advise(CHAT, engine="evaluator", today=TODAY)
    fresh = kb.advise({**CHAT, **changes}, engine="evaluator", today=TODAY)
    assert advice.what_if(**changes).advice.to_dict() == fresh.to_dict()


def test_what_if_says_which_engine_ran_and_judges_on_the_same_day(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise(CHAT, engine="durable", today=TODAY)
    after = advice.what_if(concurrency=8).advice
    assert (advice.engine, after.engine) == ("durable", "evaluator")
    assert after.consultation.today == TODAY


@pytest.mark.parametrize("name", [*WORKS, "serve-llama-70b", "fine-tune-8b"])
def test_what_is_said_to_decide_does(kb: whygpu.KnowledgeBase, advised: dict[str, whygpu.Advice], name: str) -> None:
    """Against a consultation of a knowledge base in which the rule has no verdicts."""
    advice = advised[name]
    rows = advice.maker.rows
    found = Deciding(advice.consultation, rows).weights(rows.heads[1:4])
    assert [item.decides for item in found] == sorted((item.decides for item in found), reverse=True)
    tried = [item for item in found if len([e for e in item.rule.effects if isinstance(e, Verdict)]) == 1]
    assert tried
    for item in tried[:4]:
        assert item.worth > 1
        others = tuple(effect for effect in item.rule.effects if not isinstance(effect, Verdict))
        mute = replace(item.rule, effects=others)
        rules = tuple(mute if rule is item.rule else rule for rule in kb.knowledge.rules)
        knowledge = replace(kb.knowledge, rules=rules)
        after = consult(knowledge, advice.consultation.answers, EvaluatorChain(), TODAY)
        first = Rows(after).identity(after.plans.ranking.order[0])
        expected = rows.heads[0] if item.instead is None else item.instead
        assert first == rows.identity(expected), item.rule.id


@pytest.mark.parametrize("name", WORKS)
def test_fired_steps_conditions_hold(kb: whygpu.KnowledgeBase, advised: dict[str, whygpu.Advice], name: str) -> None:
    seen = 0
    for step in advised[name].trace.steps:
        if step.rule is None or step.status != "fired":
            continue
        rule = kb.knowledge.rule_by_id[step.rule]
        results = {item.text: item.result for item in step.conditions}
        for condition in rule.when.parts:
            if isinstance(condition, Condition):
                seen += 1
                assert results[condition.text] == "true"
        for condition in rule.unless.parts:
            if isinstance(condition, Condition):
                assert results[f"unless {condition.text}"] == "false"
    assert seen > 20


@pytest.mark.parametrize("name", ["chat", "train-7b"])
def test_arithmetic_shows_every_number_that_is_put_in(advised: dict[str, whygpu.Advice], name: str) -> None:
    advice = advised[name]
    proof = prove(advice, "plan.total_gib", depth=4)
    assert proof.fact is not None
    assert proof.step is not None
    assert "GiB" in arithmetic(proof.step)
    worked = [arithmetic(step) for step in advice.trace.steps if step.kind == "check" and step.terms]
    assert worked
    assert not [text for text in worked if "_" in text.replace("min over", "")]  # no name is left without its number


@pytest.mark.parametrize(("name", "figure"), [("chat", "token_ms"), ("train-7b", "train_hours")])
def test_a_figure_of_the_plan_has_its_arithmetic_by_either_name(
    advised: dict[str, whygpu.Advice], name: str, figure: str
) -> None:
    by_itself, of_plan = (prove(advised[name], word).step for word in (figure, f"plan.{figure}"))
    assert by_itself is not None
    assert by_itself is of_plan
    assert " = " in arithmetic(by_itself)


def test_a_proof_ends_in_answers_and_sources(advised: dict[str, whygpu.Advice]) -> None:
    advice = advised["chat"]
    shallow, deep = (prove(advice, "plan.total_gib", depth=depth) for depth in (1, 5))
    assert len(shallow.rests_on) == len(deep.rests_on)
    assert not any(item.rests_on for item in shallow.rests_on)
    with pytest.raises(whygpu.AnswerError, match="nothing in the trace"):
        prove(advice, "plan.totl_gib")


@pytest.mark.parametrize(("name", "card"), [("chat", "l40s"), ("watch-cameras", "l4")])
def test_a_card_that_lost_wins_at_the_load_that_is_named(
    advised: dict[str, whygpu.Advice], name: str, card: str
) -> None:
    advice = advised[name]
    found = advice.would_win(card)
    for item in found:
        after, short = (advice.what_if(**{item.answer: value}).advice for value in (item.after, item.unchanged))
        assert after.recommendation is not None
        assert after.recommendation.accelerator.id == card
        assert short.recommendation is None or short.recommendation.accelerator.id != card
    assert found or name != "chat"
    best = advice.recommendation
    assert best is not None
    assert advice.would_win(best.accelerator.id) == ()


def test_a_load_at_which_a_card_wins_is_found_though_another_wins_first(kb: whygpu.KnowledgeBase) -> None:
    """Just above the load that the few cards next to it name a card beyond them is better still."""
    asked = {"phase": "inference", "model": "llama-3.1-8b"}
    card = "a100-sxm-80gb"
    best = kb.advise({**asked, "concurrency": 64}, engine="evaluator", today=TODAY).recommendation
    assert best is not None
    assert best.accelerator.id == card, "another card is best for 64 requests: ask for it"
    few = kb.advise({**asked, "concurrency": 8}, engine="evaluator", today=TODAY)
    assert "concurrency" in {item.answer for item in few.would_win(card)}


@pytest.mark.parametrize("name", ["chat", "serve-llama-70b"])
def test_twice_the_load_changes_what_is_said_to_change(advised: dict[str, whygpu.Advice], name: str) -> None:
    consultation = advised[name].consultation
    found = {item.answer for item in doubled(consultation)}
    assert found or name == "chat"
    for key in LOADS:
        value = consultation.session.number(key)
        if value:
            moved = choice(rerun(consultation, {key: 2 * value})) != choice(consultation)
            assert moved == (key in found)


CAMERAS: dict[str, Any] = {
    "model": "yolo11m",
    "streams": 200,
    "frames_per_second": 25,
    "accelerators": ["l4"],
    "count": 1,
}
LARGE_IN_FP16: dict[str, Any] = {"model": "llama-3.3-70b", "accelerators": ["t4"], "count": 1, "format": "fp16"}


@pytest.mark.parametrize(
    ("answers", "keys"),
    [(CAMERAS, {"streams", "count"}), (LARGE_IN_FP16, {"accelerators", "count"})],
    ids=["cameras", "large"],
)
def test_a_repair_says_what_to_do_with_its_number(
    kb: whygpu.KnowledgeBase, answers: dict[str, Any], keys: set[str]
) -> None:
    consultation = kb.advise(answers, engine="evaluator", today=TODAY).consultation
    found = repairs(consultation)
    assert {key for item in found for key in item.changes} <= {*answers, "deployment", "runtime"}
    assert keys & {key for item in found for key in item.changes}
    for item in found:
        assert None not in item.changes.values()
        after = rerun(consultation, item.changes)
        assert choice(after) is not None
        if "streams" in item.changes:  # as many as can be, within the hair that the search leaves
            more = rerun(consultation, {"streams": round(item.changes["streams"] * 1.1) + 1})
            assert choice(more) is None


@pytest.mark.parametrize("name", ["budget-too-small", "nothing-fast-enough"])
def test_repairs_are_complete_and_ordered_by_what_they_cost(advised: dict[str, whygpu.Advice], name: str) -> None:
    advice = advised[name]
    found = repairs(advice.consultation)
    assert 1 <= len(found) <= 3
    costs = [item.plan.cost for item in found]
    prices = [(cost.basis == "buying", cost.compared.usd_per_hour) for cost in costs if cost is not None]
    assert prices == sorted(prices), "what is rented before what is bought, then by price"
    for item in found:
        after = advice.what_if(**item.changes).advice
        assert after.recommendation is not None
        assert after.recommendation.id == item.plan.id


@pytest.mark.parametrize("limit", [{"budget_per_hour": 1}, {"latency_ms": 50}])
def test_repairs_name_what_is_recommended_without_the_limit(kb: whygpu.KnowledgeBase, limit: dict[str, Any]) -> None:
    """Sixteen gaming cards just keep to a budget; whoever can pay more wants to know what for."""
    answers = {"phase": "inference", "model": "llama-3.1-405b"}
    usual = kb.advise(answers, engine="evaluator", today=TODAY).recommendation
    found = repairs(kb.advise({**answers, **limit}, engine="evaluator", today=TODAY).consultation)
    assert usual is not None
    assert usual.id in [item.plan.id for item in found]
    assert len(found) > 1


@pytest.mark.parametrize("name", ["serve-llama-70b", "chat", "train-7b"])
def test_a_disagreement_touches_a_plan_shown_and_names_both_sides(
    kb: whygpu.KnowledgeBase, advised: dict[str, whygpu.Advice], name: str
) -> None:
    advice = advised[name]
    fired, claims = advice.consultation.plans.fired, kb.knowledge.claims
    rows = [pick.plan.index for pick in advice.shortlist]
    found = view_of(advice).disagreements
    assert found
    for item in found:
        assert "Decided: " in item.text
        for evidence in item.evidence:
            assert any(fired[str(evidence.rule)][row] for row in rows)
        told = {claims[claim].document for evidence in item.evidence for claim in evidence.claims if claim in claims}
        assert len(told) > 1 or len(item.evidence) > 1


def test_an_unknown_card_says_which_names_are_near(advised: dict[str, whygpu.Advice]) -> None:
    with pytest.raises(whygpu.AnswerError, match="RTX 4090"):
        advised["chat"].why_not("RTX 409")


def test_a_card_that_the_answers_leave_out_is_judged_all_the_same(advised: dict[str, whygpu.Advice]) -> None:
    (found,) = advised["cards-named"].why_not("RTX 3060 12GB")
    assert found.left_out == ("accelerators",)
    assert not found.enumerated


def test_a_record_that_nobody_touched_is_identical(kb: whygpu.KnowledgeBase, advised: dict[str, whygpu.Advice]) -> None:
    advice = advised["chat"]
    old = json.loads(json.dumps(decision.record(advice, view_of(advice))))
    again = kb.advise(decision.checked(old, "r")["answers"], engine="evaluator", today=TODAY)
    new = decision.record(again, view_of(again))
    assert decision.changes(old, new) == []
    assert decision.holds(old, new)
    other = kb.advise({**CHAT, "concurrency": 400}, engine="evaluator", today=TODAY)
    found = decision.changes(old, decision.record(other, view_of(other)))
    assert "answers.concurrency" in {where for where, _, _ in found}


@pytest.mark.parametrize(
    "data", [None, [], {}, {"kind": decision.KIND, "schema": 99}, {"kind": decision.KIND, "schema": 1}]
)
def test_what_is_no_record_says_so(data: object) -> None:
    with pytest.raises(whygpu.AnswerError):
        decision.checked(data, "record.json")


def test_cases_are_enough() -> None:
    assert len(CASES) >= 12
