"""Makes the trace of a consultation: answers and figures as facts; rules, checks and rejections as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import PlanEnvironment, plain
from whygpu.consult.driver import fill_template
from whygpu.explain.conditions import Judge
from whygpu.knowledge.rules import Conclude, Effect, Rule, Verdict
from whygpu.language import tree as t
from whygpu.quantity import GIB
from whygpu.trace import Fact, Origin, Step, Term, Trace, content_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whygpu.checks.calculation import Calculation
    from whygpu.consult.driver import Consultation
    from whygpu.explain.advice import Comparison
    from whygpu.explain.costs import CostSheet
    from whygpu.trace import StepKind


_MONEY = (
    "usd_per_hour",
    "usd_power_per_hour",
    "usd_purchase",
    "usd_owning_per_hour",
    "break_even_months",
    "usd_total",
)
"""Figures of money that rules may read."""


class Recorder:
    """Builds the trace of one consultation, for the plans that are shown."""

    def __init__(self, consultation: Consultation, plan_ids: Sequence[str], sheet: CostSheet | None) -> None:
        """``plan_ids``: the id of every plan, by its row; ``sheet``: what the plans cost."""
        self._c, self._sheet = consultation, sheet
        self._knowledge = consultation.knowledge
        self._ids = plan_ids
        self._facts: dict[str, Fact] = {}
        self._steps: dict[str, Step] = {}
        self._assumed = {item.question.name: item for item in consultation.assumed}
        self._answered = {self._knowledge.name_by_answer[key].name: key for key in consultation.answers.values}

    def trace(
        self,
        shown: Iterable[int],
        rejected: Iterable[int],
        comparisons: Iterable[Comparison] = (),
        figures: Mapping[str, Calculation] | None = None,
    ) -> Trace:
        """The trace: all of the consultation, all about the plans shown, and what rejected the others.

        ``figures``: how names of the consultation came about that neither rules nor values.yaml give.
        """
        for name, calculation in (figures or {}).items():
            self._calculation(calculation, None, self.fact(name))
        for name in (*self._answered, *self._assumed):
            self.fact(name)
        for rule in self._c.fired:
            self._rule(rule, None)
        for rule, by, mask in self._c.defeated:
            if mask is None:
                self._rule(rule, None, by=by)
        for clash in self._c.clashes:
            if clash.plans is None:
                self._add(
                    Step(
                        content_id("s", "conflict", clash.name),
                        "conflict",
                        "fired",
                        f"No agreement on {clash.name}",
                        f"{' and '.join(clash.rules)} conclude different values for {clash.name}; it stays unknown.",
                    )
                )
        if self._c.plans is not None:
            for index in shown:
                self._plan(index)
            for index in rejected:
                for rule_id, mask in self._c.fired_plans.items():
                    rule = self._knowledge.rule_by_id[rule_id]
                    if rule.rejects and mask[index]:
                        self._rule(rule, index)
        for item in comparisons:
            self._comparison(item)
        return Trace(self._knowledge.hash, tuple(self._facts.values()), tuple(self._steps.values()))

    def _add(self, step: Step) -> Step:
        return self._steps.setdefault(step.id, step)

    # facts

    def fact(self, name: str, index: int | None = None) -> str:
        """The id of the fact that a name has its value (of plan ``index``), recorded when first asked for."""
        spec = self._knowledge.vocabulary[name]
        plan = index if spec.scope == "plan" else None
        environment: object = (
            self._c.plans if spec.scope != "session" and self._c.plans is not None else self._c.session
        )
        if isinstance(environment, PlanEnvironment):
            value = plain(environment.at(name, plan if plan is not None else 0))
        else:
            value = plain(self._c.session.value(name))
        origin, where, sources = self._origin(name, plan)
        plan_id = None if plan is None else self._ids[plan]
        identifier = content_id("f", name, plan_id, value, origin)
        if identifier not in self._facts:
            self._facts[identifier] = Fact(identifier, name, value, spec.unit, origin, where, plan_id, sources)
            self._derive(name, identifier, plan)
        return identifier

    def _origin(self, name: str, index: int | None) -> tuple[Origin, str, tuple[str, ...]]:
        if name in self._answered:
            key = self._answered[name]
            return "answer", str(self._c.answers.locations.get(key, key)), ()
        if name in self._assumed:
            return "assumed", f"question {self._assumed[name].question.id}", ()
        if name in self._c.origins:
            return "concluded", self._c.origins[name], ()
        if name in self._knowledge.concluded:
            return "concluded", "rules", ()
        if name.startswith("gpu.") and index is not None and self._c.plan_set is not None:
            card = self._c.plan_set.candidate(index).accelerator
            key = name.removeprefix("gpu.")
            figure = card.figures.get("usable_mib" if key == "usable_gib" else key)
            sources = figure.sources if figure else ()
            if key == "usable_gib":
                sources = self._knowledge.catalogue.usable_sources(card)
            return "catalogue", str(figure.location if figure else card.location), sources
        if name.startswith("model.") and self._c.work is not None:
            return "catalogue", self._c.work.shape.id or "the model as described", self._c.work.shape.source
        where = "values.yaml" if name in self._knowledge.values else "life" if name.startswith("life.") else "plan"
        return "check", where, ()

    def _derive(self, name: str, identifier: str, index: int | None) -> None:
        """The step that computed a derived value."""
        value = self._knowledge.values.get(name)
        if value is None:
            return
        names = sorted({inner.name for inner in t.names(value.expression)})
        uses = () if value.aggregate else tuple(self.fact(inner, index) for inner in names)
        aggregate = f"{value.aggregate} over the plans left of " if value.aggregate else ""
        plan = None if index is None else self._ids[index]
        terms = self._native_terms(value.expression)
        self._add(
            Step(
                content_id("s", "check", name, plan),
                "check",
                "fired",
                f"{name} is computed",
                "",
                plan=plan,
                uses=uses,
                gives=(identifier,),
                place=str(value.location),
                formula=f"{aggregate}{value.text}",
                terms=terms,
            )
        )

    def _native_terms(self, expression: t.Expression) -> tuple[Term, ...]:
        """The parts of a memory check called on the consultation's work."""
        work = self._c.work
        if work is None or not isinstance(expression, t.Call) or expression.function != "need_gib":
            return ()
        argument = plain(self._c.session.evaluator.value(expression.arguments[0]))
        if not isinstance(argument, str) or argument not in self._knowledge.catalogue.formats:
            return ()
        return tuple(
            Term(
                item.name,
                item.value / GIB if item.unit == "bytes" else item.value,
                "GiB" if item.unit == "bytes" else item.unit,
                item.sources,
            )
            for item in work.calculations_in(argument)
        )

    # rules

    def _rule(self, rule: Rule, index: int | None, by: str | None = None) -> Step:
        environment = self._c.plans if index is not None and self._c.plans is not None else self._c.session
        judge = Judge(environment, self._knowledge.vocabulary, index)
        plan = None if index is None else self._ids[index]
        names = sorted({name.name for name in t.names(rule.condition)})
        uses = tuple(self.fact(name, index) for name in names)
        gives: list[str] = []
        if by is None:
            for effect in rule.effects:
                if isinstance(effect, Conclude):
                    gives.append(self.fact(effect.name, index))
        kind: StepKind = "exclude" if rule.rejects else "prefer" if _is_soft(rule.effects) else "rule"
        return self._add(
            Step(
                content_id("s", rule.id, plan, by),
                kind,
                "defeated" if by else "fired",
                rule.title,
                fill_template(rule.because, environment, self._knowledge, index),
                rule.id,
                plan,
                judge.outcomes(rule),
                uses,
                tuple(gives),
                rule.sources,
                str(rule.location),
                by=by,
            )
        )

    # plans

    def _plan(self, index: int) -> None:
        plan_set = self._c.plan_set
        if plan_set is None:
            return
        candidate = plan_set.candidate(index)
        plan = self._ids[index]
        gives = {"total": "plan.total_gib"} | {name: f"plan.{name}" for name in _MONEY}
        estimate, local = plan_set.speeds.estimate(index)
        calculations = (
            *candidate.memory.calculations(),
            *estimate.calculations(local),
            *(self._sheet.calculations(index) if self._sheet is not None else ()),
        )
        for calculation in self._knowledge.sourced(calculations, trains=candidate.setup.trains):
            name = gives.get(calculation.name)
            known = name is not None and name in self._knowledge.vocabulary
            self._calculation(calculation, plan, self.fact(name, index) if name is not None and known else None)
        for rule_id, mask in self._c.fired_plans.items():
            if mask[index]:
                self._rule(self._knowledge.rule_by_id[rule_id], index)
        for rule, by, defeat in self._c.defeated:
            if defeat is not None and defeat[index]:
                self._rule(rule, index, by=by)
        ranking, costs = self._c.ranking, self._c.costs
        if ranking is not None and costs is not None and self._c.alive[index]:
            position = ranking.order.index(index) + 1
            counted = ranking.counted
            unit, value = counted.money.unit, float(counted.values[index])
            terms = [Term("money", float(counted.money.values[index]), unit)]
            terms += [Term(name, float(column[index]), "times") for name, column in counted.factors.items()]
            terms.append(Term("counted", value, unit))
            self._add(
                Step(
                    content_id("s", "rank", plan),
                    "rank",
                    "fired",
                    f"Plan {position} of {len(ranking.order)}",
                    "",
                    plan=plan,
                    formula=" * ".join(("money", *counted.factors)),
                    terms=tuple(item for item in terms if np.isfinite(item.value)),
                )
            )

    def _comparison(self, item: Comparison) -> None:
        figures = (
            ("price_ratio", item.price_ratio, "times"),
            ("speed_ratio", item.speed_ratio, "times"),
            ("dear_usd", item.expensive_usd, item.unit),
            ("cheap_usd", item.cheap_usd, item.unit),
            ("hours_saved", item.hours_saved, "hours"),
            ("usd_per_hour_saved", item.usd_per_hour_saved, "USD/hour"),
            ("hours_a_month", item.hours_a_month, "hours"),
        )
        self._add(
            Step(
                content_id("s", "compare", item.kind),
                "plan",
                "fired",
                f"{item.expensive} against {item.cheap}",
                item.text,
                plan=item.expensive,
                claims=item.claims,
                formula="the more expensive hour pays where speed_ratio > price_ratio",
                terms=tuple(Term(name, value, unit) for name, value, unit in figures if value is not None),
            )
        )

    def _calculation(self, calculation: Calculation, plan: str | None, gives: str | None) -> None:
        terms = tuple(Term(term.name, term.value, term.unit, term.source) for term in calculation.terms)
        result = Term(calculation.name, calculation.value, calculation.unit, calculation.sources)
        self._add(
            Step(
                content_id("s", "check", plan, calculation.name),
                "check",
                "fired",
                calculation.name,
                calculation.note,
                plan=plan,
                gives=() if gives is None else (gives,),
                claims=calculation.sources,
                formula=calculation.formula,
                terms=(*terms, result),
            )
        )


def _is_soft(effects: Sequence[Effect]) -> bool:
    return any(isinstance(effect, Verdict) for effect in effects)
