"""How many samples each plan of a job works on at once, where nobody gave it: a power of two that its cards hold with
room.

Larger batches keep the accelerator busy, so this is what everybody does. In training, recomputing activations or
sharding states makes room for more samples and costs time: of the ways to make room the one that is fastest is taken.
In batch inference wider shards make room: they are tried beside the narrower ones, as long as that speeds up the job.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.plans.search import SHARDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.model_shape import ModelShape
    from whygpu.checks.setup import Setup, Split
    from whygpu.plans.plan_set import Field, Options, Way
    from whygpu.plans.search import Search


_EQUAL = 0.95
"""A batch is large enough where none that its cards hold makes the plan faster by more than a twentieth."""


def filled(
    search: Search,
    card: NDArray[np.int64],
    way: NDArray[np.int64],
    fits: Mask,
    options: Options,
    which: Mask,
    shardings: tuple[str, ...] = (),
) -> Field:
    """The plans on as many cards, those of the mask ``which`` each with the micro-batch they hold, at most as many
    samples as the options allow over all replicas, and with the fastest of the ``shardings``, or else as it is sharded.

    A plan that holds a single sample only tightly, or not at all, stays as it is.
    """
    usable = search.cards.usable_bytes[card]
    plans, ways = [], []
    left = np.ones(len(card), dtype=np.bool_)
    for number in np.unique(way[which]):
        rows = np.flatnonzero(which & (way == number))
        for setup, split in _roomier(search.ways[number], options.checkpointing, shardings):
            setups = [replace(setup, batch_size=size) for size in _sizes((options.samples or 1) / split.data)]
            numbers, needs = _needs(search, setups, split, usable[rows].max())
            place = np.searchsorted(needs, usable[rows], side="right") - 1
            fullest = np.where(place >= 0, numbers[place], -1)
            found = fullest >= 0
            plans.append(rows[found])
            ways.append(fullest[found])
            left[rows[found]] = False
    plan = np.concatenate([*plans, np.flatnonzero(left)])
    timed = search.timed(card[plan], np.concatenate([*ways, way[left]]), fits[plan])
    speed = np.nan_to_num(timed.speeds.figures["samples_per_s"])
    order = np.lexsort((-speed, plan))  # stable: of equally fast ones the first, which recomputes least
    return timed.take(order[np.unique(plan[order], return_index=True)[1]])


def _roomier(way: Way, checkpointing: tuple[str, ...], shardings: tuple[str, ...]) -> Iterator[tuple[Setup, Split]]:
    """The ways to make room on as many cards, the one that recomputes and exchanges least first."""
    for kind in checkpointing:
        for sharding in shardings if way.split.data > 1 and shardings else (way.split.sharding,):
            yield replace(way.setup, gradient_checkpointing=kind), replace(way.split, sharding=sharding)


def packed_widely(search: Search, field: Field, shape: ModelShape, options: Options) -> Field:
    """The plans of a batch job, each replica with as many samples at once as its cards hold, up to what the options
    allow or to where more make it no faster; and beside them those on wider shards that do more work by the card.
    """
    found = wider = packed(search, field, shape, options)
    while len(wider := _wider(search, wider, shape, options)):
        found = search.timed(*(np.concatenate([getattr(each, name) for each in (found, wider)]) for name in _COLUMNS))
    first = np.unique(np.stack([found.card, found.way]), axis=1, return_index=True)[1]
    return found if len(first) == len(found) else found.take(np.sort(first))


_COLUMNS = ("card", "way", "fits")


def packed(search: Search, field: Field, shape: ModelShape, options: Options) -> Field:
    """The plans, each with the batch that suits it; one that holds a single sample only tightly stays as it is."""
    usable = search.cards.usable_bytes[field.card]
    plans, ways = [np.arange(len(field))], [field.way]
    for number in np.unique(field.way[field.fits]):
        rows = np.flatnonzero(field.fits & (field.way == number))
        setup, split = search.ways[number].setup, search.ways[number].split
        setups = [_at_once(setup, shape, size, split.data) for size in _sizes(options.at_once or 1)]
        for held, need in zip(*_needs(search, setups, split, usable[rows].max()), strict=True):
            holding = rows[need <= usable[rows]]
            plans.append(holding)
            ways.append(np.full(len(holding), held))
    plan = np.concatenate(plans)
    timed = search.timed(field.card[plan], np.concatenate(ways), field.fits[plan])
    speed = np.nan_to_num(timed.speeds.figures["requests_per_s"])
    own = np.arange(len(plan)) < len(field)
    best = np.zeros(len(field))
    np.maximum.at(best, plan[~own], speed[~own])
    enough = ~own & (speed >= _EQUAL * best[plan])
    order = np.lexsort((np.arange(len(plan)), ~enough, plan))  # the smallest that is enough, or else as it was
    return timed.take(order[np.unique(plan[order], return_index=True)[1]])


def _at_once(setup: Setup, shape: ModelShape, size: int, replicas: int) -> Setup:
    """The setup with so many samples at once on each replica."""
    if shape.kind in TOKEN_KINDS:
        return replace(setup, concurrency=size * replicas)
    return replace(setup, batch_size=size)


def _wider(search: Search, field: Field, shape: ModelShape, options: Options) -> Field:
    """The plans on twice the shards, packed: those of them that do more work by the card."""
    per_node, most = search.cards.per_node[field.card], options.count or options.max_count
    rows, ways, growth = [], [], []
    for index in np.flatnonzero(field.fits).tolist() if shape.kind in TOKEN_KINDS else ():
        way = field.ways[int(field.way[index])]
        replicas = way.split.data if options.count is None else way.split.data // 2
        split = replace(way.split, tensor=2 * way.split.tensor, data=replicas)
        if split.tensor > min(SHARDS[-1], per_node[index]) or shape.heads % split.tensor or split.cards > most:
            continue
        if options.count in (None, split.cards) and options.layout.allows(split):
            rows.append(index)
            ways.append(search.way(way.setup, split))
            growth.append(split.cards / way.split.cards)
    if not rows:
        return field.take(np.zeros(0, dtype=np.int64))
    wide = packed(search, search.timed(field.card[rows], np.array(ways), field.fits[rows]), shape, options)
    before, after = (each.speeds.figures["requests_per_s"] for each in (field.take(np.array(rows)), wide))
    return wide.take(np.flatnonzero(_EQUAL * after > np.array(growth) * before))


def _sizes(most: float) -> list[int]:
    """Powers of two up to ``most``, and at least one."""
    sizes = [1]
    while sizes[-1] * 2 <= most:
        sizes.append(sizes[-1] * 2)
    return sizes


def _needs(
    search: Search, setups: Iterable[Setup], split: Split, usable: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of ways of growing need, to the first beyond ``usable``, and the high end of each need (bytes)."""
    numbers: list[int] = []
    needs: list[float] = []
    for setup in setups:
        numbers.append(search.way(setup, split))
        needs.append(search.ways[numbers[-1]].memory.high)
        if needs[-1] > usable:
            break
    return np.array(numbers), np.array(needs)
