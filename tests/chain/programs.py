"""Random programs: knowledge bases written as YAML and loaded by the real loader, with random facts to run them on.

A program has every type of name (choice, number, flag, text; session, plan and field), derived values, every operator
and effect, ``unless``, ``overrides``, conclusions with and without ``otherwise``, and is several strata deep. Facts are
drawn from the same few values as the constants of the rules, so that thresholds are hit exactly; some are unknown, some
numbers known lacks. Decision tables of every hit policy are among them.
"""

from __future__ import annotations

import enum
import json
import random
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from tests.chain.tables import Column, Table, draw_table
from whygpu.errors import KnowledgeBaseError
from whygpu.knowledge.rules import CRITERIA, STRENGTHS
from whygpu.language.names import Kind
from whygpu.language.types import Signature
from whygpu.loader.assemble import Registry, load_texts
from whygpu.yamldoc.document import parse, plain_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whygpu.knowledge.base import Knowledge


class Gap(enum.Enum):
    """What a fact can be instead of a value."""

    UNKNOWN = "unknown"
    LACK = "lack"


Cell = float | bool | str | Gap
Scope = Literal["session", "plan", "field"]

NUMBERS = (0.0, 1.0, 2.0, 3.0, 5.0, 24.0, 80.0, 0.5, -1.0, -7.25, 0.1, 0.3)
ODD_NUMBERS = (
    1e-05,
    1e16,
    8030261248.0,
    1e200,
    -1e200,
    1e-200,
    0.30000000000000004,
    1.0000000000000002,
    4294967296.0,
    5e-324,
)
WORDS = ("a100", "l4", "none", "auto")
ODD_WORDS = (
    "24",
    "true",
    "it's",
    'a "b" c',
    "back\\slash",
    "end\\",
    "größe",
    "日本語",
    "null",
    "x" * 180,
    "a: b # c",
    "{x}",
)
CHECKS = {
    "twice": Signature("twice", ("number",), "GiB", "two times a number"),
    "letters": Signature("letters", ("word",), None, "how many letters a word has"),
}
PLAN_COLUMNS: dict[str, Kind] = {
    "gpu.n0": "number",
    "gpu.n1": "number",
    "gpu.class": "choice",
    "gpu.f0": "flag",
    "gpu.t0": "text",
    "plan.n0": "number",
    "plan.n1": "number",
    "plan.c0": "choice",
    "plan.f0": "flag",
}
REGISTRY = Registry(CHECKS, PLAN_COLUMNS)
_PLAIN = re.compile(r"[a-z(][A-Za-z0-9_.()<>=+/* -]*[A-Za-z0-9)]\Z")


@dataclass(frozen=True, slots=True)
class Program:
    """A knowledge base and the facts to run it on; ``texts`` and ``seed`` reproduce it."""

    seed: int
    texts: Mapping[str, str]
    tables: Mapping[str, Table]
    knowledge: Knowledge
    session: Mapping[str, Cell]
    columns: Mapping[str, tuple[Cell, ...]]
    size: int
    refused: int = 0
    """How many draws the loader refused before this one."""


def program(seed: int) -> Program:
    """The program of a seed; draws that the loader refuses are drawn again and counted."""
    return next(programs(seed, 1))


def programs(seed: int, facts: int) -> Iterator[Program]:
    """The program of a seed, and the same knowledge base on other facts: writing and loading it is half of the time."""
    for attempt in range(20):
        draw = random.Random(f"{seed}.{attempt}")
        writer = _Writer(draw)
        texts = writer.write()
        try:
            knowledge = load_texts(texts, "generated", REGISTRY)
        except KnowledgeBaseError:
            continue
        for number in range(facts):
            session, columns, size = _facts(draw, writer)
            refused = 0 if number else attempt
            yield Program(seed, texts, writer.tables, knowledge, session, columns, size, refused)
        return
    raise RuntimeError(f"seed {seed}: the loader refused 20 draws")


