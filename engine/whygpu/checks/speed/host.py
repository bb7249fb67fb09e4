"""What prepares samples before a card works on them: cores of the host that decode and resize JPEGs, or decode sound
and compute its log-mel features; of JPEGs an engine of the card instead.

It is the same beside every model and format, so it is a ceiling, as the video decoders are. Seconds of a core go with
the pixels that are stored, with those that the model sees, or with the seconds of sound.
Source: Iglovikov and Kosarevsky 2026 (arXiv:2605.08731), 1: decoding caps training where it cannot feed the learner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed.columns import LIKELY, Band, Columns, coefficient_of

UNCERTAIN = (
    "stored-image-pixels",
    "image-decode-s-per-pixel",
    "image-prepare-s-per-pixel",
    "sound-prepare-s-per-s",
    "vcpu-share",
    "host-vcpus",
)
SAMPLES = ("samples_per_s", "requests_per_s", "frames_per_s")
TOKENS = ("tokens_per_s", "train_tokens_per_s")
_SEES = frozenset({"cnn", "vit", "detector", "segmenter"})


def sees(shape: ModelShape) -> bool:
    """Whether a sample is an image to look at."""
    return shape.kind in _SEES and not shape.sample_seconds


def prepares(columns: Columns) -> bool:
    """Whether samples are files that are decoded while the work runs, at a rate that may be a limit."""
    decoding, shape = columns.setup.decoding, columns.shape
    return (decoding == "host" and (sees(shape) or bool(shape.sample_seconds))) or (decoding == "card" and sees(shape))


def prepared_s(columns: Columns) -> FloatArray:
    """Rows: samples a second that are prepared for all cards of each plan; NaN where nothing says how fast."""
    if columns.setup.decoding == "card":
        return columns.cards() * columns.device.jpeg_pixels_s / stored_pixels(columns)
    threads = columns.cards() * vcpus(columns) * columns.more_is_better("vcpu-share")
    rate: FloatArray = threads / core_s(columns)
    return rate


def vcpus(columns: Columns) -> FloatArray:
    """Rows: threads of the host for each card: those answered, those of the rented machine, or a usual one's."""
    if columns.setup.host_vcpus:
        return np.full((1, columns.device.size), float(columns.setup.host_vcpus))
    stated = columns.device.host_vcpus
    return np.where(np.isnan(stated), columns.more_is_better("host-vcpus"), stated)


def core_s(columns: Columns) -> FloatArray:
    """Rows: seconds of one core for a sample."""
    if columns.shape.sample_seconds:
        return columns.shape.sample_seconds * columns.less_is_better("sound-prepare-s-per-s")
    decoding = stored_pixels(columns) * columns.less_is_better("image-decode-s-per-pixel")
    seconds: FloatArray = decoding + seen_pixels(columns) * columns.less_is_better("image-prepare-s-per-pixel")
    return seconds


def stored_pixels(columns: Columns) -> FloatArray:
    """Rows: pixels of an image as it is stored: those answered, else those of a usual one, no fewer than are seen."""
    answered = columns.setup.frame_pixels**2 or columns.setup.pixels**2
    if answered:
        return np.full((1, columns.device.size), answered)
    return np.maximum(columns.less_is_better("stored-image-pixels"), seen_pixels(columns))


def seen_pixels(columns: Columns) -> float:
    """Pixels that the model reads of an image."""
    return float((columns.setup.pixels or columns.shape.image_size) ** 2)


def limited(columns: Columns, bands: Mapping[str, Band]) -> dict[str, Band]:
    """The figures of plans, no faster than their samples are prepared, and how fast that is."""
    found = dict(bands)
    if not prepares(columns):
        return found
    prepared = Band.of(prepared_s(columns))
    rate = bands["samples_per_s"] if "samples_per_s" in bands else bands["requests_per_s"]
    for name in SAMPLES:
        if name in bands:
            ends = ((getattr(bands[name], end), getattr(prepared, end)) for end in ("low", "likely", "high"))
            found[name] = Band(*(np.where(np.isnan(each), each, np.fmin(each, most)) for each, most in ends))
    low, likely, high = (
        np.fmin(most / each, 1.0)
        for most, each in ((prepared.low, rate.low), (prepared.likely, rate.likely), (prepared.high, rate.high))
    )
    for name in TOKENS:
        if name in bands:
            band = bands[name]
            found[name] = Band(band.low * low, band.likely * likely, band.high * high)
    if "train_hours" in bands:
        hours = bands["train_hours"]
        found["train_hours"] = Band(hours.low / high, hours.likely / likely, hours.high / low)
    found["prepared_samples_per_s"] = prepared
    return found


