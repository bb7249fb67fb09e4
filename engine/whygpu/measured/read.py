"""Reads a measurement file (YAML or JSON): every problem at once, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, assert_never

from whygpu.answers import check, read_number
from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.knowledge.catalogue import fold
from whygpu.measured.contradictions import FigureNodes, contradictions
from whygpu.measured.measurement import POINT, PREFIX, SCALING, SETUP, VERSION, Measurement, Point, Scaling, Setup, Tool
from whygpu.yamldoc.document import Document, Mapping, Node, Scalar, parse
from whygpu.yamldoc.fields import Fields, kind_of, problem
from whygpu.yamldoc.forms import ANYTHING, DAY, NUMBER, TEXT, needed, record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.knowledge.base import Knowledge
    from whygpu.language.names import NameSpec
    from whygpu.yamldoc.forms import Form

MOST_ROWS = 2_000
MOST_TEXT = 500
TOOL: Form = MappingProxyType({"name": needed(TEXT), "version": ANYTHING})
FILE: Form = MappingProxyType(
    {
        "measurement": needed(NUMBER),
        "tool": record(TOOL),
        "date": DAY,
        "source": TEXT,
        "setup": ANYTHING,
        "figures": ANYTHING,
        "points": ANYTHING,
        "scaling": ANYTHING,
    }
)
_COUNTS = ("count", "nodes")


def is_measurement(node: Node) -> bool:
    """Whether a document means to be a measurement file."""
    return isinstance(node, Mapping) and "measurement" in node.items


def read_measurement(text: str, name: str, knowledge: Knowledge) -> Measurement:
    """Read the text of a measurement file; raises AnswerError with every problem."""
    problems: list[Problem] = []
    node = parse(text, name, problems)
    if problems or node is None:
        raise AnswerError(problems or [Problem("empty", "there is no measurement in it", Location(name))])
    return measurement_of(node, name, knowledge)


def measurement_of(node: Node, name: str, knowledge: Knowledge) -> Measurement:
    """Read a measurement from its node; raises AnswerError with every problem."""
    problems: list[Problem] = []
    found = _Reader(knowledge, problems).read(node, name)
    if found is not None:
        problems += contradictions(found.measurement, found.nodes, knowledge)
    if found is None or any(item.severity == "error" for item in problems):
        raise AnswerError([item for item in problems if item.severity == "error"])
    return replace(found.measurement, questions=tuple(problems))


def figure_names(knowledge: Knowledge) -> dict[str, NameSpec]:
    """The figures that can be measured, by their names in a file: those that nothing computes or concludes."""
    known = {*knowledge.values, *knowledge.concluded}
    return {
        name.removeprefix(PREFIX): spec
        for name, spec in knowledge.vocabulary.items()
        if spec.entity == "measured" and name not in known
    }


def figure_hint(key: str, known: Iterable[str], knowledge: Knowledge) -> str | None:
    """What to give in the place of a figure that there is not: what it is computed from, or one of a like name."""
    measure = knowledge.measures.get(PREFIX + key)
    return did_you_mean(key, known) if measure is None else f"it follows from others: {measure.take}"


@dataclass(frozen=True, slots=True)
class Read:
    """A measurement and where each of its parts stands."""

    measurement: Measurement
    nodes: FigureNodes


class _Reader:
    def __init__(self, knowledge: Knowledge, problems: list[Problem]) -> None:
        self._knowledge, self._problems = knowledge, problems
        self._specs = figure_names(knowledge)

    def read(self, node: Node, name: str) -> Read | None:
        fields = Fields.of(node, "a measurement", self._problems, FILE)
        if fields is None or not self._is_this_version(fields):
            return None
        tool = fields.inside("tool", "'tool'")
        setup = self._setup(fields.get("setup"), name)
        values, nodes = self._figures(fields.get("figures"))
        points = [(self._row(item, POINT, "a point"), item) for item in self._rows(fields, "points")]
        scaling = [(self._scaling(item), item) for item in self._rows(fields, "scaling")]
        found = Measurement(
            name=name,
            setup=setup,
            tool=None if tool is None else self._tool(tool),
            date=fields.date("date"),
            source=self._short(fields, "source"),
            figures=MappingProxyType(values),
            points=tuple(Point(**row) for row, _ in points),
            scaling=tuple(row for row, _ in scaling if row is not None),
            locations=MappingProxyType({key: item.location for key, item in nodes.items()}),
        )
        fields.done()
        places = FigureNodes(
            MappingProxyType(nodes),
            tuple(item for _, item in points),
            tuple(item for row, item in scaling if row is not None),
        )
        return Read(found, places)

    def _is_this_version(self, fields: Fields) -> bool:
        """Whether it is of the version that is read here; of another one nothing more is said than that."""
        node = fields.get("measurement")
        if isinstance(node, Scalar) and node.value == VERSION and not isinstance(node.value, bool):
            return True
        if node is not None:
            message = f"is a measurement of version {kind_of(node)}, and only version {VERSION} is read"
            self._add(node, "other-version", message, f"write 'measurement: {VERSION}'")
        return False

    def _add(self, node: Node, code: str, message: str, hint: str | None = None) -> None:
        problem(self._problems, node, code, message, hint)

    def _tool(self, fields: Fields) -> Tool:
        node = fields.get("version")
        version = node.text if isinstance(node, Scalar) and node.value is not None else None
        tool = Tool(self._short(fields, "name") or "", None if version is None else version[:MOST_TEXT])
        fields.done()
        return tool

    def _short(self, fields: Fields, key: str) -> str | None:
        text = fields.text(key)
        if text is not None and len(text) > MOST_TEXT:
            self._add(
                fields.node.items[key], "too-long", f"'{key}' of {fields.what} is longer than {MOST_TEXT} letters"
            )
        return text

    def _setup(self, node: Node | None, name: str) -> Setup:
        """The setup as answers; an unknown model is kept by its name and questioned."""
        if node is None:
            node = Mapping({}, {}, Document(name, ""), 0, 0)
        if not isinstance(node, Mapping):
            self._add(node, "wrong-type", f"'setup' must be a mapping of answers, not {kind_of(node)}")
            return self._setup(None, name)
        items = {key: item for key, item in node.items.items() if key not in SETUP}
        model = items.get("model")
        text = model.value if isinstance(model, Scalar) and isinstance(model.value, str) else None
        if model is not None and text is not None and fold(text) not in self._knowledge.catalogue.model_names:
            del items["model"]
            message = f"there is no preset model '{text[:80]}': nothing that depends on the model is said"
            hint = did_you_mean(text, self._knowledge.catalogue.models)
            self._problems.append(Problem("unknown-model", message, model.location, hint, severity="warning"))
        accelerator = self._accelerator(node.items.get("accelerator"))
        counts = {key: self._count(key, node.items.get(key)) for key in _COUNTS}
        try:
            answers = check(replace_items(node, items), self._knowledge)
        except AnswerError as error:
            self._problems.extend(error.problems)
            return self._setup(None, name)
        return Setup(answers, None if text is None else text[:MOST_TEXT], accelerator, counts["count"], counts["nodes"])

    def _accelerator(self, node: Node | None) -> str | None:
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return None
        if not isinstance(node, Scalar) or isinstance(node.value, bool):
            self._add(node, "wrong-type", f"'accelerator' must be one accelerator, not {kind_of(node)}")
            return None
        catalogue = self._knowledge.catalogue
        ids = catalogue.find_accelerators(node.text)
        if not ids:
            known = [name for card in catalogue.accelerators.values() for name in (card.id, card.name)]
            hint = did_you_mean(node.text, known) or "'whygpu catalogue accelerators' lists them"
            self._add(node, "unknown-accelerator", f"there is no accelerator '{node.text[:60]}'", hint)
        elif len(ids) > 1:
            message = f"'{node.text[:60]}' is more than one accelerator"
            self._add(node, "several-accelerators", message, f"one of: {', '.join(ids)}")
        return ids[0] if len(ids) == 1 else None

    def _count(self, key: str, node: Node | None) -> int | None:
        """A whole number; 'count' is an answer too, which says what is wrong with it."""
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1e5:
            return value
        if key == "nodes" and node is not None and not (isinstance(node, Scalar) and value is None):
            self._add(node, "wrong-type", f"'nodes' must be a whole number from 1 to 100,000, not {kind_of(node)}")
        return None

    def _figures(self, node: Node | None) -> tuple[dict[str, float | bool | str], dict[str, Node]]:
        if node is None:
            return {}, {}
        if not isinstance(node, Mapping):
            self._add(node, "wrong-type", f"'figures' must be a mapping of names to values, not {kind_of(node)}")
            return {}, {}
        values = self._row(node, self._specs, "a measurement")
        return values, {key: node.items[key] for key in values}

    def _rows(self, fields: Fields, key: str) -> list[Mapping]:
        rows = fields.items(key)
        if len(rows) > MOST_ROWS:
            self._add(rows[MOST_ROWS], "too-many", f"'{key}' has more than {MOST_ROWS:,} rows", "leave some out")
            return []
        found = [row for row in rows if isinstance(row, Mapping)]
        for row in rows:
            if not isinstance(row, Mapping):
                self._add(
                    row, "wrong-type", f"each of '{key}' must be a mapping of names to values, not {kind_of(row)}"
                )
        return found

    def _scaling(self, node: Mapping) -> Scaling | None:
        because = node.items.get("because")
        items = {key: item for key, item in node.items.items() if key != "because"}
        values = self._row(replace_items(node, items), SCALING, "a row of 'scaling'")
        text = because.text[:MOST_TEXT] if isinstance(because, Scalar) and isinstance(because.value, str) else None
        if because is not None and text is None:
            self._add(because, "wrong-type", f"'because' must be a text, not {kind_of(because)}")
        if "accelerators" not in values:
            if "accelerators" not in items:
                self._add(node, "missing-key", "a row of 'scaling' has no 'accelerators'", "add 'accelerators: ...'")
            return None
        return Scaling(**values, because=text)

    def _row(self, node: Mapping, known: Iterable[str], what: str) -> dict[str, Any]:
        """The figures of a mapping by name; what is unknown or out of its bounds is left out, with a problem."""
        found: dict[str, Any] = {}
        names = list(known)
        for key, item in node.items.items():
            if key not in names or key not in self._specs:
                hint = figure_hint(key, names, self._knowledge) or f"known: {', '.join(sorted(names)[:24])}"
                self._add(node.keys[key], "unknown-figure", f"{what} has no figure '{key[:60]}'", hint)
            elif not isinstance(item, Scalar):
                self._add(item, "wrong-type", f"'{key}' must be one value, not {kind_of(item)}")
            elif item.value is not None and (value := self._value(key, item)) is not None:
                found[key] = value
        return found

    def _value(self, key: str, node: Scalar) -> float | bool | str | None:
        spec = self._specs[key]
        match spec.kind:
            case "number":
                return read_number(key, node, spec, self._problems)
            case "flag":
                if isinstance(node.value, bool):
                    return node.value
            case "choice" | "text":
                if isinstance(node.value, str) and (spec.kind == "text" or node.text in spec.values):
                    return node.text[:MOST_TEXT]
            case _:
                assert_never(spec.kind)
        hint = did_you_mean(node.text, spec.values) or (f"one of {', '.join(spec.values)}" if spec.values else None)
        self._add(node, "wrong-type", f"'{key}' cannot be {kind_of(node)}", hint or f"it is a {spec.kind}")
        return None


def replace_items(node: Mapping, items: dict[str, Node]) -> Mapping:
    """The mapping with these items of it."""
    return replace(node, items=items, keys={key: node.keys[key] for key in items})
