"""Reads vocabulary.yaml, questions.yaml and values.yaml."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from whygpu.answers import LISTS
from whygpu.errors import did_you_mean
from whygpu.knowledge.questions import Assumption, DerivedValue, Heard, Misnamed, Question, Said, Unasked, Work
from whygpu.knowledge.rules import expression_of
from whygpu.language.names import Kind, NameSpec
from whygpu.language.tree import Constant, names
from whygpu.loader.facts import fits
from whygpu.yamldoc.document import Mapping, Node, Scalar
from whygpu.yamldoc.fields import Fields, kind_of, problem
from whygpu.yamldoc.forms import (
    CONDITIONS,
    EXPRESSION,
    FLAG,
    IDENTIFIER,
    NUMBER,
    TEMPLATE,
    TEXT,
    TEXTS,
    WORD,
    between,
    list_of,
    names_to,
    needed,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.errors import Problem
    from whygpu.language.tree import Expression
    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.forms import Form

ENTITIES = (
    "workload",
    "model",
    "need",
    "gpu",
    "plan",
    "field",
    "life",
    "measured",
    "start",
    "sizing",
    "owned",
    "chosen",
)
_NAME = rf"({'|'.join(ENTITIES)})\.[a-z][a-z0-9_]*"
NAMES = f"^{_NAME}$"
"""What names look like, as JSON Schema has it."""
KINDS: tuple[Kind, ...] = get_args(Kind)
AGGREGATES = ("min", "max", "count")
NAME: Form = MappingProxyType(
    {
        "type": needed(one_of(KINDS)),
        "values_from": WORD,
        "values": names_to(TEXT.value),
        "meaning": needed(TEXT),
        "unit": TEXT,
        "answer": TEXT,
        "also": names_to(WORD.value),
        "minimum": NUMBER,
        "maximum": NUMBER,
        "integer": FLAG,
        "unanswered": WORD,
        "otherwise": WORD,
    }
)
ASSUMPTION: Form = MappingProxyType({"when": CONDITIONS, "assume": needed(EXPRESSION), "because": needed(TEMPLATE)})
QUESTION: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "topic": needed(TEXT),
        "ask": needed(TEXT),
        "help": TEXT,
        "when": CONDITIONS,
        "unknown": list_of(ASSUMPTION),
        "decides": between(0, 1, whole=False),
        "source": TEXTS,
    }
)
UNASKED: Form = MappingProxyType({"id": needed(IDENTIFIER), "when": needed(CONDITIONS)})
MISNAMED: Form = MappingProxyType({"words": needed(TEXTS), "answer": needed(TEXTS), "note": TEXT})
SAID: Form = MappingProxyType(
    {
        **dict.fromkeys(("words", "after", "phases", "tasks", "deployments"), TEXTS),
        "answer": needed(TEXT),
        "is": TEXT,
        "loose": FLAG,
        "each": FLAG,
    }
)
HEARD: Form = MappingProxyType({"words": needed(TEXTS), **dict.fromkeys(("phase", "usually", "task", "note"), TEXT)})
WORK: Form = MappingProxyType(dict.fromkeys(("id", "title", "says", "phase", "task"), needed(TEXT)))
VALUE: Form = MappingProxyType(dict.fromkeys(("is", *AGGREGATES, "where"), EXPRESSION))


def read_names(
    nodes: list[Node], value_lists: dict[str, dict[str, str]], problems: list[Problem]
) -> dict[str, NameSpec]:
    """The vocabulary by name. ``value_lists``: named lists of choices that a catalogue supplies ('formats')."""
    found: dict[str, NameSpec] = {}
    for node in nodes:
        names = Fields.of(node, "names", problems)
        for name in names.keys() if names else ():
            inner = names.get(name) if names else None
            fields = Fields.of(inner, f"name '{name}'", problems, NAME) if inner is not None else None
            if fields is None:
                continue
            if not re.fullmatch(_NAME, name):
                problem(
                    problems,
                    fields.node,
                    "bad-name",
                    f"'{name}' is not a name",
                    f"write entity.attribute; entities: {', '.join(ENTITIES)}",
                )
                continue
            if name in found:
                problem(problems, fields.node, "duplicate-id", f"'{name}' is defined twice", "remove one")
                continue
            spec = _read_name(name, fields, value_lists)
            if spec is not None:
                found[name] = spec
    return found


def _read_name(name: str, fields: Fields, value_lists: dict[str, dict[str, str]]) -> NameSpec | None:
    kind = fields.choice("type")
    values: dict[str, str] = dict(_values(fields))
    listed = fields.choice("values_from", value_lists)
    if listed is not None:
        values |= value_lists[listed]
    spec = NameSpec(
        name=name,
        kind=next((known for known in KINDS if known == kind), "text"),
        meaning=fields.text("meaning") or "",
        location=fields.node.location,
        unit=fields.text("unit"),
        values=MappingProxyType(values),
        answer=fields.text("answer"),
        also=MappingProxyType(dict(_also(fields, values))),
        minimum=fields.number("minimum"),
        maximum=fields.number("maximum"),
        integer=fields.flag("integer"),
        unanswered=fields.choice("unanswered", values),
    )
    otherwise = fields.get("otherwise")
    fields.done()
    if kind is None:
        return None
    if kind == "choice" and not values:
        problem(
            fields.problems,
            fields.node,
            "no-values",
            f"{fields.what} is a choice without values",
            "add values: {word: meaning}",
        )
    if otherwise is not None:
        value = otherwise.value if isinstance(otherwise, Scalar) else None
        value = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if value is None or not fits(spec, value):
            problem(fields.problems, otherwise, "wrong-type", f"'otherwise' of {fields.what} must be a {spec.kind}")
        else:
            return replace(spec, otherwise=value)
    return spec


def _also(fields: Fields, values: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Other words for values; a flag is one where it is written as such."""
    node = fields.get("also")
    inner = Fields.of(node, f"also of {fields.what}", fields.problems) if node is not None else None
    for key in inner.keys() if inner else ():
        value = inner.choice(key, values, required=True) if inner else None
        if value is not None:
            yield key.lower(), value


