"""Speed of plans: which model of the kind of work applies, computed for all plans at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.model_shape import TOKEN_KINDS, ModelShape
from whygpu.checks.setup import Device, FloatArray, ParallelLayout, Setup
from whygpu.checks.speed import host, inference_formulas, sound, splitting, training_formulas
from whygpu.checks.speed import inference as speed_inference
from whygpu.checks.speed import serving as speed_serving
from whygpu.checks.speed import training as speed_training
from whygpu.checks.speed import vision as speed_vision
from whygpu.checks.speed.columns import Band, Columns
from whygpu.checks.speed.inference import InferenceWork
from whygpu.checks.speed.training import TrainingWork
from whygpu.checks.speed.vision import VisionWork

FIGURES = (
    "ttft_ms",
    "token_ms",
    "tokens_per_s",
    "requests_per_s",
    "train_tokens_per_s",
    "samples_per_s",
    "frames_per_s",
    "decoded_frames_per_s",
    "prepared_samples_per_s",
    "times_real_time",
    "train_hours",
)


@dataclass(frozen=True, slots=True)
class SpeedEstimate:
    """Figures of n plans, each low to high; None where a figure does not apply, NaN where a rate of the card is not
    known.

    Rates are of the whole plan; `ttft_ms` and `token_ms` at the asked concurrency and full context, `token_ms` with
    the prompts of the other requests in flight.
    """

    work: InferenceWork | TrainingWork | VisionWork
    ttft_ms: Band | None = None
    token_ms: Band | None = None
    tokens_per_s: Band | None = None
    requests_per_s: Band | None = None
    train_tokens_per_s: Band | None = None
    samples_per_s: Band | None = None
    frames_per_s: Band | None = None
    decoded_frames_per_s: Band | None = None
    prepared_samples_per_s: Band | None = None
    times_real_time: Band | None = None
    train_hours: Band | None = None

    def calculations(self, index: int = 0) -> list[Calculation]:
        """How the likely figures of plan `index` came about."""
        alone = estimate_of(self.work.columns.one(index))  # in its own setup
        columns = alone.work.columns
        if isinstance(alone.work, TrainingWork):
            worked = training_formulas.explain(alone.work, 0)
        elif isinstance(alone.work, InferenceWork):
            worked = inference_formulas.explain(alone.work, 0)
        else:
            worked = speed_vision.explain(alone.work, 0)
        found = list(host.explained(columns, worked, 0))
        for corrected in columns.corrected:
            found = list(corrected.explained(found, 0))
        if columns.setup.trains:
            return found
        heard = sound.explain(columns.shape, columns.setup, found)
        return [*found, *alone._explain_requests(found), *heard, *alone._explain_hours(found)]

    def _explain_requests(self, found: Sequence[Calculation]) -> Iterator[Calculation]:
        """How the requests a second of models that write tokens come about, of the first plan."""
        rate = next((item for item in found if item.name == "tokens_per_s"), None)
        if rate is not None:
            output = Term("output", float(max(self.work.columns.setup.output_tokens, 1)), "tokens")
            terms, value = (rate.as_term(), output), rate.value / output.value
            yield Calculation("requests_per_s", "tokens_per_s / output", terms, value, "requests/s")

    def _explain_hours(self, found: Sequence[Calculation]) -> Iterator[Calculation]:
        """How the hours of a batch job come about, of the first plan."""
        setup, shape = self.work.columns.setup, self.work.columns.shape
        requests = setup.job_requests(shape)
        if self.train_hours is None:
            return
        rate = next(item for item in found if item.name in ("tokens_per_s", "samples_per_s"))
        terms: tuple[Term, ...] = (Term("requests", requests, "requests", (), "of the data set"), rate.as_term())
        formula = "requests / samples_per_s / 3600"
        if rate.name == "tokens_per_s":
            terms = (*terms, Term("output", max(setup.output_tokens, 1), "tokens", (), "written for each"))
            formula = "requests * output / tokens_per_s / 3600"
        yield Calculation("train_hours", formula, terms, float(self.train_hours.likely[0]), "h")


def estimate(
    shape: ModelShape,
    setup: Setup,
    layout: ParallelLayout | Sequence[ParallelLayout],
    device: Device,
    coefficients: Coefficients,
    *,
    ranges: bool = True,
    concurrency: FloatArray | None = None,
) -> SpeedEstimate:
    """Speed of this work on every plan: one split for all of them or one each; likewise concurrency.

    Without `ranges` low and high are the likely figures, which takes a tenth of the time.
    Raises KnowledgeBaseError where a coefficient is missing, ValueError where splits and cards differ in number.
    """
    columns = Columns.of(shape, setup, layout, device, coefficients, concurrency)
    return ranged_estimate_of(columns) if ranges else estimate_of(columns)


def _uncertain(columns: Columns) -> tuple[str, ...]:
    """The coefficients whose ranges the figures' ranges come from."""
    names: tuple[str, ...] = (*_model_of(columns).UNCERTAIN, *columns.uncertain_of_shape())
    names = (*names, *host.UNCERTAIN) if host.prepares(columns) else names
    if columns.setup.trains:
        return names
    split = (splitting.EXCHANGES,) if columns.by_tokens.any() else ()
    return (*names, *split, *speed_serving.uncertain(columns.setup))


def _model_of(columns: Columns) -> ModuleType:
    """The check that fits the kind of work."""
    if columns.setup.trains:
        return speed_training
    return speed_inference if columns.shape.kind in TOKEN_KINDS else speed_vision


def ranged_estimate_of(columns: Columns) -> SpeedEstimate:
    """Speed of the plans of these columns, with ranges."""
    return estimate_of(columns.uncertain(_uncertain(columns)))


def estimate_of(columns: Columns) -> SpeedEstimate:
    """Speed of the plans of these columns, with ranges where these have rows for them."""
    found = _uncorrected(columns)
    for corrected in columns.corrected:
        bands = {name: band for name in FIGURES if (band := getattr(found, name)) is not None}
        changed: dict[str, Any] = {
            name: Band(*corrected.band(name, band.low, band.likely, band.high)) for name, band in bands.items()
        }
        found = replace(found, **changed)
    return found


def _uncorrected(columns: Columns) -> SpeedEstimate:
    if columns.setup.trains:
        training = speed_training.work(columns)
        return SpeedEstimate(training, **host.limited(columns, speed_training.bands(training)))
    if columns.shape.kind in TOKEN_KINDS:
        inference = speed_inference.work(columns)
        return SpeedEstimate(inference, **_of_samples(columns, speed_inference.bands(inference)))
    vision = speed_vision.work(columns)
    return SpeedEstimate(vision, **_of_samples(columns, speed_vision.bands(vision)))


def _of_samples(columns: Columns, bands: dict[str, Band]) -> dict[str, Band]:
    """The figures of inference, no faster than samples are prepared, with how much sound that is, and the hours of a
    batch job where its data set is sized: requests over their rate.
    """
    bands = sound.with_real_time(columns.shape, host.limited(columns, bands))
    requests = columns.setup.job_requests(columns.shape)
    if not requests:
        return bands
    rate = bands["requests_per_s"]
    hours = (requests / 3600 / each for each in (rate.high, rate.likely, rate.low))
    return bands | {"train_hours": Band(*hours)}
