"""Whose machines train and serve where hardware is bought: one for each phase, or one of the two for both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from whygpu.checks.cost.lifecycle import Lifecycle, LifecycleCost, life_cost
from whygpu.checks.cost.money import hours_a_month
from whygpu.consult.names import NEVER_RESTS
from whygpu.explain.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.answers import Answers
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.plan import Buying, Plan

Again = Callable[["Answers"], "Consultation"]
_SHARE = "shared-machine-share"


@dataclass(frozen=True, slots=True)
class Machines:
    """The two consultations, and which machine that is bought does the work of both."""

    train: Consultation
    serve: Consultation
    advice: tuple[Advice, Advice]
    both: Literal["train", "serve"] | None = None
    """The phase whose machine does the other's work too; None where each has its own."""
    bought: Plan | None = None
    """The plan that ``both`` buys; None where each has its own."""
    worse: float = 1.0
    """How many times as much, for the same money, serving counts as on the best plan for it alone."""

    def cost(self, same: Plan | None = None) -> LifecycleCost | None:
        """What it costs in all; None where nobody says how long it serves. ``same``: serving where it trains."""
        months = self.serve.session.number("service_months")
        if months is None:
            return None
        run, serving = (item.recommendation for item in self.advice)
        hours = self._hours_a_month(serving)
        return life_cost(
            Lifecycle(
                service_months=months,
                hours_per_month=hours,
                training_runs=self.train.session.number("training_runs") or 1.0,
                retrain_months=self.train.session.number("retrain_months"),
                usd_per_run=usd_per_run(run),
                serve_usd_per_hour=_hourly(serving),
                same_usd_per_hour=_times(_hourly(same), self._hours_a_month(same) / hours),
                hours_per_run=_run_hours(run),
                train_machine_usd_per_month=None if self.both else self._machine(run, months),
                serve_machine_usd_per_month=self._machine(self.bought, months) if self.both == "train" else None,
                rent_usd_per_run=None if self.both else _rent(run),
                one_machine=self.both is not None,
            )
        )

    def _hours_a_month(self, plan: Plan | None) -> float:
        """Hours that are paid in a month of serving; of a job on a data set those it takes, once a month."""
        hours = hours_a_month(self.serve.session.number("hours_per_day") or 24)
        job = job_hours(plan)
        return hours if job is None else min(hours, job)

    def _machine(self, plan: Plan | None, months: float) -> float | None:
        """USD a month of what a training plan buys; None where it buys nothing.

        Where nobody says for how long it is used, it is used as long as the service runs.
        """
        bought = _buying(plan)
        if bought is None:
            return None
        said = "service_months" in self.train.answers.values
        return bought.usd_purchase / (bought.months if said else min(bought.months, months))


def machines_of(train: Consultation, serve: Consultation, again: Again) -> tuple[Machines, Machines | None]:
    """The cheapest way to have the machines, and where one does both the way with one for each phase.

    One for both is told like owned hardware: whatever is bought for one phase is there for the other. It has to have
    the time, every constraint of both phases holds, and what is saved outweighs what rules say against serving on it.
    """
    apart = Machines(train, serve, (Advice(train), Advice(serve)))
    told = [(item, cost.usd_total) for item in _shared(apart, again) if (cost := item.cost()) is not None]
    known = [(item, usd * item.worse) for item, usd in told if usd is not None and _has_time(item)]
    cost = apart.cost()
    if not known or cost is None:
        return apart, None
    best, usd = min(known, key=lambda pair: pair[1])
    return (best, apart) if cost.usd_total is None or usd < cost.usd_total else (apart, None)


def usd_per_run(plan: Plan | None) -> float | None:
    """USD of a training run: rent or power for its hours; of what is bought the power alone."""
    if plan is None or plan.cost is None:
        return None
    bought, power = _buying(plan), plan.cost.usd_power_per_hour
    if bought is None:
        return plan.cost.usd_total
    hours = _run_hours(plan)
    return None if hours is None or power is None else power * hours


