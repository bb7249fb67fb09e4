"""The micro-batch of training plans, how far they grow, and what is said where the limits do not let them."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whygpu
from whygpu.explain.repairs import repairs
from whygpu.kept import forget
from whygpu.plans import batches

pytestmark = pytest.mark.slow

TODAY = date(2026, 11, 21)
PRETRAINING = {"phase": "training", "model": "llama-2-7b", "dataset_tokens": 1e12}


def advise(kb: whygpu.KnowledgeBase, **answers: Any) -> whygpu.Advice:
    return kb.advise(answers, engine="evaluator", today=TODAY)


def hours(plan: whygpu.Plan) -> float:
    band = plan.speed["train_hours"]
    assert band is not None
    return band.likely


def test_pretraining_is_not_sized_at_one_sample(kb: whygpu.KnowledgeBase) -> None:
    """Llama 2 7B took 184,320 A100-hours for 2e12 tokens (arXiv:2307.09288, table 2): with usual batches it is about
    that, and never less than 6 N D operations at the 62% of 312 TFLOPS that training reaches at best.
    """
    work = {**PRETRAINING, "dataset_tokens": 2e12, "sequence_tokens": 4096, "deadline_hours": 2880}
    found = advise(kb, **work, accelerators=["a100-sxm-80gb"], max_count=512, max_nodes=64).recommendation
    assert found is not None
    assert found.count * hours(found) == pytest.approx(184320, rel=0.25)
    assert found.count * hours(found) > 6 * 6.7e9 * 2e12 / (0.62 * 312e12) / 3600


def test_fewer_cards_than_at_one_sample(kb: whygpu.KnowledgeBase) -> None:
    """6 N D at 0.43 of 756 TFLOPS are 24 H100 PCIe for 1440 hours: at one sample each, which waits for the network at
    every micro-batch, it takes 192.
    """
    work = {**PRETRAINING, "deadline_hours": 1440, "accelerators": ["h100-pcie"]}
    one = advise(kb, **work, batch_size=1).recommendation
    many = advise(kb, **work).recommendation
    assert one is not None
    assert many is not None
    assert 24 < many.count < one.count / 2


@settings(deadline=None, max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    model=st.sampled_from(["gpt2-large", "llama-3.1-8b"]),
    phase=st.sampled_from(["training", "fine-tuning"]),
    tokens=st.sampled_from([1e8, 1e10, 1e12]),
    deadline=st.sampled_from([None, 24.0, 2000.0]),
)
def test_what_a_card_holds_with_room(
    kb: whygpu.KnowledgeBase, model: str, phase: str, tokens: float, deadline: float | None
) -> None:
    """A power of two, no more in all than a step usually has (griddly-03; of fine-tuning it grows with the data,
    critical-batch-size), and within the high end of the need.
    """
    most = 4096 if phase == "training" else {1e8: 128}.get(tokens, 512)
    answers: dict[str, Any] = {"phase": phase, "model": model, "dataset_tokens": tokens, "deadline_hours": deadline}
    given_answers = {key: value for key, value in answers.items() if value is not None}
    field = kb.consult(given_answers, engine="evaluator", today=TODAY).plans.plan_set
    assert field is not None
    for number, card in zip(field.configuration.tolist(), field.card.tolist(), strict=True):
        configuration = field.configurations[number]
        size = configuration.setup.batch_size
        assert size & (size - 1) == 0
        if size > 1:
            assert size * configuration.layout.data <= most
            assert configuration.memory.high <= field.cards.usable_bytes[card]


def test_both_answers_of_a_pair_are_learned_from_at_once(kb: whygpu.KnowledgeBase) -> None:
    """DPO's loss compares them (trl-dpo), whatever the card holds and the deadline asks for."""
    pairs = {"phase": "fine-tuning", "algorithm": "dpo", "method": "full", "model": "llama-3.1-8b"}
    for more in ({}, {"dataset_samples": 60000, "deadline_hours": 3}):
        advice = kb.advise({**pairs, **more}, engine="evaluator")
        sizes = {plan.batch_size for plan in advice.plans}
        assert sizes
        assert min(size or 0 for size in sizes) >= 2, more


def test_an_answered_batch_is_kept(kb: whygpu.KnowledgeBase) -> None:
    field = kb.consult({**PRETRAINING, "batch_size": 3, "deadline_hours": 2000}, engine="evaluator").plans.plan_set
    assert field is not None
    assert {configuration.setup.batch_size for configuration in field.configurations} == {3}


