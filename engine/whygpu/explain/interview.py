"""Which question matters now: only one whose answer can still change the recommendation, the most decisive first.

The knowledge says how often each question decides, as measured over random users (``decides`` in kb/questions.yaml). In
that order each is tried: the same consultation with another answer. The first that changes the recommendation is asked;
where none does, the interview is over. One topic is finished before the next begins.

What is recommended changes where it falls behind another. To see that it does, a few accelerators are enough; only that
nothing overtakes it takes all of them. So each answer is tried on the best few first, which takes a third as long.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from whygpu.chain.engines import EvaluatorChain
from whygpu.collector import collector_at_rest
from whygpu.consult.driver import consult
from whygpu.explain.open_questions import settled, waiting
from whygpu.explain.plan_maker import PlanMaker
from whygpu.explain.rerun import Among, choice, rerun, rerun_or_none
from whygpu.explain.rows import Rows
from whygpu.explain.templates import fill_template
from whygpu.explain.trials import Value, trials
from whygpu.language.tree import All, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from whygpu.answers import Answers
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Plan
    from whygpu.explain.rows import Identity
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.questions import Question
    from whygpu.knowledge.rules import Rule, Template
    from whygpu.language.tree import Expression

_THE_WORK = ("phase", "model")
"""What the work is: always asked, for without it nothing is sized."""
_MOST_KEPT = 20_000
_UNMEASURED = 0.25
"""How often a question is taken to decide where nobody measured it: as the usual one."""
_AUTO = "auto"
"""The choice that leaves it to the rules."""
_IN_TOPIC = 0.25
"""A topic goes on while this share of the best question elsewhere hangs on its next one."""
_FEW = 4
"""Accelerators on which answers are tried first."""
_WITHOUT_HOPE = 40
"""Answers that are tried at most where nothing is recommended: what allows a plan is told beside the questions."""

_Round: TypeAlias = "tuple[Sequence[Question], int, int | None]"
"""Questions, and from which of the answers worth trying to which they are tried."""


@dataclass(frozen=True, slots=True)
class AnswerEffect:
    """What is recommended with one answer to a question."""

    value: Value
    identity: Identity | None
    changes: bool
    """Whether that is another recommendation than without the answer."""
    _plan: Callable[[], Plan | None] = field(compare=False, repr=False)

    @property
    def plan(self) -> Plan | None:
        """What is recommended then, made when it is asked for; None where nothing would be left."""
        return self._plan()


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """A question that can still change the recommendation, and why it is asked."""

    question: Question
    assumed: Value | None
    """What holds until it is answered; None where nothing is assumed."""
    because: str
    """Why that is assumed; empty where nothing is."""
    rules: tuple[Rule, ...]
    """The rules that wait for it, those that reject plans first."""
    contenders: tuple[str, ...]
    """The accelerators that are in front so far, the best first."""
    telling: Value | None
    """An answer that changes the recommendation; None for what the work is."""
    _witness: Callable[[], AnswerEffect | None] = field(compare=False, repr=False)

    @property
    def id(self) -> str:
        """The answer's key."""
        return self.question.id

    @property
    def witness(self) -> AnswerEffect | None:
        """What that answer does, of all accelerators, found when it is asked for; None for what the work is."""
        return self._witness()


@dataclass(frozen=True, slots=True)
class Known:
    """What a consultation recommended, and the plan itself once somebody asked for it."""

    identity: Identity | None
    found_anew: bool
    """Whether the answer asks for other plans, which takes several times as long as to judge the same ones."""
    plans: list[Plan | None] = field(default_factory=list)