def _shared(apart: Machines, again: Again) -> Iterator[Machines]:
    """Training on the machine that is bought to serve, on the best to serve of those that can train too, and serving on
    the one that is bought to train.
    """
    run, serving = (item.recommendation for item in apart.advice)
    if run is None or serving is None or _buying(run) is None or _buying(serving) is None:
        return
    trained = _trained_on(apart, serving, again)
    if trained is None and (other := _that_trains(apart)) is not None:
        serve = again(replace(apart.serve.answers, accelerators=(other.accelerator.id,), exclude_accelerators=()))
        worse = _factors(other) / _factors(serving)
        there = replace(apart, serve=serve, advice=(apart.advice[0], Advice(serve)), worse=worse)
        serving = there.advice[1].recommendation
        if serving is not None and _buying(serving) is not None:
            trained = _trained_on(there, serving, again)
    if trained is not None:
        yield trained
    serve = again(_with(apart.serve.answers, run))
    served = Advice(serve)
    if _is_on(served.recommendation, run):
        yield replace(apart, serve=serve, advice=(apart.advice[0], served), both="train", bought=run)


def _trained_on(machines: Machines, serving: Plan, again: Again) -> Machines | None:
    """Training on the machine that is bought to serve; None where it is better done elsewhere, or cannot be."""
    train = again(_with(machines.train.answers, serving))
    trained = Advice(train)
    if not _is_on(trained.recommendation, serving):
        return None
    return replace(machines, train=train, advice=(trained, machines.advice[1]), both="serve", bought=serving)


def _factors(plan: Plan) -> float:
    """What a plan counts as, over its money."""
    return 1.0 if plan.counted is None else math.prod(item.worth for item in plan.counted.factors)


def _that_trains(apart: Machines) -> Plan | None:
    """The best plan to serve on what can train as well."""
    train, serve = apart.advice
    fewest: dict[str, int] = {}
    for plan in train.plans:
        fewest[plan.accelerator.id] = min(plan.count, fewest.get(plan.accelerator.id, plan.count))
    able = (plan for plan in serve.plans if fewest.get(plan.accelerator.id, math.inf) <= plan.count)
    return next((plan for plan in able if _buying(plan) is not None), None)


def _with(answers: Answers, plan: Plan) -> Answers:
    """The answers, where the machine of a plan is there already."""
    owned = dict(answers.owned)
    owned[plan.accelerator.id] = max(plan.count, owned.get(plan.accelerator.id, 0))
    return replace(answers, owned=tuple(owned.items()))


def _is_on(plan: Plan | None, machine: Plan) -> bool:
    return plan is not None and plan.owned and plan.accelerator.id == machine.accelerator.id


def _has_time(machines: Machines) -> bool:
    """Whether the machine can train for as long as it takes while it serves; the first time it trains before."""
    cost, session = machines.cost(), machines.serve.session
    if cost is None or cost.training_share is None:
        return False
    coefficients = machines.serve.knowledge.catalogue.coefficients
    again = (machines.train.session.number("retrain_months") or math.inf) < (session.number("service_months") or 0)
    if again and session.holds(NEVER_RESTS):
        return False
    usual = coefficients.pick(_SHARE, {}).likely if _SHARE in coefficients else 0.0
    return cost.training_share <= max(usual, 1 - (session.number("hours_per_day") or 24) / 24)


def _buying(plan: Plan | None) -> Buying | None:
    """What a plan buys, where it compares by that."""
    return plan.cost.buying if plan is not None and plan.cost is not None and plan.cost.basis == "buying" else None


def job_hours(plan: Plan | None) -> float | None:
    """How long serving takes that comes to an end; None where it does not, where nobody knows, or where it is done on
    what is bought for it, which is paid for in every hour of its months.
    """
    return _run_hours(plan) if _buying(plan) is None else None


def _times(usd: float | None, times: float) -> float | None:
    return None if usd is None else usd * times


def _run_hours(plan: Plan | None) -> float | None:
    band = None if plan is None else plan.speed.get("train_hours")
    return None if band is None else band.likely


def _rent(plan: Plan | None) -> float | None:
    """USD of a run on a rented machine like one that is bought; None where nothing is bought or nobody rents it out."""
    if plan is None or plan.cost is None or plan.cost.machines is None or _buying(plan) is None:
        return None
    return plan.cost.usd_total


def _hourly(plan: Plan | None) -> float | None:
    return plan.cost.compared.usd_per_hour if plan is not None and plan.cost else None
