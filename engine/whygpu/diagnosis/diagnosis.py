"""A diagnosis: figures in, causes with their signs and actions out, with the trace of every rule that spoke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.chain.environment import known_value, plain
from whygpu.consult.driver import judge
from whygpu.diagnosis.differential import Differential
from whygpu.diagnosis.figures import figures_of
from whygpu.diagnosis.parts import Ending, FoundCause, FoundSign, Measured, NextMeasure
from whygpu.diagnosis.weigh import leader, ranked, signs_of, standing, sums, weights
from whygpu.explain.conditions import Judge
from whygpu.explain.record import Recorder
from whygpu.explain.templates import fill_template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whygpu.chain.engines import Chain
    from whygpu.consult.consultation import SessionResult
    from whygpu.diagnosis.figures import Figures
    from whygpu.errors import Problem
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.causes import Cause
    from whygpu.knowledge.rules import Rule, Sign
    from whygpu.measured.measurement import Measurement
    from whygpu.trace import Origin, Trace

WORK = "measured.work"
"""What was at work, training or serving: concluded by rules."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found. ``work``: training or serving, None where it is not known.

    ``causes``: every cause that something measured speaks of, by what speaks for it; ``next``: what to measure next,
    the best first; ``questions``: what looks odd in what was measured.
    """

    knowledge_version: str
    knowledge_hash: str
    engine: str
    status: Ending
    work: str | None
    measured: tuple[Measured, ...]
    causes: tuple[FoundCause, ...]
    next: tuple[NextMeasure, ...]
    questions: tuple[Problem, ...]
    trace: Trace

    @property
    def first(self) -> FoundCause | None:
        """The cause that most speaks for; None where nothing speaks for any."""
        return self.causes[0] if self.causes and self.causes[0].weight > 0 else None


def diagnose(knowledge: Knowledge, measurements: Sequence[Measurement], chain: Chain, *, ask: bool = True) -> Diagnosis:
    """The causes of what was measured. ``knowledge`` and ``chain``: of the rules that diagnose.

    ``ask``: look for what to measure next, too.
    """
    figures = figures_of(measurements, knowledge)
    session = judge(knowledge, {name: known_value(value) for name, value in figures.values.items()}, chain)
    worth = weights(knowledge)
    found = sums(session.fired, worth)
    causes = tuple(
        _cause(knowledge.causes[cause], session, found, worth)
        for cause in ranked(knowledge.causes, found)
        if cause in found
    )
    work = plain(session.environment.value(WORK)) if WORK in knowledge.vocabulary else None
    return Diagnosis(
        knowledge_version=knowledge.version,
        knowledge_hash=knowledge.hash,
        engine=chain.engine,
        status="found" if leader(found) else "open" if any(item.weight > 0 for item in causes) else "none",
        work=None if work is None else str(work),
        measured=tuple(_measured(figures, knowledge)),
        causes=causes,
        next=Differential(knowledge, figures.values, session, worth).best() if ask else (),
        questions=figures.questions,
        trace=_Recorder(session, figures).trace(figures.computed),
    )


def _measured(figures: Figures, knowledge: Knowledge) -> list[Measured]:
    found = []
    for name, value in figures.values.items():
        spec = knowledge.vocabulary[name]
        computed = figures.computed.get(name)
        where = figures.places[name] if computed is None else computed.formula
        found.append(Measured(name, value, spec.unit, spec.meaning, where, computed is not None))
    return found


def _cause(cause: Cause, session: SessionResult, found: Mapping[str, float], worth: Mapping[str, float]) -> FoundCause:
    signs = [_sign(rule, sign, session, worth) for rule, sign in signs_of(session.fired) if sign.cause == cause.id]
    signs.sort(key=lambda sign: -sign.weight if sign.weight > 0 else 1 - sign.weight)
    claims = dict.fromkeys((*(claim for sign in signs for claim in sign.claims), *cause.sources))
    return FoundCause(
        id=cause.id,
        name=cause.name,
        means=cause.means,
        standing=standing(cause.id, found, worth),
        weight=found[cause.id],
        signs=tuple(signs),
        actions=cause.actions,
        confirm=cause.confirm,
        claims=tuple(claims),
        place=str(cause.location),
    )


def _sign(rule: Rule, sign: Sign, session: SessionResult, worth: Mapping[str, float]) -> FoundSign:
    weight = worth[sign.strength]
    return FoundSign(
        rule=rule.id,
        title=rule.title,
        text=fill_template(rule.because, session.environment, session.knowledge),
        strength=sign.strength,
        weight=weight if sign.favourable else -weight,
        conditions=Judge(session.environment, session.knowledge.vocabulary).outcomes(rule),
        claims=rule.sources,
        place=str(rule.location),
    )


class _Recorder(Recorder):
    """Records what was measured with the place where it is said."""

    def __init__(self, session: SessionResult, figures: Figures) -> None:
        super().__init__(session)
        self._places = figures.places

    def _origin(self, name: str, _index: int | None) -> tuple[Origin, str, tuple[str, ...]]:
        place = self._places.get(name)
        return super()._origin(name, _index) if place is None else ("measured", place, ())
