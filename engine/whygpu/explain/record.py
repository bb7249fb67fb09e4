"""The trace of what a session decided: answers and figures as facts; rules and checks as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.chain.environment import plain
from whygpu.explain.conditions import Judge
from whygpu.explain.templates import fill_template
from whygpu.knowledge.rules import Conclude, Effect, Rule, Verdict
from whygpu.language import tree as t
from whygpu.trace import Fact, Origin, Step, Term, Trace, content_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.checks.calculation import Calculation
    from whygpu.consult.consultation import SessionResult
    from whygpu.trace import StepKind


class Recorder:
    """Records facts and steps, each once. Of a session alone; a subclass records what it knows of plans, too."""

    def __init__(self, session: SessionResult) -> None:
        """Nothing is recorded yet."""
        self._session, self._knowledge = session, session.knowledge
        self._facts: dict[str, Fact] = {}
        self._steps: dict[str, Step] = {}

    def trace(self, figures: Mapping[str, Calculation]) -> Trace:
        """The trace of all that the session decided.

        ``figures``: how names of it came about that neither rules nor values.yaml give.
        """
        for name, calculation in figures.items():
            self._calculation(calculation, None, self.fact(name))
        self._of_session()
        return self._recorded()

    def _recorded(self) -> Trace:
        return Trace(self._knowledge.hash, tuple(self._facts.values()), tuple(self._steps.values()))

    def _of_session(self) -> None:
        for rule in self._session.fired:
            self._rule(rule, None)
        for rule, by in self._session.defeated:
            self._rule(rule, None, by=by)
        for clash in self._session.clashes:
            self._add(
                Step(
                    content_id("s", "conflict", clash.name),
                    "conflict",
                    "fired",
                    f"No agreement on {clash.name}",
                    f"{' and '.join(clash.rules)} conclude different values for {clash.name}; it stays unknown.",
                )
            )

    def _add(self, step: Step) -> Step:
        return self._steps.setdefault(step.id, step)

    # facts

    def fact(self, name: str, index: int | None = None) -> str:
        """The id of the fact that a name has its value (of plan ``index``), recorded when first asked for."""
        spec = self._knowledge.vocabulary[name]
        row = index if spec.scope == "plan" else None
        value = self._value(name, row)
        origin, where, sources = self._origin(name, row)
        plan = self._plan_id(row)
        identifier = content_id("f", name, plan, value, origin)
        if identifier not in self._facts:
            self._facts[identifier] = Fact(identifier, name, value, spec.unit, origin, where, plan, sources)
            self._derive(name, identifier, row)
        return identifier

    def _value(self, name: str, _index: int | None) -> float | bool | str | None:
        return plain(self._session.environment.value(name))

    def _plan_id(self, _index: int | None) -> str | None:
        return None

    def _environment(self, _index: int | None) -> SessionEnvironment | PlanEnvironment:
        return self._session.environment

    def _origin(self, name: str, _index: int | None) -> tuple[Origin, str, tuple[str, ...]]:
        if name in self._session.origins:
            return "concluded", self._session.origins[name], ()
        if name in self._knowledge.concluded:
            return "concluded", "rules", ()
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
        plan = self._plan_id(index)
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

    def _native_terms(self, _expression: t.Expression) -> tuple[Term, ...]:
        """The parts of a numeric check that an expression calls."""
        return ()

    # rules

    def _rule(self, rule: Rule, index: int | None, by: str | None = None) -> Step:
        environment = self._environment(index)
        judge = Judge(environment, self._knowledge.vocabulary, index)
        plan = self._plan_id(index)
        said = (name for name in rule.because.names if name in self._knowledge.vocabulary)  # what its sentence tells
        names = sorted({*(name.name for name in t.names(rule.condition)), *said})
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
