"""When to write checkpoints, and what failures and checkpoints cost a run.

Sources: Young 1974, A first order approximation to the optimum checkpoint interval (doi 10.1145/361147.361115); Daly
2006, A higher order estimate of the optimum checkpoint interval for restart dumps (doi 10.1016/j.future.2004.11.016).
Times in seconds; failures come at random, at a constant rate.
"""

from __future__ import annotations

import math


def young_s(checkpoint_s: float, between_failures_s: float) -> float:
    """Work between two checkpoints by Young: the square root of 2 x checkpoint x time between failures."""
    return math.sqrt(2 * checkpoint_s * between_failures_s)


def daly_s(checkpoint_s: float, between_failures_s: float) -> float:
    """Work between two checkpoints by Daly's higher order estimate, which holds for frequent failures too.

    Where a checkpoint takes twice the time between failures or more, no interval is better than that time.
    """
    if checkpoint_s >= 2 * between_failures_s:
        return between_failures_s
    share = math.sqrt(checkpoint_s / (2 * between_failures_s))
    return young_s(checkpoint_s, between_failures_s) * (1 + share / 3 + share**2 / 9) - checkpoint_s


def wall_share(interval_s: float, checkpoint_s: float, recovery_s: float, between_failures_s: float) -> float:
    """Wall time over working time: 1 is no loss (Daly 2006, equation 20, for a long run).

    ``interval_s``: work between two checkpoints. exp(recovery / M) M (exp((interval + checkpoint) / M) - 1) / interval.
    Infinite where failures leave no time to work.
    """
    mean = between_failures_s
    exponent = (interval_s + checkpoint_s) / mean
    if exponent + recovery_s / mean > 500:
        return math.inf
    return math.exp(recovery_s / mean) * mean * math.expm1(exponent) / interval_s
