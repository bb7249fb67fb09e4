"""A layout that the answers fix: shards, stages and replicas stay as they are given, whatever the load."""

from __future__ import annotations

import pytest

import whygpu

CHAT = {"phase": "inference", "model": "llama-3.1-70b", "context_tokens": 4096}


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_an_estimate_keeps_the_layout_whatever_the_concurrency(kb: whygpu.KnowledgeBase, concurrency: int) -> None:
    layout = {"tensor_parallel": 4, "pipeline_parallel": 1, "replicas": 2}
    plan = kb.estimate({**CHAT, **layout, "concurrency": concurrency, "accelerators": ["h100-sxm"]})
    assert (plan.parallelism.tensor, plan.parallelism.pipeline, plan.parallelism.data) == (4, 1, 2)
    assert plan.count == 8


def test_without_a_layout_one_request_is_spread_otherwise(kb: whygpu.KnowledgeBase) -> None:
    plan = kb.estimate({**CHAT, "concurrency": 1, "count": 8, "accelerators": ["h100-sxm"]})
    assert plan.parallelism.data == 1


@pytest.mark.parametrize(
    ("layout", "count"),
    [({"tensor_parallel": 2, "pipeline_parallel": 2}, 4), ({"replicas": 5}, 5), ({"tensor_parallel": 8}, 8)],
)
def test_every_plan_is_laid_out_as_asked(kb: whygpu.KnowledgeBase, layout: dict[str, int], count: int) -> None:
    advice = kb.advise({**CHAT, **layout, "concurrency": 16, "accelerators": ["a100-sxm-80gb", "h100-sxm", "h200"]})
    plans = [advice.recommendation, *advice.alternatives]
    assert plans[0] is not None
    for plan in (plan for plan in plans if plan is not None):
        split = plan.parallelism
        held = {"tensor_parallel": split.tensor, "pipeline_parallel": split.pipeline, "replicas": split.data}
        assert layout.items() <= held.items()
        assert plan.count % count == 0


@pytest.mark.parametrize(
    ("answers", "key", "words"),
    [
        ({"tensor_parallel": 4, "replicas": 2, "count": 9}, "count", "takes a multiple of 8"),
        ({"tensor_parallel": 2, "pipeline_parallel": 1, "replicas": 2, "count": 8}, "count", "takes 4 accelerators"),
        ({"tensor_parallel": 8, "replicas": 2, "max_count": 8}, "max_count", "takes 16 accelerators"),
        ({"tensor_parallel": 3}, "tensor_parallel", "does not divide the 64 attention heads"),
        ({"tensor_parallel": 32}, "tensor_parallel", "more than the"),
        ({"pipeline_parallel": 100}, "pipeline_parallel", "more than the 80 layers"),
    ],
)
def test_a_layout_that_cannot_be_is_an_error(
    kb: whygpu.KnowledgeBase, answers: dict[str, int], key: str, words: str
) -> None:
    with pytest.raises(whygpu.AnswerError) as caught:
        kb.advise({**CHAT, **answers})
    assert [problem.code for problem in caught.value.problems] == ["contradiction"]
    assert words in caught.value.problems[0].message
    assert key in str(caught.value.problems[0].message)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"tensor_parallel": 4}, "'tensor_parallel' is 4, which 2x H100 SXM"),
        ({"cache_split": "tokens", "runtime": "vllm"}, "'cache_split' is tokens, which 2x H100 SXM"),  # 8 heads for 2
    ],
    ids=["more shards than cards", "no copies to divide"],
)
def test_a_plan_that_cannot_be_laid_out_as_answered_is_an_error(
    kb: whygpu.KnowledgeBase, answers: dict[str, int | str], words: str
) -> None:
    asked = {"phase": "inference", "model": "llama-3.1-8b", **answers}
    with pytest.raises(whygpu.AnswerError, match=words):
        kb.advise(asked, engine="evaluator").why_not("2x H100 SXM")
    with pytest.raises(whygpu.AnswerError, match="'count' is 2" if "tensor_parallel" in answers else words):
        kb.estimate({**asked, "count": 2, "accelerators": ["h100-sxm"]})


def test_a_layout_for_a_model_without_layers_to_share_is_ignored_with_a_warning(kb: whygpu.KnowledgeBase) -> None:
    advice = kb.advise({"phase": "inference", "model": "resnet-50", "tensor_parallel": 2})
    assert any("tensor_parallel" in warning.text for warning in advice.warnings)


def test_an_estimate_spreads_experts_as_asked(kb: whygpu.KnowledgeBase) -> None:
    """Its state is that of a framework with fused kernels, which keeps gradients in 32 bits."""
    work = {"phase": "training", "model": "qwen3-30b-a3b", "sequence_tokens": 4096, "accelerators": ["h100-sxm"]}
    plan = kb.estimate({**work, "count": 16, "expert_parallel": 16})
    assert (plan.parallelism.expert, plan.parallelism.data, plan.parallelism.sharding) == (16, 16, "zero1")
    assert plan.memory.gradients_gib == pytest.approx(2 * plan.memory.weights_gib)
    assert plan.memory.weights_gib == pytest.approx(2 * (30.53e9 - 28.99e9 * 15 / 16) / 2**30, rel=0.01)
