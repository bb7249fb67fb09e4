"""Plans spread further where the load, the latency or the time to train asks for it, as far as the limits allow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.plans.batches import filled
from whygpu.plans.search import SHARDS, Search

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.work import Work

_ROUNDS = 4


class Growth:
    """Spreads plans further where the load, the latency or the time to train asks for it, as far as the limits allow.

    Where nobody gave the micro-batch, each spread of a training job is filled with the one that suits it. That makes it
    faster, so a job may then do with fewer replicas again, though never fewer than hold it.
    """

    def __init__(self, work: Work, search: Search, options: Options, targets: Targets) -> None:
        self._work, self._search, self._options, self._targets = work, search, options, targets
        self._steps: dict[tuple[str, int, int], int] = {}
        """By what is done, the number of a way and the kind of machines: the way it leads to, -1 where to none."""

    def run(self, plan_set: PlanSet) -> PlanSet:
        """The same plans, grown where that helps; and beside them those grown further, where only habit asks for it."""
        if self._options.count is not None or (self._options.fixed.replicas is not None and self._work.setup.trains):
            return plan_set
        plan_set = self._met(plan_set, self._targets)
        tried, added = [plan_set.configuration], [np.arange(len(plan_set))]
        for hours in self._targets.paces:
            if self._targets.train_hours is None or hours < self._targets.train_hours:
                grown = self._met(plan_set, replace(self._targets, train_hours=hours)).configuration
                added.append(np.flatnonzero(np.all(grown != np.stack(tried), axis=0)))
                tried.append(grown)
        rows = np.concatenate(added)
        if len(rows) == len(plan_set):
            return plan_set
        ways = np.concatenate([way[new] for way, new in zip(tried, added, strict=True)])
        return self._search.timed(plan_set.card[rows], ways, plan_set.fits[rows])

    def _met(self, plan_set: PlanSet, targets: Targets) -> PlanSet:
        """The same plans, spread as the targets ask."""
        return self._grown(plan_set, targets) if self._options.samples is None else self._refilled(plan_set, targets)

    def _grown(self, plan_set: PlanSet, targets: Targets) -> PlanSet:
        """The same plans on more accelerators."""
        doubled, grown = np.zeros(len(plan_set), dtype=np.bool_), plan_set
        for _ in range(_ROUNDS):
            late, short = self._lateness(grown), self._short(grown, targets)
            sooner = self._sooner(grown, late)
            doubled |= sooner.configuration != grown.configuration
            changed = np.array(sooner.configuration)
            for index in np.flatnonzero(grown.fits & (late <= 1) & (short > 1)).tolist():
                more = self._more(grown, index, float(short[index]))
                if more is not None:
                    changed[index] = more
            rows = np.flatnonzero(changed != sooner.configuration)
            if not rows.size and sooner is grown:
                break
            timed = self._search.timed(grown.card[rows], changed[rows], grown.fits[rows]) if rows.size else sooner
            if self._options.shared:
                timed = self._shared(grown, rows, timed, targets)
            grown = self._search.taken(sooner, rows, timed, np.arange(rows.size))
        return self._trimmed(grown, targets, doubled)

    def _shared(self, plan_set: PlanSet, rows: NDArray[np.int64], timed: PlanSet, targets: Targets) -> PlanSet:
        """The plans with more replicas for load, with as few requests in flight beyond those before as reach it: where
        each replica has fewer, its steps are shorter.
        """
        if not rows.size or self._work.setup.trains:
            return timed
        before, most = (
            np.array([each.configurations[number].setup.concurrency for number in each.configuration[places].tolist()])
            for each, places in ((plan_set, rows), (timed, np.arange(rows.size)))
        )
        least, middle, best = before - 1, before, timed
        for _ in range(_ROUNDS + 1):
            places = np.flatnonzero((middle > least) & (middle < most))
            if not places.size:
                break
            tried = zip(timed.configuration[places].tolist(), middle[places].tolist(), strict=True)
            configurations = np.array([self._with_requests(*way) for way in tried])
            fewer = self._search.timed(plan_set.card[rows[places]], configurations, plan_set.fits[rows[places]])
            done = self._in_time(fewer, targets)
            most[places[done]], least[places[~done]] = middle[places][done], middle[places][~done]
            best = self._search.taken(best, places[done], fewer, np.flatnonzero(done))
            middle = (least + most) // 2
        return best

    def _with_requests(self, number: int, concurrency: int) -> int:
        """The number of the same way with so many requests in flight."""
        configuration = self._search.configurations[number]
        setup = self._search.changed(configuration.setup, concurrency=concurrency)
        return self._search.configure(setup, configuration.layout)

    def _trimmed(self, plan_set: PlanSet, targets: Targets, doubled: NDArray[np.bool_]) -> PlanSet:
        """The plans with as few of the replicas that doubling added as come in time: a little more load takes a little
        more hardware.
        """
        most, in_time = plan_set.replicas, self._in_time(plan_set, targets)
        least, best = most // 2, plan_set  # half was too late
        for _ in range(_ROUNDS + 1):
            rows = np.flatnonzero(doubled & plan_set.fits & in_time & (most - least > 1))
            if not len(rows):
                break
            middle = (least + most)[rows] // 2
            tried = zip(plan_set.configuration[rows].tolist(), middle.tolist(), strict=True)
            configurations = np.array([self._search.with_replicas(*way) for way in tried])
            timed = self._search.timed(plan_set.card[rows], configurations, plan_set.fits[rows])
            done = self._in_time(timed, targets) & self._rentable(timed)
            most[rows[done]], least[rows[~done]] = middle[done], middle[~done]
            best = self._search.taken(best, rows[done], timed, np.flatnonzero(done))
        return best

    def _in_time(self, plan_set: PlanSet, targets: Targets) -> NDArray[np.bool_]:
        """Which plans meet the latency and the load that they are grown for."""
        return (self._lateness(plan_set) <= 1) & (self._short(plan_set, targets) <= 1)

    def _short(self, plan_set: PlanSet, targets: Targets) -> NDArray[np.float64]:
        """How many times too slow each plan is without the replicas that it has to spare."""
        short, spare = shortfall(plan_set, targets), self._options.replicas - 1
        if self._work.setup.trains or spare < 1:
            return short
        replicas = plan_set.replicas
        return short * replicas / np.maximum(replicas - spare, 1)

    def _refilled(self, plan_set: PlanSet, targets: Targets) -> PlanSet:
        """The filled plans on as many accelerators as it takes: of the spreads tried the smallest in time, or else the
        one nearest to it.
        """
        fewest = least = plan_set.replicas
        best, late = plan_set, np.fmax(shortfall(plan_set, targets), 1.0)
        for _ in range(_ROUNDS):
            short = shortfall(plan_set, targets)
            changed = np.array(plan_set.configuration)
            for index in np.flatnonzero(plan_set.fits & (short > 0)):
                configuration = plan_set.configurations[int(plan_set.configuration[index])]
                replicas = self._replicas(plan_set, int(index), float(short[index]), int(fewest[index]))
                if replicas != configuration.layout.data:
                    layout = configuration.layout.over(replicas)
                    number = self._search.micro_batches(layout)[-1]
                    one = self._search.changed(configuration.setup, batch_size=1, gradient_accumulation=number)
                    changed[index] = self._search.configure(one, layout)
            moved = changed != plan_set.configuration
            if not moved.any():
                break
            options = self._options
            plan_set = filled(self._search, plan_set.card, changed, plan_set.fits, options, moved, options.shardings)
            replicas_now, overdue = plan_set.replicas, np.fmax(shortfall(plan_set, targets), 1.0)
            numbers = plan_set.configuration.tolist()
            needs = {number: plan_set.configurations[number].memory.total for number in set(numbers)}
            need = np.array([needs[number] for number in numbers])
            holds = need <= plan_set.cards.usable_bytes[plan_set.card]  # copies exchange gradients, which takes more
            better = holds & ((overdue < late) | ((overdue == late) & (replicas_now < least)))
            rows = np.flatnonzero(better)
            best = self._search.taken(best, rows, plan_set, rows)
            least, late = np.where(better, replicas_now, least), np.where(better, overdue, late)
        return best

    def _replicas(self, plan_set: PlanSet, index: int, short: float, fewest: int) -> int:
        """How many replicas a training job takes that is ``short`` times too slow: spread evenly, within the limits."""
        per_node = int(plan_set.cards.per_node[plan_set.card[index]])
        configuration = plan_set.configurations[int(plan_set.configuration[index])]
        each = configuration.layout.cards // configuration.layout.data
        wanted = max(math.ceil(configuration.layout.data * short - 1e-9), fewest)
        most = self._most(per_node) // each
        if self._options.samples is not None:  # beyond a sample for each replica more of them have nothing to do
            most = min(most, self._options.samples // self._search.micro_batches(configuration.layout)[0])
        found = max(min(_whole_machines(wanted * each, per_node) // each, most), fewest)
        slices = plan_set.cards.slices_at(int(plan_set.card[index]))
        return found if slices is None else slices.replicas(configuration.layout.over(found), trains=True)

    def _rentable(self, plan_set: PlanSet) -> Mask:
        """Which plans take counts that their accelerators are rented in."""
        trains, cards = self._work.setup.trains, plan_set.cards
        layouts = [each.layout for each in plan_set.configurations]
        whole = [
            (slices := cards.slices_at(row)) is None or slices.rentable(layouts[number], trains)
            for row, number in zip(plan_set.card.tolist(), plan_set.configuration.tolist(), strict=True)
        ]
        return np.array(whole, dtype=np.bool_)

    def _lateness(self, plan_set: PlanSet) -> NDArray[np.float64]:
        """How many times too late the answers of each plan come, by the goal it misses most; 0 where there is none."""
        late = np.zeros(len(plan_set))
        for name, limit in (("token_ms", self._targets.token_ms), ("ttft_ms", self._targets.ttft_ms)):
            if limit is not None and name in plan_set.speeds.figures:
                late = np.fmax(late, plan_set.speeds.figures[name] / limit)
        return late

    def _sooner(self, plan_set: PlanSet, late: NDArray[np.float64]) -> PlanSet:
        """The plans with late answers on twice the cards, in the way that brings these soonest: more replicas with
        fewer requests each, or more shards. Where both are in time, replicas, which exchange nothing.
        """
        rows = np.flatnonzero(plan_set.fits & (late > 1))
        ways = [self._stepped(step, plan_set, rows) for step in (self._spread, self._sharded)]
        leads = np.concatenate(ways) >= 0  # both are timed at once, which takes half as long
        tried, configurations = np.concatenate([rows, rows])[leads], np.concatenate(ways)[leads]
        if not len(tried):
            return plan_set
        timed = self._search.timed(plan_set.card[tried], configurations, plan_set.fits[tried])
        times = np.maximum(self._lateness(timed), 1)  # in time is soon enough
        first = np.lexsort((np.arange(len(tried)), times, tried))
        best = first[np.flatnonzero(np.diff(tried[first], prepend=-1))]  # of each plan the soonest, replicas first
        best = best[times[best] < late[tried[best]]]
        return self._search.taken(plan_set, tried[best], timed, best)

    def _stepped(
        self,
        step: Callable[[PlanSet, int], tuple[Setup, ParallelLayout] | None],
        plan_set: PlanSet,
        rows: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The numbers of the ways that a step leads these plans to, -1 where to none; one for all that run alike on
        machines as large.
        """
        numbers, machine = plan_set.configuration[rows], plan_set.cards.machine[plan_set.card[rows]]
        alike = numbers * (machine.max(initial=0) + 1) + machine
        _, first, place = np.unique(alike, return_index=True, return_inverse=True)
        led = np.empty(len(first), dtype=np.int64)
        for at, row in enumerate(first.tolist()):
            key = (step.__name__, int(numbers[row]), int(machine[row]))
            if key not in self._steps:
                grown = step(plan_set, int(rows[row]))
                self._steps[key] = -1 if grown is None else self._search.configure(*grown)
            led[at] = self._steps[key]
        return led[place]

    def _spread(self, plan_set: PlanSet, index: int) -> tuple[Setup, ParallelLayout] | None:
        """The same requests over twice the replicas."""
        setup, layout = (
            (configuration := plan_set.configurations[int(plan_set.configuration[index])]).setup,
            configuration.layout,
        )
        if setup.trains or setup.requests_per_replica(layout.data) <= 1:
            return None
        slices, wider = plan_set.cards.slices_at(int(plan_set.card[index])), layout.over(layout.data * 2)
        if slices is not None:
            wider = wider.over(slices.replicas(wider, setup.trains))
        return self._within(plan_set, index, setup, wider)

    def _sharded(self, plan_set: PlanSet, index: int) -> tuple[Setup, ParallelLayout] | None:
        """The same replicas, each over twice the cards."""
        setup, layout = (
            (configuration := plan_set.configurations[int(plan_set.configuration[index])]).setup,
            configuration.layout,
        )
        shape, tensor = self._work.shape, layout.tensor * 2
        per_node = int(plan_set.cards.per_node[plan_set.card[index]])
        if setup.trains or shape.kind not in TOKEN_KINDS or tensor > min(SHARDS[-1], per_node) or shape.heads % tensor:
            return None
        wider = replace(layout, tensor=tensor)
        slices = plan_set.cards.slices_at(int(plan_set.card[index]))
        if slices is not None:
            wider = wider.over(slices.replicas(wider, setup.trains))
        return self._within(plan_set, index, setup, wider)

    def _more(self, plan_set: PlanSet, index: int, short: float) -> int | None:
        """The number of the way with more replicas for load; None where the limits leave no room."""
        number = int(plan_set.configuration[index])
        setup, layout = plan_set.configurations[number].setup, plan_set.configurations[number].layout
        if setup.trains:
            data = self._replicas(plan_set, index, short, layout.data)
        else:
            data = math.ceil(layout.data * short - 1e-9)
            slices = plan_set.cards.slices_at(int(plan_set.card[index]))
            data = data if slices is None else slices.replicas(layout.over(data), trains=False)
        if data == layout.data:
            return None
        key = (str(data), number, int(plan_set.cards.machine[plan_set.card[index]]))
        if key not in self._steps:
            more = self._replicated(plan_set, index, data)
            self._steps[key] = -1 if more is None else self._search.configure(*more)
        return None if self._steps[key] < 0 else self._steps[key]

    def _replicated(self, plan_set: PlanSet, index: int, data: int) -> tuple[Setup, ParallelLayout] | None:
        """So many replicas, where the limits leave room: one added for load serves as many requests at once as the
        others, for spread over more replicas the same requests would come no faster.
        """
        configuration = plan_set.configurations[int(plan_set.configuration[index])]
        setup, layout = configuration.setup, configuration.layout
        if not setup.trains:
            setup = self._search.changed(setup, concurrency=setup.requests_per_replica(layout.data) * data)
        return self._within(plan_set, index, setup, layout.over(data))

    def _within(
        self, plan_set: PlanSet, index: int, setup: Setup, layout: ParallelLayout
    ) -> tuple[Setup, ParallelLayout] | None:
        """The way, where the limits leave room for it."""
        per_node = int(plan_set.cards.per_node[plan_set.card[index]])
        beyond = layout.cards > self._most(per_node) or not self._options.fixed.allows(layout)
        return None if beyond else (setup, layout)

    def _most(self, per_node: int) -> int:
        return min(per_node * self._options.max_nodes, self._options.max_count)


def shortfall(plan_set: PlanSet, targets: Targets) -> NDArray[np.float64]:
    """How many times too slow each plan is for the load or the time to train; 0 where that is not known."""
    short = np.zeros(len(plan_set))
    figures = plan_set.speeds.figures
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
