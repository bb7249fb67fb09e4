"""What comes of answers about a lifecycle: the advice on each phase, and the cost of both together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.checks.cost.lifecycle import LifecycleCost
    from whygpu.explain.advice import Advice, Item, Plan, Status
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
    train: Advice
    serve: Advice
    same: Plan | None
    """The best plan to serve on the accelerator that trains; None where there is none."""
    cost: LifecycleCost | None
    """None where nobody says how long it serves."""
    unknown: Unknown
    said: Advice = field(repr=False)
    """What the rules say about the cost: a consultation on the cost alone, without plans."""

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
        return self.said.advice

    @property
    def warnings(self) -> tuple[Item, ...]:
        """Warnings about the cost."""
        return self.said.warnings

    @cached_property
    def trace(self) -> Trace:
        """How the cost came about, and the rules that speak of it; each phase has its own trace."""
        from whygpu.explain.record import Recorder  # noqa: PLC0415  explanations are made of advice, not the reverse

        judged = self.said.sections.consultation
        knowledge = judged.knowledge
        calculations = knowledge.sourced_lifecycle(self.cost.calculations if self.cost else ())
        found = {f"life.{item.name}": item for item in calculations}
        known = {name: item for name, item in found.items() if name in knowledge.vocabulary}
        return Recorder(judged, (), None).trace((), (), figures=known)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as docs/reference/json.md lists it."""
        from whygpu.render.plain import lifecycle_dict  # noqa: PLC0415  renderers depend on this module, not the reverse

        return lifecycle_dict(self)