def test_a_run_is_sized_for_weeks_and_nothing_is_out_for_that(kb: whygpu.KnowledgeBase) -> None:
    """griddly-22: training takes hours to weeks; without a deadline a plan of years stays, beside one of weeks."""
    found = kb.consult({**PRETRAINING, "accelerators": ["h100-sxm"]}, engine="evaluator", today=TODAY)
    assert found.plans.alive.any()
    times = found.plans.plan_set.speeds.figures["train_hours"][found.plans.alive]
    assert times.min() <= 1500 < times.max()
    best = advise(kb, **PRETRAINING, accelerators=["h100-sxm"]).recommendation
    assert best is not None
    assert hours(best) <= 1500


LATE = {"phase": "training", "model": "llama-3.1-70b", "dataset_tokens": 1e12, "deadline_hours": 1000}
LIMITED = {**LATE, "max_count": 64, "max_nodes": 8}


def test_the_nearest_relaxation(kb: whygpu.KnowledgeBase) -> None:
    """Nobody is told of six cards that take years where 64 take months."""
    advice = advise(kb, **LIMITED)
    assert advice.infeasible is not None
    relaxed = {item.constraint: item.plan for item in advice.infeasible.relaxations}
    found = kb.consult(LIMITED, engine="evaluator", today=TODAY)
    only_late = found.plans.fired["deadline-must-be-met"] & (
        np.sum([mask for rule, mask in found.plans.fired.items() if kb.knowledge.rule_by_id[rule].rejects], axis=0) == 1
    )
    nearest = found.plans.plan_set.speeds.figures["train_hours"][only_late].min()
    shown = next(item.plan for item in advice.rejected if item.plan.id == relaxed["deadline-must-be-met"])
    assert hours(shown) == pytest.approx(nearest)


@pytest.mark.slow
def test_what_was_assumed_refuses_nothing_and_is_said(kb: whygpu.KnowledgeBase) -> None:
    """ai-rng-52: as many accelerators as the timeline asks for; a plan beyond what is assumed says so."""
    advice = advise(kb, **LATE)
    best = advice.recommendation
    assert best is not None
    assert hours(best) <= 1000
    assert best.count > 64
    assert "larger-than-assumed" in best.techniques
    assert {item.answer for item in advice.assumed} >= {"max_count", "max_nodes"}
    within = advise(kb, **LATE, max_count=best.count, max_nodes=best.nodes).recommendation
    assert within is not None
    assert "larger-than-assumed" not in within.techniques


@pytest.mark.parametrize(("deployment", "most", "streams"), [("workstation", 4, 220), ("edge", 1, 40)])
def test_nor_does_what_was_assumed_of_a_place(
    kb: whygpu.KnowledgeBase, deployment: str, most: int, streams: int
) -> None:
    work = {"phase": "inference", "task": "vision", "model": "yolo11x", "streams": streams, "deployment": deployment}
    assert advise(kb, **work, max_count=most, max_nodes=1).status == "infeasible"
    best = advise(kb, **work).recommendation
    assert best is not None
    assert best.count > most
    assert "larger-than-assumed" in best.techniques


def test_more_than_usual_is_not_taken_for_room_alone(kb: whygpu.KnowledgeBase) -> None:
    """Hundreds of cards of 8 GB would hold a fully trained 8B model tightly: nobody would."""
    field = kb.consult(
        {"phase": "fine-tuning", "model": "llama-3.1-8b"}, engine="evaluator", today=TODAY
    ).plans.plan_set
    assert field is not None
    assert max(field.configurations[number].layout.cards for number in field.configuration.tolist()) <= 64


def test_a_pretraining_cluster_is_found(kb: whygpu.KnowledgeBase) -> None:
    """6 x 70.6e9 x 1.4e12 operations (nuface-03) in 60 days are 114 PFLOP/s: 230 to 450 H100 at half to a quarter of
    their 989 TFLOPS, on whole machines.
    """
    asked = {**LATE, "dataset_tokens": 1.4e12, "deadline_hours": 1440, "accelerators": ["h100-sxm"]}
    best = advise(kb, **asked).recommendation
    assert best is not None
    assert 230 < best.count < 450
    assert best.count % 8 == 0
    assert best.parallelism.sharding in ("fsdp", "zero1")


