"""Workloads to ask about, and what came of them: every plan by what it is, and what it counts as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import yaml

from whygpu.answers import Answers, check, node_of
from whygpu.api import REGISTRY
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult import Consultation, consult
from whygpu.errors import AnswerError, Place
from whygpu.knowledge import Knowledge
from whygpu.load.files import default_root, read_texts
from whygpu.load.knowledge import load_texts
from whygpu.phases import check_life, is_life

TODAY = date(2026, 11, 22)
"""Prices age: all is asked on one day."""
WORKLOADS = Path(__file__).resolve().parents[2] / "benchmarks" / "recommendations" / "workloads.yaml"
PlanKey: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """One set of checked answers, by name."""

    id: str
    answers: Answers

    def with_(self, **changes: float) -> Workload:
        """The same with some numbers answered otherwise."""
        values = MappingProxyType({**self.answers.values, **changes})
        places = MappingProxyType({**self.answers.places, **dict.fromkeys(changes, Place("answers"))})
        return replace(self, answers=replace(self.answers, values=values, places=places))


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a workload: the plans that are left, by what they are, best first, and what they count as."""

    consultation: Consultation
    rows: Mapping[PlanKey, int]
    """In order of rank."""

    def value(self, key: PlanKey) -> float:
        """What a plan counts as."""
        assert self.consultation.ranking is not None
        return float(self.consultation.ranking.counted.values[self.rows[key]])


@cache
def knowledge() -> Knowledge:
    """The knowledge base that comes with whygpu, with its cases."""
    root = default_root()
    return load_texts(read_texts(root), str(root), REGISTRY)


@cache
def workloads() -> tuple[Workload, ...]:
    """Every worked case and every labelled workload that asks a fair question; of a whole life each phase."""
    found = [(case.id, case.answers) for case in knowledge().cases]
    labelled = yaml.safe_load(WORKLOADS.read_text(encoding="utf-8"))["workloads"]
    found += [(item["id"], node_of(item["answers"])) for item in labelled]
    made: list[Workload] = []
    for name, node in found:
        if is_life(node):
            life = check_life(node, knowledge())
            made += [Workload(f"{name}-train", life.train), Workload(f"{name}-serve", life.serve)]
        else:
            made.append(Workload(name, check(node, knowledge())))
    return tuple(made)


def sample(every: int, start: int = 0) -> tuple[Workload, ...]:
    """One in so many of the workloads."""
    return workloads()[start::every]


def ask(workload: Workload, base: Knowledge | None = None, **options: Any) -> Asked:
    """Consult about a workload, by the evaluator; raises AnswerError."""
    found = consult(base or knowledge(), workload.answers, EvaluatorChain(), "evaluator", TODAY, **options)
    order = () if found.ranking is None else found.ranking.order
    rows: dict[PlanKey, int] = {}
    for index in order:
        rows.setdefault(key(found, index), index)
    return Asked(found, rows)


def key(found: Consultation, index: int) -> PlanKey:
    """What a plan is: accelerator, count, formats, method and layout; not what it costs or how fast it is."""
    assert found.field_ is not None
    field = found.field_
    way, card = field.ways[int(field.way[index])], int(field.card[index])
    setup, split = way.setup, way.split
    return (
        field.cards.accelerators[card].id,
        bool(field.owned[index]),
        split.cards,
        setup.format.id,
        setup.kv_format.id if setup.kv_format else None,
        setup.method if setup.trains else None,
        (split.tensor, split.pipeline, split.data, split.sharding),
        setup.gradient_checkpointing if setup.trains else None,
        setup.batch_size if setup.trains else None,
        None if setup.trains else setup.requests_per_replica(split.data),
    )
