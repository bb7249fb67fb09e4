"""Which plans are tried: what the session leaves to try, what they must reach, and what each of them costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.chain.environment import PlanEnvironment, plain
from whygpu.checks.cost.money import hours_a_month
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import CACHE_SPLITS, FUSED
from whygpu.consult.answering import assumption_of
from whygpu.consult.names import (
    BUSIEST_SHARE,
    IMPLIED_RATES,
    LEAST_REPLICAS,
    ROOMY_HOURS,
    SHORT_HOURS,
    SLOWEST_TOKEN_MS,
    USUAL_BATCH,
    USUAL_HOURS,
    USUAL_TOKEN_MS,
)
from whygpu.errors import AnswerError, Location, Problem
from whygpu.kept import kept
from whygpu.plans.admission import with_in_flight
from whygpu.plans.capacity import InTime
from whygpu.plans.columns import PricedPlans, given_columns
from whygpu.plans.costs import costs_of
from whygpu.plans.fixed import FixedLayout
from whygpu.plans.plan_set import Machines, Options, Targets, cards_of
from whygpu.plans.price import price_list, spot_list
from whygpu.plans.purchase import OWN_DEPLOYMENTS, Site, terms_of
from whygpu.plans.recent import Recent
from whygpu.plans.splits import undivided

if TYPE_CHECKING:
    from datetime import date

    from numpy.typing import NDArray

    from whygpu.answers import Answers
    from whygpu.chain.engines import Mask
    from whygpu.consult.consultation import AppliedAnswers, SessionResult
    from whygpu.knowledge.base import Knowledge
    from whygpu.plans.costs import Costs
    from whygpu.plans.enumerate import Planner
    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.price import PriceList
    from whygpu.plans.work import Work

_LONGER = (2, 4, 8)
"""How many times a time is taken that a job has on fewer accelerators than would suit it."""
_RECENT: Recent[Costs] = Recent(32)
"""Costs of the last plans: answers about operation or priorities change neither plans nor prices."""
_IN_FLIGHT: Recent[PlanSet] = Recent(32)
"""The last plans that were tried with some of the requests: answers about money are tried with the same."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The plans to judge, what they cost, and their names as columns."""

    work: Work
    options: Options
    plan_set: PlanSet
    costs: Costs
    environment: PlanEnvironment


