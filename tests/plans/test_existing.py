"""What is owned, bought or rented, in whole consultations: counts, prices, comparisons, and where figures come from."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whygpu
from tests.checks.formulas import value_of
from whygpu.errors import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TODAY = date(2026, 11, 21)
SERVE: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b"}
TUNE: dict[str, Any] = {"phase": "fine-tuning", "method": "lora", "model": "llama-3.1-8b", "dataset_tokens": 1e8}
FOUR_3090 = [{"accelerator": "rtx-3090", "count": 4}]


def advise(kb: whygpu.KnowledgeBase, **answers: Any) -> whygpu.Advice:
    """Advice by the engine that needs no warming up."""
    return kb.advise(answers, engine="evaluator", today=TODAY)


def every_plan(advice: whygpu.Advice) -> Iterator[whygpu.Plan]:
    """Each plan that is left, variants too."""
    for plan in advice.plans:
        yield plan
        yield from plan.variants


def test_owned_plans_stand_beside_rented_ones(kb: whygpu.KnowledgeBase) -> None:
    plans = list(every_plan(advise(kb, **SERVE, owned=FOUR_3090, accelerators=["RTX 3090", "L40S"])))
    owned = [plan for plan in plans if plan.owned]
    assert {plan.accelerator.id for plan in owned} == {"rtx-3090"}
    assert {plan.count for plan in owned} >= {1, 2, 3, 4}
    assert any(not plan.owned and plan.accelerator.id == "rtx-3090" for plan in plans)
    for plan in owned:
        assert plan.cost is not None
        assert (plan.cost.provider_class, plan.cost.price_kind, plan.cost.basis) == ("own", "owned", "owned")
        assert plan.cost.buying is None
    assert len({plan.id for plan in plans}) == len(plans)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(1, 6), model=st.sampled_from(["llama-3.2-1b", "llama-3.1-8b", "llama-3.1-70b"]))
def test_never_more_than_is_owned_and_never_more_expensive_than_rent(
    kb: whygpu.KnowledgeBase, count: int, model: str
) -> None:
    """At a household's price of electricity an RTX 4090 draws less than anyone rents it for."""
    owned = [{"accelerator": "rtx-4090", "count": count}]
    answers = {"phase": "inference", "model": model, "owned": owned, "accelerators": ["rtx-4090"]}
    plans = list(every_plan(advise(kb, **answers)))
    rent = {
        (plan.count, plan.format): plan.cost.usd_per_hour for plan in plans if plan.cost is not None and not plan.owned
    }
    for plan in plans:
        if plan.owned:
            assert plan.count <= count
            assert plan.cost is not None
            assert plan.cost.usd_per_hour <= rent.get((plan.count, plan.format), math.inf)


def test_a_count_asked_for_holds_for_what_is_owned_too(kb: whygpu.KnowledgeBase) -> None:
    plans = list(every_plan(advise(kb, **SERVE, owned=FOUR_3090, accelerators=["rtx-3090"], count=2)))
    assert {plan.count for plan in plans if plan.owned} == {2}
    beyond = advise(kb, **SERVE, owned=FOUR_3090, accelerators=["rtx-3090"], count=8)
    assert not any(plan.owned for plan in every_plan(beyond))


def test_cards_named_twice_are_added_up(kb: whygpu.KnowledgeBase) -> None:
    assert kb.check({"owned": [*FOUR_3090, {"accelerator": "RTX 3090", "count": 2}]}).owned == (("rtx-3090", 6),)


def test_what_does_not_run_on_what_is_owned_is_told(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, phase="inference", model="llama-3.1-405b", owned=FOUR_3090)
    first = advice.rejected[0]
    assert first.plan.owned
    assert first.because[0].rule == "the-need-must-fit"
    assert advice.recommendation is not None
    assert not advice.recommendation.owned


