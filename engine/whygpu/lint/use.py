"""Looks for what is written down and never used: names, conclusions, values, sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.strata import used_names
from whygpu.checks.calculation import CHECKS
from whygpu.consult.names import ENGINE_READS
from whygpu.errors import Location
from whygpu.knowledge.rules import Advise, Conclude, Require, Warn, concluded_names, expression_of
from whygpu.language.tree import names
from whygpu.measured.measurement import OF_DEVICE, POINT, PREFIX, SCALING, SIZED, TOLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.language.tree import Expression
    from whygpu.lint.finding import Finding

WHO_CITES = {
    "advice": "cite it in the rule or the table that follows it",
    "fact": "cite it where the figure stands, or in a rule that uses it",
    "formula": "cite it in formulas.yaml",
    "procedure": "cite it in the advice that recommends it",
    "symptom": "cite it in the rule that diagnoses it",
    "concept": "cite it in a question's help or where it explains",
}
"""Who would cite a claim of each kind."""


def _read_names(knowledge: Knowledge) -> set[str]:
    """Every name that a condition, an expression or a text reads."""
    trees = [rule.condition for rule in knowledge.rules]
    trees += [tree for value in knowledge.values.values() for tree in value.expressions]
    texts = [rule.because for rule in knowledge.rules]
    for rule in knowledge.rules:
        trees += [effect.condition.tree for effect in rule.effects if isinstance(effect, Require)]
        texts += [effect.text for effect in rule.effects if isinstance(effect, Advise | Warn) and effect.text]
    trees += _asked(knowledge)
    texts += [assumption.because for question in knowledge.questions for assumption in question.assumptions]
    for launch in knowledge.launches:
        parts = (*launch.lines, *launch.notes)
        conditions = [launch.when, *(part.when for part in parts), *(refusal.when for refusal in launch.refusals)]
        trees += [expression_of(when) for when in conditions]
        texts += [part.text for part in parts] + [refusal.because for refusal in launch.refusals]
    found = {name.name for tree in trees for name in names(tree)}
    return found | {name for text in texts for name in text.names}


def only_words(knowledge: Knowledge) -> frozenset[str]:
    """The rules that move no plans: they advise, warn, override others of these, and conclude what these alone read."""
    found = {rule.id: rule for rule in knowledge.rules if _only_concludes(rule)}
    while True:
        others = [rule for rule in knowledge.rules if rule.id not in found]
        read = ENGINE_READS | _sized_by(knowledge) | used_names(_conditions(others), knowledge.values)
        moving = {
            rule.id
            for rule in found.values()
            if not found.keys() >= set(rule.overrides) or not read.isdisjoint(concluded_names([rule]))
        }
        if not moving:
            return frozenset(found)
        for name in moving:
            del found[name]


def _only_concludes(rule: Rule) -> bool:
    return all(isinstance(effect, Advise | Warn | Conclude) for effect in rule.effects)


def _conditions(rules: Iterable[Rule]) -> Iterator[Expression]:
    """What rules fire by and their effects rest on."""
    for rule in rules:
        yield rule.condition
        yield from rule.grades
        yield from (effect.condition.tree for effect in rule.effects if isinstance(effect, Require))


def _sized_by(knowledge: Knowledge) -> set[str]:
    """Names that decide what is assumed, and what the ranking counts speed by."""
    counted = {name for item in knowledge.preferences.speeds for name in (item.figure, item.limit) if name}
    return used_names(_asked(knowledge), knowledge.values) | counted


def _asked(knowledge: Knowledge) -> Iterator[Expression]:
    """What questions apply by, and what is assumed and when."""
    for question in knowledge.questions:
        yield question.when
        for assumption in question.assumptions:
            yield from (assumption.when, assumption.value)


def unread_conclusions(knowledge: Knowledge) -> Iterator[Finding]:
    """Names that rules conclude and nothing reads."""
    for name in sorted(knowledge.concluded - _read_names(knowledge) - ENGINE_READS):
        location = knowledge.vocabulary[name].location
        yield (
            location,
            f"'{name}' is concluded and never read",
            "use it in a condition, or advise instead of concluding",
        )


def open_flags(knowledge: Knowledge) -> Iterator[Finding]:
    """Flags that rules conclude and that are unknown where none does: whatever reads them cannot be decided there."""
    for name in sorted(knowledge.concluded):
        spec = knowledge.vocabulary[name]
        if spec.kind == "flag" and spec.otherwise is None:
            yield (
                spec.location,
                f"'{name}' is unknown where no rule concludes it, and rules that read it cannot be decided",
                "say what it is otherwise: 'otherwise: false'",
            )


def unread_values(knowledge: Knowledge) -> Iterator[Finding]:
    """Derived values that nothing reads."""
    for name in sorted(set(knowledge.values) - _read_names(knowledge)):
        yield (
            knowledge.values[name].location,
            f"'{name}' is computed and never read",
            "use it in a condition, or remove it",
        )


def unused_names(knowledge: Knowledge) -> Iterator[Finding]:
    """Declared names that nothing reads, and that neither answers, catalogues nor plans fill."""
    read = _read_names(knowledge) | {f"{PREFIX}{name}" for name in (*POINT, *SCALING, *SIZED, *OF_DEVICE, *TOLD)}
    for spec in knowledge.vocabulary.values():
        if spec.entity == "measured" and spec.answer is None and spec.name not in read:
            yield spec.location, f"nothing uses '{spec.name}'", "use it in a condition, or remove it"


def unexplained_checks(knowledge: Knowledge) -> Iterator[Finding]:
    """Figures that are computed and that no formula explains."""
    location = knowledge.formulas[0].location if knowledge.formulas else Location("formulas.yaml")
    for phase, checks in CHECKS.items():
        explained = {check for item in knowledge.formulas if phase in item.phases for check in item.checks}
        for check in sorted(checks - explained):
            yield location, f"no formula says what '{check}' is in {phase}", "add it to formulas.yaml, with a source"


def missing_profiles(knowledge: Knowledge) -> Iterator[Finding]:
    """Phases that can be answered and that no profile describes."""
    spec = knowledge.name_by_answer.get("phase")
    for phase in spec.values if spec is not None else ():
        if phase not in knowledge.profiles and spec is not None:
            yield spec.location, f"no profile describes {phase}", "add one to profiles.yaml"


def unused_sources(knowledge: Knowledge) -> Iterator[Finding]:
    """References that nothing cites."""
    cited = {item.source for item in knowledge.citations}
    for case in knowledge.cases:
        cited |= set(case.sources)
    for reference in knowledge.catalogue.references.values():
        if reference.id not in cited:
            yield reference.location, f"nothing cites the reference '{reference.id}'", "cite it, or remove it"


def uncited_claims(knowledge: Knowledge) -> Iterator[Finding]:
    """Claims that nothing cites but cases."""
    cited = {item.source for item in knowledge.citations}
    for claim in knowledge.claims.values():
        if claim.id not in cited:
            yield claim.location, f"nothing cites the claim '{claim.id}': {claim.says}", WHO_CITES[claim.kind]
