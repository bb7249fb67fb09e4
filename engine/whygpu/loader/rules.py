"""Reads ``kb/rules``: if-then advice with its reasons, sources and tests."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.knowledge.rules import (
    Advise,
    AnyOf,
    Conclude,
    Consider,
    Exclude,
    Require,
    Rule,
    Sign,
    Template,
    Verdict,
    Warn,
    expression_of,
)
from whygpu.language import tree as t
from whygpu.language.names import Scope
from whygpu.loader.conditions import Reading
from whygpu.loader.effects import EFFECTS_OF_RULE, EffectReader, Placed
from whygpu.loader.inline_tests import TEST, read_tests
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import CONDITIONS, IDENTIFIER, TEMPLATE, TEXT, TEXTS, list_of, needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.errors import Problem
    from whygpu.knowledge.rules import AllOf, Condition, Effect, RuleTest
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form

RULE: Form = MappingProxyType(
    {
        "id": needed(IDENTIFIER),
        "title": needed(TEXT),
        "when": needed(CONDITIONS),
        "unless": CONDITIONS,
        "then": needed(EFFECTS_OF_RULE),
        "because": needed(TEMPLATE),
        "source": needed(TEXTS),
        "overrides": TEXTS,
        "helps": TEXTS,
        "tests": list_of(TEST),
    }
)
NO_TEXT = Template("", (("", None),))


def read_rules(
    nodes: Iterable[tuple[str, Node]], options: Mapping[str, frozenset[str]], reading: Reading
) -> list[Rule]:
    """The rules of every file, given as (topic, node). ``options``: what may be considered (formats, methods ...)."""
    found: dict[str, Rule] = {}
    for topic, node in nodes:
        rule = _read_rule(topic, node, options, reading)
        if rule is not None and is_new(rule, found, node, reading.problems):
            found[rule.id] = rule
    return list(found.values())


def is_new(rule: Rule, found: Mapping[str, Rule], node: Node, problems: list[Problem]) -> bool:
    """Whether the id is not taken; adds a problem where it is."""
    if rule.id not in found:
        return True
    first = found[rule.id].location
    message = f"rule '{rule.id}' is defined twice; first at {first}"
    problem(problems, node, "duplicate-id", message, "rename or remove one")
    return False


def _read_rule(topic: str, node: Node, options: Mapping[str, frozenset[str]], reading: Reading) -> Rule | None:
    before = len(reading.problems)
    fields = Fields.of(node, "rule", reading.problems, RULE)
    identifier = fields.identifier() if fields is not None else None
    if fields is None or identifier is None:
        return None
    fields.what = what = f"rule '{identifier}'"
    title = fields.text("title")
    when = reading.all_of(fields.get("when"), what)
    unless = AnyOf(reading.conditions(fields.get("unless"), what))
    effects = tuple(EffectReader(what, options, reading).listed(fields))
    because = reading.template(fields.get("because"), f"'because' of {what}")
    sources = reading.cited(fields)
    overrides = fields.texts("overrides")
    tests = tuple(read_tests(fields, reading))
    helps = read_helps(fields, reading)
    fields.done()
    if len(reading.problems) > before:
        return None
    rule = Assembly(reading, node, identifier, topic).rule(
        title or identifier, when, unless, effects, because or NO_TEXT, sources, overrides, tests
    )
    if rule is not None and helps and not rule.rejects:
        message = f"{what} rejects no plan, so nothing has to help one past it"
        hint = "remove 'helps', or give the rule 'exclude' or 'require'"
        problem(reading.problems, node, "mixed-effects", message, hint)
    return None if rule is None else replace(rule, helps=helps)


def read_helps(fields: Fields, reading: Reading) -> tuple[Condition, ...]:
    """Answers that may let a plan pass, each a name that is asked for and one of its values."""
    return tuple(_helps(fields, reading))


def _helps(fields: Fields, reading: Reading) -> Iterator[Condition]:
    for node in fields.text_nodes("helps"):
        condition = reading.condition(node)
        if condition is None:
            continue
        if _is_answer(condition.tree, reading):
            yield condition
            continue
        message = f"'{condition.text}' of {fields.what} is no answer"
        problem(reading.problems, node, "bad-choice", message, "write name == value, as workload.offload == 'all'")


def _is_answer(tree: t.Expression, reading: Reading) -> bool:
    """Whether it gives a name that is asked for one of its values."""
    if not isinstance(tree, t.Compare) or not isinstance(tree.left, t.Name) or not isinstance(tree.right, t.Constant):
        return False
    return tree.op == "==" and reading.vocabulary[tree.left.name].answer is not None


class Assembly:
    """Puts the parts of one rule together and checks that they agree: scopes, and what goes with what."""

    def __init__(self, reading: Reading, node: Node, identifier: str, topic: str) -> None:
        """``node``: what the rule is read from, for messages."""
        self._reading, self._node, self._id, self._topic = reading, node, identifier, topic

    def rule(
        self,
        title: str,
        when: AllOf,
        unless: AnyOf,
        placed: tuple[Placed, ...],
        because: Template,
        sources: tuple[str, ...],
        overrides: tuple[str, ...],
        tests: tuple[RuleTest, ...],
    ) -> Rule | None:
        """The rule; None, with problems added, where its parts do not go together."""
        before = len(self._reading.problems)
        effects = tuple(item.effect for item in placed)
        condition = self._condition(when, unless, placed)
        scope = self._scope(condition)
        location = self._node.location
        for item in placed:
            self._check_effect(item, scope)
        self._check_texts(because, placed, scope)
        rule = Rule(
            self._id,
            title,
            self._topic,
            when,
            unless,
            effects,
            because,
            sources,
            overrides,
            tests,
            scope,
            condition,
            location,
        )
        return rule if len(self._reading.problems) == before else None

    def _condition(self, when: AllOf, unless: AnyOf, placed: tuple[Placed, ...]) -> t.Expression:
        parts = [*map(expression_of, when.parts), *(t.Not(expression_of(part)) for part in unless.parts)]
        parts.sort(key=self._is_plan)  # where one on the consultation fails, those on the plans need not be evaluated
        required = tuple(item.effect.condition.tree for item in placed if isinstance(item.effect, Require))
        if required:  # the rule rejects the plans that its requirement does not hold for
            parts.append(t.Not(t.All(required)))
        if 0 < len(required) < len(placed):
            other = next(item.node for item in placed if not isinstance(item.effect, Require))
            self._add(
                other,
                "mixed-effects",
                f"rule '{self._id}' requires and does something else",
                "give 'require' a rule of its own",
            )
        return t.All(tuple(parts))

    def _is_plan(self, condition: t.Expression) -> bool:
        return self._scope(condition) != "session"

    def _scope(self, condition: t.Expression) -> Scope:
        scopes = {self._reading.vocabulary[name.name].scope for name in t.names(condition)}
        return "field" if "field" in scopes else "plan" if "plan" in scopes else "session"

    def _check_effect(self, item: Placed, scope: Scope) -> None:
        effect: Effect = item.effect
        if isinstance(effect, Exclude | Require | Verdict) and scope == "session":
            self._add(
                item.node,
                "wrong-scope",
                f"rule '{self._id}' judges plans, but none of its conditions speaks of gpu. or plan.",
                "add a condition on the accelerator or the plan, or use advise",
            )
        elif isinstance(effect, Sign) and scope != "session":
            message = f"rule '{self._id}' is about what was measured, so it cannot speak of gpu. or plan."
            self._add(item.node, "wrong-scope", message, "a diagnosis knows no plans")
        elif isinstance(effect, Consider) and scope != "session":
            self._add(
                item.node,
                "wrong-scope",
                f"rule '{self._id}' considers an option, so it cannot speak of gpu. or plan.",
                "options are considered once, before plans exist",
            )
        elif scope == "field" and isinstance(effect, Exclude | Require | Conclude):
            self._add(
                item.node,
                "wrong-scope",
                f"rule '{self._id}' speaks of field., so it can only prefer, avoid, advise or warn",
                "field values are known only after the hard rules",
            )
        elif isinstance(effect, Conclude) and (self._reading.vocabulary[effect.name].scope == "plan") != (
            scope == "plan"
        ):
            per = {"session": "consultation"}
            own = per.get(self._reading.vocabulary[effect.name].scope, "plan")
            self._add(
                item.node,
                "wrong-scope",
                f"rule '{self._id}' is judged per {per.get(scope, scope)}, but {effect.name} has one value per {own}",
                "conclude a plan. name where a condition speaks of gpu. or plan., another name elsewhere",
            )

    def _check_texts(self, because: Template, placed: tuple[Placed, ...], scope: Scope) -> None:
        texts: list[tuple[Template, Node]] = [(because, self._node)]
        for item in placed:
            if isinstance(item.effect, Advise | Warn) and item.effect.text is not None:
                texts.append((item.effect.text, item.node))
        for text, node in texts:
            for name in dict.fromkeys(text.names):
                own = self._reading.vocabulary[name].scope
                if own != "session" and scope == "session":
                    self._add(
                        node,
                        "wrong-scope",
                        f"the text of rule '{self._id}' uses {{{name}}}, but the rule is not judged per plan",
                        "add a condition on the accelerator or the plan, or leave the name out",
                    )
                elif own == "field" and scope != "field":
                    self._add(
                        node,
                        "wrong-scope",
                        f"the text of rule '{self._id}' uses {{{name}}}, but no condition does",
                        "field. values are known only to rules with a condition on them",
                    )

    def _add(self, node: Node, code: str, message: str, help_text: str | None = None) -> None:
        problem(self._reading.problems, node, code, message, help_text)
