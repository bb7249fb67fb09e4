"""One visitor's state: the answers, the page, and their mirror in the address. The only module that writes either."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, cast
from urllib.parse import urlencode

import streamlit as st

from whygpu.errors import AnswerError
from whygpu_ui.answers_link import ITEM, PAGE, Given, check_answer, read_link, write_link
from whygpu_ui.knowledge import find, served
from whygpu_ui.measured import Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whygpu import KnowledgeBase, Problem
    from whygpu_ui.measured import Upload

_P = ParamSpec("_P")

START, ANSWER_PAGE, BETTER, KNOWLEDGE_PAGE, COMPARE = "start", "answer", "better", "knowledge", "compare"
SIZE, DIAGNOSE = "size", "diagnose"
PAGES = (START, ANSWER_PAGE, BETTER, KNOWLEDGE_PAGE, COMPARE, SIZE, DIAGNOSE)
APART = (KNOWLEDGE_PAGE, SIZE, DIAGNOSE)
"""Pages that do not draw what the answers come to."""
_KEY = "whygpu"


@dataclass(slots=True)
class State:
    """What this visitor has said so far and where they are."""

    knowledge_base: KnowledgeBase
    """The edition that this consultation began with."""
    answers: dict[str, Given] = field(default_factory=dict)
    """By answer key, as given; None for "keep what is assumed". Answers to questions that stopped applying stay."""
    page: str = ""
    """A question's id, or one of ``PAGES``."""
    item: str = ""
    """What the page is about: a rule or claim of the knowledge, a plan to compare with, a tile."""
    visit: int = 0
    """Grows with every step, so that each visit of a page has fresh widgets and the keyboard's focus."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with what was just entered."""
    refused: str = ""
    """The question that it was entered for."""
    entered: Mapping[str, Given] | None = None
    """What was entered where it may mean one of several models."""
    left: tuple[Problem, ...] = ()
    """What of it was not read, to be said beside the answer."""
    link_problems: tuple[Problem, ...] = ()
    """What could not be used of the address."""
    was: str | None = None
    """What was recommended when the address was made, where that was with another edition of the knowledge base."""
    link_is_whole: bool = True
    stopped: str | None = None
    """The unknown model that the address names: nothing is answered until it is another one."""
    before: Mapping[str, Given] | None = None
    """The answers before the last one, to say what it changed."""
    measured: Measured = field(default_factory=Measured)
    """What was uploaded and typed of measurements: no address holds it, and it ends with the visit."""
    acted: bool = False
    """A button was pressed before this run: the state is newer than the address that came with it."""
    mirrored: dict[str, list[str]] = field(default_factory=dict)


def state() -> State:
    """This visitor's state; ``start`` has been called."""
    found: State = st.session_state[_KEY]
    return found


def start() -> State:
    """The state at the beginning of a run, read from the address where that is new (opened, edited, gone back in)."""
    address = {key: st.query_params.get_all(key) for key in st.query_params}
    found: State | None = st.session_state.get(_KEY)
    if found is None or (not found.acted and address != found.mirrored):
        knowledge_base = served() if found is None else found.knowledge_base
        link = read_link(address, knowledge_base)
        other = link.knowledge is not None and link.knowledge != knowledge_base.knowledge.hash
        found = State(
            knowledge_base,
            answers=dict(link.answers),
            page=link.page or "",
            item=link.item,
            visit=0 if found is None else found.visit + 1,
            link_problems=link.problems,
            was=(link.was or "") if other else None,
            measured=Measured() if found is None else found.measured,
        )
        if "model" in link.unusable:
            found.stopped = " ".join(value for key, values in address.items() for value in values if key == "model")
        st.session_state[_KEY] = found
    found.acted = False
    if found.stopped is not None and found.page not in (START, *APART):
        found.page = "model"  # never another model's answer in its place
    pages = (*(item.id for item in found.knowledge_base.knowledge.questions), *PAGES)
    if found.page not in pages:
        found.page = ANSWER_PAGE if found.answers else START
    return found


