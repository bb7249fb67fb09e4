"""YAML text to plain nodes that know where they stand.

PyYAML's C parser supplies events; the tree is built here, in one pass, because that is where the YAML 1.2 core schema
(``no`` is a word, ``1e3`` a number), duplicate keys and the bounds on hostile input (size, depth, aliases, tags) can
be held.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern

import yaml
from yaml._yaml import CParser  # what yaml.cyaml's loaders are made of
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from whygpu.errors import Location, Problem
from whygpu.yamldoc.spans import positions, split_lines

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 24
MAX_NODES = 400_000
MAX_SCALAR = 20_000
_MAX_SNIPPET = 2_000

Value = str | int | float | bool | None

# The YAML 1.2 core schema (https://yaml.org/spec/1.2.2/#103-core-schema), for plain scalars only.
_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Value] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMERIC = frozenset("0123456789+-.")  # what a number begins with
_MAX_DIGITS = 40
_BRACED = re.compile(r"(:|-)\s+[{\[][^{}\[\]]*[}\]]\s*\Z")
_ODD = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True)
class Scalar:
    """A single value; ``text`` is what was written."""

    value: Value
    text: str
    document: Document = field(repr=False)
    line: int
    column: int
    end_column: int = 0
    """Just behind it; 0 where it goes on over several lines."""

    @property
    def location(self) -> Location:
        """Where it stands."""
        return Location(self.document.name, self.line, self.column, self.end_column)

    def problem(self, code: str, message: str, start: int, end: int, help_text: str | None = None) -> Problem:
        """A problem with ``text[start:end]``, placed where those characters stand in the file."""
        if not self.line:
            return Problem(code, message, self.location, help_text)
        spot = positions(_lines(self.document.text), self.line, self.column, self.text, start, end)
        return Problem(
            code, message, Location(self.document.name, *spot), help_text, self.document.line(spot[0]) or None
        )


@dataclass(slots=True)
class Sequence:
    """A list."""

    items: list[Node]
    document: Document = field(repr=False)
    line: int
    column: int

    @property
    def location(self) -> Location:
        """Where it begins."""
        return Location(self.document.name, self.line, self.column)


@dataclass(slots=True)
class Mapping:
    """Keys (text only, each once) and their values, in order."""

    items: dict[str, Node]
    keys: dict[str, Scalar]
    document: Document = field(repr=False)
    line: int
    column: int

    @property
    def location(self) -> Location:
        """Where it begins."""
        return Location(self.document.name, self.line, self.column)


Node = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text and the name it goes by in messages."""

    name: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """Return line ``number`` (1-based), empty where there is none."""
        lines = _lines(self.text)
        return lines[number - 1][:_MAX_SNIPPET] if 0 < number <= len(lines) else ""


@lru_cache(maxsize=64)
def _lines(text: str) -> list[str]:
    return split_lines(text)


