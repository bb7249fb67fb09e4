"""The knowledge base that is served, loaded once, and what it says about a set of answers, computed once."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

import whygpu
from whygpu.chain.names import engine_named
from whygpu.errors import AnswerError
from whygpu.explain.advice import Advice
from whygpu.lifecycle.answers import KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu import Advice, KnowledgeBase, LifecycleAdvice, Problem

ROOT_VARIABLE = "WHYGPU_UI_KB"
"""The folder of the knowledge base to serve; unset for the one that comes with whygpu."""

ENGINE_VARIABLE = "WHYGPU_UI_ENGINE"
"""Which engine fires the rules: the evaluator, unless it says durable.

durable-rules is C that nobody maintains: a crash of it would take every visitor's session with it. The evaluator cannot
crash the process, and gives the same answers (tests/chain, tests/ui/test_engine.py).
"""

MOST_KEPT = 16
"""Findings that are kept: one takes up to some 5 MB once its page is drawn."""


@st.cache_resource(show_spinner=False, max_entries=2)
def load(root: str | None) -> KnowledgeBase:
    """The knowledge base of a folder; raises KnowledgeBaseError with every problem."""
    return whygpu.load(root)


def served() -> KnowledgeBase:
    """The knowledge base of this server; raises KnowledgeBaseError with every problem."""
    return load(os.environ.get(ROOT_VARIABLE) or None)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known about answers: the advice, or the problems that prevent it, and the questions that apply."""

    advice: Advice | None
    problems: tuple[Problem, ...]
    applicable: tuple[str, ...]
    """Ids of the questions that apply, answered or not, in the knowledge base's order."""
    life: LifecycleAdvice | None = None
    """The advice instead, where the answers are about a lifecycle."""


def find(knowledge_base: KnowledgeBase, answers: Mapping[str, Any]) -> Finding:
    """What the knowledge base says about answers; those of None ("don't know") count as not given."""
    known = {key: value for key, value in answers.items() if value is not None}
    return _find(knowledge_base.knowledge.hash, json.dumps(known), knowledge_base)


@st.cache_resource(show_spinner=False, max_entries=MOST_KEPT, ttl=3600)  # no longer: prices age by the day
def _find(knowledge_hash: str, answers: str, _knowledge_base: KnowledgeBase) -> Finding:  # noqa: ARG001  the hash is part of the key
    engine = engine_named(os.environ.get(ENGINE_VARIABLE) or "evaluator", ENGINE_VARIABLE)
    given = json.loads(answers)
    try:
        if KEY in given:
            return Finding(None, (), (), _knowledge_base.advise_lifecycle(given, engine=engine))
        consultation = _knowledge_base.consult(given, engine=engine)
    except AnswerError as error:
        everything = tuple(question.id for question in _knowledge_base.knowledge.questions)
        return Finding(None, error.problems, () if KEY in given else everything)
    return Finding(Advice(consultation), (), tuple(question.id for question in consultation.interview.applicable))
