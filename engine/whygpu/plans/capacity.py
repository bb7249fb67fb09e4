"""What plans of a service do when they are full: with as many requests in flight as they hold and answer in time.

The speeds of a plan are those with the requests that its load brings on it (Little's law), which are as few as reach
the load: how much more it could take is told by its rate when it is full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whygpu.checks.model_shape import GENERATIVE
from whygpu.plans.plan_set import plan_set_of
from whygpu.plans.ways import NEEDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.plans.plan_set import PlanSet

MOST_DOUBLINGS = 5
"""How often requests in flight are doubled at most beyond those that were answered, assumed or that a load brings."""
_TRIED = 6
"""Numbers of requests in flight that are tried, from those of the plan to the most that it holds."""


class InTime(NamedTuple):
    """Milliseconds that a first answer and a token may take; infinite where nothing limits them."""

    ttft_ms: float
    token_ms: float


def most_requests_per_s(plan_set: PlanSet, limits: InTime) -> NDArray[np.float64]:
    """Requests a second of each plan when it is full: no fewer than it answers as it is sized; NaN where that is not
    known.
    """
    rate = plan_set.speeds.figures.get("requests_per_s", np.full(len(plan_set), np.nan))
    if plan_set.work.shape.kind not in GENERATIVE:
        return rate
    now = plan_set.in_flight
    most = np.fmax(np.floor(now * _times_held(plan_set)), now).astype(np.int64)
    rows = np.flatnonzero(plan_set.fits & (most > now))
    numbers = np.rint(now[rows] * (most[rows] / now[rows]) ** (np.arange(1, _TRIED + 1)[:, np.newaxis] / _TRIED))
    tried, at_once = np.tile(rows, _TRIED), numbers.astype(np.int64).ravel()
    full = plan_set_of(
        plan_set.work,
        plan_set.configurations,
        plan_set.card[tried],
        plan_set.configuration[tried],
        plan_set.fits[tried],
        plan_set.owned[tried],
        plan_set.machines,
        at_once,
    )
    found, figures = np.array(rate), full.speeds.figures
    if tried.size:
        late = np.zeros(tried.size, dtype=np.bool_)
        for name, limit in limits._asdict().items():
            late |= figures.get(name, np.zeros(tried.size)) > limit
        np.fmax.at(found, tried, np.where(late, np.nan, figures["requests_per_s"]))
    return found


def _times_held(plan_set: PlanSet) -> NDArray[np.float64]:
    """How many times the requests in flight of each plan its cards hold: the cache grows evenly with them."""
    total, cache = (plan_set.each(NEEDS[part]) for part in ("total", "kv_cache"))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (plan_set.cards.usable_bytes[plan_set.card] - total) / cache
    times: NDArray[np.float64] = np.clip(1 + np.nan_to_num(room, nan=0.0), 1, 1 << MOST_DOUBLINGS)
    return times
