"""What only the whole shows: names without a value, negations that stay open, titles used twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import Problem
from whygpu.knowledge.rules import SIGN_WEIGHT, STRENGTHS, Sign, concluded_names
from whygpu.language.tree import names, negated_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.checks.coefficients import Coefficients
    from whygpu.knowledge.rules import Rule
    from whygpu.language.names import NameSpec


def cross_check(
    vocabulary: Mapping[str, NameSpec], values: Mapping[str, object], rules: list[Rule], provided: frozenset[str]
) -> Iterator[Problem]:
    """The problems of a knowledge base whose parts are sound. ``provided``: names with values from checks and plans."""
    concluded = frozenset(concluded_names(rules))
    for spec in vocabulary.values():
        given = spec.answer is not None or spec.entity in ("gpu", "measured") or spec.name in values
        if not given and spec.name not in concluded and spec.name not in provided:
            yield Problem(
                "no-value",
                f"nothing gives '{spec.name}' a value",
                spec.location,
                "give it an answer key, a value in values.yaml or a rule that concludes it",
            )
        if spec.name in concluded and spec.name in values:
            yield Problem(
                "two-values",
                f"'{spec.name}' is computed in values.yaml, and a rule concludes it",
                spec.location,
                "keep one of the two",
            )
    for rule in rules:
        for name in sorted({name.name for name in names(rule.condition) if vocabulary[name.name].entity == "start"}):
            yield Problem(
                "start-name",
                f"rule '{rule.id}' uses '{name}', which has a value only where a plan is started",
                rule.location,
                "use it in launches, and names of the plan here",
            )
        for name in dict.fromkeys(name.name for name in negated_names(rule.condition)):
            if name in concluded and vocabulary[name].otherwise is None:
                yield Problem(
                    "open-negation",
                    f"rule '{rule.id}' negates '{name}', which may stay unknown",
                    rule.location,
                    f"give '{name}' an 'otherwise:' in vocabulary.yaml",
                )
    seen: dict[str, Rule] = {}
    for rule in rules:
        if rule.title in seen:
            yield Problem(
                "duplicate-title",
                f"rules '{rule.id}' and '{seen[rule.title].id}' share a title",
                rule.location,
                "say what sets them apart",
            )
        seen.setdefault(rule.title, rule)


def unweighed(rules: list[Rule], coefficients: Coefficients) -> Iterator[Problem]:
    """The strengths of signs whose weight no case of its coefficient says: the plain figure would stand for any."""
    first = next((rule for rule in rules if any(isinstance(effect, Sign) for effect in rule.effects)), None)
    if first is None:
        return
    for strength in STRENGTHS:
        if not any(case.matches({"strength": strength}) for case in coefficients.cases(SIGN_WEIGHT)):
            yield Problem(
                "missing-coefficient",
                f"'{SIGN_WEIGHT}' does not say what a {strength} sign counts, and '{first.id}' gives signs",
                first.location,
                f"add a case to it: {{when: {{strength: {strength}}}, low: 1, likely: 1, high: 1}}",
            )
