"""Finds who cites what: every ``source:`` in the files of a knowledge base, whatever section it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.knowledge.sources import Citation
from whygpu.yamldoc.document import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.yamldoc.document import Node

FACTS = frozenset({"accelerators", "providers", "offerings", "purchases", "areas", "models", "formats", "coefficients"})
_NOT_KNOWLEDGE = frozenset({"cases", "diagnoses", "claims", "tensions", "documents"})
"""Sections that list or show claims: a claim that only they name is not used."""


def citations(sections: Iterable[tuple[str, Node]]) -> Iterator[Citation]:
    """The citations of each item of a list, or of each value of a mapping, given with the section it is of.

    A row of a table goes by the name of its rule, ``table/row``; other parts of an item by the item's.
    """
    for section, node in sections:
        if section not in _NOT_KNOWLEDGE:
            kind = "fact" if section in FACTS else section.removesuffix("s")
            name = _id(node, "phase" if kind == "profile" else "id")
            if name is None and isinstance(node, Mapping):
                for key, inner in node.items.items():
                    yield from _inside(inner, kind, key)
            else:
                yield from _inside(node, kind, name or section)


def _inside(node: Node, kind: str, name: str) -> Iterator[Citation]:
    if isinstance(node, Sequence):
        for item in node.items:
            row = _id(item) if kind == "table" else None
            yield from _inside(item, kind, f"{name}/{row}" if row else name)
    elif isinstance(node, Mapping):
        for key, inner in node.items.items():
            if key == "source":
                for item in inner.items if isinstance(inner, Sequence) else [inner]:
                    if isinstance(item, Scalar):
                        yield Citation(item.text.strip(), kind, name, item.location)
            else:
                yield from _inside(inner, kind, name)


def _id(node: Node, key: str = "id") -> str | None:
    identifier = node.items.get(key) if isinstance(node, Mapping) else None
    return identifier.text if isinstance(identifier, Scalar) else None
