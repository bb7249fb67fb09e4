"""Cases hold a little beside what they say, or say why not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loader.small import small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.errors import Location
from whygpu.intake.resolve import shape_of
from whygpu.knowledge.base import Knowledge
from whygpu.lint.robust import repriced, resized, robustness
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import default_root, read_texts


@cache
def _small() -> Knowledge:
    return load_texts(small_texts(), "kb", REGISTRY)


_CASES = """cases:
- id: t4-holds-it
  title: One T4 holds 6.8B parameters in 16 bits
  answers: {phase: inference, model: {parameters: 6.8B}, format: fp16, context_tokens: 512, accelerators: [T4]}
  expect:
    fits: {t4: fp16}
  source: [runpod-32]
- id: cheap
  title: Within the budget
  answers: {phase: inference, model: llama-3.1-8b, concurrency: 1, budget_per_hour: BUDGET, accelerators: [T4]}
  expect:
    status: [recommended]
  source: [runpod-32]
"""


def _found(cases: str) -> list[str]:
    kb = KnowledgeBase(load_texts({**small_texts(), "cases/x.yaml": cases}, "kb", REGISTRY))
    return [f"{item.severity} {item.code} {item.message}" for item in robustness(kb).problems]


def test_cases_that_hold() -> None:
    kb = KnowledgeBase(
        load_texts(
            {**small_texts(), "cases/x.yaml": _CASES.replace("BUDGET", "100").replace("6.8B", "2B")}, "kb", REGISTRY
        )
    )
    found = robustness(kb)
    assert (found.cases, found.variations, found.problems) == (2, 12, ())


@pytest.mark.slow
def test_a_model_too_large_and_a_price_too_high() -> None:
    """A T4 reports 15,360 MiB, 16.1 GB: 6.8B in 16 bits are 13.6, 8.16B are 16.3 and do not fit."""
    kb = KnowledgeBase(_small())
    answers = {"phase": "inference", "model": "llama-3.1-8b", "concurrency": 1, "accelerators": ["T4"]}
    plan = kb.advise(answers, engine="evaluator").recommendation
    assert plan is not None
    assert plan.cost is not None
    cases = _CASES.replace("BUDGET", f"{plan.cost.usd_per_hour * 1.01}")
    found = _found(cases)
    assert [line.split(": ")[0] for line in found] == [
        "error fragile-case with a model x1.2",
        "error fragile-case at all prices x1.15",
        "error fragile-case at prices of t4 x1.15",
    ]
    assert found[0].endswith("case 't4-holds-it' expects fits: {t4: fp16}; no such plan holds it")
    spared = cases.replace("source: [runpod-32]\n", "source: [runpod-32]\n  sensitive: {size: so, prices: so}\n")
    assert _found(spared) == [
        "warning needless-sensitive case 't4-holds-it' is said to be sensitive to prices, and holds: so",
        "warning needless-sensitive case 'cheap' is said to be sensitive to size, and holds: so",
    ]


@given(st.floats(0.5, 2.0), st.sampled_from(["llama-3.1-8b", "yolo11m"]))
def test_a_model_of_another_size_goes_together(factor: float, name: str) -> None:
    """Parameters and their parts scale alike, cache groups with the layers; its width and vocabulary stay."""
    shape, _ = shape_of(name, _small().catalogue, Location("x"))
    other = resized(shape, factor)
    assert other.parameters == pytest.approx(shape.parameters * factor, rel=1e-6)
    assert other.active_parameters <= other.parameters
    assert sum(part.parameters for part in other.parts) == pytest.approx(other.parameters, rel=1e-6)
    assert sum(group.layers for group in other.kv_groups) == pytest.approx(other.attention_layers)
    assert resized(shape, 1.0) == shape
    assert (other.hidden_size, other.vocab_size, other.image_size) == (
        shape.hidden_size,
        shape.vocab_size,
        shape.image_size,
    )


def test_prices_of_some_accelerators_alone() -> None:
    knowledge = _small()
    other = repriced(knowledge, 1.15, {"t4"})
    for before, after in zip(knowledge.catalogue.offerings, other.catalogue.offerings, strict=True):
        assert after.usd_per_hour == pytest.approx(before.usd_per_hour * (1.15 if before.accelerator == "t4" else 1))


@pytest.mark.slow
def test_the_cases_of_the_knowledge_base_are_robust() -> None:
    """They hold at model size +-20% and prices +-15%, unless they say why not; ``check --robust`` asks all of them."""
    root = default_root()
    knowledge = load_texts(read_texts(root), str(root), REGISTRY)
    found = robustness(KnowledgeBase(replace(knowledge, cases=knowledge.cases[::12])))
    assert [str(problem) for problem in found.problems] == []
