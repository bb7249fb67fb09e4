"""A field of plans: accelerators, ways of running them, and the speeds, as columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.checks.calculation import Range
from whygpu.checks.correction import FIGURES, Corrected, distance, place_of
from whygpu.checks.setup import HALF, CardKind, Device, ParallelLayout, Setup, first_rate, pcie_bytes_s
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.columns import Band
from whygpu.kept import kept
from whygpu.plans.fixed import FixedLayout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.memory.estimate import MemoryEstimate
    from whygpu.checks.speed.estimate import SpeedEstimate
    from whygpu.knowledge.catalogue import Accelerator, Catalogue
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
    usual_count: int
    """Accelerators up to which room to spare is looked for; beyond, only for what would hold the work at all."""
    replicas: int = 1
    """The fewest that a service may rest on, where the limits allow as many."""
    samples: int | None = None
    """Most samples of a training step over all replicas where nobody gave the micro-batch; None where it is given."""
    at_once: int | None = None
    """Most samples that a replica of batch work has in flight where nobody gave any; None where they are given."""
    queues: bool = True
    """Whether plans may admit fewer requests than are asked for where none holds them all."""
    fixed: FixedLayout = field(default_factory=FixedLayout)
    owned: tuple[tuple[int, int], ...] = ()
    """What is there already: rows of the catalogue, and how many of each."""
    machines: Machines = field(default_factory=Machines)


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
class RunConfiguration:
    """One way of running, spread over some accelerators, and what each of them would hold."""

    setup: Setup
    layout: ParallelLayout
    memory: MemoryEstimate


@dataclass(frozen=True, slots=True)
class Candidate:
    """One plan: an accelerator and a way of running on it."""

    accelerator: Accelerator
    setup: Setup
    layout: ParallelLayout
    memory: MemoryEstimate


@dataclass(frozen=True, slots=True)
class Speeds:
    """Speeds of all plans: the likely figures that apply, over plans, and the estimate each plan's come from."""

    figures: Mapping[str, NDArray[np.float64]]
    origin: tuple[tuple[SpeedEstimate, NDArray[np.int64]], ...]
    """Estimates, each with the plans it is for."""
    _ranged: dict[tuple[int, int | None], SpeedEstimate] = field(default_factory=dict, compare=False, repr=False)
    """What was computed with ranges, which few plans need: of an estimate one plan, then (None) all of its plans."""

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
class PlanSet:
    """All plans, in columns: each is a card (a row of the catalogue) and a way of running."""

    cards: Cards
    configurations: tuple[RunConfiguration, ...]
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
        speeds = self.speeds.take(rows, len(self))
        return replace(
            self,
            card=self.card[rows],
            configuration=self.configuration[rows],
            fits=self.fits[rows],
            owned=self.owned[rows],
            speeds=speeds,
        )

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
        return np.array([configuration.layout.data for configuration in self.configurations], dtype=np.int64)[
            self.configuration
        ]

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Machines of each plan."""
        counts = np.array([configuration.layout.cards for configuration in self.configurations], dtype=np.int64)
        return -(-counts[self.configuration] // self.cards.per_node[self.card])


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

    _first: dict[tuple[str, ...], NDArray[np.float64]] = field(default_factory=dict, compare=False, repr=False)

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
    )


def plan_set_of(
    work: Work,
    configurations: tuple[RunConfiguration, ...],
    card: NDArray[np.int64],
    configuration: NDArray[np.int64],
    fits: Mask,
    owned: Mask,
    machines: Machines,
) -> PlanSet:
    """The plans, their speeds computed."""
    cards = cards_of(work.catalogue)
    return PlanSet(
        cards,
        configurations,
        card,
        configuration,
        fits,
        owned,
        _speeds(work, cards, configurations, card, configuration, machines),
    )


def _speeds(
    work: Work,
    cards: Cards,
    configurations: tuple[RunConfiguration, ...],
    card: NDArray[np.int64],
    configuration: NDArray[np.int64],
    machines: Machines,
) -> Speeds:
    """Speeds of all plans, computed together for those that run alike."""
    alike: dict[Setup, list[int]] = {}
    keys: dict[int, Setup] = {}  # few setups differ, and to make and compare them takes time
    for number in sorted(set(configuration.tolist())):
        setup = configurations[number].setup
        if id(setup) not in keys:
            keys[id(setup)] = replace(setup, concurrency=0)  # which differs from plan to plan
        alike.setdefault(keys[id(setup)], []).append(number)
    concurrency = np.array([one.setup.concurrency for one in configurations], dtype=np.float64)[configuration]
    network, vcpus = (_known(stated, len(cards.accelerators)) for stated in (machines.networks, machines.vcpus))
    figures: dict[str, NDArray[np.float64]] = {}
    origin: list[tuple[SpeedEstimate, NDArray[np.int64]]] = []
    for setup, numbers in alike.items():
        plans = np.flatnonzero(np.isin(configuration, numbers))
        rows = card[plans]
        layouts, which = _with_nodes(configurations, configuration[plans], cards.per_node[rows])
        device = Device(
            cards.bandwidth_bytes_s[rows],
            cards.rate(setup.format.rate)[rows],
            cards.rate(HALF)[rows],
            cards.power_w[rows],
            cards.link_bytes_s[rows],
            cards.link_cards[rows],
            cards.pcie_bytes_s[rows],
            network[rows],
            cards.video_frames_s[rows],
            cards.jpeg_pixels_s[rows],
            vcpus[rows],
            cards.kinds,
            cards.kind[rows],
            len(rows),
        )
        coefficients = work.catalogue.coefficients
        estimate = speed.estimate(
            work.shape,
            setup,
            layouts,
            device,
            coefficients,
            ranges=False,
            concurrency=concurrency[plans],
            which=which,
            corrected=tuple(_corrected(work, setup, layouts, which, cards, rows, concurrency[plans])),
        )
        origin.append((estimate, plans))
        for name in speed.FIGURES:
            band: Band | None = getattr(estimate, name)
            if band is not None:
                figures.setdefault(name, np.full(len(card), np.nan))[plans] = band.likely
    return Speeds(figures, tuple(origin))


def _known(stated: tuple[float, ...], size: int) -> NDArray[np.float64]:
    """What is stated of each accelerator's machines; NaN where that is nothing."""
    figures = np.array(stated or (0.0,) * size)
    return np.where(figures > 0, figures, np.nan)


