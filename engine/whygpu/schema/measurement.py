"""The JSON Schema of a measurement file: the reader's form, and the names of ``measured.`` in the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.answers import MEASURED
from whygpu.measured.measurement import POINT, PREFIX, SCALING, VERSION
from whygpu.measured.read import FILE, figure_names
from whygpu.schema.answers import described, phase_schema, value_schema
from whygpu.yamldoc.forms import Schema, object_schema, optional

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.knowledge.base import Knowledge


def measurement_schema(knowledge: Knowledge) -> Schema:
    """The schema of a measurement file."""
    found = object_schema(FILE)
    answers = phase_schema(knowledge)
    setup = {
        **{key: value for key, value in answers["properties"].items() if key != MEASURED},
        "model": {},
        "accelerator": {"type": ["string", "null"], "description": "an accelerator's id or name"},
        "nodes": {"type": ["integer", "null"], "minimum": 1, "maximum": 100_000, "description": "machines"},
    }
    found["properties"] |= {
        "measurement": {"const": VERSION, "description": "the version of this schema"},
        "setup": {**answers, "properties": setup},
        "figures": {**_figures(knowledge, figure_names(knowledge)), "type": ["object", "null"]},
        "points": {"type": ["array", "null"], "items": _figures(knowledge, POINT)},
        "scaling": {"type": ["array", "null"], "items": _row(_figures(knowledge, SCALING))},
    }
    return found


def _figures(knowledge: Knowledge, names: Iterable[str]) -> Schema:
    specs = {name: knowledge.vocabulary.get(PREFIX + name) for name in names}
    known = {
        name: {"description": described(spec), **optional(value_schema(spec))}
        for name, spec in specs.items()
        if spec is not None
    }
    return {"type": "object", "properties": known, "additionalProperties": False}


def _row(schema: Schema) -> Schema:
    because: Schema = {"type": ["string", "null"], "description": "why the row looks odd and is right"}
    return {**schema, "properties": {**schema["properties"], "because": because}, "required": ["accelerators"]}
