"""The source documents' own prices are shown beside the providers' lists and price no plan; offerings lose nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whygpu.cli import main
from whygpu.listing import listed_beside
from whygpu.plans.price import PriceList

if TYPE_CHECKING:
    import whygpu

Capture = pytest.CaptureFixture[str]


def _json(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["catalogue", *arguments, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_four_pairs_of_griddlys_table_are_there(kb: whygpu.KnowledgeBase) -> None:
    stated: dict[str, list[float]] = {}
    for item in kb.knowledge.catalogue.offerings:
        if item.claims:
            stated.setdefault(item.claims[0], []).append(item.usd_per_hour)
    assert stated == {  # the claims' own figures
        "griddly-12": [32.77, 3.06],
        "griddly-35": [26.45, 2.48],
        "griddly-36": [27.2, 2.52],
        "griddly-37": [0.8, 0.25],
    }


def test_they_price_no_plan(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    stated = [item for item in catalogue.offerings if item.claims]
    assert all(item.as_of is None and item.never_used for item in stated)
    prices = PriceList(catalogue, providers=("griddly-cloud",))
    for item in stated:
        assert prices.price(item.accelerator, 1, 1) is None
    assert prices.why_none("a10g") == "no provider that the answers allow rents it out; others do: aws"


def test_a_card_shows_them_beside_the_providers_own_list(capsys: Capture) -> None:
    found = _json(capsys, "accelerators", "a10g")
    by_id = {item["id"]: item for item in found["documents"]}
    own = by_id["griddly-aws-g5-xlarge"]
    assert (own["usd_per_hour"], own["claims"]) == (3.06, ["griddly-12"])
    assert own["listed"]["instance"] == "g5.xlarge"
    assert own["listed"]["usd_per_hour"] < 2  # karpenter-aws-prices
    assert by_id["griddly-cloud-a10g"]["listed"] is None
    assert main(["catalogue", "accelerators", "a10g"]) == 0
    text = capsys.readouterr().out
    assert "What documents say" in text
    assert "g5.xlarge at aws $3.06/hour [griddly-12]; the provider's list has $1.01/hour" in text


def test_a_listing_has_the_documents_and_the_lists_price(capsys: Capture) -> None:
    rows = _json(capsys, "offerings", "--provider", "azure", "--accelerator", "t4")["rows"]
    stated = [row for row in rows if row["document"] is not None]
    assert [(row["document"], row["usd_per_hour"]) for row in stated] == [("griddly-36", 2.52)]
    assert stated[0]["listed_usd_per_hour"] == 0.526  # the same size in karpenter-azure-prices
    assert all(row["listed_usd_per_hour"] is None for row in rows if row["document"] is None)


def test_the_instance_goes_before_the_card(kb: whygpu.KnowledgeBase) -> None:
    offerings = {item.id: item for item in kb.knowledge.catalogue.offerings}
    listed = listed_beside(kb.knowledge.catalogue, offerings["griddly-azure-nc24ads-a100"])
    assert listed is not None
    assert listed.instance == "Standard_NC24ads_A100_v4"


def test_an_offering_keeps_what_its_source_says(capsys: Capture) -> None:
    facts = _json(capsys, "offerings", "aws-g5-xlarge")["facts"]
    assert (facts["vcpu"]["value"], facts["ram_gib"]["value"]) == (4, 16)  # EC2's own sizes of g5.xlarge
    facts = _json(capsys, "offerings", "vast-ai-l4-2026-10")["facts"]
    assert "cheapest" in facts["statistic"]["value"]


def test_a_purchase_keeps_its_note(capsys: Capture) -> None:
    found = _json(capsys, "accelerators", "dgx-spark")
    assert found["purchases"][0]["note"].startswith("whole machine")
