"""What plans leave of a card: the slice that would do, how many such models it holds; and what the host keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.memory.training import OFFLOADED, host_bytes
from whygpu.checks.memory.weights import MARGIN, expert_bytes, share_held
from whygpu.kept import kept
from whygpu.language import values as v
from whygpu.plans.plan_set import cards_of
from whygpu.plans.ways import NEEDS
from whygpu.quantity import GIB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whygpu.knowledge.base import Knowledge
    from whygpu.plans.plan_set import PlanSet
    from whygpu.plans.ways import RunConfiguration

SHARING_NAMES = (
    "plan.slice",
    "plan.slices",
    "plan.slice_share",
    "plan.slice_usd_per_hour",
    "plan.copies",
    "plan.host_gib",
)


@dataclass(frozen=True, slots=True)
class CardSlices:
    """Of each accelerator (rows) its kinds of slices (columns), those that it has most of first.

    `usable_gib`: what processes get of one at the least, 0 where there is none; `share`: of the card's arithmetic.
    """

    usable_gib: NDArray[np.float64]
    names: NDArray[np.str_]
    counts: NDArray[np.float64]
    share: NDArray[np.float64]


@kept(8)
def _slices(knowledge: Knowledge) -> CardSlices:
    cards = cards_of(knowledge.catalogue).accelerators
    share = knowledge.catalogue.coefficients.pick("mig-usable-share", {}).low
    rows: dict[str, list[tuple[float, str, float, float]]] = {card.id: [] for card in cards}
    for row in knowledge.catalogue.coefficients.table("mig-profiles"):
        names = row["accelerator"]
        for name in (names,) if isinstance(names, str) else names:
            rows.setdefault(name, []).append(
                (float(row["memory_gb"]) * share, str(row["slice"]), float(row["instances"]), float(row["parts"]))
            )
    width = max([1, *(len(found) for found in rows.values())])
    usable, words = np.zeros((len(cards), width)), np.full((len(cards), width), "", dtype="<U16")
    counts, parts = np.ones((len(cards), width)), np.ones((len(cards), width))
    for number, card in enumerate(cards):
        all_parts = card.number("mig_instances") or 1.0
        for place, (gib, word, count, own) in enumerate(sorted(rows[card.id], key=lambda item: -item[2])):
            usable[number, place], words[number, place] = gib, word
            counts[number, place], parts[number, place] = count, own / all_parts
    return CardSlices(usable, words, counts, parts)


def sharing_columns(knowledge: Knowledge, plan_set: PlanSet, hourly: NDArray[np.float64]) -> dict[str, v.Value]:
    """The names of sharing a card with their columns; unknown for plans over several cards."""
    found: dict[str, v.Value] = {}
    need = plan_set.each(NEEDS["high"]) / GIB
    single = plan_set.each(_serves_from_one)
    if "mig-usable-share" in knowledge.catalogue.coefficients:
        slices = _slices(knowledge)
        holds = (slices.usable_gib[plan_set.card] >= need[:, None]) & single[:, None]
        at, some = (plan_set.card, holds.argmax(axis=1)), holds.any(axis=1)
        counts = np.where(some, slices.counts[at], np.nan)
        found["plan.slice"] = v.Word(np.where(some, slices.names[at], ""))
        found["plan.slices"] = v.column(counts)
        found["plan.slice_share"] = v.column(np.where(some, slices.share[at], np.nan))
        found["plan.slice_usd_per_hour"] = v.column(hourly / counts)
    memory = plan_set.cards.usable_bytes[plan_set.card] / GIB
    found["plan.copies"] = v.column(np.where(single, np.floor(memory / need), np.nan))
    on_host = host_gib(plan_set)
    if on_host.any():
        found["plan.host_gib"] = v.column(on_host)
    return found


def _serves_from_one(way: RunConfiguration) -> bool:
    """Whether it is a service on one card."""
    return way.layout.cards == 1 and not way.setup.trains


def host_gib(plan_set: PlanSet) -> NDArray[np.float64]:
    """GiB that each plan keeps in the memory of its machines: experts that its cards have no room for, or training
    state; zero for all on the cards.
    """
    found = plan_set.each(_state_bytes)
    work = plan_set.work
    if work.shape.is_moe and work.setup.offloads_experts:
        experts, margin = plan_set.each(_expert_bytes), work.catalogue.coefficients.pick(MARGIN, {}).likely
        free = plan_set.cards.usable_bytes[plan_set.card] - margin - plan_set.each(NEEDS["total"])
        tensor, pipeline = plan_set.each(_tensor), plan_set.each(_pipeline)
        found = found + experts * (1.0 - share_held(experts, work.shape.moe_layers, free, tensor, pipeline))
    return found / GIB


def _expert_bytes(way: RunConfiguration) -> float:
    return expert_bytes(way.memory.shape, way.setup.format)


def _tensor(way: RunConfiguration) -> float:
    return float(way.layout.tensor)


def _pipeline(way: RunConfiguration) -> float:
    return float(way.layout.pipeline)


def _state_bytes(way: RunConfiguration) -> float:
    """Bytes of training state in the memory of the machines."""
    if not way.setup.trains or way.setup.offload not in OFFLOADED:
        return 0.0
    return host_bytes(way.memory.shape, way.setup, way.memory.coefficients)
