"""Reads ``launches``: the command or the file by which each tool starts a plan."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.launches import Launch, LaunchLine, Refusal
from whygpu.yamldoc.document import Mapping
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import CONDITIONS, IDENTIFIER, TEMPLATE, TEXT, TEXTS, WORD, list_of, names_to, needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Mapping as ReadOnly

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

LINE: Form = MappingProxyType({"text": needed(TEMPLATE), "when": CONDITIONS})
REFUSAL: Form = MappingProxyType({"when": needed(CONDITIONS), "because": needed(TEMPLATE)})
LAUNCH: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "name": needed(TEXT),
        "version": needed(TEXT),
        "runtime": WORD,
        "when": needed(CONDITIONS),
        "cannot": list_of(REFUSAL),
        "file": TEXT,
        "run": TEXT,
        "lines": needed(list_of(LINE)),
        "notes": list_of(LINE),
        "cards": names_to(TEXT.value),
        "source": needed(TEXTS),
    }
)


def read_launches(nodes: Iterable[Node], accelerators: Iterable[str], reading: Reading) -> list[Launch]:
    """The tools, in the order in which they are told."""
    found: dict[str, Launch] = {}
    known = frozenset(accelerators)
    for node in nodes:
        fields = Fields.of(node, "launch", reading.problems, LAUNCH)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = what = f"launch '{identifier}'"
        if identifier in found:
            problem(reading.problems, node, "duplicate-id", f"{what} is there twice", "rename or remove one")
        runtimes = [word for spec in reading.vocabulary.values() if spec.answer == "runtime" for word in spec.words]
        found[identifier] = Launch(
            id=identifier,
            name=fields.text("name") or identifier,
            version=fields.text("version") or "",
            runtime=fields.choice("runtime", runtimes),
            when=reading.all_of(fields.get("when"), what),
            lines=tuple(_lines(fields, "lines", reading)),
            notes=tuple(_lines(fields, "notes", reading)),
            refusals=tuple(_refusals(fields, reading)),
            sources=reading.cited(fields),
            location=node.location,
            file=fields.text("file"),
            run=fields.text("run"),
            cards=_cards(fields, known),
        )
        fields.done()
    return list(found.values())


def _lines(fields: Fields, key: str, reading: Reading) -> Iterator[LaunchLine]:
    for item in fields.mappings(key, f"'{key}' of {fields.what}"):
        text = reading.template(item.get("text"), item.what)
        when = reading.all_of(item.get("when"), item.what)
        item.done()
        if text is not None:
            yield LaunchLine(text, when)


def _refusals(fields: Fields, reading: Reading) -> Iterator[Refusal]:
    for item in fields.mappings("cannot", f"'cannot' of {fields.what}"):
        because = reading.template(item.get("because"), item.what)
        when = reading.all_of(item.get("when"), item.what)
        item.done()
        if because is not None:
            yield Refusal(when, because)


def _cards(fields: Fields, known: frozenset[str]) -> ReadOnly[str, str]:
    node = fields.get("cards")
    if node is None:
        return MappingProxyType({})
    if not isinstance(node, Mapping):
        problem(fields.problems, node, "wrong-type", f"'cards' of {fields.what} must be a mapping of ids to names")
        return MappingProxyType({})
    inner = Fields(node, f"'cards' of {fields.what}", fields.problems)
    found: dict[str, str] = {}
    for key in list(node.items):
        name = inner.text(key)
        if key not in known:
            message = f"{inner.what} names '{key}', which is no accelerator"
            problem(fields.problems, node.keys[key], "unknown-accelerator", message, did_you_mean(key, known))
        elif name is not None:
            found[key] = name
    return MappingProxyType(found)
