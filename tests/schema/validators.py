"""Validators of the schemas, and the files that they are tried on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from whygpu.schema.build import schema_of
from whygpu.schema.kb import FILES
from whygpu.yamldoc.document import Mapping, parse, plain_data

if TYPE_CHECKING:
    from whygpu.errors import Problem
    from whygpu.knowledge.base import Knowledge

ROOT = Path(__file__).resolve().parents[2]
MODELINE = "# yaml-language-server: $schema="


def data_of(text: str) -> object:
    """A YAML text as plain data, as the loader reads it."""
    problems: list[Problem] = []
    node = parse(text, "x.yaml", problems)
    assert not problems, problems
    return None if node is None else plain_data(node)


def faults(schema: Any, data: object) -> list[str]:
    """Where the data does not hold to the schema, and how."""
    found = Draft202012Validator(schema).iter_errors(data)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]


@cache
def schema(kind: str, knowledge: Knowledge) -> Any:
    """One schema, made once for each knowledge base."""
    return schema_of(kind, knowledge)


def kind_of(text: str) -> str | None:
    """The kind of file that the sections of a text make it; None where it has none."""
    node = parse(text, "x.yaml", [])
    sections = set(node.items) if isinstance(node, Mapping) else set()
    fitting = [kind for kind, own in FILES.items() if sections and sections <= set(own)]
    return min(fitting, key=lambda kind: len(FILES[kind]), default=None)
