"""A consultation: answers in, everything that was decided out. The driver of both engines.

Facts and assumptions; session rules; plans enumerated; hard rules; values over the plans left; soft rules; ranking.
An engine is asked only which rules of a stratum fire; overrides, conclusions and ``otherwise`` are settled here, once
for both.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.answers import Answers
from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.environment import PlanEnvironment, SessionEnvironment, known_value, plain, unknown_of
from whygpu.chain.strata import used_names
from whygpu.checks.cost.money import hours_a_month
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.errors import AnswerError, Location, Problem
from whygpu.intake.resolve import shape_of
from whygpu.knowledge.rules import Conclude, Consider, Verdict
from whygpu.language import values as v
from whygpu.plans.columns import Costs, comparable, costs_of, fill, money_of, watts_of
from whygpu.plans.counting import count
from whygpu.plans.enumerate import Planner
from whygpu.plans.existing import plans_with_owned
from whygpu.plans.plan_set import Options, PlanSet, Targets
from whygpu.plans.price import PriceList, price_list, spot_list
from whygpu.plans.purchase import OWN_DEPLOYMENTS, UNATTENDED, terms_of
from whygpu.plans.rank import Ranking, rank
from whygpu.plans.tally import VerdictTally, tally
from whygpu.plans.work import Work, format_checks, model_facts, setup_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from whygpu.chain.engines import Chain, Mask
    from whygpu.checks.model_shape import ModelShape
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.questions import Assumption, DerivedValue, Question, Unasked
    from whygpu.knowledge.rules import Grade, Rule, Template
    from whygpu.knowledge.strata import Stratum
    from whygpu.language.tree import Expression

# What could turn a name into a link, an image or code where texts are rendered as Markdown
_MARKUP = re.compile(r"([\\`*\[\]<>!|])")


PHASE_OF_LIFE = "workload.life"
"""The name that says which phase of a lifecycle the consultation is about."""
LEAST_REPLICAS = "workload.least_replicas"
"""The name by which rules say how few replicas a service may rest on."""
USUAL_HOURS = "workload.usual_hours"
"""The name of the longest time that a training run usually takes: what plans are sized for without a deadline."""
USUAL_BATCH = "workload.usual_batch"
"""The name of the most samples that a training step, or a replica in batch work, usually has: what plans are filled up
to where nobody gave any."""


USELESS_BY = ("latency", "reliability", "throughput")
"""Criteria by which a plan with a strong verdict against it is no answer: too slow to use, or too frail."""


@dataclass(frozen=True, slots=True)
class DefaultApplied:
    """A value taken for an unanswered question."""

    question: Question
    value: float | bool | str
    because: str


@dataclass(frozen=True, slots=True)
class Clash:
    """Rules that conclude different values for one name; it stays unknown (for these plans)."""

    name: str
    rules: tuple[str, ...]
    plans: Mask | None


@dataclass(slots=True)
class Consultation:
    """All that was decided, for the advice, the trace and questions about it."""

    knowledge: Knowledge
    answers: Answers
    engine: str
    session: SessionEnvironment
    today: date = field(default_factory=date.today)
    """The day that prices are judged by."""
    assumed: list[DefaultApplied] = field(default_factory=list)
    fired: list[Rule] = field(default_factory=list)
    """Session rules that fired and stand, in order."""
    defeated: list[tuple[Rule, str, Mask | None]] = field(default_factory=list)
    """Rules that would stand but for another's override: the rule, who defeats it, for which plans."""
    fired_plans: dict[str, Mask] = field(default_factory=dict)
    """Plan rules that fired and stand, by id."""
    clashes: list[Clash] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    """Session names concluded, and the rule (or 'otherwise') that did."""
    work: Work | None = None
    options: Options | None = None
    targets: Targets = field(default_factory=Targets)
    plan_set: PlanSet | None = None
    plans: PlanEnvironment | None = None
    prices: PriceList | None = None
    costs: Costs | None = None
    alive: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    unverified: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    unchecked: list[Rule] = field(default_factory=list)
    """Hard rules that can judge no plan, for want of a figure that no plan has."""
    tally: VerdictTally | None = None
    ranking: Ranking | None = None
    objections: tuple[str, ...] = ()
    """Where every plan left has a strong verdict against it by one criterion: the rules that say so."""
    doubts: tuple[str, ...] = ()
    """What intake was not sure of in the model."""
    applicable: list[Question] = field(default_factory=list)
    """Questions that apply, answered or not, in the order they are asked."""
    irrelevant: list[Question | Unasked] = field(default_factory=list)
    """What was answered though it does not apply."""


