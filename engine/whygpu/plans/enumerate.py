"""Which plans there are: each accelerator and way of running, at the smallest count that meets the work."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks import speed
from whygpu.checks.setup import CardKind, Device, Setup, Split, pcie_bytes_s
from whygpu.checks.shape import TOKEN_KINDS
from whygpu.checks.speed_columns import Band
from whygpu.quantity import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.catalogue import Accelerator
    from whygpu.checks.memory import MemoryEstimate
    from whygpu.checks.setup import Format
    from whygpu.checks.speed import SpeedEstimate
    from whygpu.plans.work import Work

SHARDS = (1, 2, 4, 8)
"""Tensor-parallel widths tried: powers of two, as serving stacks need."""
_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_LATENCY_ROUNDS = 4


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


@dataclass(frozen=True, slots=True)
class Targets:
    """What the plan must reach; None where nothing is asked."""

    requests_per_s: float | None = None
    frames_per_s: float | None = None
    ttft_ms: float | None = None
    token_ms: float | None = None
    train_hours: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One plan: an accelerator, how the work runs on it, spread over how many; ``fits``: some count tried holds it."""

    accelerator: Accelerator
    setup: Setup
    split: Split
    memory: MemoryEstimate
    fits: bool


@dataclass(frozen=True, slots=True)
class Speeds:
    """Speeds of all plans: a band over plans for each figure that applies, and the estimate each plan's come from."""

    bands: Mapping[str, Band]
    origin: tuple[tuple[SpeedEstimate, int], ...]

    def likely(self, name: str, index: int) -> float:
        """The likely figure of one plan; NaN where it does not apply or is not known."""
        band = self.bands.get(name)
        return math.nan if band is None else float(band.likely[index])


@dataclass(frozen=True, slots=True)
class Field:
    """All plans and their speeds, plan by plan."""

    candidates: tuple[Candidate, ...]
    speeds: Speeds


def usable_bytes(accelerator: Accelerator) -> float:
    """Memory that can be used; NaN where it is not known."""
    mib = accelerator.number("usable_mib")
    return math.nan if mib is None else mib * MIB


def cards_per_node(accelerator: Accelerator) -> int:
    """Most accelerators in one machine; 1 where it is not known."""
    return max(int(accelerator.number("cards_per_node") or 1), 1)


def enumerate_plans(work: Work, accelerators: Sequence[Accelerator], options: Options, targets: Targets) -> Field:
    """Every plan, spread until it holds the work and meets the load, or until the largest count allowed."""
    found: list[Candidate] = []
    for setup in _ways(work, options):
        found.extend(_Search(work, setup, accelerators, options).run())
    if not found:
        return Field((), Speeds({}, ()))
    return _meet(work, found, options, targets)


def _ways(work: Work, options: Options) -> Iterator[Setup]:
    formats = work.knowledge.catalogue.formats
    for method in options.methods or (work.setup.method,):
        for name in options.formats:
            if work.setup.trains and (method == "qlora") != formats[name].quantized:
                continue  # only QLoRA trains on top of a quantized base, and it does so always
            yield replace(work.setup, format=formats[name], method=method)


