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


def test_cards_without_the_units_are_not_tried(kb: KnowledgeBase) -> None:
    found = kb.consult(READERS, engine="evaluator").plans.plan_set
    formats = [found.configurations[number].setup.kv_format for number in found.configuration.tolist()]
    units = found.cards.rates["fp8_tflops"][found.card] > 0
    assert any(formats)
    assert all(has for has, cache in zip(units.tolist(), formats, strict=True) if cache)


def test_a_shorter_cache_is_read_sooner(kb: KnowledgeBase) -> None:
    """One B200 holds it in sixteen bits as well, but not all tokens come in time."""
    agents = {"model": "qwen3-30b-a3b", "concurrency": 20, "context_tokens": 65_536, "output_tokens": 1_500}
    given = {"phase": "inference", **agents, "token_latency_ms": 40, "accelerators": ["b200-sxm"]}
    best = kb.advise(given, engine="evaluator").recommendation
    assert best is not None
    assert (best.count, best.kv_format) == (1, "fp8")
    whole = kb.advise({**given, "quantization": "validated", "kv_format": "bf16"}, engine="evaluator").recommendation
    assert whole is not None
    assert whole.count > 1


def test_cards_that_are_owned_hold_it_in_eight_bits(kb: KnowledgeBase) -> None:
    owned = {"owned": [{"accelerator": "rtx-4090", "count": 4}], "concurrency": 25, "context_tokens": 12_000}
    best = kb.advise({**READERS, **owned}, engine="evaluator").recommendation
    assert best is not None
    assert (best.owned, best.kv_format) == (True, "fp8")


def test_the_command_that_starts_it_says_so(kb: KnowledgeBase) -> None:
    starts = kb.advise({**READERS, "accelerators": ["h200-sxm"]}, engine="evaluator").start
    (vllm,) = [start for start in starts if start.tool == "vllm"]
    assert "--kv-cache-dtype fp8" in str(vllm.text)