def consult(
    knowledge: Knowledge,
    answers: Answers,
    chain: Chain,
    engine: str,
    today: date | None = None,
    planner: Planner = plans_with_owned,
    reshape: Callable[[ModelShape], ModelShape] | None = None,
) -> Consultation:
    """Run one consultation over the plans that ``planner`` finds; raises AnswerError where the model is no model.

    ``reshape`` puts another model in the place of the one answered: how far does the answer hang on its size?
    """
    session = SessionEnvironment(knowledge)
    result = Consultation(knowledge, answers, engine, session, today or date.today())
    with chain:
        _Run(result, chain, result.today, planner, reshape).run()
    return result


def inapplicable(knowledge: Knowledge, answers: Answers) -> tuple[str, ...]:
    """The keys answered though their questions do not apply; raises AnswerError where the model is no model."""
    result = Consultation(knowledge, answers, "", SessionEnvironment(knowledge))
    _Run(result, EvaluatorChain(), date.today())._answer()
    return tuple(question.id for question in result.irrelevant)


def judge(knowledge: Knowledge, facts: Mapping[str, v.Value], chain: Chain, engine: str) -> Consultation:
    """What the session rules say about these facts alone: nothing is asked or assumed, and there are no plans."""
    result = Consultation(knowledge, Answers({}, {}), engine, SessionEnvironment(knowledge))
    for name, value in facts.items():
        result.session.set(name, value)
    with chain:
        run = _Run(result, chain, date.today())
        for stratum in knowledge.strata.session:
            run._session_stratum(stratum)
    return result