class _Search:
    """The smallest spread of one way of running, for every accelerator at once."""

    def __init__(self, work: Work, setup: Setup, accelerators: Sequence[Accelerator], options: Options) -> None:
        self._work, self._options = work, options
        self._accelerators = accelerators
        self._setups = [self._on_card(setup, card) for card in accelerators]
        self._usable = np.array([usable_bytes(card) for card in accelerators])
        self._nodes = np.array([cards_per_node(card) for card in accelerators])

    def _on_card(self, setup: Setup, card: Accelerator) -> Setup:
        """Formats that the card lacks give way to what it runs instead (BF16 to FP16 on a T4)."""
        formats = self._work.knowledge.catalogue.formats
        wanted: Format = setup.format
        if wanted.needs and wanted.instead in formats and card.lacks(wanted.needs):
            precision = setup.training_precision.replace(wanted.id, wanted.instead)
            return replace(setup, format=formats[wanted.instead], training_precision=precision)
        return setup

    def run(self) -> Iterator[Candidate]:
        size = len(self._accelerators)
        chosen: list[Candidate | None] = [None] * size
        open_ = np.ones(size, dtype=np.bool_)
        distinct = list(dict.fromkeys(self._setups))
        members = {setup: np.array([item == setup for item in self._setups]) for setup in distinct}
        for split in self._splits():
            allowed = open_ & (split.tensor <= self._nodes) & (split.cards <= self._nodes * self._options.max_nodes)
            if not allowed.any():
                continue
            for setup in distinct:
                group = allowed & members[setup]
                for index, candidate in self._try(setup, split, np.flatnonzero(group)):
                    if candidate.fits:
                        open_[index] = False
                    if candidate.fits or chosen[index] is None or candidate.memory.total < chosen[index].memory.total:  # type: ignore[union-attr]
                        chosen[index] = candidate
            if not open_.any():
                break
        yield from (candidate for candidate in chosen if candidate is not None)

    def _try(self, setup: Setup, split: Split, indices: NDArray[np.int64]) -> Iterator[tuple[int, Candidate]]:
        """The least costly way to use this many cards: lighter sharding and checkpointing first."""
        left = list(indices)
        for sharding in self._shardings(setup, split):
            for checkpointing in self._checkpointing(setup):
                if not left:
                    return
                way = replace(setup, gradient_checkpointing=checkpointing)
                spread = replace(split, sharding=sharding)
                needs = self._work.memory(way, spread)
                rest: list[np.int64] = []
                for index in left:
                    card = self._accelerators[index]
                    fits = bool(needs.total <= self._usable[index])
                    nodes = -(-split.cards // int(self._nodes[index]))
                    if not fits:
                        rest.append(index)
                    yield int(index), Candidate(card, way, replace(spread, nodes=nodes), needs, fits)
                left = rest

    def _shardings(self, setup: Setup, split: Split) -> tuple[str, ...]:
        if not setup.trains or split.data == 1:
            return ("none",)
        return self._options.shardings or ("none",)

    def _checkpointing(self, setup: Setup) -> tuple[str, ...]:
        return self._options.checkpointing if setup.trains else ("off",)

    def _splits(self) -> Iterator[Split]:
        """Ways to spread over ever more cards; of those with as many, replicas before shards."""
        asked = self._options.count
        steps = [asked] if asked else [step for step in _STEPS if step <= self._options.max_count]
        shape = self._work.shape
        trains = self._work.setup.trains
        for cards in steps:
            for tensor in SHARDS if shape.kind in TOKEN_KINDS and not trains else (1,):
                if cards % tensor or (shape.heads and shape.heads % tensor):
                    continue
                if tensor == SHARDS[-1] or cards == tensor:
                    for stages in (1, 2, 4):
                        if not trains and cards % (tensor * stages) == 0 and (stages == 1 or shape.layers >= stages):
                            yield Split(tensor=tensor, pipeline=stages, data=cards // (tensor * stages))
                    if trains:
                        yield Split(tensor=tensor, data=cards // tensor)
                else:
                    yield Split(tensor=tensor, data=cards // tensor)


def device_of(candidates: Sequence[Candidate]) -> Device:
    """The cards' rates as columns over the candidates."""
    rows = [_rates(item.accelerator, item.setup.format) for item in candidates]
    kinds = [row[0] for row in rows]
    columns = np.array([row[1] for row in rows]).T
    return Device.of(
        columns[0],
        columns[1],
        link_bytes_s=columns[2],
        link_cards=columns[3],
        pcie_bytes_s=columns[4],
        network_bytes_s=columns[5],
        kinds=kinds,
    )


def _rates(card: Accelerator, form: Format) -> tuple[CardKind, tuple[float, ...]]:
    def rate(name: str, scale: float) -> float:
        value = card.number(name)
        return math.nan if value is None else value * scale

    flops = math.nan
    for name in form.rate:
        if not card.lacks(name) and card.number(name) is not None:
            flops = rate(name, 1e12)
            break
    link = card.text("link") or "none"
    generation, lanes = card.number("pcie_generation"), card.number("pcie_lanes")
    pcie = math.nan if generation is None or lanes is None else pcie_bytes_s(generation, lanes)
    kind = CardKind(card.text("generation") or "", card.text("class") or "", card.text("software") or "", link)
    both = card.number("link_gb_s")
    one_way = 0.0 if both is None or link == "none" else both * 1e9 / 2
    joined = card.number("link_cards") or (cards_per_node(card) if one_way else 0.0)
    return kind, (rate("bandwidth_gb_s", 1e9), flops, one_way, float(joined), pcie, math.nan)


def speeds_of(work: Work, candidates: Sequence[Candidate]) -> Speeds:
    """Speeds of all candidates, reckoned together for those that run alike."""
    alike: dict[Setup, list[int]] = {}
    for index, candidate in enumerate(candidates):
        alike.setdefault(candidate.setup, []).append(index)
    size = len(candidates)
    found: dict[str, Band] = {}
    origin: list[tuple[SpeedEstimate, int]] = [None] * size  # type: ignore[list-item]  # filled below, each once
    for setup, indices in alike.items():
        group = [candidates[index] for index in indices]
        coefficients = work.knowledge.catalogue.coefficients
        estimate = speed.estimate(work.shape, setup, [item.split for item in group], device_of(group), coefficients)
        for local, index in enumerate(indices):
            origin[index] = (estimate, local)
        for name in speed.FIGURES:
            band: Band | None = getattr(estimate, name)
            if band is None:
                continue
            whole = found.setdefault(name, Band(*(np.full(size, np.nan) for _ in range(3))))
            whole.low[indices], whole.likely[indices], whole.high[indices] = band.low, band.likely, band.high
    return Speeds(found, tuple(origin))


def _meet(work: Work, candidates: list[Candidate], options: Options, targets: Targets) -> Field:
    """Spread plans further where the load, the latency or the deadline asks for it and the limits allow it."""
    speeds = speeds_of(work, candidates)
    for _ in range(_LATENCY_ROUNDS):
        changed = False
        for index, candidate in enumerate(candidates):
            wider = _wider(work, candidate, speeds, index, options, targets) if candidate.fits else None
            if wider is not None:
                candidates[index] = wider
                changed = True
        if not changed:
            break
        speeds = speeds_of(work, candidates)
    return Field(tuple(candidates), speeds)


def _wider(
    work: Work, candidate: Candidate, speeds: Speeds, index: int, options: Options, targets: Targets
) -> Candidate | None:
    """The candidate with more shards (for latency) or replicas (for load); None where it meets all or cannot grow."""
    split = candidate.split
    most = min(cards_per_node(candidate.accelerator) * options.max_nodes, options.max_count)
    if options.count is not None:
        return None
    grown = split
    if _misses(speeds.likely("token_ms", index), targets.token_ms) or _misses(
        speeds.likely("ttft_ms", index), targets.ttft_ms
    ):
        tensor = split.tensor * 2
        shardable = work.shape.kind in TOKEN_KINDS and not work.setup.trains
        if (
            shardable
            and tensor <= min(SHARDS[-1], cards_per_node(candidate.accelerator))
            and work.shape.heads % tensor == 0
        ):
            grown = replace(split, tensor=tensor)
    elif (factor := _shortfall(speeds, index, targets)) > 1:
        grown = replace(split, data=math.ceil(split.data * factor - 1e-9))
    if grown == split or grown.cards > most:
        return None
    nodes = -(-grown.cards // cards_per_node(candidate.accelerator))
    grown = replace(grown, nodes=nodes)
    return replace(candidate, split=grown, memory=work.memory(candidate.setup, grown))


def _misses(time_ms: float, limit: float | None) -> bool:
    return limit is not None and time_ms > limit


def _shortfall(speeds: Speeds, index: int, targets: Targets) -> float:
    """How many times too slow the plan is for the load asked; 1 or less where it is fast enough or not known."""
    pairs = [
        (targets.requests_per_s, speeds.likely("requests_per_s", index)),
        (targets.frames_per_s, speeds.likely("frames_per_s", index)),
    ]
    factors = [wanted / got for wanted, got in pairs if wanted is not None and got > 0]
    hours = speeds.likely("train_hours", index)
    if targets.train_hours is not None and hours > 0:
        factors.append(hours / targets.train_hours)
    return max((factor for factor in factors if math.isfinite(factor)), default=0.0)