def item_address(item: str) -> str:
    """The address of the knowledge page of an item, its id, from any page of the wizard."""
    return "?" + urlencode({PAGE: KNOWLEDGE_PAGE, ITEM: item})


def mirror() -> None:
    """Write the state to the address."""
    now = state()
    advice = find(now.knowledge_base, now.answers).advice if now.answers else None
    best = None if advice is None or advice.recommendation is None else advice.recommendation.id
    answers = now.answers if now.stopped is None else {**now.answers, "model": now.stopped}
    query, now.link_is_whole = write_link(answers, now.page, now.knowledge_base.knowledge.hash, now.item, best)
    now.mirrored = {key: [value] for key, value in query.items()}
    if {key: st.query_params.get_all(key) for key in st.query_params} != now.mirrored:
        st.query_params.from_dict(query)


def part(draw: Callable[_P, None]) -> Callable[_P, None]:
    """A fragment: what happens in it draws it alone anew, but for a click that goes elsewhere or answers something."""

    @wraps(draw)
    def drawn(*given: _P.args, **named: _P.kwargs) -> None:
        if state().acted:
            st.rerun()
        draw(*given, **named)

    return cast("Callable[_P, None]", st.fragment(drawn))


def refuse(problems: tuple[Problem, ...], question: str = "") -> None:
    """Stay, and say what is wrong with what was entered."""
    now = state()
    now.acted, now.problems, now.refused, now.entered, now.left = True, problems, question, None, ()


def give(question: str, value: Given, page: str | None = None) -> None:
    """Take an answer (None: keep what is assumed) and go to a page, or stay; problems are shown where it stays."""
    now = state()
    try:
        if value is not None:
            check_answer(question, value, now.knowledge_base)
    except AnswerError as error:
        refuse(error.problems, question)
        return
    if question == "model":
        now.stopped = None
    before = dict(now.answers)
    now.answers.pop(question, None)  # the last answer comes last: it says which topic is open
    now.answers[question] = value
    go(page or now.page)
    now.before = before


def leave(questions: Iterable[str]) -> None:
    """Leave these questions to what is assumed, staying on the page."""
    now = state()
    now.answers = {**dict.fromkeys(questions), **now.answers}  # the topic of what was answered last goes on
    go(now.page)


def forget(key: str) -> None:
    """Take an answer back, staying on the page."""
    change({key: None})


def change(answers: Mapping[str, Given]) -> None:
    """Take these answers, and those of None back, staying on the page."""
    now = state()
    before = dict(now.answers)
    back = {key for key, value in answers.items() if value is None}
    now.answers = {key: value for key, value in {**before, **answers}.items() if key not in back}
    go(now.page)
    now.before = before


def go(page: str, item: str = "") -> None:
    """Go to a page."""
    now = state()
    now.page, now.item = page, item
    now.visit += 1
    now.problems, now.refused, now.entered, now.link_problems, now.was, now.before = (), "", None, (), None, None
    now.acted = True


def replace_all(answers: Mapping[str, Given]) -> None:
    """Take these answers instead of all of before, and show what comes of them."""
    now = state()
    now.answers, now.stopped = dict(answers), None
    go(ANSWER_PAGE)


def take_measured(uploads: Iterable[Upload], typed: Mapping[str, str]) -> None:
    """Take measurements beside those of before, and typed figures over them; an empty text takes one back."""
    now = state()
    now.measured = now.measured.with_these(uploads, typed)
    go(now.page, now.item)


def drop_measured(name: str) -> None:
    """Forget the measurements of a file."""
    now = state()
    now.measured = now.measured.without(name)
    go(now.page, now.item)


def restart() -> None:
    """Forget every answer and begin again, with the knowledge base as it is now."""
    now = state()
    now.answers.clear()
    now.stopped, now.measured = None, Measured()
    now.knowledge_base = served()
    go(START)
