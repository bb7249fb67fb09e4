"""Columns that the speed checks compute with: rows over n plans, of which the first is the likely figure.

Behind it come two rows for each uncertain coefficient, that one at its worst and at its best and all others at their
likely figures. The coefficients are measured apart from each other, so a range combines what each moves by the root
of the sum of squares, not by setting all to their worst at once. Speeds are products of shares and rates, so what is
squared are relative changes, as logarithms. Source: JCGM 100:2008 (Guide to the expression of uncertainty in
measurement), 5.1.2, uncorrelated input quantities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, overload

import numpy as np

from whygpu.checks.calculation import Range, Term
from whygpu.checks.coefficients import Coefficients
from whygpu.checks.correction import Corrected
from whygpu.checks.memory.parts import coefficient_term
from whygpu.checks.model_shape import ModelShape
from whygpu.checks.setup import (
    GATHERING,
    SHARDS_GRADIENTS,
    TABLES,
    CardKind,
    Device,
    FloatArray,
    IntArray,
    ParallelLayout,
    Setup,
)

LIKELY = 0
ASSUMED_OPERATIONS = "operations-per-parameter"
_LOW, _MIDDLE, _HIGH = range(3)


@dataclass(frozen=True, slots=True)
class Band:
    """A figure of every plan with its range: three columns of length n, low <= likely <= high, NaN where not known."""

    low: FloatArray
    likely: FloatArray
    high: FloatArray

    def at(self, index: int) -> Range:
        """The range of one plan."""
        return Range(float(self.low[index]), float(self.likely[index]), float(self.high[index]))

    @classmethod
    def of(cls, rows: FloatArray, factor: float = 1.0) -> Band:
        """From rows: the likely figure times `factor`, and how far all coefficients together move it either way."""
        likely = rows[LIKELY]
        if len(rows) == 1:  # without ranges all three are the likely figure
            figure = likely * factor
            return cls(figure, figure, figure)
        moved = np.log(rows[LIKELY + 1 :] / likely)
        down, up = np.minimum(moved, 0.0), np.maximum(moved, 0.0)
        return cls(
            likely * np.exp(-np.sqrt((down**2).sum(axis=0))) * factor,
            likely * factor,
            likely * np.exp(np.sqrt((up**2).sum(axis=0))) * factor,
        )


WIRE = (
    "bus-share",
    "link-latency-s",
    "pcie-latency-s",
    "network-latency-s",
    "pcie-bytes-s",
    "host-bridge-bytes-s",
    "network-bytes-s",
)
"""Coefficients of the path between cards."""


def _words(kind: CardKind) -> dict[str, str]:
    """A card's words as coefficients know them."""
    return {
        "generation": kind.generation,
        "class": kind.card_class,
        "software": kind.software,
        "link": kind.link,
        "memory": kind.memory,
    }


@dataclass(frozen=True, slots=True)
class _Contexts(Sequence[Mapping[str, str]]):
    """The words of each kind of card beside those of the work, put together for the kinds that are looked at: mostly
    one of dozens.
    """

    base: Mapping[str, str]
    kinds: Sequence[CardKind]

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, str]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, str]]: ...

    def __getitem__(self, index: int | slice) -> Mapping[str, str] | Sequence[Mapping[str, str]]:
        if isinstance(index, slice):
            return _Contexts(self.base, self.kinds[index])
        return {**self.base, **_words(self.kinds[index])}


_FORMULA_ERROR = "formula-error"
_SPLIT = (
    *("tensor", "pipeline", "data", "nodes", "interleave"),
    *("gathers", "scatters", "shards", "tables", "by_tokens", "by_requests", "expert"),
)
"""The columns of rows of splits, as ``Columns`` names them."""
_NODES = _SPLIT.index("nodes")


