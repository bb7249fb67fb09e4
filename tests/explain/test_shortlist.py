"""The shortlist by role: who qualifies, what is told of each, and when there is nothing sensible to list."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import whygpu
from tests.effort import one_in
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.consultation import Consultation
from whygpu.consult.driver import consult
from whygpu.explain.advice import Advice
from whygpu.explain.parts import Pick
from whygpu.explain.plan import Plan
from whygpu.explain.shortlist import MOST, answer_ms
from whygpu.knowledge.preferences import ROLES, RoleId
from whygpu.quantity import parse_number

CHAT: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8, "context_tokens": 4096}
LARGE: dict[str, Any] = {"phase": "inference", "model": "llama-3.3-70b", "concurrency": 16}
JOB: dict[str, Any] = {"phase": "fine-tuning", "method": "lora", "model": "llama-3.1-8b", "dataset_tokens": 1e8}
DESK: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "deployment": "workstation"}
OWNED: dict[str, Any] = {**CHAT, "priority": "latency", "owned": [{"accelerator": "rtx-3060-12gb", "count": 1}]}
GIANT: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-405b", "concurrency": 16, "service_months": 36}
WORK = {"chat": CHAT, "large": LARGE, "job": JOB, "desk": DESK, "owned": OWNED, "giant": GIANT}


def advise(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> whygpu.Advice:
    return kb.advise(answers, engine="evaluator")


def consultation(advice: whygpu.Advice) -> Consultation:
    found: Consultation = advice.consultation
    return found


@pytest.mark.parametrize("answers", WORK.values(), ids=WORK.keys())
def test_no_plan_is_listed_twice_and_no_more_than_six(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> None:
    found = advise(kb, answers).shortlist
    assert found[0].role == "recommended"
    assert len({pick.plan.id for pick in found}) == len(found) <= MOST
    assert [ROLES.index(pick.role) for pick in found] == sorted(ROLES.index(pick.role) for pick in found)


@pytest.mark.slow
def test_each_role_has_somebody_somewhere(kb: whygpu.KnowledgeBase) -> None:
    """Else the tests of what qualifies test nothing. What an earlier role shows is dropped, so each is asked alone."""
    for role in ROLES[1:]:
        assert any(role in {pick.role for pick in alone(kb, answers, role)} for answers in WORK.values()), role


def alone(kb: whygpu.KnowledgeBase, answers: dict[str, Any], role: RoleId) -> tuple[Pick, ...]:
    """The shortlist with one role beside the recommendation."""
    prices = kb.knowledge.preferences
    roles = tuple(item for item in prices.roles if item.id in ("recommended", role))
    knowledge = replace(kb.knowledge, preferences=replace(prices, roles=roles))
    return Advice(consult(knowledge, kb.check(answers), EvaluatorChain())).shortlist


def _cost(plan: Plan) -> float:
    return math.inf if plan.cost is None or plan.cost.objective is None else plan.cost.objective


def _time(plan: Plan) -> float:
    figures = (plan.speed.get(name) for name in ("token_ms", "ttft_ms", "train_hours"))
    return next((found.likely for found in figures if found is not None), math.inf)


def _room(plan: Plan) -> float:
    return plan.memory.high_gib / (plan.memory.usable_gib or 1)


BEST: dict[str, Callable[[Plan], float]] = {"cheapest": _cost, "fastest": _time, "fewest": lambda plan: plan.count}


@pytest.mark.parametrize("answers", one_in(4, WORK.values(), WORK))
def test_who_has_a_role_is_the_best_at_it_of_what_may_be_listed(
    kb: whygpu.KnowledgeBase, answers: dict[str, Any]
) -> None:
    """Within a tenth of every other plan of the list: each of those could have had the role."""
    picks = {pick.role: pick.plan for role in ROLES[1:] for pick in alone(kb, answers, role)}
    for role, figure in BEST.items():
        if role in picks:
            assert figure(picks[role]) <= 1.1 * min(figure(plan) for plan in picks.values()) + 1e-9
    if "room-to-grow" in picks:
        assert _room(picks["room-to-grow"]) <= 0.1
    best = picks["recommended"]
    if "owned" in picks:
        assert picks["owned"].owned
    if "other-vendor" in picks:
        assert picks["other-vendor"].accelerator.vendor != best.accelerator.vendor
    if "to-buy" in picks:
        cost = picks["to-buy"].cost
        assert cost is not None
        assert cost.buying is not None
        assert cost.buying.usd_per_hour < (cost.usd_per_hour or 0)


def test_the_easiest_to_get_is_offered_by_the_most(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, LARGE)
    plans = consultation(advice).plans
    assert plans is not None
    picks = {pick.role: pick.plan for pick in advice.shortlist}
    providers = {role: plans.environment.at("plan.providers", plan.index).low for role, plan in picks.items()}  # type: ignore[union-attr]
    assert providers["easiest-to-get"] >= max(providers.values()) / 1.1


@pytest.mark.parametrize("answers", WORK.values(), ids=WORK.keys())
def test_nothing_is_listed_that_nobody_would_take(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> None:
    """Verified, priced where the recommendation is, within a multiple of its price, and no strong objection."""
    advice = advise(kb, answers)
    found = consultation(advice)
    best, strong = advice.shortlist[0].plan, kb.knowledge.preferences.worth("strong")
    assert best.counted is not None
    for pick in advice.shortlist[1:]:
        assert pick.plan.counted is not None
        assert pick.plan.counted.value <= kb.knowledge.preferences.shortlist_at_most * best.counted.value
        assert not pick.plan.unverified
        for criterion, against in found.plans.tally.against.items():
            favour, factor = found.plans.tally.favour[criterion], found.plans.tally.factor(criterion)
            objection = against[pick.plan.index] >= strong and favour[pick.plan.index] < strong
            assert not objection or factor[pick.plan.index] <= factor[best.index] * 1.05


@pytest.mark.parametrize("answers", WORK.values(), ids=WORK.keys())
def test_gains_and_what_is_given_up_are_true(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> None:
    """The figures in the sentences are those of the plans, on the right side."""
    advice = advise(kb, answers)
    picks, tokens = advice.shortlist, consultation(advice).plans.work.setup.output_tokens
    best = picks[0].plan

    def time(plan: Plan) -> float:
        """In ms, or hours for a job: of a whole answer where tokens are written, as the fastest is found by."""
        job, whole = plan.speed.get("train_hours"), answer_ms(plan, tokens)
        return _time(plan) if job is not None or whole is None else whole

    assert (picks[0].gains, picks[0].gives_up) == ("", "")
    for pick in picks[1:]:
        told = {True: pick.gains, False: pick.gives_up}
        assert pick.gains or pick.gives_up
        for figure, text in (
            (_cost, r"\$([0-9.,]+)\S* instead of \$([0-9.,]+)"),
            (time, r"(?:in) ([0-9.,]+ \S+) instead of ([0-9.,]+ \w+)"),
        ):
            mine, theirs = figure(pick.plan), figure(best)
            better = told[mine < theirs]
            assert not re.search(text, told[mine >= theirs])
            match = re.search(text, better)
            assert (match is not None) == (abs(mine - theirs) > 0.05 * theirs)
            if match is not None:
                unit = None if figure is _cost else "hours" if pick.plan.speed.get("train_hours") else "ms"
                shown = [parse_number(number, unit) for number in match.groups()]
                assert shown == pytest.approx([mine, theirs], rel=0.03, abs=0.006)
        fewer = re.search(r"(\d+) accelerators? instead of (\d+)", told[pick.plan.count < best.count])
        assert (fewer is not None) == (pick.plan.count != best.count)
        if fewer is not None:
            assert [int(number) for number in fewer.groups()] == [pick.plan.count, best.count]
        free = re.search(r"(\d+)% of its memory free instead of (\d+)%", f"{pick.gains} {pick.gives_up}")
        if free is not None:
            usual = [100 * (1 - plan.memory.total_gib / (plan.memory.usable_gib or 1)) for plan in (pick.plan, best)]
            assert [int(number) for number in free.groups()] == pytest.approx(usual, abs=0.51)
            assert (free.group(0) in pick.gains) == (usual[0] > usual[1])


CROWD: dict[str, Any] = {
    "phase": "inference",
    "model": "llama-3.1-405b",
    "budget_per_hour": 4.5,
    "criticality": "production",
}


def test_what_has_only_strong_objections_is_no_recommendation(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, CROWD)
    found = consultation(advice)
    assert found.plans.alive.any()
    assert found.plans.objections
    assert advice.status == "infeasible"
    assert advice.shortlist == ()
    assert advice.infeasible is not None
    assert advice.infeasible.conflict == found.plans.objections
    assert advice.infeasible.least_bad is not None
    for rule in found.plans.objections:
        assert np.any(found.plans.fired[rule] & found.plans.alive)


def test_what_is_too_slow_and_too_frail_at_once_is_no_recommendation(kb: whygpu.KnowledgeBase) -> None:
    """A computer for a desk at half a second a token: others are left, and count as even more."""
    desk = {"phase": "inference", "model": "llama-3.1-70b", "concurrency": 16, "deployment": "on-prem"}
    advice = advise(kb, {**desk, "criticality": "production", "budget_total": 7500})
    assert advice.status == "infeasible"
    assert advice.infeasible is not None
    found = consultation(advice).plans
    least_bad = advice.infeasible.least_bad
    assert least_bad is not None
    strong = consultation(advice).knowledge.preferences.worth("strong")
    assert {name for name in ("latency", "reliability") if found.tally.objection(name, strong)[least_bad.index]} == {
        "latency",
        "reliability",
    }
    assert not all(found.tally.objection("latency", strong)[found.alive])
    assert set(advice.infeasible.conflict) >= {"desk-computers-are-no-servers", "slower-than-any-service"}


def test_who_names_the_cards_has_chosen(kb: whygpu.KnowledgeBase) -> None:
    left = consultation(advise(kb, CROWD))
    names = {left.plans.plan_set.cards.accelerators[card].id for card in left.plans.plan_set.card[left.plans.alive]}
    advice = advise(kb, {**CROWD, "accelerators": sorted(names)})
    assert advice.status in ("recommended", "tied")
    assert not consultation(advice).plans.objections


def test_what_is_owned_is_shown_however_little_speaks_for_it(kb: whygpu.KnowledgeBase) -> None:
    """Its hours on it are eighty times as many: who owns it asks for it all the same."""
    asked = {"phase": "fine-tuning", "model": "qwen3-8b", "algorithm": "grpo", "method": "lora"}
    found = advise(kb, {**asked, "dataset_samples": 2000, "sequence_tokens": 2048, "owned": "rtx-4090"}).shortlist
    assert [pick.role for pick in found][:2] == ["recommended", "owned"]


def test_beside_what_is_owned_rents_are_held_against_rents(kb: whygpu.KnowledgeBase) -> None:
    """The power of a notebook is no measure of a rent: what is rented need not cost less than four times that."""
    asked = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora", "sequence_tokens": 2048}
    found = advise(kb, {**asked, "dataset_tokens": 5e6, "owned": "M3 Max 64GB"}).shortlist
    picks = {pick.role: pick.plan for pick in found}
    best, fastest = picks["recommended"].counted, picks["fastest"].counted
    assert best is not None
    assert fastest is not None
    assert fastest.value > kb.knowledge.preferences.shortlist_at_most * best.value


def test_who_rents_it_out_is_nothing_to_one_who_buys(kb: whygpu.KnowledgeBase) -> None:
    asked = {**LARGE, "criticality": "production"}
    for place in ("cloud", "on-prem"):
        roles = [pick.role for pick in advise(kb, {**asked, "deployment": place}).shortlist]
        assert ("easiest-to-get" in roles) == (place == "cloud")


def test_owned_cards_that_draw_the_same_energy_are_all_taken(kb: whygpu.KnowledgeBase) -> None:
    """Eight take half the hours of four, and as much electricity; while they are set up they draw little."""
    asked = {"phase": "fine-tuning", "model": "mistral-7b", "method": "lora", "dataset_tokens": 2e7}
    best = advise(kb, {**asked, "owned": "8x V100 SXM2 32GB"}).recommendation
    assert best is not None
    assert best.count == 8


def test_the_fastest_reads_the_prompt_fast_too(kb: whygpu.KnowledgeBase) -> None:
    """A million tokens of prompt: what writes a token soonest begins minutes later."""
    asked = {"phase": "inference", "model": "nemotron-3-nano-30b-a3b", "concurrency": 4, "context_tokens": 1_000_000}
    found = advise(kb, {**asked, "output_tokens": 2000})
    fastest = next(pick.plan for pick in found.shortlist if pick.role == "fastest")
    best = found.recommendation
    assert best is not None
    answer_ms = []
    for plan in (fastest, best):
        first, token = plan.speed["ttft_ms"], plan.speed["token_ms"]
        assert first is not None
        assert token is not None
        answer_ms.append(first.likely + 2000 * token.likely)
    assert answer_ms[0] < answer_ms[1]
