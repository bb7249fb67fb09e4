"""Expressions as they stand in a file, for tests of the parser and the type-checker."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from whygpu.errors import Location
from whygpu.language.names import NameSpec
from whygpu.language.parse import parse
from whygpu.language.types import Signature, check
from whygpu.yamldoc.document import Document, Mapping, Scalar, Sequence
from whygpu.yamldoc.document import parse as parse_yaml

if TYPE_CHECKING:
    from whygpu.errors import Problem
    from whygpu.language.names import Kind
    from whygpu.language.tree import Expression


def scalar(yaml: str) -> Scalar:
    """The scalar that is the whole of ``yaml``, or the only item of its list."""
    node = parse_yaml(yaml, "kb.yaml", [])
    while isinstance(node, Sequence | Mapping):
        (node,) = node.items if isinstance(node, Sequence) else node.items.values()
    assert isinstance(node, Scalar)
    return node


def parsed(text: str) -> Expression:
    """The tree of an expression without problems."""
    problems: list[Problem] = []
    tree = parse(text, _where(text), problems)
    assert problems == []
    assert tree is not None
    return tree


def refusal(text: str) -> Problem:
    """The one problem of an expression that is refused."""
    problems: list[Problem] = []
    assert parse(text, _where(text), problems) is None
    (problem,) = problems
    return problem


def _where(text: str) -> Scalar:
    return Scalar(text, text, Document("kb.yaml", text), 1, 1)


def _name(name: str, kind: Kind, unit: str | None = None, *values: str) -> NameSpec:
    meanings = MappingProxyType(dict.fromkeys(values, "a value"))
    return NameSpec(name, kind, "a name", Location("vocabulary.yaml"), unit, meanings)


VOCABULARY = {
    spec.name: spec
    for spec in (
        _name("workload.phase", "choice", None, "training", "fine-tuning", "inference"),
        _name("workload.task", "choice", None, "language", "vision"),
        _name("workload.trains", "flag"),
        _name("workload.user", "text"),
        _name("workload.batch_size", "number"),
        _name("need.total_gib", "number", "GiB"),
        _name("gpu.usable_gib", "number", "GiB"),
        _name("gpu.class", "choice", None, "data-centre", "consumer"),
        _name("plan.token_ms", "number", "ms"),
    )
}
FUNCTIONS = {
    "weights_gib": Signature("weights_gib", ("word",), "GiB", "weights in a format", (frozenset({"fp16", "int4"}),)),
    "half": Signature("half", ("number",), None, "half of a number"),
}


def type_problems(text: str, want: Literal["number", "flag", "word"] = "flag") -> list[Problem]:
    """What the type-checker has against an expression that parses."""
    problems: list[Problem] = []
    good = check(parsed(text), want, _where(text), VOCABULARY, FUNCTIONS, problems)
    assert good == (not problems)
    return problems
