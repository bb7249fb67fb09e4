"""Every schema there is, by its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.render.output import json_text
from whygpu.schema.answers import answers_schema
from whygpu.schema.kb import FILES, definitions, file_schema, with_definitions
from whygpu.schema.measurement import measurement_schema
from whygpu.schema.output import OUTPUTS, output_schema

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge
    from whygpu.yamldoc.forms import Schema

DRAFT = "https://json-schema.org/draft/2020-12/schema"
KINDS = ("answers", "measurement", *OUTPUTS, *FILES)


def schema_of(kind: str, knowledge: Knowledge) -> Schema:
    """The schema of one of KINDS, for this knowledge base; KeyError where there is none of that name."""
    head: Schema = {"$schema": DRAFT, "title": f"whygpu: {kind}"}
    if kind == "answers":
        return {**head, **with_definitions(answers_schema(knowledge), definitions(knowledge))}
    if kind == "measurement":
        return {**head, **with_definitions(measurement_schema(knowledge), definitions(knowledge))}
    if kind in OUTPUTS:
        return {**head, **output_schema(kind)}
    return {**head, **file_schema(kind, knowledge)}


def schema_text(schema: Schema) -> str:
    """The schema as it is written to a file."""
    return json_text(schema, indent=1) + "\n"
