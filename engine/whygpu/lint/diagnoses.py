"""Checks what a diagnosis rests on: the worked diagnoses, and that rules, causes and measures go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.diagnosis.weigh import signs_of
from whygpu.errors import AnswerError, Problem
from whygpu.language.tree import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.causes import DiagnosisCase
    from whygpu.lint.finding import Finding


def check_diagnoses(
    kb: KnowledgeBase, engine: EngineName | None = None, cases: tuple[DiagnosisCase, ...] | None = None
) -> Iterator[Problem]:
    """A problem for each expectation that a worked diagnosis does not meet; ``cases``: only these."""
    for case in kb.knowledge.diagnoses if cases is None else cases:
        ask = case.expected.next is not None
        try:
            found = kb.diagnose({"measurement": 1, **case.measured}, engine=engine, ask=ask)
        except AnswerError as error:
            for problem in error.problems:
                message = f"diagnosis '{case.id}': {problem.message}"
                yield Problem(problem.code, message, case.location, problem.help)
            continue
        for message in _misses(case, found):
            yield Problem("case-failed", f"diagnosis '{case.id}' expects {message}", case.location, _stand(found))


def _misses(case: DiagnosisCase, found: Diagnosis) -> Iterator[str]:
    """What is expected and is not so."""
    wanted = case.expected
    weights = {cause.id: cause.weight for cause in found.causes}
    fired = {step.rule for step in found.trace.steps if step.kind == "rule" and step.status == "fired"}
    first = found.first.id if found.first is not None else "nothing"
    if wanted.likely and first not in wanted.likely:
        yield f"{' or '.join(wanted.likely)} first; it is {first}"
    for cause in wanted.causes:
        if weights.get(cause, 0.0) <= 0:
            yield f"that something speaks for {cause}; nothing does on balance"
    for cause in wanted.no_causes:
        if weights.get(cause, 0.0) > 0:
            yield f"that nothing speaks for {cause} on balance; something does"
    for rule in wanted.fires:
        if rule not in fired:
            yield f"rule '{rule}' to fire; it does not"
    for rule in wanted.silent:
        if rule in fired:
            yield f"rule '{rule}' to stay silent; it fires"
    following = found.next[0].figure if found.next else "nothing"
    if wanted.next is not None and following != wanted.next:
        yield f"{wanted.next} to be asked for next; it is {following}"


def _stand(found: Diagnosis) -> str:
    shown = ", ".join(f"{cause.id} {cause.weight:+g}" for cause in found.causes)
    return f"the causes stand so: {shown}" if shown else "no rule gives a sign"


def unsigned_causes(knowledge: Knowledge) -> Iterator[Finding]:
    """Causes that no sign speaks for."""
    signed = {sign.cause for _, sign in signs_of(knowledge.rules) if sign.favourable}
    for cause in knowledge.causes.values():
        if cause.id not in signed:
            yield cause.location, f"no rule diagnoses '{cause.id}'", "add one, or remove the cause"


def unmeasured_figures(knowledge: Knowledge) -> Iterator[Finding]:
    """Figures that signs rest on and that nothing says how to measure."""
    told: set[str] = set()
    for rule, _ in signs_of(knowledge.rules):
        for name in sorted({item.name for item in names(rule.condition)} - told):
            told.add(name)
            if name.startswith("measured.") and name not in knowledge.measures:
                yield rule.location, f"nothing says how '{name}' is measured", "add it to 'measures' in causes.yaml"


def idle_measures(knowledge: Knowledge) -> Iterator[Finding]:
    """Measures of figures that no sign rests on."""
    tested = {item.name for rule, _ in signs_of(knowledge.rules) for item in names(rule.condition)}
    for measure in knowledge.measures.values():
        if measure.name not in tested:
            yield measure.location, f"no sign rests on '{measure.name}'", "use it in a rule, or remove it"
