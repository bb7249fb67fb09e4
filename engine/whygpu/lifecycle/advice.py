"""What comes of answers about a lifecycle: the advice on each phase, and the cost of both together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whygpu.explain.items import session_items
from whygpu.explain.json_form import SCHEMA, item_dict, json_value, plan_dict, trace_dict
from whygpu.explain.record import Recorder
from whygpu.knowledge.rules import Advise, Warn
from whygpu.lifecycle.machines import usd_per_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.checks.cost.lifecycle import LifecycleCost
    from whygpu.consult.consultation import SessionResult
    from whygpu.explain.advice import Advice
    from whygpu.explain.parts import Item, Status
    from whygpu.explain.plan import Plan
    from whygpu.lifecycle.machines import Machines
    from whygpu.trace import Trace


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why a part of the cost is not known; None where it is."""

    train: str | None = None
    serve: str | None = None
    same: str | None = None


@dataclass(frozen=True, eq=False)
class LifecycleAdvice:
    """The answer to a consultation about a lifecycle."""

    answers: Mapping[str, Any]
    machines: Machines
    """What is bought for both phases, if it is, and the advice on each."""
    apart: Machines | None
    """The same with a machine for each phase; None where each has its own, or none is bought."""
    same: Plan | None
    """The best plan to serve on the accelerator that trains; None where there is none."""
    cost: LifecycleCost | None
    """None where the months of service are unknown."""
    apart_cost: LifecycleCost | None
    """What ``apart`` costs; None likewise."""
    unknown: Unknown
    said: SessionResult = field(repr=False)
    """What the session rules decide on the cost alone."""

    @property
    def train(self) -> Advice:
        """The advice on training."""
        return self.machines.advice[0]

    @property
    def serve(self) -> Advice:
        """The advice on serving."""
        return self.machines.advice[1]

    @property
    def phases(self) -> tuple[Advice, Advice]:
        """Training, then serving."""
        return self.train, self.serve

    @property
    def status(self) -> Status:
        """Infeasible where a phase is, tied where one has several equal plans."""
        found = {advice.status for advice in self.phases}
        return "infeasible" if "infeasible" in found else "tied" if "tied" in found else "recommended"

    @property
    def advice(self) -> tuple[Item, ...]:
        """Advice on the cost."""
        return session_items(self.said, Advise)

    @property
    def warnings(self) -> tuple[Item, ...]:
        """Warnings about the cost."""
        return session_items(self.said, Warn)

    @cached_property
    def trace(self) -> Trace:
        """How the cost came about, and the rules that speak of it; each phase has its own trace."""
        knowledge = self.said.knowledge
        calculations = knowledge.sourced_lifecycle(self.cost.calculations if self.cost else ())
        found = {f"life.{item.name}": item for item in calculations}
        known = {name: item for name, item in found.items() if name in knowledge.vocabulary}
        return Recorder(self.said).trace(known)

    def to_dict(self, *, every: bool = True, trace: bool = True) -> dict[str, Any]:
        """The JSON form, as docs/reference/contract.md lists it; what is not known is null, with the reason beside it.

        ``every``, ``trace``: as of an advice on one phase.
        """
        train, unknown, cost = self.train, self.unknown, self.cost
        run, same, apart = train.recommendation, self.same, self.apart_cost
        known = json_value(cost.figures()) if cost else {}
        months = known.get("service_months")
        no_months = None if cost else "the months of service are unknown"
        return {
            "schema": SCHEMA,
            "kb": {"version": train.knowledge_version, "hash": train.knowledge_hash},
            "engine": train.engine,
            "status": self.status,
            "answers": json_value(dict(self.answers)),
            "phases": [phase.to_dict(every=every, trace=trace) for phase in self.phases],
            "life_cost": {
                "service_months": months,
                "train": {
                    "usd_per_run": json_value(usd_per_run(run)),
                    "trainings": known.get("trainings"),
                    "runs": known.get("runs"),
                    "usd_total": known.get("train_usd"),
                    "because": unknown.train or no_months,
                },
                "serve": {
                    "usd_per_month": known.get("usd_per_month"),
                    "usd_total": known.get("serve_usd"),
                    "because": unknown.serve or no_months,
                },
                "usd_total": known.get("usd_total"),
                "serving_share": known.get("serving_share"),
                "equal_runs": known.get("equal_runs"),
                "same_hardware": {
                    "plan": plan_dict(same, variant=True) if same else None,
                    "usd_per_month": known.get("same_usd_per_month"),
                    "serve_usd_total": known.get("same_serve_usd"),
                    "usd_total": known.get("same_usd_total"),
                    "times": known.get("same_times"),
                    "because": unknown.same or no_months,
                },
                "one_machine": self.machines.both,
                "train_machine_usd": known.get("train_machine_usd"),
                "apart_usd_total": json_value(apart.usd_total) if apart else None,
                "advice": [item_dict(item) for item in self.advice],
                "warnings": [item_dict(item) for item in self.warnings],
                **({"trace": trace_dict(self.trace)} if trace else {}),
            },
        }