class Planning:
    """What one consultation's session says of the plans to try."""

    def __init__(
        self,
        work: Work,
        answers: Answers,
        applied: AppliedAnswers,
        session: SessionResult,
        before: PlanEnvironment | None = None,
    ) -> None:
        """``work``: what is to be sized, by what the session has concluded; ``before``: the plans of the consultation
        that the session takes from.
        """
        self._before = before
        self._work, self._answers, self._applied, self._session = work, answers, applied, session
        self._knowledge = session.knowledge

    def plan(self, planner: Planner, today: date, *, short: bool = False) -> Planned:
        """The plans that ``planner`` finds, at a day's prices; raises AnswerError where none can be as asked.

        ``short``: those too that do not hold all requests (see Options).
        """
        options = replace(self._options(today), short=short)
        return self._priced(planner(self._work, self._allowed(), options, self._targets()), options, today)

    def of_those(self, planned: Planned, rows: NDArray[np.int64], today: date) -> Planned:
        """Some of the plans, by row."""
        return self._priced(planned.plan_set.take(rows), planned.options, today)

    def with_in_flight(
        self, planned: Planned, rows: NDArray[np.int64], each: NDArray[np.int64], today: date
    ) -> Planned:
        """Some of the plans, by row, with so many requests in flight on each replica."""
        plan_set = _IN_FLIGHT.get(
            (planned.plan_set,), (rows.tobytes(), each.tobytes()), lambda: with_in_flight(planned.plan_set, rows, each)
        )
        return self._priced(plan_set, planned.options, today)

    def _priced(self, plan_set: PlanSet, options: Options, today: date) -> Planned:
        costs = self._costs(plan_set, today)
        given = None
        if len(plan_set):  # where there are none, none of their names is known
            runtime, named = self._session.answered("runtime"), self._answers.accelerators is not None
            stack = runtime if isinstance(runtime, str) else None
            day = np.datetime64(today)
            given = given_columns(PricedPlans(plan_set, costs, self._knowledge, day, stack, named, *self._asked()))
        environment = PlanEnvironment(self._knowledge, self._session.environment, len(plan_set), given, self._before)
        return Planned(self._work, options, plan_set, costs, environment)

    def _allowed(self) -> Mask:
        """The accelerators that the answers leave, as rows of the catalogue."""
        chosen, excluded = self._answers.accelerators, self._answers.exclude_accelerators
        return np.array(
            [
                (chosen is None or name in chosen) and name not in excluded
                for name in self._knowledge.catalogue.accelerators
            ]
        )

    def _options(self, today: date) -> Options:
        """What the rules and the answers leave to try."""
        checkpointing = self._session.answered("gradient_checkpointing")
        return Options(
            formats=self._choose("format", "format") or (self._work.setup.format.id,),
            kv_formats=() if self._session.answered("kv_format") else self._session.considered("kv_format"),
            methods=self._choose("method", "method"),
            shardings=self._choose("sharding", "sharding"),
            checkpointing=("off", "selective", "full") if checkpointing in (None, "auto") else (str(checkpointing),),
            count=self._whole("count"),
            max_count=self._limit("max_count", 8),
            max_nodes=self._limit("max_nodes", 1),
            usual_count=self._usual_count(),
            max_watts=self._session.number("power_watts") if "power_watts" in self._answers.values else None,
            replicas=int(self._session.concluded(LEAST_REPLICAS) or 1),
            samples=self._samples(),
            each=self._each(),
            at_once=self._at_once(),
            shared=bool({"concurrency", "requests_per_second"} & self._answers.values.keys()),
            busy=self._busy(),
            fixed=self._fixed_layout(),
            fused=self._answers.values.get("runtime") in (None, FUSED),
            owned=self._owned(),
            machines=Machines(
                self._networks(today),
                self._vcpus(today),
                None if self._bought else price_list(self._knowledge, self._answers, today).rented_for,
            ),
        )

    def _networks(self, today: date) -> tuple[float, ...]:
        """The network of each accelerator's machines, where plans may take several of them."""
        if max(self._limit("max_nodes", 1), self._whole("count") or 1) == 1:
            return ()
        return _networks(price_list(self._knowledge, self._answers, today), self._knowledge)

    def _vcpus(self, today: date) -> tuple[float, ...]:
        """The threads of each accelerator's host, where it decodes and prepares what the model reads."""
        if self._work.setup.decoding != "host":
            return ()
        prices = price_list(self._knowledge, self._answers, today)
        return tuple(prices.host_vcpus(name) for name in self._knowledge.catalogue.accelerators)

    def _targets(self) -> Targets:
        """What the plans must reach."""
        number = self._session.number
        frames = number("frames_per_second")
        return Targets(
            requests_per_s=number("requests_per_second") or self._implied_per_s(),
            frames_per_s=None if frames is None else frames * (number("streams") or 1.0),
            ttft_ms=number("latency_ms"),
            token_ms=number("token_latency_ms"),
            train_hours=number("deadline_hours"),
            paces=self._or_longer(self._concluded(ROOMY_HOURS, USUAL_HOURS)),
            paces_of_one_machine=self._or_longer(self._concluded(SHORT_HOURS)),
            token_paces=self._concluded(SLOWEST_TOKEN_MS, USUAL_TOKEN_MS),
            busiest_share=self._session.concluded(BUSIEST_SHARE) or 1.0,
        )

    def _asked(self) -> tuple[InTime, float] | tuple[None, None]:
        """How soon a service must answer that is asked for a load, as was answered or as any service does; the load."""
        number = self._session.number
        per_s = number("requests_per_second")
        if self._work.setup.phase != "inference" or per_s is None:
            return None, None
        token_ms = number("token_latency_ms") or self._session.concluded(SLOWEST_TOKEN_MS)
        return InTime(number("latency_ms") or math.inf, token_ms or math.inf), per_s

    def _or_longer(self, hours: tuple[float, ...]) -> tuple[float, ...]:
        """The times, and longer ones where a budget by the hour may not pay for as many accelerators."""
        if self._session.number("budget_per_hour") is None:
            return hours
        return tuple(dict.fromkeys(time * times for times in (1, *_LONGER) for time in hours))

    def _concluded(self, *names: str) -> tuple[float, ...]:
        """The times that rules concluded under these names, where they did."""
        return tuple(time for name in names if (time := self._session.concluded(name)))

    def _implied_per_s(self) -> float | None:
        """Requests a second that the load comes to where no rate was given: as rules say; or of streams of sound, each
        second of which is worked through once.
        """
        for name, rate in IMPLIED_RATES:
            if self._session.holds(name):
                return self._session.concluded(rate)
        streams, seconds = self._session.number("streams"), self._work.shape.sample_seconds
        return streams / seconds if streams and seconds else None

    @property
    def _bought(self) -> bool:
        """Whether hardware is bought where the work is to run."""
        return self._session.answered("deployment") in OWN_DEPLOYMENTS

    def _costs(self, plan_set: PlanSet, today: date) -> Costs:
        """What the plans cost."""
        session = self._session
        deployment = str(session.answered("deployment") or "")
        months, electricity = session.number("service_months"), session.number("electricity_usd_per_kwh")
        hours = hours_a_month(session.number("hours_per_day") or 24)
        host = self._work.setup.host
        there = session.answered("host") == "own"
        place = Site(deployment, months, electricity, hours, host, there, self._owned())
        terms = terms_of(self._knowledge, place)
        prices = price_list(self._knowledge, self._answers, today)
        spot = spot_list(self._knowledge, self._answers, today)
        bought, setup = self._bought, self._work.setup
        return _RECENT.get(
            (plan_set, prices, terms, spot),
            (setup, bought),
            lambda: costs_of(plan_set, prices, setup, terms, bought=bought, spot=spot),
        )

    def _fixed_layout(self) -> FixedLayout:
        """The layout that was answered; raises AnswerError where the model cannot be spread so."""
        split = self._session.answered("cache_split")
        layout = FixedLayout(
            self._whole("tensor_parallel"),
            self._whole("pipeline_parallel"),
            self._whole("replicas"),
            next((known for known in CACHE_SPLITS if known == split), None),
            self._whole("expert_parallel"),
        )
        locations = self._answers.locations
        found = [
            Problem("contradiction", message, locations.get(key, Location("answers")), "change it, or leave it out")
            for key, message in (
                *layout.conflicts(self._work.shape, self._most_together()),
                *undivided(self._work, layout.cache_split),
            )
        ]
        if found:
            raise AnswerError(found)
        return layout

    def _most_together(self) -> int:
        """Accelerators of the largest machine that the answers leave."""
        return int(cards_of(self._work.catalogue).per_node[self._allowed()].max(initial=1))

    def _whole(self, key: str) -> int | None:
        """A whole number that was answered."""
        value = self._session.number(key)
        return None if value is None else int(value)

    def _choose(self, key: str, what: str) -> tuple[str, ...]:
        """The option that was answered, or those that rules add."""
        answer = self._session.answered(key)
        return (str(answer),) if answer not in (None, "auto") else self._session.considered(what)

    def _usual_count(self) -> int:
        """Accelerators up to which room to spare is looked for: those allowed, at most what is assumed of them."""
        environment = self._session.environment
        question = next((item for item in self._knowledge.questions if item.id == "max_count"), None)
        assumption = None if question is None else assumption_of(environment, question)
        assumed = None if assumption is None else plain(environment.evaluator.value(assumption.value))
        most = self._limit("max_count", 8)
        return min(most, int(assumed)) if isinstance(assumed, float) else int(self._session.number("max_count") or most)

    def _limit(self, key: str, usual: int) -> int:
        """The most of something that the answers allow: what was assumed limits nothing, only what was answered does.

        ``usual``: where the knowledge base has no such answer.
        """
        spec = self._knowledge.name_by_answer.get(key)
        given = self._session.number(key) if key in self._answers.values else None
        most = given if spec is None or given is not None else spec.maximum
        return usual if most is None else int(most)

    def _samples(self) -> int | None:
        """Most samples of a training step, where nobody gave the micro-batch of a token model and rules know it."""
        if not self._work.setup.trains or self._work.shape.kind not in TOKEN_KINDS:
            return None
        most = self._session.concluded(USUAL_BATCH)
        return int(most) if self._batch_assumed and most is not None else None

    def _each(self) -> int | None:
        """Most samples of a micro-batch, where it is only assumed of a model of images, tables and the like."""
        setup, shape = self._work.setup, self._work.shape
        dense = setup.trains and shape.kind not in TOKEN_KINDS
        return setup.batch_size if dense and self._batch_assumed and setup.batch_size > 1 else None

    @property
    def _batch_assumed(self) -> bool:
        return any(item.question.id == "batch_size" for item in self._applied.assumed)

    def _at_once(self) -> int | None:
        """Most samples at once on a replica of batch work, where nobody gave any and rules know it."""
        most = self._session.concluded(USUAL_BATCH)
        if most is None or self._work.setup.phase != "batch-inference":
            return None
        given = "concurrency" if self._work.shape.kind in TOKEN_KINDS else "batch_size"
        return None if given in self._answers.values else int(most)

    def _busy(self) -> int | None:
        """Most replicas of a service that have a request each: where a stack spreads layers, and of a decoder whose
        requests were counted; None of other work, and where a rate was given.
        """
        work, said = self._work, self._answers.values
        served = work.setup.phase == "inference" and work.shape.kind in TOKEN_KINDS
        counted = work.shape.kind == "decoder" and "concurrency" in said
        if not served or "requests_per_second" in said or not (work.splits_layers or counted):
            return None
        return work.setup.concurrency

    def _owned(self) -> tuple[tuple[int, int], ...]:
        """The owned accelerators that the answers leave, as rows of the catalogue, and how many there are of each."""
        rows, left = list(self._knowledge.catalogue.accelerators), self._allowed()
        owned = [(rows.index(name), count) for name, count in self._answers.owned]
        return tuple(item for item in owned if left[item[0]] and self._answers.allows_own)


@kept(64)
def _networks(prices: PriceList, knowledge: Knowledge) -> tuple[float, ...]:
    """The network of each accelerator's machines, in bytes a second and card, as they are priced."""
    cards = cards_of(knowledge.catalogue)
    sizes = zip(cards.accelerators, cards.per_node.tolist(), strict=True)
    return tuple(prices.network_bytes_s(card.id, size) for card, size in sizes)