def test_the_largest_llama_takes_about_as_long_as_its_makers_say(kb: whygpu.KnowledgeBase) -> None:
    """Its model card (2024-07-23) says 30.84 million H100 hours; its paper (arXiv:2407.21783, 3.3.2) 16,384 cards in
    shards of 8 and 16 stages.
    """
    laid_out = {"count": 16_384, "max_nodes": 2_048, "tensor_parallel": 8, "pipeline_parallel": 16}
    tokens = {"dataset_tokens": 15.6e12, "sequence_tokens": 8_192}
    best = advise(kb, phase="training", model="llama-3.1-405b", accelerators=["h100-sxm"], **laid_out, **tokens)
    assert best.recommendation is not None
    hours = best.recommendation.speed["train_hours"]
    assert hours is not None
    assert 16_384 * hours.likely == pytest.approx(30.84e6, rel=0.25)


def micro_batches(kb: whygpu.KnowledgeBase, **answers: Any) -> int:
    """Of a step of the recommendation on eight stages of eight cards."""
    laid_out = {"count": 64, "tensor_parallel": 8, "pipeline_parallel": 8}
    plans = advise(kb, phase="training", model="llama-3.1-70b", **laid_out, **answers).consultation.plans
    return plans.plan_set.candidate(plans.ranking.order[0]).setup.gradient_accumulation


def test_stages_get_several_micro_batches_each(kb: whygpu.KnowledgeBase) -> None:
    """With m micro-batches p stages wait for (p - 1) / m of the time (arXiv:2104.04473, 2.2.1)."""
    assert micro_batches(kb) == 64


def test_as_many_micro_batches_as_were_asked_for(kb: whygpu.KnowledgeBase) -> None:
    assert micro_batches(kb, gradient_accumulation=24) == 24


GIVEN = {"phase": "training", "model": "llama-2-7b", "batch_size": 2, "sequence_tokens": 2048, "dataset_tokens": 1e10}
"""A job whose micro-batch is given."""


def test_what_more_cards_hold_is_not_recomputed(kb: whygpu.KnowledgeBase) -> None:
    """Shards leave room as replicas are added: activations that two H100 must recompute, sixteen can keep, which saves
    the fourth part of the work (arXiv:2205.05198, 5).
    """
    few, many = (
        advise(kb, **GIVEN, accelerators=["h100-sxm"], count=count, max_nodes=2).consultation.plans for count in (2, 16)
    )
    grown = advise(kb, **GIVEN, accelerators=["h100-sxm"], deadline_hours=40).consultation.plans
    first = [plans.plan_set.candidate(plans.ranking.order[0]) for plans in (few, many, grown)]
    assert [one.setup.gradient_checkpointing for one in first] == ["full", "off", "off"]
    assert first[2].layout.data == 16


def test_copies_that_exchange_gradients_are_sharded_where_they_hold_no_more(kb: whygpu.KnowledgeBase) -> None:
    """One card holds 16 bytes of state a parameter and its activations; a copy has buffers of gradients, too."""
    work = {**GIVEN, "batch_size": 4, "sequence_tokens": 4096, "dataset_tokens": 1e11, "deadline_hours": 504}
    best = advise(kb, **work, accelerators=["b300"]).recommendation
    assert best is not None
    assert best.count > 1
    assert best.parallelism.sharding != "none"
    assert best.memory.verdict == "fits"


def test_what_copies_hold_is_not_sharded(kb: whygpu.KnowledgeBase) -> None:
    work = {"phase": "training", "task": "vision", "model": "vit-b-16", "dataset_samples": 1281167, "epochs": 300}
    best = advise(kb, **work, deadline_hours=20, accelerators=["h100-sxm"]).recommendation
    assert best is not None
    assert best.count > 1
    assert best.parallelism.sharding == "none"


def test_plans_leave_room_before_a_deadline(kb: whygpu.KnowledgeBase) -> None:
    """Headroom for retries (ai-rng-52): what is as cheap in all and done well before is taken."""
    asked = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "full", "dataset_tokens": 1e9}
    advice = advise(kb, **asked, deadline_hours=24, deployment="cloud", criticality="production")
    assert advice.recommendation is not None
    hours = advice.recommendation.speed["train_hours"]
    assert hours is not None
    assert hours.likely <= 0.75 * 24


