"""What divides a cache that a tensor group would keep copies of, where the serving stack can: tokens, or requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from whygpu.checks.setup import CACHE_SPLITS
from whygpu.plans.plan_set import cards_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.checks.model_shape import ModelShape
    from whygpu.checks.setup import CacheSplit, ParallelLayout
    from whygpu.plans.plan_set import Cards
    from whygpu.plans.ways import RunConfiguration
    from whygpu.plans.work import Work

DIVIDED: tuple[CacheSplit, ...] = CACHE_SPLITS[1:]
"""What may divide a cache besides heads, which the search tries first."""

Found: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64], Mask]"
"""Rows of the catalogue, ways of running on them, and whether these hold the work."""


def can_split(work: Work, software: str, split: CacheSplit) -> bool:
    """Whether the stack that serves it divides such a cache so on cards of such software."""
    if split == "heads":
        return True
    if work.setup.trains or not work.shape.kv_groups:
        return False
    return _can(work, software, f"splits-{split}")


def cards_that_split(work: Work, cards: Cards, split: CacheSplit) -> Mask:
    """The cards on which it does."""
    return _on_software(cards, lambda software: can_split(work, software, split))


def cards_that(work: Work, cards: Cards, flag: str) -> Mask:
    """The cards whose software does what a coefficient is the flag of."""
    return _on_software(cards, lambda software: _can(work, software, flag))


def _can(work: Work, software: str, flag: str) -> bool:
    context = {**work.setup.context(work.shape), "software": software}
    return work.catalogue.coefficients.pick(flag, context).likely > 0


def _on_software(cards: Cards, able: Callable[[str], bool]) -> Mask:
    known = {software: able(software) for software in {kind.software for kind in cards.kinds}}
    return np.array([known[kind.software] for kind in cards.kinds], dtype=np.bool_)[cards.kind]


def undivided(work: Work, split: CacheSplit | None) -> Iterator[tuple[str, str]]:
    """The answer that asks for what the stack divides no such cache by, on any card, with what is wrong."""
    if split is not None and not cards_that_split(work, cards_of(work.catalogue), split).any():
        what = f"the cache of {work.shape.name} is not divided by {split} under {work.setup.runtime}"
        yield "cache_split", f"'cache_split' is '{split}', but {what}"


def context_cards(shape: ModelShape, layout: ParallelLayout) -> int:
    """Cards that each keep a part of a context's tokens: as many as would keep copies of it (vLLM: tensor size over
    heads).
    """
    heads = min((group.heads for group in shape.kv_groups), default=0)
    return layout.tensor // heads if layout.cache_split == "tokens" and heads else 1


def split_by(work: Work, layouts: Iterable[ParallelLayout], split: CacheSplit) -> Iterator[ParallelLayout]:
    """Those of the spreads that keep copies of a cache, divided so instead."""
    heads = min((group.heads for group in work.shape.kv_groups), default=0)
    for layout in layouts:
        if 0 < heads < layout.tensor:
            yield replace(layout, cache_split=split)


def no_larger(
    whole: Sequence[Found], smaller: Sequence[Found], configurations: Sequence[RunConfiguration]
) -> list[Found]:
    """What was found with a smaller cache, without what takes more cards than the whole one does, or holds no more."""
    if not smaller:
        return []

    def cards(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([configurations[number].layout.cards for number in numbers.tolist()], dtype=np.float64)

    most: dict[int, float] = {}
    for rows, numbers, held in whole:
        for row, taken in zip(rows[held].tolist(), cards(numbers)[held].tolist(), strict=True):
            most[row] = min(most.get(row, np.inf), taken)
    kept: list[Found] = []
    for rows, numbers, held in smaller:
        limit = np.array([most.get(row, np.inf) for row in rows.tolist()])
        few = np.where(held, cards(numbers) <= limit, np.isinf(limit))
        kept.append((rows[few], numbers[few], held[few]))
    return kept
