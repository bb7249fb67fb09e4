"""The knowledge base that is served, loaded anew when its files change, and what it says about answers, found once."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

import whygpu
from whygpu.chain.names import engine_named
from whygpu.errors import AnswerError, KnowledgeBaseError
from whygpu.explain.advice import Advice
from whygpu.lifecycle.answers import KEY
from whygpu.loader import files
from whygpu.loader.files import default_root
from whygpu.render.view import View, view_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu import KnowledgeBase, LifecycleAdvice, Problem
    from whygpu.chain.names import EngineName
    from whygpu.explain.interview import NextQuestion
    from whygpu.loader.files import Stamp

ROOT_VARIABLE = "WHYGPU_UI_KB"
"""The folder of the knowledge base to serve; unset for the one that comes with whygpu."""

ENGINE_VARIABLE = "WHYGPU_UI_ENGINE"
"""Which engine fires the rules: the evaluator, unless it says durable.

durable-rules is C that nobody maintains: a crash of it would take every visitor's session with it. The evaluator cannot
crash the process, and gives the same answers (tests/chain, tests/ui/test_engine.py).
"""

MOST_KEPT = 32
"""Findings that are kept: one takes up to some 5 MB once its page is drawn."""


@st.cache_resource(show_spinner=False, max_entries=3)
def load(root: str | None, stamp: Stamp) -> KnowledgeBase | KnowledgeBaseError:  # noqa: ARG001  the stamp is part of the key
    """The knowledge base of a folder as of one edit, or every problem; either is found once."""
    try:
        return whygpu.load(root)
    except KnowledgeBaseError as error:
        return error


@st.cache_resource(show_spinner=False, ttl=2)
def stamp_of(root: str | None) -> Stamp:
    """What tells one edit of the folder from another; looked at anew every other second."""
    return files.stamp_of(default_root() if root is None else Path(root))


@st.cache_resource(show_spinner=False)
def _sound() -> dict[str | None, KnowledgeBase]:
    """The last edition of each folder that could be loaded."""
    return {}


def served() -> KnowledgeBase:
    """The knowledge base of this server as its files are now, or as they last could be loaded: who edits them saves one
    after the other. Raises KnowledgeBaseError with every problem where they never could.
    """
    root = os.environ.get(ROOT_VARIABLE) or None
    found = load(root, stamp_of(root))
    if isinstance(found, KnowledgeBaseError):
        if root not in _sound():
            raise KnowledgeBaseError(found.problems)
        return _sound()[root]
    _sound()[root] = found
    return found


def is_behind() -> bool:
    """Whether an earlier edition is served, as the files of now cannot be loaded."""
    root = os.environ.get(ROOT_VARIABLE) or None
    return isinstance(load(root, stamp_of(root)), KnowledgeBaseError)


def serving_engine() -> EngineName:
    """The engine that fires the rules of this server."""
    return engine_named(os.environ.get(ENGINE_VARIABLE) or "evaluator", ENGINE_VARIABLE)


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
    """What the knowledge base says about answers; those of None ("keep what is assumed") count as not given."""
    return _find(knowledge_base.knowledge.hash, _key(answers), knowledge_base)


def view(knowledge_base: KnowledgeBase, answers: Mapping[str, Any], *, flips: bool = False) -> View | None:
    """The view of the advice on answers; None where there is no advice."""
    return _view(knowledge_base.knowledge.hash, _key(answers), flips, knowledge_base)


def next_question(knowledge_base: KnowledgeBase, answers: Mapping[str, Any]) -> NextQuestion | None:
    """The question that matters most at answers; None where no more does, or they cannot be used."""
    kept = json.dumps(dict(answers))
    return _next(knowledge_base.knowledge.hash, kept, knowledge_base)


def _key(answers: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in answers.items() if value is not None})


@st.cache_resource(show_spinner=False, max_entries=MOST_KEPT, ttl=3600)  # no longer: prices age by the day
def _find(knowledge_hash: str, answers: str, _knowledge_base: KnowledgeBase) -> Finding:  # noqa: ARG001  the hash is part of the key
    engine = serving_engine()
    given = json.loads(answers)
    try:
        if KEY in given:
            return Finding(None, (), (), _knowledge_base.advise_lifecycle(given, engine=engine))
        consultation = _knowledge_base.consult(given, engine=engine)
    except AnswerError as error:
        everything = tuple(question.id for question in _knowledge_base.knowledge.questions)
        return Finding(None, error.problems, () if KEY in given else everything)
    return Finding(Advice(consultation), (), tuple(question.id for question in consultation.applied.applicable))


@st.cache_resource(show_spinner=False, max_entries=MOST_KEPT, ttl=3600)
def _view(knowledge_hash: str, answers: str, flips: bool, _knowledge_base: KnowledgeBase) -> View | None:  # noqa: ARG001  the hash is part of the key
    advice = find(_knowledge_base, json.loads(answers)).advice
    return None if advice is None else view_of(advice, flips="all" if flips else "limits")


@st.cache_resource(show_spinner=False, max_entries=4 * MOST_KEPT, ttl=3600)
def _next(knowledge_hash: str, answers: str, _knowledge_base: KnowledgeBase) -> NextQuestion | None:  # noqa: ARG001  the hash is part of the key
    given = json.loads(answers)
    advice = find(_knowledge_base, given).advice
    if advice is None:
        return None
    return _knowledge_base.interview(given, consultation=advice.consultation).next()
