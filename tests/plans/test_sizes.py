"""What ways of running have in common is sized once, and put together to what each would be sized alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whygpu.checks.memory import training
from whygpu.kept import forget
from whygpu.plans.search import Sizes

if TYPE_CHECKING:
    from whygpu import KnowledgeBase
    from whygpu.checks.memory.activations import Activations
    from whygpu.checks.memory.parts import MemoryParts

WORKS: tuple[dict[str, Any], ...] = (
    {"phase": "inference", "model": "llama-3.1-70b", "requests_per_second": 20, "concurrency": 64},
    {"phase": "batch-inference", "model": "deepseek-v3", "dataset_tokens": 1e9},
    {"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 1e10, "deadline_hours": 100},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "algorithm": "grpo", "dataset_samples": 1e4},
    {"phase": "fine-tuning", "model": "llama-3.1-70b", "method": "qlora", "dataset_tokens": 1e7},
    {"phase": "training", "model": "resnet-50", "dataset_samples": 1e6},
)


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: f"{answers['phase']} {answers['model']}")
def test_a_way_is_sized_as_it_would_be_alone(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    plans = kb.consult(answers, engine="evaluator").plans
    sizes = Sizes(plans.work)
    ways = plans.plan_set.configurations
    assert len(ways) > 5
    for way in ways:
        alone = plans.work.memory(way.setup, way.layout)
        for found in (way.memory, sizes.memory(sizes.number(way.setup), way.setup, way.layout)):
            assert found.ranges == alone.ranges, (way.setup, way.layout)
            assert (found.low, found.total, found.high) == (alone.low, alone.total, alone.high)


@pytest.mark.parametrize("answers", WORKS, ids=lambda answers: f"{answers['phase']} {answers['model']}")
def test_the_sums_found_alone_are_those_of_the_whole(kb: KnowledgeBase, answers: dict[str, Any]) -> None:
    """To the last digit: a batch that a card holds must not depend on which of the two was asked."""
    plans = kb.consult(answers, engine="evaluator").plans
    sizes = Sizes(plans.work)
    for way in plans.plan_set.configurations:
        for times in (1, 2, 16):
            setup = way.setup.but(batch_size=times * way.setup.batch_size, concurrency=times * way.setup.concurrency)
            number = sizes.number(setup)
            need, whole = sizes.need(number, setup, way.layout), sizes.memory(number, setup, way.layout)
            assert need == (whole.total, whole.high, whole.weights, whole.kv_cache), (setup, way.layout)


def test_to_fill_a_card_sizes_in_full_only_what_is_taken(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that was only tried needs one figure: to make the whole of each took a tenth of a training row."""
    forget()
    made = []
    real = training.parts_of

    def counted(held: training.Held, kept: Activations) -> MemoryParts:
        made.append(held)
        return real(held, kept)

    monkeypatch.setattr(training, "parts_of", counted)
    plans = kb.consult({"phase": "training", "model": "llama-3.1-8b", "dataset_tokens": 3e10}, engine="evaluator").plans
    assert made
    assert len(made) < 4 * len(plans.plan_set.configurations)  # 16 for each it was


def test_llama_cpp_leaves_the_token_table_to_hosts_that_have_their_own_memory(kb: KnowledgeBase) -> None:
    """gpt-oss-20b runs on an RTX 3060 of 12 GB (geerling-gpt-oss-20b); a DGX Spark's host has no memory but the card's,
    and vLLM puts the table on the card.
    """
    asked = {"phase": "inference", "model": "gpt-oss-20b", "format": "mxfp4-moe", "runtime": "llama.cpp"}
    plans = kb.consult({**asked, "accelerators": ["rtx-3060-12gb", "dgx-spark"]}, engine="evaluator").plans
    tables: dict[str, set[str]] = {}
    for row in range(len(plans.plan_set)):
        candidate = plans.plan_set.candidate(row)
        tables.setdefault(candidate.accelerator.id, set()).add(candidate.setup.token_table)
    assert tables == {"rtx-3060-12gb": {"host"}, "dgx-spark": {"card"}}
    other = {**asked, "format": "mxfp4", "runtime": "vllm", "accelerators": ["rtx-5090"]}
    ways = kb.consult(other, engine="evaluator").plans.plan_set.configurations
    assert {way.setup.token_table for way in ways} == {"card"}
