"""What divides the cache of a plan: by heads as long as that does, by tokens or requests where the stack can."""

from __future__ import annotations

import pytest

import whygpu
from whygpu.errors import AnswerError

CHAT = {"phase": "inference", "model": "deepseek-r1", "accelerators": ["h200-sxm"], "context_tokens": 16_384}


@pytest.mark.parametrize("split", ["heads", "tokens", "requests"])
def test_an_estimate_divides_the_cache_as_asked(kb: whygpu.KnowledgeBase, split: str) -> None:
    plan = kb.estimate({**CHAT, "concurrency": 16, "count": 8, "tensor_parallel": 8, "cache_split": split})
    assert plan.parallelism.cache_split == split
    assert plan.parallelism.tensor == 8


def test_copies_are_tried_first(kb: whygpu.KnowledgeBase) -> None:
    found = [
        kb.estimate({**CHAT, "concurrency": requests, "count": 8, "tensor_parallel": 8}).parallelism.cache_split
        for requests in (4, 64)
    ]
    assert found == ["heads", "tokens"]


@pytest.mark.parametrize("split", ["tokens", "requests"])
def test_every_plan_divides_the_cache_as_asked(kb: whygpu.KnowledgeBase, split: str) -> None:
    advice = kb.advise({**CHAT, "concurrency": 64, "cache_split": split, "accelerators": ["h200-sxm", "b200"]})
    plans = [plan for plan in (advice.recommendation, *advice.alternatives) if plan is not None]
    assert plans
    assert {plan.parallelism.cache_split for plan in plans} == {split}


def test_a_divided_cache_takes_no_more_cards(kb: whygpu.KnowledgeBase) -> None:
    """What copies need two machines for, one holds."""
    asked = {**CHAT, "concurrency": 96}
    copies, any_way = (kb.advise({**asked, **more}).recommendation for more in ({"cache_split": "heads"}, {}))
    assert copies is not None
    assert any_way is not None
    assert any_way.count <= copies.count
    assert (any_way.count, any_way.parallelism.cache_split != "heads") == (8, True)


@pytest.mark.parametrize(
    ("answers", "split"),
    [
        ({"runtime": "transformers"}, "tokens"),
        ({"runtime": "transformers"}, "requests"),
        ({"runtime": "tensorrt-llm"}, "tokens"),
        ({"model": "deepseek-v3.2"}, "tokens"),
        ({"model": "llama-3.1-70b"}, "requests"),
        ({"model": "gpt-oss-120b"}, "tokens"),
    ],
)
def test_what_no_stack_divides_is_refused(kb: whygpu.KnowledgeBase, answers: dict[str, str], split: str) -> None:
    with pytest.raises(AnswerError) as caught:
        kb.advise({**CHAT, "concurrency": 64, **answers, "cache_split": split})
    (problem,) = caught.value.problems
    assert problem.code == "contradiction"
    assert f"is not divided by {split}" in problem.message


@pytest.mark.parametrize(
    ("split", "flags", "without"),
    [
        ("heads", ["--tensor-parallel-size 8", "--max-num-seqs 64"], "context-parallel"),
        ("tokens", ["--tensor-parallel-size 8", "--decode-context-parallel-size 8", "--max-num-seqs 64"], "data-par"),
        ("requests", ["--data-parallel-size 8", "--enable-expert-parallel", "--max-num-seqs 8"], "--tensor-parallel"),
    ],
)
def test_vllm_is_started_so(kb: whygpu.KnowledgeBase, split: str, flags: list[str], without: str) -> None:
    """vllm-context-parallel; vllm-data-parallel: --max-num-seqs is for each rank."""
    asked = {**CHAT, "concurrency": 64, "context_tokens": 4096, "tensor_parallel": 8, "cache_split": split}
    text = next(start.text for start in kb.advise(asked).start if start.tool == "vllm")
    assert text is not None
    assert all(flag in text for flag in flags)
    assert without not in text


def test_sglang_is_started_so(kb: whygpu.KnowledgeBase) -> None:
    """sglang-dp-attention: the requests are those of all ranks."""
    for split, flag in (("tokens", "--dcp-size 8"), ("requests", "--attn-dp-size 8")):
        asked = {**CHAT, "concurrency": 64, "runtime": "sglang", "tensor_parallel": 8, "cache_split": split}
        text = next(start.text for start in kb.advise(asked).start if start.tool == "sglang")
        assert text is not None
        assert f"--tensor-parallel-size 8 \\\n  {flag}" in text
        assert "--max-running-requests 64" in text


def test_grouped_heads_are_divided_by_tokens_on_vllm_alone(kb: whygpu.KnowledgeBase) -> None:
    """vllm-context-parallel: four key/value heads on eight cards, two cards to a head."""
    asked = {**CHAT, "model": "qwen3-235b-a22b", "concurrency": 64, "tensor_parallel": 8, "cache_split": "tokens"}
    starts = {start.tool: start for start in kb.advise(asked).start}
    assert "--decode-context-parallel-size 2" in (starts["vllm"].text or "")
    assert starts["sglang"].text is None
    assert "does not divide" in (starts["sglang"].cannot or "")
