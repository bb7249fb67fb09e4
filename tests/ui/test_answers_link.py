"""What an address says is checked like any answer, and what cannot be used is reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whygpu_ui.answers_link import MAX_LINK, MAX_VALUE, read_link, write_link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu import KnowledgeBase

CONFIG = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "intermediate_size": 14336,
}


def _as_address(query: Mapping[str, str]) -> dict[str, list[str]]:
    return {key: [value] for key, value in query.items()}


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"phase": "inference", "model": "llama-3.1-70b", "concurrency": "8", "task": None},
        {"model": {"parameters": "8B"}, "context_tokens": "32k"},
        {"model": {"config": CONFIG}},
        {"accelerators": ["l4", "a100"], "max_count": "2"},
    ],
)
def test_a_link_gives_back_the_same_answers(answers: dict[str, Any], kb: KnowledgeBase) -> None:
    query, whole = write_link(answers, "answer", kb.knowledge.hash)
    link = read_link(_as_address(query), kb)
    assert whole
    assert not link.problems
    assert (link.page, link.knowledge) == ("answer", kb.knowledge.hash)
    known = {key: value for key, value in answers.items() if value is not None}
    assert kb.advise({key: value for key, value in link.answers.items() if value is not None}).recommendation == (
        kb.advise(known).recommendation
    )
    assert set(link.answers) == set(answers)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"colour": ["blue"]}, "unknown-key"),
        ({"phases.train.method": ["lora"]}, "missing-key"),
        ({"phases": ['{"train":{"phase":"inference"},"serve":{}}']}, "wrong-phase"),
        ({"phases": ['{"train":{"model":{"config":"/etc/passwd"}},"serve":{}}']}, "file-name"),
        ({"concurrency": ["many"]}, "wrong-type"),
        ({"concurrency": ["0"]}, "out-of-range"),
        ({"concurrency": [""]}, "empty"),
        ({"concurrency": ["1", "2"]}, "repeated-key"),
        ({"phase": ["training it"]}, "bad-choice"),
        ({"model": ["no-such-model"]}, "unknown-model"),
        ({"model": ["{parameters: lots}"]}, "bad-model"),
        ({"model": ["{parameters: 8B"]}, "yaml-syntax"),
        ({"model": ["x" * (MAX_VALUE + 1)]}, "too-large"),
        ({"model.config": ["/etc/passwd"]}, "file-name"),
        ({"measured": ['[{"measurement":1,"setup":{"model":{"config":"/etc/passwd"}}}]']}, "file-name"),
        ({"model": ['{"config": "/etc/passwd"}']}, "file-name"),
        ({"": ["x"]}, "bad-setting"),
    ],
)
def test_what_cannot_be_used_is_reported_and_the_rest_is_kept(
    parameters: dict[str, list[str]], code: str, kb: KnowledgeBase
) -> None:
    link = read_link({"task": ["vision"], **parameters}, kb)
    assert [problem.code for problem in link.problems] == [code]
    assert link.answers == {"task": "vision"}


def test_dotted_parameters_reach_inside_as_settings_do(kb: KnowledgeBase) -> None:
    assert read_link({"model.parameters": ["8B"]}, kb).answers == {"model": {"parameters": "8B"}}


def test_an_address_has_a_length_that_servers_take(kb: KnowledgeBase) -> None:
    answers = {"phase": "inference", "model": {"config": {**CONFIG, "note": "x" * MAX_LINK}}}
    query, whole = write_link(answers, "answer", kb.knowledge.hash)
    assert not whole
    assert query["phase"] == "inference"
    assert "model" not in query
    assert len(json.dumps(query)) < MAX_LINK