def _values(fields: Fields) -> Iterator[tuple[str, str]]:
    node = fields.get("values")
    inner = Fields.of(node, f"values of {fields.what}", fields.problems) if node is not None else None
    for key in inner.keys() if inner else ():
        text = inner.text(key, required=True) if inner else None
        if text is not None:
            yield key, text


def read_questions(nodes: list[Node], reading: Reading) -> list[Question]:
    """The questions, in the order of the file."""
    found: dict[str, Question] = {}
    by_answer = {spec.answer: spec for spec in reading.vocabulary.values() if spec.answer}
    for node in nodes:
        fields = Fields.of(node, "question", reading.problems, QUESTION)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"question '{identifier}'"
        if identifier in found:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is asked twice", "rename or remove one")
        spec = by_answer.get(identifier)
        when = expression_of(reading.all_of(fields.get("when"), fields.what))
        found[identifier] = Question(
            id=identifier,
            name=spec.name if spec is not None else "",
            topic=fields.text("topic") or "",
            ask=fields.text("ask") or "",
            help=fields.text("help"),
            when=when,
            assumptions=tuple(_assumptions(fields, spec, reading)),
            sources=reading.cited(fields),
            location=node.location,
            decides=_share(fields, "decides"),
        )
        fields.done()
    return list(found.values())


def _share(fields: Fields, key: str) -> float | None:
    """A number between 0 and 1."""
    found = fields.number(key)
    if found is not None and not 0 <= found <= 1:
        message = f"'{key}' of {fields.what} is {found:g}, which is no share of users"
        problem(fields.problems, fields.node.items[key], "out-of-range", message, "write a number from 0 to 1")
        return None
    return found


def read_unasked(nodes: list[Node], asked: set[str], reading: Reading) -> list[Unasked]:
    """When the answers apply that nobody is asked for."""
    found: dict[str, Unasked] = {}
    names = _by_answer(reading)
    for node in nodes:
        fields = Fields.of(node, "unasked answer", reading.problems, UNASKED)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            continue
        fields.what = f"unasked answer '{identifier}'"
        if identifier in found or identifier in asked:
            problem(reading.problems, node, "duplicate-id", f"{fields.what} is there twice", "remove one")
        if identifier not in names:
            _no_answer(identifier, names, node, reading)
            continue
        when = expression_of(reading.all_of(fields.get("when"), fields.what))
        found[identifier] = Unasked(identifier, names[identifier].name, when, node.location)
        fields.done()
    return list(found.values())


