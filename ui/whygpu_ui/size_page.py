"""How much hardware, from the visitor's own measurements: verdict, curve as chart and table, what it rests on."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, cast

import streamlit as st

from whygpu.measured.measurement import STEP_SHARES
from whygpu.render.sizing import sizing_markdown
from whygpu.render.view.sizing import sizing_view
from whygpu.sizing.service_size import ServiceSize
from whygpu_ui.markdown import literal
from whygpu_ui.measured import size
from whygpu_ui.measured_charts import service_charts, training_charts
from whygpu_ui.measured_form import Group, measured_form
from whygpu_ui.pieces import inline, opened, show, table
from whygpu_ui.problems import show_problems
from whygpu_ui.session import DIAGNOSE, SIZE, go, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whygpu import KnowledgeBase
    from whygpu.render.view.sizing import SizingView
    from whygpu.sizing.asked import Of
    from whygpu.sizing.sized import Sized

_SIZED = {"inference": "A service", "training": "A training run"}
_GROUPS = {
    "inference": (
        Group("Requirements", ("requests_per_second", "p95_ms", "accelerators")),
        Group(
            "More requirements",
            (
                *("latency_ms", "token_latency_ms", "count", "criticality", "deployment", "hours_per_day"),
                *("burstiness", "variation", "target_utilisation", "spare_replicas", "zones", "usd_per_hour"),
            ),
            open=False,
        ),
    ),
    "training": (
        Group("The work to do", ("dataset_tokens", "deadline_hours", "accelerators")),
        Group(
            "What was measured",
            (
                *("measured.step_ms", "batch_size", "sequence_tokens", "measured.accelerators", "measured.nodes"),
                *(*("measured.tokens_per_s", "measured.samples_per_s"), *(f"measured.{name}" for name in STEP_SHARES)),
                *("measured.checkpoint_s", "measured.checkpoint_interval_s", "measured.recovery_s"),
                "measured.failures_per_day",
            ),
            open=False,
        ),
        Group(
            "More requirements",
            ("dataset_samples", "steps", "epochs", "max_count", "headroom", "usd_per_hour", "model"),
            open=False,
        ),
    ),
}
_EXAMPLES = {
    "inference": "concurrency,requests_per_s,latency_mean_ms,latency_p95_ms\n1,0.95,1050,2100\n4,3.2,1250,2500",
    "training": "measurement: 1\nsetup: {accelerator: h100-sxm-80gb, count: 8, nodes: 1}\nscaling:\n"
    "- {accelerators: 1, tokens_per_s: 20000}\n- {accelerators: 8, tokens_per_s: 146000}",
}
_INTRO = {
    "inference": "Upload a load test of one replica at several loads, doubling each time: what `vllm bench serve`, "
    "SGLang's `bench_serving`, AIPerf or GenAI-Perf, or GuideLLM wrote, a CSV, or a measurement file. Several are "
    "taken together.",
    "training": "Upload a measurement file, best with rows for one, two and more accelerators, or type a measured "
    "step. What was not measured is estimated or assumed, and marked so.",
}


def size_page(knowledge_base: KnowledgeBase) -> None:
    """Size a service or a training run."""
    now = state()
    of = _of()
    groups = _GROUPS[of]
    keys = [key for group in groups for key in group.keys]
    begun = bool(now.measured.uploads) or any(key in keys for key, _ in now.measured.typed)
    found = size(of, now.measured, keys, knowledge_base) if begun else None
    problems = found if isinstance(found, tuple) else ()
    sized = None if found is None or isinstance(found, tuple) else found
    shown = None if sized is None else sizing_view(sized)
    _choose(of)
    st.title("How much hardware, from what you measured?" if shown is None else literal(shown.headline), anchor=False)
    show_problems((*now.problems, *problems))
    if shown is not None:
        _verdict(shown)
    else:
        st.markdown(_INTRO[of])
    with st.expander("Measurements and requirements", expanded=shown is None):
        measured_form(knowledge_base, groups, _EXAMPLES[of], "Size it")
    if sized is not None and shown is not None:
        _rest(knowledge_base, sized, shown)
    st.button("What is slow in it? Diagnose it", key="to-diagnose", on_click=go, args=(DIAGNOSE,))


def _of() -> Of:
    """What to size: as the address says, else by the phase of the answers."""
    now = state()
    if now.item in _SIZED:
        return cast("Of", now.item)
    return "training" if now.answers.get("phase") in ("training", "fine-tuning") else "inference"


def _choose(of: Of) -> None:
    key = f"size-of-{state().visit}"

    def chosen() -> None:
        go(SIZE, str(st.session_state.get(key) or of))

    st.segmented_control(
        "What to size",
        list(_SIZED),
        default=of,
        format_func=lambda name: _SIZED[name],
        key=key,
        on_change=chosen,
        label_visibility="collapsed",
    )


def _verdict(shown: SizingView) -> None:
    price = f'<p><span class="price">{inline(shown.price)}</span></p>' if shown.price else ""
    promise = f"<p>{inline(shown.promise)}</p>" if shown.promise else ""
    show(f"{price}{promise}<p>{inline(shown.request)}</p>")
    if shown.warnings:
        st.warning("\n".join(f"- {literal(item.text)}" for item in shown.warnings))


def _rest(knowledge_base: KnowledgeBase, sized: Sized, shown: SizingView) -> None:
    st.header("The load test" if isinstance(sized.size, ServiceSize) else "By number of accelerators", anchor=False)
    dark = st.context.theme.type == "dark"
    if isinstance(sized.size, ServiceSize):
        service_charts(sized.size, dark=dark)
    else:
        training_charts(sized.size, sized.asked.measured.scaling, dark=dark)
    with st.expander("The same in numbers", expanded=isinstance(sized.size, ServiceSize)):
        show(table(tuple(text or "note" for text in shown.curve.headings), shown.curve.rows))
    st.header("Why, and what it rests on", anchor=False)
    said = (opened(item, knowledge_base.knowledge) for item in (*shown.warnings, *shown.because))
    show(f"<ul class=bare>{''.join(said)}</ul>")
    _listed("What would change it", shown.flips)
    _listed("Measured", (shown.measured,))
    if shown.assumed:
        show(
            "<p><strong>Assumed or estimated</strong></p>"
            + table(("figure", "why"), ((item.text, item.because) for item in shown.assumed))
        )
    _listed("To know", shown.notes)
    if shown.worked:
        with st.expander("Every figure with its numbers"):
            rows = [(item.name, item.value, item.put_in, ", ".join(item.evidence.claims)) for item in shown.worked]
            show(table(("figure", "value", "numbers", "sources"), rows))
    st.download_button(
        "Report as Markdown", sizing_markdown(sized), "whygpu-size.md", "text/markdown", on_click="ignore"
    )


def _listed(title: str, texts: Sequence[str]) -> None:
    if texts:
        lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
        show(f"<p><strong>{title}</strong></p><ul>{lines}</ul>")
