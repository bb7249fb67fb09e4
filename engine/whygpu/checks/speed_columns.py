"""Columns that the speed checks reckon with: three rows (worst, likely, best) over n plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whygpu.checks.coefficients import Coefficients
from whygpu.checks.memory_parts import coefficient_term
from whygpu.checks.reckoning import Range, Term
from whygpu.checks.setup import CardKind, Device, FloatArray, Setup, Split
from whygpu.checks.shape import ModelShape

LIKELY = 1


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
    def of_rate(cls, rows: FloatArray) -> Band:
        """From rows worst to best of something of which more is better."""
        return cls(rows[0], rows[1], rows[2])

    @classmethod
    def of_time(cls, rows: FloatArray, factor: float = 1.0) -> Band:
        """From rows worst to best of something of which less is better."""
        return cls(rows[2] * factor, rows[1] * factor, rows[0] * factor)


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
class Columns:
    """The work and the plans it is reckoned for. Split columns have length n."""

    shape: ModelShape
    setup: Setup
    device: Device
    tensor: FloatArray
    pipeline: FloatArray
    data: FloatArray
    nodes: FloatArray
    gathers: FloatArray
    coefficients: Coefficients
    base: Mapping[str, str]

    @property
    def contexts(self) -> tuple[Mapping[str, str], ...]:
        """The words that coefficients may depend on, for each kind of card."""
        return tuple({**self.base, **_words(kind)} for kind in self.device.kinds)

    @classmethod
    def of(
        cls,
        shape: ModelShape,
        setup: Setup,
        split: Split | Sequence[Split],
        device: Device,
        coefficients: Coefficients,
    ) -> Columns:
        """One split for all plans, or one per plan. Raises ValueError where their number is not the device's."""
        splits = [split] if isinstance(split, Split) else list(split)
        if len(splits) not in (1, device.size):
            raise ValueError(f"{len(splits)} splits for {device.size} plans")
        table = np.array(
            [(one.tensor, one.pipeline, one.data, one.nodes, one.sharding in ("zero3", "fsdp")) for one in splits],
            dtype=np.float64,
        )
        tensor, pipeline, data, nodes, gathers = (np.broadcast_to(column, (device.size,)) for column in table.T)
        base = setup.context(shape)
        return cls(shape, setup, device, tensor, pipeline, data, nodes, gathers, coefficients, base)

    def more_is_better(self, name: str) -> FloatArray:
        """A coefficient as rows worst, likely, best, where a greater figure is the faster one."""
        kinds = self.device.kinds
        rows: FloatArray = self.coefficients.rows(name, self.base, kinds, lambda: self.contexts)
        return rows[:, self.device.kind] if rows.shape[1] > 1 else np.broadcast_to(rows, (3, self.device.size))

    def less_is_better(self, name: str) -> FloatArray:
        """A coefficient as rows worst, likely, best, where a lesser figure is the faster one."""
        return self.more_is_better(name)[::-1]

    def requests(self) -> FloatArray:
        """Requests in flight on one replica."""
        return np.ceil(self.setup.concurrency / self.data)

    def wire(self) -> Wire:
        """The path that collectives of each plan's tensor group and of its data group take."""
        per_node = np.maximum(self.tensor * self.pipeline * self.data / self.nodes, 1.0)
        device = self.device
        pcie = np.where(np.isnan(device.pcie_bytes_s), self.more_is_better("pcie-bytes-s"), device.pcie_bytes_s)
        network = np.where(
            np.isnan(device.network_bytes_s), self.more_is_better("network-bytes-s"), device.network_bytes_s
        )
        linked = np.nan_to_num(device.link_bytes_s) > 0
        direct = linked & (self.tensor <= np.where(device.link_cards > 0, device.link_cards, per_node))
        near = np.where(direct, device.link_bytes_s, pcie)
        tensor_path = np.where(self.tensor > per_node, network, near)
        all_linked = linked & (per_node <= np.where(device.link_cards > 0, device.link_cards, per_node))
        data_path = np.where(self.nodes > 1, network, np.where(all_linked, device.link_bytes_s, pcie))
        share = self.more_is_better("bus-share")
        latency = np.where(direct, self.less_is_better("link-latency-s"), self.less_is_better("pcie-latency-s"))
        return Wire(tensor_path * share, data_path * share, latency)


def coefficient_of(columns: Columns, i: int, name: str, term: str) -> Term:
    """A coefficient as it holds for plan `i`, as a term of this name with its range in words."""
    picked = columns.coefficients.pick(name, columns.contexts[int(columns.device.kind[i])])
    return coefficient_term(term, picked)


@dataclass(frozen=True, slots=True)
class Wire:
    """Rows (3, n): usable bytes per second of the tensor and the data group's path, and the latency of one
    collective.
    """

    tensor_bytes_s: FloatArray
    data_bytes_s: FloatArray
    latency_s: FloatArray

    def all_reduce_s(self, tensor: FloatArray, payload_bytes: FloatArray) -> FloatArray:
        """Seconds of a ring all-reduce over the tensor group: 2 (n - 1) / n * bytes / bandwidth, and its latency; 0
        for one card.

        Source: NCCL tests, doc/PERFORMANCE.md (bus bandwidth).
        """
        seconds = 2 * (tensor - 1) / tensor * payload_bytes / self.tensor_bytes_s + self.latency_s
        return np.where(tensor > 1, seconds, 0.0)
