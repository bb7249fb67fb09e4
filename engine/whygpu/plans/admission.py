"""How many requests plans admit at once, where none that can be chosen holds all that are asked for: the rest queue.

A serving stack admits requests while its cache has room and lets the others wait (Kwon et al. 2023, vLLM, section 4.5).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.memory.estimate import largest, most_within
from whygpu.checks.model_shape import GENERATIVE
from whygpu.plans.plan_set import plan_set_of
from whygpu.plans.ways import RunConfiguration, Ways

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.plans.plan_set import Options, PlanSet
    from whygpu.plans.work import Work


def may_queue(work: Work, options: Options) -> bool:
    """Whether several requests at once are asked for, which a stack may admit one after the other."""
    serves = not work.setup.trains and work.shape.kind in GENERATIVE
    return serves and options.at_once is None and work.setup.concurrency > 1


def admitted(plan_set: PlanSet) -> NDArray[np.float64]:
    """Requests that each plan holds at once: those it is sized for where they fit; else as many as do where no plan
    fits, and 0 where another does, or where it is no matter of requests.
    """
    return _held(plan_set, np.arange(len(plan_set)), fewer=not plan_set.fits.any())


def with_in_flight(plan_set: PlanSet, rows: NDArray[np.int64], each: NDArray[np.int64]) -> PlanSet:
    """These plans with so many requests in flight on each replica, and no more than are asked for."""
    numbers: dict[tuple[int, int], int] = {}
    configurations: list[RunConfiguration] = []
    chosen = list(zip(plan_set.configuration[rows].tolist(), each.tolist(), strict=True))
    for number, at_once in dict.fromkeys(chosen):
        one = plan_set.configurations[number]
        setup = one.setup.but(concurrency=min(at_once * one.layout.data, one.setup.concurrency))
        numbers[number, at_once] = len(configurations)
        configurations.append(replace(one, setup=setup))
    configuration = np.array([numbers[pair] for pair in chosen], dtype=np.int64)
    total = np.array([one.need.total for one in configurations])
    return plan_set_of(
        plan_set.work,
        Ways(configurations),
        plan_set.card[rows],
        configuration,
        total[configuration] <= plan_set.cards.usable_bytes[plan_set.card[rows]],
        plan_set.owned[rows],
        plan_set.machines,
    )


def held_on_each(plan_set: PlanSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Requests that each replica of these plans holds at once."""
    return np.ceil(_held(plan_set, rows, fewer=True) / plan_set.replicas[rows]).astype(np.int64)


def most_admitting(plan_set: PlanSet, alive: Mask) -> NDArray[np.int64]:
    """Of the plans on each card in each way the one that admits most, of those that are left where any is."""
    best: dict[tuple[int, bool, Setup], tuple[bool, int, int]] = {}
    ways: dict[Setup, Setup] = {}
    for index, number in enumerate(plan_set.configuration.tolist()):
        setup = plan_set.configurations[number].setup
        way = ways.get(setup) or ways.setdefault(setup, setup.but(concurrency=0))
        admits = setup.concurrency if plan_set.fits[index] else 0
        key = int(plan_set.card[index]), bool(plan_set.owned[index]), way
        best[key] = max(best.get(key, (False, -1, 0)), (bool(alive[index]), admits, -index))
    return -np.array(sorted((index for _, _, index in best.values()), reverse=True), dtype=np.int64)


def _held(plan_set: PlanSet, rows: NDArray[np.int64], *, fewer: bool) -> NDArray[np.float64]:
    """Requests that each of these plans holds at once: all, or with ``fewer`` as many as it holds."""
    found = np.zeros(len(rows))
    known: dict[tuple[int, ParallelLayout, float], int] = plan_set.known.setdefault("held", {})
    for place, index in enumerate(rows.tolist()):
        configuration = plan_set.configurations[int(plan_set.configuration[index])]
        if plan_set.fits[index]:
            found[place] = configuration.setup.concurrency
        elif fewer and not configuration.setup.trains and configuration.memory.shape.kind in GENERATIVE:
            usable = float(plan_set.cards.usable_bytes[plan_set.card[index]])
            corrected, layout = configuration.memory.corrections, configuration.layout
            replica = id(configuration.setup), layout if corrected else replace(layout, data=1), usable
            if replica not in known:
                known[replica] = _most(configuration, usable)
            each = configuration.setup.requests_per_replica(layout.data)
            found[place] = min(min(known[replica], each) * layout.data, configuration.setup.concurrency)
    return found


def _most(configuration: RunConfiguration, usable_bytes: float) -> int:
    """The most requests whose likely need one replica holds."""
    one, need = replace(configuration.layout, data=1), configuration.memory
    room, asked = need.uncorrected(usable_bytes), configuration.setup.concurrency
    if need.corrections:
        return largest(need.shape, configuration.setup, one, need.coefficients, room, "concurrency", asked)
    return most_within(lambda at_once: configuration.sizer.need(configuration.setup, one, at_once).total, room, asked)