class _Run:
    def __init__(
        self,
        result: Consultation,
        chain: Chain,
        today: date,
        planner: Planner = plans_with_owned,
        reshape: Callable[[ModelShape], ModelShape] | None = None,
    ) -> None:
        self._result, self._chain, self._today, self._planner = result, chain, today, planner
        self._reshape = reshape
        self._knowledge = result.knowledge
        self._session = result.session
        self._overriders: dict[str, list[str]] = {}
        for rule in self._knowledge.rules:
            for other in rule.overrides:
                self._overriders.setdefault(other, []).append(rule.id)

    def run(self) -> None:
        self._answer()
        self._size()
        for stratum in self._knowledge.strata.session:
            self._session_stratum(stratum)
        self._enumerate()
        if self._result.plans is None:
            return
        for stratum in self._knowledge.strata.hard:
            self._plan_stratum(stratum, self._result.plans)
            self._reject(stratum, self._result.plans)
        self._compare(self._result.plans)
        self._set_values(self._result.plans)
        for stratum in self._knowledge.strata.soft:
            self._plan_stratum(stratum, self._result.plans)
        self._rank()

    # answers and assumptions

    def _answer(self) -> None:
        answers = self._result.answers
        self._session.provide(format_checks(self._knowledge))
        if PHASE_OF_LIFE in self._knowledge.vocabulary:
            self._session.set(PHASE_OF_LIFE, known_value(answers.life))
        for key, value in answers.values.items():
            self._session.set(self._knowledge.name_by_answer[key].name, known_value(value))
        if answers.model is not None:  # what it is for and how large it is are asked before it
            self._shape(answers.model)
        for question in self._knowledge.questions:
            answered = question.id in answers.values or question.id in answers.locations
            applies = self._holds(question.when)
            if applies:
                self._result.applicable.append(question)
            if answered and not applies:
                self._result.irrelevant.append(question)
                if question.name:  # what is ignored must not count anywhere
                    self._session.set(question.name, unknown_of(self._knowledge.vocabulary[question.name]))
            if not answered and applies:
                self._assume(question)
            if question.id == "model" and (answered or applies):
                self._preset()
        for item in self._knowledge.unasked:
            if item.id in answers.values and not self._holds(item.when):
                self._result.irrelevant.append(item)
                self._session.set(item.name, unknown_of(self._knowledge.vocabulary[item.name]))

    def _holds(self, when: Expression) -> bool:
        return bool(self._session.evaluator.truth(when).true)

    def _assume(self, question: Question) -> None:
        assumption = next((item for item in question.assumptions if self._holds(item.when)), None)
        if assumption is None:
            return
        value = self._assumed_value(assumption)
        if isinstance(value, float) and self._knowledge.vocabulary[question.name].integer:
            value = float(math.ceil(value - 1e-9))  # half a request in flight is one: assume enough, not too little
        if value is not None:
            self._session.set(question.name, known_value(value))
            because = fill_template(assumption.because, self._session, self._knowledge)
            self._result.assumed.append(DefaultApplied(question, value, because))

    def _assumed_value(self, assumption: Assumption) -> float | bool | str | None:
        return plain(self._session.evaluator.value(assumption.value))

    def _preset(self) -> None:
        if self._result.work is not None:
            return
        word = plain(self._session.value(self._knowledge.name_by_answer["model"].name))
        if isinstance(word, str):
            self._shape(word)

    def _shape(self, model: str | Mapping[str, Any]) -> None:
        location = self._result.answers.locations.get("model", Location("answers"))
        task = str(self._result.answers.values.get("task", ""))
        shape, self._result.doubts = shape_of(model, self._knowledge.catalogue, location, task)
        if self._reshape is not None:
            shape = self._reshape(shape)
        for name, value in model_facts(shape).items():
            if name in self._knowledge.vocabulary:
                self._session.set(name, known_value(value))
        self._result.work = Work(shape, setup_of(self._knowledge, self._session), self._knowledge)

    def _size(self) -> None:
        work = self._result.work
        if work is None:
            raise AnswerError(
                [
                    Problem(
                        "no-model",
                        "no model is given and none can be assumed",
                        Location("answers"),
                        "add 'model:', a preset's name or a mapping of its figures",
                    )
                ]
            )
        self._result.work = work = Work(work.shape, setup_of(self._knowledge, self._session), self._knowledge)
        self._session.provide(work.checks())

    # session rules

    def _session_stratum(self, stratum: Stratum) -> None:
        names = self._chain.fired(stratum, self._session)
        standing_rules = {rule.id for rule in self._result.fired}
        for rule in stratum.rules:
            if rule.id not in names:
                continue
            by = next((other for other in self._overriders.get(rule.id, ()) if other in standing_rules), None)
            if by is not None:
                self._result.defeated.append((rule, by, None))
            else:
                self._result.fired.append(rule)
        for name in stratum.settles:
            self._settle(name)

    def _settle(self, name: str) -> None:
        said = [
            (effect.value, rule.id)
            for rule in self._result.fired
            for effect in rule.effects
            if isinstance(effect, Conclude) and effect.name == name
        ]
        values = {value for value, _ in said}
        if len(values) == 1:
            self._session.set(name, known_value(said[0][0]))
            self._result.origins[name] = said[0][1]
        elif len(values) > 1:
            self._result.clashes.append(Clash(name, tuple(rule for _, rule in said), None))
        else:
            otherwise = self._knowledge.vocabulary[name].otherwise
            if otherwise is not None and not self._is_open(name):
                self._session.set(name, known_value(otherwise))
                self._result.origins[name] = "otherwise"

    def _is_open(self, name: str) -> bool:
        """Whether a rule that could still conclude the name cannot be decided."""
        for rule in self._knowledge.concluders.get(name, ()):
            truth = self._session.evaluator.truth(rule.condition)
            if not truth.true and not truth.false:
                return True
        return False

    # plans

    def _enumerate(self) -> None:
        work = self._result.work
        if work is None:
            return
        # by now the format to size the work in is concluded
        self._result.work = work = Work(work.shape, setup_of(self._knowledge, self._session), self._knowledge)
        self._result.options = options = self._options()
        self._result.targets = targets = self._targets()
        found = self._planner(work, self._allowed(), options, targets)
        self._result.plan_set = found
        if not len(found):
            return
        self._result.costs = costs = self._costs(found, work)
        size = len(found)
        self._result.plans = PlanEnvironment(self._knowledge, self._session, size)
        named = self._result.answers.accelerators is not None
        fill(self._result.plans, self._knowledge, found, costs, np.datetime64(self._today), named)
        self._result.alive = np.ones(size, dtype=np.bool_)
        self._result.unverified = np.zeros(size, dtype=np.bool_)

    def _costs(self, found: PlanSet, work: Work) -> Costs:
        deployment = str(self._answered("deployment") or "")
        months, electricity = self._number("service_months"), self._number("electricity_usd_per_kwh")
        hours = hours_a_month(self._number("hours_per_day") or 24)
        terms = terms_of(self._knowledge, deployment, months, electricity, hours)
        answers = self._result.answers
        self._result.prices = prices = price_list(self._knowledge, answers, self._today)
        spot = spot_list(self._knowledge, answers, self._today)
        return costs_of(found, prices, work, terms, bought=deployment in OWN_DEPLOYMENTS, spot=spot)

    def _answered(self, key: str) -> float | bool | str | None:
        spec = self._knowledge.name_by_answer.get(key)
        return None if spec is None else plain(self._session.value(spec.name))

    def _number(self, key: str) -> float | None:
        value = self._answered(key)
        return value if isinstance(value, float) else None

    def _considered(self, what: str) -> tuple[str, ...]:
        found = (
            effect.option
            for rule in self._result.fired
            for effect in rule.effects
            if isinstance(effect, Consider) and effect.what == what
        )
        return tuple(dict.fromkeys(found))

    def _options(self) -> Options:
        def choose(key: str, what: str) -> tuple[str, ...]:
            answer = self._answered(key)
            return (str(answer),) if answer not in (None, "auto") else self._considered(what)

        work = self._result.work
        formats = choose("format", "format") or ((work.setup.format.id,) if work is not None else ())
        checkpointing = self._answered("gradient_checkpointing")
        count = self._number("count")
        return Options(
            formats=formats,
            methods=choose("method", "method"),
            shardings=choose("sharding", "sharding"),
            checkpointing=("off", "selective", "full") if checkpointing in (None, "auto") else (str(checkpointing),),
            count=None if count is None else int(count),
            max_count=self._limit("max_count", 8),
            max_nodes=self._limit("max_nodes", 1),
            usual_count=self._usual_count(),
            replicas=int(self._usual(LEAST_REPLICAS) or 1),
            samples=self._samples(),
            at_once=self._at_once(),
            owned=self._owned(),
        )

    def _usual_count(self) -> int:
        """Accelerators up to which room to spare is looked for: those allowed, at most what is assumed of them."""
        question = next((item for item in self._knowledge.questions if item.id == "max_count"), None)
        assumption = None if question is None else next((x for x in question.assumptions if self._holds(x.when)), None)
        assumed = None if assumption is None else self._assumed_value(assumption)
        most = self._limit("max_count", 8)
        return min(most, int(assumed)) if isinstance(assumed, float) else int(self._number("max_count") or most)

    def _limit(self, key: str, usual: int) -> int:
        """The most of something that the answers allow: what was assumed limits nothing, only what was answered does.

        ``usual``: where the knowledge base has no such answer.
        """
        spec = self._knowledge.name_by_answer.get(key)
        given = self._number(key) if key in self._result.answers.values else None
        most = given if spec is None or given is not None else spec.maximum
        return usual if most is None else int(most)

    def _samples(self) -> int | None:
        """Most samples of a training step, where nobody gave the micro-batch of a token model and rules know it."""
        work = self._result.work
        if work is None or not work.setup.trains or work.shape.kind not in TOKEN_KINDS:
            return None
        most = self._usual(USUAL_BATCH)
        assumed = any(taken.question.id == "batch_size" for taken in self._result.assumed)
        return int(most) if assumed and most is not None else None

    def _at_once(self) -> int | None:
        """Most samples at once on a replica of batch work, where nobody gave any and rules know it."""
        work, most = self._result.work, self._usual(USUAL_BATCH)
        if work is None or most is None or work.setup.phase != "batch-inference":
            return None
        given = "concurrency" if work.shape.kind in TOKEN_KINDS else "batch_size"
        return None if given in self._result.answers.values else int(most)

    def _owned(self) -> tuple[tuple[int, int], ...]:
        """The owned accelerators that the answers leave, as rows of the catalogue, and how many there are of each."""
        rows, left = list(self._knowledge.catalogue.accelerators), self._allowed()
        owned = [(rows.index(name), count) for name, count in self._result.answers.owned]
        return tuple(item for item in owned if left[item[0]] and self._result.answers.allows_own)

    def _targets(self) -> Targets:
        frames = self._number("frames_per_second")
        streams = self._number("streams") or 1.0
        return Targets(
            requests_per_s=self._number("requests_per_second"),
            frames_per_s=None if frames is None else frames * streams,
            ttft_ms=self._number("latency_ms"),
            token_ms=self._number("token_latency_ms"),
            train_hours=self._number("deadline_hours"),
            usual_hours=self._usual(USUAL_HOURS),
        )

    def _usual(self, name: str) -> float | None:
        """What rules conclude of such work; None where they conclude nothing."""
        found = plain(self._session.value(name)) if name in self._knowledge.vocabulary else None
        return found if isinstance(found, float) else None

    def _allowed(self) -> Mask:
        """The accelerators that the answers leave, as rows of the catalogue."""
        chosen, excluded = self._result.answers.accelerators, self._result.answers.exclude_accelerators
        return np.array(
            [
                (chosen is None or name in chosen) and name not in excluded
                for name in self._knowledge.catalogue.accelerators
            ]
        )

    def _plan_stratum(self, stratum: Stratum, plans: PlanEnvironment) -> None:
        found = self._chain.fired_plans(stratum, plans, self._result.alive)
        session_rules = {rule.id for rule in self._result.fired}
        for rule in stratum.rules:
            mask = found.get(rule.id)
            if mask is None:
                continue
            for other in self._overriders.get(rule.id, ()):
                defeat = mask if other in session_rules else mask & self._result.fired_plans.get(other, np.False_)
                if defeat.any():
                    self._result.defeated.append((rule, other, defeat))
                    mask = mask & ~defeat
            if mask.any():
                self._result.fired_plans[rule.id] = mask
        for name in stratum.settles:
            self._settle_column(name, plans)

    def _settle_column(self, name: str, plans: PlanEnvironment) -> None:
        """A concluded plan name as a column: where rules agree, their value; where they clash, unknown."""
        concluders = self._knowledge.concluders.get(name, ())
        said: dict[float | bool | str, Mask] = {}
        for rule in concluders:
            mask = self._result.fired_plans.get(rule.id)
            for effect in rule.effects:
                if mask is not None and isinstance(effect, Conclude) and effect.name == name:
                    said[effect.value] = said.get(effect.value, np.zeros(plans.size, dtype=np.bool_)) | mask
        count = np.sum([*said.values(), np.zeros(plans.size, dtype=np.bool_)], axis=0)
        if (count > 1).any():
            rules = tuple(rule.id for rule in concluders if rule.id in self._result.fired_plans)
            self._result.clashes.append(Clash(name, rules, count > 1))
        spec = self._knowledge.vocabulary[name]
        if spec.otherwise is not None:
            open_ = np.zeros(plans.size, dtype=np.bool_)
            for rule in concluders:
                truth = plans.evaluator.truth(rule.condition)
                open_ = open_ | ~(truth.true | truth.false | open_)
            rest = (count == 0) & ~open_
            said[spec.otherwise] = said.get(spec.otherwise, np.zeros(plans.size, dtype=np.bool_)) | rest
        one = {value: mask & (count <= 1) for value, mask in said.items()}
        plans.set(name, _column_of(spec.kind, one, plans.size))

    def _reject(self, stratum: Stratum, plans: PlanEnvironment) -> None:
        """Take rejected plans out; those a hard rule cannot judge for want of a figure stay, unverified."""
        for rule in stratum.rules:
            if not rule.rejects:
                continue
            mask = self._result.fired_plans.get(rule.id)
            if mask is not None:
                self._result.alive = self._result.alive & ~mask
            truth = plans.evaluator.truth(rule.condition)
            if truth.false is True:
                continue
            open_ = np.broadcast_to(~(truth.true | truth.false | np.False_), (plans.size,))
            if not open_.any() or (open_.all() and not self._asked(rule)):
                continue
            self._result.unverified = self._result.unverified | open_
            if open_.all():
                self._result.unchecked.append(rule)

    def _asked(self, rule: Rule) -> bool:
        """Whether a rule that cannot judge any plan wants for figures of the plans, not for an answer nobody gave."""
        names = used_names([rule.condition], self._knowledge.values)
        known = self._session.value
        return all(
            known(name) != unknown_of(spec)
            for name in names
            if (spec := self._knowledge.vocabulary[name]).scope == "session"
        )

    def _compare(self, plans: PlanEnvironment) -> None:
        """Settle what the plans that are left compare by."""
        result = self._result
        if result.costs is not None and result.plan_set is not None:
            result.costs = comparable(result.costs, result.plan_set, result.alive)
            plans.set("plan.objective", v.column(result.costs.objective))

    def _set_values(self, plans: PlanEnvironment) -> None:
        """Settle the values over the plans that are left."""
        for value in self._knowledge.strata.aggregates:
            self._set_value(value, plans)

    def _set_value(self, value: DerivedValue, plans: PlanEnvironment) -> None:
        alive = self._result.alive
        if value.where is not None:
            alive = alive & plans.evaluator.truth(value.where).true
        found = plans.evaluator.value(value.expression)
        if isinstance(found, v.Truth):
            plans.set(value.name, v.number(float(np.sum(np.broadcast_to(found.true, alive.shape) & alive))))
        elif isinstance(found, v.Number):
            known = alive & (found.low == found.high) & found.present & np.isfinite(found.low)
            if known.any():
                pick = np.min if value.aggregate == "min" else np.max
                plans.set(value.name, v.number(float(pick(np.broadcast_to(found.low, alive.shape)[known]))))

    def _rank(self) -> None:
        result = self._result
        costs, plan_set, work = result.costs, result.plan_set, result.work
        if costs is None or plan_set is None or work is None:
            return
        preferences = self._knowledge.preferences
        verdicts = [
            (effect, mask)
            for rule_id, mask in result.fired_plans.items()
            for effect in self._knowledge.rule_by_id[rule_id].effects
            if isinstance(effect, Verdict)
        ]
        plans = result.plans
        result.tally = tally(
            verdicts,
            len(result.alive),
            preferences.worth,
            lambda grade: np.array(np.nan) if plans is None else grown(plans, grade),
        )
        own = self._answered("deployment") in UNATTENDED
        money = money_of(costs, plan_set, work.setup, preferences.priced_handling, own)
        priority = self._answered("priority")
        ignored = {item.id for item in result.irrelevant}
        answered = result.answers.values.items()
        limits = {key: value for key, value in answered if isinstance(value, float) and key not in ignored}
        counted = count(
            money,
            result.tally,
            plan_set.speeds.figures,
            watts_of(plan_set),
            result.alive,
            preferences,
            priority if isinstance(priority, str) else None,
            limits,
        )
        result.ranking = rank(result.alive, result.unverified, counted, preferences.tied_within)
        if result.answers.accelerators is None and not result.answers.owned:  # who names the cards has chosen
            result.objections = tuple(self._objections(result.tally))

    def _objections(self, found: VerdictTally) -> Iterator[str]:
        """The rules behind a strong verdict that no plan left escapes, by a criterion that makes a plan useless."""
        alive, strong = self._result.alive, self._knowledge.preferences.worth("strong")
        ranking = self._result.ranking
        priced = alive & np.isfinite(ranking.counted.values) if ranking is not None else alive
        alive = priced if priced.any() else alive  # what nobody prices is no way out
        for criterion in USELESS_BY:
            if criterion not in found.favour or strong <= 1 or not found.objection(criterion, strong)[alive].all():
                continue
            for rule_id, mask in self._result.fired_plans.items():
                effects = self._knowledge.rule_by_id[rule_id].effects
                against = [item for item in effects if isinstance(item, Verdict) and not item.favourable]
                if (
                    any(item.criterion == criterion and item.strength == "strong" for item in against)
                    and mask[alive].any()
                ):
                    yield rule_id


