"""The first recommendation along one number at a time, and what changes it where it changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from benchmarks.recommendations.panel import ANSWERED, Choice, choice

import whygpu
from whygpu.explain.advice import Advice

FILE = Path(__file__).with_name("sweeps.yaml")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is varied, over which values, with which other answers in each setting."""

    id: str
    title: str
    axis: str
    unit: str
    values: tuple[float, ...]
    settings: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Point:
    """What comes first at one value; None where nothing will do."""

    value: float
    first: Choice | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring values with the same answer (accelerator, count, format), and why the one before gave way."""

    points: tuple[Point, ...]
    why: str
    """Empty for the first stretch, and where the accelerator stays."""

    @property
    def label(self) -> str:
        """As one would say it: "2x h100-sxm fp8"."""
        first = self.points[0].first
        return "nothing" if first is None else f"{first.count}x {first.accelerator} {first.format}"

    @property
    def span(self) -> tuple[float, float]:
        """Its least and its largest value."""
        return self.points[0].value, self.points[-1].value


@dataclass(frozen=True, slots=True)
class Strip:
    """A sweep in one setting."""

    setting: str
    stretches: tuple[Stretch, ...]

    @property
    def returns(self) -> tuple[str, ...]:
        """Accelerators that come back after another one took their place: the answer flaps."""
        order = [stretch.points[0].first for stretch in self.stretches]
        names = [first.accelerator for first in order if first is not None]
        runs = [name for name, before in zip(names, [None, *names], strict=False) if name != before]
        return tuple(sorted({name for name in runs if runs.count(name) > 1}))


def read(path: Path = FILE) -> tuple[Sweep, ...]:
    """The sweeps of a file; raises OSError and KeyError."""
    data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return tuple(
        Sweep(
            row["id"],
            row["title"],
            row["axis"],
            row["unit"],
            steps(row["from"], row["to"], row["per_decade"]),
            {name: {**row["answers"], **answers} for name, answers in row["settings"].items()},
        )
        for row in data["sweeps"]
    )


def steps(low: float, high: float, per_decade: int) -> tuple[float, ...]:
    """Values even on a logarithmic axis, both ends among them, to three digits (small ones may so fall together)."""
    count = round(math.log10(high / low) * per_decade)
    values = (low * (high / low) ** (step / count) for step in range(count + 1))
    return tuple(dict.fromkeys(_three_digits(value, whole=low >= 1) for value in values))


def _three_digits(value: float, *, whole: bool) -> float:
    rounded = float(f"{value:.3g}")
    return round(rounded) if whole else rounded


def run(sweep: Sweep, setting: str, kb: whygpu.KnowledgeBase) -> Strip:
    """The strip of one setting; raises AnswerError."""
    stretches: list[Stretch] = []
    for value in sweep.values:
        advice: Advice = kb.advise(asked_at(sweep.settings[setting], sweep.axis, value), engine="evaluator")
        point = Point(value, first_of(advice, kb))
        before = stretches[-1] if stretches else None
        if before is not None and _same(before.points[-1].first, point.first):
            stretches[-1] = Stretch((*before.points, point), before.why)
        else:
            stretches.append(Stretch((point,), _why(before.points[-1].first if before else None, point.first, advice)))
    return Strip(setting, tuple(stretches))


def first_of(advice: Advice, kb: whygpu.KnowledgeBase) -> Choice | None:
    """The recommendation as far as a label can speak of it."""
    best = advice.recommendation
    return choice(best, kb.knowledge.catalogue) if best is not None and advice.status in ANSWERED else None


def asked_at(answers: Mapping[str, Any], axis: str, value: float) -> dict[str, Any]:
    """The answers with a value at a dotted place."""
    head, _, rest = axis.partition(".")
    return {**answers, head: asked_at(answers.get(head, {}), rest, value) if rest else value}


def _same(before: Choice | None, after: Choice | None) -> bool:
    def key(one: Choice | None) -> tuple[str, int, str] | None:
        return None if one is None else (one.accelerator, one.count, one.format)

    return key(before) == key(after)


def _why(before: Choice | None, after: Choice | None, advice: Advice) -> str:
    """What the advice says of the accelerator that came first so far."""
    if before is None:
        return ""
    if after is None:
        conflict = advice.infeasible
        return "; ".join(conflict.conflict) if conflict is not None else advice.status
    if before.accelerator == after.accelerator:
        return ""
    for plan in advice.plans:
        if plan.accelerator.id == before.accelerator:
            return f"{plan.count}x {plan.accelerator.id} {plan.format}: {plan.behind or 'counts the same'}"
    for rejection in advice.rejected:
        if rejection.plan.accelerator.id == before.accelerator:
            return "; ".join(reason.text for reason in rejection.because)
    return "has no plan"


def run_all(sweeps: Sequence[Sweep], kb: whygpu.KnowledgeBase) -> list[tuple[Sweep, list[Strip]]]:
    """Every sweep in all its settings; raises AnswerError."""
    return [(sweep, [run(sweep, setting, kb) for setting in sweep.settings]) for sweep in sweeps]
