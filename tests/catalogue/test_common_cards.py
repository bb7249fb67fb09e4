"""No figure of a common card is left open, and every plan of every example has a price or says why it has none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.effort import one_in
from whygpu.answers import read_text
from whygpu.plans.price import PriceList

if TYPE_CHECKING:
    from collections.abc import Iterator

    import whygpu
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.catalogue import Accelerator, Catalogue

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
BESIDE = [
    "rtx-2060",
    "rtx-2070",
    "rtx-2080",
    "rtx-2080-ti",
    "titan-rtx",
    "quadro-rtx-6000",
    "quadro-rtx-8000",
    "rtx-4070",
    "rtx-4080",
    "rtx-5070-ti",
    "rtx-5080",
    "rtx-5090",
    "rtx-6000-ada",
    "rtx-pro-6000-workstation",
    "h200-sxm",
    "b200",
    "b300",
    "mi300x",
    "mi325x",
    "mi355x",
    "jetson-agx-orin-64gb",
    "jetson-agx-thor",
    "dgx-spark",
    "ryzen-ai-max-395",
    "apple-m4-max",
    "apple-m5-max",
]
"""Common without being named in the knowledge base: in vendors' sizing tables, or what people ask about."""
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
    "link_gb_s",
    "link_cards",
    "pcie_generation",
    "pcie_lanes",
    "cards_per_node",
    "compute_capability",
    "cuda_cores",
    "software",
]
WHAT_CANNOT_RUN = ("cases/serving-runtimes.yaml", "cases/advisers.yaml", "tables/stacks.yaml")
"""Files that name hardware of all kinds, common or not, to say that it is not what to take."""
NOT_PUBLISHED = {
    "tpu": {"fp32_tflops", "int4_tops", "mig_instances", "pcie_generation", "pcie_lanes"},
    "cloud": {"tdp_w"},
}
"""What nobody says of a class or a form (docs/reference/catalogue.md, limits): a cloud's own chip states no power."""
NO_CLOCK = {"apple", "cpu", "tpu"}
"""Classes whose makers name no clock of the accelerator, or name one that says nothing beside a GPU's."""


def _open_fields(card: Accelerator) -> list[str]:
    """Listed fields that neither have a value nor are known to be lacking."""
    kind, form = card.text("class") or "", card.text("form") or ""
    wanted = [*LISTED, *([] if kind in NO_CLOCK else ["boost_mhz"])]
    unpublished = NOT_PUBLISHED.get(kind, set()) | NOT_PUBLISHED.get(form, set())
    return [
        name
        for name in wanted
        if name not in unpublished
        and ((figure := card.figures.get(name)) is None or (figure.value is None and not figure.absent))
    ]


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


def _named_in(knowledge: Knowledge) -> Iterator[str]:
    """The ids of all cards that cases, examples, tables or the documents' claims name."""
    catalogue = knowledge.catalogue
    files = {*(ROOT / "kb" / "cases").glob("*.yaml"), *(ROOT / "kb" / "tables").glob("*.yaml"), *EXAMPLES}
    for path in sorted(files - {ROOT / "kb" / name for name in WHAT_CANNOT_RUN}):
        for text in _texts(yaml.safe_load(path.read_text(encoding="utf-8"))):
            yield from catalogue.find_accelerators(text)
    claims = " ".join(claim.says for claim in knowledge.claims.values())
    for card in catalogue.accelerators.values():
        for name in (card.name, card.family, *card.aliases):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", claims):
                yield from catalogue.find_accelerators(name)


@pytest.fixture(scope="module")
def common(kb: whygpu.KnowledgeBase) -> list[str]:
    """Every common card, once."""
    return sorted({*_named_in(kb.knowledge), *BESIDE})


def test_the_documents_cards_are_among_the_common_ones(common: list[str]) -> None:
    # runpod-36, -38, -42, primer has none, griddly-05 to -09
    assert {"gtx-1660", "t4", "l40s", "rtx-3060-12gb", "rtx-4090", "a10g", "h100-sxm", "a100-pcie-40gb"} <= set(common)
    assert len(common) > 50


def test_no_listed_field_of_a_common_card_is_open(kb: whygpu.KnowledgeBase, common: list[str]) -> None:
    cards = kb.knowledge.catalogue.accelerators
    found = {identifier: fields for identifier in common if (fields := _open_fields(cards[identifier]))}
    assert found == {}


