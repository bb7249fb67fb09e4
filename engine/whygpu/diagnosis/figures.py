"""The figures of one or several measurements as facts: as they were measured, and those that loads and rows come to."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.checks.calculation import Calculation, Term
from whygpu.errors import Location, Problem
from whygpu.measured.contradictions import efficiency_over, rate_of
from whygpu.measured.measurement import POINT, PREFIX
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement, Point, Scaling

Value = float | bool | str
_ABOUT = ("phase", "runtime", "framework", "training_precision", "format")
"""Answers of a setup that rules about measurements may read."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known: values by name, where each comes from, how some were computed, and what looks odd."""

    values: Mapping[str, Value]
    places: Mapping[str, str]
    computed: Mapping[str, Calculation]
    questions: tuple[Problem, ...]


def figures_of(measurements: Sequence[Measurement], knowledge: Knowledge) -> Figures:
    """The figures of measurements of one system. Where two say different things of one, the last one counts."""
    values: dict[str, Value] = {}
    places: dict[str, str] = {}
    questions: list[Problem] = []
    computed: dict[str, Calculation] = {}
    for item in measurements:
        questions += item.questions
        for name, value, place in _said(item, knowledge):
            before = values.get(name)
            if before is not None and before != value:
                questions.append(_differs(name, before, value, places[name], place, knowledge))
            values[name], places[name] = value, place
    for calculation in (item for one in measurements for item in (*_of_points(one.points), *_of_rows(one.scaling))):
        name = f"{PREFIX}{calculation.name}"
        if name not in values and name in knowledge.vocabulary:
            values[name], computed[name] = calculation.value, calculation
    questions += [item for one in measurements for item in _too_few(one)]
    return Figures(MappingProxyType(values), MappingProxyType(places), MappingProxyType(computed), tuple(questions))


def _said(item: Measurement, knowledge: Knowledge) -> Iterator[tuple[str, Value, str]]:
    """The single figures, those of the highest load, and what the setup says; each with its place."""
    for key, value in item.figures.items():
        yield f"{PREFIX}{key}", value, str(item.locations.get(key, Location(item.name)))
    highest = max(item.points, key=_load, default=None)
    for key in POINT if highest is not None else ():
        figure: float | None = getattr(highest, key)
        if figure is not None and key not in item.figures:
            yield f"{PREFIX}{key}", figure, f"{item.name}, the highest load"
    largest = max(item.scaling, key=lambda row: row.accelerators, default=None)
    for key in ("step_ms", "communication_share", "input_share"):
        figure = None if largest is None else getattr(largest, key)
        if figure is not None and key not in item.figures:
            yield f"{PREFIX}{key}", figure, f"{item.name}, the most accelerators"
    for key in _ABOUT:
        spec, answer = knowledge.name_by_answer.get(key), item.setup.answers.values.get(key)
        if spec is not None and answer is not None:
            yield spec.name, answer, str(item.setup.answers.locations.get(key, Location(item.name)))


def _differs(name: str, one: Value, other: Value, first: str, second: str, knowledge: Knowledge) -> Problem:
    unit = knowledge.vocabulary[name].unit
    shown = [show(value, unit) if isinstance(value, float) else str(value) for value in (one, other)]
    message = f"'{name.removeprefix(PREFIX)}' is {shown[0]} ({first}) and {shown[1]} ({second}); the last is used"
    hint = "are both of the same system under the same load?"
    return Problem("two-values", message, Location(second), hint, severity="warning")


def _load(point: Point) -> float:
    """What orders loads: requests in flight, else requests or samples sent."""
    return point.concurrency or point.request_rate or point.batch or 0.0


def _throughput(point: Point) -> float | None:
    return point.requests_per_s if point.requests_per_s is not None else point.output_tokens_per_s


def _tail(point: Point) -> float | None:
    return next((value for value in (point.latency_p95_ms, point.ttft_p95_ms, point.tpot_p95_ms) if value), None)


def _grown(low: Point, high: Point, base: str) -> Iterator[Calculation]:
    """How latency and throughput grew from one load, called ``base``, to the highest."""
    start = "last_" if base == "half_the_load" else ""
    pairs = (
        ("latency_growth", _tail(low), _tail(high), "ms", "95th percentile"),
        ("throughput_growth", _throughput(low), _throughput(high), "a second", "throughput"),
    )
    for name, before, after, unit, note in pairs:
        if before and after:
            terms = (Term("highest_load", after, unit), Term(base, before, unit))
            yield Calculation(f"{start}{name}", f"highest_load / {base}", terms, after / before, "times", note=note)


def _of_points(points: Sequence[Point]) -> Iterator[Calculation]:
    """How latency and throughput grew from the lowest load to the highest, and to it from half of it or less."""
    loads = sorted((point for point in points if _load(point)), key=_load)
    if len(loads) < 2 or _load(loads[0]) == _load(loads[-1]):
        return
    low, high = loads[0], loads[-1]
    half = [point for point in loads if _load(point) <= _load(high) / 2]
    yield from _grown(low, high, "lowest_load")
    yield from _grown(half[-1] if half else low, high, "half_the_load")
    sent = sum((point.completed or 0.0) + (point.failed or 0.0) for point in points)
    failed = sum(point.failed or 0.0 for point in points)
    if sent:
        terms = (Term("failed", failed, "requests"), Term("sent", sent, "requests"))
        yield Calculation("failed_share", "failed / sent", terms, failed / sent, "share")


def _of_rows(rows: Sequence[Scaling]) -> Iterator[Calculation]:
    """How well work is spread, and how what is not computation grew, from the fewest accelerators to the most."""
    known = sorted(rows, key=lambda row: row.accelerators)
    if len(known) < 2 or known[0].accelerators == known[-1].accelerators:
        return
    few, many = known[0], known[-1]
    efficiency = efficiency_over(few, many)
    if efficiency is not None:
        one, other = rate_of(few) or 0.0, rate_of(many) or 0.0
        terms = (
            Term("work_of_most", other, "a second"),
            Term("most", many.accelerators, "accelerators"),
            Term("work_of_fewest", one, "a second"),
            Term("fewest", few.accelerators, "accelerators"),
        )
        text = "work_of_most / most / (work_of_fewest / fewest)"
        yield Calculation("scaling_efficiency", text, terms, efficiency, "share")
    for name in ("communication", "input"):
        before, after = (getattr(row, f"{name}_share") for row in (few, many))
        if before is not None and after is not None:
            shares = (Term("most", after, "share"), Term("fewest", before, "share"))
            yield Calculation(
                f"{name}_growth", "most - fewest", shares, after - before, "share", note="by accelerators"
            )


def _too_few(item: Measurement) -> Iterable[Problem]:
    """Tables of one row, which show no growth."""
    rows = (
        ("points", item.points, "loads", "latency and throughput"),
        ("scaling", item.scaling, "numbers of accelerators", "the shares of a step"),
    )
    for key, found, noun, what in rows:
        if len(found) == 1:
            message = f"'{key}' has one row: how {what} grow takes two {noun} or more"
            yield Problem("too-few", message, Location(item.name), "measure another", severity="warning")