class Memory:
    """What consultations with other answers recommended: an interview asks the same again after each step."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[tuple[object, ...], Known] = {}
        self._lock = threading.Lock()

    def get(self, key: tuple[object, ...]) -> Known | None:
        """What was recommended, where it is known."""
        with self._lock:
            return self._known.get(key)

    def keep(self, key: tuple[object, ...], found: Known) -> None:
        """Remember it; the oldest goes where there are too many."""
        with self._lock:
            if len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = found


@dataclass(frozen=True, slots=True)
class _Tried:
    """What answers are tried in the place of: a consultation, and what it recommends."""

    consultation: Consultation
    before: Identity | None
    planner: Among | None = None
    """What finds its plans on some of the accelerators; None: on all."""


class Interview:
    """What can still be asked at one set of answers."""

    def __init__(
        self,
        knowledge: Knowledge,
        answers: Answers,
        memory: Memory,
        *,
        said: Sequence[str] = (),
        today: date | None = None,
        consultation: Consultation | None = None,
    ) -> None:
        """``said``: what was answered, and what was left to what is assumed, in that order: what comes before all
        answers was left by choosing the rest; ``consultation``: that of the answers, where it is there.

        Raises AnswerError where the model is no model.
        """
        self._knowledge, self._memory, self._said = knowledge, memory, tuple(said)
        self.consultation = consultation or consult(knowledge, answers, EvaluatorChain(), today)
        self._assumed = {item.question.id: item for item in self.consultation.applied.assumed}
        self._before = choice(self.consultation)
        self._tried: dict[str, tuple[Value, ...]] = {}
        self._slow: set[str] = set()
        """Questions of which some answer asked for other plans."""

    def next(self) -> NextQuestion | None:
        """The question to ask now; None where no answer can change the recommendation."""
        with collector_at_rest():
            return self._next()

    def _next(self) -> NextQuestion | None:
        for question in self.candidates:
            if question.id in _THE_WORK:
                return self._asked(question, None)
        rest = [item for item in self.candidates if not self._chosen and left_to_rules(self.consultation, item)]
        asked = [item for item in self.candidates if item not in rest]
        tried = self._tries(asked, rest)
        for question, effect in tried if self._before is not None else islice(tried, _WITHOUT_HOPE):
            if effect.changes:
                return self._asked(question, effect.value)
        return None

    def _tries(self, asked: Sequence[Question], rest: Sequence[Question]) -> Iterator[tuple[Question, AnswerEffect]]:
        """What answers do, on the best few accelerators and then on all."""
        for tried in filter(None, (self._few, self._all)):
            for questions, begin, end in self._rounds(asked, rest):
                for question in questions:
                    for effect in self._effects(question, tried, begin, end):
                        yield question, effect

    def _rounds(self, asked: Sequence[Question], rest: Sequence[Question]) -> Iterator[_Round]:
        """Every question's most telling answer is tried before anyone's second, and all that ask for the same plans
        before more of the others: what is found early needs few consultations, and quick ones.
        """
        yield asked, 0, 1
        if self._before is None:  # another number format, say, is what may allow a plan
            yield rest, 0, None
        yield [item for item in asked if item.id not in self._slow], 1, None
        yield asked, 1, 3
        yield asked, 3, None
        yield rest, 0, None

    @cached_property
    def candidates(self) -> tuple[Question, ...]:
        """Questions that apply and have no answer yet: the work first, then the open topic, then by what waits."""
        given = self.consultation.answers.given
        open_ = [
            item
            for item in self.consultation.applied.applicable
            if item.id not in given and item.id not in self._said and not settled(self.consultation, item)
        ]
        topics = {item.id: item.topic for item in self._knowledge.questions}
        current = next((topics[key] for key in reversed(self._said or tuple(given)) if key in topics), None)
        weight = {item.id: _UNMEASURED if item.decides is None else item.decides for item in open_}
        enough = _IN_TOPIC * max(weight.values(), default=0.0)

        def order(item: Question) -> tuple[int, bool, float]:
            work = _THE_WORK.index(item.id) if item.id in _THE_WORK else len(_THE_WORK)
            return work, item.topic != current or weight[item.id] < enough, -weight[item.id]

        return tuple(sorted(open_, key=order))

    @property
    def choosable(self) -> tuple[Question, ...]:
        """The candidates once the work is known: who says which of them they can answer is asked only those."""
        return () if any(item.id in _THE_WORK for item in self.candidates) else self.candidates

    @property
    def _chosen(self) -> bool:
        """Whether what is open was chosen from the list: what was not was left before anything was answered."""
        return bool(self._said) and self._said[0] not in self.consultation.answers.given

    @property
    def begun(self) -> bool:
        """Whether anything was answered, or left to what is assumed, beside what the work is."""
        topics = {item.id: item.topic for item in self._knowledge.questions}
        work = topics.get(_THE_WORK[0])
        return any(topics.get(key, work) != work for key in (*self._said, *self.consultation.answers.given))

    def irrelevant(self) -> tuple[Question, ...]:
        """Questions of which no answer that was tried changes the recommendation: every choice, and numbers around
        each one that rules compare with.
        """
        return tuple(
            item
            for item in self.candidates
            if item.id not in _THE_WORK and not any(effect.changes for effect in self._effects(item, self._all))
        )

    def effects(self, question: Question) -> tuple[AnswerEffect, ...]:
        """What is recommended with each answer worth trying; those that cannot be used are left out."""
        return tuple(self._effects(question, self._all))

    @cached_property
    def _all(self) -> _Tried:
        return _Tried(self.consultation, self._before)

    @cached_property
    def _few(self) -> _Tried | None:
        """On the best few alone; None where nothing is recommended, or among these something else."""
        plan_set = self.consultation.plans.plan_set
        rows = plan_set.card[Rows(self.consultation).heads].tolist()
        cards = frozenset(list(dict.fromkeys(plan_set.cards.accelerators[row].id for row in rows))[:_FEW])
        if not cards:
            return None
        consultation = rerun(self.consultation, {}, Among(cards))
        found = choice(consultation)
        return _Tried(consultation, found, Among(cards)) if found == self._before else None

    def _asked(self, question: Question, telling: Value | None) -> NextQuestion:
        item = self._assumed.get(question.id)
        plan_set = self.consultation.plans.plan_set
        first = plan_set.card[Rows(self.consultation).heads[:3]].tolist()
        cards = dict.fromkeys(plan_set.cards.accelerators[card].name for card in first)
        return NextQuestion(
            question,
            None if item is None else item.value,
            "" if item is None else self.because(item.because),
            self._live(question.name, waiting(self._knowledge, question.name)),
            tuple(cards),
            telling,
            partial(self._witness, question.id, telling),
        )

    def _witness(self, key: str, telling: Value | None) -> AnswerEffect | None:
        return None if telling is None else self._effect(key, telling, self._all)

    def because(self, template: Template) -> str:
        """Why something is assumed, in words."""
        return fill_template(template, self.consultation.session.environment, self._knowledge)

    def _live(self, name: str, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """The rules that an answer can still make fire or fall silent: nothing else keeps them silent on every plan."""
        return tuple(rule for rule in rules if not any(self._fails(part, rule) for part in _parts(rule, name)))

    def _fails(self, part: Expression, rule: Rule) -> bool:
        result = self.consultation.session if rule.scope == "session" else self.consultation.plans
        return result.environment.evaluator.truth(part).false is True

    def _effects(
        self, question: Question, tried: _Tried, begin: int = 0, end: int | None = None
    ) -> Iterator[AnswerEffect]:
        for value in self.worth_trying(question)[begin:end]:
            effect = self._effect(question.id, value, tried)
            if effect is not None:
                yield effect

    def worth_trying(self, question: Question) -> tuple[Value, ...]:
        """Answers to a question that are tried, the most telling first."""
        if question.id not in self._tried:
            spec = self._knowledge.vocabulary[question.name]
            item = self._assumed.get(question.id)
            self._tried[question.id] = trials(self.consultation, spec, None if item is None else item.value)
        return self._tried[question.id]

    def _effect(self, key: str, value: Value, tried: _Tried) -> AnswerEffect | None:
        c, after = tried.consultation, None
        given = sorted({**c.answers.given, key: value}.items(), key=lambda pair: pair[0])
        asked = (self._knowledge.hash, c.today, c.answers.life, repr(given), tried.planner)
        known = self._memory.get(asked)
        if known is None:
            after = rerun_or_none(c, {key: value}, tried.planner)
            if after is None:
                return None
            known = Known(choice(after), _finds_anew(c, after))
            self._memory.keep(asked, known)
        if known.found_anew:
            self._slow.add(key)
        plan = partial(self._plan, known, key, value, after)
        return AnswerEffect(value, known.identity, known.identity != tried.before, plan)

    def _plan(self, known: Known, key: str, value: Value, after: Consultation | None) -> Plan | None:
        if not known.plans:
            known.plans.append(PlanMaker(after or rerun(self.consultation, {key: value})).best())
        return known.plans[0]


def _finds_anew(before: Consultation, after: Consultation) -> bool:
    """Whether the plans are others: by how they run, for the numbers of ways depend on what was asked before."""
    one, other = before.plans, after.plans
    if (one.work, one.options) != (other.work, other.options):
        return True
    if not np.array_equal(one.plan_set.card, other.plan_set.card):
        return True
    numbers = np.unique(np.stack([one.plan_set.configuration, other.plan_set.configuration]), axis=1)
    ways, others = one.plan_set.configurations, other.plan_set.configurations
    return any(ways[number] != others[another] for number, another in numbers.T.tolist())


def left_to_rules(consultation: Consultation, question: Question) -> bool:
    """Whether saying nothing is the usual answer, as with the number format."""
    spec = consultation.knowledge.vocabulary[question.name]
    assumed = next((item for item in consultation.applied.assumed if item.question.id == question.id), None)
    return assumed is not None and assumed.value in (spec.unanswered, _AUTO)


def _parts(rule: Rule, name: str) -> tuple[Expression, ...]:
    """What else must hold for a rule that reads a name."""
    whole = rule.condition
    return tuple(part for part in (whole.parts if isinstance(whole, All) else ()) if name not in _names(part))


def _names(part: Expression) -> set[str]:
    return {item.name for item in names(part)}
