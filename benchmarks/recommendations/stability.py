"""How often the first recommendation changes where prices move by 15%: all, or those of one accelerator alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from benchmarks.recommendations.panel import Choice, Label
from benchmarks.recommendations.sweeps import first_of

import whygpu
from whygpu.explain.advice import Advice
from whygpu.lint.robust import PRICES, repriced

RIVALS = 3
"""So many accelerators behind the first have their prices moved, one at a time."""
ALL, FIRST, RIVAL = "all prices", "prices of the first alone", f"prices of one of the {RIVALS} behind it"


@dataclass(frozen=True, slots=True)
class Moved:
    """One workload at other prices: whose moved, by which factor, and what came first then."""

    label: Label
    whose: str
    factor: float
    before: Choice | None
    after: Choice | None

    @property
    def another_card(self) -> bool:
        """Whether another accelerator comes first, or nothing, or something at last."""
        return _name(self.before) != _name(self.after)

    @property
    def another_plan(self) -> bool:
        """The same of accelerator, count and format."""

        def key(one: Choice | None) -> tuple[str, int, str] | None:
            return None if one is None else (one.accelerator, one.count, one.format)

        return key(self.before) != key(self.after)

    @property
    def spoilt(self) -> bool:
        """Whether an acceptable first answer gave way to one that is not."""
        return self.label.accepts(self.before) and not self.label.accepts(self.after)


def move(labels: Sequence[Label], kb: whygpu.KnowledgeBase) -> list[Moved]:
    """Every workload at every price; raises AnswerError."""

    @cache
    def at(factor: float, accelerator: str | None) -> whygpu.KnowledgeBase:
        alone = None if accelerator is None else {accelerator}
        return whygpu.KnowledgeBase(repriced(kb.knowledge, factor, alone))

    return [moved for label in labels for moved in _moves(label, kb, at)]


def _moves(
    label: Label, kb: whygpu.KnowledgeBase, at: Callable[[float, str | None], whygpu.KnowledgeBase]
) -> Iterator[Moved]:
    plain: Advice = kb.advise(label.answers, engine="evaluator")
    before = first_of(plain, kb)
    cards = [plan.accelerator.id for plan in plain.plans[: RIVALS + 1]]
    targets = [(ALL, None), *((RIVAL if place else FIRST, card) for place, card in enumerate(cards))]
    for whose, card in targets:
        for factor in PRICES:
            base = at(factor, card)
            yield Moved(label, whose, factor, before, first_of(base.advise(label.answers, engine="evaluator"), base))


def _name(choice: Choice | None) -> str | None:
    return None if choice is None else choice.accelerator


def table(moved: Sequence[Moved]) -> list[list[str]]:
    """A heading, then how often the first answer changed, by whose prices moved."""
    lines = [
        [
            "prices moved by 15%",
            "consultations",
            "another accelerator first",
            "another count or format",
            "acceptable lost",
        ]
    ]
    for whose in (ALL, FIRST, RIVAL):
        rows = [one for one in moved if one.whose == whose]
        cards = sum(one.another_card for one in rows)
        plans = sum(one.another_plan for one in rows) - cards
        spoilt = sum(one.spoilt for one in rows)
        share = f"{cards} ({cards / max(len(rows), 1):.0%})"
        lines.append([whose, str(len(rows)), share, str(plans), str(spoilt)])
    return lines


def unsteady(moved: Sequence[Moved]) -> Mapping[str, tuple[str, ...]]:
    """Workloads whose first accelerator changes where the prices of one accelerator move, and to which."""
    found: dict[str, dict[str, None]] = {}
    for one in moved:
        if one.another_card and one.whose != ALL:
            found.setdefault(one.label.id, {})[_name(one.after) or "nothing"] = None
    return {name: tuple(others) for name, others in found.items()}
