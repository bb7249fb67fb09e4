"""Where the rules that changed have no say in a case, by what it rests on, everything is decided as before."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.errors import KnowledgeBaseError
from whygpu.explain.advice import Advice
from whygpu.lint.grounds import Rules
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.consult.consultation import Consultation

ASKED: tuple[dict[str, Any], ...] = (
    {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 8},
    {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 64, "criticality": "production", "latency_ms": 2000},
    {"phase": "batch-inference", "model": "llama-3.1-8b", "dataset_tokens": 1e9, "deadline_hours": 24},
    {"phase": "inference", "model": "yolo11m", "streams": 16, "frames_per_second": 10, "deployment": "edge"},
    {"phase": "fine-tuning", "model": "llama-3.1-8b", "method": "lora", "dataset_tokens": 1e7},
    {"phase": "training", "model": "yolo11m", "dataset_samples": 1e6, "deployment": "workstation"},
)
SWAPS = (
    *(("==", "!="), ("!=", "=="), (" > ", " < "), (" < ", " > "), (" >= ", " <= "), (" in [", " not in [")),
    *(("prefer:", "avoid:"), ("avoid:", "prefer:"), ("strong", "mild"), ("normal", "strong"), (": true", ": false")),
)
EDITS = 8


def edited(texts: Mapping[str, str], chance: random.Random) -> Iterator[dict[str, str]]:
    """The files with one line of a rule turned round, again and again."""
    names = sorted(name for name in texts if name.startswith("rules/"))
    while True:
        name = chance.choice(names)
        lines = texts[name].split("\n")
        number, (before, after) = chance.randrange(len(lines)), chance.choice(SWAPS)
        if before in lines[number] and lines[number].startswith("  - ") and "given:" not in lines[number]:
            lines[number] = lines[number].replace(before, after, 1)
            yield {**texts, name: "\n".join(lines)}


def decided(consultation: Consultation) -> tuple[object, ...]:
    """All that a case can ask about."""
    advice, session, plans = Advice(consultation), consultation.session, consultation.plans
    return (
        *(advice.status, advice.maker.rows.heads, advice.maker.rows.first),
        *([rule.id for rule in session.fired], sorted(session.origins.items())),
        *(sorted((name, mask.tobytes()) for name, mask in plans.fired.items()), plans.alive.tobytes()),
        *([item.id for item in (*advice.warnings, *advice.advice, *advice.techniques)], plans.unverified.tobytes()),
        *([item.criterion for item in advice.conflicts], [item.question for item in advice.open]),
        [(plan.id, plan.verdicts) for plan in advice.plans],
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_rules_without_a_say_change_nothing(seed: int) -> None:
    chance, texts = random.Random(seed), small_texts()
    kb = KnowledgeBase(load_texts(texts, "kb", REGISTRY))
    rules = Rules(kb.knowledge)
    asked = [kb.consult(answers, engine="evaluator") for answers in ASKED]
    known = [(rules.ground(consultation), decided(consultation)) for consultation in asked]
    borne = others = edits = 0
    for files in edited(texts, chance):
        try:
            other = KnowledgeBase(load_texts(files, "kb", REGISTRY))
        except KnowledgeBaseError:
            continue
        changed = Rules(other.knowledge)
        for answers, (ground, before) in zip(ASKED, known, strict=True):
            if not changed.bear(ground, rules.digests):
                others += 1
                continue
            borne += 1
            assert decided(other.consult(answers, engine="evaluator")) == before
        edits += 1
        if edits == EDITS:
            break
    assert borne >= others > 0
