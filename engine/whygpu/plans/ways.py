"""Ways of running a work, by number, and what is asked of many of them at once, as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from whygpu.checks.memory.parts import Need
from whygpu.checks.speed.columns import split_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from whygpu.checks.memory.estimate import MemoryEstimate
    from whygpu.checks.setup import ParallelLayout, Setup


class Sizer(Protocol):
    """What sizes ways of running."""

    def memory(self, setup: Setup, layout: ParallelLayout) -> MemoryEstimate:
        """What each accelerator would hold."""
        ...

    def need(self, setup: Setup, layout: ParallelLayout, each: int | None = None) -> Need:
        """How much that is, found sooner; ``each``: the requests of each replica, where not those of the setup."""
        ...

    def unloaded(self, setup: Setup) -> Setup:
        """The setup without its requests in flight: one object for all that differ in these alone."""
        ...


@dataclass(frozen=True)
class RunConfiguration:
    """One way of running, spread over some accelerators."""

    setup: Setup
    layout: ParallelLayout
    sizer: Sizer = field(compare=False, repr=False)

    @cached_property
    def memory(self) -> MemoryEstimate:
        """What each of the accelerators would hold; sized when somebody asks, for few ways are looked at."""
        return self.sizer.memory(self.setup, self.layout)

    @cached_property
    def need(self) -> Need:
        """How much that is."""
        return self.sizer.need(self.setup, self.layout)

    @cached_property
    def unloaded(self) -> Setup:
        """The setup without its requests in flight."""
        return self.sizer.unloaded(self.setup)


class Ways(Sequence[RunConfiguration]):
    """Ways of running by number: more may be added, and none changes, so that a figure of each is found once."""

    def __init__(self, ways: Iterable[RunConfiguration] = ()) -> None:
        """Numbered in this order."""
        self._ways = list(ways)
        self._columns: dict[Callable[[RunConfiguration], object], NDArray[Any]] = {}

    def add(self, way: RunConfiguration) -> int:
        """The number of a further one."""
        self._ways.append(way)
        return len(self._ways) - 1

    def column(self, of: Callable[[RunConfiguration], object]) -> NDArray[Any]:
        """Something of each way, by number; ``of``: a function that stays, for it is known by which it is."""
        known = self._columns.get(of)
        if known is None or len(known) < len(self._ways):
            new = np.array([of(way) for way in self._ways[0 if known is None else len(known) :]])
            known = self._columns[of] = new if known is None else np.concatenate([known, new])
        return known

    @overload
    def __getitem__(self, number: int) -> RunConfiguration: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[RunConfiguration]: ...

    def __getitem__(self, number: int | slice) -> RunConfiguration | Sequence[RunConfiguration]:
        """The way of a number, or those of several."""
        return self._ways[number]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ways)


NEEDS: Mapping[str, Callable[[RunConfiguration], float]] = MappingProxyType(
    {name: (lambda way, name=name: getattr(way.need, name)) for name in Need._fields}  # type: ignore[misc]  # bound early
)
"""What each accelerator of a way would hold in bytes, by name: in all, at the high end, of weights and of the cache."""


def split_of(way: RunConfiguration) -> tuple[float, ...]:
    """How a way is spread, as a row of a table."""
    return split_row(way.layout)


def kind_of(way: RunConfiguration) -> int:
    """One number for all ways whose setups differ in their requests in flight alone."""
    return id(way.unloaded)


def replicas_of(way: RunConfiguration) -> int:
    """Replicas of a service, or ranks of data parallel training."""
    return way.layout.data


def cards_of_way(way: RunConfiguration) -> int:
    """Accelerators in all."""
    return way.layout.cards


def in_flight_of(way: RunConfiguration) -> int:
    """Requests in flight over all replicas."""
    return way.setup.concurrency


def format_of(way: RunConfiguration) -> str:
    """The format of the weights, by id."""
    return way.setup.format.id


def batch_of(way: RunConfiguration) -> int:
    """Samples of a micro-batch, or of a step."""
    return way.setup.batch_size


def at_once_of(way: RunConfiguration) -> int:
    """Requests in flight, or samples of a step."""
    return way.setup.concurrency * way.setup.batch_size