def explained(columns: Columns, found: Iterable[Calculation], i: int) -> Iterator[Calculation]:
    """The worked figures of one plan, limited in the same way, with how fast samples are prepared among them."""
    rate = float(prepared_s(columns)[LIKELY, i]) if prepares(columns) else float("nan")
    done: dict[str, float] = {}
    for item in found:
        if np.isnan(rate):
            yield item
        elif item.name in ("samples_per_s", "tokens_per_s"):
            prepared = _explain(columns, rate, i)
            yield prepared
            yield (limit := _limit(item, prepared))
            done[item.name] = limit.value / item.value
        elif share := next((done[term.name] for term in item.terms if term.name in done), None):
            terms = tuple(replace(term, value=term.value * done.get(term.name, 1.0)) for term in item.terms)
            value = item.value / share if item.name == "train_hours" else item.value * share
            yield replace(item, terms=terms, value=value)
        else:
            yield item


def _limit(item: Calculation, prepared: Calculation) -> Calculation:
    """A rate of samples, or of tokens, that is no faster than samples are prepared."""
    output = next((term.value for term in item.terms if term.name == "output"), 1.0)
    most = prepared.value * output if item.name == "tokens_per_s" else prepared.value
    word = f"{prepared.name} * output" if item.name == "tokens_per_s" else prepared.name
    terms = (*item.terms, prepared.as_term())
    return replace(item, formula=f"min({item.formula}, {word})", terms=terms, value=min(item.value, most))


def _explain(columns: Columns, rate: float, i: int) -> Calculation:
    count = Term("cards", float(columns.cards()[i]), "cards")
    if columns.setup.decoding == "card":
        engine = Term("engine", float(columns.device.jpeg_pixels_s[i]), "pixels/s", (), "of the card's JPEG engine")
        terms: tuple[Term, ...] = (count, engine, _stored(columns, i))
        return Calculation("prepared_samples_per_s", "cards * engine / stored", terms, rate, "1/s")
    threads = (count, _vcpus(columns, i), coefficient_of(columns, i, "vcpu-share", "share"))
    if columns.shape.sample_seconds:
        sound = Term("sound", columns.shape.sample_seconds, "s", columns.shape.source, "of a sample")
        core = coefficient_of(columns, i, "sound-prepare-s-per-s", "core")
        formula = "cards * vcpus * share / (sound * core)"
        return Calculation("prepared_samples_per_s", formula, (*threads, sound, core), rate, "1/s")
    terms = (
        *threads,
        _stored(columns, i),
        coefficient_of(columns, i, "image-decode-s-per-pixel", "decode"),
        Term("seen", seen_pixels(columns), "pixels", (), "that the model reads"),
        coefficient_of(columns, i, "image-prepare-s-per-pixel", "prepare"),
    )
    formula = "cards * vcpus * share / (stored * decode + seen * prepare)"
    return Calculation("prepared_samples_per_s", formula, terms, rate, "1/s")


def _stored(columns: Columns, i: int) -> Term:
    value = float(np.broadcast_to(stored_pixels(columns)[LIKELY], columns.device.size)[i])
    usual = coefficient_of(columns, i, "stored-image-pixels", "stored")
    return usual if value == usual.value else Term("stored", value, "pixels", (), "of an image")


def _vcpus(columns: Columns, i: int) -> Term:
    usual = coefficient_of(columns, i, "host-vcpus", "vcpus")
    if columns.setup.host_vcpus:
        return Term("vcpus", float(columns.setup.host_vcpus), "vCPUs", (), "of the host for each card, as answered")
    stated = float(columns.device.host_vcpus[i])
    return usual if np.isnan(stated) else Term("vcpus", stated, "vCPUs", (), "of the rented machine for each card")
