"""How many samples each plan of a job works on at once: where nobody gave it, a power of two that its cards hold with
room.

Larger batches keep the accelerator busy, so this is what everybody does. In training, recomputing activations or
sharding states makes room for more samples and costs time: of the ways to make room the one that is fastest is taken.
In batch inference wider shards make room: they are tried beside the narrower ones, as long as that speeds up the job;
and of many requests numbers between two powers of two.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.model_shape import GENERATIVE, TOKEN_KINDS
from whygpu.plans.plan_set import most_cards
from whygpu.plans.search import SHARDS
from whygpu.plans.ways import batch_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.model_shape import ModelShape
    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.plans.plan_set import Options, PlanSet
    from whygpu.plans.search import Search
    from whygpu.plans.ways import RunConfiguration


OF_STAGES = ("none", "zero1")
"""Shardings beside stages or spread experts: gradients and weights that are spread would cross the network at every
micro-batch.
"""
_CONTINUOUS = 128
"""Requests from which numbers between powers of two are tried: a serving stack fills a place as soon as it is free."""
_EQUAL = 0.95
"""A batch is large enough where none that its cards hold makes the plan faster by more than a twentieth."""


def filled(
    search: Search,
    card: NDArray[np.int64],
    configuration: NDArray[np.int64],
    fits: Mask,
    options: Options,
    shardings: tuple[str, ...] = (),
) -> PlanSet:
    """The plans on as many cards, those that fit each with the micro-batch they hold, at most as many samples as the
    options allow over all replicas, or with the one that was given; and with the fastest of the ``shardings``, or else
    as it is sharded. Where the micro-batch was given, or is the most that is assumed, and whole copies hold it, there
    is no need to shard them. Of stages more micro-batches are tried, too: the more there are, the less stages wait
    (Narayanan et al. 2021, arXiv:2104.04473, 2.2), and no more are under way at once, so that none of them needs more
    memory.

    A plan that holds a single sample only tightly, or not at all, stays as it is.
    """
    usable = search.cards.usable_bytes[card]
    plans: list[int] = []
    ways: list[int] = []
    whole: set[int] = set()
    given = not options.fills
    for number in sorted(set(configuration[fits].tolist())):
        rows = np.flatnonzero(fits & (configuration == number))
        room = list(zip(rows.tolist(), usable[rows].tolist(), strict=True))
        most_room = max(bytes_ for _, bytes_ in room)
        for setup, layout in _ways(search, search.configurations[number], options, shardings):
            fewest, *_ = numbers = search.micro_batches(layout)
            sizes = (setup.batch_size,) if given else _sizes(_most(options, layout, fewest), search.least_batch)
            needs = search.held_batches(setup, layout, sizes, fewest, most_room)
            held = {
                row: sizes[:found] for row, each in room if row not in whole and (found := bisect_right(needs, each))
            }
            for each in numbers:
                most = _most(options, layout, each)
                for row, batches in held.items():
                    size = next((size for size in reversed(batches) if size <= most), batches[0])
                    one = search.changed(setup, batch_size=size, gradient_accumulation=each)
                    plans.append(row)
                    ways.append(search.configure(one, layout))
            if options.samples is None and layout.sharding == "none":
                whole.update(row for row, batches in held.items() if len(batches) == len(sizes))
    left = np.ones(len(card), dtype=np.bool_)
    left[plans] = False
    plan = np.concatenate([np.array(plans, dtype=np.int64), np.flatnonzero(left)])
    timed = search.timed(card[plan], np.concatenate([np.array(ways, dtype=np.int64), configuration[left]]), fits[plan])
    speed = np.nan_to_num(timed.speeds.figures["samples_per_s"])
    order = np.lexsort((-speed, plan))  # stable: of equally fast ones the first, which recomputes least
    return timed.take(order[np.unique(plan[order], return_index=True)[1]])


class Filler:
    """Fills plans as ``filled`` does, each way on each card once: the rounds of growth, and the paces that it is tried
    at, come to the same ones again and again.
    """

    def __init__(self, search: Search, options: Options) -> None:
        """Nothing is filled yet; each plan may be sharded in all ways that the options leave."""
        self._search, self._options = search, options
        self._found: list[PlanSet] = []
        self._places: dict[tuple[int, int, bool], int] = {}
        """Where a plan lies in all that were found, one after the other."""

    def filled(self, card: NDArray[np.int64], configuration: NDArray[np.int64], fits: Mask) -> PlanSet:
        """The plans, each filled."""
        plans = list(zip(card.tolist(), configuration.tolist(), fits.tolist(), strict=True))
        new = {plan: row for row, plan in reversed(list(enumerate(plans))) if plan not in self._places}
        if new:
            rows = np.array(sorted(new.values()))
            start = sum(map(len, self._found))
            self._places |= {plans[row]: place for place, row in enumerate(rows.tolist(), start=start)}
            options = self._options
            found = filled(self._search, card[rows], configuration[rows], fits[rows], options, options.shardings)
            self._found.append(found)
            if len(rows) == len(plans):
                return found
        places = np.array([self._places[plan] for plan in plans], dtype=np.int64)
        return self._search.together(*self._found).take(places)


def _most(options: Options, layout: ParallelLayout, micro_batches: int) -> float:
    """Most samples of a micro-batch on each replica."""
    if options.each is not None:
        return options.each
    return (options.samples or 1) / (layout.data * micro_batches)


def _ways(
    search: Search, configuration: RunConfiguration, options: Options, shardings: tuple[str, ...]
) -> Iterator[tuple[Setup, ParallelLayout]]:
    """The ways to make room on as many cards, the one that recomputes and exchanges least first."""
    layout = configuration.layout
    if layout.pipeline > 1 or layout.spreads_experts:
        shardings = OF_STAGES
    tried = shardings if layout.data > 1 and shardings else (layout.sharding,)
    layouts = [replace(layout, sharding=sharding) for sharding in tried]
    for kind in options.checkpointing:
        setup = search.changed(configuration.setup, gradient_checkpointing=kind)
        for spread in layouts:
            yield setup, spread


def packed_widely(search: Search, plan_set: PlanSet, shape: ModelShape, options: Options) -> PlanSet:
    """The plans of a batch job, each replica with as many samples at once as its cards hold, up to what the options
    allow or to where more make it no faster; and beside them those on wider shards that do more work by the card.
    """
    found = wider = packed(search, plan_set, shape, options)
    while len(wider := _wider(search, wider, shape, options)):
        found = search.together(found, wider)
    return found.distinct()


def packed(search: Search, plan_set: PlanSet, shape: ModelShape, options: Options) -> PlanSet:
    """The plans, each with the batch that suits it; one that holds a single sample only tightly stays as it is."""
    usable = search.cards.usable_bytes[plan_set.card]
    plans, ways = [np.arange(len(plan_set))], []
    sizes = _sizes(options.at_once or 1)
    if shape.kind in TOKEN_KINDS:
        sizes = tuple(sorted({*sizes, *(3 * size // 4 for size in sizes if size >= _CONTINUOUS)}))
    for number in sorted(set(plan_set.configuration[plan_set.fits].tolist())):
        rows = np.flatnonzero(plan_set.fits & (plan_set.configuration == number))
        room = usable[rows]
        setup, layout = search.configurations[number].setup, search.configurations[number].layout
        for size in sizes:
            each = _at_once(search, setup, shape, size, layout.data)
            holds = search.need(each, layout).high <= room
            if not holds.any():  # more samples need no less
                break
            plans.append(rows[holds])
            ways.append(search.configure(each, layout))
    each_way = [np.full(len(rows), way) for rows, way in zip(plans[1:], ways, strict=True)]
    plan, configuration = np.concatenate(plans), np.concatenate([plan_set.configuration, *each_way])
    timed = search.timed(plan_set.card[plan], configuration, plan_set.fits[plan])
    speed = np.nan_to_num(_of_cards(timed, shape))
    own = np.arange(len(plan)) < len(plan_set)
    best = np.zeros(len(plan_set))
    np.maximum.at(best, plan[~own], speed[~own])
    enough = ~own & (speed >= _EQUAL * best[plan])
    order = np.lexsort((np.arange(len(plan)), ~enough, plan))  # the smallest that is enough, or else as it was
    return timed.take(order[np.unique(plan[order], return_index=True)[1]])


def _of_cards(timed: PlanSet, shape: ModelShape) -> NDArray[np.float64]:
    """Requests a second of each plan as its cards give them: what prepares samples is as fast whatever the batch, and
    would make a batch of one seem enough.
    """
    figures = timed.speeds.figures
    if shape.kind in GENERATIVE:
        return figures["requests_per_s"]
    together = timed.in_flight if shape.kind in TOKEN_KINDS else timed.each(batch_of) * timed.replicas
    found: NDArray[np.float64] = together / figures["ttft_ms"]
    return found


def _at_once(search: Search, setup: Setup, shape: ModelShape, size: int, replicas: int) -> Setup:
    """The setup with so many samples at once on each replica."""
    if shape.kind in TOKEN_KINDS:
        return search.changed(setup, concurrency=size * replicas)
    return search.changed(setup, batch_size=size)


def _wider(search: Search, plan_set: PlanSet, shape: ModelShape, options: Options) -> PlanSet:
    """The plans on twice the shards, packed: those of them that do more work by the card."""
    per_node = search.cards.per_node[plan_set.card]
    most = most_cards(search.cards, options, options.count or options.max_count)[plan_set.card]
    rows, configurations, growth = [], [], []
    wide: dict[tuple[int, int, int], tuple[int, float] | None] = {}  # by way and machine, as many plans have them
    fits = np.flatnonzero(plan_set.fits if shape.kind in TOKEN_KINDS else np.zeros(0))
    columns = (each[fits].tolist() for each in (plan_set.configuration, per_node, most))
    for index, *key in zip(fits.tolist(), *columns, strict=True):
        if (way := tuple(key)) not in wide:
            wide[way] = _on_twice(search, shape, options, *way)
        if (found := wide[way]) is not None:
            rows.append(index)
            configurations.append(found[0])
            growth.append(found[1])
    if not rows:
        return plan_set.take(np.zeros(0, dtype=np.int64))
    wider = search.untimed(plan_set.card[rows], np.array(configurations), plan_set.fits[rows])
    wider = packed(search, wider, shape, options)
    before, after = (each.speeds.figures["requests_per_s"] for each in (plan_set.take(np.array(rows)), wider))
    return wider.take(np.flatnonzero(_EQUAL * after > np.array(growth) * before))


def _on_twice(
    search: Search, shape: ModelShape, options: Options, number: int, per_node: int, most: float
) -> tuple[int, float] | None:
    """The way on twice the shards, on ``most`` cards of machines of ``per_node``, and how many times the cards of the
    way of this number it takes; None where it cannot be.
    """
    setup, layout = search.configurations[number].setup, search.configurations[number].layout
    replicas = layout.data if options.count is None else layout.data // 2
    wide = replace(layout, tensor=2 * layout.tensor, data=replicas)
    if wide.tensor > min(SHARDS[-1], per_node) or shape.heads % wide.tensor or wide.cards > most:
        return None
    if options.count not in (None, wide.cards) or not options.fixed.allows(wide):
        return None
    return search.configure(setup, wide), wide.cards / layout.cards


def _sizes(most: float, least: int = 1) -> tuple[int, ...]:
    """``least`` and its doubles up to ``most``, and at least the first."""
    sizes = [least]
    while sizes[-1] * 2 <= most:
        sizes.append(sizes[-1] * 2)
    return tuple(sizes)
