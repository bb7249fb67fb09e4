"""What the readers of rows on the speed of inference share."""

from __future__ import annotations

import math
import re

from benchmarks.accuracy.rows import Compared, Row
from benchmarks.accuracy.subjects import Subjects, UnknownSubjectError, device

from whygpu.checks.calculation import Range
from whygpu.checks.memory import estimate as memory
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Band
from whygpu.checks.speed.estimate import SpeedEstimate
from whygpu.checks.speed.inference import InferenceWork


def run(
    row: Row,
    subjects: Subjects,
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout,
    network_bytes_s: float = math.nan,
) -> SpeedEstimate:
    rates = device(subjects.card(row["gpu"]), setup.format, network_bytes_s)
    return speed.estimate(shape, setup, layout, rates, subjects.coefficients)


def compared(
    row: Row, kind: str, figure: Range, subjects: Subjects, shape: ModelShape, setup: Setup, layout: ParallelLayout
) -> Compared:
    """A row beside its figure. It ran on the card it names, so what memory it needs is looked at too."""
    needed = memory.estimate(shape, subjects.on_card(shape, setup, row["gpu"]), layout, subjects.coefficients)
    held = subjects.held(needed, row["gpu"])
    return Compared(kind, row["family"], row["id"], row["value"], figure.low, figure.likely, figure.high, held=held)


def time_of(band: Band | None) -> Range:
    """The range of the one plan. Raises UnknownSubjectError where nothing is estimated."""
    if band is None:
        raise UnknownSubjectError("no time is estimated for such a model")
    return band.at(0)


def per_second(seconds: Range, amount: float) -> Range:
    """Amount per second."""
    return Range(amount / seconds.high, amount / seconds.likely, amount / seconds.low)


def degree(word: str, layout: str) -> int:
    found = re.search(rf"{word}(\d+)", layout)
    return int(found.group(1)) if found else 0


def inference(done: SpeedEstimate) -> InferenceWork:
    """What is behind the figures. Raises UnknownSubjectError where nothing is estimated."""
    if not isinstance(done.work, InferenceWork):
        raise UnknownSubjectError("no token is estimated for such a model")
    return done.work


def step_s(done: SpeedEstimate) -> Range:
    """Seconds of a step of decoding alone, without the prompts of others."""
    return Band.of(inference(done).decode.token_s).at(0)
