"""Judged conditions: each comparison with its result and both sides' values, for one plan or the consultation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whygpu.chain.environment import one, plain
from whygpu.knowledge.rules import AllOf, AnyOf, Condition, ConditionTree, Require, Rule
from whygpu.language import tree as t
from whygpu.language import values as v
from whygpu.trace import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.language.names import NameSpec

Result = Literal["true", "false", "unknown"]


class Judge:
    """Evaluates conditions in one environment, for one plan of it where ``index`` is given."""

    def __init__(
        self,
        environment: SessionEnvironment | PlanEnvironment,
        vocabulary: Mapping[str, NameSpec],
        index: int | None = None,
    ) -> None:
        """``vocabulary`` gives units."""
        self._environment = environment
        self._vocabulary = vocabulary
        self._index = index

    def value(self, node: t.Expression) -> v.Value:
        """An expression's value, of the one plan."""
        value = self._environment.evaluator.value(node)
        return value if self._index is None else one(value, self._index)

    def result(self, node: t.Expression) -> Result:
        """An expression's truth."""
        value = self.value(node)
        if isinstance(value, v.Truth):
            return "true" if value.true else "false" if value.false else "unknown"
        return "unknown"

    def outcome(self, condition: Condition) -> Outcome:
        """One condition as it was judged."""
        left, right, unit = self.sides(condition.tree)
        return Outcome(condition.text, self.result(condition.tree), left, right, unit)

    def sides(self, node: t.Expression) -> tuple[float | bool | str | None, float | bool | str | None, str | None]:
        """Both sides of the comparison that decides a condition, and their unit; None where it compares nothing."""
        comparison = self._deciding(node)
        if isinstance(comparison, t.Compare):
            unit = self._unit(comparison.left) or self._unit(comparison.right)
            return plain(self.value(comparison.left)), plain(self.value(comparison.right)), unit
        if isinstance(comparison, t.OneOf):
            options = " or ".join(str(option.value) for option in comparison.options)
            return plain(self.value(comparison.left)), options, None
        if isinstance(comparison, t.Name):
            return plain(self.value(comparison)), None, self._unit(comparison)
        return None, None, None

    def _deciding(self, node: t.Expression) -> t.Expression:
        """The atom with the say: in a conjunction the first that fails, or the last; in a negation what is negated."""
        if isinstance(node, t.Not):
            return self._deciding(node.part)
        if isinstance(node, t.All | t.Any) and node.parts:
            wanted = "false" if isinstance(node, t.All) else "true"
            return self._deciding(next((part for part in node.parts if self.result(part) == wanted), node.parts[-1]))
        return node

    def _unit(self, node: t.Expression) -> str | None:
        for name in t.names(node):
            spec = self._vocabulary[name.name]
            if spec.unit:
                return spec.unit
        return None

    def outcomes(self, rule: Rule) -> tuple[Outcome, ...]:
        """Every condition of the rule, in the author's order."""
        found = [self.outcome(condition) for condition in conditions_of(rule.when)]
        for condition in conditions_of(rule.unless):
            outcome = self.outcome(condition)
            found.append(Outcome(f"unless {outcome.text}", outcome.result, outcome.left, outcome.right, outcome.unit))
        for effect in rule.effects:
            if isinstance(effect, Require):
                outcome = self.outcome(effect.condition)
                found.append(
                    Outcome(f"required: {outcome.text}", outcome.result, outcome.left, outcome.right, outcome.unit)
                )
        return tuple(found)

    def reason(self, rule: Rule) -> Outcome | None:
        """The comparison by which a rule rejects: a failed requirement, else the last comparison about the plan."""
        for effect in rule.effects:
            if isinstance(effect, Require):
                return self.outcome(effect.condition)
        about = [
            condition
            for condition in conditions_of(rule.when)
            if any(name.name.startswith(("gpu.", "plan.")) for name in t.names(condition.tree))
        ]
        compared = [condition for condition in about if isinstance(self._deciding(condition.tree), t.Compare)]
        numeric = [condition for condition in compared if isinstance(self.sides(condition.tree)[0], float)]
        chosen = (numeric or compared or about)[-1:]
        return self.outcome(chosen[0]) if chosen else None


def conditions_of(part: ConditionTree) -> Iterator[Condition]:
    """Every condition of a tree, in order."""
    if isinstance(part, Condition):
        yield part
    elif isinstance(part, AllOf | AnyOf):
        for inner in part.parts:
            yield from conditions_of(inner)
