"""The machines around the cards: what the offerings state that they are priced by."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import whygpu
from whygpu.plans.price import PriceList


@pytest.mark.parametrize(
    ("provider", "accelerator", "gigabytes_s"),
    [
        ("aws", "h100-sxm", 50.0),  # p5.48xlarge: 3,200 Gbit/s for eight cards
        ("gcp", "a100-sxm-80gb", 100 / 8 / 8),  # a2-ultragpu-8g: 100 Gbit/s
        ("lambda", "h100-sxm", 0.0),  # its price list states none
    ],
)
def test_each_card_has_its_part_of_the_machines_network(
    kb: whygpu.KnowledgeBase, provider: str, accelerator: str, gigabytes_s: float
) -> None:
    prices = PriceList(kb.knowledge.catalogue, providers=(provider,))
    assert prices.network_bytes_s(accelerator, 8) == pytest.approx(gigabytes_s * 1e9)


def test_a_slower_network_between_machines_slows_training_over_two(kb: whygpu.KnowledgeBase) -> None:
    answers = {
        "phase": "training",
        "model": "llama-3.1-8b",
        "accelerators": ["a100-sxm-80gb"],
        "count": 16,
        "max_nodes": 2,
        "dataset_tokens": "1B",
        "price_kinds": ["on-demand", "reserved", "spot"],
    }
    hours = []
    for provider in ("aws", "gcp"):  # 400 and 100 Gbit/s a machine
        plans = kb.consult({**answers, "providers": [provider]}, today=datetime.date(2026, 11, 22)).plans.plan_set
        hours.append(float(np.nanmin(plans.speeds.figures["train_hours"])))
    assert hours[1] > 1.05 * hours[0]


def test_one_machine_needs_no_network(kb: whygpu.KnowledgeBase) -> None:
    found = [
        kb.consult({"model": "llama-3.1-8b", "phase": "inference", "providers": [provider]}).plans.plan_set.speeds
        for provider in ("aws", "gcp")
    ]
    assert np.array_equal(found[0].figures["token_ms"], found[1].figures["token_ms"], equal_nan=True)


@pytest.mark.parametrize(
    ("provider", "accelerator", "vcpus"),
    [
        ("azure", "h100-sxm", 12.0),  # Standard_ND96isr_H100_v5: 96 for eight cards
        ("azure", "t4", 4.0),  # Standard_NC4as_T4_v3
        ("lambda", "h100-sxm", 0.0),  # its price list states none
    ],
)
def test_each_card_has_its_part_of_the_hosts_threads(
    kb: whygpu.KnowledgeBase, provider: str, accelerator: str, vcpus: float
) -> None:
    prices = PriceList(kb.knowledge.catalogue, providers=(provider,))
    assert prices.host_vcpus(accelerator) == vcpus
