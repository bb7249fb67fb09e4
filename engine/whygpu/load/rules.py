"""Reads ``kb/rules``: if-then advice with its reasons, sources and tests."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge import (
    CONSIDERABLE,
    CRITERIA,
    STRENGTHS,
    Advise,
    AnyOf,
    Conclude,
    Consider,
    Effect,
    Exclude,
    Expectation,
    Require,
    Rule,
    RuleTest,
    Scope,
    Template,
    Verdict,
    Warn,
)
from whygpu.language import tree as t
from whygpu.load.conditions import Reading, expression_of
from whygpu.load.document import Mapping, Node, Scalar
from whygpu.load.fields import ID, Fields, kind_of, problem

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPECTATIONS: tuple[Expectation, ...] = ("fires", "silent", "unknown")
_EFFECTS = ("conclude", "consider", "require", "exclude", "prefer", "avoid", "advise", "warn")
_NO_TEXT = Template("", (("", None),))


def read_rules(nodes: list[tuple[str, Node]], options: dict[str, frozenset[str]], reading: Reading) -> list[Rule]:
    """The rules of every file, given as (topic, node). ``options``: what may be considered (formats, methods ...)."""
    found: dict[str, Rule] = {}
    for topic, node in nodes:
        rule = _RuleReader(topic, node, options, reading).read()
        if rule is None:
            continue
        if rule.id in found:
            problem(
                reading.problems,
                node,
                "duplicate-id",
                f"rule '{rule.id}' is defined twice; first at {found[rule.id].place}",
                "rename or remove one",
            )
            continue
        found[rule.id] = rule
    return list(found.values())


class _RuleReader:
    def __init__(self, topic: str, node: Node, options: dict[str, frozenset[str]], reading: Reading) -> None:
        self._topic, self._node, self._options, self._reading = topic, node, options, reading
        self._problems = reading.problems

    def read(self) -> Rule | None:
        before = len(self._problems)
        fields = Fields.of(self._node, "rule", self._problems)
        identifier = fields.identifier() if fields is not None else None
        if fields is None or identifier is None:
            return None
        fields.what = f"rule '{identifier}'"
        title = fields.text("title", required=True)
        when = self._reading.all_of(fields.get("when", required=True), fields.what)
        unless = AnyOf(self._reading.conditions(fields.get("unless"), fields.what))
        effects = tuple(self._effects(fields, identifier))
        because = self._reading.template(fields.get("because", required=True), f"'because' of {fields.what}")
        sources = self._reading.cited(fields, required=True)
        overrides = fields.texts("overrides")
        tests = tuple(self._tests(fields))
        fields.done()
        if len(self._problems) > before:
            return None
        parts = [expression_of(when)]
        if unless.parts:
            parts.append(t.Not(expression_of(unless)))
        required = tuple(effect.condition.tree for effect in effects if isinstance(effect, Require))
        if required:  # the rule rejects the plans that its requirement does not hold for
            parts.append(t.Not(t.All(required)))
            if len(required) < len(effects):
                self._add(
                    "mixed-effects",
                    f"rule '{identifier}' requires and does something else",
                    "give 'require' a rule of its own",
                )
        condition = t.All(tuple(parts)) if len(parts) > 1 else parts[0]
        scope = self._scope(condition)
        rule = Rule(
            identifier,
            title or identifier,
            self._topic,
            when,
            unless,
            effects,
            because or _NO_TEXT,
            sources,
            overrides,
            tests,
            scope,
            condition,
            self._node.place,
        )
        self._check_scope(rule)
        return rule if len(self._problems) == before else None

    def _scope(self, condition: t.Expression) -> Scope:
        scopes = {self._reading.vocabulary[name.name].scope for name in t.names(condition)}
        return "field" if "field" in scopes else "plan" if "plan" in scopes else "session"

    def _check_scope(self, rule: Rule) -> None:
        vocabulary = self._reading.vocabulary
        texts = [
            rule.because,
            *(effect.text for effect in rule.effects if isinstance(effect, Advise | Warn) and effect.text),
        ]
        for effect in rule.effects:
            if isinstance(effect, Exclude | Require | Verdict) and rule.scope == "session":
                self._add(
                    "wrong-scope",
                    f"rule '{rule.id}' judges plans, but none of its conditions speaks of gpu. or plan.",
                    "add a condition on the accelerator or the plan, or use advise",
                )
            elif isinstance(effect, Consider) and rule.scope != "session":
                self._add(
                    "wrong-scope",
                    f"rule '{rule.id}' considers an option, so it cannot speak of gpu. or plan.",
                    "options are considered once, before plans exist",
                )
            elif isinstance(effect, Conclude) and (vocabulary[effect.name].scope == "plan") != (rule.scope == "plan"):
                self._add(
                    "wrong-scope",
                    f"rule '{rule.id}' is judged per {rule.scope}, but {effect.name} belongs to a "
                    f"{vocabulary[effect.name].scope}",
                )
            elif rule.scope == "field" and isinstance(effect, Exclude | Require | Conclude):
                self._add(
                    "wrong-scope",
                    f"rule '{rule.id}' speaks of field., so it can only prefer, avoid, advise or warn",
                    "field values are known only after the hard rules",
                )
        for text in texts:
            for name in text.names:
                if vocabulary[name].scope != "session" and rule.scope == "session":
                    self._add(
                        "wrong-scope",
                        f"the text of rule '{rule.id}' uses {{{name}}}, but the rule is not judged per plan",
                    )
                elif vocabulary[name].scope == "field" and rule.scope != "field":
                    self._add("wrong-scope", f"the text of rule '{rule.id}' uses {{{name}}}, but no condition does")

    def _add(self, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._problems, self._node, code, message, help_text)

    def _effects(self, fields: Fields, rule: str) -> Iterator[Effect]:
        items = fields.items("then", required=True)
        for node in items:
            if isinstance(node, Scalar) and node.text == "exclude":
                yield Exclude()
            elif isinstance(node, Mapping) and len(node.items) == 1:
                word, inner = next(iter(node.items.items()))
                yield from self._effect(word, inner, rule, node)
            else:
                problem(
                    self._problems,
                    node,
                    "bad-effect",
                    f"an effect of {fields.what} is one of {', '.join(_EFFECTS)}, each with its object",
                    "for example '- advise: quantize'",
                )
        if not items and "then" in fields:
            problem(self._problems, fields.node, "bad-effect", f"{fields.what} has no effect", "add one under 'then'")

    def _effect(self, word: str, node: Node, rule: str, whole: Mapping) -> Iterator[Effect]:
        match word:
            case "conclude":
                yield from self._conclude(node, rule)
            case "consider":
                yield from self._consider(node, rule)
            case "exclude":
                if isinstance(node, Scalar) and node.text in ("plan", "true"):
                    yield Exclude()
                else:
                    problem(self._problems, node, "bad-effect", f"rule '{rule}': write '- exclude: plan'")
            case "require":
                condition = self._reading.condition(node) if isinstance(node, Scalar) else None
                if condition is not None:
                    yield Require(condition)
                elif not isinstance(node, Scalar):
                    problem(self._problems, node, "wrong-type", f"rule '{rule}': 'require' takes one condition")
            case "prefer" | "avoid":
                yield from self._verdict(word == "prefer", node, rule)
            case "advise" | "warn":
                yield from self._message(word, node, rule)
            case _:
                problem(
                    self._problems,
                    whole.keys[word],
                    "bad-effect",
                    f"rule '{rule}': there is no effect '{word}'",
                    did_you_mean(word, _EFFECTS) or f"one of {', '.join(_EFFECTS)}",
                )

    def _conclude(self, node: Node, rule: str) -> Iterator[Effect]:
        fields = Fields.of(node, f"'conclude' of rule '{rule}'", self._problems)
        for name in fields.keys() if fields else ():
            inner = fields.get(name) if fields else None
            spec = self._reading.vocabulary.get(name)
            if spec is None:
                problem(
                    self._problems,
                    fields.node.keys[name] if fields else node,
                    "unknown-name",
                    f"rule '{rule}' concludes '{name}', which is not a name",
                    did_you_mean(name, self._reading.vocabulary),
                )
            elif spec.answer is not None or spec.entity in ("gpu", "field"):
                problem(
                    self._problems,
                    node,
                    "not-concludable",
                    f"rule '{rule}' concludes '{name}', which is answered or looked up",
                    "give the conclusion a name of its own in vocabulary.yaml",
                )
            elif inner is not None:
                value = self._reading.value_of(inner, spec, f"rule '{rule}'")
                if value is not None:
                    yield Conclude(name, value)

    def _consider(self, node: Node, rule: str) -> Iterator[Effect]:
        fields = Fields.of(node, f"'consider' of rule '{rule}'", self._problems)
        for what in CONSIDERABLE:
            for option in fields.texts(what) if fields else ():
                if option in self._options.get(what, frozenset()):
                    yield Consider(what, option)
                else:
                    problem(
                        self._problems,
                        node,
                        "bad-choice",
                        f"rule '{rule}' considers {what} '{option}', which does not exist",
                        did_you_mean(option, self._options.get(what, frozenset())),
                    )
        if fields is not None:
            fields.done()

    def _verdict(self, favourable: bool, node: Node, rule: str) -> Iterator[Effect]:
        if isinstance(node, Scalar):
            words = node.text.split()
            strength = words.pop() if len(words) == 2 and words[-1] in STRENGTHS else "normal"
            criterion = words[0] if len(words) == 1 else node.text
        else:
            fields = Fields.of(node, f"'{'prefer' if favourable else 'avoid'}' of rule '{rule}'", self._problems)
            if fields is None:
                return
            criterion = fields.text("criterion", required=True) or ""
            strength = fields.choice("strength", STRENGTHS) or "normal"
            fields.done()
        if criterion not in CRITERIA:
            problem(
                self._problems,
                node,
                "bad-choice",
                f"rule '{rule}': there is no criterion '{criterion}'",
                did_you_mean(criterion, CRITERIA) or f"one of {', '.join(CRITERIA)}",
            )
            return
        yield Verdict(favourable, criterion, next(known for known in STRENGTHS if known == strength))

    def _message(self, word: str, node: Node, rule: str) -> Iterator[Effect]:
        kind = Advise if word == "advise" else Warn
        if isinstance(node, Scalar):
            if ID.match(node.text):
                yield kind(node.text, None)
            else:
                problem(
                    self._problems,
                    node,
                    "bad-id",
                    f"rule '{rule}': '{word}' takes an id, not {kind_of(node)}",
                    f"write {{id: some-id, text: ...}}, or '{word}: some-id' to use the rule's because",
                )
            return
        fields = Fields.of(node, f"'{word}' of rule '{rule}'", self._problems)
        if fields is None:
            return
        identifier = fields.identifier()
        text = self._reading.template(fields.get("text", required=True), f"'text' of rule '{rule}'")
        fields.done()
        if identifier is not None:
            yield kind(identifier, text)

    def _tests(self, fields: Fields) -> Iterator[RuleTest]:
        for item in fields.mappings("tests", f"a test of {fields.what}"):
            node = item.get("given")
            expect = item.choice("expect", EXPECTATIONS, required=True)
            item.done()
            given: dict[str, float | bool | str] = {}
            inner = Fields.of(node, f"'given' of {item.what}", self._problems) if node is not None else None
            for name in inner.keys() if inner else ():
                spec = self._reading.vocabulary.get(name)
                value = inner.get(name) if inner else None
                if spec is None and inner is not None:
                    problem(
                        self._problems,
                        inner.node.keys[name],
                        "unknown-name",
                        f"{item.what} gives '{name}', which is not a name",
                        did_you_mean(name, self._reading.vocabulary),
                    )
                elif spec is not None and value is not None:
                    plain = self._reading.value_of(value, spec, item.what)
                    if plain is not None:
                        given[name] = plain
            for known in EXPECTATIONS:
                if expect == known:
                    yield RuleTest(MappingProxyType(given), known, item.node.place)
