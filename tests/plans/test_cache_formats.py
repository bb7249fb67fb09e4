"""Caches in another number format are tried where rules consider them, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whygpu.render.words import sentence

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

READERS: dict[str, Any] = {"phase": "inference", "model": "qwen3-32b", "concurrency": 50, "context_tokens": 32_000}


def test_a_large_cache_is_tried_in_eight_bits_too(kb: KnowledgeBase) -> None:
    """vllm-quantized-kv-cache: the same cards hold twice the tokens."""
    given = {**READERS, "accelerators": ["rtx-pro-6000-blackwell-server"]}
    best = kb.advise(given, engine="evaluator").recommendation
    assert best is not None
    assert best.kv_format == "fp8"
    assert "cache in FP8" in sentence(best)
    assert "-kv-fp8" in best.id
    whole = [plan for plan in best.variants if plan.kv_format is None and plan.format == best.format]
    assert whole
    assert min(plan.count for plan in whole) > best.count


@pytest.mark.parametrize(
    "changed",
    [
        {"context_tokens": 2_000},
        {"quantization": "forbidden"},
        {"runtime": "llama.cpp"},
        {"accelerators": ["a100-sxm4-80gb"]},
        {"kv_format": "bf16"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_it_is_left_in_sixteen_bits(kb: KnowledgeBase, changed: dict[str, Any]) -> None:
    """Where it is small, where fewer bits are forbidden, unknown to the stack or the card, or where it is answered."""
    best = kb.advise({**READERS, **changed}, engine="evaluator").recommendation
    assert best is not None
    assert best.kv_format == changed.get("kv_format")


def test_it_is_tried_only_where_it_spares_cards(kb: KnowledgeBase) -> None:
    """Eight cards that hold it in sixteen bits are no fewer with one that is coarser."""
    given = {**READERS, "accelerators": ["h200-sxm"]}
    formats = {way.setup.kv_format for way in kb.consult(given, engine="evaluator").plans.plan_set.configurations}
    assert {None if item is None else item.id for item in formats} == {None, "fp8"}
    eight = kb.consult({**given, "count": 8}, engine="evaluator").plans.plan_set
    assert eight.fits.all()
    assert {way.setup.kv_format for way in eight.configurations} == {None}


def test_cards_that_are_owned_hold_it_in_eight_bits(kb: KnowledgeBase) -> None:
    owned = {"owned": [{"accelerator": "rtx-4090", "count": 4}], "concurrency": 25, "context_tokens": 12_000}
    best = kb.advise({**READERS, **owned}, engine="evaluator").recommendation
    assert best is not None
    assert (best.owned, best.kv_format) == (True, "fp8")


def test_the_command_that_starts_it_says_so(kb: KnowledgeBase) -> None:
    starts = kb.advise({**READERS, "accelerators": ["h200-sxm"]}, engine="evaluator").start
    (vllm,) = [start for start in starts if start.tool == "vllm"]
    assert "--kv-cache-dtype fp8" in str(vllm.text)
