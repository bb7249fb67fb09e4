"""What is behind an answer, one part at a time: why, what if, tipping points, figures, assumed, ruled out, report."""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
import yaml

from whygpu.errors import AnswerError
from whygpu.explain.flips import search
from whygpu.explain.trials import REACH
from whygpu.lifecycle.answers import KEY
from whygpu.quantity import show as show_number
from whygpu.quantity import show_range
from whygpu.render.html import page as html_page
from whygpu.render.markdown import document
from whygpu.render.view import board
from whygpu.render.view.questions import why_not_sections
from whygpu.render.view.request import chips
from whygpu.render.words import money_text, price_text, short_text
from whygpu_ui.browser import copy_link
from whygpu_ui.chain import chain
from whygpu_ui.charts import (
    PICK,
    description,
    memory_chart,
    memory_rows,
    price_speed,
    price_speed_rows,
    price_speed_text,
    scatter,
)
from whygpu_ui.knowledge import find, view
from whygpu_ui.markdown import code, literal, rendered
from whygpu_ui.pieces import board_table, inline, only, sections, show, spoken, table, who
from whygpu_ui.problems import show_problems
from whygpu_ui.question_page import question_of
from whygpu_ui.session import COMPARE, SIZE, give, go, part, replace_all, state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whygpu import Advice, KnowledgeBase, LifecycleAdvice
    from whygpu.explain.parts import Item
    from whygpu.explain.plan import Plan
    from whygpu.render.view import View
    from whygpu.render.view.model import ItemRow, Section, Sentence

At = TypeVar("At")
"""What is known at a value beside what is recommended there."""
_CHART_PX = 340
_BARS, _BOARD = 5, 4
_SLIDERS = (
    "concurrency",
    "streams",
    "requests_per_second",
    "context_tokens",
    "dataset_tokens",
    "dataset_hours",
    "dataset_samples",
    "epochs",
    "deadline_hours",
    "budget_per_hour",
    "service_months",
)
"""Numbers whose staircase is offered, where they apply."""
_STEPS = 9
_NEAR = 1.1
"""Values this close are one step of the staircase."""


