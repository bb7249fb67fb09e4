"""The worked cases of the knowledge base hold on both engines; one that does not is a problem with its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.loader.small import case_ids, small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.chain.names import EngineName
from whygpu.errors import Problem
from whygpu.lint.cases import judged
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

pytestmark = pytest.mark.slow

CASES = [
    name for topic, ids in case_ids().items() if topic != "gates" for name in ids
]  # tests/end_to_end/test_gates.py


def _asked() -> Iterator[Any]:
    """Every twelfth case, on the engines by turns. ``whygpu check`` asks all of them of durable-rules, and
    ``test_cases_outlive_the_day_they_ask_on`` of the evaluator.
    """
    for number, name in enumerate(CASES[::12]):
        yield pytest.param(name, "durable" if number % 2 else "evaluator")


@pytest.mark.parametrize(("name", "engine"), tuple(_asked()))
def test_case_of_the_knowledge_base(whole_kb: KnowledgeBase, name: str, engine: EngineName) -> None:
    case = next(case for case in whole_kb.knowledge.cases if case.id == name)
    assert [str(problem) for problem in judged(whole_kb, case, engine)[0]] == []


def test_every_case_is_named_here(whole_kb: KnowledgeBase) -> None:
    assert {(case.topic, case.id) for case in whole_kb.knowledge.cases} == {
        (topic, name) for topic, ids in case_ids().items() for name in ids
    }


def test_every_case_cites_what_it_expects(whole_kb: KnowledgeBase) -> None:
    assert len(whole_kb.knowledge.cases) >= 200
    known = {*whole_kb.knowledge.claims, *whole_kb.knowledge.catalogue.references}
    for case in whole_kb.knowledge.cases:
        assert case.sources, case.id
        assert set(case.sources) <= known, case.id


_HEAD = """cases:
- id: one
  title: One
  answers: {phase: inference, model: llama-3.1-8b, concurrency: 1, accelerators: [T4, H100]}
  source: [runpod-23]
  expect:
"""


UNMET = (
    ("status: infeasible", "it ends recommended: recommended: 1x T4"),
    ("recommended: {family: H100}", "recommended: 1x T4"),
    ("only_recommended: {family: H100}", "recommended: 1x T4"),
    ("not_recommended: {family: T4}", "recommended: 1x T4"),
    ("among_first: {1: {family: H100}}", "the best of these is ranked 2; first: recommended: 1x T4"),
    ("not_among_first: {1: {family: T4}}", "the best of these is ranked 1"),
    ("ahead: {this: {family: H100}, of: {family: T4}}", "their ranks are 2 and 1"),
    ("ahead: {this: {family: L4}, of: {family: T4}}", "no plan of the first kind is ranked"),
    ("possible: {family: L4}", "every such plan is out"),
    ("impossible: {family: T4}", "left: 2x T4 fp16, "),
    ("fits: {t4: bf16}", "no such plan holds it"),
    ("does_not_fit: {t4: awq-int4}", "it fits: 1x T4 awq-int4"),
    ("rejected: {t4: the-need-must-fit}", "left: 2x T4 fp16"),
    ("rejected: {l4: the-need-must-fit}", "there is no such plan"),
    ("verdicts: {of: {family: T4}, avoid: right-size}", "1x T4 int8 has: "),
    ("verdicts: {of: {family: [T4, H100]}, prefer: right-size}", "1x H100 SXM5 80GB fp8 has: "),
    ("verdicts: {of: {family: H100}, avoid: [right-size, right-size mild]}", "avoid right-size normal"),
    ("verdicts: {of: {family: L4}, prefer: right-size}", "no such plan is ranked"),
    ("advice: [mixed-precision]", "mixed-precision is not among the advice"),
    ("no_advice: [serving-stack]", "serving-stack is among the advice"),
    ("techniques: [replicas]", "replicas is not among the techniques"),
    ("warnings: [plain-fp16-underflow]", "plain-fp16-underflow is not among the warnings (none)"),
    ("fires: [mixed-precision-training]", "mixed-precision-training is not among the rules that fire"),
    ("silent: [half-precision-inference]", "half-precision-inference is among the rules that fire"),
    ("values: {workload.phase: training}", "workload.phase is inference"),
    ("assumed: phase", "'phase' is not assumed"),
    ("assumed: {runtime: sglang}", "'runtime' is assumed as vllm"),
    ("open: [phase]", "phase is not among the open questions"),
    ("conflicts: [memory]", "memory is not among the conflicts"),
)


def test_what_is_not_met_is_said() -> None:
    """Each kind of expectation can fail, and says what was found instead."""
    for number, (problem,) in enumerate(_problems(_HEAD, (expected for expected, _ in UNMET))):
        expected, found = UNMET[number]
        assert problem.code == "case-failed"
        assert f"case 'one-{number}' expects {expected}"[:60] in problem.message
        assert found in problem.message
        assert (problem.location.line, problem.location.column) == (7, 5)
        assert problem.help is not None
        assert problem.help.startswith("runpod-23: Low concurrency")


_LIFE = """cases:
- id: one
  title: One
  answers: {phases: {train: {method: lora, dataset_tokens: 1M}, serve: {}}, model: llama-3.1-8b, accelerators: [T4]}
  source: [runpod-45]
  expect:
