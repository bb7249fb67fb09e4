"""Reads references and accelerators from ``kb/facts``: every value keeps its source and its place."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.catalogue import Accelerator, Figure, Plain, Reference
from whygpu.loader.schemas import FIGURE
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import Fields, kind_of, problem
from whygpu.yamldoc.forms import DAY, IDENTIFIER, TEXT, TEXTS, needed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.errors import Problem
    from whygpu.language.names import NameSpec
    from whygpu.yamldoc.forms import Form

REFERENCE: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "title": needed(TEXT),
        "where": TEXT,
        "as_of": needed(DAY),
        "note": TEXT,
    }
)
ACCELERATOR: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "name": needed(TEXT),
        "aliases": TEXTS,
        "family": needed(TEXT),
        "vendor": needed(TEXT),
        "note": TEXT,
        "unpriced": TEXT,
        "source": TEXTS,
    }
)
"""What an accelerator has beside the figures that the vocabulary names, ``gpu.``."""


class FactReader:
    """Reads the fact files of one knowledge base, given as (section name -> the items found in all files)."""

    def __init__(self, sections: dict[str, list[Node]], documents: set[str], problems: list[Problem]) -> None:
        """``documents``: the ids of the source documents, whose claims may be cited too."""
        self._sections = sections
        self.problems = problems
        self._documents = documents
        self._nodes: dict[tuple[str, str], Mapping] = {}
        self.references: dict[str, Reference] = {}
        self.references = self._read_references()

    def is_source(self, name: str) -> bool:
        """Whether the name is a reference, a document or a claim."""
        return name in self.references or name in self._documents

    def node_of(self, section: str, identifier: str) -> Mapping:
        """The node of an entry that was read."""
        return self._nodes[section, identifier]

    def entries(self, section: str, what: str, form: Form) -> Iterator[tuple[Fields, str]]:
        """Each item of a section with its id, ids checked to be unique."""
        seen: dict[str, Node] = {}
        for node in self._sections.get(section, []):
            fields = Fields.of(node, what, self.problems, form)
            identifier = fields.identifier() if fields is not None else None
            if fields is None or identifier is None:
                continue
            fields.what = f"{what} '{identifier}'"
            if identifier in seen:
                problem(
                    self.problems,
                    node,
                    "duplicate-id",
                    f"{what} '{identifier}' is defined twice; first at {seen[identifier].location}",
                    "rename or remove one",
                )
                continue
            seen[identifier] = node
            self._nodes[section, identifier] = fields.node
            yield fields, identifier

    def _read_references(self) -> dict[str, Reference]:
        found: dict[str, Reference] = {}
        for fields, identifier in self.entries("references", "reference", REFERENCE):
            found[identifier] = Reference(
                id=identifier,
                title=fields.text("title") or "",
                where=fields.text("where"),
                as_of=fields.date("as_of"),
                location=fields.node.location,
                note=fields.text("note"),
            )
            fields.done()
        return found

    def sources(self, fields: Fields, *, required: bool = False) -> tuple[str, ...]:
        """The sources of an entry or a figure, each looked up."""
        nodes = fields.text_nodes("source", required=required)
        for node in nodes:
            self.cite(node)
        return tuple(node.text.strip() for node in nodes)

    def cite(self, node: Node) -> str:
        """One source, looked up."""
        name = node.text.strip() if isinstance(node, Scalar) else ""
        if not self.is_source(name):
            problem(
                self.problems,
                node,
                "unknown-source",
                f"there is no reference '{name}'",
                did_you_mean(name, self.references) or "add it to kb/facts/references",
            )
        return name

    def _plain(self, node: Node, what: str) -> Plain | tuple[Plain, ...] | None:
        if isinstance(node, Scalar) and node.value is not None:
            return float(node.value) if isinstance(node.value, int) and not isinstance(node.value, bool) else node.value
        if isinstance(node, Sequence):
            values = [self._plain(item, what) for item in node.items]
            return tuple(value for value in values if value is not None and not isinstance(value, tuple))
        problem(self.problems, node, "wrong-type", f"{what} must be a value, not {kind_of(node)}")
        return None

    def figure(self, node: Node, what: str, default: tuple[str, ...]) -> Figure | None:
        """Read one figure; ``default`` is the source of the entry it belongs to."""
        if not isinstance(node, Mapping):
            value = self._plain(node, what)
            if value is None:
                return None
            if not default:
                problem(
                    self.problems,
                    node,
                    "no-source",
                    f"{what} has no source",
                    "write {is: ..., source: ...}, or give the entry a source",
                )
            return Figure(value, default, node.location)
        fields = Fields(node, what, self.problems, FIGURE)
        absent = fields.flag("absent")
        value_node = fields.get("is", required=not absent)
        sources = self.sources(fields, required=not default) or default
        figure = Figure(
            value=self._plain(value_node, what) if value_node is not None else None,
            sources=sources,
            location=node.location,
            absent=absent,
            estimate=fields.text("estimate"),
            because=fields.text("because"),
            others=tuple(self._others(fields, what)),
        )
        fields.done()
        return figure

    def _others(self, fields: Fields, what: str) -> Iterator[tuple[Plain, tuple[str, ...]]]:
        for other in fields.mappings("others", what):
            node = other.get("is")
            sources = self.sources(other)
            other.done()
            value = self._plain(node, what) if node is not None else None
            if value is not None and not isinstance(value, tuple):
                yield value, sources

    def _figures(self, fields: Fields) -> dict[str, Figure]:
        default = self.sources(fields)
        found: dict[str, Figure] = {}
        for key, node in fields.node.items.items():
            if key in ACCELERATOR or (isinstance(node, Scalar) and node.value is None):
                continue
            figure = self.figure(node, f"'{key}' of {fields.what}", default)
            if figure is not None:
                found[key] = figure
        return found

    def accelerators(self, gpu_names: dict[str, NameSpec]) -> dict[str, Accelerator]:
        found: dict[str, Accelerator] = {}
        for fields, identifier in self.entries("accelerators", "accelerator", ACCELERATOR):
            name = fields.text("name") or identifier
            aliases = fields.texts("aliases")
            family = fields.text("family") or name
            vendor = fields.text("vendor") or ""
            note, unpriced = fields.text("note"), fields.text("unpriced")
            figures = self._figures(fields)
            for key, figure in figures.items():
                self._check_attribute(fields, key, figure, gpu_names)
            figures |= _implied_lacks(figures)
            found[identifier] = Accelerator(
                identifier,
                name,
                aliases,
                family,
                vendor,
                MappingProxyType(figures),
                fields.node.location,
                note,
                unpriced,
            )
        return found

    def _check_attribute(self, fields: Fields, key: str, figure: Figure, gpu_names: dict[str, NameSpec]) -> None:
        node = fields.node.items.get(key, fields.node)
        spec = gpu_names.get(f"gpu.{key}")
        if spec is None:
            known = [name.removeprefix("gpu.") for name in gpu_names]
            problem(
                self.problems,
                fields.node.keys.get(key, node),
                "unknown-key",
                f"{fields.what} has no field '{key}'",
                did_you_mean(key, known) or "add gpu." + key + " to vocabulary.yaml",
            )
        elif not figure.absent and figure.value is not None and not fits(spec, figure.value):
            allowed = f" ({', '.join(spec.values)})" if spec.values else ""
            problem(
                self.problems,
                node,
                "wrong-type",
                f"'{key}' of {fields.what} must be a {spec.kind}{allowed}, not {figure.value!r}",
                did_you_mean(str(figure.value), spec.values),
            )


def _implied_lacks(figures: dict[str, Figure]) -> dict[str, Figure]:
    """The figures that cannot be there, given what is written: the speed of no link, CUDA cores without CUDA."""
    found: dict[str, Figure] = {}
    link, software = figures.get("link"), figures.get("software")
    if link is not None and link.value == "none":
        found |= dict.fromkeys(("link_gb_s", "link_cards"), link)
    if software is not None and software.value != "cuda":
        found |= dict.fromkeys(("compute_capability", "cuda_cores"), software)
    return {name: replace(figure, value=None, absent=True) for name, figure in found.items() if name not in figures}


def fits(spec: NameSpec, value: Plain | tuple[Plain, ...]) -> bool:
    """Whether a plain value is of the type the vocabulary gives the name."""
    match spec.kind:
        case "number":
            return isinstance(value, float)
        case "flag":
            return isinstance(value, bool)
        case "choice":
            return isinstance(value, str) and value in spec.words
        case "text":
            return isinstance(value, str)
