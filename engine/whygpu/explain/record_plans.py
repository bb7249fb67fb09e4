"""The trace of a consultation: that of its session, of the plans that are shown, and of what rejected the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import plain
from whygpu.explain.record import Recorder
from whygpu.language import tree as t
from whygpu.quantity import GIB
from whygpu.trace import Origin, Step, Term, Trace, content_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.explain.parts import Comparison
    from whygpu.explain.plan_maker import PlanMaker


_MONEY = (
    "usd_per_hour",
    "usd_power_per_hour",
    "usd_purchase",
    "usd_owning_per_hour",
    "break_even_months",
    "usd_total",
)
"""Figures of money that rules may read."""


class PlanRecorder(Recorder):
    """Builds the trace of one consultation, for the plans that are shown."""

    def __init__(self, maker: PlanMaker) -> None:
        """Nothing is recorded yet."""
        super().__init__(maker.consultation.session)
        self._c, self._plans, self._sheet = maker.consultation, maker.consultation.plans, maker.sheet
        self._rows = maker.rows
        self._assumed = {item.question.name: item for item in self._c.applied.assumed}
        self._answered = {self._knowledge.name_by_answer[key].name: key for key in self._c.answers.values}

    def whole(self, comparisons: Iterable[Comparison]) -> Trace:
        """The trace: all of the session, all about the plans shown, and what rejected the others."""
        for name in (*self._answered, *self._assumed):
            self.fact(name)
        self._of_session()
        for row in self._rows.shown:
            self._plan(row)
        for row in self._rows.nearest_rejected:
            for rule_id, mask in self._rows.rejecting.items():
                if mask[row]:
                    self._rule(self._knowledge.rule_by_id[rule_id], row)
        for item in comparisons:
            self._comparison(item)
        return self._recorded()

    def _value(self, name: str, index: int | None) -> float | bool | str | None:
        if self._knowledge.vocabulary[name].scope == "session":
            return super()._value(name, index)
        return plain(self._plans.environment.at(name, index if index is not None else 0))

    def _plan_id(self, index: int | None) -> str | None:
        return None if index is None else self._rows.ids[index]

    def _environment(self, index: int | None) -> SessionEnvironment | PlanEnvironment:
        return super()._environment(index) if index is None else self._plans.environment

    def _origin(self, name: str, index: int | None) -> tuple[Origin, str, tuple[str, ...]]:
        if name in self._answered:
            key = self._answered[name]
            return "answer", str(self._c.answers.locations.get(key, key)), ()
        if name in self._assumed:
            return "assumed", f"question {self._assumed[name].question.id}", ()
        if name in self._knowledge.concluded or name in self._session.origins:
            return super()._origin(name, index)
        if name.startswith("gpu.") and index is not None:
            card = self._plans.plan_set.candidate(index).accelerator
            key = name.removeprefix("gpu.")
            figure = card.figures.get("usable_mib" if key == "usable_gib" else key)
            sources = figure.sources if figure else ()
            if key == "usable_gib":
                sources = self._knowledge.catalogue.usable_sources(card)
            return "catalogue", str(figure.location if figure else card.location), sources
        if name.startswith("model."):
            shape = self._plans.work.shape
            return "catalogue", shape.id or "the model as described", shape.source
        return super()._origin(name, index)

    def _native_terms(self, expression: t.Expression) -> tuple[Term, ...]:
        """The parts of a memory check called on the consultation's work."""
        if not isinstance(expression, t.Call) or expression.function != "need_gib":
            return ()
        argument = plain(self._session.environment.evaluator.value(expression.arguments[0]))
        if not isinstance(argument, str) or argument not in self._knowledge.catalogue.formats:
            return ()
        return tuple(
            Term(
                item.name,
                item.value / GIB if item.unit == "bytes" else item.value,
                "GiB" if item.unit == "bytes" else item.unit,
                item.sources,
            )
            for item in self._plans.work.calculations_in(argument)
        )

    def _plan(self, index: int) -> None:
        candidate = self._plans.plan_set.candidate(index)
        plan = self._rows.ids[index]
        gives = {"total": "plan.total_gib"} | {name: f"plan.{name}" for name in _MONEY}
        calculations = (
            *candidate.memory.calculations(),
            *self._plans.plan_set.estimate(index).calculations(),
            *self._sheet.calculations(index),
        )
        for calculation in self._knowledge.sourced(calculations, trains=candidate.setup.trains):
            name = gives.get(calculation.name)
            known = name is not None and name in self._knowledge.vocabulary
            self._calculation(calculation, plan, self.fact(name, index) if name is not None and known else None)
        for rule_id, mask in self._plans.fired.items():
            if mask[index]:
                self._rule(self._knowledge.rule_by_id[rule_id], index)
        for rule, by, defeat in self._plans.defeated:
            if defeat[index]:
                self._rule(rule, index, by=by)
        if self._plans.alive[index]:
            self._ranked(index)

    def _ranked(self, index: int) -> None:
        """The place of a plan that is left, and what it counts as."""
        plan, ranking = self._rows.ids[index], self._plans.ranking
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
            ("expensive_usd", item.expensive_usd, item.unit),
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
