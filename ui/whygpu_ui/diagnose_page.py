"""What is slow, and why: the most likely cause with its signs, what to do first, and what to measure next."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from whygpu.explain.figures import show_plain
from whygpu.measured.measurement import PREFIX
from whygpu.measured.read import figure_names
from whygpu.render.diagnosis import diagnosis_markdown
from whygpu.render.view.diagnosis import diagnosis_sections
from whygpu_ui.markdown import literal
from whygpu_ui.measured import diagnosis
from whygpu_ui.measured_form import Group, label_of, measured_form
from whygpu_ui.pieces import opened, show, table
from whygpu_ui.problems import show_problems
from whygpu_ui.session import SIZE, go, state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu import KnowledgeBase
    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.knowledge.base import Knowledge
    from whygpu.render.view.model import Section

_SETUP = ("phase", "framework", "runtime")
_USUAL = ("gpu_utilisation", "input_share", "communication_share", "latency_p95_ms", "queue_p95_ms", "kv_cache_usage")
"""Figures whose fields are there before any is chosen."""
_NEXT = 3
_EXAMPLE = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n..."
_INTRO = (
    "Upload what a tool wrote while it was slow: `nvidia-smi --query-gpu=... --format=csv`, the metrics of vLLM or the "
    "DCGM exporter (Prometheus text), the table of the PyTorch profiler, vLLM's start-up log, a load test, or a "
    "measurement file. Or type the signs that you know."
)


def diagnose_page(knowledge_base: KnowledgeBase) -> None:
    """Say what is wrong, by what was measured."""
    now = state()
    every = [f"{PREFIX}{name}" for name in figure_names(knowledge_base.knowledge)]
    begun = bool(now.measured.uploads or now.measured.typed)
    found = diagnosis(now.measured, (*every, *_SETUP), knowledge_base) if begun else None
    problems = found if isinstance(found, tuple) else ()
    diagnosed = None if found is None or isinstance(found, tuple) else found
    sections = [] if diagnosed is None else list(diagnosis_sections(diagnosed, knowledge_base.knowledge.claims))
    st.title("What is slow, and why?" if diagnosed is None else literal(sections[1].title), anchor=False)
    show_problems((*now.problems, *problems))
    if diagnosed is None:
        st.markdown(_INTRO)
    else:
        show(f"<ul class=bare>{''.join(_lines(sections[1], knowledge_base.knowledge))}</ul>")
    with st.expander("What was measured" if diagnosed is None else "Add what you measured next", diagnosed is None):
        _form(knowledge_base, every, diagnosed)
    if diagnosed is not None:
        _rest(knowledge_base, diagnosed, sections[2:])
    st.button("How much hardware does it take? Size it", key="to-size", on_click=go, args=(SIZE,))


def _form(knowledge_base: KnowledgeBase, every: Sequence[str], found: Diagnosis | None) -> None:
    """The fields: what was typed, what tells most next, the usual ones before anything is known, and any other."""
    typed = [key for key, _ in state().measured.typed if key in every]
    first = [item.figure for item in found.next[:_NEXT]] if found is not None else [PREFIX + name for name in _USUAL]
    fields = list(dict.fromkeys((*typed, *(key for key in first if key in every))))
    more = st.multiselect(
        "Other figures that you measured",
        [key for key in every if key not in fields],
        format_func=lambda key: label_of(key, knowledge_base),
        key=f"more-{state().visit}",
        placeholder="Choose, or type",
        select_all=False,
    )
    groups = (Group("Signs", (*fields, *more)), Group("What runs", _SETUP))
    measured_form(knowledge_base, groups, _EXAMPLE, "Diagnose it")


def _rest(knowledge_base: KnowledgeBase, found: Diagnosis, sections: Sequence[Section]) -> None:
    knowledge = knowledge_base.knowledge
    for section in sections:
        st.header(literal(section.title), anchor=False)
        show(f"<ul class=bare>{''.join(_lines(section, knowledge))}</ul>")
    st.header(f"Measured{f', while {found.work}' if found.work else ''}", anchor=False)
    rows = [
        (item.meaning, show_plain(item.value, item.unit), "typed" if item.where.startswith("--set") else item.where)
        for item in found.measured
    ]
    show(table(("figure", "value", "where"), rows))
    st.download_button(
        "Report as Markdown",
        diagnosis_markdown(found, knowledge.claims),
        "whygpu-diagnosis.md",
        "text/markdown",
        on_click="ignore",
    )


def _lines(section: Section, knowledge: Knowledge) -> Iterator[str]:
    for line in section.lines:
        if line.text.startswith("$ "):
            yield f"<li class=below><code>{escape(line.text[2:])}</code></li>"
        else:
            yield opened(line, knowledge)
