"""Make it better: only what can still change the recommendation, the most decisive first, the verdict in view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu.render.view.asking import ask_view, why_asked
from whygpu.render.view.model import Evidence
from whygpu.render.words import price_text, short_text
from whygpu_ui.knowledge import find, next_question, view
from whygpu_ui.markdown import literal, rendered
from whygpu_ui.model_field import ANOTHER_MODEL
from whygpu_ui.pieces import inline, show, table, who
from whygpu_ui.problems import show_problems
from whygpu_ui.question_page import take
from whygpu_ui.session import ANSWER_PAGE, BETTER, change, give, go, leave, part, state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from whygpu import Advice, KnowledgeBase
    from whygpu.explain.interview import Interview, NextQuestion
    from whygpu.knowledge.questions import Question
    from whygpu.render.view.asking import AskView


def better_page(knowledge_base: KnowledgeBase) -> None:
    """Ask what matters most now, or say that nothing more does."""
    now = state()
    finding = find(knowledge_base, now.answers)
    advice = finding.advice
    if advice is None:
        st.title("These answers cannot be used together", anchor=False)
        show_problems(finding.problems)
        return
    _verdict(knowledge_base)
    with st.spinner("Finding what matters most now"):
        asked = next_question(knowledge_base, now.answers)
    if asked is None:
        _end(advice, [item for item in knowledge_base.knowledge.questions if item.id in finding.applicable])
        return
    interview = knowledge_base.interview(now.answers, consultation=advice.consultation)
    _question(ask_view(knowledge_base.knowledge, asked.question, asked, interview))
    _why(knowledge_base, asked)
    _choose(interview)


def _verdict(knowledge_base: KnowledgeBase) -> None:
    """What is recommended so far, and what the last answer made of it."""
    now = state()
    shown = view(knowledge_base, now.answers)
    with st.container(border=True):
        if shown is not None:
            head = shown.headline
            show(f"<p><strong>{inline(head.text)}</strong> {inline(head.price)}</p>")
        if now.before is not None:
            show(f"<p>{inline(difference(knowledge_base))}</p>")


def difference(knowledge_base: KnowledgeBase) -> str:
    """What the last answer changed."""
    now = state()
    if now.before is None or _given(now.before) == _given(now.answers):
        return ""
    old, new = (find(knowledge_base, answers).advice for answers in (now.before, now.answers))
    if old is None or new is None:
        return ""
    before, after = old.recommendation, new.recommendation
    if (before and before.identity) == (after and after.identity):
        if before is None or after is None or price_text(before) == price_text(after):
            return "Your last answer did not change it."
        return f"The same recommendation; its price was {price_text(before)}."
    was = "no plan was left before" if before is None else f"it was {short_text(before)}, {price_text(before)}"
    return f"Your last answer changed it: {was}."


def _given(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are answers: what was left to what is assumed is none."""
    return {key: value for key, value in answers.items() if value is not None}


def _question(asked: AskView) -> None:
    now = state()
    st.title(rendered(asked.ask), anchor=False)
    if asked.help:
        st.markdown(rendered(asked.help))
    if asked.stake:
        st.markdown(f"**At stake.** {literal(asked.stake)}")
    show_problems(now.problems)
    key = f"better-{asked.id}-{now.visit}"
    wide = 2 if len(asked.choices) <= 4 else 3
    columns = [column for _ in range(0, len(asked.choices), wide) for column in st.columns(wide)]
    for number, item in enumerate(asked.choices):
        held = " (assumed)" if item.assumed else ""
        meaning = f"  \n{rendered(item.meaning)}" if item.meaning else ""
        with columns[number]:
            label = f"**{literal(item.label)}**{held}{meaning}"
            value = None if item.assumed else item.value
            st.button(label, key=f"{key}-{number}", width="stretch", on_click=give, args=(asked.id, value, BETTER))
    if asked.free:
        with st.form(f"form-{key}", border=False):
            st.text_input(
                _another(asked),
                "",
                200,
                key,
                autocomplete="off",
                placeholder=asked.assumed,
            )
            st.form_submit_button("Take it", type="primary", key="next", on_click=_submit, args=(asked.id, key))
    keep = f"Keep {asked.assumed}" if asked.assumed else "Leave it open"
    st.button(literal(keep), key="keep", on_click=give, args=(asked.id, None, BETTER))
    if asked.because:
        st.markdown(f"{literal(asked.assumed)} is assumed, because {rendered(asked.because)}.")


def _another(asked: AskView) -> str:
    if asked.unit:
        return f"Another value, {asked.unit}"
    return ANOTHER_MODEL if asked.id == "model" else "Your answer"


def _submit(question: str, key: str) -> None:
    take(question, str(st.session_state.get(key) or "").strip(), BETTER)


def _end(advice: Advice, applicable: Sequence[Question]) -> None:
    """Nothing more is asked; what was left to what is assumed can be asked again."""
    given = state().answers
    left = [item for item in applicable if given.get(item.id, item) is None]
    if advice.recommendation is None:
        st.title("No answer that was tried allows a plan", anchor=False)
        st.markdown("What was asked for must change: the answer page lists the changes that allow a plan.")
    else:
        st.title("Nothing else to ask" if left else "Nothing else can change this", anchor=False)
        st.markdown("No answer to a question that you did not leave changes the recommendation.")
    st.button("Back to the answer", type="primary", key="to-answer", on_click=go, args=(ANSWER_PAGE,))
    if left:
        asks = "\n".join(f"- {rendered(item.ask)}" for item in left)
        st.markdown(f"You left these to what is assumed; an answer may still change it:\n\n{asks}")
        st.button("Ask these, too", key="again", on_click=change, args=({item.id: None for item in left},))


@part
def _choose(interview: Interview) -> None:
    """Who says what they can answer is asked only that; open until they have answered anything beside the work."""
    questions = interview.choosable
    if not questions or not st.toggle("Choose what you are asked", not interview.begun, f"choose-{state().visit}"):
        return
    st.markdown("Which of these can you answer? Only they are asked then; the others are left to what is assumed.")
    with st.form("choose", border=False):
        columns = st.columns(2)
        for number, item in enumerate(questions):
            with columns[2 * number // len(questions)]:
                st.checkbox(rendered(item.ask), key=_box(item))
        st.form_submit_button("Ask only these", key="chosen", on_click=_chosen, args=(questions,))
    if st.session_state.get("chosen") and not any(st.session_state.get(_box(item)) for item in questions):
        st.warning("Tick at least one, or answer the question above.")


def _chosen(questions: Sequence[Question]) -> None:
    ticked = {item.id for item in questions if st.session_state.get(_box(item))}
    if ticked:
        leave(item.id for item in questions if item.id not in ticked)


def _box(question: Question) -> str:
    return f"choose-{question.id}-{state().visit}"


@st.fragment
def _why(knowledge_base: KnowledgeBase, asked: NextQuestion) -> None:
    """Why it is asked; what each answer would do is found only for whoever looks."""
    if not st.toggle("Why this is asked, and what each answer would do", key=f"why-{asked.id}"):
        return
    answers = state().answers
    advice = find(knowledge_base, answers).advice
    if advice is None:
        return
    interview = knowledge_base.interview(answers, consultation=advice.consultation)
    section = why_asked(knowledge_base.knowledge, asked, interview.effects(asked.question))
    lines = "".join(
        f"<li{' class=below' if line.level else ''}>{inline(line.text)}{who(Evidence(line.evidence.rule))}</li>"
        for line in section.lines
    )
    show(f"<ul>{lines}</ul>" + (table(section.grid.headings, section.grid.rows) if section.grid else ""))
