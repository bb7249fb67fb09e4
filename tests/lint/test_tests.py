"""Tests beside rules: all three outcomes, on both engines, with an explanation of what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.load.small import small_texts

from whygpu.api import REGISTRY
from whygpu.chain.durable import DurableEngine
from whygpu.errors import Problem
from whygpu.lint.tests import check_tests
from whygpu.load.knowledge import load_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = """rules:
- id: try-it
  title: Try it
  when:
  - plan.format == 'int4'
  - not gpu.int8_tops > 100
  unless:
  - workload.deployment == 'edge'
  then: [exclude]
  because: x
  source: [runpod-25]
  tests:
  - {given: GIVEN, expect: EXPECT}
"""


def _problems(given: str, expect: str) -> list[Problem]:
    text = RULE.replace("GIVEN", given).replace("EXPECT", expect)
    knowledge = load_texts({**small_texts(), "rules/x.yaml": text}, "kb", REGISTRY)
    return list(check_tests(knowledge, [knowledge.rule_by_id["try-it"]]))


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ("{plan.format: int4, gpu.int8_tops: 50, workload.deployment: cloud}", "fires"),
        ("{plan.format: int4, gpu.int8_tops: absent, workload.deployment: cloud}", "fires"),
        ("{plan.format: int4, gpu.int8_tops: 150, workload.deployment: cloud}", "silent"),
        ("{plan.format: int4, gpu.int8_tops: 50, workload.deployment: edge}", "silent"),
        ("{plan.format: bf16}", "silent"),
        ("{plan.format: int4, gpu.int8_tops: 50}", "unknown"),
        ("{plan.format: int4, workload.deployment: cloud}", "unknown"),
        ("{}", "unknown"),
    ],
)
def test_outcomes(given: str, outcome: str) -> None:
    for expect in ("fires", "silent", "unknown"):
        found = _problems(given, expect)
        assert [problem.code for problem in found] == ([] if expect == outcome else ["test-failed"])


def test_a_failure_shows_each_condition() -> None:
    (problem,) = _problems("{plan.format: int4, gpu.int8_tops: 150}", "fires")
    assert problem.message == "rule 'try-it' is expected to fire, and stays silent"
    assert problem.help == (
        "plan.format == 'int4': true; not gpu.int8_tops > 100: false; unless workload.deployment == 'edge': unknown"
    )
    assert str(problem.place) == "rules/x.yaml:13:5"


def test_durable_rules_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that tells of nothing is noticed, although the evaluator is right.

    What fires still fires: the library crashes where a session in which nothing fired is deleted.
    """
    drain = DurableEngine.drain

    def say_nothing(engine: DurableEngine, state: int) -> Iterator[tuple[str, str]]:
        for _ in drain(engine, state):
            pass
        return iter(())

    monkeypatch.setattr(DurableEngine, "drain", say_nothing)
    (problem,) = _problems("{plan.format: int4, gpu.int8_tops: 50, workload.deployment: cloud}", "fires")
    assert problem.code == "engines-disagree"