def test_owned_against_rented_by_hand(kb: whygpu.KnowledgeBase) -> None:
    """runpod-64: both jobs are price x hours; an hour sooner costs the difference over the hours saved."""
    advice = advise(kb, **TUNE, owned=FOUR_3090)
    found = next(item for item in advice.comparisons if item.kind == "owned-or-rented")
    plans = {plan.id: plan for plan in advice.plans}
    expensive, cheap = plans[found.expensive], plans[found.cheap]
    assert {expensive.owned, cheap.owned} == {True, False}
    hours = {plan.id: plan.speed["train_hours"].likely for plan in (expensive, cheap) if plan.speed["train_hours"]}
    assert expensive.cost is not None
    assert cheap.cost is not None
    assert found.expensive_usd == pytest.approx(expensive.cost.usd_per_hour * hours[expensive.id])
    assert found.price_ratio == pytest.approx(expensive.cost.usd_per_hour / cheap.cost.usd_per_hour)
    saved = hours[cheap.id] - hours[expensive.id]
    assert found.hours_saved == pytest.approx(saved)
    assert found.expensive_usd is not None
    assert found.cheap_usd is not None
    if saved > 0:
        assert found.usd_per_hour_saved == pytest.approx((found.expensive_usd - found.cheap_usd) / saved)
    else:  # the expensive hour is the slower one too
        assert found.usd_per_hour_saved is None
    assert (found.cheaper == expensive.id) == (found.expensive_usd < found.cheap_usd)


def test_free_electricity_leaves_nothing_to_compare(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, **SERVE, owned=FOUR_3090, electricity_usd_per_kwh=0)
    assert advice.comparisons == ()
    assert advice.recommendation is not None
    assert advice.recommendation.owned


def test_a_training_job_tells_when_the_more_expensive_hour_pays(kb: whygpu.KnowledgeBase) -> None:
    """runpod-10, runpod-64."""
    found = advise(kb, **{**TUNE, "dataset_tokens": 1e9}, accelerators=["l4", "a100-sxm-80gb"], count=1).comparisons
    assert [item.kind for item in found] == ["fast-or-cheap"]
    assert found[0].cheaper == found[0].expensive
    assert found[0].speed_ratio is not None
    assert found[0].speed_ratio > found[0].price_ratio > 1
    assert "runpod-64" in found[0].claims
    assert advise(kb, **SERVE).comparisons == ()


def test_a_workstation_compares_by_purchase_terms(kb: whygpu.KnowledgeBase) -> None:
    plan = advise(kb, **SERVE, deployment="workstation", accelerators=["rtx-3090"]).recommendation
    assert plan is not None
    assert plan.cost is not None
    assert plan.cost.buying is not None
    assert plan.cost.basis == "buying"
    assert plan.cost.objective == pytest.approx(plan.cost.buying.usd_per_hour)
    assert plan.cost.price_kind == "on-demand"
    # 1,207 USD used, and the least that a desktop around it costs (kb/facts/purchases.yaml, money.yaml)
    assert plan.cost.buying.usd_purchase == pytest.approx(1207 + 600)
    assert plan.cost.buying.source == ("gpupoet-2026-10",)


def test_a_job_at_a_desk_compares_by_what_is_bought_for_it(kb: whygpu.KnowledgeBase) -> None:
    """desk-machine-idles: it counts a month of owning, and the power of its own hours; in a server room its hours."""
    job = {**TUNE, "dataset_tokens": 1e7, "accelerators": ["rtx-3090"], "count": 1}
    desk, room = (advise(kb, **job, deployment=place).recommendation for place in ("workstation", "on-prem"))
    assert desk is not None
    assert room is not None
    assert desk.cost is not None
    assert desk.cost.buying is not None
    hours = desk.speed["train_hours"]
    assert hours is not None
    assert hours.likely < 730
    power = desk.cost.usd_power_per_hour
    assert power is not None
    share = desk.cost.buying.usd_per_hour - power
    assert desk.cost.objective == pytest.approx(730 * share + hours.likely * power)
    assert desk.cost.buying.usd_total == pytest.approx(hours.likely * desk.cost.buying.usd_per_hour)
    assert room.cost is not None
    assert room.cost.buying is not None
    assert room.cost.objective == pytest.approx(room.cost.buying.usd_total)


