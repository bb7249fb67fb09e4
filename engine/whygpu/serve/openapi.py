"""The OpenAPI description of the server, of the JSON Schemas that ``whygpu schema`` writes."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import whygpu
from whygpu.listing import SECTIONS
from whygpu.schema.build import schema_of

if TYPE_CHECKING:
    from whygpu.knowledge.base import Knowledge

_KINDS = {"answers": "Answers", "output": "Output", "plan": "PlanOutput", "error": "Error"}


@lru_cache(maxsize=2)
def description(knowledge: Knowledge) -> dict[str, Any]:
    """OpenAPI 3.1, whose schemas are JSON Schema as they are."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "whygpu", "version": whygpu.__version__, "summary": "Which hardware for this work, and why"},
        "paths": _paths(),
        "components": {"schemas": _schemas(knowledge)},
    }


def _schemas(knowledge: Knowledge) -> dict[str, Any]:
    """Each schema with its definitions beside it, renamed so that those of two kinds do not meet."""
    found: dict[str, Any] = {}
    for kind, name in _KINDS.items():
        schema = dict(schema_of(kind, knowledge))
        schema.pop("$schema", None)
        definitions = schema.pop("$defs", {})
        text = json.dumps({name: schema, **{f"{name}.{key}": value for key, value in definitions.items()}})
        found |= json.loads(text.replace('"#/$defs/', f'"#/components/schemas/{name}.'))
    return found


def _paths() -> dict[str, Any]:
    answers = {"$ref": "#/components/schemas/Answers"}
    advice = {"$ref": "#/components/schemas/Output"}
    flags = [_query(name, "boolean", says) for name, says in _DETAIL.items()]
    filters = [_query(name, kind, says) for name, (kind, says) in _FILTERS.items()]
    section = {"name": "section", "in": "path", "required": True, "schema": {"enum": list(SECTIONS)}}
    identifier = {"name": "identifier", "in": "path", "required": True, "schema": {"type": "string"}}
    anything = {"type": "object"}
    return {
        "/advise": _post("The advice on answers", answers, advice, flags),
        "/estimate": _post("Memory, speed and cost of one plan", answers, {"$ref": "#/components/schemas/PlanOutput"}),
        "/why-not": _post("Why a plan or card is not recommended", _with(answers, plan={"type": "string"}), advice),
        "/what-if": _post("What changes with other answers", _with(answers, changes=anything), anything),
        "/catalogue/{section}": _get("Entries of a catalogue", anything, [section, *filters]),
        "/catalogue/{section}/{identifier}": _get("One entry whole, with its sources", anything, [section, identifier]),
        "/health": _get("Whether it answers, and from which knowledge", anything),
    }


_DETAIL = {"every": "every plan, and what is ruled out", "trace": "each fact and step behind the plans"}
_FILTERS = {
    "words": ("string", "an id, name, alias or family, or words to search for"),
    "where": ("string", "a condition as in rules, over gpu., offering. or model."),
    "sort": ("string", "order by a column"),
    "descending": ("boolean", "largest first"),
    "limit": ("integer", "at most this many rows, up to 1,000"),
}


def _query(name: str, kind: str, says: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": says, "schema": {"type": kind}}


def _with(answers: dict[str, Any], **other: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"answers": answers, **other},
        "required": list(other),
        "additionalProperties": False,
    }


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _responses(schema: dict[str, Any]) -> dict[str, Any]:
    bad = {"description": "what is wrong, all of it", "content": _content({"$ref": "#/components/schemas/Error"})}
    return {"200": {"description": "the answer", "content": _content(schema)}, "4XX": bad, "5XX": bad}


def _post(
    summary: str, body: dict[str, Any], result: dict[str, Any], parameters: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {
        "post": {
            "summary": summary,
            "parameters": parameters or [],
            "requestBody": {"required": True, "content": _content(body)},
            "responses": _responses(result),
        }
    }


def _get(summary: str, result: dict[str, Any], parameters: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"get": {"summary": summary, "parameters": parameters or [], "responses": _responses(result)}}
