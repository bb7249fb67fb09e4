"""Reads what a diagnosis knows: causes, how figures are measured, and worked diagnoses."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.causes import Cause, DiagnosisCase, Expected, Measure
from whygpu.yamldoc.document import Mapping, Scalar, plain_data
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import IDENTIFIER, TEXT, TEXTS, names_to, needed, record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.knowledge.base import Knowledge
    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

CAUSE: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "name": needed(TEXT),
        "means": needed(TEXT),
        "actions": needed(TEXTS),
        "confirm": needed(TEXT),
        "source": needed(TEXTS),
    }
)
MEASURE: Form = MappingProxyType({"figure": needed(TEXT), "take": needed(TEXT), "command": TEXT, "source": TEXTS})
EXPECT: Form = MappingProxyType(
    {
        **dict.fromkeys(("likely", "causes", "no_causes", "fires", "silent"), TEXTS),
        "next": TEXT,
    }
)
DIAGNOSIS: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "title": needed(TEXT),
        "measured": needed(names_to({})),
        "expect": needed(record(EXPECT)),
        "source": TEXTS,
        "spares": TEXTS,
    }
)


def cause_ids(nodes: Iterable[Node]) -> frozenset[str]:
    """The ids of the causes, before they are read: rules need them first."""
    found = (node.items.get("id") for node in nodes if isinstance(node, Mapping))
    return frozenset(node.text for node in found if isinstance(node, Scalar))


def read_causes(nodes: Iterable[Node], reading: Reading) -> dict[str, Cause]:
    """The causes by id."""
    found: dict[str, Cause] = {}
    for node in nodes:
        fields = Fields.of(node, "a cause", reading.problems, CAUSE)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"cause '{identifier}'"
        cause = Cause(
            id=identifier,
            name=fields.text("name") or identifier,
            means=fields.text("means") or "",
            actions=fields.texts("actions"),
            confirm=fields.text("confirm") or "",
            sources=reading.cited(fields),
            location=node.location,
        )
        fields.done()
        if identifier in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "rename or remove one")
        found.setdefault(identifier, cause)
    return found


def read_measures(nodes: Iterable[Node], reading: Reading) -> dict[str, Measure]:
    """How figures are measured, by name, in the order of the file."""
    found: dict[str, Measure] = {}
    for node in nodes:
        fields = Fields.of(node, "a measure", reading.problems, MEASURE)
        name = fields.text("figure") if fields is not None else None
        if fields is None or name is None:
            continue
        fields.what = f"the measure of '{name}'"
        measure = Measure(name, fields.text("take") or "", fields.text("command"), reading.cited(fields), node.location)
        fields.done()
        if name not in reading.vocabulary or not name.startswith("measured."):
            near = did_you_mean(name, reading.vocabulary) or "add it to vocabulary.yaml, as measured.something"
            problem(reading.problems, fields.node.items["figure"], "unknown-name", f"there is no figure '{name}'", near)
        elif name in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "merge the two")
        else:
            found[name] = measure
    return found


def read_diagnoses(nodes: Iterable[Node], knowledge: Knowledge, reading: Reading) -> tuple[DiagnosisCase, ...]:
    """The worked diagnoses."""
    found: dict[str, DiagnosisCase] = {}
    for node in nodes:
        fields = Fields.of(node, "a worked diagnosis", reading.problems, DIAGNOSIS)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"diagnosis '{identifier}'"
        title, measured = fields.text("title") or "", fields.get("measured")
        data = plain_data(measured) if measured is not None else None
        expect = fields.inside("expect", f"'expect' of {fields.what}")
        expected = Expected() if expect is None else _expected(expect, knowledge)
        sources = reading.cited(fields)
        spares = tuple(item.text.strip() for item in fields.text_nodes("spares"))
        fields.done()
        case = DiagnosisCase(
            identifier, title, data if isinstance(data, dict) else {}, expected, sources, spares, node.location
        )
        if identifier in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "rename or remove one")
        found.setdefault(identifier, case)
    return tuple(found.values())


def _expected(fields: Fields, knowledge: Knowledge) -> Expected:
    rules = [rule.id for rule in knowledge.rules if rule.diagnoses]

    def listed(key: str, known: Iterable[str], noun: str) -> tuple[str, ...]:
        names = list(known)
        for item in fields.text_nodes(key):
            if item.text.strip() not in names:
                near = did_you_mean(item.text, names) or f"known: {', '.join(names[:20])}"
                problem(fields.problems, item, "bad-choice", f"{fields.what}: there is no {noun} '{item.text}'", near)
        return fields.texts(key)

    likely, causes, no_causes = (listed(key, knowledge.causes, "cause") for key in ("likely", "causes", "no_causes"))
    fires, silent = (listed(key, rules, "diagnosing rule") for key in ("fires", "silent"))
    following = fields.choice("next", knowledge.measures)
    fields.done()
    return Expected(likely, causes, no_causes, fires, silent, following)
