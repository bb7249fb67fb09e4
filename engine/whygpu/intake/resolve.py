"""From what the answers say of the model to its shape: a preset, sizes, a config.json or a weights file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whygpu import intake
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.kept import kept
from whygpu.quantity import parse_number

if TYPE_CHECKING:
    from whygpu.checks.model_shape import ModelShape
    from whygpu.intake import IntakeProblem
    from whygpu.knowledge.catalogue import Catalogue

FILES = ("config", "safetensors", "gguf", "diffusers")
"""Keys of a model's mapping that name a file with its sizes."""
_WORDS = frozenset({"name", "kind", "task", "id", "published_format", "model_type", *FILES})


def files_named(value: object) -> tuple[str, ...]:
    """The keys by which models, however deep in answers (a measurement has one), name files: of others none is read."""
    found: list[str] = []
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, Mapping):
            model = each.get("model")
            if isinstance(model, Mapping):
                found += [f"model.{key}" for key in FILES if not isinstance(model.get(key, {}), Mapping)]
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
    return tuple(dict.fromkeys(found))


def shape_of(
    model: str | Mapping[str, Any], catalogue: Catalogue, location: Location, task: str = ""
) -> tuple[ModelShape, tuple[str, ...]]:
    """The shape of a preset (by id) or of a model described for a task, and what is doubtful about it.

    Raises AnswerError with every problem, at ``location``.
    """
    return (
        _named(model, catalogue, location, task) if isinstance(model, str) else _read(model, catalogue, location, task)
    )


@kept(64)
def _named(model: str, catalogue: Catalogue, location: Location, task: str) -> tuple[ModelShape, tuple[str, ...]]:
    """Of a preset: consultations about one model ask for it again and again."""
    return _read(model, catalogue, location, task)


def _read(
    model: str | Mapping[str, Any], catalogue: Catalogue, location: Location, task: str
) -> tuple[ModelShape, tuple[str, ...]]:
    request = model if isinstance(model, str) else _readable(model)
    presets = {key: entry.data for key, entry in catalogue.models.items()}
    shape, found = intake.read(request, presets, catalogue.coefficients, task)
    if shape is None:
        errors = [_problem(item, location) for item in found if item.severity == "error"]
        raise AnswerError(errors or [Problem("bad-model", "the model cannot be understood", location)])
    said = [f"{item.path} {item.message}".strip() for item in found]
    if shape.stored_format and shape.stored_format not in catalogue.formats:
        shape, note = _in_known_format(shape, catalogue)
        said.append(note)
    published = shape.published_format
    if published and published not in catalogue.formats:
        message = f"is published in {published}, which is not a format of the catalogue"
        if isinstance(request, str) or "published_format" in request:
            raise AnswerError([Problem("bad-model", message, location, did_you_mean(published, catalogue.formats))])
        shape = replace(shape, published_format="")
        said.append(f"{message}: its weights are taken as of 16 bits")
    return shape, tuple(said)


def _in_known_format(shape: ModelShape, catalogue: Catalogue) -> tuple[ModelShape, str]:
    """The shape of a file in a format that the catalogue lacks, as if in the nearest by bits; its sizes stay exact."""
    parts = {part.name: part.parameters for part in shape.parts}
    bits = sum(parts[name] * each for name, each in shape.stored_bits) / shape.parameters
    runs = [item for item in catalogue.formats.values() if shape.file_kind != "gguf" or "llama.cpp" in item.runtimes]
    nearest = min(runs or catalogue.formats.values(), key=lambda item: abs(item.bits_per_weight - bits))
    note = f"is in the format {shape.stored_format}, which is not in the catalogue: it is run as {nearest.name}"
    return replace(shape, stored_format=nearest.id), note


def _readable(model: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping with its suffixes read."""
    return {key: _number(key, value) for key, value in model.items()}


def _problem(item: IntakeProblem, location: Location) -> Problem:
    return Problem("bad-model", f"{item.path} {item.message}".strip(), location, item.help or None)


def _number(key: str, value: object) -> object:
    """Sizes may be written with suffixes (8B); words stay words."""
    if key in _WORDS or not isinstance(value, str):
        return value
    number = parse_number(value)
    return value if number is None else round(number) if number == round(number) else number
