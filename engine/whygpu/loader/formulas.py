"""Reads formulas.yaml: what each check computes, in words, and who says so. No check is without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.checks.calculation import CHECKS, Phase
from whygpu.knowledge.sources import Formula
from whygpu.loader.sources import listed
from whygpu.yamldoc.fields import Fields, problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node

_BOTH: tuple[Phase, ...] = ("training", "inference")
_PHASES: tuple[Phase, ...] = (*_BOTH, "life")


def read_formulas(nodes: Iterable[Node], reading: Reading) -> list[Formula]:
    """The formulas, each of checks that there are in its phase."""
    found: dict[str, Formula] = {}
    for node in nodes:
        fields = Fields.of(node, "formula", reading.problems)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"formula '{identifier}'"
        if identifier in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "rename or remove one")
        phase = fields.choice("phase", _PHASES)
        phases = _BOTH if phase is None else tuple(known for known in _PHASES if known == phase)
        known = sorted(set[str]().union(*(CHECKS[item] for item in phases)))
        found[identifier] = Formula(
            id=identifier,
            title=fields.text("title", required=True) or "",
            says=fields.text("says", required=True) or "",
            checks=listed(fields, "of", "check", known, required=True),
            phases=phases,
            sources=reading.cited(fields, required=True),
            note=fields.text("note"),
            location=node.location,
        )
        fields.done()
    return list(found.values())
