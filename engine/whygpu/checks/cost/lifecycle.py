"""What a service costs over its life: training, once or again and again, then serving month by month."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.cost.money import HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What is known of a life; ``None`` is not known (or, of ``retrain_months``, not trained again).

    USD are those of the whole plan. ``training_runs`` are the runs that one training takes until its result is good,
    retries and experiments included; ``retrain_months`` is the time from one training to the next. Where machines are
    bought, ``usd_per_run`` is the power of a run, and what is bought is counted by the month.
    """

    service_months: float
    hours_per_month: float
    training_runs: float = 1.0
    retrain_months: float | None = None
    usd_per_run: float | None = None
    serve_usd_per_hour: float | None = None
    same_usd_per_hour: float | None = None
    """Serving on the accelerator that trains."""
    hours_per_run: float | None = None
    train_machine_usd_per_month: float | None = None
    """Of a machine that is bought for training alone."""
    serve_machine_usd_per_month: float | None = None
    """Of a machine that is bought to do both, where ``serve_usd_per_hour`` is its power alone."""
    rent_usd_per_run: float | None = None
    """What a run would cost on a rented machine like the one that is bought for it."""
    one_machine: bool = False
    """Whether training is done on the machine that is bought to serve."""


@dataclass(frozen=True, slots=True)
class LifecycleCost:
    """USD over the lifecycle; ``None`` where a part of it has no price or no size."""

    service_months: float
    trainings: float
    runs: float
    train_usd: float | None
    usd_per_month: float | None
    """Of serving."""
    serve_usd: float | None
    usd_total: float | None
    serving_share: float | None
    """Of ``usd_total``, between 0 and 1."""
    equal_runs: float | None
    """How many runs cost as much as all the serving; None where they are done on what is bought, which many of them
    cost no more than few.
    """
    same_usd_per_month: float | None
    same_serve_usd: float | None
    same_usd_total: float | None
    same_times: float | None
    """Serving on the accelerator that trains, over serving as recommended."""
    run_hours: float | None
    training_share: float | None
    """What part of the hours of the service one machine trains; above 1 where one is not enough."""
    train_machine_usd: float | None
    """Part of ``train_usd``: machines that are bought for training alone."""
    rented_train_usd: float | None
    """All runs on a rented machine like the one that is bought for them."""
    calculations: tuple[Calculation, ...]
    """How each figure that is known came about, in the order in which they build on each other."""

    def figures(self) -> dict[str, float]:
        """The figures that are known, by name."""
        named = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "calculations"}
        return {name: value for name, value in named.items() if value is not None}


def life_cost(life: Lifecycle) -> LifecycleCost:
    """Add up a life. Raises ValueError where months or runs are not above zero.

    A rented machine costs its price an hour times the hours (claim runpod-64): a run the hours it takes, a service
    every hour of its months. The first training comes before the service, the next ``retrain_months`` later, as long
    as it serves (griddly-01: once or periodically); each takes ``training_runs`` runs (ai-rng-52: headroom for
    retries, validation runs and experiments). What is bought is paid for in every month of the service, whether it
    trains or not, and as often as one machine has not the hours for all runs.
    """
    every = math.inf if life.retrain_months is None else life.retrain_months
    if not (life.service_months > 0 and life.training_runs > 0 and every > 0):
        raise ValueError("months and runs are above zero")
    found = _Sum(life)
    trainings = found.trainings()
    runs = found.take("runs", "training_runs * trainings", life.training_runs * trainings, "runs")
    share = found.training_share(runs)
    machine = found.machine(share)
    train = found.training(runs, machine)
    month = found.monthly("usd_per_month", "serve_usd_per_hour", life.serve_usd_per_hour)
    serve = found.product("serve_usd", "service_months", "usd_per_month", life.service_months, month)
    total = found.total("usd_total", "train_usd", "serve_usd", train, serve)
    serving = found.ratio("serving_share", "serve_usd", "usd_total", serve, total, "share")
    bought = machine is not None or life.one_machine
    equal = None if bought else found.ratio("equal_runs", "serve_usd", "usd_per_run", serve, life.usd_per_run, "runs")
    same_month = found.monthly("same_usd_per_month", "same_usd_per_hour", life.same_usd_per_hour)
    same_serve = found.product(
        "same_serve_usd", "service_months", "same_usd_per_month", life.service_months, same_month
    )
    same_total = found.total("same_usd_total", "train_usd", "same_serve_usd", train, same_serve)
    times = found.ratio("same_times", "same_serve_usd", "serve_usd", same_serve, serve, "times")
    return LifecycleCost(
        service_months=life.service_months,
        trainings=trainings,
        runs=runs,
        train_usd=train,
        usd_per_month=month,
        serve_usd=serve,
        usd_total=total,
        serving_share=serving,
        equal_runs=equal,
        same_usd_per_month=same_month,
        same_serve_usd=same_serve,
        same_usd_total=same_total,
        same_times=times,
        run_hours=life.hours_per_run,
        training_share=share,
        train_machine_usd=machine,
        rented_train_usd=found.product("rented_train_usd", "runs", "rent_usd_per_run", runs, life.rent_usd_per_run),
        calculations=tuple(found.calculations),
    )


