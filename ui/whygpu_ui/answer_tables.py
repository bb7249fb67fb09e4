"""The plans that lost, as tables: alternatives by price, and what is out with its reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from whygpu.explain.figures import show_plain
from whygpu_ui.markdown import code, literal, rendered

if TYPE_CHECKING:
    from whygpu import Advice, Plan
    from whygpu.explain.parts import Reason, Rejection

_MOST_ROWS_SHOWN = 10
_ROW_PX = 35


def alternatives(advice: Advice) -> None:
    """Every plan left, the recommendation among them, the cheapest first."""
    if not advice.alternatives:
        return
    st.header("Alternatives by price", anchor=False)
    plans = sorted(advice.plans, key=lambda plan: plan.cost.usd_per_hour if plan.cost else float("inf"))
    st.dataframe(
        [_row(plan) for plan in plans],
        hide_index=True,
        height=_ROW_PX * (min(len(plans), _MOST_ROWS_SHOWN) + 1) + 3,
        column_config={
            "Plan": st.column_config.TextColumn(width="medium"),
            "$/h": st.column_config.NumberColumn(format="$%.2f", width="small", help="Empty: no price is known"),
            "Used": st.column_config.ProgressColumn(
                format="%.0f%%", min_value=0, max_value=100, help="Likely need over usable memory", width="small"
            ),
            "GiB": st.column_config.TextColumn(help="Likely need of usable memory, per accelerator", width="small"),
            "Behind by": st.column_config.TextColumn(width="large", help="What the recommendation has over it"),
            "Rank": st.column_config.NumberColumn(width="small", help="1 is recommended; equals share a rank"),
        },
    )


def _row(plan: Plan) -> dict[str, object]:
    memory = plan.memory
    usable = memory.usable_gib
    against = ", ".join(f"{item.criterion} {item.strength}" for item in plan.verdicts if not item.favourable)
    return {
        "Plan": f"{plan.label} {plan.format.upper()}",
        "$/h": plan.cost.usd_per_hour if plan.cost else None,
        "Used": 100 * memory.total_gib / usable if usable else None,
        "GiB": f"{memory.total_gib:.1f} of {usable:.1f}" if usable else f"{memory.total_gib:.1f}",
        "Rank": plan.rank,
        "Fit": memory.verdict,
        "Behind by": plan.behind or "",
        "Against": against,
        "Provider": plan.cost.provider if plan.cost else "",
    }


def rejected(advice: Advice) -> None:
    """What is out, by the first reason, with both numbers."""
    if not advice.rejected:
        return
    st.header("Out", anchor=False)
    groups: dict[str, list[Rejection]] = {}
    for item in advice.rejected:
        groups.setdefault(item.because[0].rule if item.because else "", []).append(item)
    titles = {step.rule: step.title for step in advice.trace.steps if step.rule}
    for rule, group in groups.items():
        with st.expander(f"{literal(titles.get(rule, rule))} ({len(group)})"):
            st.markdown("\n".join(f"- {_rejection(item)}" for item in group))


def _rejection(item: Rejection) -> str:
    plan = item.plan
    reasons = " ".join(_reason(reason) for reason in item.because)
    return f"**{literal(plan.label)} {literal(plan.format.upper())}**: {reasons}"


def _reason(reason: Reason) -> str:
    text = rendered(reason.text)
    if reason.left is None or reason.right is None:
        return f"{text} {code(reason.rule)}"
    gap = f", a gap of {show_plain(abs(reason.gap), reason.unit)}" if reason.gap is not None else ""
    sides = f"{show_plain(reason.left, reason.unit)} against {show_plain(reason.right, reason.unit)}{gap}"
    return f"{text} ({literal(sides)}) {code(reason.rule)}"
