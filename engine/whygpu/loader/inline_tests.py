"""Reads the tests beside rules and tables: values given, and what must come of them."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.rules import ABSENT, Expectation, RuleTest
from whygpu.loader.effects import EffectReader
from whygpu.yamldoc.document import Mapping as MappingNode
from whygpu.yamldoc.document import Scalar, Sequence
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import Kind, needed, object_schema, one_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

EXPECTATIONS: tuple[Expectation, ...] = ("fires", "silent", "unknown")
NAMED = Kind("effects", schema={"$ref": "#/$defs/effects"})
"""Effects as a test names them: a text or a list of texts."""
FIRES: Form = MappingProxyType({"fires": NAMED})
GIVEN = Kind("a mapping of names", schema={"$ref": "#/$defs/given"})
_EXPECT = one_of(EXPECTATIONS)
_FIRES = {**object_schema(FIRES), "minProperties": 1}
TEST: Form = MappingProxyType(
    {
        "given": GIVEN,
        "expect": needed(replace(_EXPECT, schema={"anyOf": [dict(_EXPECT.schema), _FIRES]})),
    }
)


def read_tests(fields: Fields, reading: Reading) -> Iterator[RuleTest]:
    """The tests of a rule or of one row."""
    for item in fields.mappings("tests", f"a test of {fields.what}"):
        given = read_given(item, reading)
        node = item.get("expect")
        if isinstance(node, MappingNode):
            inner = Fields(node, f"'expect' of {item.what}", reading.problems, FIRES)
            named = inner.get("fires", required="fires" in node.items or not node.items)
            inner.done()
            if named is not None:
                yield RuleTest(given, "fires", item.node.location, read_effects(named, item.what, reading))
        else:
            expect = item.choice("expect")
            for known in EXPECTATIONS:
                if expect == known:
                    yield RuleTest(given, known, item.node.location)
        item.done()


def read_effects(node: Node, what: str, reading: Reading) -> tuple[str, ...]:
    """The effects that a test names, in words; empty, with a problem added, where they cannot be read."""
    reader = EffectReader(what, {}, reading)
    items = node.items if isinstance(node, Sequence) else [node]
    if not items:
        problem(reading.problems, node, "bad-effect", f"{what} names no effect", "for example [prefer cost mild]")
    found = [reader.named(item) for item in items]
    return tuple(item for item in found if item is not None)


def read_given(item: Fields, reading: Reading) -> Mapping[str, float | bool | str]:
    """The values under ``given``, each of its name's type."""
    node = item.get("given")
    inner = Fields.of(node, f"'given' of {item.what}", reading.problems) if node is not None else None
    given: dict[str, float | bool | str] = {}
    for name in inner.keys() if inner else ():
        spec = reading.vocabulary.get(name)
        value = inner.get(name) if inner else None
        if spec is None and inner is not None:
            problem(
                reading.problems,
                inner.node.keys[name],
                "unknown-name",
                f"{item.what} gives '{name}', which is not a name",
                did_you_mean(name, reading.vocabulary),
            )
        elif spec is not None and spec.kind == "number" and isinstance(value, Scalar) and value.text == ABSENT:
            given[name] = ABSENT
        elif spec is not None and value is not None:
            plain = reading.value_of(value, spec, item.what)
            if plain is not None:
                given[name] = plain
    return MappingProxyType(given)
