"""The reasons as a list that opens: each rule's text, conditions with both values, claims, place, what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu.explain.figures import show_plain
from whygpu.quantity import show
from whygpu_ui.markdown import code, known, literal, rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu import Advice, KnowledgeBase
    from whygpu.trace import Outcome, Step, Trace

_MARKS = {"true": "✓", "false": "✗", "unknown": "?"}


def chain(knowledge_base: KnowledgeBase, advice: Advice) -> None:
    """The rules behind the recommendation, those about the plan first, as the command line lists them."""
    plan = advice.recommendation
    about = [step for step in advice.trace.of_plan(plan.id) if step.rule is not None] if plan else []
    steps = [*about, *(step for step in advice.trace.steps if step.plan is None and step.rule is not None)]
    if not steps:
        return
    st.header(f"Why: the rules behind {literal(plan.label)}" if plan else "The rules that applied", anchor=False)
    for position, step in enumerate(steps):
        defeated = f" (defeated by {literal(step.by)})" if step.by else ""
        with st.expander(f"{rendered(step.title)}{defeated}", expanded=position == 0):
            st.markdown("\n\n".join(_paragraphs(knowledge_base, advice.trace, step)))
    _arithmetic(advice)


def _paragraphs(knowledge_base: KnowledgeBase, trace: Trace, step: Step) -> Iterator[str]:
    yield rendered(step.text)
    yield f"Rule {known(step.rule or '')} in {code(f'kb/{step.place}')}"
    if step.conditions:
        yield "Because:\n" + "\n".join(f"- {_condition(outcome)}" for outcome in step.conditions)
    rests = list(_rests(trace, step))
    if rests:
        yield "Based on:\n" + "\n".join(f"- {line}" for line in rests)
    claims, references = knowledge_base.knowledge.claims, knowledge_base.knowledge.catalogue.references
    if step.claims:
        says = {item: claims[item].says for item in step.claims if item in claims}
        says |= {item: references[item].title for item in step.claims if item in references}
        yield "Sources:\n" + "\n".join(f"- {known(item)}: {rendered(says.get(item, ''))}" for item in step.claims)


def _condition(outcome: Outcome) -> str:
    text = f"{_MARKS[outcome.result]} {code(outcome.text)} is {outcome.result}"
    if outcome.left is None and outcome.right is None:
        return text
    left = show_plain(outcome.left, outcome.unit)
    against = "" if outcome.right is None else f" against {show_plain(outcome.right, outcome.unit)}"
    return f"{text}: {literal(left + against)}"


def _rests(trace: Trace, step: Step) -> Iterator[str]:
    """Facts that other rules concluded, or that were computed with a formula."""
    for identifier in step.uses:
        fact = trace.fact_by_id[identifier]
        value = f"{code(fact.name)} is {literal(show_plain(fact.value, fact.unit, fact.name))}"
        for giver in trace.givers.get(identifier, ()):
            if giver.rule is not None:
                yield f"{value}, concluded by {code(giver.rule)}: {rendered(giver.title)}"
            elif giver.formula:
                terms = ", ".join(f"{term.name} {show(term.value, term.unit or None)}" for term in giver.terms)
                yield f"{value} = {code(giver.formula)}{f' ({literal(terms)})' if terms else ''}"


def _arithmetic(advice: Advice) -> None:
    """The checks on the recommended plan, with every number that went in."""
    plan = advice.recommendation
    steps = [step for step in advice.trace.of_plan(plan.id) if step.formula and step.rule is None] if plan else []
    if not steps:
        return
    with st.expander("The arithmetic of this plan"):
        for step in steps:
            terms = ", ".join(f"{term.name} {show(term.value, term.unit or None)}" for term in step.terms)
            st.markdown(f"- **{literal(step.title)}** = {code(step.formula or '')} ({literal(terms)})")