def test_of_two_cards_at_a_desk_the_cheaper_is_bought_though_it_takes_longer(kb: whygpu.KnowledgeBase) -> None:
    """And the faster one, where the job takes months on either."""
    job = {**TUNE, "accelerators": ["rtx-3090", "rtx-6000-ada"], "count": 1, "deployment": "workstation"}
    short = advise(kb, **{**job, "dataset_tokens": 1e7}).recommendation
    assert short is not None
    assert short.accelerator.id == "rtx-3090"
    long = advise(kb, **{**job, "dataset_tokens": 2e10})
    costs = {plan.accelerator.id: plan.cost for plan in (long.recommendation, *long.alternatives) if plan is not None}
    objectives = {name: cost.objective for name, cost in costs.items() if cost is not None}
    assert objectives["rtx-6000-ada"] is not None
    assert objectives["rtx-3090"] is not None
    assert objectives["rtx-6000-ada"] < 1.3 * objectives["rtx-3090"]


@pytest.mark.parametrize(("deployment", "rented"), [("on-prem", "mi325x"), ("workstation", "quadro-rtx-8000")])
def test_a_rent_is_no_price_of_what_is_bought(kb: whygpu.KnowledgeBase, deployment: str, rented: str) -> None:
    """Both cards are rented out, and kb/facts/purchases.yaml knows no price to buy them: it is estimated."""
    rent = kb.estimate({**SERVE, "accelerators": [rented], "count": 1}, today=TODAY).cost
    assert rent is not None
    cards = [rented, "rtx-3090", "l4"]
    advice = advise(kb, **SERVE, deployment=deployment, accelerators=cards, owned=[{"accelerator": "l4", "count": 1}])
    plans = list(every_plan(advice))
    assert {plan.cost.basis for plan in plans if plan.cost is not None} == {"buying", "owned"}
    unpriced = [plan for plan in plans if plan.accelerator.id == rented]
    assert unpriced
    for plan in unpriced:
        assert plan.cost is not None
        assert plan.cost.estimated
        assert plan.cost.compared.usd_per_hour != rent.usd_per_hour
        assert any("price-is-estimated" in verdict.rules for verdict in plan.verdicts)


@pytest.mark.parametrize("hours", [2, 24])
def test_the_range_of_an_estimated_price_is_over_the_hours_of_use(kb: whygpu.KnowledgeBase, hours: int) -> None:
    """As the likely figure is: what is used two hours a day costs more an hour of use."""
    advice = advise(kb, **SERVE, deployment="workstation", hours_per_day=hours)
    costs = [plan.cost for plan in advice.plans if plan.cost is not None and plan.cost.estimated]
    assert costs
    for cost in costs:
        assert cost.low is not None
        assert cost.high is not None
        assert cost.low < cost.compared.usd_per_hour < cost.high


def test_what_cannot_be_estimated_has_no_price(kb: whygpu.KnowledgeBase) -> None:
    """TPUs are not sold, so none has a price for the others to be estimated."""
    plan = kb.estimate({**SERVE, "deployment": "on-prem", "accelerators": ["tpu-v5e"], "count": 8}, today=TODAY)
    assert plan.cost is None
    assert plan.unpriced is not None


def test_of_a_kind_that_is_there_the_missing_cards_are_bought(kb: whygpu.KnowledgeBase) -> None:
    one = [{"accelerator": "rtx-3090", "count": 1}]
    base = {**SERVE, "deployment": "workstation", "accelerators": ["rtx-3090"], "count": 2}
    alone, beside = (kb.estimate({**base, "owned": owned}, today=TODAY) for owned in ([], one))
    assert alone.cost is not None
    assert beside.cost is not None
    assert alone.cost.buying is not None
    assert beside.cost.buying is not None
    each = 1207  # gpupoet-2026-10
    assert (beside.cost.buying.count, beside.cost.buying.usd_purchase) == (1, each)
    assert not beside.cost.buying.machine
    assert alone.cost.buying.usd_purchase == pytest.approx(2 * each * 1.44)
    assert alone.cost.buying.machine
    assert beside.cost.usd_power_per_hour == alone.cost.usd_power_per_hour


def test_a_card_for_a_machine_that_is_there_costs_itself(kb: whygpu.KnowledgeBase) -> None:
    base = {**SERVE, "deployment": "workstation", "accelerators": ["rtx-3090"], "count": 1}
    found = [kb.estimate({**base, "host": host}, today=TODAY).cost for host in ("own", "new")]
    assert [cost.buying.usd_purchase for cost in found if cost and cost.buying] == [1207, 1807]