"""


UNMET_OF_A_LIFE = (
    ("train: {recommended: {family: H100}}", "recommended: "),
    ("serve: {values: {workload.phase: training}}", "workload.phase is inference"),
    ("life: {trainings: '> 1'}", "life.trainings is 1"),
    ("life: {life.usd_total: '< 1'}", "life.usd_total is "),
    ("life: {same_times: 3}", "life.same_times is 1"),
    ("life: {unknown: [runs]}", "life.runs is 1"),
    ("life: {fires: [training-comes-again]}", "training-comes-again is not among the rules that fire"),
    ("life: {no_advice: [training-headroom]}", "training-headroom is among the advice"),
)


def _all_problems(files: Mapping[str, str]) -> Iterator[Problem]:
    """What is found about every case of a knowledge base."""
    kb = KnowledgeBase(load_texts(files, "kb", REGISTRY))
    for case in kb.knowledge.cases:
        yield from judged(kb, case, "evaluator")[0]


def _problems(head: str, expected: Iterable[str]) -> list[list[Problem]]:
    """What is found about a case with each of these expectations, all of them in one knowledge base."""
    files = {
        f"cases/x{number}.yaml": f"{head.replace('one', f'one-{number}', 1)}    {one}\n"
        for number, one in enumerate(expected)
    }
    found: dict[str, list[Problem]] = {name: [] for name in files}
    for problem in _all_problems({**small_texts(), **files}):
        found[problem.location.file].append(problem)
    return list(found.values())


def test_what_is_not_met_of_a_lifecycle_is_said() -> None:
    for number, (problem,) in enumerate(_problems(_LIFE, (expected for expected, _ in UNMET_OF_A_LIFE))):
        expected, found = UNMET_OF_A_LIFE[number]
        assert problem.code == "case-failed"
        assert f"case 'one-{number}' expects {expected.partition(':')[0]}: " in problem.message
        assert found in problem.message
        assert problem.location.line == 7


def test_a_model_that_cannot_be_read_is_a_problem() -> None:
    text = _HEAD.replace("model: llama-3.1-8b", "model: {kind: decodr, parameters: 8B}") + "    status: recommended\n"
    found = list(_all_problems({**small_texts(), "cases/x.yaml": text}))
    assert {problem.code for problem in found} == {"bad-model"}
    assert all(problem.location.file == "cases/x.yaml" for problem in found)


@pytest.mark.slow
def test_cases_outlive_the_day_they_ask_on(whole_kb: KnowledgeBase) -> None:
    """Expectations do not hang on today's date: every eighth case in five years."""
    for case in whole_kb.knowledge.cases[::8]:
        assert [str(problem) for problem in judged(whole_kb, replace(case, on="2031-01-01"), "evaluator")[0]] == []
