"""Two plans side by side: figures, what each criterion is worth, and why the one is not the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from whygpu.explain.changes import FIGURES, figure
from whygpu.explain.figures import called
from whygpu.quantity import show as show_number
from whygpu.render.view.questions import why_not_sections
from whygpu.render.view.rivals import money_with_handling
from whygpu.render.words import money_text, price_text, short_text
from whygpu_ui.knowledge import find
from whygpu_ui.markdown import literal
from whygpu_ui.pieces import sections, show, spoken, table
from whygpu_ui.problems import show_problems
from whygpu_ui.session import ANSWER_PAGE, COMPARE, go, state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu import Advice, KnowledgeBase, Plan


def compare_page(knowledge_base: KnowledgeBase) -> None:
    """Compare the recommendation with a plan that is picked."""
    now = state()
    finding = find(knowledge_base, now.answers)
    advice = finding.advice
    st.title("Two plans side by side", anchor=False)
    if advice is None or advice.recommendation is None or not advice.alternatives:
        show_problems(finding.problems)
        st.markdown("There are not two plans to compare.")
        st.button("Back to the answer", key="back", on_click=go, args=(ANSWER_PAGE,))
        return
    best, others = advice.recommendation, [plan for plan in _known(advice) if plan.id != advice.recommendation.id]
    ids = [plan.id for plan in others]
    names = {plan.id: f"{short_text(plan)}, {price_text(plan)}" for plan in others}
    key = f"compare-{now.visit}"
    strange = now.item not in ("", best.id, *ids)
    if strange:
        st.markdown(literal(f"No plan for these answers is called {now.item!r}."))
    st.selectbox(
        f"{short_text(best)} against",
        ids,
        ids.index(now.item) if now.item in ids else None if strange else 0,
        lambda name: names[name],
        key,
        on_change=lambda: go(COMPARE, str(st.session_state[key])),
        placeholder="Choose a plan",
    )
    other = next((plan for plan in others if plan.id == st.session_state.get(key, ids[0])), None)
    if other is not None:
        _side_by_side(advice, best, other)
    st.button("Back to the answer", key="back", on_click=go, args=(ANSWER_PAGE,))


def _side_by_side(advice: Advice, best: Plan, other: Plan) -> None:
    show(table(("", short_text(best), short_text(other)), _rows(best, other)))
    found = why_not_sections(advice, other.id, advice.why_not(other.id))
    told = sections(replace(item, grid=None) for item in found)  # the factors are in the table above
    show(spoken(told, advice.consultation.knowledge))


def _known(advice: Advice) -> Iterator[Plan]:
    """The plans of the shortlist and those ranked, each once."""
    seen: set[str] = set()
    for plan in (*(pick.plan for pick in advice.shortlist), *advice.plans):
        if plan.id not in seen:
            seen.add(plan.id)
            yield plan


def _rows(one: Plan, other: Plan) -> Iterator[tuple[str, str, str]]:
    yield "price", money_text(one), money_text(other)
    for name, unit in FIGURES:
        if name == "usd_per_hour":
            continue
        values = [figure(plan, name) for plan in (one, other)]
        if any(value is not None for value in values):
            first, second = ("none" if value is None else show_number(value, unit) for value in values)
            yield called(name, one), first, second
    usable = [
        "unknown" if plan.memory.usable_gib is None else show_number(plan.memory.usable_gib, "GiB")
        for plan in (one, other)
    ]
    yield "usable memory", usable[0], usable[1]
    yield "fit", one.memory.verdict, other.memory.verdict
    if one.counted is not None and other.counted is not None:
        yield "price with handling", money_with_handling(one), money_with_handling(other)
    worth = [
        {item.criterion: item.worth for item in plan.counted.factors} if plan.counted else {} for plan in (one, other)
    ]
    for criterion in dict.fromkeys((*worth[0], *worth[1])):
        yield f"{criterion}, price factor", *_pair(f"{item.get(criterion, 1.0):.2f}x" for item in worth)
    if one.counted is not None and other.counted is not None:
        yield "counts as", *_pair(show_number(plan.value, plan.unit) for plan in (one.counted, other.counted))


def _pair(cells: Iterable[str]) -> tuple[str, str]:
    first, second = cells
    return first, second
