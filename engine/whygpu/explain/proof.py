"""HOW: the smallest proof of a conclusion, a figure, a rule or a plan, back to answers, facts and claims."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.quantity import GIB, MIB, show
from whygpu.trace import Fact, Step, Term

if TYPE_CHECKING:
    from whygpu.explain.advice import Advice
    from whygpu.trace import Trace


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing and what it rests on: a fact with the step that gave it, or a step alone."""

    fact: Fact | None
    step: Step | None
    rests_on: tuple[Proof, ...]
    engine: str


def prove(advice: Advice, name: str, depth: int = 3) -> Proof:
    """The proof of a fact (by id or name), a figure of the recommendation, a rule or a plan; raises AnswerError.

    Of several steps that give a fact the first is enough; ``depth``: how many steps back.
    """
    return _Prover(advice).prove(name, depth)


class _Prover:
    def __init__(self, advice: Advice) -> None:
        self._trace: Trace = advice.trace
        self._engine = advice.engine
        best = advice.recommendation
        self._best = None if best is None else best.id
        self._told: set[str] = set()

    def prove(self, name: str, depth: int) -> Proof:
        step = self._step(name)
        for fact in self._trace.facts:
            if fact.id == name or (fact.name == name and fact.plan in (None, self._best)):
                if step is not None and step.kind == "check" and fact.id not in self._trace.givers:
                    return self._of_step(fact, step, depth)
                return self._of_fact(fact, depth)
        if step is not None:
            return self._of_step(None, step, depth)
        known = {fact.name for fact in self._trace.facts} | {
            word for item in self._trace.steps for word in (item.rule, item.title if item.formula else None) if word
        }
        near = did_you_mean(name, known) or "'--format json' has the whole trace"
        message = f"nothing in the trace is called '{name[:80]}'"
        raise AnswerError([Problem("unknown-fact", message, Location("how"), near)])

    def _step(self, name: str) -> Step | None:
        """The step of a rule, a figure of the recommendation (with ``plan.`` before it or not) or a plan's place."""
        if name in ("recommendation", self._best):
            return next((step for step in self._trace.steps if step.kind == "rank" and step.plan == self._best), None)
        own = [step for step in self._trace.steps if step.plan in (None, self._best)]
        figure = next((x for x in own if x.kind == "check" and x.title == name.removeprefix("plan.")), None)
        if figure is not None:
            return figure
        for step in (*own, *self._trace.steps):
            if name in (step.id, step.rule, step.title) or (step.kind == "rank" and step.plan == name):
                return step
        return None

    def _of_fact(self, fact: Fact, depth: int) -> Proof:
        givers = self._trace.givers.get(fact.id, ())
        if not givers or fact.id in self._told or depth < 1:
            return Proof(fact, None, (), self._engine)
        self._told.add(fact.id)
        return self._of_step(fact, givers[0], depth)

    def _of_step(self, fact: Fact | None, step: Step, depth: int) -> Proof:
        if depth < 1:
            return Proof(fact, step, (), self._engine)
        below = [self._of_fact(self._trace.fact_by_id[used], depth - 1) for used in step.uses]
        if step.kind in ("check", "rank"):
            below += [
                self._of_step(None, inner, depth - 1)
                for term in step.terms[:-1]
                if (inner := self._check(term.name, step)) is not None
            ]
        return Proof(fact, step, tuple(below), self._engine)

    def _check(self, name: str, of: Step) -> Step | None:
        """The check that computed a term, for the same plan."""
        for step in self._trace.steps:
            if step.kind == "check" and step.title == name and step.plan == of.plan and step.id != of.id:
                if step.id in self._told:
                    return None
                self._told.add(step.id)
                return step
        return None


def arithmetic(step: Step) -> str:
    """A check with its numbers put in: "70.6B * 4 bits per weight / 8 = 32.9 GiB"; nothing where it has no formula."""
    if not step.formula or not step.terms:
        return step.formula or ""
    result, terms = step.terms[-1], {term.name: term for term in step.terms[:-1]}
    formula = step.formula
    if step.kind == "rank":  # factors of 1 say nothing
        formula = " * ".join(name for name in formula.split(" * ") if name in terms and terms[name].value != 1)
    names = sorted(terms, key=len, reverse=True)
    if not names:
        return f"{formula} = {_shown(result)}"
    words = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, names))})(?![\w-])")
    return f"{words.sub(lambda match: _shown(terms[match[0]]), formula)} = {_shown(result)}"


def _shown(term: Term) -> str:
    """A number with its unit; sizes as GiB, a factor without a word."""
    if term.unit == "bytes" and abs(term.value) >= MIB:
        return show(term.value / GIB, "GiB")
    return show(term.value, None if term.unit in ("times", "ratio", "") else term.unit)