class _RefusedError(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def parse(text: str, name: str, problems: list[Problem]) -> Node | None:
    """Read one YAML document; None, with its problem added, where it cannot be read or is empty."""
    document = Document(name, text)
    if len(text) > MAX_BYTES:
        problems.append(
            Problem(
                "too-large", f"the text has {len(text):,} characters; the limit is {MAX_BYTES:,}", Location(name, 1)
            )
        )
        return None
    odd = _odd_character(document)
    if odd is not None:
        problems.append(odd)
        return None
    try:
        return _Builder(document, problems).build()
    except _RefusedError as refused:
        problems.append(refused.problem)
    except yaml.YAMLError as error:
        problems.append(_syntax_problem(error, document))
    except (UnicodeError, ValueError, RecursionError) as error:
        problems.append(Problem("unreadable", f"not readable as YAML: {error}", Location(name, 1)))
    return None


def _start(event: Event) -> tuple[int, int]:
    """Where an event begins, counted from 1."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)


_HINTS = (
    (
        "mapping values are not allowed",
        "a text with ': ' in it needs quotes; a list or mapping begins on the next line",
    ),
    ("did not find expected key", "check the indentation, and that a text with quotes inside is quoted as a whole"),
    ("did not find expected '-' indicator", "check the indentation: the items of a list begin in the same column"),
    ("did not find expected ',' or", "a bracket is not closed, or a text with , : [ ] { or } in it needs quotes"),
    ("could not find expected ':'", "a line of a mapping reads 'key: value'"),
    ("unexpected end of stream", "the closing quote is missing"),
    ("cannot start any token", "put a text that begins with this character in quotes"),
    ("did not find expected alphabetic", "a text that begins with & or * needs quotes"),
    ("unknown escape character", "write a backslash as \\\\ inside double quotes, or use single quotes"),
    ("block sequence entries are not allowed", "begin the list on a line of its own"),
)


def _syntax_problem(error: yaml.YAMLError, document: Document) -> Problem:
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).split("\n", 1)[0]
    context = getattr(error, "context", None) or ""
    mark = getattr(error, "problem_mark", None)
    opened = getattr(error, "context_mark", None)
    if "quoted scalar" in context and "end of stream" in reason and opened is not None:
        mark = opened  # where the quote was opened, not where the file ends
    elif "flow" in context and opened is not None:
        reason = f"{reason} (the bracket was opened on line {opened.line + 1})"
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 0)
    lines = _lines(document.text)
    while line > 1 and (line > len(lines) or not lines[line - 1].strip()):  # the end of the file: the last line of text
        line, column = line - 1, 0
    if lines[line - 1][column - 1 : column] == "\t" and column:
        return Problem(
            "yaml-syntax",
            "a tab cannot indent YAML",
            Location(document.name, line, column),
            "indent with spaces",
            document.line(line),
        )
    help_text = next((hint for sign, hint in _HINTS if sign in reason), None)
    if "expected key" in reason and _BRACED.search(lines[line - 1][: max(column - 1, 0)]):
        help_text = "a text that begins with { or [ needs quotes around the whole of it"
    location = Location(document.name, line, column)
    return Problem("yaml-syntax", f"not valid YAML: {reason}", location, help_text, document.line(line) or None)


def _odd_character(document: Document) -> Problem | None:
    """The first character that YAML does not allow (https://yaml.org/spec/1.2.2/#51-character-set)."""
    match = _ODD.search(document.text)
    if match is None:
        return None
    before = _lines(document.text[: match.start()])
    location = Location(document.name, len(before), len(before[-1]) + 1, len(before[-1]) + 2)
    message = f"the character U+{ord(match.group()):04X} is not allowed in YAML"
    return Problem("odd-character", message, location, "delete it; it may be invisible", document.line(location.line))


class _Builder:
    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self._document = document
        self._problems = problems

    def _refuse(self, code: str, message: str, event: Event, help_text: str | None = None) -> _RefusedError:
        location = Location(self._document.name, *_start(event))
        return _RefusedError(Problem(code, message, location, help_text, self._document.line(location.line)))

    def build(self) -> Node | None:
        """The document's tree; raises _RefusedError and YAMLError."""
        next_event = CParser(self._document.text).get_event
        root: Node | None = None
        stack: list[Sequence | Mapping] = []
        pending: list[Scalar | None] = []  # the key read last in each open mapping
        nodes = documents = 0
        while (event := next_event()) is not None:
            node: Node
            inside: Sequence | Mapping | None = None
            if isinstance(event, ScalarEvent):  # the commonest of tens of thousands of events first
                node = self._scalar(event)
            elif isinstance(event, MappingEndEvent) or isinstance(event, SequenceEndEvent):  # noqa: SIM101  faster
                stack.pop()
                pending.pop()
                continue
            elif isinstance(event, MappingStartEvent):
                node = inside = Mapping({}, {}, self._document, *_start(event))
            elif isinstance(event, SequenceStartEvent):
                node = inside = Sequence([], self._document, *_start(event))
            elif isinstance(event, AliasEvent):
                raise self._refuse("alias", "anchors and aliases are not used here", event, "write the value out")
            else:
                documents += isinstance(event, DocumentStartEvent)
                if documents > 1:
                    raise self._refuse("several-documents", "one document a file: remove the '---' line", event)
                continue
            nodes += 1
            if nodes > MAX_NODES:
                raise self._refuse("too-many-nodes", f"more than {MAX_NODES:,} values in one file", event)
            if event.anchor is not None:
                raise self._refuse("alias", "anchors and aliases are not used here", event, "write the value out")
            if event.tag is not None and event.tag != "!":
                raise self._refuse("tag", f"the tag '{event.tag}' is refused", event, "write plain YAML")
            if not stack:
                root = node
            elif isinstance(parent := stack[-1], Sequence):
                parent.items.append(node)
            elif (key := pending[-1]) is None:
                pending[-1] = self._key(node, parent, event)
            else:
                pending[-1] = None
                if key.text not in parent.items:
                    parent.keys[key.text] = key
                    parent.items[key.text] = node
            if inside is not None:
                if len(stack) >= MAX_DEPTH:
                    raise self._refuse("too-deep", f"nested deeper than {MAX_DEPTH} levels", event)
                stack.append(inside)
                pending.append(None)
        return root

    def _key(self, node: Node, parent: Mapping, event: Event) -> Scalar:
        if not isinstance(node, Scalar):
            raise self._refuse("key-not-text", "a key must be a word", event)
        if node.text in parent.items:
            first = parent.keys[node.text]
            self._problems.append(
                Problem(
                    "duplicate-key",
                    f"'{node.text}' stands twice in one mapping; the first is on line {first.line}",
                    node.location,
                    "remove one of them",
                    self._document.line(node.line),
                )
            )
        return node

    def _scalar(self, event: ScalarEvent) -> Scalar:
        text = event.value
        if len(text) > MAX_SCALAR:
            raise self._refuse("too-long", f"a value of {len(text):,} characters; the limit is {MAX_SCALAR:,}", event)
        line, column = _start(event)
        end = event.end_mark
        end_column = end.column + 1 if end is not None and end.line + 1 == line else 0
        text = intern(text)  # the same few thousand words stand in tens of thousands of places
        value = text if event.style else plain_value(text)
        return Scalar(value, text, self._document, line, column, end_column)


def plain_value(text: str) -> Value:
    """Read an unquoted scalar by the YAML 1.2 core schema; what is neither number, flag nor null is text."""
    if text[:1] not in _NUMERIC:
        return _WORDS.get(text, text)
    if _INT.match(text):
        return int(text) if len(text) <= _MAX_DIGITS else text
    if _FLOAT.match(text):
        number = float(text)
        return number if abs(number) != float("inf") else text
    if _OCTAL.match(text) and len(text) <= _MAX_DIGITS:
        return int(text[2:], 8)
    if _HEX.match(text) and len(text) <= _MAX_DIGITS:
        return int(text[2:], 16)
    return text


def plain_data(node: Node) -> object:
    """Turn a node into plain dicts, lists and values, for readers that need no places."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain_data(item) for item in node.items]
    return {key: plain_data(item) for key, item in node.items.items()}
