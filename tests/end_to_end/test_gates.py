"""Gates of a release: the three answers the knowledge base exists for, over the whole catalogue, on both engines.

Quantize when the model exceeds VRAM; T4 or L4 for vision at low concurrency; A100 or H100 with NVLink, or their
successors, for training on several accelerators. Their cases are kb/cases/gates.yaml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lint.test_open_catalogue import choosing
from tests.loader.small import case_ids
from whygpu.chain.durable import DurableEngine
from whygpu.consult.driver import consult
from whygpu.explain.advice import Advice
from whygpu.lint.cases import asked_on, contradictions, judged

if TYPE_CHECKING:
    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.knowledge.cases import Case

pytestmark = pytest.mark.slow

DECIDING = {
    "gate-quantize": {"consider-quantized-serving", "consider-four-bit-serving"},
    "gate-vision": {"t4-or-4090-for-video", "inference-cards-for-light-serving"},
    "gate-training": {"nvlink-for-multi-gpu-training"},
}
"""Each group of gates, and the rules without which it must not pass."""


@pytest.fixture(scope="module")
def gates(whole_kb: KnowledgeBase) -> dict[str, Case]:
    """The cases that are gates, by their ids."""
    return {case.id: case for case in whole_kb.knowledge.cases if case.topic == "gates"}


@pytest.mark.parametrize("engine", ["durable", "evaluator"])
@pytest.mark.parametrize("name", case_ids()["gates"])
def test_gate(whole_kb: KnowledgeBase, gates: dict[str, Case], name: str, engine: EngineName) -> None:
    assert [str(problem) for problem in judged(whole_kb, gates[name], engine)[0]] == []


def test_gates_choose_from_the_whole_catalogue(gates: dict[str, Case]) -> None:
    assert all(choosing(tuple(gates.values())).values())
    for group in DECIDING:
        assert sum(name.startswith(group) for name in gates) >= 9, group


@pytest.mark.parametrize("group", DECIDING)
def test_gates_can_fail(whole_kb: KnowledgeBase, gates: dict[str, Case], group: str) -> None:
    """Without the rules that decide them, some gate of the group does not hold."""
    chain = DurableEngine(whole_kb.knowledge, without=frozenset(DECIDING[group])).chain()
    for name, case in gates.items():
        if name.startswith(group):
            advice = Advice(consult(whole_kb.knowledge, whole_kb.check(case.answers), chain, asked_on(case)))
            if any(contradictions(case, advice)):
                return
    pytest.fail(f"every gate of {group} passes without {sorted(DECIDING[group])}")
