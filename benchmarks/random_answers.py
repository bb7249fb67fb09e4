"""Random answers of every kind, for properties that hold whatever is asked: sensible, extreme and mixed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from whygpu.answers import LISTS, allowed_words

if TYPE_CHECKING:
    import random

    from whygpu import KnowledgeBase
    from whygpu.language.names import NameSpec

USUAL: dict[str, tuple[float, float]] = {
    "context_tokens": (256, 131_072),
    "average_context_tokens": (64, 16_384),
    "output_tokens": (1, 4_096),
    "concurrency": (1, 2_000),
    "requests_per_second": (0.01, 500),
    "streams": (1, 500),
    "frames_per_second": (1, 60),
    "resolution": (64, 4_096),
    "input_resolution": (64, 4_096),
    "latency_ms": (20, 20_000),
    "token_latency_ms": (5, 500),
    "batch_size": (1, 256),
    "sequence_tokens": (64, 32_768),
    "gradient_accumulation": (1, 64),
    "lora_rank": (4, 256),
    "adapters": (1, 64),
    "dataset_tokens": (1e5, 1e12),
    "dataset_samples": (1e3, 1e9),
    "epochs": (1, 100),
    "deadline_hours": (1, 2_000),
    "service_months": (1, 60),
    "training_runs": (1, 20),
    "retrain_months": (1, 12),
    "count": (1, 64),
    "tensor_parallel": (1, 8),
    "pipeline_parallel": (1, 4),
    "replicas": (1, 16),
    "max_count": (1, 256),
    "max_nodes": (1, 32),
    "budget_per_hour": (0.1, 500),
    "budget_total": (5, 1e6),
    "power_watts": (15, 20_000),
}
"""What is often asked (of a resolution, its side); the vocabulary's own bounds are tried too."""
PARTS = ("count", "tensor_parallel", "pipeline_parallel", "replicas")
"""Answers about the layout: random ones hardly ever agree, so few sets have them."""


def draw(random: random.Random, kb: KnowledgeBase) -> dict[str, Any]:
    """One set of answers, in random order. It may contradict itself: then the knowledge base must say so."""
    specs = kb.knowledge.name_by_answer
    share = random.choice((0.05, 0.15, 0.3, 0.6))
    answers: dict[str, Any] = {"phase": random.choice(specs["phase"].words)} if random.random() < 0.95 else {}
    if random.random() < 0.9:
        answers["model"] = _model(random, kb)
    for key, spec in specs.items():
        if key in ("phase", "model") or random.random() > (share / 10 if key in PARTS else share):
            continue
        answers[key] = _value(random, spec)
    for key in LISTS:
        if random.random() < share / 3:
            answers[key] = _list(random, kb, key)
    if random.random() < share / 3:
        answers["owned"] = [_owned(random, kb) for _ in range(random.randint(1, 3))]
    return dict(shuffled(random, list(answers.items())))


def shuffled(random: random.Random, items: list[Any]) -> list[Any]:
    """The same in another order."""
    return random.sample(items, len(items))


def _model(random: random.Random, kb: KnowledgeBase) -> str | dict[str, Any]:
    if random.random() < 0.75:
        return random.choice(list(kb.knowledge.catalogue.models))
    parameters = int(_log_uniform(random, 1e5, 1e13))
    if random.random() < 0.5:
        return {"parameters": parameters}
    heads = 2 ** random.randint(1, 7)
    return {
        "parameters": parameters,
        "layers": random.randint(1, 128),
        "hidden_size": heads * 64,
        "heads": heads,
        "kv_heads": heads // 2 ** random.randint(0, 1),
    }


def _owned(random: random.Random, kb: KnowledgeBase) -> dict[str, Any]:
    cards = list(kb.knowledge.catalogue.accelerators)
    return {"accelerator": random.choice(cards), "count": random.choice((1, 2, 4, 8, 64))}


def _list(random: random.Random, kb: KnowledgeBase, key: str) -> list[str]:
    catalogue = kb.knowledge.catalogue
    words = sorted(allowed_words(key, catalogue) or catalogue.accelerators)
    return random.sample(words, min(len(words), random.randint(1, 6)))


def _value(random: random.Random, spec: NameSpec) -> object:
    if spec.kind == "flag":
        return random.random() < 0.5
    if spec.kind != "number":
        return random.choice(spec.words) if spec.words else "x"
    least, most = spec.minimum or 0.0, 1e6 if spec.maximum is None else spec.maximum
    bounds = USUAL.get(spec.answer or "")
    if random.random() < 0.06:
        value = random.choice((least, most))
    elif bounds is None:
        value = random.uniform(least, most)
    else:
        value = _log_uniform(random, *bounds)
    return int(value) if spec.integer or spec.unit == "pixels" else value


def _log_uniform(random: random.Random, least: float, most: float) -> float:
    return min(max(math.exp(random.uniform(math.log(least), math.log(most))), least), most)