@pytest.mark.parametrize("limit", [{}, {"deadline_hours": 19_000}], ids=["no deadline", "years"])
def test_a_budget_by_the_hour_is_used(kb: whygpu.KnowledgeBase, limit: dict[str, Any]) -> None:
    """Accelerators for the usual three weeks are too dear here, and one for months is no answer beside two."""
    work = {"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 1.6e11, "budget_per_hour": 18}
    best = advise(kb, **work, **limit).recommendation
    assert best is not None
    assert best.count > 1
    assert best.cost is not None
    assert best.cost.usd_per_hour is not None
    assert 9 < best.cost.usd_per_hour <= 18


@pytest.mark.parametrize("more", [{}, {"batch_size": 2}], ids=["no micro-batch", "micro-batch given"])
def test_ways_that_were_filled_before_are_those_filled_anew(
    kb: whygpu.KnowledgeBase, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """Rounds and paces of growth come to the same ways on the same cards: each is filled once."""
    answers = {"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 2e10, "deadline_hours": 300, **more}
    filled = batches.filled
    seen: list[tuple[int, ...]] = []

    def counting(search: Any, card: Any, configuration: Any, *others: Any) -> Any:
        seen.extend((id(search), *plan) for plan in zip(card.tolist(), configuration.tolist(), strict=True))
        return filled(search, card, configuration, *others)

    def anew(self: Any, *plans: Any) -> Any:
        card, configuration, fits = plans
        return filled(self._search, card, configuration, fits, self._options, self._options.shardings)

    monkeypatch.setattr(batches, "filled", counting)
    forget()
    once = kb.consult(answers, engine="evaluator").plans.plan_set
    assert len(seen) == len(set(seen)) > 0
    forget()
    monkeypatch.setattr(batches.Filler, "filled", anew)
    again = kb.consult(answers, engine="evaluator").plans.plan_set
    assert np.array_equal(once.card, again.card)
    assert [(way.setup, way.layout) for way in once.configurations] == [
        (way.setup, way.layout) for way in again.configurations
    ]
    assert np.array_equal(once.configuration, again.configuration)
    for name, column in again.speeds.figures.items():
        assert np.allclose(once.speeds.figures[name], column, rtol=1e-12, equal_nan=True), name


AURORA = {"name": "Aurora", "parameters": 1.3e9, "kind": "vit", "flops_per_sample": 3.5e13, "image_size": 1440}


def test_an_assumed_batch_is_a_ceiling(kb: whygpu.KnowledgeBase) -> None:
    """A batch of 32 images that nobody asked for made an image model too large for every card."""
    work = {"phase": "fine-tuning", "task": "vision", "dataset_samples": 20000, "epochs": 2, "deadline_hours": 72}
    large = advise(kb, **work, model=AURORA).recommendation
    small = advise(kb, **work, model="resnet-50").recommendation
    asked = advise(kb, **work, model=AURORA, batch_size=32)
    assert large is not None
    assert small is not None
    assert (large.batch_size, small.batch_size) == (1, 32)
    assert asked.status == "infeasible"
    assert [set(item.changes) for item in repairs(asked.consultation)] == [{"batch_size"}]


def test_another_kind_of_price_is_a_repair(kb: whygpu.KnowledgeBase) -> None:
    """Where spot capacity is what makes every plan of a service useless, the same card on demand is a way out."""
    work = {"phase": "inference", "model": "qwen3-14b", "criticality": "production", "concurrency": 16}
    found = repairs(advise(kb, **work, price_kinds=["spot"]).consultation)
    assert {"price_kinds": ["on-demand"]} in [dict(item.changes) for item in found]


def test_the_kind_of_price_is_changed_before_a_machine_is_bought(kb: whygpu.KnowledgeBase) -> None:
    """A purchase of 425,600 USD stood in the place of eight cards on demand in the same region."""
    job = {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "full", "sequence_tokens": 8192}
    places = {"price_kinds": ["spot"], "provider_classes": ["hyperscaler"], "regions": ["eu"]}
    found = [dict(item.changes) for item in repairs(advise(kb, **job, dataset_tokens=6e8, **places).consultation)]
    assert {"price_kinds": ["on-demand"]} in found
    assert not any("deployment" in changes for changes in found)


def test_no_way_out_takes_more_cards_than_anyone_is_assumed_to_have(kb: whygpu.KnowledgeBase) -> None:
    """768 gaming cards were the way out for somebody who has one."""
    job = {"phase": "fine-tuning", "model": "llama-3.1-70b", "method": "full", "sequence_tokens": 2048}
    asked = advise(kb, **job, dataset_tokens=1e7, accelerators=["rtx-4090"], count=1)
    assert asked.status == "infeasible"
    found = repairs(asked.consultation)
    assert [set(item.changes) for item in found] == [{"accelerators", "count"}]
    assert all(item.plan.count <= 64 for item in found)


def test_what_is_owned_is_told_by_the_plan_that_misses_least(kb: whygpu.KnowledgeBase) -> None:
    """Two cards that train in 67 hours were passed over for one that takes 135."""
    work = {"phase": "training", "model": "resnet-50", "dataset_samples": 1.28e6, "epochs": 90, "deadline_hours": 48}
    found = advise(kb, **work, owned=[{"accelerator": "gtx-1080-ti", "count": 2}])
    assert any("2x GTX 1080 Ti" in item.text for item in found.warnings if item.id == "owned-out-gtx-1080-ti")


def test_all_kinds_that_are_owned_are_told_of(kb: whygpu.KnowledgeBase) -> None:
    owned = [{"accelerator": "rtx-4090", "count": 2}, {"accelerator": "rtx-a6000", "count": 1}]
    work = {"phase": "inference", "model": "qwen2.5-72b", "concurrency": 2, "context_tokens": 48000}
    texts = [item.text for item in advise(kb, **work, owned=owned).warnings if item.id == "owned-out"]
    assert [all(word in text for word in ("4090", "A6000", "not combined")) for text in texts] == [True]


def test_a_machine_that_is_there_is_a_way_out_of_a_small_budget(kb: whygpu.KnowledgeBase) -> None:
    """Cards of 12 GB cost 250 to 370 USD (purchases.yaml) and hold an 8B in four bits; no machine around them does."""
    work = {"phase": "inference", "model": "llama-3.1-8b", "deployment": "workstation", "concurrency": 1}
    found = repairs(advise(kb, **work, budget_total=300).consultation)
    assert {"host": "own"} in [dict(item.changes) for item in found]


OFFLOADED = {"phase": "fine-tuning", "model": "llama-3.1-70b", "method": "full", "sequence_tokens": 8192}


@pytest.mark.parametrize(("offload", "shardings"), [("all", {"fsdp"}), ("optimizer", {"zero2", "zero3"})])
def test_what_is_offloaded_over_several_cards_is_sharded_as_libraries_can(
    offload: str, shardings: set[str], kb: whygpu.KnowledgeBase
) -> None:
    """DeepSpeed offloads the optimizer in stages 1 to 3 and parameters in stage 3 alone (its options of ZeRO); FSDP
    offloads everything (Accelerate's guide).
    """
    eight = {"accelerator": "a100-sxm-80gb", "count": 8}
    advice = advise(kb, **OFFLOADED, dataset_tokens=5e8, owned=eight, offload=offload)
    best = advice.recommendation
    assert best is not None
    assert best.owned
    spread = [plan for plan in advice.plans if plan.count > 1]
    assert {plan.parallelism.sharding for plan in spread} <= shardings
    flags = advice.start[0].text or ""
    assert ("--fsdp_offload_params true" in flags) == (offload == "all")
    assert ("--offload_optimizer_device cpu" in flags) == (offload == "optimizer")


def test_a_card_alone_offloads_by_deepspeed(kb: whygpu.KnowledgeBase) -> None:
    """Without it the optimizer's state would be on the card."""
    work = {"phase": "fine-tuning", "model": "llama-3.2-3b", "method": "full", "dataset_tokens": 2e7}
    advice = advise(kb, **work, owned={"accelerator": "rtx-4090", "count": 1}, offload="optimizer")
    flags = advice.start[0].text or ""
    assert "--use_deepspeed --zero_stage 2" in flags
    assert "--offload_optimizer_device cpu" in flags


def test_a_number_of_cards_that_was_given_is_sharded_as_one_that_was_found(kb: whygpu.KnowledgeBase) -> None:
    """A mixture on 80 H100 without NVLink: whole states leave room for a micro-batch of one, shards for several."""
    work = {"phase": "training", "model": "qwen3-30b-a3b", "sequence_tokens": 4096, "dataset_tokens": 2e12}
    given = advise(kb, **work, accelerators=["h100-pcie"], count=80).recommendation
    assert given is not None
    assert given.parallelism.sharding == "fsdp"
    assert (given.batch_size or 0) > 1
    kept = advise(kb, **work, accelerators=["h100-pcie"], count=80, sharding="zero2").recommendation
    assert kept is not None
    assert hours(given) < hours(kept)
