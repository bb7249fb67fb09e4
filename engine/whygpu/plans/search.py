"""The smallest spread that holds the work, for each way of running it and all accelerators at once.

Memory does not depend on the card, so each way of running is sized once for all.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from whygpu.checks.memory import inference, training
from whygpu.checks.memory.parts import Need
from whygpu.checks.memory.weights import leaves_table
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import FUSED, ParallelLayout, Setup
from whygpu.kept import kept
from whygpu.plans.fixed import given
from whygpu.plans.plan_set import Cards, Options, PlanSet, Speeds, plan_set_of
from whygpu.plans.splits import DIVIDED, cards_that, cards_that_split, no_larger, split_by
from whygpu.plans.ways import RunConfiguration, Ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.memory.activations import Activations
    from whygpu.checks.memory.estimate import MemoryEstimate
    from whygpu.checks.memory.parts import MemoryParts
    from whygpu.checks.setup import Format
    from whygpu.plans.splits import Found
    from whygpu.plans.work import Work

T = TypeVar("T")
SHARDS = (1, 2, 4, 8)
"""Tensor-parallel widths tried: powers of two, as serving stacks need."""
STAGES = (1, 2, 4)
"""Pipeline depths tried beyond one machine."""
DEPTHS = (1, 2, 4, 8, 16, 32)
"""Pipeline depths tried for training what no machine holds."""
EXPERTS = (8, 16, 32, 64)
"""Over how many cards experts are tried to be spread in training."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Numbers of accelerators tried."""
_Placed: TypeAlias = "tuple[ParallelLayout, Mask]"
"""A way to spread, and the cards that may be spread over so."""
_Load: TypeAlias = tuple[int, int, int, bool]
"""Shards, stages and requests of a replica, and whether there are as many replicas as are asked for."""
_Key: TypeAlias = "tuple[int | str, ...]"
_MOST_KEPT = 8192
"""Sizes that are kept of one work."""


_ROUNDS_OF_STAGES = (2, 4, 8)
"""Micro-batches for each stage that are tried beside one: of eight, stages wait for an eighth of the time at most."""


def on_cards(work: Work, setup: Setup, cards: Cards, allowed: Mask) -> Iterator[tuple[Setup, Mask]]:
    """The setup as the cards run it: where one lacks the format, what it runs instead (FP16 for BF16 on a T4), and
    where the runtime leaves the token table in the host's memory, on cards that have their own.
    """
    formats = work.catalogue.formats
    wanted = setup.format
    lacking = np.zeros_like(allowed)
    if wanted.needs in cards.rates and wanted.instead in formats:
        lacking = cards.rates[wanted.needs] == 0
    yield from _by_table(work, setup, cards, allowed & ~lacking)
    if (allowed & lacking).any():
        precision = setup.training_precision.replace(wanted.id, wanted.instead)
        other = replace(setup, format=formats[wanted.instead], training_precision=precision)
        yield from _by_table(work, other, cards, allowed & lacking)


def _by_table(work: Work, setup: Setup, cards: Cards, members: Mask) -> Iterator[tuple[Setup, Mask]]:
    """The setup with the token table on cards of one kind and in the host's memory beside others."""
    forms = [card.text("form") or "" for card in cards.accelerators]
    coefficients = work.catalogue.coefficients
    leaves = {form: leaves_table(work.shape, setup, form, coefficients) for form in dict.fromkeys(forms)}
    apart = members & np.array([leaves[form] for form in forms])
    yield setup, members & ~apart
    if apart.any():
        yield setup.but(token_table="host"), apart


