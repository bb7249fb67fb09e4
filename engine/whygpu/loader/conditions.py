"""Reads conditions, expressions, templates and plain values: the parts that rules, questions and values share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whygpu.errors import Problem, did_you_mean
from whygpu.knowledge.rules import AllOf, AnyOf, Condition, ConditionTree, Template
from whygpu.language import tree as t
from whygpu.language.names import NameSpec
from whygpu.language.parse import parse
from whygpu.language.types import Signature, check
from whygpu.loader.facts import fits
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import Fields, kind_of, problem

if TYPE_CHECKING:
    from collections.abc import Mapping as ReadOnly

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
MAX_CONDITIONS = 40


@dataclass(frozen=True, slots=True)
class Reading:
    """What every reader needs: the names and checks that exist, the citable sources, and where problems go."""

    vocabulary: ReadOnly[str, NameSpec]
    functions: ReadOnly[str, Signature]
    sources: frozenset[str]
    problems: list[Problem]

    def condition(self, node: Scalar) -> Condition | None:
        """One condition text, parsed and type-checked."""
        tree = self.expression(node, "flag")
        return None if tree is None else Condition(" ".join(node.text.split()), tree, node.location)

    def expression(self, node: Scalar, want: Literal["number", "flag", "word"]) -> t.Expression | None:
        """One expression that yields ``want``."""
        tree = parse(node.text, node, self.problems)
        if tree is None or not check(tree, want, node, self.vocabulary, self.functions, self.problems):
            return None
        return tree

    def condition_tree(self, node: Node, what: str) -> ConditionTree | None:
        """A condition, or ``{all: [...]}`` or ``{any: [...]}`` of them."""
        if isinstance(node, Scalar):
            if isinstance(node.value, str | bool):
                return self.condition(node)
            problem(self.problems, node, "wrong-type", f"a condition of {what} must be a text, not {kind_of(node)}")
            return None
        if isinstance(node, Mapping) and len(node.items) == 1 and next(iter(node.items)) in ("all", "any"):
            word, inner = next(iter(node.items.items()))
            parts = self.conditions(inner, what)
            return AllOf(parts) if word == "all" else AnyOf(parts)
        message = f"a condition of {what} is a text, {{all: [...]}} or {{any: [...]}}, not {kind_of(node)}"
        problem(self.problems, node, "wrong-type", message, self._as_condition(node))
        return None

    def _as_condition(self, node: Node) -> str:
        """How to write what was probably meant: ``workload.phase: training`` is a comparison elsewhere."""
        if isinstance(node, Mapping) and len(node.items) == 1:
            name, value = next(iter(node.items.items()))
            if name in self.vocabulary and isinstance(value, Scalar):
                return f"write {name} == {value.text if self.vocabulary[name].kind == 'number' else repr(value.text)}"
        return "for example workload.phase == 'inference'"

    def conditions(self, node: Node | None, what: str) -> tuple[ConditionTree, ...]:
        """A list of conditions; a single one counts as a list of one."""
        if node is None:
            return ()
        items = node.items if isinstance(node, Sequence) else [node]
        if len(items) > MAX_CONDITIONS:
            problem(
                self.problems, node, "too-many", f"{what} has {len(items)} conditions; the limit is {MAX_CONDITIONS}"
            )
            return ()
        found = (self.condition_tree(item, what) for item in items)
        return tuple(part for part in found if part is not None)

    def all_of(self, node: Node | None, what: str) -> AllOf:
        """``when``: a list, all of which must hold, or one ``{all: ...}`` or ``{any: ...}``."""
        return AllOf(self.conditions(node, what))

    def template(self, node: Node | None, what: str) -> Template | None:
        """A text with ``{name}`` placeholders."""
        if node is None:
            return None
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            problem(self.problems, node, "wrong-type", f"{what} must be a text, not {kind_of(node)}")
            return None
        parts: list[tuple[str, str | None]] = []
        end = 0
        for match in _PLACEHOLDER.finditer(node.text):
            name = match.group(1).strip()
            if name not in self.vocabulary:
                self.problems.append(
                    node.problem(
                        "unknown-name",
                        f"{what} uses '{{{name}}}', which is not a name",
                        *match.span(1),
                        did_you_mean(name, self.vocabulary) or "names are listed in vocabulary.yaml",
                    )
                )
                continue
            parts.append((node.text[end : match.start()], name))
            end = match.end()
        parts.append((node.text[end:], None))
        return Template(node.text.strip(), tuple(parts))

    def value_of(self, node: Node, spec: NameSpec, what: str) -> float | bool | str | None:
        """A plain value of the name's type."""
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if value is not None and fits(spec, value):
            return value
        allowed = f" ({', '.join(spec.words)})" if spec.values else ""
        near = did_you_mean(node.text, spec.words) if isinstance(node, Scalar) else None
        problem(
            self.problems,
            node,
            "wrong-type",
            f"{what}: {spec.name} is a {spec.kind}{allowed}, not {kind_of(node)}",
            near,
        )
        return None

    def cited(self, fields: Fields, *, required: bool = False) -> tuple[str, ...]:
        """The claims or references cited under ``source``."""
        nodes = fields.text_nodes("source", required=required)
        for node in nodes:
            if node.text.strip() not in self.sources:
                problem(
                    self.problems,
                    node,
                    "unknown-source",
                    f"{fields.what} cites '{node.text.strip()}', which does not exist",
                    did_you_mean(node.text, self.sources) or "claims are listed in sources.yaml",
                )
        return tuple(node.text.strip() for node in nodes)
