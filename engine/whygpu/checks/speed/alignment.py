"""Time that post-training takes beside the policy's own step: further passes, and the writing of answers.

A frozen model's pass is the forward third of a step without its backward pass; a critic of the policy's size is trained
likewise. Answers are written by a serving engine on the same cards, as it serves requests; the cards do nothing else
meanwhile. It takes a set share of each card, and answers for which its cache has no room wait (Kwon et al. 2023, vLLM,
4); a batch is done when its longest answer is. Sources: TRL (GRPO, DPO), OpenRLHF, verl (performance tuning guide), and
Sheng et al. 2024 (HybridFlow, arXiv:2409.19256), 2 and 8.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from whygpu.checks.memory.alignment import compares, engine_bytes, engine_ranks, serving
from whygpu.checks.setup import FloatArray, IntArray
from whygpu.checks.speed import inference
from whygpu.checks.speed.columns import LIKELY, Columns, words_of

PASSES = "further-passes"
ROLLOUTS = "rollouts-in-flight"
RANKS = "rollout-ranks"
SHARE = "rollout-memory-share"
TAIL = "rollout-tail"


@dataclass(frozen=True, slots=True)
class Rollout:
    """How the answers of one micro-batch are written: seconds as rows, the others for each of n plans."""

    seconds: FloatArray
    ranks: FloatArray
    """Cards that an engine is spread over."""
    at_once: FloatArray
    """Answers that one engine has in flight."""


def further_passes(columns: Columns) -> FloatArray:
    """Rows: forward passes of one micro-batch beside the policy's own step."""
    if not compares(columns.shape, columns.setup):
        return np.zeros((1, columns.device.size))
    return columns.less_is_better(PASSES)


def rollouts(columns: Columns) -> float:
    """Answers that are to be written at once for each card; 0 where none are written."""
    return _likely(columns, ROLLOUTS) if compares(columns.shape, columns.setup) else 0.0


def written_tokens(columns: Columns) -> int:
    """Tokens of one answer."""
    return serving(columns.setup).output_tokens


def rollout(columns: Columns) -> Rollout:
    """How answers are written, by engines spread over as many cards as write soonest: wider ones have more room for
    answers and read their weights sooner, narrower ones exchange less (HybridFlow, 8.4).
    """
    size = columns.device.size
    none = np.zeros(size)
    if not rollouts(columns):
        return Rollout(np.zeros((1, size)), none, none)
    most = _likely(columns, RANKS)
    widths = engine_ranks(columns.shape, int(most), most)
    every, width = columns.take(np.tile(np.arange(size), len(widths))), np.repeat(widths, size)  # all in each width
    cards = every.tensor * every.pipeline * every.data
    divides = cards % width == 0
    widest = divides & ((cards % (2 * width) > 0) | (width == widths[-1]))
    at_once = np.concatenate([_in_flight(columns, each) for each in widths])
    at_once = np.where(widest, np.maximum(at_once, 1.0), at_once)  # memory was sized for one answer there
    tokens_s = inference.work(_engines(every, np.maximum(at_once, 1.0), width)).tokens_s
    may = divides & (at_once >= 1)
    best, ranks, flight = np.zeros((1, size)), none, none
    for place, each in enumerate(widths):
        at = slice(place * size, (place + 1) * size)
        sooner = may[at] & ~(tokens_s[LIKELY, at] <= best[LIKELY])
        best, ranks, flight = (
            np.where(sooner, new, old) for new, old in ((tokens_s[:, at], best), (each, ranks), (at_once[at], flight))
        )
    tokens = columns.data * columns.batch * written_tokens(columns)
    with np.errstate(divide="ignore"):
        return Rollout(tokens / best * columns.less_is_better(TAIL), ranks, flight)


def _in_flight(columns: Columns, width: int) -> FloatArray:
    """Answers that an engine over so many cards has in flight: as many as are asked for, or as its share of the cards
    has room for, each in the middle of its answer; all where a card's memory is not known.
    """
    asked = rollouts(columns) * width
    middle = columns.setup.sequence_tokens - written_tokens(columns) / 2
    weights, each = engine_bytes(columns.shape, columns.setup, width, columns.coefficients, middle)
    room = columns.device.memory_bytes * _likely(columns, SHARE) - weights.likely
    found: FloatArray = np.floor(np.fmin(room / each if each else np.inf, asked))
    return found


def _engines(columns: Columns, at_once: FloatArray, width: IntArray) -> Columns:
    """The same cards as they serve, so many of them in each engine of each plan."""
    engines = columns.tensor * columns.pipeline * columns.data / width
    setups = tuple(serving(setup) for setup in columns.setups)
    one = np.ones(columns.device.size)
    return replace(
        columns,
        setups=setups,
        bases=words_of(columns.shape, setups),
        tensor=width * one,
        pipeline=one,
        data=np.maximum(engines, 1.0),
        interleave=one,
        concurrency=at_once * np.maximum(engines, 1.0),
    )


def _likely(columns: Columns, name: str) -> float:
    return columns.coefficients.pick(name, columns.contexts[0]).likely
