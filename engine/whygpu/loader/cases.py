"""Reads ``kb/cases``: worked cases, each with the answers given and what must come of them."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from whygpu.answers import check
from whygpu.errors import AnswerError, did_you_mean
from whygpu.explain.parts import Status
from whygpu.knowledge import cases as c
from whygpu.knowledge.rules import CRITERIA, Advise, Verdict, Warn
from whygpu.lifecycle.answers import check_lifecycle, is_lifecycle
from whygpu.loader.cells import read_cell
from whygpu.loader.conditions import Reading
from whygpu.loader.effects import EffectReader
from whygpu.loader.selectors import SelectorReader, one_card
from whygpu.loader.sources import listed
from whygpu.yamldoc.document import Mapping, Node, Scalar, Sequence
from whygpu.yamldoc.fields import Fields, kind_of, problem
from whygpu.yamldoc.forms import (
    DAY,
    EXPRESSION,
    IDENTIFIER,
    TEXT,
    TEXTS,
    Kind,
    names_to,
    needed,
    object_schema,
    one_of,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whygpu.errors import Problem
    from whygpu.knowledge.base import Knowledge
    from whygpu.yamldoc.forms import Form, Schema

STATUSES: tuple[Status, ...] = get_args(Status)
QUANTITIES = {"recommended": "some", "only_recommended": "all", "not_recommended": "none"}
WORDS = Kind("words", many=True, schema=EXPRESSION.schema)
_PLANS: Schema = {"type": ["object", "array"]}
SELECTOR = Kind("which plans", schema=_PLANS)
_RANKED = Kind("ranks and which plans", schema=names_to(_PLANS).value)
AHEAD: Form = MappingProxyType({"this": needed(SELECTOR), "of": needed(SELECTOR)})
_CARDS = names_to(WORDS.value)
VERDICTS: Form = MappingProxyType({"of": needed(SELECTOR), "prefer": TEXTS, "avoid": TEXTS})
EXPECTATIONS: Form = MappingProxyType(
    {
        "status": one_of(STATUSES, many=True),
        **dict.fromkeys(QUANTITIES, SELECTOR),
        **dict.fromkeys(("among_first", "not_among_first"), _RANKED),
        "ahead": replace(record(AHEAD), many=True),
        **dict.fromkeys(("possible", "impossible"), SELECTOR),
        **dict.fromkeys(("fits", "does_not_fit", "rejected"), _CARDS),
        "verdicts": replace(record(VERDICTS), many=True),
        **dict.fromkeys(("advice", "no_advice", "warnings", "no_warnings", "techniques", "no_techniques"), WORDS),
        **dict.fromkeys(("fires", "silent"), WORDS),
        "values": names_to(EXPRESSION.value),
        "assumed": Kind("answers", schema={"anyOf": [*WORDS.value["anyOf"], names_to(EXPRESSION.value).value]}),
        "open": WORDS,
        "conflicts": one_of(CRITERIA, many=True),
    }
)
"""What ``expect`` may hold, as docs/reference/rule-language.md explains."""
LIFE_EXPECTATIONS = ("train", "serve", "life")
"""What ``expect`` may hold where the answers have ``phases``: what is expected of each phase, and of the cost."""
_OF_COST = ("advice", "no_advice", "warnings", "no_warnings", "fires", "silent")
_MAX_SHOWN = 160
_EXPECT = object_schema(EXPECTATIONS)
_LIFE: Schema = {
    "type": "object",
    "properties": {"train": _EXPECT, "serve": _EXPECT, "life": {"type": "object"}},
    "additionalProperties": False,
}
CASE: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "title": needed(TEXT),
        "answers": needed(Kind("answers", schema={"$ref": "#/$defs/answers"})),
        "source": needed(TEXTS),
        "spares": TEXTS,
        "tension": TEXTS,
        "sensitive": record(dict.fromkeys(c.SENSITIVITIES, TEXT)),
        "on": DAY,
        "note": TEXT,
        "expect": needed(Kind("what is expected", schema={"anyOf": [_EXPECT, _LIFE]})),
    }
)


def read_cases(nodes: Iterable[tuple[str, Node]], knowledge: Knowledge, problems: list[Problem]) -> list[c.Case]:
    """The cases of every file, given as (topic, node), checked against the knowledge base they are about."""
    found: dict[str, c.Case] = {}
    for topic, node in nodes:
        case = _read_case(topic, node, knowledge, problems)
        if case is None:
            continue
        if case.id in found:
            first = found[case.id].location
            message = f"case '{case.id}' is there twice; first at {first}"
            problem(problems, node, "duplicate-id", message, "rename or remove one")
            continue
        found[case.id] = case
    return list(found.values())


def _read_case(topic: str, node: Node, knowledge: Knowledge, problems: list[Problem]) -> c.Case | None:
    before = len(problems)
    fields = Fields.of(node, "case", problems, CASE)
    identifier = fields.identifier() if fields is not None else None
    if fields is None or identifier is None:
        return None
    fields.what = f"case '{identifier}'"
    title = fields.text("title") or identifier
    answers = fields.get("answers")
    if answers is not None:
        try:
            check_lifecycle(answers, knowledge) if is_lifecycle(answers) else check(answers, knowledge)
        except AnswerError as error:
            problems += error.problems
    sources = frozenset({*knowledge.claims, *knowledge.catalogue.references})
    cited = Reading(knowledge.vocabulary, {}, sources, problems).cited(fields)
    spares = listed(fields, "spares", "claim", knowledge.claims)
    tensions = listed(fields, "tension", "tension", knowledge.tensions)
    sensitive = _sensitive(fields)
    day = fields.date("on")
    fields.text("note")
    expect = fields.get("expect")
    inner = Fields.of(expect, f"'expect' of {fields.what}", problems) if expect is not None else None
    reader = _Reader(fields.what, knowledge, problems)
    whole = answers is not None and is_lifecycle(answers)
    expected = tuple(reader.read_life(inner) if whole else reader.read(inner)) if inner is not None else ()
    fields.done()
    if expect is not None and not expected and len(problems) == before:
        problem(problems, fields.node, "no-expectation", f"{fields.what} expects nothing", "add something to 'expect'")
    if len(problems) > before or not isinstance(answers, Mapping):
        return None
    return c.Case(
        identifier, title, topic, answers, expected, cited, spares, tensions, sensitive, day, fields.node.location
    )


def _sensitive(fields: Fields) -> dict[str, str]:
    inner = fields.inside("sensitive", f"'sensitive' of {fields.what}")
    if inner is None:
        return {}
    found = {key: inner.text(key) for key in c.SENSITIVITIES}
    inner.done()
    return {key: why for key, why in found.items() if why is not None}


class _Reader:
    """Reads what one case expects."""

    def __init__(self, what: str, knowledge: Knowledge, problems: list[Problem]) -> None:
        self._what, self._knowledge, self._problems = what, knowledge, problems
        self._selectors = SelectorReader(knowledge, what, problems)
        self._reading = Reading(knowledge.vocabulary, {}, frozenset(), problems)

    def read(self, fields: Fields) -> Iterator[c.Expected]:
        for key, node in fields.node.items.items():
            if key not in EXPECTATIONS:
                near = did_you_mean(key, EXPECTATIONS) or f"one of {', '.join(EXPECTATIONS)}"
                if key in LIFE_EXPECTATIONS:
                    near = "only answers with 'phases' have it"
                self._add(fields.node.keys[key], "unknown-key", f"{self._what} cannot expect '{key}'", near)
                continue
            for outcome, where in self._outcomes(key, node):
                text = f"{key}: {_shown(where)}"
                yield c.Expected(outcome, text[:_MAX_SHOWN], fields.node.keys[key].location)

    def read_life(self, fields: Fields) -> Iterator[c.Expected]:
        """What is expected of each phase, as of any case, and of the cost of both."""
        for key, node in fields.node.items.items():
            inner = Fields.of(node, f"'{key}' of {self._what}", self._problems) if key in LIFE_EXPECTATIONS else None
            if key not in LIFE_EXPECTATIONS:
                near = did_you_mean(key, LIFE_EXPECTATIONS) or f"of a lifecycle: {', '.join(LIFE_EXPECTATIONS)}"
                self._add(fields.node.keys[key], "unknown-key", f"{self._what} cannot expect '{key}'", near)
            elif inner is not None and key == "life":
                yield from self._of_cost(inner)
            elif inner is not None:
                part: c.Part = "train" if key == "train" else "serve"
                yield from (replace(item, text=f"{key}: {item.text}", part=part) for item in self.read(inner))

    def _of_cost(self, fields: Fields) -> Iterator[c.Expected]:
        vocabulary = self._knowledge.vocabulary
        names = {name.partition(".")[2]: spec for name, spec in vocabulary.items() if spec.entity == "life"}
        for key, node in fields.node.items.items():
            short = key.removeprefix("life.")
            where = fields.node.keys[key]
            outcomes: list[c.Outcome] = []
            if key == "unknown":
                for item in node.items if isinstance(node, Sequence) else [node]:
                    for found, _ in self._listed(item, "figure of a life", names, c.Open):
                        if isinstance(found, c.Open):
                            outcomes.append(c.Costs(names[found.questions[0]].name, None))
            elif key in _OF_COST:
                outcomes = [outcome for outcome, _ in self._outcomes(key, node)]
            elif short in names:
                cell = read_cell(node, names[short], f"{self._what}, {key}", self._problems)
                if cell is not None and cell.condition is not None:
                    outcomes = [c.Costs(names[short].name, cell.condition.tree)]
            else:
                near = did_you_mean(short, [*names, *_OF_COST, "unknown"]) or f"known: {', '.join(names)}"
                self._add(where, "unknown-name", f"{self._what}: the cost of a life has no '{key}'", near)
            for outcome in outcomes:
                yield c.Expected(outcome, f"life: {key}: {_shown(node)}"[:_MAX_SHOWN], where.location, "life")

    def _outcomes(self, key: str, node: Node) -> Iterator[tuple[c.Outcome, Node]]:
        expected = not key.startswith("no") and key not in ("impossible", "does_not_fit", "silent")
        match key:
            case "status":
                yield from self._listed(node, "status", STATUSES, c.Ends)
            case "recommended" | "only_recommended" | "not_recommended":
                selector = self._selectors.read(node)
                if selector is not None:
                    yield c.Recommends(selector, QUANTITIES[key]), node
            case "among_first" | "not_among_first":
                yield from self._among(node, expected)
            case "ahead":
                yield from self._ahead(node)
            case "possible" | "impossible":
                for item in node.items if isinstance(node, Sequence) else [node]:
                    selector = self._selectors.read(item)
                    if selector is not None:
                        yield c.Possible(selector, expected), item
            case "fits" | "does_not_fit":
                yield from self._fits(node, expected)
            case "rejected":
                yield from self._rejected(node)
            case "verdicts":
                yield from self._verdicts(node)
            case "values":
                yield from self._values(node)
            case "assumed":
                yield from self._assumed(node)
            case _:
                yield from self._named(key, node, expected)

    def _named(self, key: str, node: Node, expected: bool) -> Iterator[tuple[c.Outcome, Node]]:
        what = key.removeprefix("no_")
        rules = self._knowledge.rules
        match what:
            case "advice" | "techniques":
                ids = [effect.id for rule in rules for effect in rule.effects if isinstance(effect, Advise)]
            case "warnings":
                ids = [effect.id for rule in rules for effect in rule.effects if isinstance(effect, Warn)]
            case "fires" | "silent":
                yield from self._listed(
                    node, "rule", self._knowledge.rule_by_id, lambda names: c.Fires(names, expected)
                )
                return
            case "open":
                questions = [question.id for question in self._knowledge.questions]
                yield from self._listed(node, "question", questions, c.Open)
                return
            case _:
                yield from self._listed(node, "criterion", CRITERIA, c.Conflicts)
                return
        yield from self._listed(node, what.removesuffix("s"), ids, lambda names: c.Says(what, names, expected))

    def _listed(
        self, node: Node, noun: str, known: Iterable[str], make: Callable[[tuple[str, ...]], c.Outcome]
    ) -> Iterator[tuple[c.Outcome, Node]]:
        """A list of known words (or one) as one outcome."""
        names = list(known)
        found: list[str] = []
        for item in node.items if isinstance(node, Sequence) else [node]:
            text = item.text if isinstance(item, Scalar) else ""
            if text in names:
                found.append(text)
            else:
                near = did_you_mean(text, names) or f"known: {', '.join(sorted(set(names))[:20])}"
                self._add(item, "bad-choice", f"{self._what}: there is no {noun} '{text[:60]}'", near)
                return
        if found:
            yield make(tuple(found)), node

    def _mapping(self, node: Node, example: str) -> Iterator[tuple[str, Scalar, Node]]:
        if isinstance(node, Mapping):
            for key, inner in node.items.items():
                yield key, node.keys[key], inner
        else:
            self._add(node, "wrong-type", f"{self._what}: this is {kind_of(node)}", f"for example {example}")

    def _among(self, node: Node, expected: bool) -> Iterator[tuple[c.Outcome, Node]]:
        for key, where, inner in self._mapping(node, "among_first: {3: {family: [A10G, L4]}}"):
            selector = self._selectors.read(inner)
            if not isinstance(where.value, int) or isinstance(where.value, bool) or where.value < 1:
                self._add(where, "wrong-type", f"{self._what}: '{key}' is not a rank", "among_first: {3: {...}}")
            elif selector is not None:
                yield c.AmongFirst(selector, where.value, expected), node

    def _ahead(self, node: Node) -> Iterator[tuple[c.Outcome, Node]]:
        for item in node.items if isinstance(node, Sequence) else [node]:
            fields = Fields.of(item, f"'ahead' of {self._what}", self._problems, AHEAD)
            if fields is None:
                continue
            this, other = fields.get("this"), fields.get("of")
            fields.done()
            first = self._selectors.read(this) if this is not None else None
            second = self._selectors.read(other) if other is not None else None
            if first is not None and second is not None:
                yield c.Ahead(first, second), item

    def _fits(self, node: Node, expected: bool) -> Iterator[tuple[c.Outcome, Node]]:
        spec = self._knowledge.vocabulary.get("plan.format")
        for key, where, inner in self._mapping(node, "fits: {l4: bf16}"):
            card = self._selectors.accelerator(where)
            allowed = spec.values if spec is not None else {}
            for item in inner.items if isinstance(inner, Sequence) else [inner]:
                text = item.text if isinstance(item, Scalar) else ""
                if text not in allowed:
                    near = did_you_mean(text, allowed)
                    self._add(item, "bad-choice", f"{self._what}: there is no format '{text[:40]}'", near)
                elif card is not None:
                    tree = c.Selector(f"one {key} in {text}", one_card(card[1], text))
                    yield c.Fits(tree, expected), node

    def _rejected(self, node: Node) -> Iterator[tuple[c.Outcome, Node]]:
        known = [rule.id for rule in self._knowledge.rules if rule.rejects]
        for _, where, inner in self._mapping(node, "rejected: {t4: the-need-must-fit}"):
            card = self._selectors.accelerator(where)
            rules = [
                outcome
                for outcome, _ in self._listed(inner, "rejecting rule", known, lambda names: c.Fires(names, True))
            ]
            for outcome in rules:
                if card is not None and isinstance(outcome, c.Fires):
                    yield c.Rejected(c.Selector(*card), outcome.rules), node

    def _verdicts(self, node: Node) -> Iterator[tuple[c.Outcome, Node]]:
        reader = EffectReader(self._what, {}, self._reading)
        for item in node.items if isinstance(node, Sequence) else [node]:
            fields = Fields.of(item, f"'verdicts' of {self._what}", self._problems, VERDICTS)
            if fields is None:
                continue
            before = len(self._problems)
            of = fields.get("of")
            verdicts = [(word, one) for word in ("prefer", "avoid") for one in fields.text_nodes(word)]
            fields.done()
            selector = self._selectors.read(of) if of is not None else None
            if not verdicts and len(self._problems) == before:
                help_text = "for example {of: {family: T4}, prefer: right-size}"
                self._add(item, "missing-key", f"{fields.what} has neither 'prefer' nor 'avoid'", help_text)
            for word, one in verdicts:
                for placed in reader.effect(word, one, one):
                    if selector is not None and isinstance(placed.effect, Verdict):
                        strength = placed.effect.strength if len(one.text.split()) > 1 else None
                        yield c.Judged(selector, placed.effect.favourable, placed.effect.criterion, strength), item

    def _values(self, node: Node) -> Iterator[tuple[c.Outcome, Node]]:
        for name, where, inner in self._mapping(node, "values: {workload.size_class: large}"):
            spec = self._knowledge.vocabulary.get(name)
            if spec is None or spec.scope != "session":
                known = [item.name for item in self._knowledge.vocabulary.values() if item.scope == "session"]
                of_plans = "gpu. and plan. names belong in a selector"
                near = of_plans if name.startswith(("gpu.", "plan.")) else did_you_mean(name, known) or of_plans
                self._add(where, "unknown-name", f"{self._what}: the consultation has no '{name}'", near)
                continue
            value = self._reading.value_of(inner, spec, self._what)
            if value is not None:
                yield c.Takes(name, value), node

    def _assumed(self, node: Node) -> Iterator[tuple[c.Outcome, Node]]:
        specs = self._knowledge.name_by_answer
        if not isinstance(node, Mapping):
            for item in node.items if isinstance(node, Sequence) else [node]:
                for outcome, _ in self._listed(item, "answer", specs, c.Open):
                    if isinstance(outcome, c.Open):
                        yield c.Assumes(outcome.questions[0], None), item
            return
        for key, where, inner in self._mapping(node, "assumed: {runtime: vllm}"):
            if key not in specs:
                near = did_you_mean(key, specs)
                self._add(where, "unknown-key", f"{self._what}: there is no answer '{key}'", near)
                continue
            value = self._reading.value_of(inner, specs[key], self._what)
            if value is not None:
                yield c.Assumes(key, value), node

    def _add(self, node: Node, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._problems, node, code, message, help_text)


def _shown(node: Node) -> str:
    """A node in one line, as flow YAML."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return f"[{', '.join(_shown(item) for item in node.items)}]"
    return f"{{{', '.join(f'{key}: {_shown(item)}' for key, item in node.items.items())}}}"
