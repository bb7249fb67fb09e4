"""The script that Streamlit runs for every page view and every click."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from whygpu.errors import EngineError, KnowledgeBaseError
from whygpu.lifecycle.answers import KEY
from whygpu_ui.answer_page import answer_page
from whygpu_ui.browser import focus
from whygpu_ui.knowledge import served
from whygpu_ui.life_page import life_page
from whygpu_ui.problems import show_problems
from whygpu_ui.session import ANSWER_PAGE, State, mirror, start
from whygpu_ui.wizard import question_page


def main() -> None:
    """Draw the page that the visitor is on."""
    icon = Path(__file__).with_name("icon.svg")
    st.set_page_config("whygpu: which hardware, and why", str(icon), initial_sidebar_state="collapsed")
    st.markdown("**whygpu** · which hardware for this work, and why")
    try:
        _page()
    except KnowledgeBaseError as error:
        show_problems(error.problems, "The knowledge base cannot be loaded:")
    except EngineError as error:
        st.error(str(error))


def _page() -> None:
    knowledge_base = served()
    now = start(knowledge_base)
    mirror(knowledge_base)
    _about_the_link(now)
    box = f"step-{now.visit}"
    with st.container(key=box):
        if KEY in now.answers:
            life_page(knowledge_base)
        elif now.page == ANSWER_PAGE:
            answer_page(knowledge_base)
        else:
            question_page(
                knowledge_base, next(item for item in knowledge_base.knowledge.questions if item.id == now.page)
            )
    focus(now.visit, box)


def _about_the_link(now: State) -> None:
    show_problems(now.link_problems, "Part of this link cannot be used and is ignored:")
    if now.other_knowledge:
        st.warning(
            "This link was made with another edition of the knowledge base, so the recommendation may differ from then."
        )


if __name__ == "__main__":
    main()
