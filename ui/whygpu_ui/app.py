"""The script that Streamlit runs for every page view and every click."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from whygpu.errors import EngineError, KnowledgeBaseError
from whygpu.lifecycle.answers import KEY
from whygpu_ui.answer_page import answer_page
from whygpu_ui.better_page import better_page
from whygpu_ui.browser import focus
from whygpu_ui.compare_page import compare_page
from whygpu_ui.diagnose_page import diagnose_page
from whygpu_ui.knowledge import is_behind, served
from whygpu_ui.knowledge_page import knowledge_page
from whygpu_ui.life_page import life_page
from whygpu_ui.measured import Measured
from whygpu_ui.pieces import STYLE, only
from whygpu_ui.problems import show_problems
from whygpu_ui.question_page import question_page
from whygpu_ui.session import (
    ANSWER_PAGE,
    APART,
    BETTER,
    COMPARE,
    DIAGNOSE,
    KNOWLEDGE_PAGE,
    SIZE,
    START,
    State,
    go,
    mirror,
    restart,
    start,
)
from whygpu_ui.size_page import size_page
from whygpu_ui.start_page import start_page

_DRAWN = {
    START: start_page,
    ANSWER_PAGE: answer_page,
    BETTER: better_page,
    KNOWLEDGE_PAGE: knowledge_page,
    COMPARE: compare_page,
    SIZE: size_page,
    DIAGNOSE: diagnose_page,
}
_LIFE, _QUESTION = "life", "question"


def main() -> None:
    """Draw the page that the visitor is on."""
    icon = Path(__file__).with_name("icon.svg")
    st.set_page_config("whygpu: which hardware, and why", str(icon), "wide", initial_sidebar_state="collapsed")
    st.html(STYLE)
    try:
        _page()
    except KnowledgeBaseError as error:
        show_problems(error.problems, "The knowledge base cannot be loaded:")
    except EngineError as error:
        st.error(str(error))


def _page() -> None:
    now = start()
    mirror()
    _ways(now)
    show_problems(now.link_problems, "Part of this link cannot be used and is ignored:")
    box = f"step-{now.visit}"
    page = _LIFE if KEY in now.answers and now.page not in APART else now.page if now.page in _DRAWN else _QUESTION
    with only((*_DRAWN, _LIFE, _QUESTION), page, box):
        if page == _LIFE:
            life_page(now.knowledge_base)
        elif page == _QUESTION:
            question_page(now.knowledge_base, now.page)
        else:
            _DRAWN[page](now.knowledge_base)
    _about_the_edition(now)
    focus(now.visit, box)


def _ways(now: State) -> None:
    """Where one can go from every page."""
    begun = bool(now.answers) or now.stopped is not None or now.measured != Measured()
    ways = [(START, "Start again")] if begun else [(START, "Start")] if now.page in APART else []
    if now.answers and now.stopped is None:
        ways += [(ANSWER_PAGE, "Answer"), (BETTER, "Make it better")]
    ways += [(SIZE, "Size"), (DIAGNOSE, "Diagnose"), (KNOWLEDGE_PAGE, "Knowledge")]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="ways"):
        st.markdown("**whygpu**", width="content")
        for page, label in ways:
            click = restart if page == START else go
            st.button(
                label,
                key=f"way-{page}",
                type="secondary" if page == now.page else "tertiary",
                on_click=click,
                args=() if page == START else (page,),
            )


def _about_the_edition(now: State) -> None:
    """A consultation ends on the edition that it began with; a newer one is offered."""
    if is_behind():
        st.markdown(
            "The files of the knowledge base cannot be loaded as they are now (`whygpu check` says why): this is "
            "the previous edition."
        )
    elif served().knowledge.hash != now.knowledge_base.knowledge.hash:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("The knowledge base has changed since you began.", width="content")
            st.button("Use the new edition", key="edition", on_click=_take_edition)


def _take_edition() -> None:
    now = st.session_state["whygpu"]
    now.knowledge_base = served()
    go(now.page, now.item)


if __name__ == "__main__":
    main()