def shuffled(given: Program, draw: random.Random) -> Program:
    """The same program with its rules, names and derived values in another order."""
    texts = dict(given.texts)
    for name, text in given.texts.items():
        node = parse(text, name, [])
        data = plain_data(node) if node is not None else {}
        if isinstance(data, dict):
            texts[name] = json.dumps({section: _mixed(inner, draw) for section, inner in data.items()})
    knowledge = load_texts(dict(draw.sample(list(texts.items()), len(texts))), "shuffled", REGISTRY)
    return replace(given, texts=texts, knowledge=knowledge)


def _mixed(value: object, draw: random.Random) -> object:
    if isinstance(value, list):
        return draw.sample(value, len(value))
    return dict(draw.sample(list(value.items()), len(value))) if isinstance(value, dict) else value


@dataclass(slots=True)
class _Name:
    name: str
    kind: Kind
    values: tuple[str, ...] = ()
    open: bool = False
    """Concluded without ``otherwise``: must not be negated."""


@dataclass(slots=True)
class _Pool:
    """Names that expressions may use at this point."""

    names: list[_Name] = field(default_factory=list)

    def of(self, kind: Callable[[_Name], bool], closed: bool) -> list[_Name]:
        return [name for name in self.names if kind(name) and not (closed and name.open)]


