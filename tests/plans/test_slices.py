"""Counts that can be rented where accelerators come in slices (Google Cloud: TPU configurations)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from whygpu.checks.setup import ParallelLayout
from whygpu.errors import AnswerError
from whygpu.plans.slices import Slices

if TYPE_CHECKING:
    from whygpu import KnowledgeBase

V5E = (1, 4, 8, 16, 32, 64, 128, 256)
V5P = (4, 8, 16, 32, 64, 128, 192, 256)
"""Those of the tables up to 256 chips, and cubes of 64 (4x4x12 is three)."""


@pytest.mark.parametrize(
    ("card", "sizes"), [("tpu-v5e", V5E), ("tpu-v6e", V5E), ("tpu-v5p", V5P), ("tpu-v4", V5P), ("tpu-v7", V5P)]
)
def test_slices_are_those_of_googles_tables(kb: KnowledgeBase, card: str, sizes: tuple[int, ...]) -> None:
    slices = Slices.of(kb.knowledge.catalogue.accelerators[card])
    assert slices is not None
    assert tuple(cards for cards in range(1, 257) if slices.has(cards)) == sizes


def test_gpus_come_in_any_count(kb: KnowledgeBase) -> None:
    assert Slices.of(kb.knowledge.catalogue.accelerators["h100-sxm"]) is None


@pytest.mark.parametrize(
    ("tensor", "data", "trains", "whole"),
    [
        (1, 3, False, True),  # three slices of one chip
        (2, 1, False, False),  # no slice has two
        (2, 2, False, True),
        (4, 3, False, True),
        (1, 12, True, False),  # a job lies in one slice
        (1, 16, True, True),
        (1, 512, True, True),  # Multislice: two of the largest
        (1, 384, True, False),
    ],
)
def test_replicas_take_slices_of_their_own_and_a_job_one(tensor: int, data: int, trains: bool, whole: bool) -> None:
    slices = Slices(4, 256, single=True)
    layout = ParallelLayout(tensor, 1, data)
    assert slices.rentable(layout, trains) == whole
    rounded = slices.replicas(layout, trains)
    assert slices.rentable(layout.over(rounded), trains)
    assert (rounded == data) == whole


@pytest.mark.parametrize(("cards", "near"), [(2, (1, 4)), (3, (1, 4)), (24, (16, 32)), (300, (256, 512))])
def test_the_slices_next_to_a_count(cards: int, near: tuple[int, ...]) -> None:
    assert Slices(4, 256, single=True).nearest(cards) == near


@pytest.mark.parametrize("limit", [{"max_nodes": 3}, {"max_count": 11}, {"max_nodes": 19}])
def test_a_job_on_whole_slices_keeps_its_limits(kb: KnowledgeBase, limit: dict[str, int]) -> None:
    """Found by random answers: rounded up to a slice, a job took four machines of three."""
    answers = {"phase": "training", "model": "llama-2-7b", "framework": "jax", "ecosystem": "any", **limit}
    plans = kb.consult({**answers, "dataset_tokens": 1e11}, engine="evaluator").plans.plan_set
    tpus = {row for row, card in enumerate(plans.cards.accelerators) if card.id.startswith("tpu")}
    rows = [row for row in range(len(plans)) if int(plans.card[row]) in tpus]
    assert rows
    for row in rows:
        plan = plans.candidate(row)
        assert plan.layout.nodes <= limit.get("max_nodes", 256)
        assert plan.layout.cards <= limit.get("max_count", 10_000)


def test_where_the_smallest_slice_is_larger() -> None:
    assert Slices(4, 64, single=False).nearest(1) == (4,)


@pytest.mark.parametrize(
    ("answers", "near"),
    [
        ({"phase": "training", "model": "gpt2", "accelerators": ["tpu-v5e"], "count": 3}, "1 or 4"),
        ({"phase": "inference", "model": "llama-3.1-8b", "accelerators": ["tpu-v5p"]}, "to 4"),
        ({"phase": "inference", "model": "llama-3.1-70b", "accelerators": ["tpu-v5p"], "count": 6}, "4 or 8"),
    ],
)
def test_an_estimate_of_what_nobody_rents_names_the_nearest(
    kb: KnowledgeBase, answers: dict[str, Any], near: str
) -> None:
    with pytest.raises(AnswerError) as caught:
        kb.estimate(answers, engine="evaluator")
    (problem,) = caught.value.problems
    assert problem.code == "no-such-slice"
    assert near in (problem.help or "")


def test_an_estimate_of_whole_slices(kb: KnowledgeBase) -> None:
    """Three replicas lie in three slices of one chip."""
    small = {"phase": "inference", "model": "qwen2.5-0.5b", "concurrency": 3, "accelerators": ["tpu-v5e"]}
    assert kb.estimate({**small, "count": 3}, engine="evaluator").count == 3
    assert kb.estimate({**small, "count": 4}, engine="evaluator").count == 4