def test_every_figure_has_a_source(kb: whygpu.KnowledgeBase) -> None:
    for card in kb.knowledge.catalogue.accelerators.values():
        assert [name for name, figure in card.figures.items() if not figure.sources] == [], card.id


def test_no_name_leads_to_cards_of_two_families(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    for name, ids in catalogue.accelerator_names.items():
        assert len({catalogue.accelerators[identifier].family for identifier in ids}) == 1, name


def test_clocks_and_cores_give_the_fp32_rate(kb: whygpu.KnowledgeBase) -> None:
    # two operations per core and clock; what is printed is rounded, or at another clock than the boost
    for card in kb.knowledge.catalogue.accelerators.values():
        cores, clock, rate = card.number("cuda_cores"), card.number("boost_mhz"), card.number("fp32_tflops")
        if cores and clock and rate:
            assert cores * clock * 2e-6 == pytest.approx(rate, rel=0.1), card.id


@pytest.mark.parametrize("path", one_in(4, EXAMPLES, [path.stem for path in EXAMPLES]))
def test_every_plan_of_an_example_is_priced_or_says_why_not(kb: whygpu.KnowledgeBase, path: Path) -> None:
    advice = kb.advise(read_text(path.read_text(encoding="utf-8"), path.name), engine="evaluator").to_dict()
    phases = advice.get("phases", [advice])  # a lifecycle has two
    plans = [plan for phase in phases for plan in (phase["recommendation"], *phase["alternatives"]) if plan is not None]
    assert plans
    for plan in plans:
        assert (plan["cost"] is None) == bool(plan["unpriced"]), plan["id"]
        if plan["cost"] is None:
            against = [rule for verdict in plan["verdicts"] if not verdict["for"] for rule in verdict["rules"]]
            assert {"unknown-price", "nobody-rents-it"} & set(against), plan["id"]


@pytest.mark.parametrize(
    ("identifier", "gib"),
    [
        # total capacity as PyTorch prints it when memory runs out; the issues are named in facts/references
        ("a100-sxm-80gb", 79.25),
        ("h100-sxm", 79.11),
        ("v100-sxm2-32gb", 31.75),
        ("l40", 44.40),
        ("rtx-4090", 23.64),
        ("a10", 21.99),
        ("rtx-a4000", 15.61),
        ("rtx-3070", 7.78),
    ],
)
def test_usable_is_what_the_driver_leaves(kb: whygpu.KnowledgeBase, identifier: str, gib: float) -> None:
    catalogue = kb.knowledge.catalogue
    card = catalogue.accelerators[identifier]
    assert catalogue.usable_bytes(card) / 2**30 == pytest.approx(gib, abs=0.2)
    assert {"nvml-memory", "torch-total-capacity", *card.figures["usable_mib"].sources} == set(
        catalogue.usable_sources(card)
    )


@pytest.mark.parametrize("identifier", ["mi300x", "apple-m2-ultra", "tpu-v5e"])
def test_other_drivers_report_what_they_leave(kb: whygpu.KnowledgeBase, identifier: str) -> None:
    catalogue = kb.knowledge.catalogue
    card = catalogue.accelerators[identifier]
    assert catalogue.usable_bytes(card) == (card.number("usable_mib") or 0) * 2**20


def test_a_boards_memory_is_the_systems_too(kb: whygpu.KnowledgeBase) -> None:
    """Of the 8 GB of an Orin Nano system and runtime take 1.5 to 2 before a model is loaded (edgeaistack.app)."""
    catalogue = kb.knowledge.catalogue
    board = catalogue.accelerators["jetson-orin-nano-super-8gb"]
    assert 6.0e9 < catalogue.usable_bytes(board) < 7.0e9


def test_an_unpriced_card_says_why(kb: whygpu.KnowledgeBase) -> None:
    catalogue: Catalogue = kb.knowledge.catalogue
    prices = PriceList(catalogue)
    reasons = {card: prices.why_none(card) for card in catalogue.accelerators if not prices.price(card, 1, 1)}
    assert reasons["rx-9070-xt"] == "no provider is known to rent it out; only its purchase price is known"
    assert "no provider in the price lists rents it out" in reasons["h20"]
    assert "spot" in reasons["rtx-2080"]


def test_every_card_has_a_price_or_says_why_none_is_known(kb: whygpu.KnowledgeBase) -> None:
    catalogue = kb.knowledge.catalogue
    priced = {item.accelerator for item in catalogue.offerings} | {item.accelerator for item in catalogue.purchases}
    for card in catalogue.accelerators.values():
        assert card.id in priced or card.unpriced, card.id
