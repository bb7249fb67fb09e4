"""Batch work is a job: its size, its hours and its cost, the deadline it meets, and how much it does at once."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

import whygpu
from tests.checks.formulas import value_of
from whygpu.plans.costs import watts_of

TODAY = date(2026, 11, 21)
JOB: dict[str, Any] = {
    "phase": "batch-inference",
    "model": "llama-3.1-8b",
    "format": "bf16",
    "context_tokens": 620,
    "output_tokens": 20,
    "accelerators": ["l40s"],
}
PICTURES: dict[str, Any] = {"phase": "batch-inference", "model": "resnet-50", "format": "bf16", "accelerators": ["l4"]}


def advise(kb: whygpu.KnowledgeBase, **answers: object) -> whygpu.Advice:
    return kb.advise(answers, engine="evaluator", today=TODAY)


def best(kb: whygpu.KnowledgeBase, **answers: object) -> whygpu.Plan:
    found = advise(kb, **answers).recommendation
    assert found is not None
    return found


def hours(plan: whygpu.Plan) -> float:
    band = plan.speed["train_hours"]
    assert band is not None
    assert band.low <= band.likely <= band.high
    return band.likely


def test_the_hours_are_the_requests_over_their_rate(kb: whygpu.KnowledgeBase) -> None:
    plan = best(kb, **JOB, dataset_samples=1_000_000)
    rate = plan.speed["requests_per_s"]
    assert rate is not None
    assert hours(plan) == pytest.approx(1_000_000 / rate.likely / 3600)


def test_tokens_of_the_data_set_are_those_read(kb: whygpu.KnowledgeBase) -> None:
    """600 of the 620 tokens of a request are read: 600 million are a million requests."""
    by_samples, by_tokens = best(kb, **JOB, dataset_samples=1e6), best(kb, **JOB, dataset_tokens=600e6)
    assert hours(by_tokens) == pytest.approx(hours(by_samples))


def test_longer_answers_take_longer(kb: whygpu.KnowledgeBase) -> None:
    lengths = ({"output_tokens": size, "context_tokens": 600 + size} for size in (20, 1000))
    short, long = (best(kb, **{**JOB, **length}, dataset_samples=1e6) for length in lengths)
    assert hours(long) > 2 * hours(short)


def test_the_job_costs_its_hours(kb: whygpu.KnowledgeBase) -> None:
    """runpod-64: the price of a job is the price per hour times its hours."""
    plan = best(kb, **JOB, dataset_samples=1e6)
    assert plan.cost is not None
    assert plan.cost.usd_total is not None
    assert plan.cost.usd_total == pytest.approx(plan.cost.usd_per_hour * hours(plan))
    assert plan.cost.objective == plan.cost.usd_total
    assert plan.cost.objective_unit == "USD"


@pytest.mark.parametrize(("answers", "samples"), [(JOB, 1e6), (PICTURES, 1e7)])
def test_the_hours_say_how_they_come_about(kb: whygpu.KnowledgeBase, answers: dict[str, Any], samples: float) -> None:
    estimate = kb.estimate_in_full({**answers, "dataset_samples": samples}, engine="evaluator", today=TODAY)
    calculation = next(item for item in estimate.speed if item.name == "train_hours")
    assert calculation.sources
    assert value_of(calculation) == pytest.approx(calculation.value) == hours(estimate.plan)
    assert estimate.plan.batch_size == best(kb, **answers, count=1).batch_size


def test_plans_grow_to_meet_the_deadline(kb: whygpu.KnowledgeBase) -> None:
    free, due = best(kb, **JOB, dataset_samples=1e7), best(kb, **JOB, dataset_samples=1e7, deadline_hours=6)
    assert hours(free) > 6
    assert hours(due) <= 6
    assert due.parallelism.data > free.parallelism.data
    roomy = 0.7 * 6  # workload.roomy_hours
    assert due.count <= free.count * -(-hours(free) // roomy)  # no more than it takes with time to spare


def test_a_deadline_that_holds_anyway_changes_nothing(kb: whygpu.KnowledgeBase) -> None:
    free = best(kb, **JOB, dataset_samples=1e6)
    due = best(kb, **JOB, dataset_samples=1e6, deadline_hours=2 * hours(free))
    assert (due.id, due.batch_size) == (free.id, free.batch_size)


def test_each_plan_fills_its_cards(kb: whygpu.KnowledgeBase) -> None:
    """runpod-22: what can be batched uses a bigger accelerator efficiently."""
    writing = {**JOB, "context_tokens": 4096, "output_tokens": 3072}
    small, large = (best(kb, **{**writing, "accelerators": [card]}) for card in ("l4", "h200-sxm"))
    assert small.batch_size is not None
    assert large.batch_size is not None
    assert small.batch_size / small.count < 32 < large.batch_size / large.count
    assert large.batch_size <= 256
    assert (small.memory.verdict, large.memory.verdict) == ("fits", "fits")
    assert best(kb, **JOB, concurrency=8).batch_size == 8


def test_pictures_fill_the_card_as_far_as_it_helps(kb: whygpu.KnowledgeBase) -> None:
    one, many = best(kb, **PICTURES, batch_size=1), best(kb, **PICTURES)
    assert one.batch_size == 1
    assert many.batch_size is not None
    assert many.batch_size > 1
    alone, together = (plan.speed["samples_per_s"] for plan in (one, many))
    assert alone is not None
    assert together is not None
    assert together.likely > 2 * alone.likely


def test_wider_shards_stand_beside_where_they_do_more_by_the_card(kb: whygpu.KnowledgeBase) -> None:
    """Two 80 GB cards hold 70B in 16 bits and little else: on four, many more requests share a pass."""
    model = {**JOB, "model": "llama-3.1-70b", "output_tokens": 400, "accelerators": ["h100-sxm"]}
    plan = best(kb, **model, dataset_samples=1e6)
    spreads = {one.parallelism.tensor: one for one in (plan, *plan.variants) if one.format == "bf16"}
    assert {2, 4} <= set(spreads)
    assert spreads[4].batch_size > 2 * spreads[2].batch_size  # type: ignore[operator]  # batch work has them
    assert hours(spreads[2]) > 2 * hours(spreads[4])


def test_a_budget_holds_for_the_job(kb: whygpu.KnowledgeBase) -> None:
    free = best(kb, **JOB, dataset_samples=1e8)
    assert free.cost is not None
    assert free.cost.usd_total is not None
    poor = advise(kb, **JOB, dataset_samples=1e8, budget_total=0.5 * free.cost.usd_total)
    assert poor.status == "infeasible"
    assert poor.infeasible is not None
    assert poor.infeasible.conflict == ("total-budget",)


def test_a_budget_holds_for_the_purchase(kb: whygpu.KnowledgeBase) -> None:
    """griddly-02: what is bought is paid once. Every plan that is left costs no more than the budget."""
    service = {"phase": "inference", "model": "llama-3.1-8b", "deployment": "workstation", "budget_total": 1500}
    advice = advise(kb, **service)
    assert advice.recommendation is not None
    for plan in (advice.recommendation, *advice.alternatives):
        assert plan.cost is not None
        assert plan.cost.buying is not None
        assert plan.cost.buying.usd_purchase <= 1500
        assert not plan.unverified
    assert any(reason.rule == "purchase-within-the-budget" for item in advice.rejected for reason in item.because)
    assert not any(item.id.startswith(("ignored", "unchecked")) for item in advice.warnings)


def test_a_budget_by_the_hour_holds_off_the_cloud(kb: whygpu.KnowledgeBase) -> None:
    service = {"phase": "inference", "model": "llama-3.1-8b", "deployment": "on-prem", "budget_per_hour": 0.2}
    advice = advise(kb, **service)
    assert advice.recommendation is not None
    for plan in (advice.recommendation, *advice.alternatives):
        assert plan.cost is not None
        assert plan.cost.compared.usd_per_hour <= 0.2
    assert not any(item.id.startswith("ignored") for item in advice.warnings)


@pytest.mark.parametrize(
    ("limit", "rule"), [({"budget_total": 1}, "total-budget"), ({"deadline_hours": 1}, "deadline-must-be-met")]
)
@pytest.mark.parametrize("phase", ["fine-tuning", "batch-inference"])
def test_a_limit_on_a_job_of_unknown_size_is_unverified(
    kb: whygpu.KnowledgeBase, phase: str, limit: dict[str, float], rule: str
) -> None:
    advice = advise(kb, phase=phase, model="llama-3.1-8b", **limit)
    assert advice.recommendation is not None
    assert advice.recommendation.unverified
    assert [item.rules for item in advice.warnings if item.id.startswith("unchecked")] == [(rule,)]
    sized = advise(kb, phase=phase, model="llama-3.1-8b", dataset_tokens=1e6, **limit)
    assert not any(item.id.startswith("unchecked") for item in sized.warnings)


def test_a_service_that_sleeps_costs_less_a_month(kb: whygpu.KnowledgeBase) -> None:
    """griddly-01: inference runs day and night, unless it is said not to."""
    service = {"phase": "inference", "model": "llama-3.1-8b", "accelerators": ["l40s"], "service_months": 24}
    always, office = best(kb, **service), best(kb, **service, hours_per_day=8)
    assert always.cost is not None
    assert office.cost is not None
    assert office.cost.usd_per_hour == always.cost.usd_per_hour
    assert office.cost.usd_per_month == pytest.approx(always.cost.usd_per_month / 3)
    assert always.cost.buying is not None
    assert office.cost.buying is not None
    power = office.cost.usd_power_per_hour
    assert power is not None
    spread = [buying.usd_per_hour - power for buying in (always.cost.buying, office.cost.buying)]
    assert spread[1] == pytest.approx(3 * spread[0])
    assert office.cost.buying.break_even_months == pytest.approx(3 * always.cost.buying.break_even_months)  # type: ignore[operator]  # known


def test_what_is_bought_and_sleeps_is_compared_by_its_hours_of_use(kb: whygpu.KnowledgeBase) -> None:
    service = {"phase": "inference", "model": "llama-3.1-8b", "deployment": "on-prem", "accelerators": ["l40s"]}
    always, office = best(kb, **service), best(kb, **service, hours_per_day=8)
    assert always.cost is not None
    assert office.cost is not None
    assert office.cost.objective > 2 * always.cost.objective  # type: ignore[operator]  # both are known


def test_wider_shards_keep_to_the_machines_that_may_be(kb: whygpu.KnowledgeBase) -> None:
    """Random answers found 16 cards on four machines where one was allowed."""
    work = {"phase": "batch-inference", "model": "llama-3-70b", "format": "q3_k_s", "prefix_hit_rate": 0.43}
    found = kb.consult({**work, "max_nodes": 1}, engine="evaluator").plans
    assert found.alive.sum() > 10
    assert found.plan_set.nodes[found.alive].max() == 1


def test_a_batch_is_no_smaller_where_the_host_is_slow(kb: whygpu.KnowledgeBase) -> None:
    """What prepares sound limits every batch alike, so that one sample at a time would seem to be enough."""
    sound = {"phase": "batch-inference", "model": "parakeet-tdt-0.6b-v2", "accelerators": ["a100-sxm-80gb"], "count": 1}
    prepared, slow = best(kb, **sound, decoding="none"), best(kb, **sound, decoding="host", host_vcpus=4)
    assert slow.batch_size == prepared.batch_size
    assert slow.batch_size is not None
    assert slow.batch_size >= 16


def test_a_job_is_as_fast_as_it_is_done(kb: whygpu.KnowledgeBase) -> None:
    """Nobody waits for a token or a first answer of a job: a larger batch makes these later and the job sooner."""
    sized = kb.consult({**JOB, "dataset_samples": 1_000_000}).plans.ranking.counted.speed
    served = kb.consult({**JOB, "phase": "inference"}).plans.ranking.counted.speed
    assert sized is not None
    assert served is not None
    assert (sized.figure, served.figure) == ("train_hours", "token_ms")


def test_a_job_that_is_dearer_and_slower_comes_after(kb: whygpu.KnowledgeBase) -> None:
    """Its price is hours by the price of an hour (runpod-64): an A100 took 9.8 hours and $18, where a B200 takes less
    of both, and came first for its rating.
    """
    job = {"phase": "batch-inference", "model": "bge-m3", "dataset_tokens": 1e10, "context_tokens": 4096}
    advice = kb.advise({**job, "deadline_hours": 48}, engine="evaluator", today=TODAY)
    plans = [plan for plan in (advice.recommendation, *advice.alternatives) if plan is not None]
    first, slower = (next(plan for plan in plans if plan.accelerator.id == card) for card in ("b200", "a100-sxm-80gb"))
    assert first.cost is not None
    assert slower.cost is not None
    assert (first.cost.compared.usd_total or 0) < (slower.cost.compared.usd_total or 0)
    assert plans.index(first) < plans.index(slower)


def test_a_job_is_not_spread_beyond_the_power_there_is(kb: whygpu.KnowledgeBase) -> None:
    """Found by random answers: where two cards were allowed each job took two, which drew too much, and nothing was
    left of what one card did.
    """
    answers = {"phase": "batch-inference", "model": "multilingual-e5-large", "dataset_samples": 7e8, "concurrency": 2}
    place = {"deployment": "on-prem", "power_watts": 1450, "max_count": 2}
    plans = kb.consult({**answers, **place}, engine="evaluator").plans
    watts = watts_of(plans.plan_set)
    cards = plans.plan_set.counts
    beyond = (watts > 1450) & (cards > 1)
    assert not beyond.any()
    assert (cards == 2).any()


def test_a_job_that_cannot_come_in_time_takes_what_it_may(kb: whygpu.KnowledgeBase) -> None:
    """Found by random answers: three cards are too few for weeks, and a job of years stayed on one."""
    found = best(kb, **JOB, dataset_tokens=5e12, max_count=3)
    assert found.count == 3
    alone = best(kb, **JOB, dataset_tokens=5e12, max_count=1)
    assert hours(found) == pytest.approx(hours(alone) / 3, rel=0.1)
