"""Reads selectors: which plans a case speaks of, as ``{family: [T4, L4], count: '>= 2'}``.

A key is a ``gpu.`` or ``plan.`` name, with or without its entity, or ``accelerator`` (whatever an answer may call a
card); a value is a cell as in tables. A list of selectors means any of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.kept import kept
from whygpu.knowledge.cases import Selector
from whygpu.language.tree import All, Any, Compare, Constant, Expression, Name, OneOf
from whygpu.loader.cells import read_cell
from whygpu.loader.words import catalogue_words
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import kind_of, problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as ReadOnly

    from whygpu.errors import Problem
    from whygpu.knowledge.base import Knowledge
    from whygpu.language.names import NameSpec

_ENTITIES = ("plan", "gpu")


class SelectorReader:
    """Reads the selectors of one case; ``what`` names it in messages."""

    def __init__(self, knowledge: Knowledge, what: str, problems: list[Problem]) -> None:
        """The knowledge base gives the names, and the accelerators there are."""
        self._knowledge, self._what, self._problems = knowledge, what, problems
        self._names = _names(knowledge)

    def read(self, node: Node) -> Selector | None:
        """The selector; None, with a problem added, where it is none."""
        if isinstance(node, Sequence):
            parts = [self.read(item) for item in node.items]
            good = [part for part in parts if part is not None]
            if not parts:
                self._add(node, "wrong-type", f"{self._what}: an empty list selects nothing")
            if not parts or len(good) < len(parts):
                return None
            return Selector(" or ".join(part.text for part in good), Any(tuple(part.condition for part in good)))
        if isinstance(node, Mapping) and node.items:
            found = list(self._tests(node))
            if len(found) < len(node.items):
                return None
            return Selector(" and ".join(text for text, _ in found), All(tuple(tree for _, tree in found)))
        help_text = "for example {family: [T4, L4], count: 1}"
        self._add(node, "wrong-type", f"{self._what}: plans are selected by a mapping, not {kind_of(node)}", help_text)
        return None

    def accelerator(self, node: Node) -> tuple[str, Expression] | None:
        """The cards that a text, or a list of them, names."""
        ids: list[str] = []
        items = node.items if isinstance(node, Sequence) else [node]
        catalogue = self._knowledge.catalogue
        for item in items:
            text = item.text if isinstance(item, Scalar) else ""
            found = catalogue.find_accelerators(text)
            if not found:
                known = [name for card in catalogue.accelerators.values() for name in (card.id, card.name, card.family)]
                near = did_you_mean(text, known) or "kb/facts/accelerators lists them"
                self._add(item, "unknown-accelerator", f"{self._what}: there is no accelerator '{text[:60]}'", near)
                return None
            ids += found
        if not ids:
            self._add(node, "wrong-type", f"{self._what}: an empty list selects nothing")
            return None
        shown = ", ".join(item.text for item in items if isinstance(item, Scalar))
        return f"accelerator {shown}", OneOf(Name("gpu.id"), tuple(Constant(name) for name in dict.fromkeys(ids)))

    def _tests(self, node: Mapping) -> Iterator[tuple[str, Expression]]:
        for key, inner in node.items.items():
            if key == "accelerator":
                found = self.accelerator(inner)
                if found is not None:
                    yield found
                continue
            spec = self._names.get(key)
            if spec is None:
                near = did_you_mean(key, ["accelerator", *self._names]) or "a plan. or gpu. name, or accelerator"
                self._add(node.keys[key], "unknown-name", f"{self._what}: plans have no '{key}'", near)
                continue
            cell = read_cell(inner, spec, f"{self._what}, {key}", self._problems)
            if cell is None or not self._exists(spec, inner):
                continue
            if cell.condition is None:
                self._add(inner, "bad-cell", f"{self._what}: '-' selects every plan", "leave it out")
                continue
            yield cell.condition.text, cell.condition.tree

    def _exists(self, spec: NameSpec, node: Node) -> bool:
        """Whether some accelerator has each word written for a text such as gpu.family; a typo would select nothing."""
        if spec.entity != "gpu" or spec.kind != "text":
            return True
        known = catalogue_words(self._knowledge.catalogue, spec.name) or frozenset()
        for item in node.items if isinstance(node, Sequence) else [node]:
            text = item.text if isinstance(item, Scalar) else ""
            if text[:1] not in ("!", "=") and text not in known:
                near = did_you_mean(text, known)
                self._add(item, "bad-choice", f"{self._what}: no accelerator has {spec.name} '{text[:60]}'", near)
                return False
        return True

    def _add(self, node: Node, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._problems, node, code, message, help_text)


@kept(2)
def _names(knowledge: Knowledge) -> ReadOnly[str, NameSpec]:
    """The names of plans, short ones where they are of one thing alone: the same for every case."""
    vocabulary = knowledge.vocabulary
    found = {name: spec for name, spec in vocabulary.items() if spec.entity in _ENTITIES}
    for name, spec in list(found.items()):
        short = name.partition(".")[2]
        if all(f"{entity}.{short}" not in vocabulary for entity in _ENTITIES if entity != spec.entity):
            found[short] = spec
    return found


def one_card(card: Expression, number_format: str) -> Expression:
    """The condition, for a single card and one number format."""
    count = Compare("==", Name("plan.count"), Constant(1.0))
    return All((card, count, Compare("==", Name("plan.format"), Constant(number_format))))
