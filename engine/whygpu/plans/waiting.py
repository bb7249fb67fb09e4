"""How long requests wait for each other where each replica makes one answer at a time.

Sources: Sakasegawa 1977 (doi 10.1007/BF02532775: the mean wait of many servers), halved where each answer takes the
same time (Allen and Cunneen, in Allen 1990: Probability, Statistics, and Queueing Theory, section 5.3); what waits at
all waits exponentially long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.work import Work

_LATE = 0.05
"""The share of the answers that may come later than the 95th percentile."""
_TRIED = 48
"""Numbers of further replicas that are looked at, up to three times those that there are."""


def one_at_a_time(work: Work) -> bool:
    """Whether each replica makes one answer after the other: pictures and clips."""
    return work.shape.kind == "diffusion"


def answer_p95_ms(plan_set: PlanSet, per_s: float) -> NDArray[np.float64] | None:
    """Milliseconds within which 95% of the answers come, the wait included, at so many requests a second that come at
    random; infinite where more come than are made, NaN where the speed is unknown. None of other work than pictures.
    """
    each = plan_set.speeds.figures.get("ttft_ms")
    if each is None or not one_at_a_time(plan_set.work):
        return None
    return each + wait_p95_ms(each, plan_set.replicas, per_s)


def wait_p95_ms(each_ms: NDArray[np.float64], servers: NDArray[np.int64], per_s: float) -> NDArray[np.float64]:
    """Milliseconds that 95% of the requests wait at most for one of the servers, each of which takes ``each_ms``."""
    with np.errstate(all="ignore"):
        busy = per_s * each_ms / 1000 / servers
        waits = np.minimum(busy, 1.0) ** (np.sqrt(2 * (servers + 1)) - 1)  # the share of the requests that wait at all
        wait = np.maximum(each_ms / (2 * servers * (1 - busy)) * np.log(waits / _LATE), 0.0)
        found: NDArray[np.float64] = np.where(busy >= 1, np.inf, wait)
    return np.where(np.isnan(each_ms), np.nan, found)


def times_too_few(plan_set: PlanSet, per_s: float, limit_ms: float) -> NDArray[np.float64]:
    """How many times the replicas each plan takes for 95% of its answers to come in time; 1 where they do, and where no
    number of replicas would do.
    """
    each, replicas = plan_set.speeds.figures["ttft_ms"], plan_set.replicas
    found = np.ones(len(plan_set))
    late = np.flatnonzero((each <= limit_ms) & (each + wait_p95_ms(each, replicas, per_s) > limit_ms))
    if not late.size:
        return found
    more = np.unique(np.rint(np.geomspace(1, 3 * int(replicas[late].max()), _TRIED)).astype(np.int64))
    tried = more[:, np.newaxis] + replicas[late]
    in_time = each[late] + wait_p95_ms(each[late], tried, per_s) <= limit_ms
    enough = np.where(in_time.any(axis=0), tried[in_time.argmax(axis=0), np.arange(late.size)], replicas[late])
    found[late] = enough / replicas[late]
    return found
