"""What requests in flight cost each other: prompts that join the steps of others, and prompts that wait for prompts.

Sources: Yu et al. 2022 (Orca, section 3; requests join and leave between steps), Agrawal et al. 2024 (Sarathi-Serve,
arXiv:2403.02310, 4.1; a chunk of a prompt joins a step that reads the weights anyway, and a step bound by memory has
arithmetic to spare), Reiser and Lavenberg 1980 (mean-value analysis of closed queueing networks, doi
10.1145/322186.322195) with Schweitzer's approximation.
"""

from __future__ import annotations

import numpy as np

from whygpu.checks.setup import FloatArray


def joined_s(
    read_s: FloatArray,
    compute_s: FloatArray,
    launch_s: FloatArray,
    prompt_s: FloatArray,
    chunks: float,
    requests: FloatArray,
    output: int,
) -> FloatArray:
    """Seconds that one prompt adds to the steps it joins: `prompt_s` of arithmetic in so many chunks.

    Between two tokens of a request (requests - 1) * chunks / (output - 1) chunks come, so that several share a step
    where that is more than one. Never more than `prompt_s`, nor less than nothing.
    """
    each = np.maximum((requests - 1) * chunks / max(output - 1, 1), 1.0)
    alone = np.maximum(np.hypot(read_s, compute_s), launch_s)
    mixed = np.maximum(np.hypot(read_s, compute_s + each * prompt_s / chunks), launch_s)
    seconds: FloatArray = chunks / each * (mixed - alone)
    return seconds


def wait_s(prompt_s: FloatArray, decode_s: FloatArray, requests: FloatArray) -> FloatArray:
    """Seconds that a prompt waits for prompts that came before it, on average, where each of so many clients asks
    anew when it is answered.

    A request spends R at the prompts' queue and Z in its steps, which the others' prompts lengthen: Z = decode +
    (requests - 1) * prompt. Mean-value analysis finds R = prompt * (1 + (requests - 1) * R / (R + Z)), a quadratic
    equation; what is beyond the prompt's own time is the wait. 0 for one request. Shorter steps alone make the
    wait longer, by at most half of what they save: a client that is answered sooner asks sooner.
    """
    excess = decode_s - prompt_s
    away = decode_s + (requests - 1) * prompt_s
    there = (np.sqrt(excess**2 + 4 * prompt_s * away) - excess) / 2
    return np.where(requests > 1, np.maximum(there - prompt_s, 0.0), 0.0)
