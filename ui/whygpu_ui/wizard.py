"""A question's page: what is asked, the field for its answer, what not knowing assumes, the recommendation so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import streamlit as st

from whygpu.errors import Location, Problem
from whygpu.explain.figures import show_plain
from whygpu.render.words import sentence
from whygpu_ui.knowledge import find
from whygpu_ui.markdown import code, literal, rendered
from whygpu_ui.model_field import model_field
from whygpu_ui.problems import show_problems
from whygpu_ui.session import ANSWER_PAGE, before, give, go, refuse, state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whygpu import KnowledgeBase
    from whygpu.knowledge.questions import Question
    from whygpu.language.names import NameSpec

MOST_SHOWN = 8
"""Choices shown side by side; more than these go into a list that can be searched."""
_MAX_TEXT = 200
_NOTHING = "nothing is assumed, and nothing is limited by it"
_FLAGS = {"true": "yes", "false": "no"}


def question_page(knowledge_base: KnowledgeBase, question: Question) -> None:
    """Ask one question."""
    spec = knowledge_base.knowledge.vocabulary[question.name]
    _progress(knowledge_base, question)
    st.title(rendered(question.ask), anchor=False)
    if question.help:
        st.markdown(rendered(question.help))
    show_problems(state().problems)
    key = f"field-{question.id}-{state().visit}"
    if question.id == "model":
        model_field(knowledge_base, question, key, lambda submit: _buttons(knowledge_base, question, submit))
    else:
        _form(knowledge_base, question, spec, key)
    _if_unknown(knowledge_base, question)
    _so_far(knowledge_base)
    if question.id == "phase":
        _profiles(knowledge_base)
    _sources(knowledge_base, question)


def _progress(knowledge_base: KnowledgeBase, question: Question) -> None:
    pages = find(knowledge_base, state().answers).applicable
    position = pages.index(question.id) + 1
    topic = question.topic[:1].upper() + question.topic[1:]
    st.progress((position - 1) / len(pages), text=f"{literal(topic)} · question {position} of {len(pages)}")
    passed = state().passed
    if passed is not None:
        asked = next(item.ask for item in knowledge_base.knowledge.questions if item.id == passed)
        st.info(f"{rendered(asked)} You don't know. {assumed_text(knowledge_base, passed) or _NOTHING}.")


# the field


def _form(knowledge_base: KnowledgeBase, question: Question, spec: NameSpec, key: str) -> None:
    given = state().answers.get(question.id)
    shown = "" if given is None else str(given).lower() if isinstance(given, bool) else str(given)
    if spec.kind not in ("choice", "flag"):
        st.markdown(_unit(spec))
    with st.form(f"form-{key}", border=False):
        with st.container(key="fields"):
            match spec.kind:
                case "choice":
                    _choices(question, spec.values, shown, key)
                case "flag":
                    _choices(question, _FLAGS, shown, key)
                case "number" | "text":
                    st.text_input(question.ask, shown, _MAX_TEXT, key, label_visibility="collapsed", autocomplete="off")
                case _:
                    assert_never(spec.kind)
        _buttons(knowledge_base, question, lambda: _submit(question, spec, key))


def _choices(question: Question, meanings: Mapping[str, str], given: str, key: str) -> None:
    options = list(meanings)
    index = options.index(given) if given in options else None
    if len(options) <= MOST_SHOWN:
        st.radio(
            question.ask,
            options,
            index,
            lambda option: f"**{literal(option)}**: {rendered(meanings[option])}",
            key,
            label_visibility="collapsed",
        )
    else:
        st.selectbox(
            question.ask,
            options,
            index,
            lambda option: f"{option}: {meanings[option]}",
            key,
            placeholder="Choose, or type to search",
            label_visibility="collapsed",
        )


def _unit(spec: NameSpec) -> str:
    """What the number is and how it may be written."""
    meaning = spec.meaning[:1].upper() + spec.meaning[1:]
    if spec.kind == "text":
        return f"{rendered(meaning)}."
    if spec.unit == "pixels":
        return f"{rendered(meaning)}: width and height such as `1920x1080`, or the side of a square."
    unit = f", in {literal(spec.unit)}" if spec.unit else ""
    return f"{rendered(meaning)}{unit}. Suffixes such as `32k` or `8B` are understood."


def _buttons(knowledge_base: KnowledgeBase, question: Question, submit: Callable[[], None]) -> None:
    now = state()
    previous = ANSWER_PAGE if now.returning else before(knowledge_base, question.id)
    with st.container(horizontal=True):
        # Enter in a text field presses the first button of the form.
        st.form_submit_button(
            "Update the answer" if now.returning else "Next", type="primary", key="next", on_click=submit
        )
        st.form_submit_button("I don't know", key="unknown", on_click=give, args=(question.id, None))
        if previous is not None:
            st.form_submit_button("Back", key="back", on_click=go, args=(previous,))


def _submit(question: Question, spec: NameSpec, key: str) -> None:
    entered = st.session_state.get(key)
    text = entered.strip() if isinstance(entered, str) else ""
    if not text:
        hint = "choose one" if spec.kind in ("choice", "flag") else "enter a value"
        refuse(
            (Problem("empty", "There is no answer yet", Location(question.id), f'{hint}, or press "I don\'t know"'),)
        )
        return
    give(question.id, text == "true" if spec.kind == "flag" else text)


# what follows from it


def assumed_text(knowledge_base: KnowledgeBase, question: str) -> str:
    """What is assumed where a question has no answer, and why, as a clause; empty where nothing is."""
    answers = {key: value for key, value in state().answers.items() if key != question}
    advice = find(knowledge_base, answers).advice
    item = next((item for item in advice.assumed if item.answer == question), None) if advice else None
    if item is None:
        return ""
    spec = knowledge_base.knowledge.vocabulary[item.name]
    return f"{code(show_plain(item.value, spec.unit, item.name))} is assumed, because {rendered(item.because)}"


def _if_unknown(knowledge_base: KnowledgeBase, question: Question) -> None:
    now = state()
    text = assumed_text(knowledge_base, question.id) or _NOTHING
    said = question.id in now.answers and now.answers[question.id] is None
    st.markdown(f"{'You said that you don' if said else 'If you don'}'t know: {text}.")


def _so_far(knowledge_base: KnowledgeBase) -> None:
    finding = find(knowledge_base, state().answers)
    with st.container(border=True):
        if finding.advice is None:
            show_problems(finding.problems, "There is no recommendation yet:")
        elif finding.advice.recommendation is None:
            st.markdown("**So far:** no plan satisfies every constraint.")
        else:
            st.markdown(f"**So far:** {literal(sentence(finding.advice.recommendation))}")
        st.button("Skip to the recommendation so far", key="skip", on_click=go, args=(ANSWER_PAGE,))


def _profiles(knowledge_base: KnowledgeBase) -> None:
    """What each phase is like, to choose between them."""
    profiles = knowledge_base.knowledge.profiles
    if not profiles:
        return
    with st.expander("What each of them is like"):
        for profile in profiles.values():
            st.markdown(f"**{rendered(profile.title)}**")
            lines = (f"- {rendered(point.text)} {' '.join(map(code, point.sources))}" for point in profile.points)
            st.markdown("\n".join(lines))


def _sources(knowledge_base: KnowledgeBase, question: Question) -> None:
    claims = [
        knowledge_base.knowledge.claims[item] for item in question.sources if item in knowledge_base.knowledge.claims
    ]
    if not claims:
        return
    with st.expander("Why this is asked"):
        for claim in claims:
            document = knowledge_base.knowledge.documents.get(claim.document)
            title = f" ({literal(document.title)})" if document else ""
            st.markdown(f"- {rendered(claim.says)} {code(claim.id)}{title}")
