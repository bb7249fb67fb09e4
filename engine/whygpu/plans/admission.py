"""How many requests plans admit at once, where none that can be chosen holds all that are asked for: the rest queue.

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

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.plans.plan_set import Options, PlanSet, RunConfiguration
    from whygpu.plans.search import Search
    from whygpu.plans.work import Work


def may_queue(work: Work, options: Options) -> bool:
    """Whether several requests at once are asked for, which a stack may admit one after the other."""
    serves = not work.setup.trains and work.shape.kind in GENERATIVE
    return serves and options.at_once is None and work.setup.concurrency > 1


def admitted(plan_set: PlanSet) -> NDArray[np.float64]:
    """Requests that each plan holds at once: those it is sized for where they fit; else as many as do where no plan
    fits, and 0 where another does, or where it is no matter of requests.
    """
    return _held(plan_set, fewer=not plan_set.fits.any())


def queueing(search: Search, plan_set: PlanSet) -> PlanSet:
    """The plans, each that does not hold all requests at once with as many as it admits, where it admits any."""
    most = np.where(plan_set.fits, 0, _held(plan_set, fewer=True))
    if not most.any():
        return plan_set
    configurations = np.array(plan_set.configuration)
    for index in np.flatnonzero(most):
        configuration = plan_set.configurations[int(plan_set.configuration[index])]
        configurations[index] = search.configure(
            replace(configuration.setup, concurrency=int(most[index])), configuration.layout
        )
    return search.timed(plan_set.card, configurations, plan_set.fits | (most > 0))


def most_admitting(plan_set: PlanSet, alive: Mask) -> NDArray[np.int64]:
    """Of the plans on each card in each way the one that admits most, of those that are left where any is."""
    best: dict[tuple[int, bool, Setup], tuple[bool, int, int]] = {}
    ways: dict[Setup, Setup] = {}
    for index, number in enumerate(plan_set.configuration.tolist()):
        setup = plan_set.configurations[number].setup
        way = ways.get(setup) or ways.setdefault(setup, replace(setup, concurrency=0))
        admits = setup.concurrency if plan_set.fits[index] else 0
        key = int(plan_set.card[index]), bool(plan_set.owned[index]), way
        best[key] = max(best.get(key, (False, -1, 0)), (bool(alive[index]), admits, -index))
    return -np.array(sorted((index for _, _, index in best.values()), reverse=True), dtype=np.int64)


def _held(plan_set: PlanSet, *, fewer: bool) -> NDArray[np.float64]:
    """Requests that each plan holds at once: all, or with ``fewer`` as many as it holds."""
    found = np.zeros(len(plan_set))
    known: dict[tuple[Setup, ParallelLayout, float], int] = {}
    for index, number in enumerate(plan_set.configuration.tolist()):
        configuration = plan_set.configurations[number]
        usable = float(plan_set.cards.usable_bytes[plan_set.card[index]])
        serves = not configuration.setup.trains and configuration.memory.shape.kind in GENERATIVE
        if configuration.memory.total <= usable:
            found[index] = configuration.setup.concurrency
        elif serves and fewer:
            corrected, layout = configuration.memory.corrections, configuration.layout
            replica = configuration.setup, layout if corrected else replace(layout, data=1), usable
            if replica not in known:
                known[replica] = _most(configuration, usable)
            each = configuration.setup.requests_per_replica(layout.data)
            found[index] = min(known[replica], each) * layout.data
    return found


def _most(configuration: RunConfiguration, usable_bytes: float) -> int:
    """The most requests whose likely need one replica holds."""
    alone, one = replace(configuration.setup, concurrency=1), replace(configuration.layout, data=1)
    need = configuration.memory
    room, asked = need.uncorrected(usable_bytes), configuration.setup.concurrency
    return largest(need.shape, alone, one, need.coefficients, room, "concurrency", asked)
