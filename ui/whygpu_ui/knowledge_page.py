"""What the answers rest on: rules, claims and sources, searched, with links both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu_ui.markdown import literal, rendered
from whygpu_ui.pieces import inline, show
from whygpu_ui.session import KNOWLEDGE_PAGE, go, state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu import KnowledgeBase
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import AllOf, AnyOf, Rule

_MOST = 30


def knowledge_page(knowledge_base: KnowledgeBase) -> None:
    """Search, and one rule, claim or source with all that belongs to it."""
    knowledge = knowledge_base.knowledge
    item = state().item
    if item in knowledge.rule_by_id:
        _rule(knowledge, knowledge.rule_by_id[item])
    elif item in knowledge.claims:
        _claim(knowledge, item)
    elif item in knowledge.documents:
        _document(knowledge, item)
    else:
        st.title("The knowledge behind the answers", anchor=False)
        counts = f"{len(knowledge.rules)} rules, {len(knowledge.claims)} claims of {len(knowledge.documents)} documents"
        facts = f"{len(knowledge.catalogue.accelerators)} accelerators, {len(knowledge.catalogue.models)} models"
        st.markdown(f"{counts}; {facts}. Edition {literal(knowledge.version)} ({literal(knowledge.hash)}).")
        _search(knowledge)


@st.fragment
def _search(knowledge: Knowledge) -> None:
    text = st.text_input("Search rules, claims and sources", "", 100, key="knowledge-search", placeholder="NVLink")
    kinds = ("Rules", "Claims", "Sources")
    kind = st.segmented_control("Kind", kinds, default="Rules", key="knowledge-kind", label_visibility="collapsed")
    rows = list(_found(knowledge, kind or "Rules", text.lower().split()))
    st.markdown(f"{len(rows)} found" + (f", the first {_MOST} shown." if len(rows) > _MOST else "."))
    with st.container(gap=None):
        for name, title in rows[:_MOST]:
            st.button(title, key=f"open-{kind}-{name}", type="tertiary", on_click=go, args=(KNOWLEDGE_PAGE, name))


def _found(knowledge: Knowledge, kind: str, words: list[str]) -> Iterator[tuple[str, str]]:
    if kind == "Rules":
        entries = ((rule.id, rule.title, f"{rule.id} {rule.title} {rule.topic}") for rule in knowledge.rules)
    elif kind == "Claims":
        entries = ((claim.id, claim.says, f"{claim.id} {claim.says}") for claim in knowledge.claims.values())
    else:
        entries = ((key, item.title, f"{key} {item.title}") for key, item in knowledge.documents.items())
    for name, title, text in entries:
        if all(word in text.lower() for word in words):
            shown = title if len(title) <= 110 else f"{title[:109]}…"
            yield name, literal(shown)


def _rule(knowledge: Knowledge, rule: Rule) -> None:
    st.title(rendered(rule.title), anchor=False)
    show(f"<p class=who>Rule {inline(f'`{rule.id}`')} in {inline(f'`kb/{rule.location}`')}</p>")
    for title, tree in (("When all of these hold", rule.when), ("Unless", rule.unless)):
        lines = "".join(f"<li>{inline(f'`{text}`')}</li>" for text in _conditions(tree))
        show(f"<p><strong>{title}</strong></p><ul>{lines}</ul>" if lines else "")
    with st.container():
        st.markdown("**Says, where it fires**")
        said = "".join(part + (f"{{{name}}}" if name else "") for part, name in rule.because.parts)
        st.markdown(rendered(said) or "nothing")
    _links("It rests on", ((key, _says(knowledge, key)) for key in rule.sources))
    _links(
        "It overrides",
        ((key, knowledge.rule_by_id[key].title) for key in rule.overrides if key in knowledge.rule_by_id),
    )
    _back()


def _conditions(tree: AllOf | AnyOf) -> Iterator[str]:
    for part in tree.parts:
        if hasattr(part, "text"):
            yield part.text
        else:
            joined = (
                " or ".join(_conditions(part)) if type(part).__name__ == "AnyOf" else " and ".join(_conditions(part))
            )
            yield joined


def _says(knowledge: Knowledge, key: str) -> str:
    claim = knowledge.claims.get(key)
    document = knowledge.documents.get(key)
    return claim.says if claim is not None else document.title if document is not None else key


def _claim(knowledge: Knowledge, key: str) -> None:
    claim = knowledge.claims[key]
    st.title(f"Claim {literal(key)}", anchor=False)
    st.markdown(rendered(claim.says))
    if claim.document in knowledge.documents:
        _links("Its document", [(claim.document, knowledge.documents[claim.document].title)])
    _links("Rules that rest on it", ((rule.id, rule.title) for rule in knowledge.rules if key in rule.sources))
    _back()


def _document(knowledge: Knowledge, key: str) -> None:
    document = knowledge.documents[key]
    st.title(literal(document.title), anchor=False)
    address = getattr(document, "url", None) or getattr(document, "address", None)
    if address:
        st.markdown(f"`{address}`")
    _links("Its claims", ((item.id, item.says) for item in knowledge.claims.values() if item.document == key))
    _links("Rules that name it", ((rule.id, rule.title) for rule in knowledge.rules if key in rule.sources))
    _back()


def _links(title: str, rows: Iterable[tuple[str, str]]) -> None:
    found = list(rows)
    if not found:
        return
    st.markdown(f"**{title}**")
    for name, text in found[:_MOST]:
        shown = text if len(text) <= 110 else f"{text[:109]}…"
        st.button(
            literal(f"{name}: {shown}"),
            key=f"to-{title}-{name}",
            type="tertiary",
            on_click=go,
            args=(KNOWLEDGE_PAGE, name),
        )


def _back() -> None:
    st.button("All knowledge", key="back", on_click=go, args=(KNOWLEDGE_PAGE,))
