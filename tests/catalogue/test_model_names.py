"""Models as people type them: with and without the maker, short, with words that change no size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whygpu.knowledge.names import shortened, without_maker

if TYPE_CHECKING:
    import whygpu
    from whygpu.knowledge.catalogue import Catalogue


@pytest.fixture
def catalogue(kb: whygpu.KnowledgeBase) -> Catalogue:
    return kb.knowledge.catalogue


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        ("Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("Qwen3.6-27B", "qwen3.5-27b"),
        ("Kimi K2.6", "kimi-k2.5"),
        ("GLM-5.1", "glm-5"),
        ("MiniMax M2.7", "minimax-m2.5"),
        ("Qwen3-Coder-Next", "qwen3-next-80b-a3b"),
        ("Mistral Small 3.2", "mistral-small-3.2-24b"),
        ("qwen3:32b", "qwen3-32b"),
        ("Qwen3-VL-8B-Instruct", "qwen3-vl-8b"),
        ("Wan 2.1 14B", "wan2.1-t2v-14b"),
        ("esm2_t33_650M", "esm2-650m"),
        ("Qwen3 8B Thinking", "qwen3-8b"),
    ],
)
def test_names_that_people_type(catalogue: Catalogue, typed: str, model: str) -> None:
    assert catalogue.find_models(typed) == (model,)


@pytest.mark.parametrize(
    ("typed", "models"),
    [
        ("mixtral", {"mixtral-8x7b", "mixtral-8x22b"}),
        ("GPT-OSS", {"gpt-oss-20b", "gpt-oss-120b"}),
        ("gemma 3", {"gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b"}),
    ],
)
def test_a_name_short_for_several_names_all_of_them(catalogue: Catalogue, typed: str, models: set[str]) -> None:
    assert set(catalogue.find_models(typed)) == models


@pytest.mark.parametrize(
    "typed", ["7B", "large", "Qwen9-Coder-30B-A3B", "claude", "", "-", "instruct", "Qwen3-32B-AWQ"]
)
def test_what_is_no_name_or_says_more_than_one_names_nothing(catalogue: Catalogue, typed: str) -> None:
    assert catalogue.find_models(typed) == ()


def test_an_exact_name_is_not_short_for_longer_ones(catalogue: Catalogue) -> None:
    assert catalogue.find_models("GLM-4.5") == ("glm-4.5",)
    assert catalogue.find_models("whisper-large-v3") == ("whisper-large-v3",)


def test_the_maker_is_left_out_only_before_a_slash() -> None:
    assert without_maker(("Qwen/Qwen3-8B", "bert-base")) == ("Qwen/Qwen3-8B", "bert-base", "Qwen3-8B")


def test_the_first_word_must_be_the_names_first() -> None:
    names = {"one": ["Alpha Small 3.2 24B"], "two": ["Beta Alpha 3.2"]}
    assert shortened("alpha 3.2", names) == ("one",)
    assert shortened("alpha 3.2 24b q4", names) == ()


def test_a_version_is_short_for_its_sizes() -> None:
    names = {name: (name,) for name in ("yolov8n", "yolov8x", "yolov8m-seg", "yolo11n", "alpha-8b")}
    assert shortened("YOLOv8", names) == ("yolov8n", "yolov8x", "yolov8m-seg")
    assert shortened("YOLO11", names) == ("yolo11n",)
    assert shortened("alpha 8", names) == ()  # of which size is a guess


@pytest.mark.parametrize(
    ("typed", "model"),
    [
        ("qwen3.6:27b-mlx", "qwen3.5-27b"),
        ("glm-4.7-flash:latest", "glm-4.7-flash"),
        ("gemma-4-26B-A4B-it-QAT", "gemma-4-26b-a4b"),
    ],
)
def test_words_of_packaging_change_no_size(catalogue: Catalogue, typed: str, model: str) -> None:
    assert catalogue.find_models(typed) == (model,)


@pytest.mark.parametrize(
    ("typed", "answers"),
    [
        ("Qwen/Qwen3-32B-AWQ", "answer 'model: qwen3-32b' and 'format: awq-int4'"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "answer 'model: llama-3.3-70b' and 'format: fp8'"),
        ("Qwen3-8B-GPTQ-Int4", "answer 'model: qwen3-8b' and 'format: gptq-int4'"),
        ("unsloth/Qwen3.6-27B-GGUF", "answer 'model: qwen3.5-27b'"),
        ("someone/Qwen3-8B-mine", ""),
        ("", ""),
    ],
)
def test_packed_weights_are_said_as_a_model_and_its_format(catalogue: Catalogue, typed: str, answers: str) -> None:
    """Whoever names them wants that format too: it is told, and nothing is assumed."""
    assert catalogue.instead_of(typed) == answers
