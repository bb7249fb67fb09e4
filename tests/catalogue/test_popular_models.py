"""Models in the order in which people are offered them: what the knowledge base says of downloads decides it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from whygpu.knowledge.models import downloads_text, offered, sized_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import whygpu
    from whygpu.knowledge.catalogue import Entry

    Models = Mapping[str, Entry]

USUAL = {
    "language": "llama-3.1-8b",
    "multimodal": "qwen3-vl-8b",
    "embedding": "bge-m3",
    "speech": "whisper-large-v3",
    "image-generation": "stable-diffusion-xl",
    "vision": "yolo11m",
}
"""By task, the model that is assumed."""
CITED = 150
"""So many models, at least, say how often they are downloaded."""


@pytest.fixture
def models(kb: whygpu.KnowledgeBase) -> Models:
    return kb.knowledge.catalogue.models


def _with(models: Models, changes: Mapping[str, Mapping[str, Any]]) -> Models:
    changed = {name: replace(models[name], data={**models[name].data, **new}) for name, new in changes.items()}
    return {**models, **changed}


def _before(models: Models, first: str, second: str, task: str = "language") -> bool:
    order = offered(models, task, USUAL[task])
    return order.index(first) < order.index(second)


@pytest.mark.parametrize("task", USUAL)
def test_the_first_eight_are_of_the_task_usual_first_then_by_downloads(task: str, models: Models) -> None:
    first, *others = offered(models, task, USUAL[task])[:8]
    assert first == USUAL[task]
    assert {models[name].data["task"] for name in others} == {task}
    assert {models[name].data["kind"] for name in others} == {models[first].data["kind"]}
    figures = [models[name].data.get("downloads", 0) for name in others]
    assert figures == sorted(figures, reverse=True)
    assert any(figures)


def test_who_swaps_two_figures_swaps_two_models(models: Models) -> None:
    one, two = "qwen2.5-7b", "mistral-7b"
    assert _before(models, one, two)
    figures = {name: models[name].data["downloads"] for name in (one, two)}
    assert not _before(_with(models, {one: {"downloads": figures[two]}, two: {"downloads": figures[one]}}), one, two)


def test_a_model_without_a_figure_comes_after_and_the_newest_first(models: Models) -> None:
    assert _before(models, "rt-detr-r50", "yolo11n", "vision")
    assert _before(models, "yolo11n", "yolov8n", "vision")  # of 2024 and 2023
    assert _before(models, "yolov8n", "faster-rcnn-r50", "vision")  # of no day that is known
    assert not _before(_with(models, {"yolov8n": {"released": "2026-01-10"}}), "yolo11n", "yolov8n", "vision")
    assert not _before(_with(models, {"yolo11n": {"downloads": 10**9}}), "rt-detr-r50", "yolo11n", "vision")
    assert not _before(_with(models, {"yolo11n": {"downloads": 0}}), "yolo11s", "yolo11n", "vision")


def test_what_only_continues_a_text_is_not_offered_before_what_converses(models: Models) -> None:
    few = models["llama-3.1-405b"].data["downloads"]
    assert models["gpt2"].data["downloads"] > few
    assert _before(models, "llama-3.1-405b", "gpt2")
    assert not _before(_with(models, {"gpt2": {"conversational": True}}), "llama-3.1-405b", "gpt2")


def test_a_task_that_nothing_is_assumed_for_has_an_order_too(models: Models) -> None:
    order = offered(models, "language", "")
    assert sorted(order) == sorted(models)
    assert order[0] == "bert-base"


def test_each_figure_has_a_source_of_its_own_with_a_day(kb: whygpu.KnowledgeBase, models: Models) -> None:
    given = {name: entry for name, entry in models.items() if "downloads" in entry.data}
    assert len(given) >= CITED
    references = kb.knowledge.catalogue.references
    for name, entry in given.items():
        figure = entry.figures["downloads"]
        assert not set(figure.sources) & set(entry.own_sources), name
        assert all(references[source].as_of for source in figure.sources), name
        assert figure.value, name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("llama-3.1-8b", "Llama 3.1 8B"),
        ("gemma-3-1b", "Gemma 3 1B"),
        ("gemma-2b", "Gemma 2B (2.51B)"),
        ("mixtral-8x7b", "Mixtral 8x7B (46.7B)"),
        ("gemma-4-e4b", "Gemma 4 E4B (7.9B)"),
        ("whisper-large-v3", "Whisper large-v3 (1.54B)"),
        ("flux.1-dev", "FLUX.1 dev"),
    ],
)
def test_a_name_says_the_size_once(name: str, text: str, models: Models) -> None:
    assert sized_name(models[name]) == text


@pytest.mark.parametrize(
    ("downloads", "text"),
    [(None, ""), (0, "0 downloads a month"), (886_069, "886,000 downloads a month"), (7.3e6, "7.3M downloads a month")],
)
def test_downloads_are_said_in_three_digits(downloads: float | None, text: str, models: Models) -> None:
    (entry,) = _with({"gpt2": models["gpt2"]}, {"gpt2": {"downloads": downloads}}).values()
    assert downloads_text(entry) == text
