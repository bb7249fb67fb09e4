"""Speed of models that hear in times real time: seconds of sound worked through in a second (RTFx, the inverse of the
real-time factor). Source: Srivastav et al. 2025, Open ASR Leaderboard (arXiv:2510.06961), 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import Setup
from whygpu.checks.speed.columns import Band


def with_real_time(shape: ModelShape, bands: Mapping[str, Band]) -> dict[str, Band]:
    """The figures of inference, and the seconds of sound a second, of models whose samples are sound."""
    seconds, rate = shape.sample_seconds, bands["requests_per_s"]
    if not seconds:
        return dict(bands)
    heard = Band(rate.low * seconds, rate.likely * seconds, rate.high * seconds)
    return {"samples_per_s": rate, **bands, "times_real_time": heard}


def explain(shape: ModelShape, setup: Setup, found: Sequence[Calculation]) -> list[Calculation]:
    """How the likely figure of one plan came about, from its worked rate of samples or tokens."""
    rate = next((item for item in found if item.name in ("samples_per_s", "tokens_per_s")), None)
    if rate is None or not shape.sample_seconds or setup.trains:
        return []
    sound = Term("sound", shape.sample_seconds, "s", shape.source, "of a sample")
    value, unit = rate.value * shape.sample_seconds, "times real time"
    if rate.name == "samples_per_s":
        return [Calculation("times_real_time", "samples_per_s * sound", (rate.as_term(), sound), value, unit)]
    output = Term("output", float(max(setup.output_tokens, 1)), "tokens")
    terms = (rate.as_term(), output, sound)
    return [Calculation("times_real_time", "tokens_per_s / output * sound", terms, value / output.value, unit)]
