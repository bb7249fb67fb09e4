"""A field of plans: accelerators, ways of running them, and the speeds, as columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whygpu.checks.calculation import Range
from whygpu.checks.correction import FIGURES, Corrected, distance, operating_point
from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import HALF, TF32, CardKind, Device, ParallelLayout, Setup, first_rate, pcie_bytes_s
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Band, Columns, on_machines
from whygpu.kept import kept
from whygpu.plans.fixed import FixedLayout
from whygpu.plans.slices import rentable, slices_of
from whygpu.plans.ways import Ways, at_once_of, cards_of_way, in_flight_of, kind_of, replicas_of, split_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.memory.estimate import MemoryEstimate
    from whygpu.checks.speed.estimate import SpeedEstimate
    from whygpu.knowledge.catalogue import Accelerator, Catalogue
    from whygpu.plans.slices import Slices
    from whygpu.plans.ways import RunConfiguration
    from whygpu.plans.work import Work

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
class Machines:
    """What the machines around the accelerators have, by rows of the catalogue; 0 where not known, empty where nothing
    is.
    """

    networks: tuple[float, ...] = ()
    """Bytes a second and card between machines."""
    vcpus: tuple[float, ...] = ()
    """Threads of the host's processors for each card."""
    rented_for: Callable[[str, int, int, int], int] | None = None
    """Of an accelerator's id, the cards of a group, the groups of a plan and the cards in one machine: the cards of the
    machines that are rented for it; None where hardware is bought.
    """


@dataclass(frozen=True, slots=True)
class Options:
    """What the session rules and answers leave to try."""

    formats: tuple[str, ...]
    kv_formats: tuple[str, ...]
    """Formats of the key and value cache that are tried beside the one that the work is in."""
    methods: tuple[str, ...]
    shardings: tuple[str, ...]
    checkpointing: tuple[str, ...]
    count: int | None
    max_count: int
    max_nodes: int
    usual_count: int
    """Accelerators up to which room to spare is looked for; beyond, only for what would hold the work at all."""
    max_watts: float | None = None
    """What the accelerators may draw together: no plan is spread further; None where nothing was said."""
    replicas: int = 1
    """The fewest that a service may rest on, where the limits allow as many."""
    samples: int | None = None
    """Most samples of a training step over all replicas where nobody gave the micro-batch; None where it is given."""
    each: int | None = None
    """Most samples at once on a replica of training, where that many are only assumed of what reads no tokens: each
    plan takes as many of them as its cards hold; None where the number is given, or ``samples`` says it.
    """
    at_once: int | None = None
    """Most samples that a replica of batch work has in flight where nobody gave any; None where they are given."""
    shared: bool = False
    """Whether the requests in flight, or their rate, were answered: replicas added for a rate share them, as far as
    that reaches it, and a slower plan has more of them.
    """
    busy: int | None = None
    """Most replicas of a service that have a request each: on so many cards as were asked for one more helps nobody,
    and fewer hold more or answer sooner; None where as many as there are may have one.
    """
    short: bool = False
    """Whether to find what does not hold all requests, on each number of cards: nothing that does can be chosen."""
    fixed: FixedLayout = field(default_factory=FixedLayout)
    fused: bool = True
    """Whether a training framework with fused kernels may be taken: not where another stack was answered."""
    owned: tuple[tuple[int, int], ...] = ()
    """What is there already: rows of the catalogue, and how many of each."""
    machines: Machines = field(default_factory=Machines)

    @property
    def most_replicas(self) -> float:
        """Most replicas, on so many cards as were asked for, before those that have no request."""
        return math.inf if self.count is None or self.busy is None else max(self.busy, self.replicas)

    @property
    def fills(self) -> bool:
        """Whether each plan of a training job takes the micro-batch that its cards hold."""
        return self.samples is not None or self.each is not None


@dataclass(frozen=True, slots=True)
class Targets:
    """What the plan must reach; None where nothing is asked."""

    requests_per_s: float | None = None
    frames_per_s: float | None = None
    ttft_ms: float | None = None
    token_ms: float | None = None
    train_hours: float | None = None
    paces: tuple[float, ...] = ()
    """Hours that a job usually takes at most, or that leave room before the deadline: slower plans stay, beside others
    that keep to them.
    """
    paces_of_one_machine: tuple[float, ...] = ()
    """Hours that a job is better done in where one machine can: there more accelerators cost little more."""
    token_paces: tuple[float, ...] = ()
    """Milliseconds that a token of a service usually takes at most: slower plans stay, beside others of one machine
    that keep to them.
    """
    busiest_share: float = 1.0
    """Share of its rate that a service is kept busy at most: busier plans stay, beside others that keep to it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One plan: an accelerator and a way of running on it."""

    accelerator: Accelerator
    setup: Setup
    layout: ParallelLayout
    memory: MemoryEstimate


