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
from whygpu.explain.plan import Plan

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
    """Empty for the first stretch where something comes first, and for the next after nothing did."""

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
    """What the advice says of the plan that came first so far: a rule or a number."""
    if after is None:
        conflict = advice.infeasible
        return f"now: {'; '.join(conflict.conflict)}" if conflict is not None else advice.status
    if before is None:
        return ""
    best = advice.plans[0]
    same = [
        plan for head in advice.plans for plan in (head, *head.variants) if plan.accelerator.id == before.accelerator
    ]
    if not same:
        out = [one for one in advice.rejected if one.plan.accelerator.id == before.accelerator]
        return "; ".join(reason.text for one in out[:1] for reason in one.because) or "has no plan"
    alike = [plan for plan in same if plan.format == before.format]
    if not alike:
        return f"no longer runs in {before.format}" + _against(same[0], best)
    loser = alike[0]
    grown = f"takes {loser.count} where {before.count} did" if loser.count != before.count else ""
    if loser.id == best.id:
        return grown
    return (
        f"{grown}, and " if grown else ""
    ) + f"counts as {_money(loser)} against {_money(best)}{_against(loser, best)}"


def _against(loser: Plan, best: Plan) -> str:
    """What makes most of the difference: money, or the criterion whose verdicts weigh most, and their rules."""
    if loser.counted is None or best.counted is None or loser.id == best.id:
        return ""
    ours = {factor.criterion: factor.worth for factor in best.counted.factors}
    theirs = {factor.criterion: factor for factor in loser.counted.factors}
    worths = {name: (theirs[name].worth if name in theirs else 1.0) / ours.get(name, 1.0) for name in {*ours, *theirs}}
    total = math.prod(worths.values())
    paid = loser.counted.value / best.counted.value / total
    name, worth = max(sorted(worths.items()), key=lambda item: item[1], default=("", 0.0))
    if paid >= worth:
        return f": money x{paid:.2f}"
    rules = theirs[name].rules if name in theirs and theirs[name].worth > 1 else ()
    rules = rules or next((factor.rules for factor in best.counted.factors if factor.criterion == name), ())
    return f": {name} x{worth:.2f}" + (f" ({', '.join(rules)})" if rules else "")


def _money(plan: Plan) -> str:
    """What a plan counts as, as short as it can be said."""
    return "nothing known" if plan.counted is None else f"{plan.counted.value:,.3g}"


def run_all(sweeps: Sequence[Sweep], kb: whygpu.KnowledgeBase) -> list[tuple[Sweep, list[Strip]]]:
    """Every sweep in all its settings; raises AnswerError."""
    return [(sweep, [run(sweep, setting, kb) for setting in sweep.settings]) for sweep in sweeps]
