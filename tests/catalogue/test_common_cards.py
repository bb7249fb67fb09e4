"""No figure of a common card is left open, and every plan of every example has a price or says why it has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from whygpu.answers import read_text
from whygpu.listing import why_no_price
from whygpu.plans.price import PriceList

if TYPE_CHECKING:
    from collections.abc import Iterator

    import whygpu
    from whygpu.catalogue import Accelerator, Catalogue

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
COMMON = [
    "t4",
    "l4",
    "l40s",
    "a10",
    "a10g",
    "a100-pcie-40gb",
    "a100-sxm-40gb",
    "a100-pcie-80gb",
    "a100-sxm-80gb",
    "h100-pcie",
    "h100-sxm",
    "h100-nvl",
    "h200-sxm",
    "b200",
    "v100-pcie-16gb",
    "v100-pcie-32gb",
    "v100-sxm2-16gb",
    "v100-sxm2-32gb",
    "rtx-3060-12gb",
    "rtx-3060-ti",
    "rtx-3070",
    "rtx-3070-ti",
    "rtx-3080-10gb",
    "rtx-3080-12gb",
    "rtx-3080-ti",
    "rtx-3090",
    "rtx-3090-ti",
    "rtx-4060",
    "rtx-4060-ti-8gb",
    "rtx-4060-ti-16gb",
    "rtx-4070",
    "rtx-4070-super",
    "rtx-4070-ti",
    "rtx-4070-ti-super",
    "rtx-4080",
    "rtx-4080-super",
    "rtx-4090",
    "rtx-5060-ti-16gb",
    "rtx-5070",
    "rtx-5070-ti",
    "rtx-5080",
    "rtx-5090",
    "rtx-a4000",
    "rtx-a5000",
    "rtx-a6000",
    "rtx-6000-ada",
    "rtx-pro-6000-workstation",
    "gtx-1660",
    "gtx-1080-ti",
    "jetson-orin-nano-8gb",
    "jetson-orin-nx-16gb",
    "jetson-agx-orin-32gb",
    "jetson-agx-orin-64gb",
    "jetson-agx-thor",
    "mi300x",
]
LISTED = [
    "class",
    "generation",
    "form",
    "released",
    "marketing_gb",
    "usable_mib",
    "memory_type",
    "bandwidth_gb_s",
    "fp32_tflops",
    "tf32_tflops",
    "fp16_tflops",
    "bf16_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "int8_tops",
    "int4_tops",
    "tdp_w",
    "ecc",
    "mig_instances",
    "link",
    "pcie_generation",
    "pcie_lanes",
    "cards_per_node",
    "software",
]
OF_LINKS = ("link_gb_s", "link_cards")
NOT_PUBLISHED = {
    "tpu": {"fp32_tflops", "int4_tops", "tdp_w", "mig_instances", "pcie_generation", "pcie_lanes"},
    "cpu": {"pcie_generation", "pcie_lanes"},
}
"""What nobody says of machines that are no cards (docs/catalogue.md, limits)."""


def _open_fields(card: Accelerator) -> list[str]:
    """Listed fields that neither have a value nor are known to be lacking."""
    wanted = [*LISTED, *(OF_LINKS if card.text("link") != "none" else ())]
    wanted += ["compute_capability"] if card.text("software") == "cuda" else []
    return [
        name
        for name in wanted
        if name not in NOT_PUBLISHED.get(card.text("class") or "", ())
        and ((figure := card.figures.get(name)) is None or (figure.value is None and not figure.absent))
    ]


@pytest.mark.parametrize("identifier", COMMON)
def test_no_listed_field_of_a_common_card_is_open(kb: whygpu.KnowledgeBase, identifier: str) -> None:
    card = kb.knowledge.catalogue.accelerators[identifier]
    assert _open_fields(card) == []
    for name, figure in card.figures.items():
        assert figure.sources, f"{name} has no source"


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)


def test_no_listed_field_of_a_card_in_a_case_is_open(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    named: set[str] = set()
    for path in sorted((ROOT / "kb" / "cases").glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))["cases"]:
            for text in _texts([case.get("answers"), case.get("expect")]):
                named |= set(catalogue.find_accelerators(text))
    assert len(named) > 20
    found = {identifier: _open_fields(catalogue.accelerators[identifier]) for identifier in sorted(named)}
    assert {identifier: fields for identifier, fields in found.items() if fields} == {}


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_every_plan_of_an_example_is_priced_or_says_why_not(kb: whygpu.KnowledgeBase, path: Path) -> None:
    advice = kb.advise(read_text(path.read_text(encoding="utf-8"), path.name), engine="evaluator").to_dict()
    phases = advice.get("phases", [advice])  # a whole life has two
    plans = [plan for phase in phases for plan in (phase["recommendation"], *phase["alternatives"]) if plan is not None]
    assert plans
    for plan in plans:
        if plan["cost"] is None:
            against = [rule for verdict in plan["verdicts"] if not verdict["for"] for rule in verdict["rules"]]
            assert "unknown-price" in against, plan["id"]


def test_an_unpriced_card_says_why(kb: whygpu.KnowledgeBase) -> None:
    catalogue: Catalogue = kb.knowledge.catalogue
    prices = PriceList(catalogue)
    reasons = {card: why_no_price(catalogue, card) for card in catalogue.accelerators if not prices.price(card, 1, 1)}
    assert reasons["rtx-4060"] == "nobody is known to rent it out, it is known only what it costs to buy"
    assert reasons["h20"] == "nobody is known to rent it out"
    assert "spot" in reasons["rtx-2080"]
