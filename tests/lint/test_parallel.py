"""Worked cases on several processes: the same problems, in the end, as on one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.loader.small import small_texts
from whygpu.api import REGISTRY, KnowledgeBase
from whygpu.lint import parallel
from whygpu.lint.cases import check_cases
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whygpu.errors import Problem

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process is forked")
CASE = """- id: case-{number}
  title: Case {number}
  answers: {{phase: inference, model: llama-3.1-8b, concurrency: {number}}}
  source: [runpod-25]
  expect: {{{expected}: {{family: H100}}}}
"""


@pytest.fixture
def kb(monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    """A small knowledge base with six cases, of which some fail, and processes for as few."""
    monkeypatch.setattr(parallel, "_LEAST", 1)
    monkeypatch.setattr(parallel, "_forks", lambda: True)
    expected = ("recommended", "not_recommended")
    cases = "".join(CASE.format(number=number + 1, expected=expected[number % 2]) for number in range(6))
    return KnowledgeBase(load_texts({**small_texts(), "cases/x.yaml": f"cases:\n{cases}"}, "kb", REGISTRY))


def judged(kb: KnowledgeBase) -> set[str]:
    with parallel.cases_at_once(kb, "evaluator", kb.knowledge.cases, jobs=2) as wait:
        return {str(problem) for problem in wait()}


def test_processes_find_what_one_finds(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {str(problem) for problem in check_cases(kb, "evaluator")}
    assert expected
    monkeypatch.setattr(parallel, "check_cases", in_another(os.getpid()))
    assert judged(kb) == expected


def in_another(here: int) -> Callable[..., Iterator[Problem]]:
    """The judge of cases, which refuses to work in this process."""

    def check(*arguments: Any) -> Iterator[Problem]:
        assert os.getpid() != here
        return check_cases(*arguments)

    return check


def test_one_that_dies_loses_no_case(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {str(problem) for problem in check_cases(kb, "evaluator")}
    monkeypatch.setattr(parallel, "_judge", lambda *_: os._exit(1))
    assert judged(kb) == expected