def test_memory_for_experts_is_bought_with_a_board_that_holds_it(kb: whygpu.KnowledgeBase) -> None:
    base = {"phase": "inference", "offload": "experts", "format": "q4_k_m", "deployment": "workstation", "count": 1}
    small, large = (
        kb.estimate({**base, "model": model, "accelerators": ["rtx-3090"]}, today=TODAY)
        for model in ("qwen3-next-80b-a3b", "deepseek-r1")
    )
    for plan, machine in ((small, 600), (large, 1500)):  # a desktop, and a server's board for over 192 GiB
        assert plan.cost is not None
        assert plan.cost.buying is not None
        assert plan.cost.buying.usd_memory > 100
        assert plan.cost.buying.usd_purchase == pytest.approx(1207 + machine + plan.cost.buying.usd_memory)


def test_a_processor_is_bought_with_the_memory_that_it_works_in(kb: whygpu.KnowledgeBase) -> None:
    """Processors are sold without it, and 580 GiB of RDIMMs are no part of a machine's price (counterpoint-rdimm)."""
    asked = {"phase": "inference", "deployment": "workstation", "accelerators": ["epyc-9654"], "format": "q4_k_m"}
    large, small = (kb.estimate({**asked, "model": model}, today=TODAY) for model in ("kimi-k2", "qwen3-8b"))
    each = kb.knowledge.catalogue.coefficients.pick("host-memory-usd-per-gib", {}).likely
    for plan in (large, small):
        assert plan.cost is not None
        assert plan.cost.buying is not None
        assert plan.cost.buying.usd_memory == pytest.approx(each * plan.memory.total_gib)


def test_renting_is_spoken_of_only_where_there_is_a_rent(kb: whygpu.KnowledgeBase) -> None:
    """Owned cards against a DGX Spark, which nobody rents out."""
    told = {
        deployment: advise(
            kb, **SERVE, deployment=deployment, owned=FOUR_3090, accelerators=["rtx-3090", card]
        ).comparisons[0]
        for deployment, card in (("cloud", "l4"), ("workstation", "dgx-spark"))
    }
    assert [item.kind for item in told.values()] == ["owned-or-rented", "owned-or-bought"]
    assert "renting" in told["cloud"].text
    assert "rent" not in told["workstation"].text
    assert told["workstation"].hours_a_month is None


def test_a_server_costs_its_least_price_around_the_cheapest_card(kb: whygpu.KnowledgeBase) -> None:
    """tesla-p40-server: about 1,500 USD without its cards; a T4 is 878 USD in a shop (united-compute-prices)."""
    plan = advise(kb, **SERVE, deployment="on-prem", accelerators=["t4"], count=1).recommendation
    assert plan is not None
    assert plan.cost is not None
    assert plan.cost.buying is not None
    assert plan.cost.buying.usd_purchase == 878 + 1500


def test_a_whole_machine_needs_no_other(kb: whygpu.KnowledgeBase) -> None:
    plan = advise(kb, phase="inference", model="llama-3.2-1b", deployment="edge").recommendation
    assert plan is not None
    assert plan.cost is not None
    assert plan.cost.buying is not None
    assert plan.cost.buying.usd_purchase == 399  # a developer kit, jetson-faq-prices
    assert (plan.cost.price_kind, plan.cost.buying.break_even_months) == ("purchase", None)


def test_buying_is_told_where_the_service_has_an_end(kb: whygpu.KnowledgeBase) -> None:
    cards = ["h100-pcie"]
    silent, told = (advise(kb, **SERVE, accelerators=cards, **more) for more in ({}, {"service_months": 24}))
    assert silent.recommendation is not None
    assert silent.recommendation.cost is not None
    assert silent.recommendation.cost.buying is None
    assert told.recommendation is not None
    cost = told.recommendation.cost
    assert cost is not None
    assert cost.buying is not None
    assert cost.basis == "renting"
    margin = cost.usd_per_hour - (cost.usd_power_per_hour or 0)
    assert cost.buying.break_even_months == pytest.approx(cost.buying.usd_purchase / margin / 730)


