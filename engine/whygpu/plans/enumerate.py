"""Which plans there are: each accelerator and way of running, at the smallest count that meets the work.

Memory does not depend on the card, so each way of running is sized once for all; speeds are reckoned in columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from whygpu.checks import speed
from whygpu.checks.reckoning import Range
from whygpu.checks.setup import HALF, CardKind, Device, Setup, Split, pcie_bytes_s
from whygpu.checks.shape import TOKEN_KINDS
from whygpu.checks.speed_columns import Band
from whygpu.plans.batches import filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.catalogue import Accelerator
    from whygpu.chain.engines import Mask
    from whygpu.checks.memory import MemoryEstimate
    from whygpu.checks.speed import SpeedEstimate
    from whygpu.knowledge import Knowledge
    from whygpu.plans.work import Work

SHARDS = (1, 2, 4, 8)
"""Tensor-parallel widths tried: powers of two, as serving stacks need."""
STAGES = (1, 2, 4)
"""Pipeline depths tried beyond one machine."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Numbers of accelerators tried."""
_ROUNDS = 4
_RATES = (
    "fp32_tflops",
    "tf32_tflops",
    "fp16_tflops",
    "bf16_tflops",
    "fp8_tflops",
    "fp4_tflops",
    "int8_tops",
    "int4_tops",
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the session rules and answers leave to try."""

    formats: tuple[str, ...]
    methods: tuple[str, ...]
    shardings: tuple[str, ...]
    checkpointing: tuple[str, ...]
    count: int | None
    max_count: int
    max_nodes: int
    replicas: int = 1
    """The fewest that a service may rest on, where the limits allow as many."""
    samples: int | None = None
    """Most samples of a training step over all replicas where nobody gave the micro-batch; None where it is given."""
    owned: tuple[tuple[int, int], ...] = ()
    """What is there already: rows of the catalogue, and how many of each."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What the plan must reach; None where nothing is asked."""

    requests_per_s: float | None = None
    frames_per_s: float | None = None
    ttft_ms: float | None = None
    token_ms: float | None = None
    train_hours: float | None = None
    usual_hours: float | None = None
    """What a training run usually takes at most; plans beyond it stay, beside those that meet it."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of running, spread over some accelerators, and what each of them would hold."""

    setup: Setup
    split: Split
    memory: MemoryEstimate


@dataclass(frozen=True, slots=True)
class Candidate:
    """One plan: an accelerator and a way of running on it."""

    accelerator: Accelerator
    setup: Setup
    split: Split
    memory: MemoryEstimate


@dataclass(frozen=True, slots=True)
class Speeds:
    """Speeds of all plans: the likely figures that apply, over plans, and the estimate each plan's come from."""

    figures: Mapping[str, NDArray[np.float64]]
    origin: tuple[tuple[SpeedEstimate, NDArray[np.int64]], ...]
    """Estimates, each with the plans it is for."""
    _ranged: dict[tuple[int, int | None], SpeedEstimate] = field(default_factory=dict, compare=False, repr=False)
    """What was reckoned with ranges, which few plans need: of an estimate one plan, then (None) all of its plans."""

    def likely(self, name: str, index: int) -> float:
        """The likely figure of one plan; NaN where it does not apply or is not known."""
        figures = self.figures.get(name)
        return math.nan if figures is None else float(figures[index])

    def ranges(self, index: int) -> dict[str, Range | None]:
        """Every figure of one plan with its range; None where it does not apply or is not known."""
        estimate, place = self.estimate(index)
        one, whole = (id(estimate), place), (id(estimate), None)
        if one not in self._ranged and whole not in self._ranged:
            first = all(key[0] != id(estimate) for key in self._ranged)
            self._ranged[one if first else whole] = estimate.with_ranges(place if first else None)
        ranged, place = (self._ranged[one], 0) if one in self._ranged else (self._ranged[whole], place)
        found: dict[str, Range | None] = {}
        for name in speed.FIGURES:
            band: Band | None = getattr(ranged, name)
            at = None if band is None else band.at(place)
            found[name] = None if at is None or not math.isfinite(at.likely) else at
        return found

    def take(self, rows: NDArray[np.int64], size: int) -> Speeds:
        """Those of some of the ``size`` plans."""
        places = np.full(size, -1, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        figures = {name: column[rows] for name, column in self.figures.items()}
        return Speeds(figures, tuple((estimate, places[indices]) for estimate, indices in self.origin))

    def estimate(self, index: int) -> tuple[SpeedEstimate, int]:
        """The estimate that one plan's figures come from, and its place in it."""
        for estimate, indices in self.origin:
            at = np.flatnonzero(indices == index)
            if at.size:
                return estimate, int(at[0])
        raise IndexError(index)


@dataclass(frozen=True, slots=True)
class Field:
    """All plans, in columns: each is a card (a row of the catalogue) and a way of running."""

    cards: Cards
    ways: tuple[Way, ...]
    card: NDArray[np.int64]
    way: NDArray[np.int64]
    fits: Mask
    owned: Mask
    """Plans on what is there already."""
    speeds: Speeds

    def __len__(self) -> int:
        """How many plans there are."""
        return len(self.card)

    def take(self, rows: NDArray[np.int64]) -> Field:
        """These plans alone."""
        speeds = self.speeds.take(rows, len(self))
        return replace(
            self, card=self.card[rows], way=self.way[rows], fits=self.fits[rows], owned=self.owned[rows], speeds=speeds
        )

    def candidate(self, index: int) -> Candidate:
        """One plan."""
        card, way = int(self.card[index]), self.ways[int(self.way[index])]
        nodes = -(-way.split.cards // int(self.cards.per_node[card]))
        return Candidate(self.cards.accelerators[card], way.setup, replace(way.split, nodes=nodes), way.memory)

    @property
    def replicas(self) -> NDArray[np.int64]:
        """Replicas of each plan."""
        return np.array([way.split.data for way in self.ways], dtype=np.int64)[self.way]

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Machines of each plan."""
        counts = np.array([way.split.cards for way in self.ways], dtype=np.int64)
        return -(-counts[self.way] // self.cards.per_node[self.card])


@dataclass(frozen=True, slots=True)
class Cards:
    """The catalogue's accelerators and their figures, as columns; NaN where a figure is not known."""

    accelerators: tuple[Accelerator, ...]
    usable_bytes: NDArray[np.float64]
    per_node: NDArray[np.int64]
    bandwidth_bytes_s: NDArray[np.float64]
    power_w: NDArray[np.float64]
    link_bytes_s: NDArray[np.float64]
    link_cards: NDArray[np.float64]
    pcie_bytes_s: NDArray[np.float64]
    rates: Mapping[str, NDArray[np.float64]]
    """Operations per second by rate; NaN where not known, zero where the hardware lacks it."""
    kinds: tuple[CardKind, ...]
    kind: NDArray[np.int64]

    def rate(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The first of the rates that each card has."""
        found = np.full(len(self.accelerators), np.nan)
        for name in reversed(names):
            column = self.rates[name]
            found = np.where(column > 0, column, found)
        return found


@lru_cache(maxsize=8)
def cards_of(knowledge: Knowledge) -> Cards:
    """The catalogue's accelerators as columns."""
    cards = tuple(knowledge.catalogue.accelerators.values())

    def column(name: str, scale: float = 1.0) -> NDArray[np.float64]:
        return np.array([math.nan if (value := card.number(name)) is None else value * scale for card in cards])

    rates = {name: np.where([card.lacks(name) for card in cards], 0.0, column(name, 1e12)) for name in _RATES}
    linked = np.array([(card.text("link") or "none") != "none" for card in cards])
    per_node = np.nan_to_num(column("cards_per_node"), nan=1.0).clip(1)
    link = np.where(linked, np.nan_to_num(column("link_gb_s", 1e9 / 2)), 0.0)
    joined = column("link_cards")
    pcie = [
        math.nan if generation is None or lanes is None else pcie_bytes_s(generation, lanes)
        for generation, lanes in ((card.number("pcie_generation"), card.number("pcie_lanes")) for card in cards)
    ]
    words = [
        CardKind(
            card.text("generation") or "",
            card.text("class") or "",
            card.text("software") or "",
            card.text("link") or "none",
            card.text("memory_type") or "",
        )
        for card in cards
    ]
    kinds = tuple(dict.fromkeys(words))
    return Cards(
        cards,
        np.array([knowledge.catalogue.usable_bytes(card) for card in cards]),
        per_node.astype(np.int64),
        column("bandwidth_gb_s", 1e9),
        column("tdp_w"),
        link,
        np.where(np.isnan(joined), np.where(link > 0, per_node, 0.0), joined),
        np.array(pcie),
        rates,
        kinds,
        np.array([kinds.index(word) for word in words], dtype=np.int64),
    )


Planner: TypeAlias = "Callable[[Work, Mask, Options, Targets], Field]"
"""Finds the plans on the accelerators that the mask leaves."""


def enumerate_plans(work: Work, allowed: Mask, options: Options, targets: Targets) -> Field:
    """Every plan on the ``allowed`` cards, spread until it meets the work, or as far as it may be.

    The plans of the last few works are kept: answers about money, operation or priorities do not change them.
    """
    return _enumerated(work, allowed.tobytes(), options, targets)


@lru_cache(maxsize=32)
def _enumerated(work: Work, allowed_bytes: bytes, options: Options, targets: Targets) -> Field:
    allowed = np.frombuffer(allowed_bytes, dtype=np.bool_)
    cards = cards_of(work.knowledge)
    search = Search(work, cards, options)
    for setup in _ways(work, options):
        for on_card, members in on_cards(work, setup, cards, allowed):
            search.run(on_card, members)
    card, way, fits = search.found()
    if options.samples is None or not len(card):
        field = search.timed(card, way, fits)
    else:
        field = filled(search, card, way, fits, options, which=fits)
    return _Growth(work, search, options, targets).run(field) if len(field) else field


def _ways(work: Work, options: Options) -> Iterator[Setup]:
    formats = work.knowledge.catalogue.formats
    for method in options.methods or (work.setup.method,):
        for name in options.formats:
            if work.setup.trains and (method == "qlora") != formats[name].quantized:
                continue  # only QLoRA trains on top of a quantized base, and it does so always
            yield replace(work.setup, format=formats[name], method=method)


def on_cards(work: Work, setup: Setup, cards: Cards, allowed: Mask) -> Iterator[tuple[Setup, Mask]]:
    """The setup as the cards run it: where one lacks the format, what it runs instead (FP16 for BF16 on a T4)."""
    formats = work.knowledge.catalogue.formats
    wanted = setup.format
    lacking = np.zeros_like(allowed)
    if wanted.needs in cards.rates and wanted.instead in formats:
        lacking = cards.rates[wanted.needs] == 0
    yield setup, allowed & ~lacking
    if (allowed & lacking).any():
        precision = setup.training_precision.replace(wanted.id, wanted.instead)
        yield replace(setup, format=formats[wanted.instead], training_precision=precision), allowed & lacking


class Search:
    """The smallest spread of each way of running that holds the work, for all cards at once."""

    def __init__(self, work: Work, cards: Cards, options: Options) -> None:
        self._work, self.cards, self._options = work, cards, options
        few = 1 if options.count is not None or work.setup.trains else options.replicas
        self._splits = tuple(sorted(self._spreads(), key=lambda split: split.data < few))
        self._few = few
        self.ways: list[Way] = []
        self._setups: dict[Setup, Setup] = {}
        self._known: dict[int, tuple[Setup, Setup]] = {}
        self._number: dict[tuple[int, Split], int] = {}
        self._sized: dict[tuple[int, int, int, int, str], MemoryEstimate] = {}
        self._found: list[tuple[NDArray[np.int64], NDArray[np.int64], Mask]] = []

    def way(self, setup: Setup, split: Split) -> int:
        """The number of a way of running; sized when it is new."""
        setup = self._one(setup)
        key = (id(setup), split)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.ways)
            self.ways.append(Way(setup, split, self._memory(setup, split)))
        return number

    def _one(self, setup: Setup) -> Setup:
        """One object for all equal setups: to look them up by identity is cheaper than by two dozen fields."""
        known = self._known.get(id(setup))
        if known is None:
            known = self._known[id(setup)] = setup, self._setups.setdefault(setup, setup)  # both live as long as ids do
        return known[1]

    def _memory(self, setup: Setup, split: Split) -> MemoryEstimate:
        """Memory of a spread; replicas matter only by the requests that each holds."""
        if setup.trains:
            return self._work.memory(setup, split)
        key = (id(setup), split.tensor, split.pipeline, setup.requests_per_replica(split.data), split.sharding)
        found = self._sized.get(key)
        if found is None:
            found = self._sized[key] = self._work.memory(setup, split)
        return found

    def run(self, setup: Setup, members: Mask) -> None:
        """Find the smallest spread for each member; where none holds it, the one that needs least.

        Of the ways to run on as many cards the first that holds even the high end is taken, before one that holds only
        the likely need: recomputing activations costs less than running out of memory. Where the smallest spread holds
        only that, the smallest that holds the high end is found as well: whether room is worth the price is for rules.
        """
        if not members.any():
            return
        setup = self._one(setup)
        ways = [replace(setup, gradient_checkpointing=kind) for kind in self._checkpointing(setup)] or [setup]
        usable, per_node = self.cards.usable_bytes, self.cards.per_node
        best = np.full(len(usable), -1, dtype=np.int64)
        least = np.full(len(usable), np.inf)
        roomier = np.full(len(usable), -1, dtype=np.int64)
        held, settled = np.zeros_like(members), np.zeros_like(members)
        floors: dict[tuple[int, int], float] = {}
        tried: set[tuple[int, int, int, bool]] = set()
        for split in self._splits:
            if not setup.trains:
                enough = split.data >= self._few
                load = (split.tensor, split.pipeline, setup.requests_per_replica(split.data), enough)
                if load in tried:
                    continue  # more replicas of one request each need no less than those before
                tried.add(load)
            most = per_node * self._options.max_nodes
            group = (
                members
                & ~(settled if setup.trains or split.data >= self._few else held)
                & (split.tensor <= per_node)
                & (split.cards <= most)
            )
            if not group.any():
                continue
            if not setup.trains and split.data > 1:
                shard = (split.tensor, split.pipeline)
                if shard not in floors:
                    floors[shard] = self._floor(setup, split)
                if not (group & ((floors[shard] <= usable) | (best < 0))).any():
                    continue  # not even one request would fit, however many replicas there are
            tight = held.copy()
            for sharding in self._shardings(setup, split):
                sharded = split if sharding == "none" else replace(split, sharding=sharding)
                for way in ways:
                    number = self.way(way, sharded)
                    memory = self.ways[number].memory
                    fits, roomy = group & (memory.total <= usable), group & (memory.high <= usable)
                    take = ~tight & (roomy | (group & ~held & (fits | (memory.total < least))))
                    best[take] = number
                    least[take] = memory.total
                    roomier[tight & roomy] = number
                    held |= fits
                    settled |= roomy
                    group = group & ~roomy
        for found in (best, roomier):
            rows = np.flatnonzero(members & (found >= 0))
            self._found.append((rows, found[rows], held[rows]))

    def _floor(self, setup: Setup, split: Split) -> float:
        """What one request at a time would need of a card, spread over shards so: replicas cannot get below it."""
        return self._memory(setup, replace(split, data=max(setup.concurrency, 1))).total

    def _shardings(self, setup: Setup, split: Split) -> tuple[str, ...]:
        if not setup.trains or split.data == 1:
            return ("none",)
        found = self._options.shardings or ("none",)
        if self._options.count is not None:
            return found
        return tuple(sharding for sharding in found if sharding != "none")  # whole copies need no less than one did

    def _checkpointing(self, setup: Setup) -> tuple[str, ...]:
        return self._options.checkpointing if setup.trains else ()

    def _spreads(self) -> Iterator[Split]:
        """Ways to spread over ever more cards; of those with as many, replicas before shards before stages."""
        asked = self._options.count
        shape, trains = self._work.shape, self._work.setup.trains
        shardable = shape.kind in TOKEN_KINDS and not trains
        for cards in [asked] if asked else [step for step in STEPS if step <= self._options.max_count]:
            for tensor in SHARDS if shardable else (1,):
                if cards % tensor or (shape.heads and shape.heads % tensor):
                    continue
                deep = shardable and tensor == SHARDS[-1]  # stages only beyond the widest shard
                for stages in STAGES if deep else (1,):
                    if cards % (tensor * stages) == 0 and (stages == 1 or shape.layers >= stages):
                        yield Split(tensor=tensor, pipeline=stages, data=cards // (tensor * stages))

    def found(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Mask]:
        """The cards and the ways of all plans found, and whether they fit."""
        rows = [row for row, _, _ in self._found]
        none = np.zeros(0, dtype=np.int64)
        card = np.concatenate(rows) if rows else none
        way = np.concatenate([ways for _, ways, _ in self._found]) if rows else none
        return card, way, np.concatenate([fits for _, _, fits in self._found]) if rows else np.zeros(0, dtype=np.bool_)

    def timed(self, card: NDArray[np.int64], way: NDArray[np.int64], fits: Mask) -> Field:
        """The plans with their speeds."""
        return field_of(self._work, tuple(self.ways), card, way, fits, np.zeros(len(card), dtype=np.bool_))


def field_of(
    work: Work, ways: tuple[Way, ...], card: NDArray[np.int64], way: NDArray[np.int64], fits: Mask, owned: Mask
) -> Field:
    """The plans, their speeds reckoned."""
    cards = cards_of(work.knowledge)
    return Field(cards, ways, card, way, fits, owned, _speeds(work, cards, ways, card, way))


def _speeds(work: Work, cards: Cards, ways: tuple[Way, ...], card: NDArray[np.int64], way: NDArray[np.int64]) -> Speeds:
    """Speeds of all plans, reckoned together for those that run alike."""
    alike: dict[Setup, list[int]] = {}
    for number in np.unique(way):
        alike.setdefault(ways[number].setup, []).append(int(number))
    figures: dict[str, NDArray[np.float64]] = {}
    origin: list[tuple[SpeedEstimate, NDArray[np.int64]]] = []
    for setup, numbers in alike.items():
        plans = np.flatnonzero(np.isin(way, numbers))
        rows = card[plans]
        splits = _with_nodes([ways[number].split for number in way[plans]], cards.per_node[rows])
        device = Device(
            cards.bandwidth_bytes_s[rows],
            cards.rate(setup.format.rate)[rows],
            cards.rate(HALF)[rows],
            cards.power_w[rows],
            cards.link_bytes_s[rows],
            cards.link_cards[rows],
            cards.pcie_bytes_s[rows],
            np.full(len(rows), np.nan),
            cards.kinds,
            cards.kind[rows],
            len(rows),
        )
        coefficients = work.knowledge.catalogue.coefficients
        estimate = speed.estimate(work.shape, setup, splits, device, coefficients, ranges=False)
        origin.append((estimate, plans))
        for name in speed.FIGURES:
            band: Band | None = getattr(estimate, name)
            if band is not None:
                figures.setdefault(name, np.full(len(card), np.nan))[plans] = band.likely
    return Speeds(figures, tuple(origin))


def _with_nodes(splits: Sequence[Split], per_node: NDArray[np.int64]) -> list[Split]:
    """The splits with the machines they take; few differ, so each is made once."""
    made: dict[tuple[int, int], Split] = {}
    found: list[Split] = []
    for split, size in zip(splits, per_node.tolist(), strict=True):
        key = (id(split), -(-split.cards // size))
        if key not in made:
            made[key] = split if key[1] == split.nodes else replace(split, nodes=key[1])
        found.append(made[key])
    return found


class _Growth:
    """Spreads plans further where the load, the latency or the time to train asks for it, as far as the limits allow.

    Where nobody gave the micro-batch, each spread of a training job is filled with the one that suits it. That makes it
    faster, so a job may then do with fewer replicas again, though never fewer than hold it.
    """

    def __init__(self, work: Work, search: Search, options: Options, targets: Targets) -> None:
        self._work, self._search, self._options, self._targets = work, search, options, targets

    def run(self, field: Field) -> Field:
        """The same plans, grown where that helps; or beside them those grown, where only habit asks for it."""
        if self._options.count is not None:
            return field
        grown = self._grown(field) if self._options.samples is None else self._refilled(field)
        added = np.flatnonzero(grown.way != field.way)
        if self._targets.train_hours is not None or self._targets.usual_hours is None or not added.size:
            return grown
        return self._search.timed(
            np.concatenate([field.card, field.card[added]]),
            np.concatenate([field.way, grown.way[added]]),
            np.concatenate([field.fits, field.fits[added]]),
        )

    def _grown(self, field: Field) -> Field:
        """The same plans on more accelerators."""
        for _ in range(_ROUNDS):
            late, short = self._lateness(field), shortfall(field, self._targets)
            changed = np.where(late > 1, self._sooner(field, late), field.way)
            for index in np.flatnonzero(field.fits & (late <= 1) & (short > 1)):
                grown = self._more(field, int(index), float(short[index]))
                if grown is not None:
                    changed[index] = self._search.way(*grown)
            if (changed == field.way).all():
                break
            field = self._search.timed(field.card, changed, field.fits)
        return field

    def _refilled(self, field: Field) -> Field:
        """The filled plans on as many accelerators as it takes: of the spreads tried the smallest in time, or else the
        one nearest to it.
        """
        fewest = least = field.replicas
        best, late = field.way, np.fmax(shortfall(field, self._targets), 1.0)
        for _ in range(_ROUNDS):
            short = shortfall(field, self._targets)
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
            replicas_now, overdue = field.replicas, np.fmax(shortfall(field, self._targets), 1.0)
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


def capped_by(field: Field, options: Options, targets: Targets) -> tuple[str, ...]:
    """Which of max_count and max_nodes keeps a plan that is slower than asked from taking more accelerators."""
    if options.count is not None or not len(field):
        return ()
    per_node, replicas = field.cards.per_node[field.card], field.replicas
    cards = np.array([way.split.cards for way in field.ways], dtype=np.int64)[field.way]
    late = field.fits & (shortfall(field, replace(targets, usual_hours=None)) > 1)
    next_machine = (cards // per_node + 1) * per_node
    more = np.where(cards < per_node, cards + cards // replicas, next_machine)
    found = {"max_count": more > options.max_count, "max_nodes": -(-more // per_node) > options.max_nodes}
    return tuple(key for key, mask in found.items() if (late & mask).any())


def shortfall(field: Field, targets: Targets) -> NDArray[np.float64]:
    """How many times too slow each plan is for the load or the time to train; 0 where that is not known."""
    short = np.zeros(len(field))
    figures = field.speeds.figures
    with np.errstate(all="ignore"):
        for name, wanted in (("requests_per_s", targets.requests_per_s), ("frames_per_s", targets.frames_per_s)):
            if wanted is not None and name in figures:
                short = np.fmax(short, wanted / figures[name])
        hours = targets.train_hours or targets.usual_hours
        if hours is not None and "train_hours" in figures:
            short = np.fmax(short, figures["train_hours"] / hours)
    return np.where(np.isfinite(short), short, 0.0)


def _whole_machines(cards: int, per_node: int) -> int:
    """As many cards or a few more, spread evenly over links: a power of two within a machine, or whole machines."""
    if cards > per_node:
        return math.ceil(cards / per_node) * per_node
    return min(1 << (cards - 1).bit_length(), per_node)