class _Sum:
    """Figures that build on each other, each kept with its formula."""

    def __init__(self, life: Lifecycle) -> None:
        self._life = life
        self._terms = {
            "service_months": Term("service_months", life.service_months, "months"),
            "training_runs": Term("training_runs", life.training_runs, "runs"),
            "hours_per_month": Term("hours_per_month", life.hours_per_month, "h"),
        }
        self.calculations: list[Calculation] = []

    def take(self, name: str, formula: str, value: float, unit: str, *terms: Term) -> float:
        """Keep one figure; the formula's names that are not among ``terms`` are figures and answers of before."""
        words = formula.replace("(", " ").replace(")", " ").replace(",", " ").split()
        known = [self._terms[word] for word in dict.fromkeys(words) if word in self._terms]
        calculation = Calculation(name, formula, (*terms, *known), value, unit)
        self._terms[name] = calculation.as_term()
        self.calculations.append(calculation)
        return value

    def trainings(self) -> float:
        """How often it is trained, the first time included."""
        every = self._life.retrain_months
        if every is None:
            return self.take("trainings", "1", 1.0, "trainings")
        count = float(math.ceil(self._life.service_months / every))
        term = Term("retrain_months", every, "months")
        return self.take("trainings", "ceil(service_months / retrain_months)", count, "trainings", term)

    def monthly(self, name: str, price: str, usd_per_hour: float | None) -> float | None:
        """USD of a month, every hour of it, with the machine that is bought for both phases."""
        if usd_per_hour is None:
            return None
        term, machine = Term(price, usd_per_hour, "USD/hour"), self._life.serve_machine_usd_per_month
        value, formula = usd_per_hour * self._life.hours_per_month, f"{price} * hours_per_month"
        if machine is None:
            return self.take(name, formula, value, "USD/month", term)
        bought = Term("machine_usd_per_month", machine, "USD/month")
        return self.take(name, f"machine_usd_per_month + {formula}", machine + value, "USD/month", bought, term)

    def training_share(self, runs: float) -> float | None:
        """What part of the service's time one machine trains, day and night."""
        hours, months = self._life.hours_per_run, self._life.service_months
        if hours is None:
            return None
        terms = Term("run_hours", hours, "h"), Term("hours_of_a_month", HOURS_PER_MONTH, "h")
        value = runs * hours / (months * HOURS_PER_MONTH)
        formula = "runs * run_hours / (service_months * hours_of_a_month)"
        return self.take("training_share", formula, value, "share", *terms)

    def machine(self, share: float | None) -> float | None:
        """USD of the machines that are bought for training alone, as many as have the hours for it."""
        usd, months = self._life.train_machine_usd_per_month, self._life.service_months
        if usd is None or share is None:
            return None
        value, term = max(1, math.ceil(share)) * months * usd, Term("machine_usd_per_month", usd, "USD/month")
        formula = "max(1, ceil(training_share)) * service_months * machine_usd_per_month"
        return self.take("train_machine_usd", formula, value, "USD", term)

    def training(self, runs: float, machine: float | None) -> float | None:
        """USD of all runs, and of what is bought for them alone."""
        usd = self._life.usd_per_run
        if usd is None or machine is None:
            return self.product("train_usd", "runs", "usd_per_run", runs, usd)
        formula, term = "train_machine_usd + runs * usd_per_run", Term("usd_per_run", usd, "USD")
        return self.take("train_usd", formula, machine + runs * usd, "USD", term)

    def product(self, name: str, count: str, price: str, number: float, usd: float | None) -> float | None:
        """So many at a price each."""
        if usd is None:
            return None
        terms = () if price in self._terms else (Term(price, usd, "USD"),)
        return self.take(name, f"{count} * {price}", number * usd, "USD", *terms)

    def total(self, name: str, one: str, other: str, train: float | None, serve: float | None) -> float | None:
        """Both phases."""
        return None if train is None or serve is None else self.take(name, f"{one} + {other}", train + serve, "USD")

    def ratio(
        self, name: str, top: str, bottom: str, above: float | None, below: float | None, unit: str
    ) -> float | None:
        """One over the other; None where there is nothing to divide by."""
        if above is None or not below:
            return None
        terms = () if bottom in self._terms else (Term(bottom, below, "USD"),)
        return self.take(name, f"{top} / {bottom}", above / below, unit, *terms)
