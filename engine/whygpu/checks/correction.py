"""Estimates corrected by one measured figure of the same model, card and runtime.

The correction is measured over estimated at the load that was measured, in seconds or bytes. There the range shrinks to
``left`` of its width; it widens with the distance from there, as the logarithm of the ratios of load, tokens and
accelerators, and has its full width again from ``reach`` on. It is never narrower than measurements repeat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from whygpu.checks.calculation import Calculation, Range, Term
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import FloatArray, IntArray

if TYPE_CHECKING:
    from whygpu.checks.model_shape import ModelShape
    from whygpu.checks.setup import ParallelLayout, Setup

Kind = Literal["token", "first", "step", "batch", "memory", "weights", "activations"]
FIGURES: Mapping[Kind, Mapping[str, int]] = MappingProxyType(
    {
        "token": {"token_ms": 1, "tokens_per_s": -1, "requests_per_s": -1, "train_hours": 1},
        "first": {"ttft_ms": 1},
        "step": {"samples_per_s": -1, "train_tokens_per_s": -1, "train_hours": 1},
        "batch": {"ttft_ms": 1, "samples_per_s": -1, "requests_per_s": -1, "frames_per_s": -1, "train_hours": 1},
        "memory": {},
        "weights": {},
        "activations": {},
    }
)
"""What each kind of measurement corrects: 1 where it grows with the time, -1 where it is a rate."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """A load: requests of a replica or samples of a card, tokens of each, and accelerators that work on it."""

    load: float
    tokens: float
    cards: float


@dataclass(frozen=True, slots=True)
class Correction:
    """One measured figure against its estimate."""

    kind: Kind
    accelerator: str
    format: str
    runtime: str
    trains: bool
    factor: float
    """Measured over estimated, of seconds or bytes."""
    at: OperatingPoint
    left: float
    reach: float
    repeats: float
    """How far measurements of the same thing differ, as a share."""
    text: str
    """What was measured, what was estimated, and where it stands."""

    @property
    def term(self) -> Term:
        """The factor as a term of a formula."""
        return Term("measured_over_estimated", self.factor, "ratio", (), self.text)

    def applies(self, setup: Setup) -> bool:
        """Whether work is run as it was measured."""
        return (setup.format.id, setup.runtime, setup.trains) == (self.format, self.runtime, self.trains)

    def narrowed(self, estimated: Range, power: int, distance: float) -> Range:
        """An estimated range, corrected, and narrowed as far as the distance allows."""
        width = self.left + (1 - self.left) * min(distance / self.reach, 1.0)
        low, likely, high = (np.array([end]) for end in (estimated.low, estimated.likely, estimated.high))
        times, left, repeats = (np.array([value]) for value in (self.factor**power, width, self.repeats))
        return Range(*(float(end[0]) for end in _moved(low, likely, high, times, left, repeats)))


def _moved(
    low: FloatArray, likely: FloatArray, high: FloatArray, times: FloatArray, width: FloatArray, repeats: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ranges moved to another likely figure, and narrowed: distances from it count as logarithms."""
    with np.errstate(divide="ignore", invalid="ignore"):  # of what is not known, or takes no time
        down, up = np.log(likely / low), np.log(high / likely)
    moved = likely * times
    return moved * np.exp(-np.maximum(width * down, repeats)), moved, moved * np.exp(np.maximum(width * up, repeats))


def operating_point(
    shape: ModelShape, setup: Setup, layout: ParallelLayout, requests: float | None = None
) -> OperatingPoint:
    """The load of a way of running; ``requests``: in flight in all, where they are others than the setup's."""
    if setup.trains:
        return OperatingPoint(setup.batch_size, setup.sequence_tokens, layout.cards)
    cards = layout.tensor * layout.pipeline
    if shape.kind not in TOKEN_KINDS:
        return OperatingPoint(setup.batch_size, 0, cards)
    flight = setup.concurrency if requests is None else requests
    return OperatingPoint(math.ceil(flight / layout.data), setup.context_tokens, cards)


def distance(one: OperatingPoint, other: OperatingPoint) -> float:
    """How far two loads are apart: the sum of the logarithms of their ratios."""
    pairs = ((one.load, other.load), (one.tokens, other.tokens), (one.cards, other.cards))
    return sum(abs(math.log(a / b)) for a, b in pairs if a > 0 and b > 0)


@dataclass(frozen=True, slots=True)
class Corrected:
    """Plans of which some are corrected by measurements of one kind: for each plan the number of its correction, -1 for
    none, and its distance from what was measured.
    """

    kind: Kind
    corrections: Sequence[Correction]
    chosen: IntArray
    distances: FloatArray

    @classmethod
    def nearest(cls, corrections: Sequence[Correction], distances: FloatArray) -> Corrected:
        """Each plan with the nearest correction. Rows are corrections, columns plans; infinite: not for it."""
        near = distances.min(axis=0)
        chosen = np.where(np.isfinite(near), distances.argmin(axis=0), -1)
        return cls(corrections[0].kind, corrections, chosen, np.where(chosen >= 0, near, 0.0))

    def take(self, plans: IntArray) -> Corrected:
        """The same for some of the plans."""
        return replace(self, chosen=self.chosen[plans], distances=self.distances[plans])

    def band(
        self, figure: str, low: FloatArray, likely: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The ranges of a figure of every plan, corrected where a correction is for it."""
        power = FIGURES[self.kind].get(figure)
        if power is None:
            return low, likely, high
        factor, left, reach, repeats = (
            np.array([getattr(item, name) for item in self.corrections])[self.chosen]
            for name in ("factor", "left", "reach", "repeats")
        )
        width = left + (1 - left) * np.minimum(self.distances / reach, 1.0)
        moved = _moved(low, likely, high, factor**power, width, repeats)
        own = self.chosen >= 0
        return tuple(np.where(own, new, old) for new, old in zip(moved, (low, likely, high), strict=True))  # type: ignore[return-value]  # three

    def explained(self, found: Iterable[Calculation], index: int) -> Iterator[Calculation]:
        """The worked figures of one plan, each corrected once: by itself, or by the corrected figures that it uses."""
        number = int(self.chosen[index])
        done: dict[str, float] = {}
        for item in found:
            power = FIGURES[self.kind].get(item.name) if number >= 0 else None
            if power is None:
                yield item
                continue
            changed = explained(item, self.corrections[number], power, done)
            done[item.name] = changed.value
            yield changed


def explained(
    calculation: Calculation, correction: Correction, power: int, done: Mapping[str, float] = MappingProxyType({})
) -> Calculation:
    """A worked figure with the correction in its formula, unless figures that it uses are ``done`` already."""
    value = calculation.value * correction.factor**power
    terms = tuple(replace(term, value=done.get(term.name, term.value)) for term in calculation.terms)
    if any(term.name in done for term in terms):
        return replace(calculation, terms=terms, value=value)
    term = correction.term
    formula = f"({calculation.formula}) {'*' if power > 0 else '/'} {term.name}"
    return replace(calculation, formula=formula, terms=(*terms, term), value=value)
