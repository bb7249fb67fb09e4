"""Plans spread further where the load, the latency or the time to train asks for it, as far as the limits allow."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.plans.batches import Filler
from whygpu.plans.capacity import MOST_DOUBLINGS
from whygpu.plans.plan_set import most_cards
from whygpu.plans.search import SHARDS, Search
from whygpu.plans.waiting import one_at_a_time, times_too_few
from whygpu.plans.ways import cards_of_way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.work import Work

_ROUNDS = 4
_NEARER = 0.01
"""By how much a way must come nearer to its goal to be taken for that."""
_WORTH = 2.0
"""How many times too late the tokens of a service come at most where more cards are tried."""
_FULL = 2 * MOST_DOUBLINGS
"""How often requests in flight are doubled at most to fill a plan: as far as what full plans do is looked at."""
_AT_ONCE = 7
"""Numbers of replicas or requests that are tried at once."""


class Growth:
    """Spreads plans further where the load, the latency or the time to train asks for it, as far as the limits allow.

    Where nobody gave the micro-batch, each spread of a training job is filled with the one that suits it. That makes it
    faster, so a job may then do with fewer replicas again, though never fewer than hold it.
    """

    def __init__(
        self, work: Work, search: Search, options: Options, targets: Targets, filler: Filler | None = None
    ) -> None:
        """``filler``: with what another one filled already."""
        self._work, self._search, self._options, self._targets = work, search, options, targets
        self._filler = filler or Filler(search, options)
        self._replicated: dict[tuple[int, int, int], int] = {}
        """By replicas, the number of a way and the kind of room: the way with so many, itself where there is none."""
        machine = search.cards.machine
        self._most = most_cards(search.cards, options, options.max_count)
        self._room: NDArray[np.int64] = machine * (self._most.max(initial=0) + 1) + self._most
        """One number for all with machines as large that are rented alike, of which the limits leave as many."""

    def run(self, plan_set: PlanSet) -> PlanSet:
        """The same plans, grown where that helps; and beside them those grown further, where only habit asks for it."""
        if self._options.count is not None:
            fills = self._options.shared and not is_job(self._work, self._options)
            return self._fuller(plan_set, self._targets) if fills else plan_set
        if self._options.fixed.replicas is not None and self._work.setup.trains:
            return plan_set
        plan_set = self._met(plan_set, self._targets)
        tried, added = [plan_set.configuration], [plan_set]
        inside = Growth(self._work, self._search, replace(self._options, max_nodes=1), self._targets, self._filler)
        paces = ((self, self._targets.paces), (inside, self._targets.paces_of_one_machine))
        for growth, hours in ((growth, hours) for growth, several in paces for hours in several):
            if self._targets.train_hours is None or hours < self._targets.train_hours:
                grown = growth._met(plan_set, replace(self._targets, train_hours=hours))
                added.append(grown.take(np.flatnonzero(np.all(grown.configuration != np.stack(tried), axis=0))))
                tried.append(grown.configuration)
        added += self._quicker(plan_set)
        added += self._calmer(plan_set)
        plan_set = self._search.together(*added)
        return self._evened(plan_set)

    def _quicker(self, plan_set: PlanSet) -> Iterator[PlanSet]:
        """The plans of a service whose tokens come later than usual, on as many cards of one machine as bring them in
        time.
        """
        if self._work.setup.trains:
            return
        inside = replace(self._options, max_nodes=1)
        for pace in self._targets.token_paces:
            targets = replace(self._targets, token_ms=pace)
            growth = Growth(self._work, self._search, inside, targets)
            late = growth._lateness(plan_set)
            grown = growth._met(plan_set.take(np.flatnonzero(plan_set.fits & (late > 1) & (late <= _WORTH))), targets)
            yield grown.take(np.flatnonzero(growth._in_time(grown, targets)))

    def _calmer(self, plan_set: PlanSet) -> Iterator[PlanSet]:
        """The plans of a service that would be busier than any is kept, with as many more replicas as it takes. Where
        requests share the steps of a decoder, as many are in flight as the rate takes: such plans are all as busy.
        """
        share = self._targets.busiest_share
        shares = self._options.shared and self._work.shape.kind in TOKEN_KINDS
        if share >= 1 or shares or is_job(self._work, self._options):
            return
        wanted = (self._targets.requests_per_s, self._targets.frames_per_s)
        rates = [None if rate is None else rate / share for rate in wanted]
        calm = replace(self._targets, requests_per_s=rates[0], frames_per_s=rates[1])
        busy = plan_set.fits & self._in_time(plan_set, self._targets) & (self._short(plan_set, calm) > 1)
        grown = self._grown(plan_set.take(np.flatnonzero(busy)), calm)
        yield grown.take(np.flatnonzero(self._in_time(grown, calm)))

    def _evened(self, plan_set: PlanSet) -> PlanSet:
        """The same plans; and beside those that leave cards idle which are paid for, or that train on cards which fill
        no machine evenly, the same over as many as do: a job with more at once, a service with fewer requests to each.
        """
        job = is_job(self._work, self._options)
        if not job and self._options.machines.rented_for is not None:
            return plan_set  # a service that is rented takes no more cards for being paid for (see enumerate)
        rows: list[int] = []
        ways: list[int] = []
        for index in np.flatnonzero(plan_set.fits).tolist():
            card, number = int(plan_set.card[index]), int(plan_set.configuration[index])
            setup, layout = plan_set.configurations[number].setup, plan_set.configurations[number].layout
            for even in self._even(layout, card):
                if even.data == layout.data or not (job or even.data <= setup.concurrency):
                    continue
                loaded = setup
                if self._options.fills:
                    loaded = self._search.changed(setup, batch_size=self._search.least_batch)
                elif job and not setup.trains and self._work.shape.kind in TOKEN_KINDS:
                    loaded = self._search.changed(setup, concurrency=setup.concurrency * even.data // layout.data)
                wider = self._within(loaded, even, card)
                if wider is not None and self._busy(wider[1]):
                    rows.append(index)
                    ways.append(self._search.configure(*wider))
        if not rows:
            return plan_set
        on, numbers, fits = plan_set.card[rows], np.array(ways, dtype=np.int64), plan_set.fits[rows]
        more = self._timed(on, numbers, fits)
        if self._options.shared and not job:
            more = self._fuller(more, self._targets)
        held = np.array([more.configurations[way].need.total for way in more.configuration.tolist()])
        enough = self._short(more, self._targets) <= np.maximum(self._short(plan_set, self._targets)[rows], 1)
        more = more.take(np.flatnonzero((held <= more.cards.usable_bytes[more.card]) & enough))
        return self._search.together(plan_set, more)

    def _even(self, layout: ParallelLayout, card: int) -> Iterator[ParallelLayout]:
        """The layout over as many cards or more: in training spread evenly over links; and over all of the machines or
        boards paid for, those of a service also with narrower shards, which need not wait for each other.
        """
        group = layout.cards // layout.data
        counts = self._even_counts(layout, card)
        yield from (layout.over(cards // group) for cards in counts)
        if not is_job(self._work, self._options) and layout.cache_split == "heads" and max(counts) > layout.cards:
            narrower = [width for width in SHARDS if width < layout.tensor]
            yield from (layout.across(width).over(max(counts) // (width * layout.pipeline)) for width in narrower)

    def _even_counts(self, layout: ParallelLayout, card: int) -> set[int]:
        """The numbers of cards of ``_even``."""
        per_node, accelerator = int(self._search.cards.per_node[card]), self._search.cards.accelerators[card]
        rented_for, trains = self._options.machines.rented_for, self._work.setup.trains
        even = _whole_machines(layout.cards, per_node) if trains else layout.cards
        if rented_for is None:
            board = int(accelerator.number("sold_by") or 1)
            return {even, -(-even // board) * board}
        group = even if trains else layout.cards // layout.data
        return {even, rented_for(accelerator.id, group, even // group, per_node)}

    def _busy(self, layout: ParallelLayout) -> bool:
        """Whether each replica has a sample of a step, where a step has so many at most."""
        samples = self._options.samples
        return samples is None or layout.data * self._search.micro_batches(layout)[0] <= samples

    def _timed(self, card: NDArray[np.int64], configuration: NDArray[np.int64], fits: Mask) -> PlanSet:
        """The plans with their speeds; those of a training job sharded and recomputed as suits their replicas: copies
        exchange gradients, which takes room, and shards of the state leave some.
        """
        if not self._work.setup.trains:
            return self._search.timed(card, configuration, fits)
        return self._filler.filled(card, configuration, fits)

    def _met(self, plan_set: PlanSet, targets: Targets) -> PlanSet:
        """The same plans, spread as the targets ask."""
        return self._grown(plan_set, targets) if self._options.samples is None else self._refilled(plan_set, targets)

    def _grown(self, plan_set: PlanSet, targets: Targets) -> PlanSet:
        """The same plans on more accelerators."""
        grown = self._sooner(plan_set)
        spread = grown.configuration != plan_set.configuration
        if self._options.shared and not self._work.setup.trains:
            grown = self._fuller(grown, targets)
        for _ in range(_ROUNDS):
            short = self._short(grown, targets)
            rows = np.flatnonzero(grown.fits & (self._lateness(grown) <= 1) & (short > 1))
            more = self._more(grown, rows, short[rows])
            changed = more != grown.configuration[rows]
            rows, more = rows[changed], more[changed]
            if not rows.size:
                break
            timed = self._timed(grown.card[rows], more, grown.fits[rows])
            if self._options.shared:
                timed = self._shared(timed, targets)
            grown = self._search.taken(grown, rows, timed, np.arange(rows.size))
        if self._options.shared and not self._work.setup.trains:  # those that the limits let grow no further
            grown = self._fuller(grown, targets)
        return self._relieved(self._trimmed(grown, targets, spread), targets, spread)

    def _shared(self, timed: PlanSet, targets: Targets) -> PlanSet:
        """The plans with more replicas for load, with as few requests in flight beyond those asked for as reach it:
        where each replica has fewer, its steps are shorter.
        """
        if self._work.setup.trains:
            return timed
        least = np.maximum(timed.replicas, self._work.setup.concurrency)
        most = timed.in_flight
        return self._fewest(timed, np.minimum(least, most) - 1, most, targets, requests=True)

    def _relieved(self, plan_set: PlanSet, targets: Targets, spread: NDArray[np.bool_]) -> PlanSet:
        """The plans that were spread for late answers, with no more requests in flight than the rate takes on as many
        cards, where they have more than were asked for.
        """
        if not self._options.shared or self._work.setup.trains:
            return plan_set
        short = self._short(plan_set, targets)
        rows = np.flatnonzero(spread & plan_set.fits & (short > 0) & (short <= 1))
        rows = rows[plan_set.in_flight[rows] > self._work.setup.concurrency]
        if not rows.size:
            return plan_set
        return self._search.taken(plan_set, rows, self._shared(plan_set.take(rows), targets), np.arange(rows.size))

    def _fuller(self, plan_set: PlanSet, targets: Targets) -> PlanSet:
        """The plans that are too slow for the rate with more requests in flight than were answered or assumed, as many
        as their cards hold and answer in time: with as few as reach the rate, or else come nearest to it.

        Requests in flight are the rate times how long each takes (Little's law), which is longer the more there are:
        the fewest that reach the rate are those that it brings.
        """
        short = self._short(plan_set, targets)
        rows = np.flatnonzero(plan_set.fits & (self._lateness(plan_set) <= 1) & (short > 1))
        before, most = plan_set.in_flight[rows], self._most_held(plan_set, rows)
        rows, before, most = (each[most > before] for each in (rows, before, most))
        if not rows.size:
            return plan_set
        plans = plan_set.take(rows)
        if self._targets.token_ms is not None or self._targets.ttft_ms is not None:
            late = self._first(plans, before, most + 1, lambda timed: self._lateness(timed) > 1)
            most = late - 1
        fullest = self._search.timed(plans.card, plans.configuration, plans.fits, most)
        reach = np.flatnonzero((most > before) & (self._short(fullest, targets) <= 1))
        near = np.flatnonzero((most > before) & (self._short(fullest, targets) > 1))
        fewest = self._first(
            plans.take(reach), before[reach], most[reach], lambda timed: self._short(timed, targets) <= 1
        )
        steps = before[near] << np.arange(_FULL)[:, np.newaxis]
        place, of = np.nonzero(steps < most[near])
        tried = np.concatenate([reach, near[of]])
        numbers = np.concatenate([fewest, np.minimum(2 * steps[place, of], most[near][of])])
        if not tried.size:
            return plan_set
        timed = self._search.timed(plans.card[tried], plans.configuration[tried], plans.fits[tried], numbers)
        best = _nearest(np.maximum(self._short(timed, targets), 1), tried, short[rows])
        chosen = tried[best]  # only what is taken needs a setup of its own
        ways = _of_pairs(self._with_requests, plans.configuration[chosen], numbers[best])
        timed = self._search.timed(plans.card[chosen], ways, plans.fits[chosen])
        return self._search.taken(plan_set, rows[chosen], timed, np.arange(chosen.size))

    def _most_held(self, plan_set: PlanSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most requests in flight whose likely need the cards of each of these plans hold, up to some doublings of
        those that it has.
        """
        room = plan_set.cards.usable_bytes[plan_set.card[rows]].tolist()
        ways = list(zip(plan_set.configuration[rows].tolist(), room, strict=True))
        most = {way: self._held(*way) for way in dict.fromkeys(ways)}
        return np.array([most[way] for way in ways], dtype=np.int64)

    def _held(self, number: int, usable: float) -> int:
        """The most requests in flight that so many bytes hold, run in the way of this number: memory grows evenly with
        those of each replica, so that it lies where a line between two needs says.
        """
        way = self._search.configurations[number]
        replicas = way.layout.data
        least = way.setup.requests_per_replica(replicas)
        most = least << _FULL
        low, high = way.need.total, self._search.need(way.setup, way.layout, most).total
        if high <= usable:
            return most * replicas
        for _ in range(_ROUNDS):
            if usable - low < (high - low) / (most - least):  # less than one more takes
                break
            between = least + int((most - least) * (usable - low) / (high - low))
            between = min(max(between, least + 1), most - 1)
            if (needed := self._search.need(way.setup, way.layout, between).total) <= usable:
                least, low = between, needed
            else:
                most, high = between, needed
        return least * replicas

    def _first(
        self,
        plan_set: PlanSet,
        least: NDArray[np.int64],
        most: NDArray[np.int64],
        holds: Callable[[PlanSet], NDArray[np.bool_]],
    ) -> NDArray[np.int64]:
        """The fewest requests in flight beyond ``least`` of which something holds, as it then does of more; ``most``
        where it holds of none below. Several are timed at once, which takes as long as one.
        """
        for _ in range(_ROUNDS):
            numbers = _between(least, most)
            place, rows = np.nonzero(numbers > least)
            if not rows.size:
                break
            done = np.zeros_like(numbers, dtype=np.bool_)
            ways = plan_set.card[rows], plan_set.configuration[rows], plan_set.fits[rows]
            done[place, rows] = holds(self._search.timed(*ways, numbers[place, rows]))
            most = np.where(done, numbers, most).min(axis=0)
            least = np.where(numbers < most, numbers, least).max(axis=0)
        return most

    def _with_requests(self, number: int, concurrency: int) -> int:
        """The number of the same way with so many requests in flight."""
        configuration = self._search.configurations[number]
        setup = self._search.changed(configuration.setup, concurrency=concurrency)
        return self._search.configure(setup, configuration.layout)

    def _trimmed(self, plan_set: PlanSet, targets: Targets, spread: NDArray[np.bool_]) -> PlanSet:
        """The plans with as few of the replicas that doubling added as come in time: a little more load takes a little
        more hardware.
        """
        most = plan_set.replicas
        trims = spread & plan_set.fits & self._in_time(plan_set, targets)
        least = np.where(trims, most // 2, most)  # half was too late
        return self._fewest(plan_set, least, most, targets)

    def _fewest(
        self,
        plan_set: PlanSet,
        least: NDArray[np.int64],
        most: NDArray[np.int64],
        targets: Targets,
        *,
        requests: bool = False,
    ) -> PlanSet:
        """The plans with as few replicas, or requests in flight, as come in time, of which they have ``most`` and
        ``least`` is too few. Several are timed at once, which takes as long as one.
        """
        best, taken = plan_set, np.zeros(len(plan_set), dtype=np.int64)
        for _ in range(_ROUNDS):
            numbers = _between(least, most)
            tries = np.diff(numbers, axis=0, prepend=least[np.newaxis]) > 0
            if not tries.any():
                break
            place, rows = np.nonzero(tries)
            card, ways, fits, tried = (
                plan_set.card[rows],
                plan_set.configuration[rows],
                plan_set.fits[rows],
                numbers[tries],
            )
            done = np.zeros_like(tries)
            if requests:
                timed = self._search.timed(card, ways, fits, tried)
                done[place, rows] = self._in_time(timed, targets)
            else:
                timed = self._search.timed(card, _of_pairs(self._search.with_replicas, ways, tried), fits)
                done[place, rows] = self._in_time(timed, targets) & self._rentable(timed)
            at = np.full(tries.shape, -1)
            at[place, rows] = np.arange(rows.size)
            found, first = np.flatnonzero(done.any(axis=0)), done.argmax(axis=0)
            places = at[first[found], found]
            taken[found] = tried[places]
            best = self._search.taken(best, found, timed, places)
            enough = np.where(done.any(axis=0), numbers[first, np.arange(most.size)], most)
            least = np.where(numbers < enough, numbers, least).max(axis=0)
            most = enough
        rows = np.flatnonzero(taken)
        if requests and rows.size:  # only what is taken needs a setup of its own
            configuration = np.array(best.configuration)
            configuration[rows] = _of_pairs(self._with_requests, configuration[rows], taken[rows])
            best = replace(best, configurations=self._search.configurations, configuration=configuration)
        return best

    def _in_time(self, plan_set: PlanSet, targets: Targets) -> NDArray[np.bool_]:
        """Which plans meet the latency and the load that they are grown for."""
        return (self._lateness(plan_set) <= 1) & (self._short(plan_set, targets) <= 1)

    def _short(self, plan_set: PlanSet, targets: Targets) -> NDArray[np.float64]:
        """How many times too slow each plan is without the replicas that it has to spare."""
        short, spare = shortfall(plan_set, targets), self._options.replicas - 1
        per_s, limit = targets.requests_per_s, targets.ttft_ms
        if one_at_a_time(self._work) and not is_job(self._work, self._options) and per_s and limit:
            waiting = times_too_few(plan_set, per_s, limit)
            short = np.where(waiting > 1, np.maximum(short, waiting), short)
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
                    size = self._search.least_batch
                    one = self._search.changed(configuration.setup, batch_size=size, gradient_accumulation=number)
                    changed[index] = self._search.configure(one, layout)
            moved = np.flatnonzero(changed != plan_set.configuration)
            if not moved.size:
                break
            timed = self._timed(plan_set.card[moved], changed[moved], plan_set.fits[moved])
            plan_set = self._search.taken(plan_set, moved, timed, np.arange(moved.size))
            replicas_now, overdue = plan_set.replicas, np.fmax(shortfall(plan_set, targets), 1.0)
            numbers = plan_set.configuration.tolist()
            needs = {number: plan_set.configurations[number].need.total for number in set(numbers)}
            need = np.array([needs[number] for number in numbers])
            holds = need <= plan_set.cards.usable_bytes[plan_set.card]  # copies exchange gradients, which takes more
            better = holds & ((overdue < late) | ((overdue == late) & (replicas_now < least)))
            rows = np.flatnonzero(better)
            best = self._search.taken(best, rows, plan_set, rows)
            least, late = np.where(better, replicas_now, least), np.where(better, overdue, late)
        return best

    def _replicas(self, plan_set: PlanSet, index: int, short: float, fewest: int) -> int:
        """How many replicas a training job takes that is ``short`` times too slow: spread evenly, within the limits."""
        card = int(plan_set.card[index])
        per_node = int(plan_set.cards.per_node[card])
        configuration = plan_set.configurations[int(plan_set.configuration[index])]
        each = configuration.layout.cards // configuration.layout.data
        wanted = max(math.ceil(configuration.layout.data * short - 1e-9), fewest)
        most = int(self._most[card]) // each
        if self._options.samples is not None:  # beyond a sample for each replica more of them have nothing to do
            most = min(most, self._options.samples // self._search.micro_batches(configuration.layout)[0])
        stride = configuration.layout.stride
        even = -(-(_whole_machines(wanted * each, per_node) // each) // stride) * stride
        found = max(min(even, most // stride * stride), fewest)
        slices = self._search.cards.slices_at(card)
        if slices is None:
            return found
        whole = slices.replicas(configuration.layout.over(found), trains=True)
        if whole <= most:
            return whole
        fewer = configuration.layout.over(max(slices.largest(most * each) // each, fewest))
        return fewer.data if slices.rentable(fewer, trains=True) else fewest

    def _rentable(self, plan_set: PlanSet) -> Mask:
        """Which plans take counts that their accelerators are rented in."""
        trains, cards = self._work.setup.trains, plan_set.cards
        whole = np.ones(len(plan_set), dtype=np.bool_)
        for row in np.flatnonzero(cards.sliced[plan_set.card]).tolist():
            slices = cards.slices_at(int(plan_set.card[row]))
            layout = plan_set.configurations[int(plan_set.configuration[row])].layout
            whole[row] = slices is None or slices.rentable(layout, trains)
        return whole

    def _lateness(self, plan_set: PlanSet) -> NDArray[np.float64]:
        """How many times too late the answers of each plan come, by the goal it misses most; 0 where there is none."""
        late = np.zeros(len(plan_set))
        for name, limit in (("token_ms", self._targets.token_ms), ("ttft_ms", self._targets.ttft_ms)):
            if limit is not None and name in plan_set.speeds.figures:
                late = np.fmax(late, plan_set.speeds.figures[name] / limit)
        return late

    def _sooner(self, plan_set: PlanSet) -> PlanSet:
        """The plans with late answers on the fewest cards that bring them in time, doubled up to four times: more
        replicas with fewer requests each, or more shards. Of ways on as many cards, that with more replicas, which
        exchange nothing; where none is in time, the soonest.
        """
        late = self._lateness(plan_set)
        rows = np.flatnonzero(plan_set.fits & (late > 1))
        ways = {(0, 0): plan_set.configuration[rows]}
        for doublings in range(1, _ROUNDS + 1):
            for shards in range(doublings + 1):
                replicas = doublings - shards
                step, before = (
                    (self._sharded, ways[replicas, shards - 1]) if shards else (self._spread, ways[replicas - 1, 0])
                )
                ways[replicas, shards] = self._stepped(step, before, plan_set.card[rows])
        numbers = np.stack(list(ways.values())[1:])
        leads = numbers >= 0
        tried, configurations = np.nonzero(leads)[1], numbers[leads]
        if not len(tried):
            return plan_set
        timed = self._search.timed(plan_set.card[rows[tried]], configurations, plan_set.fits[rows[tried]])
        best = _nearest(np.maximum(self._lateness(timed), 1), tried, late[rows])  # in time is soon enough
        return self._search.taken(plan_set, rows[tried[best]], timed, best)

    def _stepped(
        self,
        step: Callable[[int, int], tuple[Setup, ParallelLayout] | None],
        numbers: NDArray[np.int64],
        card: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The numbers of the ways that a step leads these ways to on these cards, -1 where to none; one for all that
        run alike and have the same room.
        """
        room = self._room[card]
        _, first, place = np.unique(numbers * (room.max(initial=0) + 1) + room, return_index=True, return_inverse=True)
        led = np.full(len(first), -1, dtype=np.int64)
        for at, (number, row) in enumerate(zip(numbers[first].tolist(), card[first].tolist(), strict=True)):
            grown = step(number, row) if number >= 0 else None
            if grown is not None:
                led[at] = self._search.configure(*grown)
        return led[place]

    def _spread(self, number: int, card: int) -> tuple[Setup, ParallelLayout] | None:
        """The same requests over twice the replicas."""
        configuration = self._search.configurations[number]
        setup, layout = configuration.setup, configuration.layout
        if setup.trains or setup.requests_per_replica(layout.data) <= 1:
            return None
        return self._within(setup, layout.over(layout.data * 2), card)

    def _sharded(self, number: int, card: int) -> tuple[Setup, ParallelLayout] | None:
        """The same replicas, each over twice the cards."""
        configuration = self._search.configurations[number]
        setup, layout = configuration.setup, configuration.layout
        shape, tensor, per_node = self._work.shape, layout.tensor * 2, int(self._search.cards.per_node[card])
        if setup.trains or shape.kind not in TOKEN_KINDS or tensor > min(SHARDS[-1], per_node) or shape.heads % tensor:
            return None
        return self._within(setup, layout.across(tensor), card)

    def _more(self, plan_set: PlanSet, rows: NDArray[np.int64], short: NDArray[np.float64]) -> NDArray[np.int64]:
        """The numbers of the ways with more replicas for load, ``short``: how many times too slow each of these plans
        is; of those that the limits leave no room for the ways that they run in.
        """
        found = plan_set.configuration[rows]
        keys = zip(
            self._wanted(plan_set, rows, short), found.tolist(), self._room[plan_set.card[rows]].tolist(), strict=True
        )
        for place, (row, key) in enumerate(zip(rows.tolist(), keys, strict=True)):
            if key not in self._replicated:
                self._replicated[key] = self._with_more(*key[:2], int(plan_set.card[row]))
            found[place] = self._replicated[key]
        return found

    def _wanted(self, plan_set: PlanSet, rows: NDArray[np.int64], short: NDArray[np.float64]) -> list[int]:
        """How many replicas each of these plans takes that is so many times too slow: of a job no more than there may
        be, for what cannot come in time comes as soon as it may.
        """
        replicas, cards = plan_set.replicas[rows], plan_set.card[rows]
        if self._work.setup.trains:
            each = zip(rows.tolist(), short.tolist(), replicas.tolist(), strict=True)
            return [self._replicas(plan_set, row, times, now) for row, times, now in each]
        wanted = np.ceil(replicas * short - 1e-9).astype(np.int64)
        for place in np.flatnonzero(plan_set.cards.sliced[cards]).tolist():
            layout = plan_set.configurations[int(plan_set.configuration[rows[place]])].layout
            wanted[place] = self._whole(layout.over(int(wanted[place])), int(cards[place]), trains=False).data
        if self._options.at_once is not None:
            most = self._most[cards] // (plan_set.each(cards_of_way)[rows] // replicas)
            wanted = np.maximum(np.minimum(wanted, most), replicas)
        found: list[int] = wanted.tolist()
        return found

    def _with_more(self, replicas: int, number: int, card: int) -> int:
        """The number of the way with so many replicas on this card; itself where the limits leave no room.

        A replica added for load serves as many requests at once as the others, for spread over more replicas the same
        requests would come no faster.
        """
        setup, layout = self._search.configurations[number].setup, self._search.configurations[number].layout
        if replicas == layout.data:
            return number
        if not setup.trains:
            setup = self._search.changed(setup, concurrency=setup.requests_per_replica(layout.data) * replicas)
        elif self._options.fills:
            setup = self._search.changed(setup, batch_size=self._search.least_batch)
        more = self._within(setup, layout.over(replicas), card)
        return number if more is None else self._search.configure(*more)

    def _within(self, setup: Setup, layout: ParallelLayout, card: int) -> tuple[Setup, ParallelLayout] | None:
        """The way, in counts that the card is rented in, where the limits leave room for it."""
        layout = self._whole(layout, card, trains=setup.trains)
        beyond = layout.cards > int(self._most[card])
        return None if beyond or not self._options.fixed.allows(layout) else (setup, layout)

    def _whole(self, layout: ParallelLayout, card: int, *, trains: bool) -> ParallelLayout:
        """The layout with the replicas that fill the slices that the card is rented in."""
        slices = self._search.cards.slices_at(card)
        return layout if slices is None else layout.over(slices.replicas(layout, trains))


def _nearest(missed: NDArray[np.float64], tried: NDArray[np.int64], before: NDArray[np.float64]) -> NDArray[np.int64]:
    """Of each plan the way that misses its goal least, of several the first, where it is less than by ``before``; what
    is no nearer by a hundredth is no nearer. ``tried``: by way, which of the plans it is of.
    """
    with np.errstate(divide="ignore"):
        missed, before = (np.ceil(np.log(times) / np.log1p(_NEARER)) for times in (missed, before))
    order = np.lexsort((missed, tried))  # stable, so that the first stays before the next
    best = order[np.flatnonzero(np.diff(tried[order], prepend=-1))]
    nearest: NDArray[np.int64] = best[missed[best] < before[tried[best]]]
    return nearest


def _between(least: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers between the two of each plan (columns), evenly apart."""
    found: NDArray[np.int64] = least + (most - least) * np.arange(1, _AT_ONCE + 1)[:, np.newaxis] // (_AT_ONCE + 1)
    return found


def is_job(work: Work, options: Options) -> bool:
    """Whether the work comes to an end: training, and batch work."""
    return work.setup.trains or options.at_once is not None


def _of_pairs(
    way: Callable[[int, int], int], numbers: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The way that each number of a way and each count lead to, found once for all plans that run alike."""
    pairs = list(zip(numbers.tolist(), counts.tolist(), strict=True))
    found = {pair: way(*pair) for pair in dict.fromkeys(pairs)}
    return np.array([found[pair] for pair in pairs], dtype=np.int64)


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
