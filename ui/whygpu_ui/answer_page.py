"""The answer: request, verdict, because, but and meters on the first screen; the shortlist; the rest on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu.render.view.request import chips
from whygpu.render.words import NO_CHANGE, short_text
from whygpu_ui.better_page import difference
from whygpu_ui.details import details, reports
from whygpu_ui.knowledge import find, view
from whygpu_ui.markdown import literal, rendered
from whygpu_ui.pieces import inline, meters, show, spoken, who
from whygpu_ui.problems import show_problems
from whygpu_ui.question_page import NAMED, answer_form, named_form, question_of
from whygpu_ui.session import BETTER, COMPARE, change, forget, go, part, state

if TYPE_CHECKING:
    from whygpu import Advice, KnowledgeBase
    from whygpu.render.view import View
    from whygpu.render.view.request import Chip

_MOST_CHIPS = 14
_CARDS = (4, 3)
"""Cards in a row, where they are so many, and else."""


def answer_page(knowledge_base: KnowledgeBase) -> None:
    """Show what the knowledge base advises on the answers."""
    finding = find(knowledge_base, state().answers)
    advice, shown = finding.advice, view(knowledge_base, state().answers)
    if advice is None or shown is None:
        st.title("These answers cannot be used together", anchor=False)
        show_problems(finding.problems)
        _repairs_of_answers()
        return
    _chips(knowledge_base, advice)
    if not state().refused:
        show_problems(state().problems)
    _verdict(knowledge_base, advice, shown)
    if shown.trouble is not None:
        _trouble(shown)
    if shown.meters:
        show(meters(shown.meters))
    if shown.trouble is None:  # where nothing is left, a repair is what helps
        with st.container(horizontal=True):
            st.button("Make it better", type="primary", key="better", on_click=go, args=(BETTER,))
            with st.popover("Report"):
                reports(lambda: ([shown], []), "beside")
    _shortlist(shown)
    details(knowledge_base, advice, shown)


# the request


def _chips(knowledge_base: KnowledgeBase, advice: Advice) -> None:
    """Each part of the request: pressed, it opens to be edited in place; assumed ones are dashed."""
    found = chips(advice.consultation)[:_MOST_CHIPS]
    with st.container(horizontal=True, vertical_alignment="center", key="chips"):
        for item in found:
            _chip(knowledge_base, item)
        _another(knowledge_base, advice, {item.answer for item in found})
        if any(item.assumed for item in found):
            st.markdown(":small[? = assumed]", width="content")


@part
def _chip(knowledge_base: KnowledgeBase, item: Chip) -> None:
    kind = "assumed" if item.assumed else "given"
    questions = {question.id for question in knowledge_base.knowledge.questions}
    label = literal(item.text if len(item.text) <= 40 else f"{item.text[:39]}…")
    shown = f"{label}\N{NO-BREAK SPACE}?" if item.assumed else label
    key = f"chip-{kind}-{item.answer}-{state().visit}"
    chip = st.popover(shown, key=key, on_change="rerun")
    if not chip.open:  # what is in a dozen of them would come before the verdict
        return
    with chip:
        if item.answer in questions:
            question = question_of(knowledge_base, item.answer)
            st.markdown(f"**{rendered(question.ask)}**")
            _refused(item.answer)
            answer_form(knowledge_base, question, "chip")
        else:
            _refused(item.answer)
            named_form(knowledge_base, item.answer, NAMED.get(item.answer, item.text))


@part
def _another(knowledge_base: KnowledgeBase, advice: Advice, said: set[str]) -> None:
    """What no chip says yet can be said too, whether or not it would change anything by itself."""
    asked = {item.id: item.ask for item in advice.consultation.applied.applicable}
    rest = {key: _found_by(key, ask) for key, ask in (asked | NAMED).items() if key not in said}
    key = f"more-{state().visit}"
    more = st.popover(literal("+ Say more"), key=f"chip-{key}", on_change="rerun")
    if not more.open:
        return
    with more:
        chosen = st.selectbox(
            "What else is known?", list(rest), None, lambda name: rest[name], key, placeholder="Choose, or type"
        )
        if chosen in NAMED:
            _refused(chosen)
            named_form(knowledge_base, chosen, NAMED[chosen])
        elif chosen is not None:
            question = question_of(knowledge_base, chosen)
            st.markdown(f"**{rendered(question.ask)}**")
            _refused(chosen)
            answer_form(knowledge_base, question, "more")


def _found_by(key: str, ask: str) -> str:
    """A question with the words of its key, by which people look for it, where it does not have them."""
    words = key.replace("_", " ")
    return ask if words in ask.lower() else f"{ask} ({words})"


def _refused(question: str) -> None:
    """What is wrong with the answer, beside its field: the rest of the page is behind it."""
    if state().refused == question:
        show_problems(state().problems)


def _repairs_of_answers() -> None:
    """Answers that contradict each other, each to be taken back."""
    for key, value in state().answers.items():
        text = f"{key} = {value}"
        st.button(literal(f"Take back {text[:70]}"), key=f"forget-{key}", on_click=forget, args=(key,))


# the verdict


def _verdict(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:
    head = shown.headline
    st.title(literal(head.text), anchor=False)
    now = state()
    lines = []
    if head.confidence is not None:
        why = f": {inline(head.why)}" if head.why else ""
        lines.append(
            f'<p><span class="price">{inline(head.price)}</span><span class="sure">{head.confidence}</span>{why}</p>'
        )
    elif head.why:
        lines.append(f"<p>{inline(head.why)}</p>")
    if now.was is not None:
        lines.append(f"<p><strong>{inline(since(advice, now.was))}</strong></p>")
    if now.before is not None:
        lines.append(f"<p>{inline(difference(knowledge_base))}</p>")
    for label, sentences in (("Because", shown.because[:1]), ("But", shown.but[:1])):
        lines += [f"<p><strong>{label}.</strong> {inline(item.text)}{who(item.evidence)}</p>" for item in sentences]
    show("".join(lines))
    warnings = [item for item in shown.items if item.kind == "warning"]
    if warnings:
        st.warning("\n".join(f"- {rendered(item.text)}" for item in warnings[:3]))


def since(advice: Advice, was: str) -> str:
    """What became of the recommendation of a link that was made with another edition of the knowledge base."""
    changed = "The knowledge base has changed since this link was made"
    if not was:
        return f"{changed}."
    best = advice.recommendation
    if best is not None and best.id == was:
        return f"{changed}; the recommendation is the same."
    old = next((plan for plan in advice.plans if plan.id == was), None)
    if old is None:  # a link can say anything: what it names is not repeated as ours
        return f"{changed}: what it recommended then is no longer among the plans."
    return f"{changed}: it recommended {short_text(old)} then."


def _trouble(shown: View) -> None:
    if shown.trouble is None:
        return
    lines = [f"<li>{inline(item.text)}{who(item.evidence)}</li>" for item in shown.trouble.conflict]
    show(f"<p><strong>What stands in the way</strong></p><ul>{''.join(lines)}</ul>" if lines else "")
    if shown.trouble.repairs:
        one = len(shown.trouble.repairs) == 1
        show(f"<p><strong>{'This change' if one else 'Any one of these changes'} allows a plan</strong></p>")
        for number, item in enumerate(shown.trouble.repairs):
            says = spoken(item.change, state().knowledge_base.knowledge)
            label = f"**{literal(says)}**  \n{literal(f'{item.plan}, {item.price}')}"
            st.button(label, key=f"repair-{number}", on_click=change, args=(item.answers,))
    else:
        st.markdown(NO_CHANGE)


# the shortlist


def _shortlist(shown: View) -> None:
    if len(shown.shortlist) < 2:
        return
    st.header("Shortlist", anchor=False)
    wide = _CARDS[0] if len(shown.shortlist) == _CARDS[0] else _CARDS[1]
    columns = [column for _ in range(0, len(shown.shortlist), wide) for column in st.columns(wide)]
    for number, row in enumerate(shown.shortlist):
        with columns[number], st.container(border=True, height="stretch", key=f"card-{number}"):
            mark = "recommended" if row.recommended else row.role
            against = f"<p>Against it: {inline(row.told)}</p>" if row.told else ""
            figures = ", ".join(filter(None, (row.price, row.speed, row.fit)))
            show(
                f"<p class=who>{inline(mark)}</p><p><strong>{inline(row.plan)}</strong></p>"
                f"<p>{inline(figures)}</p>{against}"
            )
            if not row.recommended:
                st.button("Compare", key=f"compare-{number}", on_click=go, args=(COMPARE, row.id))