class Sizes:
    """What ways of running a model need, each sized once, whatever load, latency or time the work is for.

    Weights and states do not depend on the requests of a service, nor on the samples of training or on what is
    recomputed of them, and what training keeps of its samples not on the replicas: each is found once for many ways.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._numbers: dict[Setup, int] = {}
        self._next = count()
        self._whatever_kept: dict[_Key, int] = {}
        self._sized: dict[_Key, MemoryEstimate] = {}
        self._served: dict[_Key, inference.Held] = {}
        self._held: dict[_Key, training.Held] = {}
        self._kept: dict[_Key, Activations] = {}

    def number(self, setup: Setup) -> int:
        """One number for all setups that need as much for as many requests."""
        if len(self._numbers) >= _MOST_KEPT:
            self._numbers.clear()  # no number is given twice
        return self._number(_alike(setup))

    def _number(self, alike: Setup) -> int:
        return self._numbers.setdefault(alike, next(self._next))

    def memory(self, number: int, setup: Setup, layout: ParallelLayout) -> MemoryEstimate:
        """Memory of a spread of a setup of this number; replicas of a service matter by the requests of each, further
        micro-batches of training by whether there are any, and by how many are under way in the stages.
        """
        spread = _spread(setup, layout)
        data = layout.data if setup.trains else setup.requests_per_replica(layout.data)
        key = (number, data, *spread)
        found = self._sized.get(key)
        if found is None:
            parts = self._parts(number, setup, layout, spread)
            found = _keep(self._sized, key, self._work.memory(setup, layout, parts))
        return found

    def need(self, number: int, setup: Setup, layout: ParallelLayout, each: int | None = None) -> Need:
        """What the parts of ``memory`` sum to, without the rest of it where nothing else is needed to find it.

        ``each``: the requests of each replica, where not those of the setup.
        """
        found, spread = None, _spread(setup, layout)
        if self._work.corrections:
            pass
        elif setup.trains:
            found = training.need_of(*self._trained(number, setup, layout, spread))
        elif self._work.shape.kind in TOKEN_KINDS:
            requests = layout.requests_on_card(setup.requests_per_replica(layout.data) if each is None else each)
            found = inference.need_of(self._serving(number, setup, layout, spread), requests)
        if found is None:
            setup = setup if each is None else setup.but(concurrency=each * layout.data)
            whole = self.memory(number, setup, layout)
            found = Need(whole.total, whole.high, whole.weights, whole.kv_cache)
        return found

    def highs(self, setups: Sequence[tuple[int, Setup]], layout: ParallelLayout, most: float) -> list[float]:
        """The high ends of what a spread of these setups holds, each with its number: those of them, in this order,
        that ``most`` bytes hold. They differ in the samples of a micro-batch alone.
        """
        found: list[float] = []
        number, setup = setups[0]
        spread = _spread(setup, layout)
        held = None if self._work.corrections else self._states(number, setup, layout, spread)
        for number, setup in setups:
            need = None if held is None else training.need_of(held, self._samples(number, setup, layout, spread))
            high = self.need(number, setup, layout).high if need is None else need.high
            if high > most:
                break
            found.append(high)
        return found

    def _trained(
        self, number: int, setup: Setup, layout: ParallelLayout, spread: _Key
    ) -> tuple[training.Held, Activations]:
        """What a training step holds, and what it keeps of its samples."""
        return self._states(number, setup, layout, spread), self._samples(number, setup, layout, spread)

    def _whatever_it_keeps(self, number: int, setup: Setup) -> int:
        """One number for all setups that hold as much beside their samples."""
        found = self._whatever_kept.get((number,))
        if found is None:
            held = _alike(setup).but(batch_size=0, gradient_checkpointing="")
            found = _keep(self._whatever_kept, (number,), self._number(held))
        return found

    def _states(self, number: int, setup: Setup, layout: ParallelLayout, spread: _Key) -> training.Held:
        states = (self._whatever_it_keeps(number, setup), layout.data, *spread)
        found = self._held.get(states)
        if found is None:
            coefficients = self._work.catalogue.coefficients
            found = _keep(self._held, states, training.held(self._work.shape, setup, layout, coefficients))
        return found

    def _samples(self, number: int, setup: Setup, layout: ParallelLayout, spread: _Key) -> Activations:
        one = (number, *spread)
        found = self._kept.get(one)
        if found is None:
            coefficients = self._work.catalogue.coefficients
            found = _keep(self._kept, one, training.kept(self._work.shape, setup, layout, coefficients))
        return found

    def _serving(self, number: int, setup: Setup, layout: ParallelLayout, spread: _Key) -> inference.Held:
        """What a replica of a service holds whatever its requests."""
        one = (number, *spread)
        found = self._served.get(one)
        if found is None:
            coefficients = self._work.catalogue.coefficients
            found = _keep(self._served, one, inference.held(self._work.shape, setup, layout, coefficients))
        return found

    def _parts(self, number: int, setup: Setup, layout: ParallelLayout, spread: _Key) -> MemoryParts | None:
        """Those that other ways have in common with this one, put together; None where they are found in one."""
        if setup.trains:
            return training.parts_of(*self._trained(number, setup, layout, spread))
        if self._work.shape.kind not in TOKEN_KINDS:
            return None
        held = self._serving(number, setup, layout, spread)
        return inference.parts_of(held, inference.requests_on_card(setup, layout))


def _spread(setup: Setup, layout: ParallelLayout) -> _Key:
    """What memory depends on of a spread but for its replicas."""
    under_way = min(setup.gradient_accumulation, max(layout.pipeline, 2)) if setup.trains else 1
    spread = (layout.tensor, layout.pipeline, layout.interleave, layout.sharding, layout.cache_split)
    return (under_way, *spread, layout.expert)


def _keep(known: dict[_Key, T], key: _Key, found: T) -> T:
    if len(known) >= _MOST_KEPT:
        known.clear()
    known[key] = found
    return found


def _alike(setup: Setup) -> Setup:
    """The setup without how much there is to do, which no size depends on but by what is done at once."""
    return setup.but(concurrency=0, gradient_accumulation=0, dataset_tokens=0.0, dataset_samples=0.0, epochs=0.0)


@kept(16)
def _sizes(work: Work) -> Sizes:
    return Sizes(work)


class Setups:
    """One object for all equal setups of a search: to look them up by identity is cheaper than by two dozen fields."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._first: dict[Setup, Setup] = {}
        self._known: dict[int, tuple[Setup, Setup]] = {}
        self._number: dict[int, int] = {}
        self._unloaded: dict[int, Setup] = {}
        self._changed: dict[tuple[int, str, str | int], Setup] = {}
        self._sized: dict[tuple[int, tuple[int, ...], int], list[tuple[int, Setup]]] = {}

    def one(self, setup: Setup) -> Setup:
        """The first that is equal."""
        known = self._known.get(id(setup))
        if known is None:
            known = self._known[id(setup)] = setup, self._first.setdefault(setup, setup)  # both live as long as ids do
        return known[1]

    def changed(self, setup: Setup, name: str, value: str | int) -> Setup:
        """A setup that ``one`` gave with another value in a field."""
        key = (id(setup), name, value)
        found = self._changed.get(key)
        if found is None:
            found = self._changed[key] = self.one(setup.but(**{name: value}))
            if name in ("concurrency", "gradient_accumulation") and id(setup) in self._number:
                self._number[id(found)] = self._number[id(setup)]
            if name == "concurrency":
                self._unloaded[id(found)] = self.unloaded(setup)
        return found

    def unloaded(self, setup: Setup) -> Setup:
        """The setup without its requests in flight: one object for all that differ in these alone."""
        setup = self.one(setup)
        found = self._unloaded.get(id(setup))
        if found is None:
            found = self._unloaded[id(setup)] = self.one(setup.but(concurrency=0))
        return found

    def sized(self, setup: Setup, sizes: tuple[int, ...], micro_batches: int) -> Sequence[tuple[int, Setup]]:
        """A setup that ``one`` gave with micro-batches of each of these sizes, and their numbers."""
        key = (id(setup), sizes, micro_batches)
        found = self._sized.get(key)
        if found is None:
            changed = (self.changed(setup, "batch_size", size) for size in sizes)
            setups = [self.changed(each, "gradient_accumulation", micro_batches) for each in changed]
            found = self._sized[key] = [(self._numbered(each), each) for each in setups]
        return found

    def highs(self, setups: Sequence[tuple[int, Setup]], layout: ParallelLayout, most: float) -> list[float]:
        """As ``Sizes.highs`` has it."""
        return self._sizes.highs(setups, layout, most)

    def memory(self, setup: Setup, layout: ParallelLayout) -> MemoryEstimate:
        """Memory of a spread."""
        setup = self.one(setup)
        return self._sizes.memory(self._numbered(setup), setup, layout)

    def need(self, setup: Setup, layout: ParallelLayout, each: int | None = None) -> Need:
        """What it sums to, found sooner; ``each``: as ``Sizes.need`` has it."""
        setup = self.one(setup)
        return self._sizes.need(self._numbered(setup), setup, layout, each)

    def _numbered(self, setup: Setup) -> int:
        number = self._number.get(id(setup))
        if number is None:
            number = self._number[id(setup)] = self._sizes.number(setup)
        return number


