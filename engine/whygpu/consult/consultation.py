"""What a consultation decided: a record for each stage, made once and never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.chain.environment import plain
from whygpu.knowledge.rules import Consider

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from whygpu.answers import Answers
    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.questions import Question, Unasked
    from whygpu.knowledge.rules import Rule, Template
    from whygpu.plans.costs import Costs
    from whygpu.plans.plan_set import Options, PlanSet
    from whygpu.plans.rank import Ranking
    from whygpu.plans.tally import VerdictTally
    from whygpu.plans.work import Work


@dataclass(frozen=True, slots=True)
class DefaultApplied:
    """A value assumed for a question that was not answered."""

    question: Question
    value: float | bool | str
    because: Template


@dataclass(frozen=True, slots=True)
class AppliedAnswers:
    """What was asked: the questions that apply, and what was assumed, ignored or doubted."""

    applicable: tuple[Question, ...]
    """Answered or not, in the order they are asked."""
    assumed: tuple[DefaultApplied, ...]
    irrelevant: tuple[Question | Unasked, ...]
    """What was answered though it does not apply."""
    doubts: tuple[str, ...]
    """What intake was not sure of in the model."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Session rules that conclude different values for one name; it stays unknown."""

    name: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionResult:
    """What the session rules decided."""

    knowledge: Knowledge
    environment: SessionEnvironment
    """Every name of the session: answers, assumptions, conclusions."""
    fired: tuple[Rule, ...]
    """Rules that fired and stand, in order."""
    defeated: tuple[tuple[Rule, str], ...]
    """Rules that would stand but for another's override, and whose."""
    clashes: tuple[Clash, ...]
    origins: Mapping[str, str]
    """Names concluded, and the rule (or 'otherwise') that did."""

    def answered(self, key: str) -> float | bool | str | None:
        """What an answer came to, given or assumed; None where it is unknown or does not apply."""
        spec = self.knowledge.name_by_answer.get(key)
        return None if spec is None else plain(self.environment.value(spec.name))

    def number(self, key: str) -> float | None:
        """The same, where it is a number."""
        value = self.answered(key)
        return value if isinstance(value, float) else None

    def concluded(self, name: str) -> float | None:
        """The number that rules conclude for a name; None where they conclude none."""
        found = plain(self.environment.value(name)) if name in self.knowledge.vocabulary else None
        return found if isinstance(found, float) else None

    def holds(self, name: str) -> bool:
        """Whether rules conclude that a name is true."""
        return name in self.knowledge.vocabulary and plain(self.environment.value(name)) is True

    def considered(self, what: str) -> tuple[str, ...]:
        """The options of a kind ("format", "kv_format", "method", "sharding") that rules add, each once."""
        found = (
            effect.option
            for rule in self.fired
            for effect in rule.effects
            if isinstance(effect, Consider) and effect.what == what
        )
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What was decided about the plans; all of it is there, and empty, where no plan could be made."""

    work: Work
    options: Options
    plan_set: PlanSet
    environment: PlanEnvironment
    """Every name of the plans, as columns."""
    costs: Costs
    alive: Mask
    """Plans that no hard rule rejects."""
    unverified: Mask
    """Plans that a hard rule cannot judge, for want of a figure."""
    fired: Mapping[str, Mask]
    """Rules that fired and stand, by id, each with the plans that it stands for."""
    defeated: tuple[tuple[Rule, str, Mask], ...]
    """Rules that would stand but for another's override: the rule, whose override, for which plans."""
    unchecked: tuple[Rule, ...]
    """Hard rules that can judge no plan, for want of a figure that no plan has."""
    tally: VerdictTally
    ranking: Ranking
    objections: tuple[str, ...]
    """Where every plan left has a strong verdict against it by one criterion: the rules that say so."""

    def __len__(self) -> int:
        """How many plans there are."""
        return len(self.plan_set)


@dataclass(frozen=True, slots=True)
class Consultation:
    """All that was decided, for the advice, the trace and questions about it."""

    knowledge: Knowledge
    answers: Answers
    engine: str
    today: date
    """The day that prices are judged by."""
    applied: AppliedAnswers
    session: SessionResult
    plans: PlanResult