def test_longer_services_and_more_expensive_power_move_the_cost_of_purchase_terms(kb: whygpu.KnowledgeBase) -> None:
    def hourly(**answers: Any) -> float:
        plan = advise(kb, **SERVE, deployment="on-prem", accelerators=["h100-pcie"], **answers).recommendation
        assert plan is not None
        assert plan.cost is not None
        assert plan.cost.buying is not None
        return plan.cost.buying.usd_per_hour

    assert hourly(service_months=48) < hourly(service_months=24)
    assert hourly(electricity_usd_per_kwh=0.4) > hourly(electricity_usd_per_kwh=0.1)
    assert hourly(service_months=120) == hourly(service_months=60)  # hardware-life-months


def test_spot_stands_beside_on_demand(kb: whygpu.KnowledgeBase) -> None:
    cards = ["h100-pcie"]
    usual, spot = (advise(kb, **TUNE, accelerators=cards, price_kinds=kinds) for kinds in (["on-demand"], ["spot"]))
    assert usual.recommendation is not None
    assert spot.recommendation is not None
    one, other = usual.recommendation.cost, spot.recommendation.cost
    assert one is not None
    assert other is not None
    assert one.spot is not None
    assert (other.price_kind, other.spot) == ("spot", None)
    assert one.spot.usd_per_hour == other.usd_per_hour


def test_an_estimate_of_what_is_owned_costs_its_power(kb: whygpu.KnowledgeBase) -> None:
    base = {**SERVE, "deployment": "cloud", "accelerators": ["rtx-3090"], "owned": FOUR_3090}
    owned, beyond = (kb.estimate({**base, "count": count}, today=TODAY) for count in (4, 8))
    assert owned.owned
    assert not beyond.owned
    assert owned.cost is not None
    # 4 x 350 W x 1.38 at 0.1282 USD/kWh, and no cooling plant for gaming cards at a desk (kb/facts/money.yaml)
    assert owned.cost.usd_per_hour == pytest.approx(4 * 350 * 1.38 / 1000 * 0.1282)


