"""The JSON Schema of each kind of file of a knowledge base: the loader's forms, and the names of its vocabulary."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.loader.assemble import ABOUT, LISTS, MAPPINGS, rates_of
from whygpu.loader.cases import CASE
from whygpu.loader.causes import CAUSE, DIAGNOSIS, MEASURE
from whygpu.loader.conditions import MAX_CONDITIONS
from whygpu.loader.facts import ACCELERATOR, REFERENCE
from whygpu.loader.formulas import FORMULA
from whygpu.loader.launches import LAUNCH
from whygpu.loader.preferences import RANKING
from whygpu.loader.prices import AREA, OFFERING, PROVIDER, PURCHASE
from whygpu.loader.profiles import PROFILE
from whygpu.loader.rules import RULE
from whygpu.loader.schemas import COEFFICIENT, FIGURE, MODEL, figure_schema, format_schema
from whygpu.loader.sources import CLAIM, DOCUMENT, TENSION
from whygpu.loader.tables import TABLE
from whygpu.loader.vocabulary import HEARD, MISNAMED, NAME, NAMES, QUESTION, SAID, UNASKED, VALUE, WORK
from whygpu.schema.answers import answers_schema, phase_schema, plain_schema
from whygpu.yamldoc.forms import EXPRESSION, Schema, names_to, object_schema, optional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.knowledge.base import Knowledge

FILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "about": ("about",),
        "vocabulary": ("names",),
        "questions": ("questions", "unasked", "misnamed", "said", "heard", "works"),
        "values": ("values",),
        "rules": ("rules",),
        "tables": ("tables",),
        "formulas": ("formulas",),
        "ranking": ("ranking",),
        "profiles": ("profiles",),
        "sources": ("documents", "claims", "tensions"),
        "cases": ("cases", "diagnoses"),
        "causes": ("causes", "measures"),
        "accelerators": ("accelerators",),
        "models": ("models",),
        "formats": ("formats",),
        "coefficients": ("coefficients", "references"),
        "references": ("references",),
        "providers": ("providers",),
        "areas": ("areas",),
        "offerings": ("offerings",),
        "purchases": ("purchases",),
        "launches": ("launches",),
    }
)
"""Kinds of files, and the sections each is about. Any file may hold any section, so a schema lets the others pass."""


def file_schema(kind: str, knowledge: Knowledge) -> Schema:
    """The schema of one kind of file; KeyError where there is none of that name."""
    own = {section: optional(_section(section, knowledge)) for section in FILES[kind]}
    others: dict[str, Schema] = {section: {} for section in sorted(LISTS | MAPPINGS) if section not in own}
    return with_definitions(
        {
            "type": ["object", "null"],
            "properties": {**own, **others},
            "additionalProperties": False,
        },
        definitions(knowledge),
    )


def _section(section: str, knowledge: Knowledge) -> Schema:
    match section:
        case "about":
            return {**object_schema(ABOUT), "additionalProperties": True}
        case "documents":
            return names_to(optional(object_schema(DOCUMENT))).value
        case "names":
            return {
                "type": "object",
                "patternProperties": {NAMES: optional(object_schema(NAME))},
                "additionalProperties": {"type": "null"},
            }
        case "values":
            return names_to({"anyOf": [EXPRESSION.value, object_schema(VALUE), {"type": "null"}]}).value
        case "ranking":
            return object_schema(RANKING)
        case "accelerators":
            return {"type": "array", "items": _accelerator(knowledge)}
        case "formats":
            runtimes = knowledge.name_by_answer["runtime"].words if "runtime" in knowledge.name_by_answer else ()
            form = format_schema(rates_of(knowledge.vocabulary), runtimes)
            return {"type": "array", "items": {**object_schema(form), "required": ["id"]}}
    form = {
        **{"rules": RULE, "tables": TABLE, "cases": CASE, "formulas": FORMULA, "profiles": PROFILE},
        **{
            "questions": QUESTION,
            "unasked": UNASKED,
            "misnamed": MISNAMED,
            "said": SAID,
            "heard": HEARD,
            "works": WORK,
        },
        **{"claims": CLAIM, "tensions": TENSION},
        **{"references": REFERENCE, "providers": PROVIDER, "areas": AREA, "offerings": OFFERING},
        **{"causes": CAUSE, "measures": MEASURE, "diagnoses": DIAGNOSIS},
        **{"purchases": PURCHASE, "models": MODEL, "coefficients": COEFFICIENT},
        **{"launches": LAUNCH},
    }[section]
    return {"type": "array", "items": object_schema(form)}


def _accelerator(knowledge: Knowledge) -> Schema:
    """The figures are the names of ``gpu.`` in the vocabulary."""
    found = object_schema(ACCELERATOR)
    for name, spec in knowledge.vocabulary.items():
        key = name.removeprefix("gpu.")
        if spec.entity == "gpu" and key not in ACCELERATOR:
            unit = f" ({spec.unit})" if spec.unit else ""
            value = optional(figure_schema(plain_schema(spec)))
            found["properties"][key] = {"description": f"{spec.meaning}{unit}", **value}
    return found


def definitions(knowledge: Knowledge) -> dict[str, Schema]:
    """What several schemas have in common."""
    nested = {word: {"$ref": "#/$defs/conditions"} for word in ("all", "any")}
    condition: Schema = {
        "description": "An expression, or {all: [...]} or {any: [...]} of conditions",
        "anyOf": [
            {"type": ["string", "boolean"]},
            {
                "type": "object",
                "properties": nested,
                "additionalProperties": False,
                "minProperties": 1,
                "maxProperties": 1,
            },
        ],
    }
    one = {"$ref": "#/$defs/condition"}
    given = {
        name: {"description": spec.meaning, **optional(_given(plain_schema(spec)))}
        for name, spec in sorted(knowledge.vocabulary.items())
    }
    text: Schema = {"type": "string"}
    return {
        "answers": answers_schema(knowledge),
        "condition": condition,
        "conditions": {"anyOf": [one, {"type": "array", "items": one, "maxItems": MAX_CONDITIONS}]},
        "effects": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]},
        "figure": object_schema(FIGURE),
        "phase": phase_schema(knowledge),
        "given": {"type": ["object", "null"], "properties": given, "additionalProperties": False},
    }


def _given(schema: Schema) -> Schema:
    """A value in the test of a rule: of a number also that the hardware is known to lack it."""
    return {"anyOf": [schema, {"const": "absent"}]} if schema.get("type") == "number" else schema


def with_definitions(schema: Schema, known: Mapping[str, Schema]) -> Schema:
    """The schema with those of the definitions that it uses, directly or through others."""
    found: dict[str, Schema] = {}
    text = json.dumps(schema)
    while missing := [name for name in known if name not in found and f'"#/$defs/{name}"' in text]:
        found |= {name: known[name] for name in missing}
        text = json.dumps([schema, found])
    return {**schema, "$defs": dict(sorted(found.items()))} if found else schema
