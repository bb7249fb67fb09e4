"""The answer's page for a lifecycle: both plans, what they cost together, and the way there and back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
import yaml

from whygpu.consult.names import LIFE_KEYS
from whygpu.errors import AnswerError
from whygpu.lifecycle.answers import PARTS
from whygpu.render.lifecycle import cost_rows, documented, instead, where_done, why_unknown
from whygpu.render.view.meters import meter_rows
from whygpu.render.words import sentence
from whygpu_ui.answers_link import check_answer
from whygpu_ui.details import listed, reports, take_along
from whygpu_ui.knowledge import find
from whygpu_ui.markdown import literal, rendered
from whygpu_ui.pieces import meters, show
from whygpu_ui.problems import show_problems
from whygpu_ui.session import refuse, replace_all, restart, state

if TYPE_CHECKING:
    from whygpu import Advice, KnowledgeBase, LifecycleAdvice

_TITLES = {"train": "Train", "serve": "Serve"}
_DATA = ("dataset_tokens", "dataset_hours", "dataset_samples")
"""How much a training reads: without it its cost is unknown."""


def life_page(knowledge_base: KnowledgeBase) -> None:
    """Show what the knowledge base advises on both phases."""
    finding = find(knowledge_base, state().answers)
    life = finding.life
    if life is None:
        st.title("These answers cannot be used together", anchor=False)
        show_problems(finding.problems)
    else:
        st.title("Train, then serve", anchor=False)
        for part, advice in zip(PARTS, life.phases, strict=True):
            _phase(_TITLES[part] + where_done(life, part), advice)
        _cost(life)
        _terms(knowledge_base, life)
        st.header("Report", anchor=False)
        reports(partial(documented, life))
    take_along(life)
    known = {key: value for key, value in state().answers.items() if value is not None}
    with st.expander("The answers, as a file"):
        st.code(yaml.safe_dump(known, sort_keys=False, allow_unicode=True), "yaml")
    st.button("Begin again", key="restart", on_click=restart)


def _phase(title: str, advice: Advice) -> None:
    st.header(title, anchor=False)
    plan = advice.recommendation
    if plan is None:
        st.markdown("No plan satisfies every constraint.")
    else:
        st.markdown(f"**{literal(sentence(plan))}**")
        show(meters(meter_rows(advice.consultation, plan)))
    if advice.warnings:
        st.warning(listed(advice.warnings))
    phase = next((item.value for item in advice.assumed if item.answer == "phase"), advice.answers.get("phase"))
    alone = {key: value for key, value in advice.answers.items() if key not in LIFE_KEYS} | {"phase": phase}
    label = f"{title} alone, with every reason"
    st.button(label, key=f"alone-{title.lower()}", on_click=replace_all, args=(alone,))


def _cost(life: LifecycleAdvice) -> None:
    st.header("What the lifecycle costs", anchor=False)
    rows = cost_rows(life)
    if rows:
        names = ("phase", "made of", "USD", "share")
        st.table([dict(zip(names, map(literal, row), strict=True)) for row in rows])
    for text in (*why_unknown(life), *instead(life)):
        st.markdown(literal(text))
    items = (*life.warnings, *life.advice)
    if items:
        st.markdown(listed(items))


def _terms(knowledge_base: KnowledgeBase, life: LifecycleAdvice) -> None:
    """How much a training reads, how long it serves and how often it is trained."""
    show_problems(state().problems)
    questions = {item.id: item for item in knowledge_base.knowledge.questions}
    applicable = {item.id for item in life.phases[0].consultation.applied.applicable}
    known = [*(key for key in LIFE_KEYS if key in questions), *(key for key in _DATA if key in applicable)]
    with st.form("life", border=True):
        for key in known:
            given = state().answers.get(key)
            label = rendered(questions[key].ask)
            st.text_input(label, "" if given is None else str(given), 40, _field(key), help=questions[key].help)
        st.form_submit_button("Update the cost", key="update-life", on_click=_update, args=(known,))


def _field(key: str) -> str:
    """A fresh field for each visit, as on the other pages."""
    return f"life-{key}-{state().visit}"


def _update(keys: list[str]) -> None:
    answers = dict(state().answers)
    for key in keys:
        text = str(st.session_state.get(_field(key)) or "").strip()
        answers.pop(key, None)
        if text:
            answers[key] = text
    try:
        for key in keys:
            if key in answers:
                check_answer(key, answers[key], state().knowledge_base)
    except AnswerError as error:
        refuse(error.problems)
        return
    replace_all(answers)
