"""Reads models, formats and coefficients: plain data for the checks, every field typed, every source looked up."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whygpu.checks.coefficients import Coefficients
from whygpu.checks.setup import Format
from whygpu.errors import did_you_mean
from whygpu.knowledge.catalogue import Entry
from whygpu.loader.schemas import CASE, COEFFICIENT, MODEL, PARTS_FORM, ROW, WHEN, check_fields, format_schema
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import Fields, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whygpu.knowledge.catalogue import Figure
    from whygpu.loader.facts import FactReader
    from whygpu.yamldoc.forms import Form


def read_models(reader: FactReader) -> dict[str, Entry]:
    """The model presets; intake makes a shape of one when it is asked for."""
    return _read(reader, "models", "model", MODEL, _check_downloads)


def _check_downloads(fields: Fields) -> None:
    """Downloads are of a day, and the sizes' source has none for them."""
    node = fields.node.items.get("downloads")
    if isinstance(node, Scalar) and node.value is not None:
        message = f"'downloads' of {fields.what} has no source of its own"
        problem(fields.problems, node, "no-source", message, f"write {{is: {node.text}, source: ...}}")


def read_formats(reader: FactReader, rates: Iterable[str], runtimes: Iterable[str]) -> dict[str, Format]:
    """The number formats. ``rates``: the accelerators' rates, without ``gpu.``; ``runtimes``: the serving stacks."""
    found: dict[str, Format] = {}
    entries = _read(reader, "formats", "format", format_schema(rates, runtimes), _check_parts)
    for entry in entries.values():
        node = reader.node_of("formats", entry.id)
        instead = entry.data.get("instead")
        if instead is not None and instead not in entries:
            near = did_you_mean(str(instead), entries)
            message = f"format '{entry.id}' is replaced by '{instead}', which does not exist"
            problem(reader.problems, node.items["instead"], "bad-choice", message, near)
        try:
            found[entry.id] = Format.of(entry.data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _malformed(reader, node, entry, error)
    return found


def _check_parts(fields: Fields) -> None:
    inner = fields.inside("parts", f"'parts' of {fields.what}")
    if inner is not None:
        check_fields(inner.node, PARTS_FORM, inner.what, fields.problems)


def read_coefficients(reader: FactReader) -> Coefficients:
    """The coefficients of the checks, and the tables beside them."""
    good: list[Entry] = []
    for entry in _read(reader, "coefficients", "coefficient", COEFFICIENT, _check_rows).values():
        try:
            Coefficients.of([entry.data])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _malformed(reader, reader.node_of("coefficients", entry.id), entry, error)
        else:
            good.append(entry)
    return Coefficients.of(entry.data for entry in good)


def _check_rows(fields: Fields) -> None:
    for key, form in (("by", CASE), ("rows", ROW)):
        for row in fields.mappings(key, f"'{key}' of {fields.what}"):
            check_fields(row.node, form, row.what, fields.problems)
            inner = row.inside("when", f"'when' of {fields.what}") if "when" in form else None
            if inner is not None:
                check_fields(inner.node, WHEN, inner.what, fields.problems)


def _malformed(reader: FactReader, node: Node, entry: Entry, error: Exception) -> None:
    what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    problem(reader.problems, node, "malformed-fact", f"'{entry.id}': {what}", "compare with its neighbours")


def _read(
    reader: FactReader,
    section: str,
    what: str,
    form: Form,
    check_inside: Callable[[Fields], None] | None = None,
) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for fields, identifier in reader.entries(section, what, form):
        before = len(reader.problems)
        check_fields(fields.node, form, fields.what, reader.problems)
        if check_inside is not None:
            check_inside(fields)
        if "source" not in fields and not _all_sourced(fields.node):
            problem(reader.problems, fields.node, "no-source", f"{fields.what} has no source", "add 'source: ...'")
        cited: list[str] = []
        data = _plain(fields.node, reader, cited)
        if len(reader.problems) > before:
            continue
        found[identifier] = Entry(
            identifier,
            fields.text("name") or identifier,
            fields.texts("aliases") if "aliases" in form else (),
            MappingProxyType(data),
            tuple(dict.fromkeys(cited)),
            fields.node.location,
            MappingProxyType(_figures(fields, reader)),
            _own_sources(fields),
        )
    return found


def _own_sources(fields: Fields) -> tuple[str, ...]:
    return tuple(item.text.strip() for item in fields.text_nodes("source"))


def _figures(fields: Fields, reader: FactReader) -> dict[str, Figure]:
    """The fields of an entry written as ``{is: ..., source: ...}``: who says so, who disagrees, and why."""
    found: dict[str, Figure] = {}
    for key, node in fields.node.items.items():
        if isinstance(node, Mapping) and "is" in node.items:
            figure = reader.figure(node, f"'{key}' of {fields.what}", _own_sources(fields))
            if figure is not None:
                found[key] = figure
    return found


def _all_sourced(node: Mapping) -> bool:
    own = {"id", "name", "aliases"}
    return all(
        isinstance(item, Mapping) and "source" in item.items for key, item in node.items.items() if key not in own
    )


def _plain(node: Node, reader: FactReader, cited: list[str]) -> Any:
    """Plain data: ``{is: 5, source: x}`` becomes 5, and every source is looked up."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [_plain(item, reader, cited) for item in node.items]
    source = node.items.get("source")
    if source is not None:
        cited += [reader.cite(item) for item in (source.items if isinstance(source, Sequence) else [source])]
    if "is" in node.items:
        return _plain(node.items["is"], reader, cited)
    return {key: _plain(item, reader, cited) for key, item in node.items.items()}
