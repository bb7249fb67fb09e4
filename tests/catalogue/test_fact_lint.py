"""Each lint of facts: a defect is put into a copy of the knowledge base, and found; the shipped one has none."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

import pytest

from tests.loader.small import real_texts
from whygpu.api import REGISTRY
from whygpu.lint import accelerators, prices
from whygpu.lint.registry import CHECKS, lint
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import whygpu
    from whygpu.errors import Location
    from whygpu.knowledge.base import Knowledge

    Finder = Callable[[Knowledge], Iterable[tuple[Location, str, str]]]

pytestmark = pytest.mark.slow

DATA_CENTRE = "facts/accelerators/nvidia-data-centre.yaml"
CONSUMER = "facts/accelerators/nvidia-consumer.yaml"
AWS = "facts/offerings/aws.yaml"
FACT_LINTS: tuple[Finder, ...] = (
    accelerators.high_rates,
    accelerators.high_bandwidths,
    accelerators.high_links,
    accelerators.odd_memory,
    accelerators.shared_aliases,
    prices.far_prices,
    prices.unpriced,
)


def _changed(file: str, entry: str, old: str, new: str) -> Knowledge:
    """The knowledge base with ``old`` (a pattern) replaced in one entry of a file."""
    text = real_texts()[file]
    start = re.search(rf"(?m)^- \{{?id: {re.escape(entry)}\b", text)
    assert start is not None, entry
    following = re.search(r"(?m)^- ", text[start.end() :])
    end = start.end() + following.start() if following else len(text)
    changed, count = re.subn(old, new, text[start.start() : end], count=1)
    assert count == 1, f"{entry} has no {old}"
    return load_texts({**real_texts(), file: text[: start.start()] + changed + text[end:]}, "kb", REGISTRY)


def _messages(find: Finder, knowledge: Knowledge) -> list[str]:
    return [message for _, message, _ in find(knowledge)]


@pytest.mark.parametrize(
    ("find", "file", "entry", "old", "new", "told"),
    [
        pytest.param(
            accelerators.high_rates,
            DATA_CENTRE,
            "h100-sxm",
            r"fp8_tflops: .*",
            "fp8_tflops: 3958",
            "'fp8_tflops' of accelerator 'h100-sxm' is 59.1 times its FP32 rate",
            id="sparse FP8 of an H100",
        ),
        pytest.param(
            accelerators.high_rates,
            DATA_CENTRE,
            "a100-sxm-80gb",
            r"fp16_tflops: .*",
            "fp16_tflops: 624",
            "'fp16_tflops' of accelerator 'a100-sxm-80gb' is 32 times its FP32 rate",
            id="sparse FP16 of an A100",
        ),
        pytest.param(
            accelerators.high_rates,
            CONSUMER,
            "rtx-4090",
            r"bf16_tflops: .*",
            "bf16_tflops: 330.3",
            "'bf16_tflops' of accelerator 'rtx-4090' is 4 times its FP32 rate",
            id="sparse BF16 of an RTX 4090",
        ),
        pytest.param(
            accelerators.high_bandwidths,
            DATA_CENTRE,
            "l4",
            r"bandwidth_gb_s: .*",
            "bandwidth_gb_s: 2400",
            "'bandwidth_gb_s' of accelerator 'l4'",
            id="bandwidth in Gbit/s",
        ),
        pytest.param(
            accelerators.high_links,
            DATA_CENTRE,
            "h100-sxm",
            r"link_gb_s: .*",
            "link_gb_s: 7200",
            "'link_gb_s' of accelerator 'h100-sxm' is 7.2e+03; of its neighbours",
            id="link in Gbit/s",
        ),
        pytest.param(
            accelerators.odd_memory,
            DATA_CENTRE,
            "a100-sxm-80gb",
            r"usable_mib: .*",
            "usable_mib: 85899",
            "is 85,899, 1.05 times the marketed 80 GB",
            id="more than marketed",
        ),
        pytest.param(
            accelerators.odd_memory,
            DATA_CENTRE,
            "a100-sxm-80gb",
            r"usable_mib: .*",
            "usable_mib: 76294",
            "is 76,294, which is 80 decimal GB turned into MiB",
            id="GB for GiB",
        ),
        pytest.param(
            accelerators.odd_memory,
            DATA_CENTRE,
            "a100-sxm-80gb",
            r"usable_mib: .*",
            "usable_mib: 40960",
            "only 0.5 of the marketed 80 GB",
            id="half the memory",
        ),
        pytest.param(
            accelerators.shared_aliases,
            CONSUMER,
            "rtx-4090",
            r"aliases: \[",
            "aliases: [L40S, ",
            "'L40S' names accelerator",
            id="an alias of another family",
        ),
        pytest.param(
            prices.far_prices,
            AWS,
            "aws-g4dn-xlarge",
            r"usd_per_hour: 0\.526",
            "usd_per_hour: 0.0526",
            "offering 'aws-g4dn-xlarge' is $0.0526 an hour for one 't4'",
            id="a slipped decimal point",
        ),
        pytest.param(
            prices.far_prices,
            AWS,
            "aws-p4d-24xlarge",
            r"count: 8",
            "count: 1",
            "offering 'aws-p4d-24xlarge' is $",
            id="a price of eight taken for one",
        ),
    ],
)
def test_a_seeded_defect_is_found(find: Finder, file: str, entry: str, old: str, new: str, told: str) -> None:
    found = _messages(find, _changed(file, entry, old, new))
    assert any(told in message for message in found), found


def test_a_reason_settles_it() -> None:
    """``because`` beside a figure says that somebody has looked."""
    reason = 'fp8_tflops: {is: 3958, source: techpowerup, because: "seen on the silicon"}'
    assert _messages(accelerators.high_rates, _changed(DATA_CENTRE, "h100-sxm", r"fp8_tflops: .*", reason)) == []


def test_a_suspect_price_is_let_through() -> None:
    knowledge = _changed(AWS, "aws-g4dn-xlarge", r"usd_per_hour: 0\.526", "usd_per_hour: 0.0526, suspect: a typo")
    assert _messages(prices.far_prices, knowledge) == []


def test_old_and_undated_prices_are_counted(kb: whygpu.KnowledgeBase) -> None:
    later = [item.message for item in lint(kb.knowledge, date(2030, 1, 1)) if item.code == "stale-price"]
    now = [message for _, message, _ in prices.stale_prices(kb.knowledge, date(2026, 6, 1))]
    assert sum(_leading_number(message) for message in later) > sum(_leading_number(message) for message in now) > 0
    assert any("t4" in message for message in later), "every price gets old"
    assert any("tpu-v5e" in message for message in now), "an undated price is never fresh"


def _leading_number(message: str) -> int:
    return int(message.partition(" ")[0])


def test_a_card_without_a_price_is_named() -> None:
    card = re.search(r"(?ms)^- id: a2$.*?(?=^- )", real_texts()[DATA_CENTRE])
    assert card is not None
    mine = card.group().replace("id: a2", "id: our-card").replace("name: A2", "name: Our card")
    mine = re.sub(r"  unpriced: .*\n", "", mine)
    mine = re.sub(r"family: .*", "family: Our card", re.sub(r"aliases: .*", "aliases: []", mine))
    texts = {**real_texts(), "facts/accelerators/own.yaml": "accelerators:\n" + mine}
    assert "no price to rent or buy is known of our-card" in _messages(
        prices.unpriced, load_texts(texts, "kb", REGISTRY)
    )


def test_without_limits_nothing_is_judged() -> None:
    """A knowledge base that does not say what is plausible is not looked at."""
    texts = {name: text for name, text in real_texts().items() if name != "facts/plausibility.yaml"}
    knowledge = load_texts(texts, "kb", REGISTRY)
    for find in FACT_LINTS:
        if find not in (accelerators.shared_aliases, prices.unpriced):
            assert _messages(find, knowledge) == []
    assert list(prices.stale_prices(knowledge, date(2030, 1, 1))) == []


def test_the_shipped_facts_are_clean(kb: whygpu.KnowledgeBase) -> None:
    for find in FACT_LINTS:
        if find is not prices.unpriced:
            assert _messages(find, kb.knowledge) == []


def test_what_makes_answers_wrong_is_an_error() -> None:
    severity = {check.code: check.severity for check in CHECKS}
    assert {severity[code] for code in ("high-rate", "high-bandwidth", "high-link", "odd-memory", "shared-alias")} == {
        "error"
    }
    assert {severity[code] for code in ("far-price", "stale-price", "no-price")} == {"warning"}