@pytest.mark.parametrize(
    "answers",
    [
        {**SERVE, "deployment": "on-prem", "accelerators": ["h100-pcie"]},
        {**SERVE, "deployment": "edge", "accelerators": ["jetson-agx-orin-64gb"]},
        {**TUNE, "accelerators": ["rtx-3090"], "count": 2, "owned": FOUR_3090},
        {**TUNE, "accelerators": ["l4"]},
    ],
)
def test_each_figure_of_money_follows_from_its_formula(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> None:
    found = {item.name: item for item in kb.estimate_in_full(answers, today=TODAY).cost}
    assert found
    for item in found.values():
        assert value_of(item) == pytest.approx(item.value, rel=1e-9), item.name
    if "usd_purchase" in found:
        known = [term for term in found["usd_purchase"].terms if term.name not in ("count", "machines")]
        told = ("estimated from", "the price is the whole machine's")  # what has no source says what it is instead
        assert all(term.source or term.meaning.startswith(told) for term in known)
    assert all(term.source for term in found["usd_power_per_hour"].terms if term.name != "count")


def test_the_trace_holds_the_money(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, **TUNE, owned=FOUR_3090)
    assert advice.recommendation is not None
    steps = {step.title: step for step in advice.trace.of_plan(advice.recommendation.id)}
    assert steps["usd_power_per_hour"].formula == "count * tdp_w * wall_power_ratio * pue / 1000 * usd_per_kwh"
    assert any(step.formula and "speed_ratio > price_ratio" in step.formula for step in advice.trace.steps)


@pytest.mark.parametrize(
    ("owned", "code"),
    [
        ([{"accelerator": "rtx-3099", "count": 1}], "unknown-accelerator"),
        ([{"accelerator": "A100", "count": 1}], "several-accelerators"),
        ([{"accelerator": "rtx-3090", "count": 0}], "wrong-type"),
        ([{"accelerator": "rtx-3090", "count": 1.5}], "wrong-type"),
        ([{"accelerator": "rtx-3090", "count": True}], "wrong-type"),
        ([{"accelerator": "rtx-3090"}], "missing-key"),
        ([{"count": 2}], "wrong-type"),
        ([{"accelerator": "rtx-3090", "count": 1, "where": "here"}], "unknown-key"),
        ("4x RTX 3099", "unknown-accelerator"),
        ("4x A100", "several-accelerators"),
        ("0x RTX 3090", "out-of-range"),
        (" , ", "wrong-type"),
        (4, "wrong-type"),
    ],
)
def test_what_is_wrong_with_owned_is_told(kb: whygpu.KnowledgeBase, owned: object, code: str) -> None:
    with pytest.raises(AnswerError) as error:
        kb.check({"owned": owned})
    assert [problem.code for problem in error.value.problems] == [code]


@pytest.mark.parametrize(
    "text",
    ["4x RTX 3090", "4 rtx-3090", "4×RTX 3090", "RTX 3090 x4", "3x RTX 3090, RTX 3090", ["RTX 3090", "3 RTX 3090"]],
)
def test_what_is_owned_is_written_as_people_count_it(kb: whygpu.KnowledgeBase, text: object) -> None:
    assert kb.check({"owned": text}).owned == kb.check({"owned": FOUR_3090}).owned


@pytest.mark.parametrize(("requests", "replicas"), [(1, 1), (2, 2)])
def test_layers_of_a_lone_request_are_spread_over_the_cards_that_were_asked_for(
    kb: whygpu.KnowledgeBase, requests: int, replicas: int
) -> None:
    """Two cards with a copy each serve two requests; of one request the second copy would have nothing to do."""
    answers = {"phase": "inference", "model": "llama-3.1-8b", "accelerators": ["rtx-3090"], "count": 2}
    plan = advise(kb, **answers, runtime="llama.cpp", concurrency=requests).recommendation
    assert plan is not None
    assert (plan.parallelism.data, plan.parallelism.pipeline) == (replicas, 2 // replicas)


@pytest.mark.parametrize(("requests", "replicas"), [(None, 4), (1, 1), (2, 2), (4, 4)])
def test_requests_that_were_counted_share_the_cards_that_were_asked_for(
    kb: whygpu.KnowledgeBase, requests: int | None, replicas: int
) -> None:
    """A second copy has nothing to do for a lone request, which shards of one answer sooner; where nobody counted the
    requests, each card has a copy.
    """
    answers = {"phase": "inference", "model": "llama-3.1-8b", "format": "fp8", "accelerators": ["l40s"], "count": 4}
    counted = {} if requests is None else {"concurrency": requests}
    plan = advise(kb, **answers, **counted).recommendation
    assert plan is not None
    assert (plan.parallelism.data, plan.parallelism.tensor) == (replicas, 4 // replicas)


@pytest.mark.parametrize("answers", [{"model": "bge-m3"}, {"model": "llama-3.1-8b", "requests_per_second": 1}])
def test_cards_of_a_stack_that_shards_hold_a_copy_each(kb: whygpu.KnowledgeBase, answers: dict[str, Any]) -> None:
    """Shards of a small model exchange what they compute, and answer a twelfth of what copies do."""
    plan = advise(kb, phase="inference", accelerators=["l4"], count=4, **answers).recommendation
    assert plan is not None
    assert plan.parallelism.data == 4


def test_whole_layers_go_on_any_number_of_cards_that_are_there(kb: whygpu.KnowledgeBase) -> None:
    """Three cards that llama.cpp fills with layers were no plan, for three is no power of two."""
    owned = [{"accelerator": "rtx-3090", "count": 3}]
    plans = every_plan(advise(kb, phase="inference", model="llama-3.3-70b", concurrency=1, owned=owned))
    found = {(plan.count, plan.parallelism.pipeline) for plan in plans if plan.owned}
    assert {(2, 2), (3, 3)} <= found


def test_several_kinds_are_owned(kb: whygpu.KnowledgeBase) -> None:
    assert kb.check({"owned": "2x L4 and a RTX 3090 + 10 T4"}).owned == (("l4", 2), ("rtx-3090", 1), ("t4", 10))


@pytest.mark.parametrize(
    ("text", "owned"),
    [
        ("Ryzen AI Max+ 395", (("ryzen-ai-max-395", 1),)),
        ("2x L4 + Ryzen AI Max+ 395", (("l4", 2), ("ryzen-ai-max-395", 1))),
        ("L4+T4", (("l4", 1), ("t4", 1))),
    ],
)
def test_a_plus_in_a_name_is_no_sum(kb: whygpu.KnowledgeBase, text: str, owned: tuple[tuple[str, int], ...]) -> None:
    assert kb.check({"owned": text}).owned == owned


def test_a_card_inside_a_laptop_serves_who_owns_it(kb: whygpu.KnowledgeBase) -> None:
    """The card is part of the laptop (NVIDIA's comparison of laptops)."""
    load = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 1}
    best = advise(kb, **load, owned="RTX-4070-laptop").recommendation
    assert best is not None
    assert (best.accelerator.id, best.owned) == ("rtx-4070-laptop", True)
    others = every_plan(advise(kb, **load, deployment="workstation"))
    assert not any(plan.accelerator.id.endswith("-laptop") for plan in others)


def test_what_is_owned_and_out_is_told(kb: whygpu.KnowledgeBase) -> None:
    eight = [{"accelerator": "v100-sxm2-32gb", "count": 8}]
    load = {**SERVE, "deployment": "on-prem", "criticality": "production", "owned": eight}
    advice = advise(kb, **load, concurrency=16, runtime="vllm")
    assert not any(plan.owned for plan in every_plan(advice))
    (told,) = [item.text for item in advice.warnings if item.id == "owned-out-v100-sxm2-32gb"]
    assert "compute capability" in told
    assert told.endswith(
        "llama.cpp runs on it. runtime = llama.cpp would allow it."
    )  # README of llama.cpp: CUDA from Maxwell on


@pytest.mark.parametrize("requests", [7, 8, 16])
def test_what_vllm_does_not_run_on_llama_cpp_serves(kb: whygpu.KnowledgeBase, requests: int) -> None:
    """vLLM needs compute capability 7.5 (its installation page), and cards that are there are used: none is bought
    for one request more.
    """
    four = [{"accelerator": "v100-sxm2-32gb", "count": 4}]
    best = advise(kb, phase="inference", model="llama-3.3-70b", concurrency=requests, owned=four).recommendation
    assert best is not None
    assert best.owned


@pytest.mark.parametrize("requests", [3, 8])
def test_three_cards_that_are_there_hold_a_model_in_stages(kb: whygpu.KnowledgeBase, requests: int) -> None:
    """Three are no shards of 64 heads; vLLM takes any number of pipeline stages (its page on parallelism)."""
    three = [{"accelerator": "rtx-3090", "count": 3}]
    best = advise(kb, phase="inference", model="gpt-oss-120b", concurrency=requests, owned=three).recommendation
    assert best is not None
    assert (best.owned, best.count, best.parallelism.pipeline) == (True, 3, 3)


@pytest.mark.parametrize(
    ("model", "requests", "tokens", "owned"),
    [
        ("qwen3-32b", 12, 12000, {"accelerator": "rtx-4090", "count": 2}),
        ("llama-3.3-70b", 2, 16000, {"accelerator": "rtx-6000-ada", "count": 1}),
    ],
)
def test_a_cache_of_eight_bits_lets_in_what_is_owned(
    kb: whygpu.KnowledgeBase, model: str, requests: int, tokens: int, owned: Mapping[str, Any]
) -> None:
    """vLLM has --kv-cache-dtype int8_per_token_head, llama.cpp q8_0 (their arguments)."""
    load = {"concurrency": requests, "context_tokens": tokens}
    answers = {"phase": "inference", "model": model, **load, "owned": [owned]}
    best = advise(kb, **answers).recommendation
    assert best is not None
    assert (best.owned, best.kv_format) == (True, "int8")
    kept = advise(kb, **answers, kv_format="fp16", format=best.format).recommendation
    assert kept is None or not kept.owned


def test_a_cache_that_lets_in_what_is_owned_is_told_where_it_is_not_tried(kb: whygpu.KnowledgeBase) -> None:
    """SGLang has no INT8 cache, and one in FP8 (its arguments)."""
    answers = {"phase": "inference", "model": "qwen3-32b", "concurrency": 12, "context_tokens": 12000}
    answers |= {"runtime": "sglang", "owned": [{"accelerator": "rtx-4090", "count": 2}]}
    (told,) = [item.text for item in advise(kb, **answers).warnings if item.id == "owned-out-rtx-4090"]
    assert told.endswith("kv_format = fp8 would allow it.")
    best = advise(kb, **answers, kv_format="fp8").recommendation
    assert best is not None
    assert best.owned


def test_a_stack_that_lets_in_what_is_owned_is_told(kb: whygpu.KnowledgeBase) -> None:
    """Q4_K_M of Nemotron 3 Nano takes 6.18 bits a weight (llama.cpp PR #28474), AWQ in vLLM 4.2."""
    load = {"concurrency": 4, "context_tokens": 48000}
    answers = {
        "phase": "inference",
        "model": "nemotron-3-nano-30b-a3b",
        **load,
        "owned": [{"accelerator": "rtx-4000-ada", "count": 1}],
    }
    (told,) = [item.text for item in advise(kb, **answers).warnings if item.id == "owned-out-rtx-4000-ada"]
    assert told.endswith("runtime = vllm would allow it.")
    best = advise(kb, **answers, runtime="vllm").recommendation
    assert best is not None
    assert best.owned


def test_slots_that_share_a_cache_leave_room_on_what_is_owned(kb: whygpu.KnowledgeBase) -> None:
    """llama-server --kv-unified (PR #16736): six requests of 24k on average and 64k at most, 30 GB of cache."""
    load = {"concurrency": 6, "context_tokens": 64000, "average_context_tokens": 24000}
    answers = {"phase": "inference", "model": "devstral-small-24b", **load}
    best = advise(kb, **answers, owned=[{"accelerator": "rtx-a6000", "count": 1}]).recommendation
    assert best is not None
    assert best.owned


def test_what_lets_in_what_is_owned_is_told(kb: whygpu.KnowledgeBase) -> None:
    """70B by QLoRA on two cards of 24 GB, weights on the host (Answer.AI, FSDP and QLoRA, 2024-03-06)."""
    answers = {"phase": "fine-tuning", "model": "llama-3.1-70b", "method": "qlora", "dataset_tokens": 2e7}
    owned = [{"accelerator": "rtx-4090", "count": 2}]
    advice = advise(kb, **answers, owned=owned)
    (told,) = [item.text for item in advice.warnings if item.id == "owned-out-rtx-4090"]
    assert told.endswith("offload = all would allow it.")
    after = advise(kb, **answers, owned=owned, offload="all").recommendation
    assert after is not None
    assert after.owned


def test_what_is_owned_and_not_tried_is_told(kb: whygpu.KnowledgeBase) -> None:
    for restriction in ({"accelerators": ["L4"]}, {"provider_classes": ["hyperscaler"]}):
        advice = advise(kb, **SERVE, owned=FOUR_3090, **restriction)
        assert not any(plan.owned for plan in every_plan(advice))
        assert "owned-left-out-rtx-3090" in {item.id for item in advice.warnings}


def test_a_long_job_takes_all_the_cards_that_are_there(kb: whygpu.KnowledgeBase) -> None:
    """Eight in one machine cost no more than two of them for four times as long; two were recommended."""
    train = {"phase": "training", "model": "llama-3.2-1b", "dataset_tokens": 20e9}
    best = advise(kb, **train, owned=[{"accelerator": "rtx-4090", "count": 8}]).recommendation
    assert best is not None
    assert best.owned
    assert best.count == 8


def test_counts_that_fill_a_machine_stand_beside_those_that_do_not(kb: whygpu.KnowledgeBase) -> None:
    """Three cards hold the job, and machines come with four (ai-rng-42): the fourth makes it faster and no dearer."""
    job = {"phase": "fine-tuning", "algorithm": "grpo", "method": "full", "model": "qwen2.5-7b"}
    advice = advise(kb, **job, dataset_samples=7500, accelerators=["a100-sxm-80gb"])
    assert {3, 4} <= {plan.count for plan in every_plan(advice)}
    assert advice.recommendation is not None
    assert advice.recommendation.count == 4


@pytest.mark.parametrize(("count", "stack"), [(3, "llama.cpp"), (4, "vllm")])
def test_owned_cards_that_divide_no_heads_keep_the_usual_stack_of_a_desk(
    count: int, stack: str, kb: whygpu.KnowledgeBase
) -> None:
    """Shards divide the attention heads evenly (vLLM, parallelism): three cards were left for a card to be bought."""
    owned = [{"accelerator": "rtx-3090", "count": count}]
    answers = {"phase": "inference", "model": "llama-3.3-70b", "concurrency": 4, "owned": owned}
    advice = kb.advise(answers, engine="evaluator")
    assert next(item.value for item in advice.assumed if item.answer == "runtime") == stack
    assert advice.recommendation is not None
    assert advice.recommendation.owned