def read_misnamed(nodes: list[Node], reading: Reading) -> dict[str, Misnamed]:
    """What people write where no answer is called so, by the word."""
    found: dict[str, Misnamed] = {}
    known = {*LISTS, "model", "owned", *_by_answer(reading)}
    for node in nodes:
        fields = Fields.of(node, "misnamed answer", reading.problems, MISNAMED)
        if fields is None:
            continue
        words, answers = fields.texts("words"), fields.texts("answer")
        fields.what = f"misnamed answer '{next(iter(words), '')}'"
        for answer in answers:
            if answer not in known:
                _no_answer(answer, known, node, reading)
        for word in words:
            if word in known or word in found:
                what = "an answer" if word in known else "there twice"
                problem(reading.problems, node, "duplicate-id", f"'{word}' of {fields.what} is {what}", "remove it")
        found |= dict.fromkeys(words, Misnamed(words, answers, fields.text("note"), node.location))
        fields.done()
    return found


def read_said(nodes: list[Node], reading: Reading) -> tuple[Said, ...]:
    """How answers are said in a sentence, in the order of the file."""
    found = []
    known = _by_answer(reading)
    for node in nodes:
        fields = Fields.of(node, "saying", reading.problems, SAID)
        if fields is None:
            continue
        said = Said(
            words=fields.texts("words"),
            after=fields.texts("after"),
            answer=fields.text("answer") or "",
            value=fields.text("is"),
            phases=fields.texts("phases"),
            tasks=fields.texts("tasks"),
            deployments=fields.texts("deployments"),
            loose=fields.flag("loose"),
            each=fields.flag("each"),
            location=node.location,
        )
        fields.what = f"saying '{next(iter(said.words or said.after), '')}'"
        spec = known.get(said.answer)
        if spec is None:
            _no_answer(said.answer, known, node, reading)
        elif (said.value is not None and said.value not in spec.words) or (spec.words and said.value is None):
            near = f"'is' is one of {', '.join(spec.words)}" if spec.words else "a number is read before the words"
            problem(reading.problems, node, "wrong-type", f"'is' of {fields.what} does not go with its answer", near)
        if not said.words and not said.after:
            problem(reading.problems, node, "missing", f"{fields.what} has no words", "add words or after")
        for answer, values in (("phase", said.phases), ("task", said.tasks), ("deployment", said.deployments)):
            for value in values:
                _chosen(answer, value, known, node, reading)
        found.append(said)
        fields.done()
    return tuple(found)


def read_heard(nodes: list[Node], reading: Reading) -> tuple[Heard, ...]:
    """What words in a sentence tell of the work."""
    found = []
    known = _by_answer(reading)
    for node in nodes:
        fields = Fields.of(node, "hearing", reading.problems, HEARD)
        if fields is None:
            continue
        heard = Heard(
            words=fields.texts("words"),
            phase=fields.text("phase"),
            usually=fields.text("usually"),
            task=fields.text("task"),
            note=fields.text("note"),
            location=node.location,
        )
        for answer, value in (("phase", heard.phase), ("phase", heard.usually), ("task", heard.task)):
            if value is not None:
                _chosen(answer, value, known, node, reading)
        if heard.phase is not None and heard.usually is not None:
            message = f"'{next(iter(heard.words), '')}' tells a phase both outright and usually"
            problem(reading.problems, node, "wrong-type", message, "keep one of 'phase' and 'usually'")
        found.append(heard)
        fields.done()
    return tuple(found)


def read_works(nodes: list[Node], reading: Reading) -> tuple[Work, ...]:
    """Usual work, in the order of the file."""
    found: list[Work] = []
    known = _by_answer(reading)
    for node in nodes:
        fields = Fields.of(node, "work", reading.problems, WORK)
        if fields is None:
            continue
        work = Work(
            id=fields.text("id") or "",
            title=fields.text("title") or "",
            says=fields.text("says") or "",
            phase=fields.text("phase") or "",
            task=fields.text("task") or "",
            location=node.location,
        )
        for answer, value in (("phase", work.phase), ("task", work.task)):
            _chosen(answer, value, known, node, reading)
        if any(work.id == other.id for other in found):
            problem(reading.problems, node, "duplicate-id", f"work '{work.id}' is there twice", "remove one")
        found.append(work)
        fields.done()
    return tuple(found)


def _by_answer(reading: Reading) -> dict[str, NameSpec]:
    """Names of the vocabulary by the answers that they come from."""
    return {spec.answer: spec for spec in reading.vocabulary.values() if spec.answer}


def _no_answer(answer: str, known: Iterable[str], node: Node, reading: Reading) -> None:
    """Note that there is no such answer."""
    near = did_you_mean(answer, known) or "only answers of the vocabulary can be given"
    problem(reading.problems, node, "unknown-name", f"there is no answer '{answer}'", near)


