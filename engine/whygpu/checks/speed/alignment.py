"""Time that post-training takes beside the policy's own step: further passes, and the writing of answers.

A frozen model's pass is the forward third of a step without its backward pass; a critic of the policy's size is trained
likewise. Answers are written by a serving engine on the same cards, as it serves requests; the cards do nothing else
meanwhile. Sources: TRL (GRPO, DPO), OpenRLHF, and Sheng et al. 2024 (HybridFlow, arXiv:2409.19256), 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whygpu.checks.memory.alignment import compares
from whygpu.checks.setup import FloatArray
from whygpu.checks.speed import inference
from whygpu.checks.speed.columns import Columns

ENGINE = "vllm"
"""The serving stack that writes answers."""
PASSES = "further-passes"
ROLLOUTS = "rollouts-in-flight"


def further_passes(columns: Columns) -> FloatArray:
    """Rows: forward passes of one micro-batch beside the policy's own step."""
    if not compares(columns.shape, columns.setup):
        return np.zeros((1, columns.device.size))
    return columns.less_is_better(PASSES)


def rollouts(columns: Columns) -> float:
    """Answers that the engine of one replica writes at once; 0 where none are written."""
    if not compares(columns.shape, columns.setup):
        return 0.0
    return columns.coefficients.pick(ROLLOUTS, columns.contexts[0]).likely


def written_tokens(columns: Columns) -> int:
    """Tokens of one answer."""
    return max(min(columns.setup.output_tokens, columns.setup.sequence_tokens - 1), 1)


def rollout_s(columns: Columns) -> FloatArray:
    """Rows: seconds in which the answers of one micro-batch are written."""
    at_once = rollouts(columns)
    if not at_once:
        return np.zeros((1, columns.device.size))
    tokens = columns.setup.batch_size * written_tokens(columns)
    seconds: FloatArray = tokens / (inference.work(_serving(columns, at_once)).tokens_s / columns.data)
    return seconds


def _serving(columns: Columns, at_once: float) -> Columns:
    """The same cards as they serve."""
    setups = tuple(
        replace(
            setup,
            phase="inference",
            runtime=ENGINE,
            context_tokens=setup.sequence_tokens,
            output_tokens=written_tokens(columns),
        )
        for setup in columns.setups
    )
    bases = tuple(setup.context(columns.shape) for setup in setups)
    return replace(columns, setups=setups, bases=bases, concurrency=at_once * columns.data)
