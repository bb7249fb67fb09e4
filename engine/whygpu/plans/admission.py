"""How many requests plans admit at once, where none holds all that are asked for: the rest queue.

A serving stack admits requests while its cache has room and lets the others wait (Kwon et al. 2023, vLLM, section 4.5).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.memory.estimate import largest
from whygpu.checks.model_shape import GENERATIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.plans.plan_set import Field, Way
    from whygpu.plans.search import Search


def admitted(field: Field) -> NDArray[np.float64]:
    """Requests that each plan holds at once: those it is sized for where they fit, else as many as do. Plans that do
    not fit are looked into only where none fits; NaN where they are not, and where nothing is asked for at once.
    """
    found = np.full(len(field), np.nan)
    for index, number in enumerate(field.way.tolist()):
        way, usable = field.ways[number], float(field.cards.usable_bytes[field.card[index]])
        if way.setup.trains or way.memory.shape.kind not in GENERATIVE:
            continue
        if way.memory.total <= usable:
            found[index] = way.setup.concurrency
        elif not field.fits.any():
            found[index] = _most(way, usable)
    return found


def queueing(search: Search, field: Field) -> Field:
    """The plans, where none holds all requests at once, each with as many as it admits, where it admits any."""
    if field.fits.any():
        return field
    most = np.nan_to_num(admitted(field))
    ways = np.array(field.way)
    for index in np.flatnonzero(most):
        way = field.ways[int(field.way[index])]
        ways[index] = search.way(replace(way.setup, concurrency=int(most[index])), way.split)
    return search.timed(field.card, ways, most > 0) if most.any() else field


def _most(way: Way, usable_bytes: float) -> int:
    """The most requests whose likely need fits, evenly over the replicas."""
    each = way.setup.requests_per_replica(way.split.data)
    alone, one = replace(way.setup, concurrency=1), replace(way.split, data=1)
    fitting = largest(way.memory.shape, alone, one, way.memory.coefficients, usable_bytes, "concurrency", each)
    return fitting * way.split.data
