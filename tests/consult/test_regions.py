"""Who may rent out and where: providers, regions and areas as the user gives them, on the real knowledge base."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

import whygpu

CHAT: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 4, "criticality": "development"}
DAY = date(2026, 11, 22)


def advise(kb: whygpu.KnowledgeBase, **more: Any) -> whygpu.Advice:
    """The advice on a small chat service, as of the day the prices were read."""
    advice = kb.advise({**CHAT, **more}, today=DAY)
    assert isinstance(advice, whygpu.Advice)
    return advice


@pytest.mark.parametrize(
    "region", ["eu", "us", "apac", "uk", "ca", "eu-west-1", "westeurope", "europe-west4", "FIN-01"]
)
def test_regions_of_clouds_and_areas_are_understood(kb: whygpu.KnowledgeBase, region: str) -> None:
    assert kb.check({**CHAT, "regions": [region]}).regions == (region,)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("europe", "eu"),
        ("EU", "eu"),
        ("United States", "us"),
        ("usa", "us"),
        ("Asia", "apac"),
        ("Germany", "germany"),
        ("france", "france"),
        ("US-EAST-1", "us-east-1"),
        ("us-east1", "us-east1"),
    ],
)
def test_areas_and_regions_are_understood_as_people_write_them(kb: whygpu.KnowledgeBase, said: str, meant: str) -> None:
    """AWS's us-east-1 is another place than Google's us-east1: hyphens tell them apart, capitals do not."""
    assert kb.check({**CHAT, "regions": [said]}).regions == (meant,)


@pytest.mark.parametrize(
    ("country", "area"), [("germany", "eu"), ("france", "eu"), ("netherlands", "eu"), ("japan", "apac")]
)
def test_a_country_is_a_part_of_its_area(kb: whygpu.KnowledgeBase, country: str, area: str) -> None:
    catalogue = kb.knowledge.catalogue
    inside, around = catalogue.areas[country].regions, catalogue.areas[area].regions
    assert all(set(ids) <= set(around[provider]) for provider, ids in inside.items())
    offered = [item for item in catalogue.offerings if catalogue.stands_in(item, frozenset({country}))]
    assert offered
    assert all(catalogue.stands_in(item, frozenset({area})) for item in offered)


def test_an_unknown_region_is_an_error_with_what_was_perhaps_meant(kb: whygpu.KnowledgeBase) -> None:
    with pytest.raises(whygpu.AnswerError) as caught:
        kb.check({**CHAT, "regions": ["eu-wset-1"]})
    assert "eu-west-1" in str(caught.value.problems[0].help)


def test_a_region_leaves_only_what_is_to_be_had_there(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    advice = advise(kb, regions=["eu"])
    costs = [plan.cost for plan in (advice.recommendation, *advice.alternatives) if plan is not None]
    assert len(costs) > 3
    by_id = {offering.id: offering for offering in catalogue.offerings}
    assert all(cost is not None and "eu" in catalogue.areas_of(by_id[cost.offering]) for cost in costs)


def test_what_no_named_provider_rents_is_out_and_says_who_does(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, providers=["azure"], accelerators=["T4", "MI325X"])
    assert advice.recommendation is not None
    assert advice.recommendation.accelerator.family == "T4"
    texts = [why.text for item in advice.rejected for why in item.because if why.rule == "not-rented-there"]
    assert any("MI325X" in text and "digitalocean" in text for text in texts)


def test_where_only_a_kind_of_price_is_missing_the_reason_is_about_what_most_rent_out(kb: whygpu.KnowledgeBase) -> None:
    """The catalogue knows no spot price of AWS: that is no reason to speak of a card that nobody rents out."""
    advice = advise(kb, providers=["aws"], price_kinds=["spot"])
    assert advice.recommendation is None
    assert advice.infeasible is not None
    said = advice.infeasible.relaxations[0].text
    assert "Offered by: no provider" not in said
    assert "Offered by:" in said


def test_a_vendor_stands_for_all_of_its_accelerators(kb: whygpu.KnowledgeBase) -> None:
    cards = kb.knowledge.catalogue.accelerators
    named = advise(kb, accelerators=["AMD"]).consultation.answers.accelerators
    assert set(named or ()) == {card.id for card in cards.values() if card.vendor == "amd"}
    assert len(named or ()) > 10


def test_a_class_stands_for_all_of_its_accelerators_where_one_is_called_so_too(kb: whygpu.KnowledgeBase) -> None:
    cards = kb.knowledge.catalogue.accelerators
    advice = advise(kb, model="bert-base", requests_per_second=2, accelerators=["CPU"])
    named = advice.consultation.answers.accelerators
    assert set(named or ()) == {card.id for card in cards.values() if card.text("class") == "cpu"}
    assert advice.recommendation is not None
    assert cards[advice.recommendation.accelerator.id].text("form") == "cloud", "the others are not to be rented"
    assert advice.consultation.session.answered("runtime") != "llama.cpp", "an encoder writes no tokens"
    assert kb.check({"owned": "2x CPU"}).owned == (("generic-desktop-cpu", 2),)


@pytest.mark.parametrize(
    ("word", "some", "none"),
    [
        ("TPU", {"tpu-v5e", "tpu-v6e"}, {"inferentia2", "trainium1"}),
        ("jetson", {"jetson-agx-thor", "jetson-orin-nano-4gb"}, {"l4"}),
        ("Gaudi", {"gaudi-2", "gaudi-3"}, {"arc-b580"}),
        ("inferentia", {"inferentia2"}, {"trainium1"}),
        ("mac studio", {"apple-m3-ultra"}, {"apple-m5-max"}),
    ],
)
def test_the_beginning_of_names_stands_for_all_of_the_kind(
    kb: whygpu.KnowledgeBase, word: str, some: set[str], none: set[str]
) -> None:
    named = set(kb.check({"accelerators": [word]}).accelerators or ())
    assert some <= named
    assert named.isdisjoint(none)


@pytest.mark.parametrize("word", ["RTX 40", "h", "tp", "gpu"])
def test_a_part_of_a_word_stands_for_none(kb: whygpu.KnowledgeBase, word: str) -> None:
    with pytest.raises(whygpu.AnswerError, match="there is no accelerator"):
        kb.check({"accelerators": [word]})


def test_who_names_a_provider_is_not_told_that_it_is_alone(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, providers=["runpod"], criticality="production", accelerators=["L40S"])
    assert advice.recommendation is not None
    rules = {rule for verdict in advice.recommendation.verdicts for rule in verdict.rules}
    assert not rules & {"one-small-provider-in-production", "supply-is-thin", "few-small-providers-in-production"}


def test_a_machine_is_paid_for_whole(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, providers=["aws"], accelerators=["H200"])
    plan = advice.recommendation
    assert plan is not None
    assert plan.cost is not None
    assert (plan.count, plan.cost.machines, plan.cost.machine_accelerators) == (1, 1, 8)
    assert plan.cost.usd_per_hour == pytest.approx(63.296)  # karpenter-aws-prices, p5en.48xlarge
    assert any("machines of 8" in item.text for item in advice.techniques)


def test_a_price_to_buy_is_estimated_where_nobody_says_it(kb: whygpu.KnowledgeBase) -> None:
    plan = advise(kb, deployment="on-prem", accelerators=["A10"]).recommendation
    assert plan is not None
    assert plan.cost is not None
    assert plan.cost.estimated
    assert plan.cost.low is not None
    assert plan.cost.high is not None
    assert plan.cost.low < plan.cost.compared.usd_per_hour < plan.cost.high
    assert "price-is-estimated" in {rule for verdict in plan.verdicts for rule in verdict.rules}


def test_a_known_price_is_no_estimate(kb: whygpu.KnowledgeBase) -> None:
    plan = advise(kb, deployment="on-prem", accelerators=["L4"]).recommendation
    assert plan is not None
    assert plan.cost is not None
    assert (plan.cost.estimated, plan.cost.low) == (False, None)


def test_in_the_cloud_nothing_is_estimated(kb: whygpu.KnowledgeBase) -> None:
    advice = advise(kb, accelerators=["Apple M4 Max", "L4"])
    apple = next(plan for plan in advice.alternatives if plan.accelerator.family != "L4")
    assert apple.cost is None
    assert "nobody-rents-it" in {rule for verdict in apple.verdicts for rule in verdict.rules}


@pytest.mark.parametrize("key", ["providers", "provider_classes", "accelerators", "regions", "price_kinds"])
def test_a_list_of_nothing_is_no_answer(kb: whygpu.KnowledgeBase, key: str) -> None:
    """As null is (docs/reference/answers.md): what an empty list left nothing to rent from was said "from , in eu"."""
    asked = {"model": "llama-3.1-8b", "regions": ["eu"]}
    advice = kb.advise({**asked, key: []}, engine="evaluator", today=DAY)
    given = {name: value for name, value in asked.items() if name != key}
    assert advice.recommendation is not None
    assert advice.recommendation == kb.advise(given, engine="evaluator", today=DAY).recommendation
