"""A sizing as a whole: what was asked, the figures, what the rules say of them, and how each came about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whygpu.explain.items import session_items
from whygpu.explain.json_form import SCHEMA, item_dict, json_value, trace_dict
from whygpu.explain.record import Recorder
from whygpu.knowledge.rules import Advise, Warn
from whygpu.language.tree import names
from whygpu.sizing.names import PREFIX
from whygpu.sizing.service import changes_of
from whygpu.sizing.service_size import ServiceSize

if TYPE_CHECKING:
    from whygpu.consult.consultation import SessionResult
    from whygpu.explain.parts import Item
    from whygpu.knowledge.catalogue import Accelerator
    from whygpu.plans.price import Price
    from whygpu.sizing.asked import Asked
    from whygpu.sizing.service_size import Change
    from whygpu.sizing.training import TrainingSize
    from whygpu.trace import Trace


@dataclass(frozen=True, eq=False)
class Sized:
    """The answer to ``whygpu size``. ``card``: what it was measured on; ``unpriced``: why it has no price."""

    asked: Asked
    size: ServiceSize | TrainingSize
    said: SessionResult
    card: Accelerator | None
    price: Price | None
    unpriced: str | None

    def _own(self, items: tuple[Item, ...]) -> tuple[Item, ...]:
        """What is said by rules that read names of sizing: others speak of plans, and there are none."""
        rules = self.said.knowledge.rule_by_id

        def reads(rule: str) -> bool:
            return any(name.name.startswith(PREFIX) for name in names(rules[rule].condition))

        return tuple(item for item in items if any(map(reads, item.rules)))

    @property
    def possible(self) -> bool:
        """Whether something meets what is asked."""
        size = self.size
        return size.needed is not None if isinstance(size, ServiceSize) else size.in_time

    @property
    def advice(self) -> tuple[Item, ...]:
        """What the rules advise."""
        return self._own(session_items(self.said, Advise))

    @property
    def warnings(self) -> tuple[Item, ...]:
        """What the rules warn of."""
        return self._own(session_items(self.said, Warn))

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """How many replicas other demands would take; of a training run its curve says it."""
        return changes_of(self.size) if isinstance(self.size, ServiceSize) else ()

    @cached_property
    def trace(self) -> Trace:
        """How the figures came about, and the rules that speak of them."""
        knowledge = self.said.knowledge
        found = {PREFIX + item.name: item for item in knowledge.sourced_sizing(self.size.calculations)}
        return Recorder(self.said).trace({name: item for name, item in found.items() if name in knowledge.vocabulary})

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as docs/reference/contract.md lists it."""
        knowledge, size = self.said.knowledge, self.size
        found: dict[str, Any] = {
            "schema": SCHEMA,
            "kb": {"version": knowledge.version, "hash": knowledge.hash},
            "of": self.asked.of,
            "answers": json_value(dict(self.asked.answers.given)),
            "accelerator": None if self.card is None else self.card.id,
            "figures": json_value(dict(size.figures())),
            "basis": [json_value(item) for item in size.basis],
            "curve": self._curve(),
            "changes": [json_value(item) for item in self.changes],
            "notes": list(size.notes),
            "questions": [{"message": item.message, "help": item.help} for item in self.asked.measured.questions],
            "price": None if self.price is None else json_value(self.price.offering.id),
            "unpriced": self.unpriced,
            "calculations": [json_value(item) for item in knowledge.sourced_sizing(size.calculations)],
            "advice": [item_dict(item) for item in self.advice],
            "warnings": [item_dict(item) for item in self.warnings],
            "trace": trace_dict(self.trace),
        }
        return found

    def _curve(self) -> list[dict[str, Any]]:
        size = self.size
        if isinstance(size, ServiceSize):
            return [
                {
                    "in_flight": json_value(row.load.in_flight),
                    "requests_per_s": json_value(row.load.per_s),
                    "mean_ms": json_value(row.load.mean_s * 1000),
                    "p95_ms": None if row.load.tail_s is None else json_value(row.load.tail_s * 1000),
                    "knee": row.knee,
                    "cap": row.cap,
                }
                for row in size.rows
            ]
        return [json_value(run) for run in size.runs]
