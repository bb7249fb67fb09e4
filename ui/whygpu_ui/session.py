"""One visitor's state: the answers, the page, and their mirror in the address. The only module that writes either."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from whygpu.errors import AnswerError
from whygpu_ui.answers_link import Given, check_answer, read_link, write_link
from whygpu_ui.knowledge import find, served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu import KnowledgeBase, Problem

ANSWER_PAGE = "answer"
_KEY = "whygpu"


@dataclass(slots=True)
class State:
    """What this visitor has said so far and where they are."""

    answers: dict[str, Given] = field(default_factory=dict)
    """By answer key, as given; None for "don't know". Answers to questions that stopped applying stay."""
    page: str = ""
    """A question's id, or the answer page."""
    visit: int = 0
    """Grows with every step, so that each visit of a page has fresh widgets and the keyboard's focus."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with what was just entered."""
    link_problems: tuple[Problem, ...] = ()
    """What could not be used of the address."""
    other_knowledge: bool = False
    """The address was made with another knowledge base."""
    link_is_whole: bool = True
    passed: str | None = None
    """The question that was just passed over with "don't know"."""
    returning: bool = False
    """One answer is being changed: the next step is back to the answer page."""
    acted: bool = False
    """A button was pressed before this run: the state is newer than the address that came with it."""
    mirrored: dict[str, list[str]] = field(default_factory=dict)


def state() -> State:
    """This visitor's state; ``start`` has been called."""
    found: State = st.session_state[_KEY]
    return found


def start(knowledge_base: KnowledgeBase) -> State:
    """The state at the beginning of a run, read from the address where that is new (opened, edited, gone back in)."""
    address = {key: st.query_params.get_all(key) for key in st.query_params}
    found: State | None = st.session_state.get(_KEY)
    if found is None or (not found.acted and address != found.mirrored):
        link = read_link(address, knowledge_base)
        knowledge_hash = knowledge_base.knowledge.hash
        found = State(
            answers=dict(link.answers),
            page=link.page or "",
            visit=0 if found is None else found.visit + 1,
            link_problems=link.problems,
            other_knowledge=link.knowledge is not None and link.knowledge != knowledge_hash,
        )
        st.session_state[_KEY] = found
    found.acted = False
    pages = (*find(knowledge_base, found.answers).applicable, ANSWER_PAGE)
    if found.page not in pages:
        found.page = next((page for page in pages if page not in found.answers), ANSWER_PAGE)
    return found


def mirror(knowledge_base: KnowledgeBase) -> None:
    """Write the state to the address."""
    now = state()
    query, now.link_is_whole = write_link(now.answers, now.page, knowledge_base.knowledge.hash)
    now.mirrored = {key: [value] for key, value in query.items()}
    if {key: st.query_params.get_all(key) for key in st.query_params} != now.mirrored:
        st.query_params.from_dict(query)


def refuse(problems: tuple[Problem, ...]) -> None:
    """Stay, and say what is wrong with what was entered."""
    now = state()
    now.acted, now.problems = True, problems


def give(question: str, value: Given) -> None:
    """Take an answer (None: not known) and go on; stay and show the problems where it cannot be used."""
    knowledge_base = served()
    try:
        if value is not None:
            check_answer(question, value, knowledge_base)
    except AnswerError as error:
        refuse(error.problems)
        return
    now = state()
    now.answers[question] = value
    following = ANSWER_PAGE if now.returning else after(knowledge_base, question)
    go(following)
    now.passed = question if value is None and following != ANSWER_PAGE else None


def forget(key: str) -> None:
    """Take an answer back, staying on the page."""
    now = state()
    now.answers.pop(key, None)
    go(now.page)


def go(page: str, *, change: bool = False) -> None:
    """Go to a page; ``change``: to change one answer and come back."""
    now = state()
    now.page, now.returning = page, change
    now.visit += 1
    now.problems, now.link_problems, now.passed, now.other_knowledge = (), (), None, False
    now.acted = True


def replace_all(answers: Mapping[str, Given]) -> None:
    """Take these answers instead of all of before, and show what comes of them."""
    state().answers = dict(answers)
    go(ANSWER_PAGE)


def restart() -> None:
    """Forget every answer and begin again."""
    state().answers.clear()
    go("")


def after(knowledge_base: KnowledgeBase, question: str) -> str:
    """The page after a question: the next question that applies, or the answer page."""
    pages = _in_order(knowledge_base, question)
    return pages[pages.index(question) + 1] if question != pages[-1] else ANSWER_PAGE


def before(knowledge_base: KnowledgeBase, question: str) -> str | None:
    """The question before one, None at the first."""
    pages = _in_order(knowledge_base, question)
    return pages[pages.index(question) - 1] if question != pages[0] else None


def _in_order(knowledge_base: KnowledgeBase, question: str) -> list[str]:
    applicable = set(find(knowledge_base, state().answers).applicable) | {question}
    return [item.id for item in knowledge_base.knowledge.questions if item.id in applicable]
