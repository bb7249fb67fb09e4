"""Reads ``kb/tables``: each row of a table becomes an ordinary rule, ``table/row``.

The hit policy says what holds where several rows match. ``unique``: it does not happen (rows that overlap and differ
are a problem here). ``first``: the topmost row counts, so each row makes an exception of those above it. ``any``: rows
may overlap where they agree. ``collect``: all of them count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.rules import AllOf, AnyOf, Condition, Rule, RuleTest, Table, TableRow
from whygpu.loader.cells import Cell, is_any, read_cell
from whygpu.loader.effects import EFFECTS, EffectReader, Placed
from whygpu.loader.inline_tests import GIVEN, NAMED, TEST, read_effects, read_given, read_tests
from whygpu.loader.rules import NO_TEXT, Assembly, read_helps
from whygpu.yamldoc.document import Mapping as MappingNode
from whygpu.yamldoc.document import Node, Scalar, Sequence
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import (
    CONDITIONS,
    IDENTIFIER,
    TEMPLATE,
    TEXT,
    TEXTS,
    Kind,
    Schema,
    list_of,
    names_to,
    needed,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.errors import Location
    from whygpu.knowledge.rules import Effect, Template
    from whygpu.language.domains import Domain
    from whygpu.language.names import NameSpec
    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.forms import Form

HITS = ("unique", "first", "any", "collect")
MAX_ROWS = 200
MAX_COLUMNS = 12
_SOME: Schema = {"type": ["string", "number", "boolean", "array", "object"]}
CELLS = Kind("cells", schema=_SOME)
"""One for each column; where there is one column, the cell itself will do."""
ROW: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "title": TEXT,
        "if": needed(CELLS),
        "then": needed(CELLS),
        "because": TEMPLATE,
        "source": TEXTS,
        "overrides": TEXTS,
        "helps": TEXTS,
        "tests": list_of(TEST),
    }
)
_ROWS: Schema = {"anyOf": [*TEXTS.value["anyOf"], names_to(NAMED.value).value]}
TABLE_TEST: Form = MappingProxyType({"given": GIVEN, "expect": needed(Kind("rows", schema=_ROWS))})
TABLE: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "title": needed(TEXT),
        "hit": one_of(HITS),
        "when": CONDITIONS,
        "unless": CONDITIONS,
        "because": TEMPLATE,
        "columns": needed(TEXTS),
        "then": needed(TEXTS),
        "rows": needed(list_of(ROW)),
        "tests": list_of(TABLE_TEST),
    }
)


def read_tables(
    nodes: Iterable[tuple[str, Node]], options: Mapping[str, frozenset[str]], reading: Reading
) -> tuple[list[Table], list[Rule]]:
    """The tables of every file, given as (topic, node), and the rules that their rows are."""
    tables: dict[str, Table] = {}
    rules: list[Rule] = []
    for topic, node in nodes:
        found = _TableReader(topic, options, reading).read(node)
        if found is None:
            continue
        table, rows = found
        if table.id in tables:
            problem(
                reading.problems,
                node,
                "duplicate-id",
                f"table '{table.id}' is defined twice; first at {tables[table.id].location}",
                "rename or remove one",
            )
            continue
        tables[table.id] = table
        rules += rows
    return list(tables.values()), rules


class _TableReader:
    def __init__(self, topic: str, options: Mapping[str, frozenset[str]], reading: Reading) -> None:
        self._topic, self._options, self._reading = topic, options, reading
        self._problems = reading.problems
        self._id = ""
        self._columns: list[NameSpec] = []
        self._outputs: list[Scalar] = []

    def read(self, node: Node) -> tuple[Table, list[Rule]] | None:
        before = len(self._problems)
        fields = Fields.of(node, "table", self._problems, TABLE)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            return None
        self._id = identifier
        fields.what = f"table '{identifier}'"
        title = fields.text("title") or identifier
        hit = fields.choice("hit") or "unique"
        when = self._reading.all_of(fields.get("when"), fields.what)
        unless = AnyOf(self._reading.conditions(fields.get("unless"), fields.what))
        because = self._reading.template(fields.get("because"), f"'because' of {fields.what}")
        self._columns = list(self._read_columns(fields))
        self._outputs = list(self._read_outputs(fields))
        items = list(fields.mappings("rows", f"a row of {fields.what}"))
        if len(items) > MAX_ROWS:
            self._add(fields.node, "too-many", f"{fields.what} has {len(items)} rows; the limit is {MAX_ROWS}")
            return None
        if len(self._problems) > before:
            fields.get("tests")
            fields.done()
            return None
        rows = [row for row in (self._read_row(item, because is None) for item in items) if row is not None]
        self._check_ids(rows)
        tests = list(self._read_tests(fields, rows))
        fields.done()
        if len(self._problems) > before:
            return None
        self._check_overlaps(rows, hit)
        found = tuple(self._rules(rows, hit, title, when, unless, because, tests))
        if len(self._problems) > before:
            return None
        columns = tuple(spec.name for spec in self._columns)
        shown = tuple(TableRow(row.id, self._rule_id(row), row.domains, row.effects, row.node.location) for row in rows)
        return Table(identifier, title, self._topic, hit, columns, shown, fields.node.location), list(found)

    def _rule_id(self, row: _Row) -> str:
        return f"{self._id}/{row.id}"

    def _add(self, node: Node, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._problems, node, code, message, help_text)

    def _read_columns(self, fields: Fields) -> Iterator[NameSpec]:
        nodes = fields.text_nodes("columns")
        if len(nodes) > MAX_COLUMNS:
            self._add(nodes[MAX_COLUMNS], "too-many", f"{fields.what} has more than {MAX_COLUMNS} columns")
        for number, node in enumerate(nodes):
            spec = self._reading.vocabulary.get(node.text)
            if spec is None:
                near = did_you_mean(node.text, self._reading.vocabulary) or "names are listed in vocabulary.yaml"
                self._add(node, "unknown-name", f"{fields.what}: there is no name '{node.text}'", near)
            elif any(other.text == node.text for other in nodes[:number]):
                self._add(node, "duplicate-key", f"{fields.what} has the column '{node.text}' twice", "remove one")
            else:
                yield spec

    def _read_outputs(self, fields: Fields) -> Iterator[Scalar]:
        reader = EffectReader(fields.what, self._options, self._reading)
        for node in fields.text_nodes("then"):
            word, _, name = node.text.partition(" ")
            if word == "conclude" and name.strip():
                if reader.concludable(name.strip(), node):
                    yield node
            elif word in EFFECTS and word != "conclude" and not name:
                yield node
            else:
                near = None if word == "conclude" else did_you_mean(word, EFFECTS)
                self._add(
                    node,
                    "bad-effect",
                    f"{fields.what}: '{node.text}' is not an effect",
                    near or f"one of {', '.join(EFFECTS)}; 'conclude' with a name: 'conclude workload.size_class'",
                )

    def _read_row(self, fields: Fields, needs_because: bool) -> _Row | None:
        before = len(self._problems)
        identifier = fields.identifier()
        if identifier is None:
            return None
        fields.what = f"row '{identifier}' of table '{self._id}'"
        title = fields.text("title") or identifier
        cells = [
            read_cell(node, spec, f"{fields.what}, column {spec.name}", self._problems)
            for node, spec in zip(self._cells(fields, "if", len(self._columns)), self._columns, strict=False)
        ]
        outcomes = self._cells(fields, "then", len(self._outputs))
        placed = tuple(self._outcomes(outcomes, fields.what))
        because = self._reading.template(
            fields.get("because", required=needs_because and bool(placed)), f"'because' of {fields.what}"
        )
        sources = self._reading.cited(fields, required=bool(placed))
        overrides = fields.texts("overrides")
        helps = read_helps(fields, self._reading)
        tests = tuple(read_tests(fields, self._reading))
        fields.done()
        good = [cell for cell in cells if cell is not None]
        if len(self._problems) > before:
            return None
        return _Row(identifier, title, tuple(good), placed, because, sources, overrides, helps, tests, fields.node)

    def _cells(self, fields: Fields, key: str, count: int) -> list[Node]:
        node = fields.get(key)
        if node is None:
            return []
        items = list(node.items) if isinstance(node, Sequence) and (count != 1 or len(node.items) == 1) else [node]
        if len(items) != count:
            expected = ", ".join(
                [spec.name for spec in self._columns] if key == "if" else [item.text for item in self._outputs]
            )
            self._add(
                node,
                "wrong-count",
                f"'{key}' of {fields.what} has {len(items)} of {count} cells",
                f"one cell each for: {expected}; '-' leaves one open",
            )
            return []
        return items

    def _outcomes(self, cells: list[Node], what: str) -> Iterator[Placed]:
        reader = EffectReader(what, self._options, self._reading)
        for cell, output in zip(cells, self._outputs, strict=False):
            if is_any(cell):
                continue
            word, _, name = output.text.partition(" ")
            if word == "conclude":
                yield from reader.conclusion(name.strip(), cell)
            else:
                yield from reader.effect(word, cell, cell)

    def _check_ids(self, rows: list[_Row]) -> None:
        for number, row in enumerate(rows):
            if any(other.id == row.id for other in rows[:number]):
                self._add(
                    row.node,
                    "duplicate-id",
                    f"row '{row.id}' of table '{self._id}' is there twice",
                    "rename or remove one",
                )

    def _check_overlaps(self, rows: list[_Row], hit: str) -> None:
        if hit not in ("unique", "any"):
            return
        for first, second in combinations((row for row in rows if row.placed), 2):
            if first.effects != second.effects and first.meets(second):
                self._add(
                    second.node,
                    "table-overlap",
                    f"rows '{first.id}' and '{second.id}' of table '{self._id}' can both match, and differ",
                    f"narrow one, or choose 'hit: first' (the row on line {first.node.line} wins) or 'hit: collect'",
                )

    def _read_tests(self, fields: Fields, rows: list[_Row]) -> Iterator[_TableTest]:
        """The table's own tests, each of every row: which rows fire for the values given, and to what effect."""
        known = [row.id for row in rows]
        for item in fields.mappings("tests", f"a test of {fields.what}"):
            given = read_given(item, self._reading)
            node = item.get("expect")
            if isinstance(node, MappingNode):
                nodes, allowed = list(node.keys.values()), known
                effects = {row: read_effects(inner, item.what, self._reading) for row, inner in node.items.items()}
            else:
                nodes, allowed = item.text_nodes("expect"), [*known, "none"]
                effects = {}
            item.done()
            if isinstance(node, MappingNode | Sequence) and not node.items:
                self._add(node, "bad-choice", f"{item.what} names no row", f"one of {', '.join(allowed)}")
            wrong = [one for one in nodes if one.text not in allowed]
            for one in wrong:
                near = did_you_mean(one.text, known) or f"one of {', '.join(allowed)}"
                self._add(one, "bad-choice", f"{fields.what} has no row '{one.text}'", near)
            if nodes and not wrong:
                yield _TableTest({one.text: effects.get(one.text, ()) for one in nodes}, given, item.node.location)

    def _rules(
        self,
        rows: list[_Row],
        hit: str,
        title: str,
        when: AllOf,
        unless: AnyOf,
        because: Template | None,
        tests: list[_TableTest],
    ) -> Iterator[Rule]:
        for number, row in enumerate(rows):
            if not row.placed:
                continue
            above = [other for other in rows[:number] if hit == "first" and other.meets(row)]
            exceptions = AnyOf((*unless.parts, *(AllOf(other.conditions) for other in above)))
            rule = Assembly(self._reading, row.node, self._rule_id(row), self._topic).rule(
                f"{title}: {row.title}",
                AllOf((*when.parts, *row.conditions)),
                exceptions,
                row.placed,
                row.because or because or NO_TEXT,
                row.sources,
                row.overrides,
                (*row.tests, *(test.of(row.id) for test in tests)),
            )
            if rule is not None:
                yield replace(rule, helps=row.helps)


@dataclass(frozen=True, slots=True)
class _TableTest:
    """A table's own test: the rows that fire given the values, each with the effects that are named."""

    rows: Mapping[str, tuple[str, ...]]
    given: Mapping[str, float | bool | str]
    location: Location

    def of(self, row: str) -> RuleTest:
        """What it tests of one row."""
        if row in self.rows:
            return RuleTest(self.given, "fires", self.location, self.rows[row])
        return RuleTest(self.given, "silent", self.location)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as read."""

    id: str
    title: str
    cells: tuple[Cell, ...]
    placed: tuple[Placed, ...]
    because: Template | None
    sources: tuple[str, ...]
    overrides: tuple[str, ...]
    helps: tuple[Condition, ...]
    tests: tuple[RuleTest, ...]
    node: Node

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The values each column allows."""
        return tuple(cell.domain for cell in self.cells)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What must hold for the row to match."""
        return tuple(cell.condition for cell in self.cells if cell.condition is not None)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What comes of it."""
        return tuple(item.effect for item in self.placed)

    def meets(self, other: _Row) -> bool:
        """Whether both rows can match at once."""
        return not any(one.meet(two).empty for one, two in zip(self.domains, other.domains, strict=True))
