"""Looks for figures of a measurement that cannot all be true, or that need a reason.

An error refuses the measurement; a warning is a question, and the measurement is used. How far figures may be apart
are facts (``measured-...`` in kb/facts/measuring.yaml).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from whygpu.errors import Problem
from whygpu.measured.measurement import PERCENTILES, SCALING, STEP_SHARES, TIMES, Measurement, Point, Scaling
from whygpu.quantity import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.errors import Severity
    from whygpu.knowledge.base import Knowledge
    from whygpu.yamldoc import document as doc
    from whygpu.yamldoc.document import Node

_CODE = "contradiction"


@dataclass(frozen=True, slots=True)
class FigureNodes:
    """Nodes to point at: of the figures by name, of each point and of each row of the scaling."""

    figures: Mapping[str, Node]
    points: tuple[doc.Mapping, ...]
    scaling: tuple[doc.Mapping, ...]


def contradictions(found: Measurement, places: FigureNodes, knowledge: Knowledge) -> Iterator[Problem]:
    """What is wrong with the figures together."""
    slack = _slack(knowledge, "measured-slack")
    figures = {key: value for key, value in found.figures.items() if isinstance(value, float)}
    yield from _ordered(figures, places.figures)
    yield from _shares(figures, places.figures, slack)
    for point, node in zip(found.points, places.points, strict=True):
        values = {key: value for key in node.items if isinstance(value := getattr(point, key, None), float)}
        yield from _ordered(values, node.items)
        yield from _load(point, node.items, slack)
    yield from _memory(found, places, knowledge)
    yield from _scaling(found.scaling, places, _slack(knowledge, "measured-scaling-slack"), slack)
    yield from _pace(found, places, _slack(knowledge, "measured-scaling-slack"))


def _slack(knowledge: Knowledge, name: str) -> float:
    coefficients = knowledge.catalogue.coefficients
    return coefficients.pick(name, {}).likely if name in coefficients else 0.0


def _at(node: Node, message: str, hint: str, severity: Severity = "error") -> Problem:
    return Problem(_CODE, message, node.location, hint, node.document.line(node.line) or None, severity)


def _ordered(values: Mapping[str, float], nodes: Mapping[str, Node]) -> Iterator[Problem]:
    """Percentiles of one thing rise; the first token of an answer comes before its last."""
    for what in TIMES:
        names = [name for part in PERCENTILES if (name := f"{what}_{part}_ms") in values]
        for lower, upper in pairwise(names):
            if values[upper] < values[lower]:
                message = f"'{upper}' is {show(values[upper], 'ms')}, less than '{lower}' ({show(values[lower], 'ms')})"
                yield _at(nodes[upper], message, "a higher percentile is never the smaller: are they swapped?")
    for part in ("mean", *PERCENTILES):
        first, last = f"ttft_{part}_ms", f"latency_{part}_ms"
        if first in values and last in values and values[first] > values[last]:
            message = f"'{first}' is {show(values[first], 'ms')}, more than '{last}' ({show(values[last], 'ms')})"
            yield _at(nodes[first], message, "the first token comes before the last: are they of the same requests?")


def _shares(values: Mapping[str, float], nodes: Mapping[str, Node], slack: float) -> Iterator[Problem]:
    """The parts of a step are no more than the step."""
    parts = [name for name in STEP_SHARES if name in values]
    total = sum(values[name] for name in parts)
    if total > 1 + slack:
        written = " + ".join(f"{name} {show(values[name], 'share')}" for name in parts)
        hint = "count time that two parts share in one of them: only communication and input that nothing hides"
        yield _at(nodes[parts[-1]], f"{written} is {show(total, 'share')} of a step", hint)


def _load(point: Point, nodes: Mapping[str, Node], slack: float) -> Iterator[Problem]:
    """No more is answered than sent, and no more is in flight than allowed (Little's law)."""
    sent, done, mean, most = point.request_rate, point.requests_per_s, point.latency_mean_ms, point.concurrency
    if sent is not None and done is not None and done > sent * (1 + slack):
        message = f"{show(done)} requests a second were answered, and {show(sent)} were sent"
        yield _at(nodes["requests_per_s"], message, "is 'request_rate' what was sent a second?", "warning")
    if done is not None and mean is not None and most is not None and done * mean / 1000 > most * (1 + slack):
        message = (
            f"{show(done)} requests a second that take {show(mean, 'ms')} each are "
            f"{show(done * mean / 1000)} in flight, and 'concurrency' is {show(most)}"
        )
        hint = "in flight = requests a second x seconds each (Little's law): are the figures of the same run?"
        yield _at(nodes["requests_per_s"], message, hint, "warning")


def _memory(found: Measurement, places: FigureNodes, knowledge: Knowledge) -> Iterator[Problem]:
    """No more memory is in use than the card has."""
    card = knowledge.catalogue.accelerators.get(found.setup.accelerator or "")
    mib = None if card is None else card.number("usable_mib")
    total = found.number("memory_total_gib")
    most = total if total is not None else None if mib is None else mib / 1024
    used = [(found.number("memory_gib"), places.figures.get("memory_gib"))]
    used += [
        (point.memory_gib, node.items.get("memory_gib"))
        for point, node in zip(found.points, places.points, strict=True)
    ]
    for value, node in used:
        if value is not None and node is not None and most is not None and value > most:
            name = "it" if card is None else f"one {card.name}"
            message = f"'memory_gib' is {show(value, 'GiB')}, and {name} has {show(most, 'GiB')}"
            yield _at(node, message, "give the memory of one accelerator, in GiB (2^30 bytes)")


def _scaling(rows: tuple[Scaling, ...], places: FigureNodes, slack: float, rounding: float) -> Iterator[Problem]:
    """No more machines than accelerators, each layout once, and no efficiency above 1 without a reason."""
    seen: set[tuple[float, float | None]] = set()
    first: Scaling | None = None
    for row, node in sorted(zip(rows, places.scaling, strict=True), key=lambda item: item[0].accelerators):
        if row.nodes is not None and row.nodes > row.accelerators:
            message = f"{show(row.accelerators)} accelerators are on {show(row.nodes)} machines"
            yield _at(node.items["nodes"], message, "'nodes' counts machines, each with one accelerator or more")
        if (row.accelerators, row.nodes) in seen:
            message = f"two rows are of {show(row.accelerators)} accelerators on as many machines"
            yield _at(node, message, "keep one of them, or their mean")
        seen.add((row.accelerators, row.nodes))
        shares = {key: value for key in STEP_SHARES if isinstance(value := getattr(row, key, None), float)}
        yield from _shares(shares, node.items, rounding)
        efficiency = None if first is None else efficiency_over(first, row)
        if efficiency is not None and efficiency > 1 + slack and row.because is None and first is not None:
            message = (
                f"{show(row.accelerators)} accelerators do {show(efficiency, 'share')} of {show(row.accelerators)}/"
                f"{show(first.accelerators)} times the work of {show(first.accelerators)}"
            )
            hint = "more than in proportion needs a reason: add 'because: ...', or check that the batch is the same"
            yield _at(node, message, hint)
        if first is None and rate_of(row) is not None:
            first = row


def _pace(found: Measurement, places: FigureNodes, slack: float) -> Iterator[Problem]:
    """A single figure is what the row of as many accelerators says; a step is as long as its batch takes."""
    count, nodes = found.setup.count, found.setup.nodes
    rows = [
        (row, node)
        for row, node in zip(found.scaling, places.scaling, strict=True)
        if row.accelerators == count and (nodes is None or row.nodes in (None, nodes))
    ]
    told = {key: value for key in SCALING if (value := found.number(key)) is not None}
    batch, sequence = (found.setup.answers.values.get(key) for key in ("batch_size", "sequence_tokens"))
    if count is not None and told.get("step_ms") and isinstance(batch, float):
        told.setdefault("samples_per_s", batch * count / told["step_ms"] * 1000)
        if isinstance(sequence, float):
            told.setdefault("tokens_per_s", told["samples_per_s"] * sequence)
    for row, node in rows:
        for key in ("step_ms", "samples_per_s", "tokens_per_s"):
            here, there = getattr(row, key), told.get(key)
            if here and there and abs(here / there - 1) > slack:
                place = places.figures.get(key) or places.figures["step_ms"]
                how = "" if key in places.figures else " by 'step_ms' and 'batch_size'"
                message = (
                    f"'{key}' is {show(there)}{how}, and {show(here)} in the row of {show(row.accelerators)} "
                    f"accelerators ({node.location})"
                )
                hint = (
                    "are both of the same run? 'step_ms' is what the whole step takes, 'batch_size' of one accelerator"
                )
                yield _at(place, message, hint, "warning")


def rate_of(row: Scaling) -> float | None:
    """Work a second of a row: samples, else tokens."""
    return row.samples_per_s if row.samples_per_s is not None else row.tokens_per_s


def efficiency_over(first: Scaling, row: Scaling) -> float | None:
    """Scaling efficiency: work a second for each accelerator, over that of ``first``; None where it is not known."""
    same = (first.samples_per_s is None) == (row.samples_per_s is None)
    one, other = rate_of(first), rate_of(row)
    if not same or not one or other is None:
        return None
    return (other / row.accelerators) / (one / first.accelerators)
