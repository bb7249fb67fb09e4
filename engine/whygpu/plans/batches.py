"""The micro-batch of each training plan where nobody gave one: the largest power of two that a card holds with room.

Larger batches keep the accelerator busy, so this is what everybody does. Recomputing activations or sharding states
makes room for more samples and costs time: of the ways to make room the one that is fastest is taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import Setup, Split
    from whygpu.plans.field import Field, Options, Way
    from whygpu.plans.search import Search


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
            fullest = _fullest(search, setup, split, usable[rows], options.samples or 1)
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


def _fullest(
    search: Search, setup: Setup, split: Split, usable: NDArray[np.float64], samples: int
) -> NDArray[np.int64]:
    """For each usable memory (bytes) the way with the largest micro-batch whose need, at its high end, is within it;
    -1 where there is none.
    """
    ways: list[int] = []
    needs: list[float] = []
    size = 1
    while size == 1 or size * split.data <= samples:
        ways.append(search.way(replace(setup, batch_size=size), split))
        needs.append(search.ways[ways[-1]].memory.high)
        if needs[-1] > usable.max():
            break
        size *= 2
    place = np.searchsorted(needs, usable, side="right") - 1  # the need never falls when the batch grows
    found: NDArray[np.int64] = np.where(place >= 0, np.array(ways)[place], -1)
    return found