class Search:
    """The smallest spread of each way of running that holds the work, for all cards at once."""

    def __init__(self, work: Work, cards: Cards, options: Options) -> None:
        self._work, self.cards, self._options = work, cards, options
        self._few = 1 if options.count is not None or work.setup.trains else options.replicas
        self.knows_hours = False
        """Whether the hours that a job takes are known of any plan that was timed."""
        self.configurations = Ways()
        self._setups = Setups(_sizes(replace(work, setup=_alike(work.setup), measured=())))
        self._number: dict[tuple[int, ParallelLayout], int] = {}
        self._replicated: dict[tuple[int, int], int] = {}
        self._found: list[Found] = []

    @cached_property
    def _layouts(self) -> list[ParallelLayout]:
        options = self._options

        def order(layout: ParallelLayout) -> tuple[int, bool, bool]:
            return layout.cards if options.short else 0, layout.data < self._few, layout.data > options.most_replicas

        return sorted(self._spreads(), key=order)

    @cached_property
    def _spread(self) -> tuple[_Placed, ...]:
        return self._placed(self._layouts)

    @cached_property
    def _deep(self) -> tuple[tuple[_Placed, ...], ...]:
        return tuple(map(self._placed, self._deep_spreads())) if self._work.setup.trains else ()

    @cached_property
    def _expert(self) -> tuple[tuple[_Placed, ...], ...]:
        return tuple(map(self._placed, self._expert_spreads())) if self._work.setup.trains else ()

    @cached_property
    def _spreads_experts(self) -> Mask:
        able = cards_that(self._work, self.cards, "spreads-experts")
        return able & self._work.shape.is_moe & (self._options.fused or self._options.fixed.expert is not None)

    @cached_property
    def _divided(self) -> tuple[tuple[Mask, tuple[_Placed, ...]], ...]:
        return tuple(
            (able, spreads)
            for split in DIVIDED
            if (able := cards_that_split(self._work, self.cards, split)).any()
            and self._options.fixed.cache_split in (None, split)
            and (spreads := self._placed(split_by(self._work, self._layouts, split)))
        )

    @property
    def least_batch(self) -> int:
        """Samples that every plan's accelerators work on at once at least: of pairs both answers."""
        return 1 if self._options.each is not None else self._work.setup.batch_size

    def need(self, setup: Setup, layout: ParallelLayout, each: int | None = None) -> Need:
        """How much each card of a spread would hold; ``each``: as ``Sizes.need`` has it."""
        return self._setups.need(setup, layout, each)

    def held_batches(
        self, setup: Setup, layout: ParallelLayout, sizes: tuple[int, ...], micro_batches: int, most: float
    ) -> list[float]:
        """The most that each card of a spread may have to hold (bytes) in training with micro-batches of these sizes,
        the smallest first: of those that ``most`` bytes hold.
        """
        return self._setups.highs(self._setups.sized(self._setups.one(setup), sizes, micro_batches), layout, most)

    def configure(self, setup: Setup, layout: ParallelLayout) -> int:
        """The number of a way of running; sized when it is new."""
        setup = self._setups.one(setup)
        key = (id(setup), layout)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = self.configurations.add(RunConfiguration(setup, layout, self._setups))
        return number

    def changed(
        self,
        setup: Setup,
        *,
        batch_size: int | None = None,
        gradient_accumulation: int | None = None,
        concurrency: int | None = None,
        gradient_checkpointing: str = "",
    ) -> Setup:
        """The setup with another batch, load or checkpointing: the same object for the same change."""
        setup = self._setups.one(setup)
        if concurrency is not None:
            setup = self._setups.changed(setup, "concurrency", concurrency)
        if batch_size is not None:
            setup = self._setups.changed(setup, "batch_size", batch_size)
        if gradient_accumulation is not None:
            setup = self._setups.changed(setup, "gradient_accumulation", gradient_accumulation)
        if gradient_checkpointing:
            setup = self._setups.changed(setup, "gradient_checkpointing", gradient_checkpointing)
        return setup

    def micro_batches(self, layout: ParallelLayout) -> tuple[int, ...]:
        """Micro-batches of a training step that are tried: one for each stage, or as many as were asked for; and where
        nobody gave more, several for each stage, as far as the step has samples.
        """
        fewest = max(self._work.setup.gradient_accumulation, layout.pipeline)
        if not fewest == layout.pipeline > 1:
            return (fewest,)
        most = (self._options.samples or 1) / layout.data
        return (fewest, *(rounds * fewest for rounds in _ROUNDS_OF_STAGES if rounds * fewest <= most))

    def _accumulating(self, setup: Setup, layout: ParallelLayout) -> Setup:
        """The setup with as many micro-batches as are tried: they take no memory, and fewer leave stages idle."""
        if not setup.trains:
            return setup
        return self.changed(setup, gradient_accumulation=self.micro_batches(layout)[-1])

    def with_replicas(self, number: int, replicas: int) -> int:
        """The number of the same way with so many replicas."""
        key = (number, replicas)
        if key not in self._replicated:
            configuration = self.configurations[number]
            self._replicated[key] = self.configure(configuration.setup, configuration.layout.over(replicas))
        return self._replicated[key]

    def _left(self, number: int) -> Need:
        """What one of the replicas must hold: its share of the requests, and where a replica is to spare those that a
        failed one leaves to the others.
        """
        configuration = self.configurations[number]
        layout, spare = configuration.layout, self._few - 1
        if layout.data <= 1 or not spare:
            return configuration.need
        return self._setups.need(configuration.setup, layout.over(max(layout.data - spare, 1)))

    def run(self, setup: Setup, members: Mask, caches: Iterable[Format] = ()) -> None:
        """Find the smallest spread for each member; with a cache in one of the other formats, on cards that compute in
        it, that which takes no more of them, or holds what none does with the usual cache.
        """
        start = len(self._found)
        self._smallest(setup, members)
        usual = len(self._found)
        for cache in caches:
            able = self.cards.rates[cache.needs] > 0 if cache.needs in self.cards.rates else True
            self._smallest(replace(setup, kv_format=cache), members & able)
        self._found[usual:] = no_larger(self._found[start:usual], self._found[usual:], self.configurations)

    def _smallest(self, setup: Setup, members: Mask) -> None:
        """Find the smallest spread for each member; where no machine holds a training job, and a link joins all cards
        of one, the smallest over shards and stages too: which of them is done sooner depends on the network. Experts of
        a mixture are spread instead, where all weights learn. Where cards would keep copies of a cache, it is divided
        as well, on no more cards than the copies take.
        """
        start = len(self._found)
        if self._options.fixed.cache_split in (None, "heads"):
            self._run(setup, members, self._spread)
        copied = len(self._found)
        for able, spreads in self._divided:
            self._run(setup, members & able, spreads)
        self._found[copied:] = no_larger(self._found[start:copied], self._found[copied:], self.configurations)
        if not (self._deep or self._expert) or not members.any():
            return
        none = np.zeros_like(members)
        whole = self._setups.need(replace(setup, gradient_checkpointing="full"), ParallelLayout())
        beyond = members & (whole.total > self.cards.per_node * self.cards.usable_bytes)
        joined = self.cards.link_cards >= self.cards.per_node  # shards exchange activations in every layer
        apart = joined & self._spreads_experts if setup.method == "full" and setup.algorithm == "supervised" else none
        for spreads in self._deep:
            self._run(setup, beyond & joined & ~apart, spreads)
        # what a machine holds is fine-tuned without, which takes no other framework
        wanted = beyond if setup.phase == "fine-tuning" else members
        for spreads in self._expert:
            self._run(setup.but(runtime=FUSED), wanted & apart, spreads)

    def _placed(self, layouts: Iterable[ParallelLayout]) -> tuple[_Placed, ...]:
        """The layouts, each with the cards that may be spread over so, by the limits and how they are rented."""
        per_node, trains = self.cards.per_node, self._work.setup.trains
        most = per_node * self._options.max_nodes
        return tuple(
            (layout, (layout.tensor <= per_node) & (layout.cards <= most) & self.cards.rentable(layout, trains))
            for layout in layouts
        )

    def _run(self, setup: Setup, members: Mask, spreads: tuple[_Placed, ...]) -> None:
        """Find the smallest spread for each member; where none holds it, the one that needs least.

        Of the ways to run on as many cards the first that holds even the high end is taken, before one that holds only
        the likely need: recomputing activations costs less than running out of memory. Where the smallest spread holds
        only that, the smallest that holds the high end is found as well: whether room is worth the price is for rules.

        With ``short`` those are found that do not hold it: on each number of cards the spread that needs least.
        """
        if not members.any():
            return
        setup = self._setups.one(setup)
        kinds = self._options.checkpointing if setup.trains else (setup.gradient_checkpointing,)
        configurations = [setup.but(gradient_checkpointing=kind) for kind in kinds]
        usable = self.cards.usable_bytes
        at_hand = np.maximum(self._options.usual_count, self.cards.per_node)  # or in one machine
        best = np.full(len(usable), -1, dtype=np.int64)
        least = np.full(len(usable), np.inf)
        roomier = np.full(len(usable), -1, dtype=np.int64)
        unheld, unsettled = members, members
        floors: dict[tuple[int, int], tuple[float, float]] = {}
        tried: dict[_Load, Mask] = {}
        fewer = 0
        for layout, able in spreads:
            if self._options.short and fewer < layout.cards:
                self._note(unheld, best, members & ~unheld)
                fewer = layout.cards
            enough = layout.data >= self._few
            beyond = layout.cards > at_hand if layout.cards > self._options.usual_count else None
            # too few replicas, or very many, are a last resort
            open_ = unsettled if beyond is None else np.where(beyond, unheld, unsettled)
            group = self._untried(setup, layout, able & (open_ if enough else unheld), tried)
            if not group.any():
                continue
            if layout.data > 1:
                shard = (layout.tensor, layout.pipeline)
                likely, high = floors.get(shard) or floors.setdefault(shard, self._floor(configurations, layout))
                if beyond is not None:
                    group = group & (~beyond | (high <= usable))
                if not (group & ((likely <= usable) | (best < 0))).any():
                    continue  # it would not fit, however many replicas there are
            loose = unheld
            for number in self._ways(configurations, layout):
                need = self._left(number)
                roomy = group & (need.high <= usable)
                fits = group & (need.total <= usable)
                fits = fits if beyond is None else np.where(beyond, roomy, fits)
                take = loose & (roomy | (group & unheld & (fits | (need.total < least))))
                best[take] = number
                least[take] = need.total
                roomier[roomy & ~loose] = number
                unheld = unheld & ~fits
                unsettled = unsettled & ~roomy
                group = group & ~roomy
            if not unsettled.any() and not self._options.short:
                break
        if not self._options.short:
            self._note(members, best, members & ~unheld)
            self._note(members, roomier, members & ~unheld)

    def _untried(self, setup: Setup, layout: ParallelLayout, group: Mask, tried: dict[_Load, Mask]) -> Mask:
        """Those of a group that no spread with as much for each replica was tried on: of a service, more replicas of as
        many requests each need no less than those before.
        """
        if setup.trains:
            return group
        requests = setup.requests_per_replica(layout.data)
        load = layout.tensor, layout.pipeline, requests, layout.data >= self._few
        before = tried.get(load)
        tried[load] = group if before is None else before | group
        return group if before is None else group & ~before

    def _ways(self, configurations: list[Setup], layout: ParallelLayout) -> Iterator[int]:
        """The numbers of these setups spread so, by every sharding."""
        for sharding in self._shardings(configurations[0], layout):
            sharded = layout if sharding == "none" else replace(layout, sharding=sharding)
            for configuration in configurations:
                yield self.configure(self._accumulating(configuration, sharded), sharded)

    def _note(self, members: Mask, found: NDArray[np.int64], held: Mask) -> None:
        rows = np.flatnonzero(members & (found >= 0))
        self._found.append((rows, found[rows], held[rows]))

    def _floor(self, configurations: list[Setup], layout: ParallelLayout) -> tuple[float, float]:
        """What one request at a time would need of a card, spread over shards so, or a sample of training whose states
        are spread over the most cards that are tried, and its high end: more replicas cannot get below it.
        """
        setup = configurations[0]
        if setup.trains:
            wide = replace(layout, data=STEPS[-1])
            spreads = [replace(wide, sharding=sharding) for sharding in self._shardings(setup, wide)]
        else:
            spreads = [replace(layout, data=max(setup.concurrency, 1))]
        needs = [self._setups.need(configuration, spread) for configuration in configurations for spread in spreads]
        return min((need.total for need in needs), default=math.inf), min(
            (need.high for need in needs), default=math.inf
        )

    def _shardings(self, setup: Setup, layout: ParallelLayout) -> tuple[str, ...]:
        if not setup.trains or layout.data == 1:
            return ("none",)
        if layout.spreads_experts:
            return ("zero1",)
        found = self._options.shardings or ("none",)
        if self._options.count is not None:
            return found
        return tuple(sharding for sharding in found if sharding != "none")  # whole copies need no less than one did

    def _spreads(self) -> Iterator[ParallelLayout]:
        """Ways to spread over ever more cards; of those with as many, replicas before shards before stages."""
        asked, fixed = self._options.count, self._options.fixed
        shape, trains = self._work.shape, self._work.setup.trains
        shardable = shape.kind in TOKEN_KINDS and not trains
        layered = shardable and self._work.splits_layers
        multiples = (step * fixed.least for step in STEPS)
        for cards in [asked] if asked else [cards for cards in multiples if cards <= self._options.max_count]:
            for tensor in given(fixed.tensor, SHARDS if shardable and not layered else (1,)):
                if cards % tensor or (shape.heads and shape.heads % tensor):
                    continue
                # stages only beyond the widest shard, or where shards cannot use all that were asked for
                deep = shardable and tensor == SHARDS[-1]
                odd = cards // (cards & -cards) if asked and shardable else 1
                several = tuple(range(1, cards + 1)) if layered else STAGES if deep else tuple(sorted({1, odd}))
                for stages in given(fixed.pipeline, several):
                    if cards % (tensor * stages) == 0 and (stages == 1 or shape.layers >= stages):
                        data, interleave = cards // (tensor * stages), self._work.interleave(stages)
                        layout = ParallelLayout(tensor, stages, data, interleave=interleave)
                        if fixed.allows(layout):
                            yield layout

    def _deep_spreads(self) -> Iterator[tuple[ParallelLayout, ...]]:
        """One replica over shards inside a machine and stages over machines, as language models beyond a machine are
        trained (Narayanan et al. 2021, arXiv:2104.04473; Llama Team 2024, arXiv:2407.21783, 3.3.2); over exactly as
        many cards as were asked for by each number of shards, for none of them is smaller.
        """
        shape, options = self._work.shape, self._options
        if shape.kind not in TOKEN_KINDS or options.fixed.least > 1 or options.fixed.expert is not None:
            return
        found = [
            layout
            for pipeline in DEPTHS
            for tensor in reversed(SHARDS)
            if tensor * pipeline > 1
            for layout in self._spread_out(ParallelLayout(tensor, pipeline))
        ]
        if options.count is None:
            yield tuple(found)
            return
        for tensor in SHARDS:
            yield tuple(layout for layout in found if layout.tensor == tensor and layout.pipeline > 1)

    def _expert_spreads(self) -> Iterator[tuple[ParallelLayout, ...]]:
        """Layouts that spread routed experts over cards which work on samples of their own, and stages over machines,
        by the width: the fewest stages first, of which the fewest wait (DeepSeek-AI 2024, arXiv:2412.19437, 3.2).
        """
        shape, fixed = self._work.shape, self._options.fixed
        if shape.kind not in TOKEN_KINDS or not shape.is_moe:
            return
        for expert in given(fixed.expert, EXPERTS):
            yield tuple(
                layout
                for pipeline in given(fixed.pipeline, DEPTHS)
                for tensor in given(fixed.tensor, SHARDS)
                if not shape.experts % expert and tensor < expert
                for layout in self._spread_out(ParallelLayout(tensor, pipeline, expert=expert))
            )

    def _spread_out(self, layout: ParallelLayout) -> Iterator[ParallelLayout]:
        """The layout of one replica with the fewest replicas, or those that fill the cards asked for, where the model
        can be divided so.
        """
        shape, options, stride = self._work.shape, self._options, layout.stride
        if (shape.heads or 1) % layout.tensor or shape.layers < layout.pipeline:
            return
        data = options.fixed.replicas or stride if options.count is None else options.count // layout.cards
        full = replace(layout, data=data, interleave=self._work.interleave(layout.pipeline))
        wanted = options.count in (None, full.cards) and data > 0 and data % stride == 0
        if wanted and full.cards <= options.max_count and options.fixed.allows(full):
            yield full

    def again(self, found: Found, ways: Iterable[tuple[Setup, ParallelLayout]], **job: float) -> None:
        """Take what another search found of the same work with another ``job`` to do, and its numbers: nothing has been
        found yet.
        """
        for setup, layout in ways:
            self.configure(setup.but(**job), layout)
        self._found.append(found)

    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Mask]:
        """The cards and the ways of all plans found, and whether they fit."""
        rows = [row for row, _, _ in self._found]
        none = np.zeros(0, dtype=np.int64)
        card = np.concatenate(rows) if rows else none
        configuration = np.concatenate([configurations for _, configurations, _ in self._found]) if rows else none
        return (
            card,
            configuration,
            np.concatenate([fits for _, _, fits in self._found]) if rows else np.zeros(0, dtype=np.bool_),
        )

    def timed(
        self,
        card: NDArray[np.int64],
        configuration: NDArray[np.int64],
        fits: Mask,
        concurrency: NDArray[np.int64] | None = None,
    ) -> PlanSet:
        """The plans with their speeds; ``concurrency``: with so many requests in flight, whatever their setups say."""
        found = plan_set_of(
            self._work,
            self.configurations,
            card,
            configuration,
            fits,
            np.zeros(len(card), dtype=np.bool_),
            self._options.machines,
            concurrency,
        )
        hours = found.speeds.figures.get("train_hours")
        self.knows_hours = self.knows_hours or (hours is not None and not np.isnan(hours).all())
        return found

    def untimed(self, card: NDArray[np.int64], configuration: NDArray[np.int64], fits: Mask) -> PlanSet:
        """The plans without their speeds."""
        ways, none = self.configurations, np.zeros(len(card), dtype=np.bool_)
        machines = self._options.machines
        return PlanSet(self._work, machines, self.cards, ways, card, configuration, fits, none, Speeds({}))

    def together(self, *plan_sets: PlanSet) -> PlanSet:
        """The plans of several sets, as they were timed."""

        def column(name: str) -> NDArray[np.float64]:
            known = (each.speeds.figures.get(name, np.full(len(each), np.nan)) for each in plan_sets)
            return np.concatenate(tuple(known))

        names = dict.fromkeys(name for each in plan_sets for name in each.speeds.figures)
        found = self.untimed(
            np.concatenate([each.card for each in plan_sets]),
            np.concatenate([each.configuration for each in plan_sets]),
            np.concatenate([each.fits for each in plan_sets]),
        )
        return replace(found, speeds=Speeds({name: column(name) for name in names}))

    def taken(
        self, plan_set: PlanSet, rows: NDArray[np.int64], timed: PlanSet, places: NDArray[np.int64] | list[int]
    ) -> PlanSet:
        """The same, where the ways and figures of ``rows`` are those of ``timed`` at these places."""
        if not len(rows):
            return plan_set
        configuration = np.array(plan_set.configuration)
        configuration[rows] = timed.configuration[places]
        figures = {}
        for name, column in timed.speeds.figures.items():
            known = plan_set.speeds.figures.get(name)
            figures[name] = np.full(len(plan_set), np.nan) if known is None else np.array(known)
            figures[name][rows] = column[places]
        speeds = Speeds({**plan_set.speeds.figures, **figures})
        return replace(plan_set, configurations=timed.configurations, configuration=configuration, speeds=speeds)
