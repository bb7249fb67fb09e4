"""What is kept from one consultation to the next changes no answer: of other answers, rules, prices or models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from whygpu.chain.names import EngineName

SERVING: dict[str, Any] = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8}
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"budget_per_hour": 3.0},
    {"criticality": "mission-critical"},
    {"priority": "latency"},
    {"latency_ms": 300.0},
    {"latency_ms": 300.0, "token_latency_ms": 30.0},
    {"concurrency": 64},
    {"deployment": "on-prem"},
    {"runtime": "llama.cpp"},
    {"accelerators": ["l4", "t4"]},
    {"phase": "fine-tuning", "concurrency": None, "method": "lora"},
)
ENGINES: tuple[EngineName, ...] = ("durable", "evaluator")


def loaded(folder: str = "", before: str = "", after: str = "") -> KnowledgeBase:
    """A small knowledge base of its own; with something else in the texts of one folder."""
    texts = dict(small_texts())
    changed = {name: text.replace(before, after) for name, text in texts.items() if before and name.startswith(folder)}
    assert not before or any(text != texts[name] for name, text in changed.items())
    texts |= changed
    return KnowledgeBase(load_texts(texts, "kb", REGISTRY, cases=False))


def told(kb: KnowledgeBase, engine: EngineName, **answers: object) -> str:
    given = {key: value for key, value in answers.items() if value is not None}
    return json.dumps(kb.advise(given, engine=engine).to_dict())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_an_answer_does_not_hang_on_those_before(engine: EngineName) -> None:
    """Each set of answers, asked of a knowledge base that answered all others before, and of one that answered none."""
    used = loaded()
    for change in (*CHANGES, *reversed(CHANGES)):
        told(used, engine, **{**SERVING, **change})
    for change in CHANGES[1::4]:
        assert told(used, engine, **{**SERVING, **change}) == told(loaded(), engine, **{**SERVING, **change})


@pytest.mark.parametrize(
    "change",
    [
        ("rules/", "strength: strong", "strength: mild"),
        ("facts/offerings/", "usd_per_hour: 1", "usd_per_hour: 2"),
        ("facts/models/", "parameters: 8030261248", "parameters: 9030261248"),
    ],
    ids=["rules", "prices", "models"],
)
@pytest.mark.slow
def test_one_beside_another_is_told_apart(change: tuple[str, str, str]) -> None:
    one, other = loaded(), loaded(*change)
    before, after = told(one, "evaluator", **SERVING), told(other, "evaluator", **SERVING)
    assert before != after
    assert told(one, "evaluator", **SERVING) == before
    assert told(other, "evaluator", **SERVING) == after
