"""From what the answers say of the model to its shape: a preset, a mapping of sizes, or a Hugging Face config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whygpu import intake
from whygpu.errors import AnswerError, Place, Problem
from whygpu.quantity import parse_number

if TYPE_CHECKING:
    from whygpu.catalogue import Catalogue
    from whygpu.checks.shape import ModelShape
    from whygpu.intake import IntakeProblem

_WORDS = frozenset({"name", "kind", "task", "id", "config"})


def shape_of(model: str | Mapping[str, Any], catalogue: Catalogue, place: Place) -> tuple[ModelShape, tuple[str, ...]]:
    """The shape of a preset (by id) or of a described model, and what is doubtful about it.

    Raises AnswerError with every problem, at ``place``.
    """
    request = model if isinstance(model, str) else _readable(model)
    presets = {key: entry.data for key, entry in catalogue.models.items()}
    shape, found = intake.read(request, presets, catalogue.coefficients)
    if shape is None:
        errors = [_problem(item, place) for item in found if item.severity == "error"]
        raise AnswerError(errors or [Problem("bad-model", "the model cannot be understood", place)])
    return shape, tuple(f"{item.path} {item.message}".strip() for item in found)


def _readable(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping with its suffixes read."""
    return {key: _number(key, value) for key, value in model.items()}


def _problem(item: IntakeProblem, place: Place) -> Problem:
    return Problem("bad-model", f"{item.path} {item.message}".strip(), place, item.help or None)


def _number(key: str, value: object) -> object:
    """Sizes may be written with suffixes (8B); words stay words."""
    if key in _WORDS or not isinstance(value, str):
        return value
    number = parse_number(value)
    return value if number is None else round(number) if number == round(number) else number