def grown(plans: PlanEnvironment, grade: Grade) -> NDArray[np.float64]:
    """What a graded verdict grows with, for every plan: as far as it may have come, since the rule fired."""
    found = plans.evaluator.value(grade.expression)
    if not isinstance(found, v.Number):
        return np.array(np.nan)
    return np.broadcast_to(found.high if grade.full > grade.start else found.low, (plans.size,))


def _column_of(kind: str, said: dict[float | bool | str, Mask], size: int) -> v.Value:
    none = np.zeros(size, dtype=np.bool_)
    if kind == "flag":
        return v.Truth(said.get(True, none), said.get(False, none))
    if kind == "number":
        numbers = np.full(size, np.nan)
        for value, mask in said.items():
            numbers[mask] = value
        return v.column(numbers)
    words = np.full(size, "", dtype=f"<U{max((len(str(value)) for value in said), default=1)}")
    for value, mask in said.items():
        words[mask] = str(value)
    return v.Word(words)


def fill_template(
    template: Template,
    environment: SessionEnvironment | PlanEnvironment,
    knowledge: Knowledge,
    index: int | None = None,
) -> str:
    """The template with its names' values put in, with their units; of plan ``index`` where it is judged per plan."""
    from whygpu.render.figures import show_value  # noqa: PLC0415  only texts need it

    found: list[str] = []
    for literal, name in template.parts:
        found.append(literal)
        if name is not None:
            value = (
                environment.at(name, index)
                if isinstance(environment, PlanEnvironment) and index is not None
                else environment.value(name)
            )
            spec = knowledge.vocabulary[name]
            text = show_value(value, spec)
            found.append(_MARKUP.sub(r"\\\1", text) if spec.kind == "text" else text)
    return "".join(found).strip()
