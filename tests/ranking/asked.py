"""Workloads to ask about, and what came of them: every plan by what it is, and what it counts as."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from zlib import crc32

import pytest
import yaml

from whygpu.answers import Answers, check, node_of
from whygpu.api import REGISTRY
from whygpu.chain.engines import Chain, EvaluatorChain
from whygpu.consult.consultation import Consultation
from whygpu.consult.driver import consult
from whygpu.errors import AnswerError, Location
from whygpu.knowledge.base import Knowledge
from whygpu.knowledge.rules import Verdict
from whygpu.lifecycle.answers import check_lifecycle, is_lifecycle
from whygpu.loader.assemble import load_texts
from whygpu.loader.files import default_root, read_texts
from whygpu.plans.counting import Counted
from whygpu.yamldoc.document import Node

TODAY = date(2026, 11, 22)
"""Prices age: all is asked on one day."""
WORKLOADS = Path(__file__).resolve().parents[2] / "benchmarks" / "recommendations" / "workloads.yaml"
PlanKey: TypeAlias = tuple[object, ...]
SLIGHTLY = 1e-9
"""Sums in another order differ by so much."""


def one_in(every: int) -> pytest.MarkDecorator:
    """The mark of a property over workloads: one in so many of them."""
    return pytest.mark.parametrize("every", [every])


@dataclass(frozen=True, slots=True)
class Workload:
    """One set of checked answers, by name."""

    id: str
    answers: Answers

    def with_(self, **changes: float) -> Workload:
        """The same with some numbers answered otherwise."""
        values = MappingProxyType({**self.answers.values, **changes})
        locations = MappingProxyType({**self.answers.locations, **dict.fromkeys(changes, Location("answers"))})
        return replace(self, answers=replace(self.answers, values=values, locations=locations))


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a workload: the plans that are left, by what they are."""

    workload: Workload
    consultation: Consultation
    rows: Mapping[PlanKey, int]
    """In order of rank."""

    @property
    def counted(self) -> Counted:
        """What the plans count as."""
        return self.consultation.plans.ranking.counted

    def value(self, plan: PlanKey) -> float:
        """What a plan counts as; NaN where it has no price."""
        return float(self.counted.values[self.rows[plan]])

    def factors(self, plan: PlanKey) -> dict[str, float]:
        """The factors of a plan that are not one, and its money."""
        row = self.rows[plan]
        found = {
            name: round(float(column[row]), 3) for name, column in self.counted.factors.items() if column[row] != 1
        }
        return {"money": float(self.counted.money.values[row]), **found}

    def rules(self, plan: PlanKey) -> set[str]:
        """The rules that speak for or against a plan."""
        row, found = self.rows[plan], self.consultation
        by_id = found.knowledge.rule_by_id
        speaking = (rule for rule, mask in found.plans.fired.items() if mask[row])
        return {rule for rule in speaking if any(isinstance(effect, Verdict) for effect in by_id[rule].effects)}

    def told(self, other: Asked, plan: PlanKey) -> str:
        """What differs in one plan here and there, for whoever reads a test that failed."""
        rules = sorted(self.rules(plan) ^ other.rules(plan))
        return (
            f"{self.workload.id}: {plan}: {self.value(plan):g} against {other.value(plan):g}; rules {rules}; "
            f"{self.factors(plan)} against {other.factors(plan)}"
        )


@cache
def knowledge() -> Knowledge:
    """The knowledge base that comes with whygpu, with its cases."""
    root = default_root()
    return load_texts(read_texts(root), str(root), REGISTRY)


@cache
def workloads() -> tuple[Workload, ...]:
    """Every worked case and every labelled workload; of a lifecycle each phase."""
    found: list[tuple[str, Node]] = [(case.id, case.answers) for case in knowledge().cases]
    labelled = yaml.safe_load(WORKLOADS.read_text(encoding="utf-8"))["workloads"]
    found += [(item["id"], node_of(item["answers"])) for item in labelled]
    made: list[Workload] = []
    for name, node in found:
        if is_lifecycle(node):
            life = check_lifecycle(node, knowledge())
            made += [Workload(f"{name}-train", life.train), Workload(f"{name}-serve", life.serve)]
        else:
            made.append(Workload(name, check(node, knowledge())))
    return tuple(made)


def named(name: str) -> Workload:
    """One of the workloads."""
    return next(workload for workload in workloads() if workload.id == name)


def asked(every: int) -> Iterator[Asked]:
    """One in so many of the workloads, and what came of it; those that leave no plan tell nothing.

    By their names, so that a new case puts no other into the sample.
    """
    for workload in (one for one in workloads() if crc32(one.id.encode()) % every == 0):
        found = ask(workload)
        if found is not None and found.rows:
            yield found


def ask(workload: Workload, base: Knowledge | None = None, chain: Chain | None = None, **options: Any) -> Asked | None:
    """Consult about a workload, by the evaluator; None where the model is none, or no plan is tried."""
    try:
        found = consult(base or knowledge(), workload.answers, chain or EvaluatorChain(), TODAY, **options)
    except AnswerError:
        return None
    if found.plans.ranking is None:
        return None
    rows: dict[PlanKey, int] = {}
    for row in found.plans.ranking.order:
        rows.setdefault(plan_of(found, row), row)
    return Asked(workload, found, rows)


def plan_of(found: Consultation, row: int) -> PlanKey:
    """What a plan is: accelerator, count, formats, method and layout; not what it costs or how fast it is.

    What each accelerator works on at once is whole requests or samples, and part of what a plan is.
    """
    field = found.plans.plan_set
    configuration, card = field.configurations[int(field.configuration[row])], int(field.card[row])
    setup, layout = configuration.setup, configuration.layout
    return (
        field.cards.accelerators[card].id,
        bool(field.owned[row]),
        layout.cards,
        setup.format.id,
        setup.kv_format.id if setup.kv_format else None,
        setup.method if setup.trains else None,
        (layout.tensor, layout.pipeline, layout.data, layout.sharding, layout.cache_split),
        setup.gradient_checkpointing if setup.trains else None,
        setup.batch_size if setup.trains else setup.requests_per_replica(layout.data),
    )


def swapped(one: Asked, other: Asked) -> str | None:
    """The first two plans that come in another order, by more than rounding; None where there are none.

    Plans that only one of the two has are passed over, and those without a price.
    """
    both = [plan for plan in one.rows if plan in other.rows]
    both = [plan for plan in both if math.isfinite(one.value(plan)) and math.isfinite(other.value(plan))]
    location = {plan: number for number, plan in enumerate(other.rows)}
    for first, second in pairwise(both):
        if location[first] > location[second] and one.value(second) > one.value(first) * (1 + SLIGHTLY):
            return f"{other.told(one, first)}\n  now behind {other.told(one, second)}"
    return None
