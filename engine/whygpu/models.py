"""From what the answers say of the model to its shape: a preset, a mapping of sizes, or a Hugging Face config.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError, Place, Problem
from whygpu.intake import IntakeProblem, from_hf_config, from_mapping, from_preset
from whygpu.quantity import parse_number

if TYPE_CHECKING:
    from whygpu.catalogue import Catalogue
    from whygpu.checks.shape import ModelShape

MAX_CONFIG_BYTES = 1024 * 1024
_WORDS = frozenset({"name", "kind", "task", "id"})


def shape_of(model: str | Mapping[str, Any], catalogue: Catalogue, place: Place) -> ModelShape:
    """The shape of a preset (by id) or of a described model; raises AnswerError with every problem, at ``place``."""
    if isinstance(model, str):
        shape, found = from_preset(catalogue.models[model].data, catalogue.sizes)
    elif "config" in model:
        extra = sorted(set(model) - {"config", "name"})
        if extra:
            raise AnswerError([Problem("mixed-model", f"'config' stands beside {', '.join(map(str, extra))}", place, "give one or the other")])
        shape, found = from_hf_config(_config(model["config"], place), name=str(model.get("name", "")))
    else:
        shape, found = from_mapping({key: _number(key, value) for key, value in model.items()}, catalogue.sizes)
    errors = [item for item in found if item.severity == "error"]
    if shape is None or errors:
        raise AnswerError([_problem(item, place) for item in errors] or [Problem("bad-model", "the model cannot be understood", place)])
    return shape


def _problem(item: IntakeProblem, place: Place) -> Problem:
    return Problem("bad-model", f"{item.path} {item.message}".strip(), place, item.help or None)


def _number(key: str, value: object) -> object:
    """Sizes may be written with suffixes (8B); words stay words."""
    if key in _WORDS or not isinstance(value, str):
        return value
    number = parse_number(value)
    return value if number is None else round(number) if number == round(number) else number


def _config(source: object, place: Place) -> object:
    """A configuration given whole, or the path of one."""
    if not isinstance(source, str):
        return source
    path = Path(source)
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise AnswerError([Problem("too-large", f"{source} has more than {MAX_CONFIG_BYTES:,} bytes", place, "a config.json is a few kilobytes")])
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AnswerError([Problem("unreadable", f"{source} cannot be read: {error.strerror}", place, "give the path of a config.json")]) from error
    except (ValueError, RecursionError) as error:
        raise AnswerError([Problem("not-json", f"{source} is not JSON: {str(error)[:120]}", place)]) from error
