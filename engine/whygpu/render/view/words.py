"""Rules, changes and plans of one consultation in words, with who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygpu.answers import LISTS
from whygpu.explain.figures import show_plain, show_sides
from whygpu.explain.templates import fill_template
from whygpu.render.view.model import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whygpu.consult.consultation import Consultation
    from whygpu.explain.deciding import Weight
    from whygpu.knowledge.rules import Rule


class Words:
    """What the rules of one consultation say of its plans."""

    def __init__(self, consultation: Consultation, weights: Sequence[Weight] = ()) -> None:
        """``weights``: the verdicts that the reasons are made of."""
        self._c, self._weights = consultation, weights

    def text(self, weight: Weight) -> str:
        """What the rule says of the plan."""
        return self.because(weight.rule, weight.row)

    def because(self, rule: Rule, row: int | None) -> str:
        """What a rule says, of a plan where it is judged per plan."""
        environment = self._c.session.environment if row is None else self._c.plans.environment
        return fill_template(rule.because, environment, self._c.knowledge, row)

    def weightiest(self, row: int) -> Weight | None:
        """The verdict for a plan that is worth most; None where there is none."""
        found = [item for item in self._weights if item.row == row and item.favourable]
        return max(found, key=lambda item: item.worth, default=None)

    def location(self, rule: Rule) -> str:
        """The file and line of a rule."""
        return f"{rule.location.file}:{rule.location.line}"

    def evidence(self, weight: Weight) -> Evidence:
        """Who says it."""
        return self.of_rule(weight.rule)

    def of_rule(self, rule: Rule) -> Evidence:
        """A rule, its place and its claims."""
        return Evidence(rule.id, self.location(rule), rule.sources)

    def change(self, changes: Mapping[str, Any]) -> str:
        """Changed answers: "budget_per_hour $1.20/hour instead of $0.50/hour, and providers left out (now runpod)"."""
        return " and ".join(self._change(key, value) for key, value in changes.items())

    def _change(self, key: str, value: Any) -> str:
        given = self._c.answers.given.get(key)
        spec = self._c.knowledge.name_by_answer.get(key)
        sides = spec is not None and spec.unit == "pixels"  # its value is an area, which nobody answered
        now = self.value(key, given if sides else self._c.answers.values.get(key, given))
        if value is None:
            return f"{key} left out" + (f" (now {now})" if now else "")
        after = self.value(key, value)
        return f"{key} {after}" + (f" instead of {now}" if now else "")

    def along(self, assumed: Sequence[tuple[str, str]]) -> str:
        """What is assumed otherwise with a change: ", and with it criticality development"; else nothing."""
        said = ", ".join(f"{key} {self.value(key, value)}" for key, value in assumed)
        return f", and with it {said}" if said else ""

    def value(self, key: str, value: Any) -> str:
        """An answer's value with its unit."""
        spec = self._c.knowledge.name_by_answer.get(key)
        if isinstance(value, list | tuple) or (key in LISTS and value is not None):
            cards = self._c.knowledge.catalogue.accelerators
            named = value if isinstance(value, list | tuple) else [value]
            return ", ".join(cards[item].name if item in cards else str(item) for item in named)
        if spec is None or value is None:
            return "" if value is None else str(value)
        if spec.unit == "pixels":
            return show_sides(value)
        return show_plain(
            float(value) if isinstance(value, int) and not isinstance(value, bool) else value, spec.unit, spec.name
        )
