"""Makes the plans that are told out of the rows of a consultation: each with its figures, costs and verdicts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.explain.costs import CostSheet
from whygpu.explain.plan import AcceleratorName, Memory, Parallelism, Plan, Plans
from whygpu.explain.rows import Rows
from whygpu.explain.verdicts import counted_of, verdicts_of
from whygpu.knowledge.rules import Advise
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whygpu.checks.memory.estimate import MemoryEstimate
    from whygpu.consult.consultation import Consultation
    from whygpu.knowledge.rules import Rule, Warn
    from whygpu.plans.plan_set import Candidate


class PlanMaker:
    """Makes the plans of one consultation, each when it is asked for."""

    def __init__(self, consultation: Consultation) -> None:
        """Nothing is made yet."""
        self.consultation = consultation
        self.rows = Rows(consultation)
        self.sheet = CostSheet(consultation)

    def best(self) -> Plan | None:
        """The recommended plan with its variants."""
        return self._head(1, self.rows.groups[0]) if self.rows.groups else None

    def others(self) -> Plans:
        """The best plan of each other accelerator with its variants; co-recommended ones share the first rank."""
        rest = self.rows.groups[1:]
        return Plans(len(rest), lambda position: self._head(position + 2, rest[position]))

    def heads(self) -> Plans:
        """The best plan of each accelerator without its variants."""
        heads = self.rows.heads
        return Plans(len(heads), lambda position: self.at(heads[position]))

    def _head(self, position: int, rows: list[int]) -> Plan:
        variants = Plans(len(rows) - 1, lambda position: self.at(rows[position + 1]))
        if self.rows.equal(rows[0], self.rows.groups[0][0]):
            return self.at(rows[0], 1, variants)
        return replace(self.at(rows[0], position, variants), behind=self.rows.behind(rows[0]))

    def at(self, row: int, rank: int | None = None, variants: Sequence[Plan] = ()) -> Plan:
        """One plan of the consultation, whether rules reject it or not."""
        plans = self.consultation.plans
        item = plans.plan_set.candidate(row)
        card, layout = item.accelerator, item.layout
        cost, verdicts = self.sheet.cost(row), tuple(verdicts_of(self.consultation, row))
        return Plan(
            id=self.rows.ids[row],
            accelerator=AcceleratorName(
                card.id, card.name, card.family, card.vendor, *map(card.number, ("marketing_gb", "usable_mib"))
            ),
            count=layout.cards,
            nodes=layout.nodes,
            format=item.setup.format.id,
            kv_format=item.setup.kv_format.id if item.setup.kv_format else None,
            method=item.setup.method if item.setup.trains else None,
            batch_size=_batch_size(item),
            techniques=tuple(effect.id for _, effect in self.said(row, Advise)),
            parallelism=Parallelism(
                layout.tensor, layout.pipeline, layout.data, layout.sharding, layout.cache_split, layout.expert
            ),
            memory=_memory(item.memory, self.consultation.knowledge.catalogue.usable_bytes(card)),
            speed=plans.plan_set.ranges(row),
            cost=cost,
            unpriced=None if cost is not None else self.sheet.unpriced(row),
            verdicts=verdicts,
            rank=rank,
            unverified=bool(plans.unverified[row]),
            counted=counted_of(self.consultation, row, verdicts),
            index=row,
            owned=bool(plans.plan_set.owned[row]),
            variants=variants,
        )

    def said(self, row: int, kind: type[Advise | Warn]) -> Iterator[tuple[Rule, Advise | Warn]]:
        """What rules advise for one plan, or warn of."""
        for rule_id, mask in self.consultation.plans.fired.items():
            rule = self.consultation.knowledge.rule_by_id[rule_id]
            for effect in rule.effects if mask[row] else ():
                if isinstance(effect, kind):
                    yield rule, effect


def _memory(need: MemoryEstimate, usable: float) -> Memory:
    """What one accelerator holds; ``usable``: bytes, NaN where it is not known."""
    return Memory(
        weights_gib=need.weights / GIB,
        kv_cache_gib=need.kv_cache / GIB,
        gradients_gib=need.gradients / GIB,
        optimizer_gib=need.optimizer / GIB,
        activations_gib=need.activations / GIB,
        logits_gib=need.logits / GIB,
        overhead_gib=need.overhead / GIB,
        reused_gib=need.reused / GIB,
        total_gib=need.total / GIB,
        low_gib=need.low / GIB,
        high_gib=need.high / GIB,
        usable_gib=None if math.isnan(usable) else usable / GIB,
        verdict=need.verdict(usable),
    )


def _batch_size(item: Candidate) -> int | None:
    """Samples at once: of an accelerator in training, of a replica in batch work; None in serving."""
    setup = item.setup
    if setup.phase == "batch-inference" and item.memory.shape.kind in TOKEN_KINDS:
        return setup.requests_per_replica(item.layout.data)
    return setup.batch_size if setup.trains or setup.phase == "batch-inference" else None
