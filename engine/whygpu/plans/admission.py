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

    from whygpu.plans.plan_set import PlanSet, RunConfiguration
    from whygpu.plans.search import Search


def admitted(plan_set: PlanSet) -> NDArray[np.float64]:
    """Requests that each plan holds at once: those it is sized for where they fit; else as many as do where no plan
    fits, and 0 where another does, or where it is no matter of requests.
    """
    found = np.zeros(len(plan_set))
    short = not plan_set.fits.any()
    for index, number in enumerate(plan_set.configuration.tolist()):
        configuration = plan_set.configurations[number]
        usable = float(plan_set.cards.usable_bytes[plan_set.card[index]])
        serves = not configuration.setup.trains and configuration.memory.shape.kind in GENERATIVE
        if configuration.memory.total <= usable:
            found[index] = configuration.setup.concurrency
        elif serves and short:
            found[index] = _most(configuration, usable)
    return found


def queueing(search: Search, plan_set: PlanSet) -> PlanSet:
    """The plans, where none holds all requests at once, each with as many as it admits, where it admits any."""
    if plan_set.fits.any():
        return plan_set
    most = admitted(plan_set)
    configurations = np.array(plan_set.configuration)
    for index in np.flatnonzero(most):
        configuration = plan_set.configurations[int(plan_set.configuration[index])]
        configurations[index] = search.configure(
            replace(configuration.setup, concurrency=int(most[index])), configuration.layout
        )
    return search.timed(plan_set.card, configurations, most > 0) if most.any() else plan_set


def _most(configuration: RunConfiguration, usable_bytes: float) -> int:
    """The most requests whose likely need fits, evenly over the replicas."""
    each = configuration.setup.requests_per_replica(configuration.layout.data)
    alone, one = replace(configuration.setup, concurrency=1), replace(configuration.layout, data=1)
    need = configuration.memory
    room = need.uncorrected(usable_bytes)
    fitting = largest(need.shape, alone, one, need.coefficients, room, "concurrency", each)
    return fitting * configuration.layout.data
