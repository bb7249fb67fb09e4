"""One question, to change its answer; and the form for an answer that other pages draw too."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import streamlit as st

from whygpu.answers import LISTS, MEASURED, allowed_words
from whygpu.errors import AnswerError, Location, Problem
from whygpu.render.view.asking import ask_view
from whygpu_ui.knowledge import find
from whygpu_ui.markdown import literal, rendered
from whygpu_ui.model_field import model_label, picked, popular
from whygpu_ui.problems import show_problems
from whygpu_ui.session import ANSWER_PAGE, forget, give, go, refuse, state

if TYPE_CHECKING:
    from whygpu import KnowledgeBase
    from whygpu.knowledge.questions import Question
    from whygpu.render.view.asking import AskView

MOST_SHOWN = 8
"""Choices shown side by side; more than these go into a list that can be searched."""
_MAX_TEXT = 200
_MAX_LIST = 2_000
_MOST_NAMED = 50
_OWNED = "owned"
NAMED = {
    _OWNED: "Which hardware is there already?",
    "accelerators": "Which hardware may it be, and no other?",
    "exclude_accelerators": "Which hardware must it not be?",
    "providers": "From which providers, and no others?",
    "provider_classes": "From which kinds of providers?",
    "regions": "In which regions?",
    "price_kinds": "At which kinds of prices?",
}
"""What no question of the knowledge base asks and one may say all the same, as a question."""
_FLAGS = {"true": "yes", "false": "no"}


def question_page(knowledge_base: KnowledgeBase, key: str) -> None:
    """Ask one question, and show the answer then."""
    question = question_of(knowledge_base, key)
    st.title(rendered(question.ask), anchor=False)
    if question.help:
        st.markdown(rendered(question.help))
    show_problems(state().problems)
    answer_form(knowledge_base, question, "page", ANSWER_PAGE)
    if question.id == "phase":
        _profiles(knowledge_base)
    if state().stopped is None:
        st.button("Back to the answer", key="back", on_click=go, args=(ANSWER_PAGE,))


def question_of(knowledge_base: KnowledgeBase, key: str) -> Question:
    """The question with this id."""
    return next(item for item in knowledge_base.knowledge.questions if item.id == key)


def view_of_question(knowledge_base: KnowledgeBase, question: Question) -> AskView | None:
    """The question at the answers of now, without its own; None where those cannot be used."""
    answers = {key: value for key, value in state().answers.items() if key != question.id}
    advice = find(knowledge_base, answers).advice
    if advice is None:
        return None
    interview = knowledge_base.interview(answers, consultation=advice.consultation)
    return ask_view(knowledge_base.knowledge, question, None, interview)


def answer_form(knowledge_base: KnowledgeBase, question: Question, where: str, page: str | None = None) -> None:
    """The field for an answer, with what holds without one; the next page is ``page``, or this one."""
    now = state()
    given = now.answers.get(question.id)
    view = view_of_question(knowledge_base, question)
    key = f"{where}-{question.id}-{now.visit}"
    with st.form(f"form-{key}", border=False):
        with st.container(key=f"fields-{key}"):
            if view is not None and view.unit:
                st.markdown(literal(f"{view.unit[0].upper()}{view.unit[1:]}."))
            _field(knowledge_base, question, view, key, given)
        if view is not None and view.assumed and now.stopped is None:
            st.markdown(f"Without an answer: {literal(view.assumed)}, because {rendered(view.because)}.")
        st.form_submit_button(
            "Update", type="primary", key=f"next-{key}", on_click=_submit, args=(question.id, key, page)
        )
    if given is not None:
        st.button("Take the answer back", key=f"forget-{key}", on_click=forget, args=(question.id,))


def _field(knowledge_base: KnowledgeBase, question: Question, view: AskView | None, key: str, given: object) -> None:
    """The question is the heading above: the field repeats it for screen readers alone. What is assumed is chosen."""
    spec = knowledge_base.knowledge.vocabulary[question.name]
    if given is None and view is not None:
        given = next((row.value for row in view.choices if row.assumed and spec.kind != "number"), None)
    if question.id == "model":
        _model(knowledge_base, key, given)
        return
    match spec.kind:
        case "choice" | "flag":
            says = _FLAGS if spec.kind == "flag" else {word: f"{word}: {said}" for word, said in spec.values.items()}
            words = list(says)
            now = str(given).lower() if spec.kind == "flag" else str(given)
            index = words.index(now) if now in words else None
            if len(words) <= MOST_SHOWN:
                st.radio(question.ask, words, index, lambda word: says[word], key, label_visibility="collapsed")
            else:
                st.selectbox(question.ask, words, index, lambda word: says[word], key, label_visibility="collapsed")
        case "number" | "text":
            text = "" if given is None else str(given)
            hint = view.assumed if view else ""
            st.text_input(
                question.ask, text, _MAX_TEXT, key, autocomplete="off", placeholder=hint, label_visibility="collapsed"
            )
        case _:
            assert_never(spec.kind)


def _model(knowledge_base: KnowledgeBase, key: str, given: object) -> None:
    options = _models(knowledge_base)
    shown = given if isinstance(given, str) else str(given.get("parameters", "")) if isinstance(given, dict) else ""
    if shown and shown not in options:
        options = [shown, *options]
    st.selectbox(
        "A name, the Hub's org/name, or a size such as 7B",
        options,
        options.index(shown) if shown else None,
        lambda name: model_label(knowledge_base, name),
        key,
        placeholder="Choose, or type",
        accept_new_options=True,
    )


def _models(knowledge_base: KnowledgeBase) -> list[str]:
    """Those of the work that was answered, the usual ones first."""
    given = state().answers
    return popular(knowledge_base, str(given.get("phase") or "inference"), str(given.get("task") or "language"))


def _submit(question: str, key: str, page: str | None) -> None:
    entered = st.session_state.get(key)
    take(question, entered.strip() if isinstance(entered, str) else "", page)


def take(question: str, text: str, page: str | None) -> None:
    """Take what was typed or chosen as the answer to a question."""
    knowledge_base = state().knowledge_base
    if not text:
        refuse((Problem("empty", "There is no answer yet", Location(question), "choose or enter one"),), question)
        return
    spec = knowledge_base.knowledge.name_by_answer[question]
    if question == "model":
        try:
            give(question, picked(text, _models(knowledge_base), knowledge_base), page)
        except AnswerError as error:
            refuse(error.problems, question)
        return
    give(question, text == "true" if spec.kind == "flag" else text, page)


def named_form(knowledge_base: KnowledgeBase, answer: str, label: str) -> None:
    """The field for hardware, regions or providers that are named, which no question asks; none for a mapping."""
    given = state().answers.get(answer)
    if answer != MEASURED and not isinstance(given, dict):
        key = f"named-{answer}-{state().visit}"
        with st.form(f"form-{key}", border=False):
            if answer in LISTS:
                _names(knowledge_base, answer, label, key, given)
            else:
                hint = "Several stand with commas between them, as 4x RTX 3090, 1x L4." if answer == _OWNED else None
                st.text_input(literal(label), _as_text(given), _MAX_LIST, key, autocomplete="off", help=hint)
            st.form_submit_button("Update", type="primary", key=f"next-{key}", on_click=_named, args=(answer, key))
    if given is not None:
        st.button("Take the answer back", key=f"forget-{answer}", on_click=forget, args=(answer,))


def _names(knowledge_base: KnowledgeBase, answer: str, label: str, key: str, given: object) -> None:
    """A list to choose from; hardware goes by more names than it holds, as of a family."""
    catalogue = knowledge_base.knowledge.catalogue
    said = [given] if isinstance(given, str) else [*map(str, given)] if isinstance(given, list | tuple) else []
    words = allowed_words(answer, catalogue)
    names = {item.id: item.name for item in catalogue.accelerators.values()} if words is None else {}
    if answer == "providers":
        names = {item.id: item.name for item in catalogue.providers.values()}
    options = list(dict.fromkeys([*said, *sorted(names or words or (), key=lambda one: names.get(one, one))]))
    st.multiselect(
        literal(label),
        options,
        said,
        lambda one: names.get(one, one),
        key,
        max_selections=max(_MOST_NAMED, len(said)),
        accept_new_options=words is None,
        placeholder="Choose, or type",
        filter_mode="contains",
        select_all=False,  # it would be the first match: Enter after "T4" would take 33 cards
    )


def _as_text(given: object) -> str:
    """What was given as it is typed."""
    if isinstance(given, list | tuple):
        return ", ".join(
            f"{int(item['count'])}x {item['accelerator']}" if isinstance(item, dict) else str(item) for item in given
        )
    return "" if given is None else str(given)


def _named(answer: str, key: str) -> None:
    entered = st.session_state.get(key)
    if not isinstance(entered, str):
        entered = list(entered or ())
    elif answer == _OWNED and entered.strip().isdigit():  # "4090" is a card, which a link would read as a number
        entered = f"1x {entered}"
    if entered:
        give(answer, entered)
    else:
        forget(answer)


def _profiles(knowledge_base: KnowledgeBase) -> None:
    """What each phase is like, to choose between them."""
    with st.expander("What each option means"):
        for profile in knowledge_base.knowledge.profiles.values():
            st.markdown(f"**{rendered(profile.title)}**")
            st.markdown("\n".join(f"- {rendered(point.text)}" for point in profile.points))
