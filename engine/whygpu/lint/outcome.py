"""What a consultation comes to beyond words: enough to tell whether a rule, a size or a price moved anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from whygpu.explain.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.consult.consultation import Consultation, PlanResult
    from whygpu.plans.plan_set import PlanSet

Moved = Literal["status", "recommendation", "order", "plans", "verdicts"]
"""What changed, the weightiest first: how it ends, what is recommended, the order of accelerators, which plans there
are and which of them are left, and what speaks for and against them.
"""
PlanKey = tuple[str, int, str, str, str, str, str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer without its texts and citations; plans by accelerator, count, format and way of running."""

    status: str
    recommendation: frozenset[PlanKey]
    order: tuple[tuple[str, bool], ...]
    """Accelerators by rank, each with whether it shares the first."""
    left: frozenset[PlanKey]
    rejected: frozenset[PlanKey]
    verdicts: frozenset[tuple[PlanKey, str, float, float]]
    """For each plan left and criterion what the verdicts for it and against it are worth."""

    @classmethod
    def of(cls, consultation: Consultation) -> Outcome:
        """What the consultation came to."""
        rows = Rows(consultation)
        keys = list(_keys(consultation.plans.plan_set))
        first = rows.first
        alive = consultation.plans.alive
        return cls(
            status=rows.status,
            recommendation=frozenset(keys[index] for index in first),
            order=tuple((keys[index][0], index in first) for index in rows.heads),
            left=frozenset(keys[index] for index in np.flatnonzero(alive).tolist()),
            rejected=frozenset(keys[index] for index in np.flatnonzero(~alive).tolist()),
            verdicts=frozenset(_verdicts(consultation.plans, keys)),
        )

    def moved(self, other: Outcome) -> Moved | None:
        """The weightiest thing in which two outcomes differ; None where they are the same."""
        pairs: tuple[tuple[Moved, bool], ...] = (
            ("status", self.status != other.status),
            ("recommendation", self.recommendation != other.recommendation),
            ("order", self.order != other.order),
            ("plans", (self.left, self.rejected) != (other.left, other.rejected)),
            ("verdicts", self.verdicts != other.verdicts),
        )
        return next((name for name, differs in pairs if differs), None)


def _keys(plan_set: PlanSet) -> Iterator[PlanKey]:
    for card, configuration in zip(plan_set.card.tolist(), plan_set.configuration.tolist(), strict=True):
        setup, layout = plan_set.configurations[configuration].setup, plan_set.configurations[configuration].layout
        yield (
            plan_set.cards.accelerators[card].id,
            layout.cards,
            setup.format.id,
            setup.kv_format.id if setup.kv_format else "",
            f"{setup.method} {setup.gradient_checkpointing}" if setup.trains else "",
            layout.sharding,
            f"{layout.tensor} by {layout.cache_split}, experts by {layout.expert}",
            layout.pipeline,
        )


def _verdicts(plans: PlanResult, keys: list[PlanKey]) -> Iterator[tuple[PlanKey, str, float, float]]:
    for criterion, favour in plans.tally.favour.items():
        against = plans.tally.against[criterion]
        for index in np.flatnonzero(plans.alive & ((favour > 1) | (against > 1))).tolist():
            yield keys[index], criterion, round(float(favour[index]), 6), round(float(against[index]), 6)
