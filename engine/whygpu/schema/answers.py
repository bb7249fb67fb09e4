"""The JSON Schema of answers: the vocabulary's types, bounds, units and meanings, and the questions' texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whygpu.answers import LISTS, MEASURED, allowed_words
from whygpu.intake.mapping import NUMBERS, OTHERS, WHOLE_NUMBERS
from whygpu.intake.resolve import FILES
from whygpu.lifecycle.answers import KEY, PARTS
from whygpu.yamldoc.forms import one_of, optional

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.knowledge.base import Knowledge
    from whygpu.language.names import NameSpec
    from whygpu.yamldoc.forms import Schema

_WORD: Schema = {"type": ["string", "number"]}
_WORDS: Schema = {"anyOf": [_WORD, {"type": "array", "items": _WORD}]}
_WRITTEN: Schema = {"type": "string", "pattern": r"^\s*\$?\s*[-+]?\.?[0-9]"}
"""A number with a suffix: 8B, 32k, 16GiB, 200 ms, 1920x1080."""


def answers_schema(knowledge: Knowledge) -> Schema:
    """The schema of the answers that this knowledge base takes; every one may be left out or null."""
    own = {key: optional(value) for key, value in _keys(knowledge).items()}
    phases: Schema = {
        "description": "A lifecycle: each phase's own answers; both share the other keys.",
        "type": "object",
        "properties": {part: {"$ref": "#/$defs/phase"} for part in PARTS},
        "required": list(PARTS),
        "additionalProperties": False,
    }
    return {"type": "object", "properties": {**own, KEY: phases}, "additionalProperties": False}


def phase_schema(knowledge: Knowledge) -> Schema:
    """The schema of the answers about one phase of a lifecycle."""
    own = {key: optional(value) for key, value in _keys(knowledge).items()}
    return {"type": ["object", "null"], "properties": own, "additionalProperties": False}


def _keys(knowledge: Knowledge) -> dict[str, Schema]:
    asked = {question.id: " ".join(filter(None, (question.ask, question.help))) for question in knowledge.questions}
    found = {
        key: {"description": described(spec, asked.get(key)), **value_schema(spec)}
        for key, spec in knowledge.name_by_answer.items()
        if key != "model"
    }
    model = knowledge.name_by_answer.get("model")
    found["model"] = {
        "description": "The id, name or alias of a preset; or a mapping of sizes; or a file that has them."
        if model is None
        else described(model, asked.get("model")),
        "anyOf": [{"type": "string"}, {"type": "object", "properties": _model_keys(), "additionalProperties": False}],
    }
    for key in LISTS:
        words = allowed_words(key, knowledge.catalogue)
        item: Schema = _WORD if words is None else {"enum": sorted(words)}
        if key in ("providers", "regions"):  # which go by their names, too, in any capitals
            item = {"anyOf": [item, _WORD]}
        found[key] = {"anyOf": [item, {"type": "array", "items": item}]}
    card = {
        "type": "object",
        "properties": {"accelerator": _WORD, "count": {"type": "integer", "minimum": 1, "maximum": 100_000}},
        "required": ["accelerator", "count"],
        "additionalProperties": False,
    }
    found["owned"] = {
        "description": "Accelerators that you own, each with its count, or as text: 4x RTX 3090.",
        "anyOf": [card, {"type": "string"}, {"type": "array", "items": {"anyOf": [card, {"type": "string"}]}}],
    }
    file: Schema = {"anyOf": [{"type": "string"}, {"type": "object", "required": ["measurement"]}]}
    found[MEASURED] = {
        "description": "Measurements of your own, as in their files, or on the command line the files' names: they "
        "correct the estimates of the same model, card and runtime.",
        "anyOf": [*file["anyOf"], {"type": "array", "items": file}],
    }
    return dict(sorted(found.items()))


def _model_keys() -> dict[str, Schema]:
    number = {"anyOf": [{"type": "number"}, _WRITTEN, {"type": "null"}]}
    anything: Schema = {}
    return {
        **dict.fromkeys((*WHOLE_NUMBERS, *NUMBERS), number),
        **dict.fromkeys(OTHERS, anything),
        **{key: {"type": ["string", "object"]} for key in FILES},
    }


def value_schema(spec: NameSpec) -> Schema:
    """What may be answered for a name: a number with or without a suffix, a flag, one of its words, or a text."""
    match spec.kind:
        case "number":
            number: Schema = {"type": "integer" if spec.integer else "number"}
            if spec.minimum is not None:
                number["minimum"] = spec.minimum
            if spec.maximum is not None:
                number["maximum"] = spec.maximum
            return {"anyOf": [number, _WRITTEN]}
        case "flag":
            return {"type": "boolean"}
        case "choice":
            words = (*spec.values, *spec.also)
            return {"anyOf": [dict(one_of(words).schema), {"type": "string", "pattern": _folded(words)}]}
        case "text":
            return {"type": "string"}


def plain_schema(spec: NameSpec) -> Schema:
    """What a value of a name is where nothing is read from text: in facts, in the tests of rules."""
    match spec.kind:
        case "number":
            return {"type": "number"}
        case "flag":
            return {"type": "boolean"}
        case "choice":
            return {"enum": list(spec.words)}
        case "text":
            return {"type": "string"}


def described(spec: NameSpec, asked: str | None = None) -> str:
    """What a name means, in which unit, and how it is asked for."""
    unit = f" ({spec.unit})" if spec.unit else ""
    return f"{spec.meaning}{unit}." + (f" {asked}" if asked else "")


def _folded(words: Iterable[str]) -> str:
    """The words in any case, whatever spaces and punctuation stand in them: how answers compare them."""
    shown = sorted({re.sub(r"[^a-z0-9.]+", "", word.lower()) for word in words})
    gap = "[^A-Za-z0-9.]*"
    spelt = (gap.join(f"[{one}{one.upper()}]" if one.isalpha() else re.escape(one) for one in word) for word in shown)
    return f"^{gap}({'|'.join(spelt)}){gap}$"