Origin: TypeAlias = "tuple[tuple[SpeedEstimate, NDArray[np.int64]], ...]"
"""Estimates of speed, each with the rows of the plans that it is for."""
_FEW = 6
"""Plans of which ranges are found, before one more has them found for all."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """The likely figures of speed that apply, over all plans."""

    figures: Mapping[str, NDArray[np.float64]]

    def likely(self, name: str, index: int) -> float:
        """The likely figure of one plan; NaN where it does not apply or is not known."""
        figures = self.figures.get(name)
        return math.nan if figures is None else float(figures[index])

    def take(self, rows: NDArray[np.int64]) -> Speeds:
        """Those of some of the plans."""
        return Speeds({name: column[rows] for name, column in self.figures.items()})


@dataclass(frozen=True, slots=True)
class PlanSet:
    """All plans, in columns: each is a card (a row of the catalogue) and a way of running."""

    work: Work
    machines: Machines
    cards: Cards
    configurations: Ways
    card: NDArray[np.int64]
    configuration: NDArray[np.int64]
    fits: Mask
    owned: Mask
    """Plans on what is there already."""
    speeds: Speeds
    known: dict[str, Any] = field(init=False, default_factory=dict, compare=False, repr=False)
    """What was found of the plans, by what it is: they are asked about in one consultation after the other."""

    def __len__(self) -> int:
        """How many plans there are."""
        return len(self.card)

    def take(self, rows: NDArray[np.int64]) -> PlanSet:
        """These plans alone."""
        speeds = self.speeds.take(rows)
        return replace(
            self,
            card=self.card[rows],
            configuration=self.configuration[rows],
            fits=self.fits[rows],
            owned=self.owned[rows],
            speeds=speeds,
        )

    def distinct(self) -> PlanSet:
        """The same plans, each once: what was found tightly and with room may be filled and grown to the same."""
        first = np.unique(np.stack([self.card, self.configuration]), axis=1, return_index=True)[1]
        return self if len(first) == len(self) else self.take(np.sort(first))

    def compact(self) -> PlanSet:
        """The same plans without the ways that were only tried."""
        used = sorted(set(self.configuration.tolist()))
        places = np.zeros(len(self.configurations), dtype=np.int64)
        places[used] = np.arange(len(used))
        ways = Ways(self.configurations[number] for number in used)
        return replace(self, configurations=ways, configuration=places[self.configuration])

    def estimate(self, index: int) -> SpeedEstimate:
        """The speed of one plan alone, and how it came about: few plans are looked at."""
        rows = slice(index, index + 1)
        return _timed(self.work, self.configurations, self.card[rows], self.configuration[rows], self.machines)[0][0]

    def ranges(self, index: int) -> dict[str, Range | None]:
        """Every figure of speed of one plan with its range; None where it does not apply or is not known."""
        if index not in self._ranged:
            self.find_ranges([index] if len(self._ranged) < _FEW else range(len(self)))
        estimate, place = self._ranged[index]
        return _ranges(estimate, place)

    def find_ranges(self, rows: Sequence[int]) -> None:
        """Find the ranges of these plans together, which takes hardly longer than those of one."""
        new = np.array([row for row in dict.fromkeys(rows) if row not in self._ranged], dtype=np.int64)
        if not new.size:
            return
        ways = self.card[new], self.configuration[new]
        for estimate, places in _timed(self.work, self.configurations, *ways, self.machines, ranges=True):
            self._ranged.update((row, (estimate, place)) for place, row in enumerate(new[places].tolist()))

    @property
    def _ranged(self) -> dict[int, tuple[SpeedEstimate, int]]:
        """The plans whose ranges are found: by row the estimate that has them, and their place in it."""
        found: dict[int, tuple[SpeedEstimate, int]] = self.known.setdefault("ranged", {})
        return found

    def candidate(self, index: int) -> Candidate:
        """One plan."""
        card, configuration = int(self.card[index]), self.configurations[int(self.configuration[index])]
        nodes = -(-configuration.layout.cards // int(self.cards.per_node[card]))
        return Candidate(
            self.cards.accelerators[card],
            configuration.setup,
            replace(configuration.layout, nodes=nodes),
            configuration.memory,
        )

    @property
    def replicas(self) -> NDArray[np.int64]:
        """Replicas of each plan."""
        return self.each(replicas_of)

    @property
    def in_flight(self) -> NDArray[np.int64]:
        """Requests in flight of each plan."""
        return self.each(in_flight_of)

    @property
    def at_once(self) -> NDArray[np.float64]:
        """Requests in flight, or samples of a step, of each plan."""
        return self.each(at_once_of).astype(np.float64)

    @property
    def counts(self) -> NDArray[np.float64]:
        """Accelerators of each plan."""
        return self.each(cards_of_way).astype(np.float64)

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Machines of each plan."""
        return -(-self.each(cards_of_way) // self.cards.per_node[self.card])

    def each(self, of: Callable[[RunConfiguration], object]) -> NDArray[Any]:
        """Something of each plan's way of running; ``of``: a function that stays (see Ways.column)."""
        return self.configurations.column(of)[self.configuration]


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
    video_frames_s: NDArray[np.float64]
    jpeg_pixels_s: NDArray[np.float64]
    rates: Mapping[str, NDArray[np.float64]]
    """Operations per second by rate; NaN where not known, zero where the hardware lacks it."""
    kinds: tuple[CardKind, ...]
    kind: NDArray[np.int64]
    slices: tuple[Slices | None, ...]
    slice_kind: NDArray[np.int64]

    _first: dict[tuple[str, ...], NDArray[np.float64]] = field(default_factory=dict, compare=False, repr=False)

    def rentable(self, layout: ParallelLayout, trains: bool) -> Mask:
        """Which of them are rented in the count of this layout."""
        return rentable(self.slices, self.slice_kind, layout, trains)

    def slices_at(self, row: int) -> Slices | None:
        """The slices that one of them is rented in; None where any count can be had."""
        return self.slices[int(self.slice_kind[row])]

    @property
    def sliced(self) -> Mask:
        """Which of them are rented in slices of certain counts alone."""
        return np.array([slices is not None for slices in self.slices])[self.slice_kind]

    @property
    def machine(self) -> NDArray[np.int64]:
        """One number for all with machines as large that are rented alike."""
        return self.per_node * len(self.slices) + self.slice_kind

    def rate(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The rate that arithmetic in a format with these rates takes place at."""
        if names not in self._first:
            self._first[names] = first_rate(names, self.rates)
        return self._first[names]


@kept(8)
def cards_of(catalogue: Catalogue) -> Cards:
    """The catalogue's accelerators as columns."""
    cards = tuple(catalogue.accelerators.values())

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
        np.array([catalogue.usable_bytes(card) for card in cards]),
        per_node.astype(np.int64),
        column("bandwidth_gb_s", 1e9),
        column("tdp_w"),
        link,
        np.where(np.isnan(joined), np.where(link > 0, per_node, 0.0), joined),
        np.array(pcie),
        np.fmin(column("video_h264_fps"), column("video_h265_fps")),
        column("jpeg_mpixels_s", 1e6),
        rates,
        kinds,
        np.array([kinds.index(word) for word in words], dtype=np.int64),
        *slices_of(cards),
    )


def most_cards(cards: Cards, options: Options, most: int) -> NDArray[np.int64]:
    """The most of each card that the limits leave, ``most`` of them at most."""
    found = np.minimum(cards.per_node * options.max_nodes, most)
    if options.max_watts is None:
        return found
    watts = np.where(cards.power_w > 0, cards.power_w, np.nan)
    return np.where(np.isnan(watts), found, np.fmin(found, options.max_watts // watts)).astype(np.int64)


def plan_set_of(
    work: Work,
    configurations: Ways,
    card: NDArray[np.int64],
    configuration: NDArray[np.int64],
    fits: Mask,
    owned: Mask,
    machines: Machines,
    concurrency: NDArray[np.int64] | None = None,
) -> PlanSet:
    """The plans, their speeds computed; ``concurrency``: their requests in flight, where not those of their setups."""
    figures: dict[str, NDArray[np.float64]] = {}
    for estimate, rows in _timed(work, configurations, card, configuration, machines, concurrency):
        for name in speed.FIGURES:
            band: Band | None = getattr(estimate, name)
            if band is not None:
                figures.setdefault(name, np.full(len(card), np.nan))[rows] = band.likely
    cards, speeds = cards_of(work.catalogue), Speeds(figures)
    return PlanSet(work, machines, cards, configurations, card, configuration, fits, owned, speeds)


def _ranges(estimate: SpeedEstimate, place: int) -> dict[str, Range | None]:
    found: dict[str, Range | None] = {}
    for name in speed.FIGURES:
        band: Band | None = getattr(estimate, name)
        at = None if band is None else band.at(place)
        found[name] = None if at is None or not math.isfinite(at.likely) else at
    return found


def _timed(
    work: Work,
    configurations: Ways,
    card: NDArray[np.int64],
    configuration: NDArray[np.int64],
    machines: Machines,
    concurrency: NDArray[np.int64] | None = None,
    *,
    ranges: bool = False,
) -> Origin:
    """Speeds of all plans, computed together for those that run alike; ``ranges``: with those of their figures."""
    if not len(card):
        return ()
    estimate_of = speed.ranged_estimate_of if ranges else speed.estimate_of
    cards = cards_of(work.catalogue)
    if concurrency is None:
        concurrency = configurations.column(in_flight_of)[configuration]
    kinds = configurations.column(kind_of)[configuration]
    _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
    setups: dict[Setup, list[int]] = {}
    for number in np.argsort(first).tolist():
        setups.setdefault(configurations[int(configuration[first[number]])].unloaded, []).append(number)
    splits = configurations.column(split_of)
    at_once = concurrency.astype(np.float64)
    network, vcpus = (_known(stated, len(cards.accelerators)) for stated in (machines.networks, machines.vcpus))
    origin: list[tuple[SpeedEstimate, NDArray[np.int64]]] = []
    for together in _at_once(work, tuple(setups)):
        group = _Group.of({setup: setups[setup] for setup in together}, kind, len(first))
        rows = card[group.plans]
        device = Device(
            cards.bandwidth_bytes_s[rows],
            group.gathered(lambda setup: cards.rate(setup.rate), rows),
            cards.rate(HALF)[rows],
            cards.rate(TF32)[rows],
            cards.power_w[rows],
            cards.link_bytes_s[rows],
            cards.link_cards[rows],
            cards.pcie_bytes_s[rows],
            network[rows],
            cards.video_frames_s[rows],
            cards.jpeg_pixels_s[rows],
            vcpus[rows],
            cards.usable_bytes[rows],
            cards.kinds,
            cards.kind[rows],
            len(rows),
        )
        columns = Columns.of_plans(
            work.shape,
            group.setups,
            group.setup,
            on_machines(splits[configuration[group.plans]], cards.per_node[rows]),
            device,
            work.catalogue.coefficients,
            at_once[group.plans],
        )
        layouts = (configurations[number].layout for number in configuration[group.plans].tolist())
        corrected = tuple(_corrected(work, group.setups[0], layouts, cards, rows, at_once[group.plans]))
        origin.append((estimate_of(replace(columns, corrected=corrected) if corrected else columns), group.plans))
    return tuple(origin)


def _at_once(work: Work, setups: Sequence[Setup]) -> Iterable[Sequence[Setup]]:
    """The setups that are timed together: samples and micro-batches of a training step are columns, and number formats
    where a service reads and writes tokens.
    """
    one, trains = work.setup, work.setup.trains
    if work.corrections or not (trains or work.shape.kind in TOKEN_KINDS):
        return ([setup] for setup in setups)
    alike: dict[str, Any] = {name: getattr(one, name) for name in ("format", "kv_format", "training_precision")}
    if trains:
        alike = {"batch_size": 1, "gradient_accumulation": 1}
    groups: dict[Setup, list[Setup]] = {}
    for setup in setups:
        groups.setdefault(setup.but(**alike), []).append(setup)
    return groups.values()


@dataclass(frozen=True, slots=True)
class _Group:
    """Plans that are timed together: which of all they are, the setups they have, and which of these each has."""

    plans: NDArray[np.int64]
    setups: tuple[Setup, ...]
    setup: NDArray[np.int64]

    @classmethod
    def of(cls, setups: Mapping[Setup, Sequence[int]], kind: NDArray[np.int64], kinds: int) -> _Group:
        """Of plans of so many kinds those of the kinds that these setups are."""
        place = np.full(kinds, -1, dtype=np.int64)
        for number, own in enumerate(setups.values()):
            place[list(own)] = number
        which = place[kind]
        plans = np.flatnonzero(which >= 0)
        return cls(plans, tuple(setups), which[plans])

    def gathered(self, of: Callable[[Setup], NDArray[np.float64]], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of each plan the figure of its card (``rows``) for its setup."""
        return np.stack([of(setup) for setup in self.setups])[self.setup, rows]


def _known(stated: tuple[float, ...], size: int) -> NDArray[np.float64]:
    """What is stated of each accelerator's machines; NaN where that is nothing."""
    figures = np.array(stated or (0.0,) * size)
    return np.where(figures > 0, figures, np.nan)


def _corrected(
    work: Work,
    setup: Setup,
    layouts: Iterable[ParallelLayout],
    cards: Cards,
    rows: NDArray[np.int64],
    concurrency: NDArray[np.float64],
) -> Iterator[Corrected]:
    """By which measurement each plan is corrected: of each kind the nearest on its card."""
    own = [item for item in work.corrections if item.applies(setup)]
    if not own:
        return
    ids = [cards.accelerators[row].id for row in rows]
    places = [
        operating_point(work.shape, setup, layout, requests)
        for layout, requests in zip(layouts, concurrency.tolist(), strict=True)
    ]
    for kind in dict.fromkeys(item.kind for item in own if FIGURES[item.kind]):
        items = [item for item in own if item.kind == kind]
        yield Corrected.nearest(
            items,
            np.array(
                [
                    [
                        distance(place, item.at) if card == item.accelerator else math.inf
                        for place, card in zip(places, ids, strict=True)
                    ]
                    for item in items
                ]
            ),
        )