def _corrected(
    work: Work,
    setup: Setup,
    layouts: Sequence[ParallelLayout],
    which: NDArray[np.int64],
    cards: Cards,
    rows: NDArray[np.int64],
    concurrency: NDArray[np.float64],
) -> Iterator[Corrected]:
    """By which measurement each plan is corrected: of each kind the nearest on its card."""
    own = [item for item in work.corrections if item.applies(setup)]
    ids = [cards.accelerators[row].id for row in rows] if own else []
    for kind in dict.fromkeys(item.kind for item in own if FIGURES[item.kind]):
        items = [item for item in own if item.kind == kind]
        places = [
            place_of(work.shape, setup, layouts[number], requests)
            for number, requests in zip(which.tolist(), concurrency.tolist(), strict=True)
        ]
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


def _with_nodes(
    configurations: Sequence[RunConfiguration], numbers: NDArray[np.int64], per_node: NDArray[np.int64]
) -> tuple[list[ParallelLayout], NDArray[np.int64]]:
    """The splits with the machines they take, each once, and which of them is that of each plan."""
    base = int(per_node.max(initial=0)) + 1
    pairs = numbers * base + per_node
    each = sorted(set(pairs.tolist()))  # numpy.unique imports masked arrays
    found: list[ParallelLayout] = []
    for number, size in (divmod(pair, base) for pair in each):
        layout = configurations[number].layout
        nodes = -(-layout.cards // size)
        found.append(layout if nodes == layout.nodes else replace(layout, nodes=nodes))
    return found, np.searchsorted(each, pairs)
