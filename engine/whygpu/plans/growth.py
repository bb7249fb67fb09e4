"""Plans spread further where the load, the latency or the time to train asks for it, as far as the limits allow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.shape import TOKEN_KINDS
from whygpu.plans.batches import filled
from whygpu.plans.search import SHARDS, Search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.checks.setup import Setup, Split
    from whygpu.plans.field import Field, Options, Targets
    from whygpu.plans.work import Work

_ROUNDS = 4


class Growth:
    """Spreads plans further where the load, the latency or the time to train asks for it, as far as the limits allow.

    Where nobody gave the micro-batch, each spread of a training job is filled with the one that suits it. That makes it
    faster, so a job may then do with fewer replicas again, though never fewer than hold it.
    """

    def __init__(self, work: Work, search: Search, options: Options, targets: Targets) -> None:
        self._work, self._search, self._options, self._targets = work, search, options, targets

    def run(self, field: Field) -> Field:
        """The same plans, grown where that helps; and beside them those grown further, where only habit asks for it."""
        if self._options.count is not None:
            return field
        asked, usual = self._targets.train_hours, self._targets.usual_hours
        field = self._met(field, replace(self._targets, usual_hours=None))
        if usual is None or (asked is not None and asked <= usual):
            return field
        grown = self._met(field, replace(self._targets, train_hours=usual))
        added = np.flatnonzero(grown.way != field.way)
        if not added.size:
            return field
        return self._search.timed(
            np.concatenate([field.card, field.card[added]]),
            np.concatenate([field.way, grown.way[added]]),
            np.concatenate([field.fits, field.fits[added]]),
        )

    def _met(self, field: Field, targets: Targets) -> Field:
        """The same plans, spread as the targets ask."""
        return self._grown(field, targets) if self._options.samples is None else self._refilled(field, targets)

    def _grown(self, field: Field, targets: Targets) -> Field:
        """The same plans on more accelerators."""
        doubled = np.zeros(len(field), dtype=np.bool_)
        for _ in range(_ROUNDS):
            late, short = self._lateness(field), shortfall(field, targets)
            changed = self._sooner(field, late)
            doubled |= changed != field.way
            for index in np.flatnonzero(field.fits & (late <= 1) & (short > 1)):
                grown = self._more(field, int(index), float(short[index]))
                if grown is not None:
                    changed[index] = self._search.way(*grown)
            if (changed == field.way).all():
                break
            field = self._search.timed(field.card, changed, field.fits)
        return self._trimmed(field, targets, doubled)

    def _trimmed(self, field: Field, targets: Targets, doubled: NDArray[np.bool_]) -> Field:
        """The same plans with as few of the replicas that doubling added as come in time: a little more load takes a
        little more hardware.
        """
        most, in_time = field.replicas, self._in_time(field, targets)
        least, best = most // 2, np.array(field.way)  # half was too late
        for _ in range(_ROUNDS + 1):
            rows = np.flatnonzero(doubled & field.fits & in_time & (most - least > 1))
            if not len(rows):
                break
            middle, ways = (least + most) // 2, np.array(best)
            for index in rows:
                way = field.ways[int(field.way[index])]
                ways[index] = self._search.way(way.setup, replace(way.split, data=int(middle[index])))
            done = self._in_time(self._search.timed(field.card[rows], ways[rows], field.fits[rows]), targets)
            enough, late = rows[done], rows[~done]
            most[enough], best[enough] = middle[enough], ways[enough]
            least[late] = middle[late]
        return field if (best == field.way).all() else self._search.timed(field.card, best, field.fits)

    def _in_time(self, field: Field, targets: Targets) -> NDArray[np.bool_]:
        """Which plans meet the latency and the load that they are grown for."""
        return (self._lateness(field) <= 1) & (shortfall(field, targets) <= 1)

    def _refilled(self, field: Field, targets: Targets) -> Field:
        """The filled plans on as many accelerators as it takes: of the spreads tried the smallest in time, or else the
        one nearest to it.
        """
        fewest = least = field.replicas
        best, late = field.way, np.fmax(shortfall(field, targets), 1.0)
        for _ in range(_ROUNDS):
            short = shortfall(field, targets)
            changed = np.array(field.way)
            for index in np.flatnonzero(field.fits & (short > 0)):
                way = field.ways[int(field.way[index])]
                replicas = self._replicas(field, int(index), float(short[index]), int(fewest[index]))
                if replicas != way.split.data:
                    one = replace(way.setup, batch_size=1)
                    changed[index] = self._search.way(one, replace(way.split, data=replicas))
            moved = changed != field.way
            if not moved.any():
                break
            options = self._options
            field = filled(self._search, field.card, changed, field.fits, options, moved, options.shardings)
            replicas_now, overdue = field.replicas, np.fmax(shortfall(field, targets), 1.0)
            need = np.array([way.memory.total for way in field.ways])[field.way]
            holds = need <= field.cards.usable_bytes[field.card]  # copies exchange gradients, which takes more
            better = holds & ((overdue < late) | ((overdue == late) & (replicas_now < least)))
            best, least = np.where(better, field.way, best), np.where(better, replicas_now, least)
            late = np.where(better, overdue, late)
        return field if (best == field.way).all() else self._search.timed(field.card, best, field.fits)

    def _replicas(self, field: Field, index: int, short: float, fewest: int) -> int:
        """How many replicas a training job takes that is ``short`` times too slow: spread evenly, within the limits."""
        per_node = int(field.cards.per_node[field.card[index]])
        wanted = math.ceil(field.ways[int(field.way[index])].split.data * short - 1e-9)
        return max(min(_whole_machines(max(wanted, fewest), per_node), self._most(per_node)), fewest)

    def _lateness(self, field: Field) -> NDArray[np.float64]:
        """How many times too late the answers of each plan come, by the goal it misses most; 0 where there is none."""
        late = np.zeros(len(field))
        for name, limit in (("token_ms", self._targets.token_ms), ("ttft_ms", self._targets.ttft_ms)):
            if limit is not None and name in field.speeds.figures:
                late = np.fmax(late, field.speeds.figures[name] / limit)
        return late

    def _sooner(self, field: Field, late: NDArray[np.float64]) -> NDArray[np.int64]:
        """The ways on twice the cards that bring late answers soonest: more replicas with fewer requests each, or more
        shards. Where both are in time, replicas, which exchange nothing.
        """
        best, least = np.array(field.way), np.array(late)
        rows = np.flatnonzero(field.fits & (late > 1))
        for step in (self._spread, self._sharded):
            ways = np.array(field.way)
            for index in rows:
                grown = step(field, int(index))
                if grown is not None:
                    ways[index] = self._search.way(*grown)
            tried = rows[ways[rows] != field.way[rows]]
            if not len(tried):
                continue
            times = self._lateness(self._search.timed(field.card[tried], ways[tried], field.fits[tried]))
            times = np.maximum(times, 1)  # in time is soon enough
            sooner = times < least[tried]
            best[tried[sooner]], least[tried[sooner]] = ways[tried[sooner]], times[sooner]
        return best

    def _spread(self, field: Field, index: int) -> tuple[Setup, Split] | None:
        """The same requests over twice the replicas."""
        setup, split = (way := field.ways[int(field.way[index])]).setup, way.split
        if setup.trains or setup.requests_per_replica(split.data) <= 1:
            return None
        return self._within(field, index, setup, replace(split, data=split.data * 2))

    def _sharded(self, field: Field, index: int) -> tuple[Setup, Split] | None:
        """The same replicas, each over twice the cards."""
        setup, split = (way := field.ways[int(field.way[index])]).setup, way.split
        shape, tensor = self._work.shape, split.tensor * 2
        per_node = int(field.cards.per_node[field.card[index]])
        if setup.trains or shape.kind not in TOKEN_KINDS or tensor > min(SHARDS[-1], per_node) or shape.heads % tensor:
            return None
        return self._within(field, index, setup, replace(split, tensor=tensor))

    def _more(self, field: Field, index: int, short: float) -> tuple[Setup, Split] | None:
        """More replicas for load; None where the limits leave no room.

        A replica added for load serves as many requests at once as the others: spread over more replicas, the same
        requests would come no faster.
        """
        setup, split = (way := field.ways[int(field.way[index])]).setup, way.split
        if setup.trains:
            grown = replace(split, data=self._replicas(field, index, short, split.data))
        else:
            grown = replace(split, data=math.ceil(split.data * short - 1e-9))
            setup = replace(setup, concurrency=setup.requests_per_replica(split.data) * grown.data)
        return None if grown == split else self._within(field, index, setup, grown)

    def _within(self, field: Field, index: int, setup: Setup, split: Split) -> tuple[Setup, Split] | None:
        """The way, where the limits leave room for it."""
        per_node = int(field.cards.per_node[field.card[index]])
        return None if split.cards > self._most(per_node) else (setup, split)

    def _most(self, per_node: int) -> int:
        return min(per_node * self._options.max_nodes, self._options.max_count)


def shortfall(field: Field, targets: Targets) -> NDArray[np.float64]:
    """How many times too slow each plan is for the load or the time to train; 0 where that is not known."""
    short = np.zeros(len(field))
    figures = field.speeds.figures
    with np.errstate(all="ignore"):
        for name, wanted in (("requests_per_s", targets.requests_per_s), ("frames_per_s", targets.frames_per_s)):
            if wanted is not None and name in figures:
                short = np.fmax(short, wanted / figures[name])
        hours = targets.train_hours
        if hours is not None and "train_hours" in figures:
            short = np.fmax(short, figures["train_hours"] / hours)
    return np.where(np.isfinite(short), short, 0.0)


def _whole_machines(cards: int, per_node: int) -> int:
    """As many cards or a few more, spread evenly over links: a power of two within a machine, or whole machines."""
    if cards > per_node:
        return math.ceil(cards / per_node) * per_node
    return min(1 << (cards - 1).bit_length(), per_node)
