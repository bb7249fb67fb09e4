"""Knowledge bases of a few lines, for tests of one thing each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.chain.programs import REGISTRY, Program
from whygpu.loader.assemble import load_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.chain.programs import Cell
    from whygpu.knowledge.base import Knowledge

NUMBER = {"type": "number", "meaning": "a number"}
FLAG = {"type": "flag", "meaning": "a flag"}
TEXT = {"type": "text", "meaning": "a text"}
ADVISE = {"advise": "something"}
PREFER = {"prefer": "cost"}


def answered(**names: Mapping[str, object]) -> dict[str, object]:
    """Vocabulary of ``workload.`` names with answers."""
    return {f"workload.{key}": {**spec, "answer": key} for key, spec in names.items()}


def knowledge(
    rules: Sequence[tuple[Sequence[str], object]],
    names: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
    tables: Sequence[Mapping[str, object]] = (),
) -> Knowledge:
    """Rules r0, r1 ... given as (conditions, effect), over workload.n, gpu.n0 and ``names``."""
    vocabulary = {**answered(n=NUMBER), "gpu.n0": NUMBER, **(names or {})}
    written = [
        {"id": f"r{i}", "title": f"Rule {i}", "when": list(when), "then": [then], "because": "So.", "source": "doc-1"}
        for i, (when, then) in enumerate(rules)
    ]
    claims = [{"id": "doc-1", "kind": "fact", "says": "so"}]
    sections = {
        "documents": {"doc": {"title": "Doc"}},
        "claims": claims,
        "names": vocabulary,
        "values": dict(values or {}),
        "tables": list(tables),
    }
    return load_texts({"all.yaml": json.dumps({**sections, "rules": written})}, "small", REGISTRY)


def program_of(base: Knowledge, session: Mapping[str, Cell], *plans: float) -> Program:
    """The knowledge with facts; one plan for each value of gpu.n0."""
    return Program(0, {}, {}, base, session, {"gpu.n0": plans}, len(plans))