class _Writer:
    """Writes one knowledge base: names, then derived values and rules, level by level, so that nothing is circular."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._numbers = [*draw.sample(NUMBERS, 4), *draw.sample(ODD_NUMBERS, draw.choice((0, 0, 1, 2)))]
        self._words = [*WORDS[:3], *draw.sample(ODD_WORDS, draw.choice((0, 1, 2)))]
        self._vocabulary: dict[str, dict[str, object]] = {}
        self._values: dict[str, object] = {}
        self._rules: list[dict[str, object]] = []
        self._tables: list[dict[str, object]] = []
        self._overriders: list[dict[str, object]] = []
        """Rules and rows, each of which may yet override what comes after it."""
        self._pool = _Pool()
        self._session: list[_Name] = []
        self.tables: dict[str, Table] = {}
        self.answered: dict[str, _Name] = {}
        self.columns: dict[str, _Name] = {}

    @property
    def numbers(self) -> Sequence[float]:
        return self._numbers

    @property
    def words(self) -> Sequence[str]:
        return self._words

    def write(self) -> dict[str, str]:
        draw = self._draw
        kinds: tuple[Kind, ...] = (
            "number",
            "number",
            "choice",
            "flag",
            "text",
            *draw.choices(_KINDS, k=draw.randint(0, 2)),
        )
        for number, kind in enumerate(kinds):
            name = self._declare(f"workload.a{number}", kind, {"answer": f"a{number}"})
            self._pool.names.append(name)
            self.answered[name.name] = name
        self._declare("workload.method", "choice", {"answer": "method"}, ("full", "lora"))
        for level in range(draw.randint(1, 3)):
            self._derive("need", level, draw.randint(0, 2))
            self._level("session", level, draw.randint(1, 3))
        for name_text, kind in PLAN_COLUMNS.items():
            name = self._declare(name_text, kind, {})
            self._pool.names.append(name)
            self.columns[name_text] = name
        session = {name.name for name in self._pool.names if not name.name.startswith(("gpu", "plan"))}
        for level in range(draw.randint(1, 2)):
            self._derive("plan", level, draw.randint(0, 2))
            self._level("plan", level, draw.randint(0, 2))
        if draw.random() < 0.7:
            self._fields(session)
        for number in range(draw.randint(1, 4)):
            self._rule(f"soft{number}", "field", None)
        if draw.random() < 0.25:
            self._table("soft-table", "field", None)
        return self._texts()

    def _texts(self) -> dict[str, str]:
        claims = [{"id": "doc-1", "kind": "fact", "says": "so"}]
        half = len(self._rules) // 2
        tables = {"tables/all.yaml": _yaml({"tables": self._tables})} if self._tables else {}
        # two files as JSON, which is YAML, so that their order can be changed; two in the style that people write
        return {
            "sources.yaml": _yaml({"documents": {"doc": {"title": "A document"}}, "claims": claims}),
            "vocabulary.json.yaml": json.dumps({"names": self._vocabulary}, ensure_ascii=False),
            "values.json.yaml": json.dumps({"values": self._values}, ensure_ascii=False),
            "rules/one.json.yaml": json.dumps({"rules": self._rules[:half]}, ensure_ascii=False),
            "rules/two.yaml": _yaml({"rules": self._rules[half:]}),
            **tables,
        }

    # names

    def _declare(self, name: str, kind: Kind, more: dict[str, object], values: Sequence[str] = ()) -> _Name:
        spec: dict[str, object] = {"type": kind, "meaning": f"what {name} is", **more}
        if kind == "choice":
            values = values or self._words
            spec["values"] = dict.fromkeys(values, "a value")
        elif kind == "number" and self._draw.random() < 0.3:
            spec["unit"] = "GiB" if self._draw.random() < 0.97 else "ms"
        self._vocabulary[name] = spec
        return _Name(name, kind, tuple(values))

    def _derive(self, entity: str, level: int, count: int) -> None:
        for number in range(count):
            kind: Kind = self._draw.choice(("number", "number", "flag", "text"))
            text = {"number": self._number, "flag": self._condition}.get(kind, self._word_name)(2, False)
            name = self._declare(f"{entity}.v{level}{number}", kind, {})
            self._values[name.name] = text if self._draw.random() < 0.7 else {"is": text}
            self._pool.names.append(name)

    def _fields(self, session: set[str]) -> None:
        own = [name for name in self._pool.names if name.name not in session and not name.name.startswith("plan.v")]
        numbers = [name.name for name in own if name.kind == "number"]
        found: list[_Name] = []
        for number in range(self._draw.randint(1, 3)):
            what = self._draw.choice(("min", "max", "count"))
            name = self._declare(f"field.x{number}", "number", {})
            if what == "count":
                text = self._condition(1, False)
            else:
                text = self._draw.choice(numbers)
                if self._draw.random() < 0.4:
                    text = f"{text} {self._draw.choice('+-*/')} {self._constant()}"
            where = {"where": self._condition(1, False)} if self._draw.random() < 0.4 else {}
            self._values[name.name] = {what: text, **where}
            found.append(name)
        self._pool.names.extend(found)

    # rules

    def _level(self, scope: Scope, level: int, count: int) -> None:
        entity = "need" if scope == "session" else "plan"
        found: list[_Name] = []
        for number in range(self._draw.randint(1, 2)):
            kind = self._draw.choice(_KINDS)
            name = self._declare(f"{entity}.k{level}{number}", kind, {})
            if self._draw.random() < 0.5:
                self._vocabulary[name.name]["otherwise"] = self._plain(name)
            else:
                name.open = True
            for which in range(self._draw.randint(1, 3)):
                self._rule(f"{entity}-{level}-{number}-{which}", scope, name)
            if self._draw.random() < 0.15:
                self._table(f"{entity}-{level}-{number}-table", scope, name)
            found.append(name)
        for number in range(count):
            self._rule(f"{entity}-{level}-x{number}", scope, None)
        if self._draw.random() < 0.1:
            self._table(f"{entity}-{level}-table", scope, None)
        self._pool.names.extend(found)

    def _plain(self, name: _Name) -> float | bool | str:
        if name.kind == "number":
            return self._draw.choice(self._numbers)
        if name.kind == "flag":
            return self._draw.random() < 0.5
        return self._draw.choice(name.values or self._words)

    def _rule(self, identifier: str, scope: Scope, concludes: _Name | None) -> None:
        draw = self._draw
        when: list[object] = [self._tree(draw.choice((1, 1, 2))) for _ in range(draw.choice((1, 1, 1, 1, 2, 3)))]
        if draw.random() < 0.03:
            when = self._wide()
        field_names = [name for name in self._pool.names if name.name.startswith("field.")]
        if field_names and draw.random() < 0.5:
            when.append(self._about(draw.choice(field_names), 1, False))
        if scope != "session" and not self._speaks_of_plans(when):
            when.append(self._about_plans())
        rule: dict[str, object] = {
            "id": identifier,
            "title": f"Rule {identifier}",
            "when": when if draw.random() < 0.6 else {draw.choice(("all", "any", "any")): when},
            "because": "It is so.",
            "source": "doc-1",
        }
        if draw.random() < 0.25:
            rule["unless"] = [self._condition(1, True) for _ in range(draw.choice((1, 1, 2)))]
        rule["then"] = self._effects(scope, concludes)
        if scope == "session" and self._speaks_of_plans(rule.get("unless", [])):
            del rule["unless"]
        self._override(identifier)
        self._overriders.append(rule)
        self._rules.append(rule)

    def _override(self, identifier: str) -> None:
        """Let what came before override this, now and then."""
        if self._overriders and self._draw.random() < 0.25:
            targets = self._draw.choice(self._overriders).setdefault("overrides", [])
            assert isinstance(targets, list)
            targets.append(identifier)

    def _table(self, identifier: str, scope: Scope, concludes: _Name | None) -> None:
        """A decision table; what it asks is never open, since a row may be an exception of another."""
        draw = self._draw
        names = self._pool.of(lambda _: True, True)
        chosen = draw.sample(names, min(len(names), draw.choice((1, 2, 2, 3))))
        columns = [Column(name.name, name.kind, self._values_of(name)) for name in chosen]
        then = [f"conclude {concludes.name}"] if concludes else draw.choice(_TABLE_EFFECTS[scope])

        def effect(word: str) -> object:
            match word:
                case "require":
                    return self._condition(1, True)
                case "prefer" | "avoid":
                    return f"{draw.choice(CRITERIA)} {draw.choice(STRENGTHS)}"
                case "exclude":
                    return "plan"
                case "advise" | "warn":
                    return {"id": f"some-{word}", "text": "So."}
            return self._plain(concludes) if concludes else "-"

        data, table = draw_table(draw, identifier, columns, then, effect)
        if scope != "session" or draw.random() < 0.5:
            data["when"] = [self._about_plans() if scope != "session" else self._condition(1, False)]
        if draw.random() < 0.25:
            data["unless"] = [self._condition(1, True)]
            table = replace(table, exceptions=1)
        rows = data["rows"]
        assert isinstance(rows, list)
        firing = [row for row in rows if "source" in row]
        if firing:
            self._override(draw.choice((identifier, f"{identifier}/{draw.choice(firing)['id']}")))
        self._overriders += firing
        self._tables.append(data)
        self.tables[identifier] = table

    def _values_of(self, name: _Name) -> Sequence[float | bool | str]:
        if name.kind == "number":
            return self._numbers
        return (True, False) if name.kind == "flag" else name.values or self._words

    @staticmethod
    def _speaks_of_plans(part: object) -> bool:
        return re.search(r"\b(gpu|plan)\.", json.dumps(part)) is not None

    def _about_plans(self) -> str:
        name = self._draw.choice([name for name in self._pool.names if name.name in PLAN_COLUMNS])
        while not self._speaks_of_plans(text := self._about(name, 1, False)):
            pass
        return text

    def _effects(self, scope: Scope, concludes: _Name | None) -> list[object]:
        draw = self._draw
        found: list[object] = []
        if concludes is not None:
            found.append({"conclude": {concludes.name: self._plain(concludes)}})
            if draw.random() < 0.8:
                return found
        extra: list[object]
        match scope:
            case "session":
                extra = [
                    {"advise": "some-advice"},
                    {"warn": {"id": "some-warning", "text": f"See {{{next(iter(self.answered))}}}."}},
                    {"consider": {"method": ["lora"]}},
                ]
            case "plan" if concludes is None:
                extra = [
                    "exclude",
                    {"exclude": "plan"},
                    {"require": self._condition(1, True)},
                    {"require": self._condition(1, True)},
                ]
            case _:
                strength = draw.choice(STRENGTHS)
                extra = [
                    {"prefer": draw.choice(CRITERIA)},
                    {"avoid": f"{draw.choice(CRITERIA)} {strength}"},
                    {"prefer": {"criterion": draw.choice(CRITERIA), "strength": strength}},
                    {"advise": "plan-advice"},
                ]
        return [*found, draw.choice(extra)]

    def _wide(self) -> list[object]:
        """Many conditions, or more alternatives than are expanded."""
        draw = self._draw
        if draw.random() < 0.4:
            return [
                f"({self._condition(0, False)}) or ({self._condition(0, False)})" for _ in range(draw.randint(4, 7))
            ]
        numbers = self._pool.of(lambda item: item.kind == "number", False)
        first = draw.randint(100, 500)
        return [f"{draw.choice(numbers[:2]).name} != {first + number}" for number in range(draw.randint(14, 24))]

    # expressions

    def _tree(self, depth: int) -> object:
        if self._draw.random() < 0.15:
            word = self._draw.choice(("all", "any"))
            return {word: [self._tree(depth - 1) if depth > 1 else self._condition(1, False) for _ in range(2)]}
        return self._condition(depth, False)

    def _condition(self, depth: int, negative: bool) -> str:
        """A condition; ``negative``: it stands where a missing value could be mistaken for a no."""
        draw = self._draw
        if depth > 0 and draw.random() < 0.35:
            match draw.choice(("and", "or", "or", "not", "flags")):
                case "not":
                    return f"not ({self._condition(depth - 1, True)})"
                case "flags":
                    left, right = self._condition(0, negative), self._condition(0, negative)
                    return f"({left}) {draw.choice(('==', '!='))} ({right})"
                case word:
                    return f"({self._condition(depth - 1, negative)}) {word} ({self._condition(depth - 1, negative)})"
        if draw.random() < 0.02:
            return draw.choice(("true", "false"))
        names = self._pool.of(lambda _: True, negative)
        latest = max(draw.randrange(len(names)), draw.randrange(len(names)))  # so that rules build on one another
        return self._about(names[latest], depth, negative)

    def _about(self, name: _Name, depth: int, negative: bool) -> str:
        draw = self._draw
        if not name.open and draw.random() < 0.08:
            return f"{'not ' if draw.random() < 0.5 else ''}known({name.name})"
        match name.kind:
            case "number":
                return self._about_number(name, depth, negative)
            case "flag":
                other = draw.choice(self._pool.of(lambda item: item.kind == "flag", negative)).name
                closed = [] if name.open else [f"not {name.name}"]
                forms = [name.name, f"{name.name} == true", f"false != {name.name}", f"{name.name} == {other}", *closed]
                return draw.choice(forms)
        options = [json.dumps(word, ensure_ascii=False) for word in (name.values or self._words)]
        others = self._pool.of(lambda item: item.kind in ("choice", "text"), negative)
        some = ", ".join(draw.sample(options, min(len(options), draw.randint(1, 3))))
        forms = [
            f"{name.name} == {draw.choice(options)}",
            f"{name.name} != {draw.choice(options)}",
            f"{draw.choice(options)} == {name.name}",
            f"{name.name} in [{some}]",
            f"{name.name} {draw.choice(('==', '!='))} {draw.choice(others).name}",
        ]
        if not name.open:
            forms.append(f"{name.name} not in ({some},)")
        return draw.choice(forms)

    def _about_number(self, name: _Name, depth: int, negative: bool) -> str:
        draw = self._draw
        op = draw.choice(_OPERATORS)
        some = ", ".join(self._constant() for _ in range(draw.randint(1, 4)))
        forms = [
            f"{name.name} {op} {self._constant()}",
            f"{name.name} {op} {self._number(1, negative)}",
            f"{self._constant()} {op} {name.name}",
            f"{name.name} {op} {self._number(depth, negative)}",
            f"{self._number(depth, negative)} {op} {self._number(depth, negative)}",
            self._between(name, negative),
            f"{name.name} in [{some}]",
        ]
        if not name.open:
            forms.append(f"{name.name} not in [{some}]")
        return draw.choice(forms)

    def _between(self, name: _Name, negative: bool) -> str:
        low, less, less_too = self._constant(), self._draw.choice(("<", "<=")), self._draw.choice(("<", "<="))
        return f"{low} {less} {name.name} {less_too} {self._number(0, negative)}"

    def _constant(self) -> str:
        return repr(self._draw.choice(self._numbers))

    def _number(self, depth: int, negative: bool) -> str:
        draw = self._draw
        if depth <= 0 or draw.random() < 0.2:
            if draw.random() < 0.2:
                return self._constant()
            return draw.choice(self._pool.of(lambda item: item.kind == "number", negative)).name
        one, other = self._number(depth - 1, negative), self._number(depth - 1, negative)
        answered = [name for name in self.answered.values() if name.kind == "number"]
        words = [name for name in self.answered.values() if name.kind in ("choice", "text")]
        forms = [f"({one} {op} {other})" for op in "+-*/"]
        forms += [f"min({one}, {other})", f"max({one}, {other}, {self._constant()})", f"-{one}"]
        forms += [f"twice({draw.choice(answered).name})", f"letters({draw.choice(words).name})"]
        return draw.choice(forms)

    def _word_name(self, depth: int, negative: bool) -> str:
        return self._draw.choice(self._pool.of(lambda item: item.kind in ("choice", "text"), negative)).name


_TABLE_EFFECTS: Mapping[Scope, Sequence[list[str]]] = {
    "session": (["advise"], ["warn"], ["advise", "warn"]),
    "plan": (["exclude"], ["require"], ["exclude", "advise"]),
    "field": (["prefer"], ["avoid"], ["prefer", "avoid"]),
}
_KINDS: tuple[Kind, ...] = ("choice", "number", "flag", "text")
_OPERATORS = ("==", "!=", "<", "<=", "<=", ">", ">=", ">=")


def _facts(draw: random.Random, writer: _Writer) -> tuple[dict[str, Cell], dict[str, tuple[Cell, ...]], int]:
    """Facts for the program; half of the programs have no unknowns."""
    gaps = draw.choice((0.0, 0.0, 0.1, 0.3))
    session = {name: _cell(draw, spec, writer, gaps) for name, spec in writer.answered.items()}
    size = draw.choice((1, 2, 5, 9, 16))
    columns = {}
    for name, spec in writer.columns.items():
        if draw.random() < 0.15:
            columns[name] = (_cell(draw, spec, writer, gaps),) * size
        else:
            columns[name] = tuple(_cell(draw, spec, writer, gaps) for _ in range(size))
    return session, columns, size


def _cell(draw: random.Random, name: _Name, writer: _Writer, gaps: float) -> Cell:
    if draw.random() < gaps:
        return Gap.UNKNOWN
    if name.kind == "number":
        if draw.random() < 0.05:
            return Gap.LACK
        return draw.choice(writer.numbers)
    if name.kind == "flag":
        return draw.random() < 0.5
    return draw.choice(name.values or writer.words)


def _yaml(value: object, indent: str = "") -> str:
    """YAML in the block style that people write, with quotes only where they are needed."""
    if isinstance(value, dict) and value:
        return "".join(f"{indent}{_scalar(str(key))}:{_inner(item, indent)}" for key, item in value.items())
    if isinstance(value, list) and value:
        found = []
        for item in value:
            inner = _yaml(item, indent + "  ")
            found.append(f"{indent}- {inner.removeprefix(indent + '  ')}")
        return "".join(found)
    return f"{indent}{_scalar(value)}\n"


def _inner(value: object, indent: str) -> str:
    return f"\n{_yaml(value, indent + '  ')}" if isinstance(value, dict | list) and value else f" {_scalar(value)}\n"


def _scalar(value: object) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
