"""Accelerators that are rented in slices of fixed sizes alone, as TPUs are: which counts there are.

A slice is joined by the accelerators' own links. Replicas of a service may lie in slices of their own, several in one;
a training job lies in one slice, or in several of the largest (Google Cloud: TPU configurations, Multislice).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import ParallelLayout
    from whygpu.knowledge.catalogue import Accelerator


@dataclass(frozen=True, slots=True)
class Slices:
    """The sizes of slices: `least` accelerators and its doubles up to `most`, multiples of that beyond, and one alone
    where `single`.
    """

    least: int
    most: int
    single: bool

    @classmethod
    def of(cls, card: Accelerator) -> Slices | None:
        """How an accelerator is rented; None where any count can be had."""
        least, most = card.number("slice_least"), card.number("slice_most")
        if least is None or most is None:
            return None
        return cls(int(least), int(most), bool(card.flag("slice_single")))

    def has(self, cards: int) -> bool:
        """Whether there is a slice of so many."""
        if cards == 1 or cards % self.most == 0:
            return cards != 1 or self.single
        return self.least <= cards <= self.most and self.smallest(cards) == cards

    def smallest(self, cards: int) -> int:
        """The smallest slice of so many accelerators or more."""
        if cards == 1 and self.single:
            return 1
        size = self.least
        while size < min(cards, self.most):
            size *= 2
        return size if size >= cards else -(-cards // self.most) * self.most

    def largest(self, cards: int) -> int:
        """The largest slice, or several of the largest there is, of so many accelerators or fewer; 0 where none is."""
        return max((size for size in (*self.sizes(), cards // self.most * self.most) if size <= cards), default=0)

    def sizes(self) -> tuple[int, ...]:
        """Every slice there is, smallest first."""
        return tuple(cards for cards in range(1, self.most + 1) if self.has(cards))

    def said(self) -> str:
        """The sizes in words."""
        *first, last = (str(size) for size in self.sizes())
        return f"slices are of {', '.join(first)} or {last}"

    def nearest(self, cards: int) -> tuple[int, ...]:
        """The slices next to a count that is none: that below, if there is one, and that above."""
        below, above = self.largest(cards - 1), self.smallest(cards)
        return (below, above) if below else (above,)

    def rentable(self, layout: ParallelLayout, trains: bool) -> bool:
        """Whether a plan spread so takes whole slices."""
        if trains:
            return self.has(layout.cards)
        return layout.cards % self.smallest(layout.tensor * layout.pipeline) == 0

    def replicas(self, layout: ParallelLayout, trains: bool) -> int:
        """The fewest replicas, no fewer than the layout's, that fill whole slices."""
        data = layout.data
        while not self.rentable(layout.over(data), trains):
            data += 1
        return data


def slices_of(cards: Sequence[Accelerator]) -> tuple[tuple[Slices | None, ...], NDArray[np.int64]]:
    """The ways that accelerators are rented, and for each accelerator the place of its own."""
    found = [Slices.of(card) for card in cards]
    kinds = tuple(dict.fromkeys(found))
    return kinds, np.array([kinds.index(each) for each in found], dtype=np.int64)


def rentable(kinds: tuple[Slices | None, ...], kind: NDArray[np.int64], layout: ParallelLayout, trains: bool) -> Mask:
    """Which accelerators can be rented in the count of this layout."""
    able = np.array([each is None or each.rentable(layout, trains) for each in kinds], dtype=np.bool_)
    return able[kind]