def _chosen(answer: str, value: str, known: dict[str, NameSpec], node: Node, reading: Reading) -> None:
    """Note the problem where an answer has no such choice."""
    words = known[answer].words if answer in known else ()
    if value not in words:
        near = did_you_mean(value, words) or ", ".join(words)
        problem(reading.problems, node, "unknown-name", f"there is no {answer} '{value}'", near)


def _assumptions(fields: Fields, spec: NameSpec | None, reading: Reading) -> Iterator[Assumption]:
    for item in fields.mappings("unknown", f"'unknown' of {fields.what}"):
        when = expression_of(reading.all_of(item.get("when"), fields.what))
        node = item.get("assume")
        because = reading.template(item.get("because"), f"'because' of {fields.what}")
        item.done()
        if spec is None:
            problem(
                reading.problems,
                item.node,
                "no-name",
                f"{fields.what} assumes a value, but no name has 'answer: {fields.node.items['id'].text}'",  # type: ignore[union-attr]
                "add 'answer:' to a name in vocabulary.yaml",
            )
            continue
        if node is not None and not isinstance(node, Scalar):
            message = f"'assume' of {fields.what} must be a value or an expression, not {kind_of(node)}"
            problem(reading.problems, node, "wrong-type", message)
        if not isinstance(node, Scalar) or because is None:
            continue
        if (node.value is not None and not isinstance(node.value, str)) or node.text in spec.values:
            value = reading.value_of(node, spec, f"'assume' of {fields.what}")
            expression: Expression | None = None if value is None else Constant(value)
        elif spec.kind == "text":
            expression = Constant(node.text)
        else:
            expression = reading.expression(node, yields(spec.kind))
        if expression is not None:
            yield Assumption(when, expression, because)


def yields(kind: Kind) -> Literal["number", "flag", "word"]:
    """What an expression has to yield to be the value of a name of this kind."""
    match kind:
        case "number" | "flag":
            return kind
        case "choice" | "text":
            return "word"


def read_values(nodes: list[Node], reading: Reading) -> dict[str, DerivedValue]:
    """The derived values by name."""
    found: dict[str, DerivedValue] = {}
    for node in nodes:
        fields = Fields.of(node, "values", reading.problems)
        for name in fields.keys() if fields else ():
            inner = fields.get(name) if fields else None
            spec = reading.vocabulary.get(name)
            if inner is None or fields is None:
                continue
            if spec is None:
                problem(
                    reading.problems,
                    fields.node.keys[name],
                    "unknown-name",
                    f"'{name}' is not in the vocabulary",
                    "add it to vocabulary.yaml",
                )
                continue
            if name in found:
                problem(reading.problems, inner, "duplicate-id", f"'{name}' is computed twice", "remove one")
                continue
            value = _read_value(name, spec, inner, reading)
            if value is not None:
                found[name] = value
    return found


def _read_value(name: str, spec: NameSpec, node: Node, reading: Reading) -> DerivedValue | None:
    aggregate: str | None = None
    where: Expression | None = None
    text = ""
    if isinstance(node, Mapping):
        fields = Fields(node, f"value '{name}'", reading.problems, VALUE)
        aggregate = next((word for word in AGGREGATES if word in fields), None)
        inner = fields.get(aggregate, required=True) if aggregate else fields.get("is", required=True)
        condition = fields.get("where") if aggregate else None
        fields.done()
        if isinstance(condition, Scalar):
            where = reading.expression(condition, "flag")
            text = f", where {' '.join(condition.text.split())}"
        elif condition is not None:
            problem(reading.problems, condition, "wrong-type", f"'where' of value '{name}' must be an expression")
        if inner is None:
            return None
        node = inner
    if not isinstance(node, Scalar):
        problem(reading.problems, node, "wrong-type", f"value '{name}' must be an expression")
        return None
    expression = reading.expression(node, "flag" if aggregate == "count" else yields(spec.kind))
    if expression is None:
        return None
    if (spec.scope == "field") != (aggregate is not None):
        problem(
            reading.problems,
            node,
            "wrong-scope",
            f"'{name}': field names, and only they, are aggregates over plans",
            "write {min: ...}, {max: ...} or {count: ...}",
        )
        return None
    used = {reading.vocabulary[inner.name].scope for inner in names(expression)}
    if spec.scope == "session" and used & {"plan", "field"}:
        problem(
            reading.problems,
            node,
            "wrong-scope",
            f"'{name}' is computed once per consultation and cannot use names of plans",
            "give it a name under plan. instead",
        )
        return None
    return DerivedValue(name, expression, " ".join(node.text.split()) + text, aggregate, node.location, where)
