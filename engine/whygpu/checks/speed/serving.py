"""What serving stacks do to a step and to a prompt where it is asked for: guess tokens ahead, apply adapters, read
experts from the host's memory.

Sources: Leviathan et al. 2022 (arXiv:2211.17192; a step checks several guessed tokens), with gains as measured;
Chen et al. 2023 (Punica) and vLLM's own measurements of adapters; ktransformers and llama.cpp --cpu-moe, --n-cpu-moe.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from whygpu.checks.calculation import Calculation, Term
from whygpu.checks.memory import inference
from whygpu.checks.memory.beside import guesses
from whygpu.checks.memory.weights import MARGIN, expert_bytes, share_held
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import CacheSplit, FloatArray, ParallelLayout, Setup
from whygpu.checks.speed.columns import LIKELY, Columns, coefficient_of

GAIN = "speculative-gain"
SLOWDOWN = "adapter-step-ratio"


def uncertain(setup: Setup) -> tuple[str, ...]:
    """The coefficients that only what is asked for brings in."""
    return (
        *((GAIN,) if setup.speculative != "none" else ()),
        *((SLOWDOWN,) if setup.adapters else ()),
        *(("host-bytes-s", "host-copy-share") if setup.offloads_experts else ()),
    )


@dataclass(frozen=True, slots=True)
class Host:
    """Experts in the host's memory: share of them that the cards hold, bytes of the others a step reads, and seconds of
    a step and of a prompt; rows over n.
    """

    held: FloatArray
    step_bytes: FloatArray
    step_s: FloatArray
    prompt_bytes: FloatArray
    prompt_s: FloatArray


def touched(shape: ModelShape, tokens: FloatArray | float) -> FloatArray:
    """Share of the experts that so many tokens choose, chosen evenly: 1 - (1 - chosen / all) ^ tokens."""
    share: FloatArray = 1.0 - (1.0 - shape.experts_per_token / shape.experts) ** np.asarray(tokens, dtype=np.float64)
    return share


def _experts_held(columns: Columns) -> FloatArray:
    """Share of the experts that each plan's cards hold where they are offloaded: those that have room beside the rest
    of the weights and the cache; none where a card's memory is not known.
    """
    shape = columns.shape
    rest = np.empty(columns.device.size)
    requests = columns.requests_on_card().tolist()
    splits = np.stack([columns.which, columns.tensor, columns.pipeline, columns.by_tokens, columns.by_requests], axis=1)
    for split in np.unique(splits, axis=0):
        which, tensor, pipeline, by_tokens, by_requests = map(int, split)
        divided: CacheSplit = "tokens" if by_tokens else "requests" if by_requests else "heads"
        layout = ParallelLayout(tensor, pipeline, cache_split=divided)
        held = inference.held(shape, columns.setups[which], layout, columns.coefficients)
        for plan in np.flatnonzero((splits == split).all(axis=1)).tolist():
            rest[plan] = inference.need_of(held, int(requests[plan])).total
    free = columns.device.memory_bytes - columns.coefficients.pick(MARGIN, columns.base).likely - rest
    size = columns.of_each(lambda own: expert_bytes(shape, own.format))
    return share_held(size, shape.moe_layers, free, columns.tensor, columns.pipeline)


def host_of(columns: Columns, requests: FloatArray, prompt: float, chunks: float) -> Host | None:
    """The time experts in the host's memory take; None where all weights are on the cards.

    A step reads the chosen ones where they are, and replicas in one machine share its memory; for each chunk of a
    prompt they are copied to the cards.
    """
    shape, setup = columns.shape, columns.setup
    if not setup.offloads_experts or not shape.is_moe:
        return None
    held = _experts_held(columns)
    size = columns.of_each(lambda own: expert_bytes(shape, own.format)) * (1.0 - held)
    read = size * touched(shape, requests) * columns.data / columns.nodes
    copied = size * touched(shape, max(prompt / chunks, 1.0)) * chunks
    slot = np.where(
        np.isnan(columns.device.pcie_bytes_s), columns.more_is_better("pcie-bytes-s"), columns.device.pcie_bytes_s
    )
    return Host(
        held,
        read,
        read / columns.more_is_better("host-bytes-s"),
        copied,
        copied / columns.tensor / (slot * columns.more_is_better("host-copy-share")),
    )


def slowdown(columns: Columns) -> FloatArray:
    """Rows: time of a step or prompt with adapters over that without."""
    return columns.less_is_better(SLOWDOWN)


def speculative_gain(columns: Columns, requests: FloatArray) -> FloatArray:
    """Rows: tokens per time with guessing over those without, between the numbers of requests it was measured at."""
    knots = _knots(columns)
    gain = _at(columns, knots[0]).more_is_better(GAIN)
    for low, high in pairwise(knots):
        share = np.clip((requests - low) / (high - low), 0.0, 1.0)
        gain = gain + share * (_at(columns, high).more_is_better(GAIN) - _at(columns, low).more_is_better(GAIN))
    return gain


def applies_gain(columns: Columns) -> bool:
    """Whether tokens are guessed ahead, in a way that was measured."""
    return guesses(columns.shape, columns.setup) and bool(_knots(columns))


def _knots(columns: Columns) -> list[float]:
    """Requests in flight that the gain was measured at, ascending."""
    found = set()
    for case in columns.coefficients.cases(GAIN):
        words = dict(case.when)
        if columns.setup.speculative in words.get("speculative", ()):
            found |= {float(word) for word in words.get("requests", ())}
    return sorted(found)


def _at(columns: Columns, requests: float) -> Columns:
    return columns.among(requests=f"{requests:g}")


def explain_gain(columns: Columns, i: int, requests: float, gain: FloatArray) -> Calculation:
    """How the gain of plan `i` came about: between the two measurements nearest to its requests."""
    knots = _knots(columns)
    low = max([knot for knot in knots if knot <= requests], default=knots[0])
    high = min([knot for knot in knots if knot > low], default=low)
    share = 0.0 if high == low else min(max((requests - low) / (high - low), 0.0), 1.0)
    below, above = _at(columns, low), _at(columns, high)
    terms = (
        coefficient_of(below, i, GAIN, "below"),
        coefficient_of(above, i, GAIN, "above"),
        Term("share", share, "share", (), f"of the way from {low:g} to {high:g} requests in flight"),
    )
    value = float(gain[LIKELY, i])
    return Calculation("speculative_gain", "below + share * (above - below)", terms, value, "ratio")
