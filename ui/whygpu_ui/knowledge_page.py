"""What the answers rest on, searched: rules, tables, claims, sources, accelerators and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu_ui.knowledge_items import ITEMS, draw
from whygpu_ui.markdown import literal
from whygpu_ui.session import KNOWLEDGE_PAGE, go, part, state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu import KnowledgeBase
    from whygpu.knowledge.base import Knowledge

MOST = 30
_LAST = "knowledge-last"
_TITLE_CHARACTERS = 110


def knowledge_page(knowledge_base: KnowledgeBase) -> None:
    """Search, or one item with all that belongs to it."""
    knowledge = knowledge_base.knowledge
    if draw(knowledge, state().item):
        st.button("All knowledge", key="back", on_click=go, args=(KNOWLEDGE_PAGE,))
        return
    st.title("The knowledge behind the answers", anchor=False)
    counts = f"{len(knowledge.rules)} rules, {len(knowledge.claims)} claims of {len(knowledge.documents)} documents"
    facts = f"{len(knowledge.catalogue.accelerators)} accelerators, {len(knowledge.catalogue.models)} models"
    st.markdown(f"{counts}; {facts}. Edition {literal(knowledge.version)} ({literal(knowledge.hash)}).")
    if state().item:
        st.warning(f"Nothing here is called {literal(state().item)}.")
    _search(knowledge)


@part
def _search(knowledge: Knowledge) -> None:
    before = st.session_state.get(_LAST, ("", "Rules"))  # who comes back from an item finds the search again
    text = st.text_input("Search the knowledge", before[0], 100, key="knowledge-search", placeholder="NVLink")
    kind = st.segmented_control(
        "Kind", list(ITEMS), default=before[1], key="knowledge-kind", label_visibility="collapsed"
    )
    kind, words = kind or "Rules", text.lower().split()
    st.session_state[_LAST] = (text, kind)
    rows = list(_found(knowledge, kind, words))
    others = {name: sum(1 for _ in _found(knowledge, name, words)) for name in ITEMS if name != kind} if words else {}
    also = ", ".join(f"{number} among {name.lower()}" for name, number in others.items() if number)
    shown = f", the first {MOST} shown: search for fewer" if len(rows) > MOST else ""
    st.markdown(f"{len(rows)} found{shown}." + (f" Also {also}." if also else ""))
    with st.container(gap=None):
        for name, title in rows[:MOST]:
            st.button(title, key=f"open-{kind}-{name}", type="tertiary", on_click=go, args=(KNOWLEDGE_PAGE, name))


def _found(knowledge: Knowledge, kind: str, words: list[str]) -> Iterator[tuple[str, str]]:
    for name, title in ITEMS[kind].titles(knowledge):
        if all(word in f"{name} {title}".lower() for word in words):
            yield name, literal(title if len(title) <= _TITLE_CHARACTERS else f"{title[: _TITLE_CHARACTERS - 1]}…")