@part
def details(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:
    """One part at a time, so that the page stays short."""
    parts = {"Why not": _why_not, "Rules": _why, "Assumed": _assumed, "Report": _report}
    if advice.recommendation is not None:
        parts = {
            "Why": _why,
            "Advice": _advice,
            "What if": _what_if,
            "Tipping points": _flips,
            "Price and speed": _chart,
            "Memory": _memory,
            "Board": _board,
            "Assumed": _assumed,
            "Why not": _why_not,
            "Report": _report,
        }
    st.header("Look closer", anchor=False)
    chosen = st.segmented_control(
        "Look closer",
        list(parts),
        default=next(iter(parts)),
        required=True,
        key=f"details-{state().visit}",
        label_visibility="collapsed",
    )
    place = only(parts, chosen)  # at once, or the part of before stays until a slow one is found
    with place:
        parts[chosen](knowledge_base, advice, shown)


def _why(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:
    _said("And because", shown.because[1:])
    _said("But also", shown.but[1:])
    for title, favourable, mark in (("For it", True, "+"), ("Against it", False, "-")):
        rows = [row for row in shown.reasons if row.favourable == favourable and row.about is None]
        if rows:
            lines = "".join(
                f"<li><strong>{mark} {inline(row.worth)}{' (decides)' if row.decides else ''}</strong> "
                f"{inline(row.text)}{who(row.evidence)}</li>"
                for row in rows
            )
            more = "less" if favourable else "more"
            show(f"<p><strong>{title}</strong>: its price counts so many times {more}</p><ul>{lines}</ul>")
    others = [row for row in shown.reasons if row.about is not None]
    if others:
        lines = "".join(f"<li>{inline(f'{row.about}: {row.text}')}{who(row.evidence)}</li>" for row in others)
        show(f"<p><strong>Against others</strong></p><ul>{lines}</ul>")
    disagreements = "".join(f"<li>{inline(item.text)}</li>" for item in shown.disagreements[:2])
    if disagreements:
        show(f"<p><strong>Where sources disagree</strong></p><ul>{disagreements}</ul>")
    st.button("Have measurements? Size from them", key="to-size", on_click=go, args=(SIZE,))
    if st.toggle("The whole chain: every rule that fired, its conditions, its sources", key=f"chain-{state().visit}"):
        chain(knowledge_base, advice)  # some dozens of parts, which only who looks waits for


def _said(title: str, items: Sequence[Sentence | ItemRow]) -> None:
    if items:
        show(f"<p><strong>{title}</strong></p>{_listed(items)}")


def _listed(items: Sequence[Sentence | ItemRow]) -> str:
    return "<ul>" + "".join(f"<li>{inline(item.text)}{who(item.evidence)}</li>" for item in items) + "</ul>"


# advice


def _advice(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    items = [item for item in shown.items if item.kind != "warning" and not item.general]
    show(_listed(items) if items else "<p>No rule has more to say than the reasons do.</p>")


# what if


def _what_if(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    answers = {key: value for key, value in state().answers.items() if value is not None}
    said = [item.answer for item in chips(advice.consultation)]
    applicable = find(knowledge_base, answers).applicable
    tried = ((key, _ladder(knowledge_base, advice, key)) for key in _SLIDERS if key in applicable)
    ladders = {key: ladder for key, ladder in tried if ladder is not None}
    if not ladders:
        st.markdown("No number was answered or assumed that could be moved.")
        return
    # what the request names comes first
    keys = sorted(ladders, key=lambda key: said.index(key) if key in said else len(said))
    names = {key: question_of(knowledge_base, key).ask for key in keys}
    key = st.selectbox("What if this were another number?", keys, 0, lambda item: names[item], key="what-if-key")
    now, values = ladders[key]
    unit = knowledge_base.knowledge.name_by_answer[key].unit
    chosen = st.select_slider(
        names[key],
        values,
        now,
        lambda value: show_number(value, unit),
        key=f"what-if-{key}-{state().visit}",
        label_visibility="collapsed",
    )
    if chosen != now:
        _then(knowledge_base, advice, {**answers, key: chosen})
        st.button("Use this as the answer", key="take-what-if", on_click=give, args=(key, chosen))
    with st.spinner("Trying other numbers"):
        stairs = _staircase(knowledge_base, answers, key, values, now)
    show(stairs)


def _ladder(knowledge_base: KnowledgeBase, advice: Advice, key: str) -> tuple[float, list[float]] | None:
    """The value of now, and numbers around it on a logarithmic scale."""
    consultation = advice.consultation
    spec = knowledge_base.knowledge.name_by_answer[key]
    now = consultation.answers.values.get(key)
    if now is None:
        now = next((item.value for item in consultation.applied.assumed if item.question.id == key), None)
    if now is None and key == "budget_per_hour" and advice.recommendation and advice.recommendation.cost:
        now = advice.recommendation.cost.compared.usd_per_hour
    if not isinstance(now, float) or now <= 0:
        return None
    found = {now}
    least = max(now / REACH, spec.minimum or 0, 1 if spec.integer else 0)  # what there is not below, there is above
    for step in range(_STEPS):
        value = float(f"{least * REACH ** (2 * step / (_STEPS - 1)):.2g}")
        value = min(max(value, least), spec.maximum or value)
        found.add(float(round(value)) if spec.integer else value)
    return now, sorted(found)


def _then(knowledge_base: KnowledgeBase, advice: Advice, answers: dict[str, Any]) -> None:
    other = find(knowledge_base, answers).advice
    plan = None if other is None else other.recommendation
    if plan is None:
        show("<p><strong>Then no plan is left.</strong></p>")
        return
    same = advice.recommendation is not None and plan.identity == advice.recommendation.identity
    text = f"{short_text(plan)}, {money_text(plan)}"
    show(f"<p><strong>{'Still' if same else 'Then'} {inline(text)}.</strong></p>")


def _staircase(
    knowledge_base: KnowledgeBase, answers: dict[str, Any], key: str, values: list[float], now: float
) -> str:
    """Which plan is recommended from which value on."""
    spec = knowledge_base.knowledge.name_by_answer[key]

    def at(value: float) -> tuple[str, Plan | None]:
        advice = find(knowledge_base, {**answers, key: value} if value != now or key in answers else answers).advice
        plan = None if advice is None else advice.recommendation
        return "no plan is left" if plan is None else short_text(plan), plan

    found = {value: at(value) for value in values}
    for low, high in pairwise(values):
        found |= between(low, high, found, at, whole=spec.integer)
    rows = []
    for name, run in groupby(sorted(found), key=lambda value: found[value][0]):
        over = list(run)
        last = show_number(over[-1], spec.unit)
        ends = last if len(over) == 1 else f"{show_number(over[0])} to {last}"
        prices = _prices(found[over[0]][1], found[over[-1]][1])
        rows.append((ends + (" (now)" if now in over else ""), ", ".join(filter(None, (name, prices)))))
    return table((key.replace("_", " "), "recommended"), rows)


def _prices(first: Plan | None, last: Plan | None) -> str:
    """What a plan costs over a step of the staircase: of a job at both ends of it."""
    if first is None or last is None or first.cost is None or last.cost is None:
        return "" if first is None else price_text(first)
    jobs = first.cost.compared.usd_total, last.cost.compared.usd_total
    if jobs[0] is None or jobs[1] is None or jobs[0] == jobs[1]:
        return money_text(first)
    return f"{show_range(jobs[0], jobs[1], 'USD')} for the job"


def between(
    low: float,
    high: float,
    found: Mapping[float, tuple[str, At]],
    at: Callable[[float], tuple[str, At]],
    *,
    whole: bool,
) -> dict[float, tuple[str, At]]:
    """More values where the plan of two is not the same, until they are next to each other or as good as; where that
    between is a third, on both sides of it.
    """
    ends: dict[float, tuple[str, At]] = {low: found[low], high: found[high]}
    middle = float(f"{math.sqrt(low * high):.2g}")
    middle = float(round(middle)) if whole else middle
    if ends[low][0] == ends[high][0] or high / low <= _NEAR or not low < middle < high:
        return ends
    known = {**found, middle: at(middle)}
    return between(low, middle, known, at, whole=whole) | between(middle, high, known, at, whole=whole)


def _flips(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    with st.spinner("Looking for what would change it"):
        told = st.empty()  # to draw something is what lets another choice end the search
        search(advice.consultation, lambda key: told.caption(f"Trying other answers for {key.replace('_', ' ')}"))
        told.empty()
        found = view(knowledge_base, state().answers, flips=True)
    if found is None or not found.flips:
        st.markdown("Nothing that was tried changes the recommendation.")
        return
    show(table(("if", "then"), ((spoken(row.change, knowledge_base.knowledge), row.then) for row in found.flips)))
    if found.idle:
        names = ", ".join(name.replace("_", " ") for name in found.idle)
        st.markdown(literal(f"As far as it was tried, nothing else changes it: {names}."))


# figures


def _chart(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    found = scatter(advice.plans, advice.consultation.answers.values)
    if found is None:
        st.markdown("No plan has both a price and a speed.")
        return
    chart = price_speed(found, dark=st.context.theme.type == "dark", height=_CHART_PX)
    key = f"scatter-{state().visit}"
    event: Any = st.altair_chart(
        chart, width="stretch", height=_CHART_PX, key=key, on_select="rerun", alt=price_speed_text(found)
    )
    picked = next((row["id"] for row in event["selection"].get(PICK, ())), None)
    if picked is not None and advice.recommendation is not None and picked != advice.recommendation.id:
        go(COMPARE, picked)
        st.rerun()
    limits = " The dashed line is what you asked for." if found.most_time or found.most_usd else ""
    st.markdown(
        "Filled: the memory has headroom; hollow: it is tight, or a limit could not be checked. Low and left is best."
        f"{limits} Click a plan to compare it."
    )
    with st.expander("The same in numbers"):
        show(table(("plan", "price", "speed", "memory"), price_speed_rows(found)))


def _memory(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    plans = advice.plans[:_BARS]
    chart = memory_chart(plans, dark=st.context.theme.type == "dark")
    st.altair_chart(chart, width="stretch", alt=description(plans))
    st.markdown("The thick tick is the usable memory of one accelerator, the thin line the range of the estimate.")
    with st.expander("The same in numbers"):
        show(table(*memory_rows(plans)))


def _board(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    """What each criterion is worth for the first few plans and one that is picked; a figure opens what it rests on."""
    plans = [plan for plan in advice.plans if plan.counted is not None]
    first, others = plans[:_BOARD], plans[_BOARD:]
    if others:
        names = {plan.id: f"{short_text(plan)}, {price_text(plan)}" for plan in others}
        key = f"board-{state().visit}"
        picked = st.selectbox("Compared with another plan", list(names), None, lambda name: names[name], key)
        first += [plan for plan in others if plan.id == picked]
    show(board_table(board(advice, first)))
    st.markdown(
        "Each factor multiplies the price with its handling, what having the machines costs: below 1 is in favour of a "
        "plan, above 1 against it. The lowest result wins. A figure opens the rules behind it."
    )
    handling = knowledge_base.knowledge.preferences.handling
    if handling is not None:
        hour, own, hours = handling.usd_per_hour, handling.own_usd_per_hour, handling.hours_per_job
        st.markdown(
            f"Handling is {literal(f'${hour:g}')} an hour for each machine ({literal(f'${own:g}')} under a desk), "
            f"and of a job {hours:g} more paid for. {rendered(handling.because)}"
        )


def _assumed(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:  # noqa: ARG001  as the others
    if not shown.assumed:
        st.markdown("Nothing was assumed: every question that applies is answered.")
        return
    questions = {question.id for question in knowledge_base.knowledge.questions}
    rows = st.container(key="assumed")
    for row in shown.assumed:
        words, button = rows.columns([5, 1], vertical_alignment="center")
        weighs = "" if row.weighs else " No rule that fired reads it; sizes, speeds or costs may."
        words.markdown(
            f"**{literal(row.answer.replace('_', ' '))}**: {literal(row.value)}, "
            f"because {rendered(row.because)}.{weighs}"
        )
        if row.answer in questions:
            button.button("Answer", key=f"answer-{row.answer}", on_click=go, args=(row.answer,))


def _why_not(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:
    """Why one card that is asked about is not recommended, and what is ruled out."""
    cards = knowledge_base.knowledge.catalogue.accelerators
    label, hint = "Why not this accelerator?", "Choose, or type"
    name = st.selectbox(label, list(cards), None, lambda card: cards[card].name, "why-not", placeholder=hint)
    if name is not None:
        try:
            told = sections(why_not_sections(advice, name, advice.why_not(name)))
        except AnswerError as error:
            show_problems(error.problems)
        else:
            show(spoken(told, knowledge_base.knowledge))
    st.markdown("**Ruled out**" if shown.ruled_out else "No accelerator is ruled out.")
    for item in shown.ruled_out:
        with st.expander(f"{rendered(item.title)} ({item.count})"):
            names = inline(", ".join(item.names))
            show(f"<p>{inline(item.text)}{who(item.evidence)}</p><p>{names}</p>")


# the report


def _report(knowledge_base: KnowledgeBase, advice: Advice, shown: View) -> None:
    reports(lambda: ([shown], []))
    take_along(advice)
    _lifecycle(knowledge_base, advice)


def reports(parts: Callable[[], tuple[Sequence[View], Sequence[Section]]], place: str = "part") -> None:
    """The advice as documents: ``parts`` gives what they are made of once one is wanted; ``place`` on the page."""
    kinds = (
        ("Report as Markdown", document, "whygpu.md", "text/markdown"),
        ("Report as HTML, to print", html_page, "whygpu.html", "text/html"),
    )
    with st.container(horizontal=True):
        for label, made, name, mime in kinds:
            data = partial(_made, made, parts)
            st.download_button(label, data, name, mime, key=f"{place}-{name}", on_click="ignore")


def _made(made: Callable[..., str], parts: Callable[[], tuple[Sequence[View], Sequence[Section]]]) -> str:
    return made(*parts())


def take_along(advice: Advice | LifecycleAdvice | None) -> None:
    """The link, and the answers and the advice as files."""
    now = state()
    if not now.link_is_whole:
        st.warning("The answers are too long for a link, which leaves some of them out. Download them instead.")
    copy_link()
    known = {key: value for key, value in now.answers.items() if value is not None}
    answers = yaml.safe_dump(known, sort_keys=False, allow_unicode=True)
    with st.container(horizontal=True):
        st.download_button(
            "Download the answers (YAML)", answers, "answers.yaml", "application/yaml", on_click="ignore"
        )
        if advice is not None:
            text = json.dumps(advice.to_dict(), indent=1, ensure_ascii=False)
            st.download_button("Download the advice (JSON)", text, "advice.json", "application/json", on_click="ignore")


def _lifecycle(knowledge_base: KnowledgeBase, advice: Advice) -> None:
    """The way to the other phase and the cost of both; all answers are shared, so that each goes where it applies."""
    applicable = find(knowledge_base, state().answers).applicable
    idle = {question.id for question in knowledge_base.knowledge.questions} - set(applicable)
    answers = {
        key: value for key, value in state().answers.items() if value is not None and key not in (*idle, "phase")
    }
    phase = next((item.value for item in advice.assumed if item.answer == "phase"), advice.answers.get("phase"))
    trains = advice.recommendation is not None and advice.recommendation.method is not None
    part = {"phase": phase}
    answers[KEY] = {"train": part if trains else {}, "serve": {} if trains else part}
    other = "Serving it afterwards" if trains else "Training it before"
    st.markdown(f"{other} is a separate decision, and serving is often most of the cost.")
    st.button("Train, then serve: both plans and their cost", key="whole-life", on_click=replace_all, args=(answers,))


def listed(items: Iterable[Item]) -> str:
    """Items as a list, each with its claims."""
    return "\n".join(f"- {rendered(item.text)} {' '.join(code(claim) for claim in item.claims)}" for item in items)
