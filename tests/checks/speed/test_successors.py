"""A card that has more operations and bandwidth than its predecessor is not slower at anything.

No published number: it holds by what the cards are, whatever the coefficients say of either.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.checks.conftest import FACTS, Facts, read
from whygpu.checks.setup import HALF, CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.inference import InferenceWork

LINES = (
    ("rtx-3090", "rtx-4090", "rtx-5090"),
    ("rtx-a6000", "rtx-6000-ada", "rtx-pro-6000-max-q", "rtx-pro-6000-workstation"),
    ("a40", "l40s", "rtx-pro-6000-server"),
    ("a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200"),
    ("mi300x", "mi325x", "mi355x"),
)
PAIRS = [pair for line in LINES for pair in pairwise(line)]


def plain(value: object) -> float:
    found = value.get("is") if isinstance(value, dict) else value
    return float(found) if isinstance(found, int | float) else float("nan")


@pytest.fixture(scope="module")
def cards() -> dict[str, Device]:
    entries = [card for path in sorted((FACTS / "accelerators").glob("*.yaml")) for card in read(path)["accelerators"]]
    wanted = {card for line in LINES for card in line}
    return {entry["id"]: device(entry) for entry in entries if entry["id"] in wanted}


def device(entry: dict[str, object]) -> Device:
    rate = next(plain(entry[name]) for name in HALF) * 1e12
    kinds = CardKind(
        str(entry["generation"]),
        str(entry["class"]),
        memory=str(entry["memory_type"]),
        software=str(entry.get("software") or ("rocm" if entry["vendor"] == "amd" else "cuda")),
    )
    return Device.of(
        plain(entry["bandwidth_gb_s"]) * 1e9,
        rate,
        half_flops_s=rate,
        power_w=plain(entry["tdp_w"]),
        kinds=kinds,
    )


def seconds(facts: Facts, card: Device) -> dict[str, float]:
    serve = Setup(facts.formats["bf16"], context_tokens=8192, output_tokens=512, runtime="vllm")
    served = speed.estimate(facts.shape("qwen3-8b"), serve, ParallelLayout(), card, facts.coefficients).work
    assert isinstance(served, InferenceWork)
    found = {"prefill": float(served.prefill.total_s[0, 0]), "decode": float(served.decode.step_s[0, 0])}
    for name, model, setup in (
        ("vision", "vit-l-16", Setup(facts.formats["fp16"], runtime="transformers", batch_size=64)),
        ("images", "stable-diffusion-xl", Setup(facts.formats["bf16"], runtime="transformers", batch_size=1)),
        ("training", "qwen3-8b", Setup(facts.formats["bf16"], phase="training", batch_size=4, context_tokens=4096)),
    ):
        done = speed.estimate(facts.shape(model), setup, ParallelLayout(), card, facts.coefficients)
        rates = {item.name: item.value for item in done.calculations()}
        found[name] = rates["step_s"] if "step_s" in rates else rates["batch_s"]
    return found


@pytest.mark.parametrize(("older", "newer"), PAIRS)
def test_a_successor_is_not_slower(facts: Facts, cards: dict[str, Device], older: str, newer: str) -> None:
    before, after = seconds(facts, cards[older]), seconds(facts, cards[newer])
    slower = {name: (before[name], after[name]) for name in before if after[name] > 1.02 * before[name]}
    assert not slower