def on_machines(splits: FloatArray, per_node: IntArray) -> FloatArray:
    """Rows of splits, one for each plan, with the machines that they take, of so many cards each."""
    table = splits.copy()
    cards = np.prod(table[:, :_NODES], axis=1)
    table[:, _NODES] = -(-cards // per_node)
    return table


@lru_cache(maxsize=4096)  # plans have few layouts, and many consultations the same
def split_row(one: ParallelLayout) -> tuple[float, ...]:
    """A split as a row: its widths, its machines, its stages a card, what its sharding does, what divides its cache,
    and its experts' width.
    """
    row = (
        *(one.tensor, one.pipeline, one.data, one.nodes, one.interleave),
        *(one.sharding in GATHERING, one.sharding in SHARDS_GRADIENTS),
        *(one.sharding not in ("none", TABLES), one.sharding == TABLES),
        *(one.cache_split == "tokens", one.by_requests, one.expert),
    )
    return tuple(map(float, row))


def words_of(shape: ModelShape, setups: Sequence[Setup]) -> tuple[Mapping[str, str], ...]:
    """The words of the setups that coefficients may depend on: those of each, or one for all where they are alike."""
    found = tuple(setup.context(shape) for setup in setups)
    return found[:1] if all(words == found[0] for words in found) else found


@dataclass(frozen=True, slots=True)
class Columns:
    """The work and the plans it is computed for. Split columns have length n.

    ``setups`` differ in number formats alone, those of training in the samples and micro-batches of a step; ``which``
    has for each plan the place of its own. ``bases`` are their words, one for each setup or one for all.
    """

    shape: ModelShape
    setups: tuple[Setup, ...]
    which: IntArray
    device: Device
    tensor: FloatArray
    pipeline: FloatArray
    data: FloatArray
    nodes: FloatArray
    gathers: FloatArray
    scatters: FloatArray
    shards: FloatArray
    tables: FloatArray
    interleave: FloatArray
    by_tokens: FloatArray
    by_requests: FloatArray
    expert: FloatArray
    concurrency: FloatArray
    coefficients: Coefficients
    bases: tuple[Mapping[str, str], ...]
    places: Mapping[str, int] = field(default_factory=dict)
    """Of each uncertain coefficient the row where it is at its worst; the next one has it at its best."""
    corrected: tuple[Corrected, ...] = ()
    """By what was measured: one for each kind of measurement."""

    @property
    def setup(self) -> Setup:
        """The first of the setups, for what all have in common."""
        return self.setups[0]

    @property
    def batch(self) -> FloatArray:
        """Samples of a micro-batch of each plan."""
        return self.of_each(lambda setup: setup.batch_size)

    @property
    def accumulation(self) -> FloatArray:
        """Micro-batches of a step of each plan."""
        return self.of_each(lambda setup: max(setup.gradient_accumulation, 1))

    @property
    def base(self) -> Mapping[str, str]:
        """The words of the first setup that coefficients may depend on."""
        return self.bases[0]

    @property
    def contexts(self) -> Sequence[Mapping[str, str]]:
        """The words that coefficients may depend on with the first setup, for each kind of card."""
        return _Contexts(self.base, self.device.kinds)

    @classmethod
    def of(
        cls,
        shape: ModelShape,
        setup: Setup,
        layout: ParallelLayout | Sequence[ParallelLayout],
        device: Device,
        coefficients: Coefficients,
        concurrency: FloatArray | None = None,
    ) -> Columns:
        """One split for all plans, or one per plan; likewise ``concurrency``, the setup's where there is none. Raises
        ValueError where their number is not the device's.
        """
        layouts = [layout] if isinstance(layout, ParallelLayout) else list(layout)
        if len(layouts) not in (1, device.size):
            raise ValueError(f"{len(layouts)} splits for {device.size} plans")
        splits = np.broadcast_to([split_row(each) for each in layouts], (device.size, len(_SPLIT)))
        flight = np.full(device.size, float(setup.concurrency)) if concurrency is None else concurrency
        which = np.zeros(device.size, dtype=np.int64)
        return cls.of_plans(shape, (setup,), which, splits, device, coefficients, flight)

    @classmethod
    def of_plans(
        cls,
        shape: ModelShape,
        setups: tuple[Setup, ...],
        which: IntArray,
        splits: FloatArray,
        device: Device,
        coefficients: Coefficients,
        concurrency: FloatArray,
    ) -> Columns:
        """A setup, a split (as ``split_row`` has it) and the requests in flight for each plan."""
        plans: dict[str, Any] = dict(zip(_SPLIT, np.ascontiguousarray(splits.T), strict=True))
        plans |= {"concurrency": concurrency, "coefficients": coefficients}
        return cls(shape, setups, which, device, bases=words_of(shape, setups), **plans)

    def of_each(self, figure: Callable[[Setup], float]) -> FloatArray:
        """A figure of each plan's setup, over the plans."""
        return np.array([figure(setup) for setup in self.setups], dtype=np.float64)[self.which]

    def changed(self, **fields: Any) -> Columns:
        """The same with other values in fields of the setups."""
        return replace(self, setups=tuple(setup.but(**fields) for setup in self.setups))

    def among(self, **words: str) -> Columns:
        """The same with further words that coefficients may depend on."""
        return replace(self, bases=tuple({**base, **words} for base in self.bases))

    def take(self, plans: IntArray) -> Columns:
        """The same for some of the plans."""
        taken: dict[str, Any] = {name: getattr(self, name)[plans] for name in (*_SPLIT, "concurrency", "which")}
        corrected = tuple(item.take(plans) for item in self.corrected)
        return replace(self, device=self.device.take(plans), corrected=corrected, **taken)

    def one(self, index: int) -> Columns:
        """The same for one of the plans alone."""
        setup = int(self.which[index])
        base = self.bases[setup if len(self.bases) > 1 else 0]
        alone = self.take(np.array([index]))
        return replace(alone, setups=(self.setups[setup],), bases=(base,), which=np.zeros(1, dtype=np.int64))

    def uncertain(self, names: Sequence[str]) -> Columns:
        """The same with two more rows for each of these coefficients that has a range."""
        ranged = []
        for name in names:
            figures = self._figures(name)
            if (figures[..., _LOW, :] < figures[..., _HIGH, :]).any():
                ranged.append(name)
        return replace(self, places={name: 1 + 2 * place for place, name in enumerate(ranged)})

    def more_is_better(self, name: str) -> FloatArray:
        """A coefficient as rows, where a greater figure is the faster one."""
        return self._rows(name, worst=_LOW, best=_HIGH)

    def less_is_better(self, name: str) -> FloatArray:
        """A coefficient as rows, where a lesser figure is the faster one."""
        return self._rows(name, worst=_HIGH, best=_LOW)

    def _rows(self, name: str, worst: int, best: int) -> FloatArray:
        place = self.places.get(name)
        if place is None:
            return self._chosen(name, slice(_MIDDLE, _MIDDLE + 1))
        chosen = self._chosen(name, slice(None))
        rows = np.empty((1 + 2 * len(self.places), self.device.size))
        rows[:] = chosen[_MIDDLE]
        rows[place], rows[place + 1] = chosen[worst], chosen[best]
        return rows

    def _chosen(self, name: str, which: slice) -> FloatArray:
        """Which of low, likely and high for each plan, of its setup and its kind of card."""
        figures, kind = self._figures(name)[..., which, :], self.device.kind
        if figures.ndim == 3:
            return figures[self.which, :, kind].T
        return figures.repeat(self.device.size, axis=1) if figures.shape[1] == 1 else figures[:, kind]

    def _figures(self, name: str) -> FloatArray:
        """Low, likely and high of each kind of card, or in one column of all where they are alike; a table of them for
        each setup where these differ.
        """
        return self.coefficients.rows(name, self.bases, self.device.kinds, self._contexts_of)

    def _contexts_of(self, base: Mapping[str, str]) -> Sequence[Mapping[str, str]]:
        return _Contexts(base, self.device.kinds)

    def unmodelled(self) -> FloatArray:
        """Rows: seconds against those computed, for what the formulas leave out; 1 where coefficients are at fault.

        As wide as where nothing was measured, where requests divide a tensor group.
        """
        rows = self.less_is_better(_FORMULA_ERROR)
        error: FloatArray = rows / rows[LIKELY]
        place = self.places.get(_FORMULA_ERROR)
        if place is not None and self.by_requests.any():
            wide = self.coefficients.pick(_FORMULA_ERROR, {})
            for row, end in ((place, wide.high), (place + 1, wide.low)):
                error[row] = np.where(self.by_requests > 0, end / wide.likely, error[row])
        return error

    def measured(self, index: int) -> bool:
        """Whether a measurement covers such work on such a card: a case of the formulas' error says so."""
        context = self.one(index).contexts[int(self.device.kind[index])]
        case = self.coefficients.pick(_FORMULA_ERROR, context)
        return not self.by_requests[index] and case is not self.coefficients.pick(_FORMULA_ERROR, {})

    def power_share(self) -> FloatArray:
        """Rows: share of the peak rate that the card's power limit lets it sustain, 1 where that is no limit.

        Watts over joules per operation are operations per second; other formats than 16 bits take power in proportion
        to their rates.
        """
        joules = self.less_is_better("joules-per-operation")
        full = joules * self.device.half_flops_s
        share: FloatArray = np.fmin(self.device.power_w / np.where(full > 0, full, 1e-30), 1.0)
        return share

    def flops_s(self) -> FloatArray:
        """Operations a second of the card's products in the format: of TF32 where the software multiplies FP32 numbers
        so unasked, as cuDNN's convolutions are by default (torch.backends.cudnn.allow_tf32).
        """
        tensor = (self.more_is_better("tf32-for-fp32")[LIKELY] > 0) & (self.device.tf32_flops_s > self.device.flops_s)
        rate: FloatArray = np.where(tensor, self.device.tf32_flops_s, self.device.flops_s)
        return rate

    def operations_error(self) -> FloatArray:
        """Rows: operations of a sample against those of the shape; 1 where they are not assumed from its parameters."""
        if ASSUMED_OPERATIONS not in self.uncertain_of_shape():
            return np.ones((1, self.device.size))
        rows = self.less_is_better(ASSUMED_OPERATIONS)
        error: FloatArray = rows / rows[LIKELY]
        return error

    def sources_of_operations(self) -> tuple[str, ...]:
        """Who says how many operations a sample takes."""
        assumed = [self.coefficients.pick(name, self.base).source for name in self.uncertain_of_shape()]
        return assumed[0] if assumed else self.shape.source

    def uncertain_of_shape(self) -> tuple[str, ...]:
        """Coefficients that figures of the shape rest on."""
        return (ASSUMED_OPERATIONS,) if "flops_per_sample" in self.shape.assumed else ()

    def cards(self) -> FloatArray:
        """Cards of each plan."""
        return self.tensor * self.pipeline * self.data

    def requests(self) -> FloatArray:
        """Requests in flight on one replica."""
        return np.ceil(self.concurrency / self.data)

    def requests_on_card(self) -> FloatArray:
        """Requests in flight that one card of a tensor group keeps a cache for, in whole or in part."""
        requests = self.requests()
        return np.where(self.by_requests > 0, np.ceil(requests / self.tensor), requests)

    def prompts_at_once(self) -> FloatArray:
        """Prompts that the cards of a tensor group read side by side: each one of its own where requests divide it."""
        return np.where(self.by_requests > 0, np.minimum(self.requests(), self.tensor), 1.0)

    def pcie_bytes_s(self) -> FloatArray:
        """Rows: bytes per second of one direction of the slot."""
        own = self.device.pcie_bytes_s
        return np.where(np.isnan(own), self.more_is_better("pcie-bytes-s"), own)

    def _link_bytes_s(self, cards: FloatArray, joined: FloatArray) -> FloatArray:
        """Bytes a second of the direct link that a group of so many cards reaches: all of it through a switch; where
        each pair has a link of its own, those to the others of the group (ml-engineering, peer-to-peer bandwidth).
        """
        share = np.clip((cards - 1) / np.maximum(joined - 1, 1), 1 / np.maximum(joined - 1, 1), 1.0)
        meshed = self.more_is_better("meshed-link") > 0
        reached: FloatArray = self.device.link_bytes_s * np.where(meshed, share, 1.0)
        return reached

    def wire(self) -> Wire:
        """The path that collectives of each plan's tensor group and of its data group take."""
        cards = self.cards()
        per_node = np.maximum(cards / self.nodes, 1.0)
        device = self.device
        # Without a direct link the cards of a machine share what its host bridges and memory carry (NCCL, issue 1639).
        pcie = np.minimum(self.pcie_bytes_s(), self.more_is_better("host-bridge-bytes-s") / per_node)
        network = np.where(
            np.isnan(device.network_bytes_s), self.more_is_better("network-bytes-s"), device.network_bytes_s
        )
        linked = np.nan_to_num(device.link_bytes_s) > 0
        joined = np.where(device.link_cards > 0, device.link_cards, per_node)
        # Some links join the cards of several machines: those of a pod of TPUs, or of a rack of GB200.
        together = np.where(linked, np.maximum(np.minimum(joined, cards), per_node), per_node)
        direct = linked & (self.tensor <= joined)
        near = np.where(direct, self._link_bytes_s(self.tensor, joined), pcie)
        all_linked = linked & (together <= joined)
        within = np.where(all_linked, self._link_bytes_s(together, joined), pcie)
        # A ring over several of these has a lane through each of its members' adapters.
        tensor_path = np.where(self.tensor > together, np.minimum(network * together, within), near)
        members = np.maximum(together / (self.tensor * self.pipeline), 1.0)
        apart = cards > together
        data_path = np.where(apart, np.minimum(network * members, within), within)
        share = self.more_is_better("bus-share")
        latency = np.where(direct, self.less_is_better("link-latency-s"), self.less_is_better("pcie-latency-s"))
        latency = np.where(self.tensor > together, self.less_is_better("network-latency-s"), latency)
        any_path = np.where(apart, np.minimum(network, within), within)  # each card by its own adapter
        return Wire(
            tensor_path * share,
            data_path * share,
            any_path * share,
            near_bytes_s=within * share,
            far_bytes_s=network * share,
            latency_s=latency,
            together=together,
        )


def coefficient_of(columns: Columns, i: int, name: str, term: str) -> Term:
    """A coefficient as it holds for plan `i`, as a term of this name with its range in words."""
    picked = columns.coefficients.pick(name, columns.contexts[int(columns.device.kind[i])])
    return coefficient_term(term, picked)


def power_term(power: FloatArray, i: int) -> Term:
    """The share of the peak rate that a card's power limit leaves, as a term."""
    return Term("power", float(power[LIKELY, i]), "share", ("torch-matmul-rates",), "that its power limit sustains")


@dataclass(frozen=True, slots=True)
class Wire:
    """Rows over n plans: usable bytes per second of the tensor and the data group's path, of a card to all others, to
    those ``together`` with it and to the others, and the latency of one collective.
    """

    tensor_bytes_s: FloatArray
    data_bytes_s: FloatArray
    card_bytes_s: FloatArray
    near_bytes_s: FloatArray
    far_bytes_s: FloatArray
    latency_s: FloatArray
    together: FloatArray
    """Cards of a machine, or of several that a link joins."""

    def halves_s(self, tensor: FloatArray, payload_bytes: FloatArray | float, count: FloatArray | float) -> FloatArray:
        """Seconds of so many collectives that move a payload once over the tensor group (all-gather, reduce-scatter,
        all-to-all): (n - 1) / n * bytes / bandwidth in all, and a latency each; 0 for one card.

        Source: NCCL tests, doc/PERFORMANCE.md (bus bandwidth).
        """
        seconds = (tensor - 1) / tensor * payload_bytes / self.tensor_bytes_s + count * self.latency_s
        return np.where(tensor > 1, seconds, 0.0)

    def all_reduce_s(self, tensor: FloatArray, payload_bytes: FloatArray | float) -> FloatArray:
        """Seconds of a ring all-reduce over the tensor group: 2 (n - 1) / n * bytes / bandwidth, and its latency; 0
        for one card.

        Source: NCCL tests, doc/PERFORMANCE.md (bus bandwidth).
        """
        seconds = 2 * (tensor - 1) / tensor * payload_bytes / self.tensor_bytes_s + self.latency_s
        return np.where(tensor > 1, seconds, 0.0)
