"""A diagnosis on one screen, as Markdown, and as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.explain.json_form import SCHEMA, json_value, trace_dict
from whygpu.render.markdown import document
from whygpu.render.problems import problems_data
from whygpu.render.screen import LINES, Screen
from whygpu.render.view.diagnosis import Much, diagnosis_sections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.diagnosis.contract import DiagnosisJson
    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.knowledge.sources import Claim

_MUCH = (
    Much(measured=24, signs=6, actions=4, next=3, others=5, questions=4, sources=4),
    Much(measured=16, signs=5, actions=4, next=3, others=4, questions=3, sources=2),
    Much(measured=12, signs=5, actions=3, next=2, others=3, questions=2, sources=1),
    Much(measured=10, signs=4, actions=3, next=2, others=2, questions=2, sources=0),
    Much(measured=8, signs=3, actions=3, next=1, others=2, questions=1, sources=0),
    Much(measured=6, signs=2, actions=2, next=1, others=1, questions=1, sources=0),
)
"""From the most that is told to the least: the first that fits on a screen is taken."""


def diagnosis_text(diagnosis: Diagnosis, claims: Mapping[str, Claim], screen: Screen, lines: int = LINES) -> str:
    """As much as fits in so many lines, then which knowledge base says so."""
    text = ""
    for much in _MUCH:
        text = f"{screen.sections(diagnosis_sections(diagnosis, claims, much))}\n{_footer(diagnosis)}\n"
        if text.count("\n") <= lines:
            break
    return text


def diagnosis_markdown(diagnosis: Diagnosis, claims: Mapping[str, Claim]) -> str:
    """All of it."""
    return document((), diagnosis_sections(diagnosis, claims))


def diagnosis_dict(diagnosis: Diagnosis, claims: Mapping[str, Claim]) -> DiagnosisJson:
    """All of it with the trace, as plain data."""
    cited = dict.fromkeys(claim for cause in diagnosis.causes for claim in cause.claims if claim in claims)
    return {
        "schema": SCHEMA,
        "kb": {"version": diagnosis.knowledge_version, "hash": diagnosis.knowledge_hash},
        "engine": diagnosis.engine,
        "status": diagnosis.status,
        "work": diagnosis.work,
        "measured": [json_value(item) for item in diagnosis.measured],
        "causes": [json_value(item) for item in diagnosis.causes],
        "next": [json_value(item) for item in diagnosis.next],
        "questions": problems_data(diagnosis.questions),
        "sources": {claim: claims[claim].says for claim in cited},
        "trace": trace_dict(diagnosis.trace),
    }


def _footer(diagnosis: Diagnosis) -> str:
    return f"kb {diagnosis.knowledge_version} {diagnosis.knowledge_hash[:12]}; every rule and condition: --format json"
