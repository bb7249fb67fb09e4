"""A model as a person types it: a name, the Hub's org/name, a size, the text of a config.json."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.quantity import parse_number

if TYPE_CHECKING:
    from whygpu.knowledge.catalogue import Catalogue

MAX_CONFIG_BYTES = 1024 * 1024
MAX_ENTRY = 2000
"""Characters of one entry of a configuration; sizes are short, what is longer names labels."""
_LEAST = 1e5
"""Fewer parameters are no model's size."""
_A_SENTENCE = 3
"""Words from which a text that is like no model's name is taken for a sentence."""
_HUB = re.compile(r"^https?://(?:huggingface\.co|hf\.co)/([^/\s]+/[^/\s?#]+)\S*$", re.IGNORECASE)
"""The address of a model's page; what it is called there is between the slashes."""
_SIZE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s?[bm](?!\w)", re.IGNORECASE)
"""A size within a sentence."""


def typed_model(text: str, catalogue: Catalogue) -> str | dict[str, Any]:
    """What the answer ``model`` is where this was typed; no file is read. Raises AnswerError."""
    text = _HUB.sub(r"\1", text.strip())
    known = catalogue.find_models(text)
    if known:
        return known[0] if len(known) == 1 else text
    if text.startswith("{"):
        return {"config": read_config(text.encode())}
    size = size_of(text)
    if size is not None:
        return {"parameters": size}
    names = [name for entry in catalogue.models.values() for name in (entry.id, entry.name, *entry.aliases)]
    within = _SIZE.search(text) if " " in text else None
    alone = within and f"say '{within[0]}' alone, and what it is for by a choice"
    hint = alone or catalogue.instead_of(text) or did_you_mean(text, names)
    if not hint and len(text.split()) >= _A_SENTENCE:
        hint = "choose what it is for, then the model; or name both: serve a 7B chatbot"
    hint = hint or "give its size, such as 8B, or its config.json"
    raise AnswerError([Problem("unknown-model", f"no model here is called '{text[:60]}'", Location("model"), hint)])


def size_of(text: str) -> float | None:
    """Parameters, where a model is named by its size alone (``7B``)."""
    size = parse_number(text.lower().removesuffix("parameters").strip())
    return size if size is not None and size >= _LEAST else None


def read_config(data: bytes) -> dict[str, Any]:
    """A configuration from JSON, without entries too long to be sizes; raises AnswerError."""
    location = "config.json"
    if len(data) > MAX_CONFIG_BYTES:
        raise AnswerError(
            [Problem("too-large", f"{len(data):,} bytes; the limit is {MAX_CONFIG_BYTES:,}", Location(location))]
        )
    try:
        config = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        at = Location(location, error.lineno, error.colno)
        message = f"not valid JSON in line {error.lineno}, column {error.colno}: {error.msg}"
        raise AnswerError([Problem("json-syntax", message, at, "paste the whole file")]) from error
    except (ValueError, RecursionError) as error:
        raise AnswerError([Problem("unreadable", "not readable as JSON text in UTF-8", Location(location))]) from error
    if not isinstance(config, dict):
        raise AnswerError([Problem("wrong-type", "a config.json holds an object in braces", Location(location))])
    return {
        key: value for key, value in config.items() if key.endswith("_config") or len(json.dumps(value)) <= MAX_ENTRY
    }
