"""What is owned decides what is assumed."""

from __future__ import annotations

from typing import Any

import pytest

import whygpu

SERVE = {"phase": "inference", "model": "llama-3.1-8b"}


def _assumed(kb: whygpu.KnowledgeBase, **answers: Any) -> dict[str, Any]:
    found = kb.advise({**SERVE, **answers}).consultation.applied.assumed
    return {item.question.id: item.value for item in found}


@pytest.mark.parametrize(
    ("card", "count", "deployment"),
    [
        ("rtx-3090", 1, "workstation"),
        ("rtx-a6000", 4, "workstation"),
        ("apple-m4-max", 1, "workstation"),
        ("rtx-3090", 8, "cloud"),
        ("a100-pcie-40gb", 2, "on-prem"),
        ("jetson-orin-nano-super", 1, "edge"),
    ],
)
def test_where_it_stands_follows_from_what_it_is_made_for(
    kb: whygpu.KnowledgeBase, card: str, count: int, deployment: str
) -> None:
    assert _assumed(kb, owned=[{"accelerator": card, "count": count}])["deployment"] == deployment


def test_the_class_of_most_counts(kb: whygpu.KnowledgeBase) -> None:
    owned = [{"accelerator": "rtx-3090", "count": 2}, {"accelerator": "l4", "count": 1}]
    assert _assumed(kb, owned=owned)["deployment"] == "workstation"


def test_what_may_not_be_used_decides_nothing(kb: whygpu.KnowledgeBase) -> None:
    owned = [{"accelerator": "rtx-3090", "count": 1}]
    assert _assumed(kb, owned=owned, provider_classes=["hyperscaler"])["deployment"] == "cloud"


def test_many_requests_on_ones_own_cards_are_served_as_a_service_is(kb: whygpu.KnowledgeBase) -> None:
    assumed = _assumed(kb, concurrency=16, owned=[{"accelerator": "rtx-4090", "count": 2}])
    assert (assumed["criticality"], assumed["runtime"]) == ("development", "vllm")
    mac = _assumed(kb, concurrency=16, owned=[{"accelerator": "apple-m4-max", "count": 1}])
    assert mac["runtime"] == "llama.cpp"
    assert "host" not in mac or mac["host"] == "new"


def test_a_word_of_another_answer_is_told_by_that(kb: whygpu.KnowledgeBase) -> None:
    with pytest.raises(whygpu.AnswerError, match="a choice of 'algorithm'"):
        kb.advise({"phase": "fine-tuning", "method": "grpo", "model": "llama-3.1-8b"})


def test_a_short_name_lists_the_longer_ones(kb: whygpu.KnowledgeBase) -> None:
    with pytest.raises(whygpu.AnswerError, match="Mac Studio M3 Ultra"):
        kb.advise({**SERVE, "owned": [{"accelerator": "Mac Studio", "count": 1}]})


@pytest.mark.parametrize(
    ("said", "card"),
    [
        ("Mac Studio M2 Ultra 192GB", "apple-m2-ultra"),
        ("MacBook Pro M3 Max 64GB", "apple-m3-max-64gb"),
        ("MacBook Pro M4 Max 64GB", "apple-m4-max-64gb"),
        ("Mac mini M4 Pro 48GB", "apple-m4-pro-48gb"),
    ],
)
def test_a_mac_goes_by_the_name_on_its_box(kb: whygpu.KnowledgeBase, said: str, card: str) -> None:
    assert kb.check({**SERVE, "owned": [{"accelerator": said, "count": 1}]}).owned == ((card, 1),)


def test_what_is_owned_is_told_of_the_method_that_it_holds(kb: whygpu.KnowledgeBase) -> None:
    """24 GB hold FLUX.1 in eight bits beside adapters (ai-toolkit-24gb), where offloading was all that was named."""
    asked = {"phase": "fine-tuning", "task": "image-generation", "model": "flux.1-dev", "method": "lora"}
    found = kb.advise({**asked, "dataset_samples": 2000, "owned": [{"accelerator": "rtx-4090", "count": 1}]})
    (text,) = (item.text for item in found.warnings if item.id == "owned-out-rtx-4090")
    assert "method = qlora would allow it" in text
