"""The answer's page: verdict, memory against VRAM, what else there is, reasons, assumptions, what to do with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import streamlit as st
import yaml

from whygpu.language.tree import names
from whygpu.lifecycle.answers import KEY
from whygpu.quantity import show
from whygpu.render.words import buying_text, comparison_text, cost_text, sentence
from whygpu_ui.answer_tables import alternatives, rejected
from whygpu_ui.browser import copy_link
from whygpu_ui.chain import chain
from whygpu_ui.charts import description, memory_chart, parts
from whygpu_ui.knowledge import find
from whygpu_ui.markdown import code, literal, rendered
from whygpu_ui.problems import show_problems
from whygpu_ui.session import forget, go, replace_all, restart, state
from whygpu_ui.wizard import assumed_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu import Advice, KnowledgeBase, LifecycleAdvice, Plan
    from whygpu.explain.parts import Item

_MOST_BARS = 6
_SPEEDS = (
    ("ttft_ms", "First answer", "ms"),
    ("token_ms", "Each further token", "ms"),
    ("tokens_per_s", "Output", "tokens/s"),
    ("requests_per_s", "Requests", "requests/s"),
    ("frames_per_s", "Images", "frames/s"),
    ("train_tokens_per_s", "Training", "tokens/s"),
    ("samples_per_s", "Samples", "samples/s"),
    ("train_hours", "To finish", "hours"),
)
_FIT: Mapping[str, tuple[str, Literal["green", "orange", "red"]]] = {
    "fits": ("fits", "green"),
    "tight": ("fits, but tightly", "orange"),
    "no": ("does not fit", "red"),
}


def answer_page(knowledge_base: KnowledgeBase) -> None:
    """Show what the knowledge base advises on the answers."""
    finding = find(knowledge_base, state().answers)
    advice = finding.advice
    if advice is None:
        st.title("These answers cannot be used together", anchor=False)
        show_problems(finding.problems)
    elif advice.recommendation is None:
        _infeasible(knowledge_base, advice)
    else:
        _verdict(advice)
        _memory(advice)
        alternatives(advice)
    if advice is not None:
        rejected(advice)
        chain(knowledge_base, advice)
        _items(advice)
        _assumed(knowledge_base, advice)
        _lifecycle(knowledge_base, advice, finding.applicable)
    take_along(advice)
    _answers(knowledge_base)
    if advice is not None:
        edition = f"{literal(advice.knowledge_version)} ({code(advice.knowledge_hash)})"
        st.markdown(f"Knowledge base {edition}, {advice.engine} engine.")


# the verdict


def _verdict(advice: Advice) -> None:
    best = [plan for plan in advice.plans if plan.rank == 1]
    if len(best) == 1:
        st.title(literal(sentence(best[0])), anchor=False)
        one_plan(best[0])
    else:
        st.title(f"{len(best)} plans are equally good", anchor=False)
        for plan in best:
            with st.container(border=True):
                st.markdown(f"**{literal(sentence(plan))}**")
                one_plan(plan)
    for item in advice.comparisons:
        st.markdown(literal(comparison_text(item)))


def one_plan(plan: Plan) -> None:
    """A plan's fit, memory, speed and cost."""
    text, colour = _FIT[plan.memory.verdict]
    with st.container(horizontal=True):
        st.badge(text, color=colour)
        if plan.unverified:
            st.badge("a limit could not be checked", color="orange")
    lines = [line for line in (_headroom(plan), _speed(plan), _cost(plan)) if line]
    st.markdown("\n".join(f"- {line}" for line in lines))


def _headroom(plan: Plan) -> str:
    memory = plan.memory
    usable = f" of {show(memory.usable_gib, 'GiB')}" if memory.usable_gib is not None else ""
    between = f"between {show(memory.low_gib)} and {show(memory.high_gib)}"
    return f"Memory: {show(memory.total_gib)}{usable} on each accelerator ({between})"


def _speed(plan: Plan) -> str:
    found = [
        f"{label.lower()} {show(band.likely, unit)} ({show(band.low)} to {show(band.high)})"
        for name, label, unit in _SPEEDS
        if (band := plan.speed.get(name)) is not None
    ]
    return literal("Speed: " + "; ".join(found)) if found else ""


def _cost(plan: Plan) -> str:
    cost = plan.cost
    if cost is None:
        return literal(f"Cost: no price known: {plan.unpriced}")
    buying = buying_text(cost)
    rent = "" if cost.price_kind == "purchase" else f"Cost: {cost_text(cost)}"
    return literal("; ".join(filter(None, (rent, buying))))


def _memory(advice: Advice) -> None:
    plans = advice.plans[:_MOST_BARS]
    st.header("Memory against what the card has", anchor=False)
    st.altair_chart(memory_chart(plans, dark=st.context.theme.type == "dark"), width="stretch")
    st.markdown("The thick tick is the usable memory of one accelerator, the thin line the range of the estimate.")
    with st.expander("The same in numbers"):
        st.markdown(literal(description(plans)))
        for plan in plans:
            total = " + ".join(f"{name} {show(value)}" for name, value in parts(plan.memory).items())
            name = f"{plan.label} {plan.format.upper()}"
            st.markdown(f"- **{literal(name)}**: {literal(total)} = {show(plan.memory.total_gib, 'GiB')}")


