"""Reads models, formats and coefficients: plain data for the checks, with every source in it looked up."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from whygpu.catalogue import Entry
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.setup import Format
from whygpu.errors import did_you_mean
from whygpu.load.document import Mapping, Node, Scalar, Sequence
from whygpu.load.fields import problem

if TYPE_CHECKING:
    from whygpu.load.facts import FactReader


def read_models(reader: FactReader) -> dict[str, Entry]:
    """The model presets; intake makes a shape of one when it is asked for."""
    return dict(_read(reader, "models", "model"))


def read_formats(reader: FactReader) -> dict[str, Format]:
    """The number formats."""
    found: dict[str, Format] = {}
    for entry in _read(reader, "formats", "format").values():
        try:
            found[entry.id] = Format.of(entry.data)
        except (KeyError, TypeError, ValueError) as error:
            _malformed(reader, entry, error)
    return found


def read_coefficients(reader: FactReader) -> Coefficients:
    """The coefficients of the checks, and the tables beside them."""
    good: list[Entry] = []
    for entry in _read(reader, "coefficients", "coefficient").values():
        try:
            Coefficients.of([entry.data])
        except (KeyError, TypeError, ValueError) as error:
            _malformed(reader, entry, error)
        else:
            good.append(entry)
    return Coefficients.of(entry.data for entry in good)


def _malformed(reader: FactReader, entry: Entry, error: Exception) -> None:
    what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    node = reader.node_of(entry.id)
    problem(reader.problems, node, "malformed-fact", f"'{entry.id}': {what}", "compare with its neighbours")


def _read(reader: FactReader, section: str, what: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for fields, identifier in reader.entries(section, what):
        if not reader.sources(fields, required=False) and not _all_sourced(fields.node):
            problem(reader.problems, fields.node, "no-source", f"{fields.what} has no source", "add 'source: ...'")
        cited: list[str] = []
        data = _plain(fields.node, reader, cited)
        name = fields.text("name") or identifier
        found[identifier] = Entry(
            identifier,
            name,
            fields.texts("aliases"),
            MappingProxyType(data),
            tuple(dict.fromkeys(cited)),
            fields.node.place,
        )
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
        _cite(source, reader, cited)
    if "is" in node.items:
        return _plain(node.items["is"], reader, cited)
    return {key: _plain(item, reader, cited) for key, item in node.items.items()}


def _cite(node: Node, reader: FactReader, cited: list[str]) -> None:
    for item in node.items if isinstance(node, Sequence) else [node]:
        name = item.text if isinstance(item, Scalar) else ""
        if not reader.is_source(name):
            problem(
                reader.problems,
                item,
                "unknown-source",
                f"there is no reference '{name}'",
                did_you_mean(name, reader.references) or "add it to kb/facts/references",
            )
        cited.append(name)
