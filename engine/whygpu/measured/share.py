"""A measurement as rows that can be shared: one for each figure, with its setup and its source."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING

from whygpu.measured.measurement import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement

COLUMNS = (
    *("date", "source", "tool", "model", "accelerator", "count", "format", "runtime", "phase"),
    *("load", "figure", "value", "unit"),
)
_LOADS = (
    "concurrency",
    "request_rate",
    "batch",
    "context_tokens",
    "input_tokens",
    "output_tokens",
    "accelerators",
    "nodes",
)
"""Figures that say what was tried, not what came of it."""


def rows_of(found: Measurement, knowledge: Knowledge) -> Iterator[dict[str, str]]:
    """One row for each figure; ``load`` says at which load it was measured."""
    given = found.setup.answers.given
    tool = "" if found.tool is None else " ".join(filter(None, (found.tool.name, found.tool.version)))
    setup = {key: str(given.get(key) or "") for key in ("format", "runtime", "phase")}
    head = {
        **{"date": found.date or "", "source": found.source or "", "tool": tool},
        **{"model": found.setup.model_name or "", "accelerator": found.setup.accelerator or ""},
        **{"count": str(found.setup.count or ""), **setup},
    }
    for figures in (dict(found.figures), *map(asdict, found.points), *map(asdict, found.scaling)):
        known = {key: value for key, value in figures.items() if isinstance(value, float)}
        load = " ".join(f"{key}={known[key]:g}" for key in _LOADS if key in known)
        for key, value in known.items():
            if key not in _LOADS:
                unit = knowledge.vocabulary[f"{PREFIX}{key}"].unit or ""
                yield {**head, "load": load, "figure": key, "value": f"{value:.6g}", "unit": unit}


def csv_text(found: Measurement, knowledge: Knowledge) -> str:
    """The rows as CSV, its heading first."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(found, knowledge))
    return stream.getvalue()
