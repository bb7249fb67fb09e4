"""Reads formulas.yaml: what each check computes, in words, and who says so. No check is without one."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.checks.calculation import CHECKS, Phase
from whygpu.knowledge.sources import Formula
from whygpu.loader.sources import listed
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import IDENTIFIER, TEXT, TEXTS, among, needed, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

_BOTH: tuple[Phase, ...] = ("training", "inference")
_PHASES: tuple[Phase, ...] = (*_BOTH, "life", "sizing")
FORMULA: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "phase": one_of(_PHASES),
        "title": needed(TEXT),
        "says": needed(TEXT),
        "of": needed(among(sorted(set[str]().union(*CHECKS.values())), many=True)),
        "source": needed(TEXTS),
        "note": TEXT,
    }
)


def read_formulas(nodes: Iterable[Node], reading: Reading) -> list[Formula]:
    """The formulas, each of checks that there are in its phase."""
    found: dict[str, Formula] = {}
    for node in nodes:
        fields = Fields.of(node, "formula", reading.problems, FORMULA)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"formula '{identifier}'"
        if identifier in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "rename or remove one")
        phase = fields.choice("phase")
        phases = _BOTH if phase is None else tuple(known for known in _PHASES if known == phase)
        known = sorted(set[str]().union(*(CHECKS[item] for item in phases)))
        found[identifier] = Formula(
            id=identifier,
            title=fields.text("title") or "",
            says=fields.text("says") or "",
            checks=listed(fields, "of", "check", known),
            phases=phases,
            sources=reading.cited(fields),
            note=fields.text("note"),
            location=node.location,
        )
        fields.done()
    return list(found.values())
