"""A Hugging Face config.json as an entry of kb/facts/models: what intake reads from it, written out and read back."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from whygpu import intake
from whygpu.checks.model_shape import KvGroup, ModelShape
from whygpu.errors import AnswerError, Location, Problem
from whygpu.imports.entries import Entries, Value, block
from whygpu.intake.mapping import NUMBERS, WHOLE_NUMBERS
from whygpu.intake.sizes import SizeTable

if TYPE_CHECKING:
    from pathlib import Path

    from whygpu.knowledge.catalogue import Catalogue

_FLAGS = ("gated_ffn", "tied_embeddings")
_ASIDE = frozenset({"name", "id", "task", "source", "assumed"})
"""Fields of a shape that are about the entry, not about the network."""
SIZES_TABLE = "shape-by-parameters"


def model_entry(
    path: Path,
    catalogue: Catalogue,
    *,
    identifier: str,
    sources: tuple[str, ...],
    name: str | None = None,
    task: str | None = None,
    aliases: tuple[str, ...] = (),
    parameters: int | None = None,
) -> tuple[Entries, tuple[str, ...]]:
    """The entry, and what is doubtful about it. Raises AnswerError where the configuration cannot be used.

    A shape that an entry cannot hold (layers that differ in their heads) is refused rather than written down wrong.
    """
    request: dict[str, object] = {"config": str(path)}
    if name:
        request["name"] = name
    if parameters:
        request["parameters"] = parameters
    shape, found = intake.read(request, {}, catalogue.coefficients)
    location = Location(str(path))
    if shape is None:
        problems = [
            Problem("bad-model", f"{item.path} {item.message}".strip(), location, item.help or None)
            for item in found
            if item.severity == "error"
        ]
        raise AnswerError(problems or [Problem("bad-model", "the model cannot be understood", location)])
    entry = _entry(shape, identifier, name or shape.name, task, aliases, sources)
    _refuse_lossy(shape, entry, catalogue, location)
    return Entries("models", (block(entry),)), tuple(str(item) for item in found)


def _entry(
    shape: ModelShape, identifier: str, name: str, task: str | None, aliases: tuple[str, ...], sources: tuple[str, ...]
) -> dict[str, Value]:
    entry: dict[str, Value] = {"id": identifier, "name": name}
    if aliases:
        entry["aliases"] = aliases
    entry |= {"task": task or _task(shape), "kind": shape.kind}
    for key in (*WHOLE_NUMBERS, *NUMBERS):
        value = getattr(shape, key)
        if value and not (key in ("active_parameters", "trained_parameters") and value == shape.parameters):
            entry[key] = value
    for flag in _FLAGS:
        if flag == "tied_embeddings" or getattr(shape, flag) != (shape.kind in ("decoder", "state-space")):
            entry[flag] = getattr(shape, flag)
    derived = replace(shape, kv_groups=())
    if _comparable(shape, "kv_groups") != _comparable(derived, "kv_groups"):
        entry["kv_groups"] = tuple(_group(group) for group in shape.kv_groups)
    if shape.published_format:
        entry["published_format"] = shape.published_format
    if shape.model_type:
        entry["model_type"] = shape.model_type
    return {**entry, "source": sources if len(sources) > 1 else sources[0]}


def _group(group: KvGroup) -> dict[str, int]:
    """A group of layers without what is usual: one head, no window."""
    usual = {field.name: field.default for field in fields(KvGroup)} | {"heads": 1}
    written = {name: int(getattr(group, name)) for name in usual}
    return {name: value for name, value in written.items() if value != usual[name]}


def _task(shape: ModelShape) -> str:
    if shape.kind == "diffusion":
        return "image-generation"
    return "vision" if shape.kind in ("cnn", "vit", "detector", "segmenter") else "language"


def _refuse_lossy(shape: ModelShape, entry: dict[str, Value], catalogue: Catalogue, location: Location) -> None:
    """Read the entry back: it has to give the shape that the configuration gave."""
    sizes = SizeTable.of(catalogue.coefficients.table(SIZES_TABLE))
    back, found = intake.from_preset(entry, sizes)
    if back is None:
        raise AnswerError([Problem("bad-model", str(item), location) for item in found])
    apart = [
        field.name
        for field in fields(ModelShape)
        if field.name not in _ASIDE and _comparable(shape, field.name) != _comparable(back, field.name)
    ]
    if apart:
        shown = ", ".join(f"{name} ({_brief(shape, name)} against {_brief(back, name)})" for name in apart[:4])
        message = f"an entry cannot hold this model as its configuration says it is: {shown} would differ"
        hint = f"give the file itself as the model: --set model.config={location.file}"
        raise AnswerError([Problem("not-expressible", message, location, hint)])


def _comparable(shape: ModelShape, name: str) -> object:
    value = getattr(shape, name)
    if name == "kv_groups":  # their order says nothing
        groups: tuple[KvGroup, ...] = value
        return sorted(groups, key=str)
    return value


def _brief(shape: ModelShape, name: str) -> str:
    text = str(getattr(shape, name))
    return text if len(text) <= 60 else text[:59] + "…"
