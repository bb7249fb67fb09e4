"""The JSON of a diagnosis: ``whygpu diagnose --format json``."""

from __future__ import annotations

from typing import TypedDict

from whygpu.diagnosis.parts import Ending, FoundCause, Measured, NextMeasure
from whygpu.explain.contract import KnowledgeBaseJson, ProblemJson, TraceJson


class DiagnosisJson(TypedDict):
    """Causes of what was measured, the likeliest first, and what to measure next."""

    schema: int
    """Counts incompatible versions: 1."""
    kb: KnowledgeBaseJson
    engine: str
    status: Ending
    work: str | None
    """What was at work, ``training`` or ``serving``; null where it is not known."""
    measured: list[Measured]
    causes: list[FoundCause]
    next: list[NextMeasure]
    questions: list[ProblemJson]
    """What looks odd in what was measured, and is kept."""
    sources: dict[str, str]
    """What each claim that a cause cites says."""
    trace: TraceJson