# nothing fits


def _infeasible(knowledge_base: KnowledgeBase, advice: Advice) -> None:
    st.title("No plan satisfies every constraint", anchor=False)
    if advice.infeasible is None:
        return
    rules = knowledge_base.knowledge.rule_by_id
    if advice.infeasible.conflict:
        st.header("In conflict", anchor=False)
        for rule in advice.infeasible.conflict:
            st.markdown(f"- {rendered(rules[rule].title) if rule in rules else code(rule)} ({code(rule)})")
            _hint(knowledge_base, rule, "conflict")
    if not advice.infeasible.relaxations:
        st.markdown("Lifting a single one of the constraints brings no plan back: every plan fails on several.")
    else:
        st.header("Any one of these, lifted, would bring a plan back", anchor=False)
        for item in advice.infeasible.relaxations:
            st.markdown(f"- {rendered(item.text)} Without {code(item.constraint)}: {code(item.plan)}")


def _hint(knowledge_base: KnowledgeBase, rule: str, location: str) -> None:
    """Buttons to change what was answered and the rule compares."""
    found = knowledge_base.knowledge.rule_by_id.get(rule)
    if found is None:
        return
    used = {name.name for name in names(found.condition)}
    for question in knowledge_base.knowledge.questions:
        if question.name in used and state().answers.get(question.id) is not None:
            _change(question.id, f"Change: {question.ask}", f"{location}-{rule}")


# the rest


def _items(advice: Advice) -> None:
    for title, items in (
        ("Warnings", advice.warnings),
        ("Techniques of this plan", advice.techniques),
        ("Advice", advice.advice),
    ):
        if items:
            st.header(title, anchor=False)
            st.markdown(listed(items))
    for conflict in advice.conflicts:
        favour, against = literal(", ".join(conflict.favour)), literal(", ".join(conflict.against))
        where = f"{literal(conflict.criterion)} of {code(conflict.plan)}"
        st.warning(f"Sources disagree on {where}: {favour} for, {against} against; they cancel.")


def listed(items: Iterable[Item]) -> str:
    """Items as a list, each with its claims."""
    return "\n".join(f"- {rendered(item.text)} {' '.join(code(claim) for claim in item.claims)}" for item in items)


def _assumed(knowledge_base: KnowledgeBase, advice: Advice) -> None:
    asks = {question.id: question.ask for question in knowledge_base.knowledge.questions}
    if advice.assumed:
        st.header("What was assumed", anchor=False)
        for item in advice.assumed:
            words, button = st.columns([4, 1.2], vertical_alignment="center", wrap=False)
            words.markdown(f"**{rendered(asks[item.answer])}** {assumed_text(knowledge_base, item.answer)}.")
            with button:
                _change(item.answer, "Answer", "assumed")
    assumed = {item.answer for item in advice.assumed}
    rest = [item for item in advice.open if item.question not in assumed]
    if rest:
        with st.expander(f"{len(rest)} more questions have no answer, and nothing was assumed"):
            for other in rest:
                _change(other.question, asks[other.question], "open")


def _change(key: str, label: str, location: str) -> None:
    """A button to the question ``key``, from where the next step leads back here."""
    name = f"change-{location}-{key}"
    st.button(rendered(label), key=name, on_click=go, args=(key,), kwargs={"change": True})


def _lifecycle(knowledge_base: KnowledgeBase, advice: Advice, applicable: tuple[str, ...]) -> None:
    """The way to the other phase and the cost of both; all answers are shared, so that each goes where it applies."""
    idle = {question.id for question in knowledge_base.knowledge.questions} - set(applicable)
    answers = {
        key: value for key, value in state().answers.items() if value is not None and key not in (*idle, "phase")
    }
    phase = next((item.value for item in advice.assumed if item.answer == "phase"), advice.answers.get("phase"))
    trains = advice.recommendation is not None and advice.recommendation.method is not None
    part = {"phase": phase}
    answers[KEY] = {"train": part if trains else {}, "serve": {} if trains else part}
    st.header("The lifecycle", anchor=False)
    other = "Serving it afterwards" if trains else "Training it before"
    st.markdown(f"{other} is a decision of its own, and serving is often most of what is paid.")
    st.button("Train, then serve: both plans and their cost", key="whole-life", on_click=replace_all, args=(answers,))


def take_along(advice: Advice | LifecycleAdvice | None) -> None:
    """The link, and the answers and the advice as files."""
    now = state()
    st.header("Take it along", anchor=False)
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


def _answers(knowledge_base: KnowledgeBase) -> None:
    st.header("Change an answer", anchor=False)
    questions = {question.id: question.ask for question in knowledge_base.knowledge.questions}
    answers = {key: value for key, value in state().answers.items() if value is not None}
    applicable = find(knowledge_base, answers).applicable
    for key in sorted(answers, key=lambda key: [*questions, key].index(key)):
        value = answers[key]
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = shown if len(shown) <= 80 else f"{shown[:80]}…"
        if key in questions:
            dormant = "" if key in applicable else " (does not apply now)"
            _change(key, f"{questions[key]} {literal(text)}{dormant}", "given")
        else:
            st.button(f"Remove {literal(key)}: {literal(text)}", key=f"forget-{key}", on_click=forget, args=(key,))
    st.button("Begin again", key="restart", on_click=restart)
