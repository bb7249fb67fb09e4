"""Answers by the words that people write for them."""

from __future__ import annotations

import pytest

import whygpu
from whygpu.errors import AnswerError


@pytest.mark.parametrize(
    ("key", "word", "meant"),
    [
        ("phase", "serve", "inference"),
        ("phase", "pretraining", "training"),
        ("task", "Chat", "language"),
        ("deployment", "desktop", "workstation"),
        ("ecosystem", "NVIDIA", "cuda"),
    ],
)
def test_another_word_for_a_choice(kb: whygpu.KnowledgeBase, key: str, word: str, meant: str) -> None:
    assert kb.check({key: word}).values[key] == meant


@pytest.mark.parametrize(
    ("word", "meant"), [("Microsoft", "azure"), ("google", "gcp"), ("DataCrunch", "verda"), ("Vast.ai", "vast-ai")]
)
def test_a_provider_by_its_name(kb: whygpu.KnowledgeBase, word: str, meant: str) -> None:
    assert kb.check({"providers": [word]}).providers == (meant,)


@pytest.mark.parametrize("word", ["web", "cloud", "services", "runpods"])
def test_no_provider_is_guessed(kb: whygpu.KnowledgeBase, word: str) -> None:
    with pytest.raises(AnswerError, match=f"'providers' has no '{word}'"):
        kb.check({"providers": [word]})


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("users", ("'people'", "'concurrency'", "at once")),
        ("GPUs", ("'accelerators'", "'owned'")),
        ("budget_monthly", ("'budget_per_hour'", "730 hours")),
        ("cameras", ("'streams'",)),
    ],
)
def test_what_no_answer_is_called_is_told_what_is(kb: whygpu.KnowledgeBase, key: str, told: tuple[str, ...]) -> None:
    with pytest.raises(AnswerError) as caught:
        kb.check({key: 200})
    (problem,) = caught.value.problems
    assert problem.code == "unknown-key"
    for word in told:
        assert word in (problem.help or "")


def test_no_word_stands_for_an_answer_that_there_is(kb: whygpu.KnowledgeBase) -> None:
    known = {spec.answer for spec in kb.knowledge.vocabulary.values() if spec.answer}
    assert not known & kb.knowledge.misnamed.keys()
    assert len(kb.knowledge.misnamed) > 50


def test_hours_of_sound_are_pieces_as_long_as_the_model_hears(kb: whygpu.KnowledgeBase) -> None:
    """Radford et al. 2022 (arXiv:2212.04356), 2.2: Whisper hears 30 seconds at once."""
    work = {"phase": "batch-inference", "model": "whisper-large-v3", "accelerators": ["l4"]}
    hours = kb.advise({**work, "dataset_hours": "10,000 hours"}, engine="evaluator").recommendation
    pieces = kb.advise({**work, "dataset_samples": 1_200_000}, engine="evaluator").recommendation
    assert hours is not None
    assert pieces is not None
    assert hours.speed["train_hours"] == pieces.speed["train_hours"] is not None


def test_hours_and_pieces_are_not_both_the_size(kb: whygpu.KnowledgeBase) -> None:
    with pytest.raises(AnswerError, match="both say how large"):
        kb.check({"dataset_hours": 100, "dataset_samples": 12_000})


@pytest.mark.parametrize(
    "name", ["gpt-4o", "openai/gpt-4o", "ChatGPT", "Claude 3.5 Sonnet", "gemini-2.5-pro", "DALL-E 3", "Sora"]
)
def test_what_only_its_maker_runs_is_told_to_be_so(kb: whygpu.KnowledgeBase, name: str) -> None:
    assert "weights are not published" in kb.knowledge.catalogue.instead_of(name)
    with pytest.raises(AnswerError, match="weights are not published"):
        kb.check({"model": name})


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt-oss-20b", "GPT-J 6B", "gemma-3-4b", "o1x", "gpt4all", "imagenet resnet", "runwayml/sd"]
)
def test_published_weights_are_not(kb: whygpu.KnowledgeBase, name: str) -> None:
    assert "not published" not in kb.knowledge.catalogue.instead_of(name)
