"""One plan that was asked for by accelerator and count: the best way to spread the work over exactly so many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.checks.model_shape import TOKEN_KINDS
from whygpu.checks.setup import FUSED, ParallelLayout
from whygpu.errors import AnswerError, Location, Problem
from whygpu.plans.batches import packed
from whygpu.plans.fixed import given
from whygpu.plans.plan_set import Options, PlanSet, Targets, cards_of
from whygpu.plans.search import SHARDS, Search, on_cards
from whygpu.plans.splits import DIVIDED, can_split, split_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import CardKind, Setup
    from whygpu.plans.slices import Slices
    from whygpu.plans.work import Work

_QLORA_BASE = "nf4"  # Dettmers et al. 2023, section 3: QLoRA's base is in 4-bit NormalFloat


def explicit_plans(work: Work, allowed: Mask, options: Options, _targets: Targets) -> PlanSet:
    """For each of the ``allowed`` cards the one plan on ``options.count`` of it, or as many as its layout takes.

    Raises AnswerError where no layout of so many is the one that the answers fix.

    In the format and by the method asked for, or else the native one and all weights. Of the ways to spread it, the
    first that fits, replicas before shards before stages; in training, activations are recomputed where replicas would
    not fit without. Where none fits, the one that needs least.
    """
    cards = cards_of(work.catalogue)
    search = Search(work, cards, options)
    found: list[tuple[int, int, bool]] = []
    for setup, members in on_cards(work, _setup(work, options), cards, allowed):
        for row in np.flatnonzero(members).tolist():
            usable = float(cards.usable_bytes[row])
            best, least, fits = -1, np.inf, False
            kind = cards.kinds[int(cards.kind[row])]
            ways = _configurations(work, setup, options, int(cards.per_node[row]), kind, cards.slices_at(row))
            for configuration in ways:
                number = search.configure(*configuration)
                total = search.configurations[number].need.total
                fits = total <= usable
                if fits or total < least:
                    best, least = number, total
                if fits:
                    break
            if best < 0:
                refusal = options.fixed.refusal(options.count or options.fixed.least, cards.accelerators[row].name)
                raise AnswerError([Problem("contradiction", refusal, Location("answers"), "change one of them")])
            found.append((row, best, fits))
    rows, configurations, held = (np.array([item[place] for item in found]) for place in range(3))
    plan_set = search.timed(rows.astype(np.int64), configurations.astype(np.int64), held.astype(np.bool_))
    if options.at_once is not None:
        plan_set = packed(search, plan_set, work.shape, options)
    owned = dict(options.owned)
    covered = [(options.count or options.fixed.least) <= owned.get(row, 0) for row in rows.tolist()]
    return replace(plan_set, owned=np.array(covered, dtype=np.bool_))


def _setup(work: Work, options: Options) -> Setup:
    """The setup in its format; QLoRA's base is a quantized one, whatever the work is native to."""
    setup, formats = work.setup, work.catalogue.formats
    if options.at_once is not None:  # filled when it is known how it is spread
        setup = replace(setup, concurrency=1, batch_size=1)
    if setup.trains and options.fixed.expert is not None:
        setup = replace(setup, runtime=FUSED)
    if setup.trains and setup.method == "qlora" and not setup.format.quantized:
        considered = [name for name in options.formats if formats[name].quantized]
        setup = replace(setup, format=formats[next(iter(considered), _QLORA_BASE)])
    return setup


def _configurations(
    work: Work, setup: Setup, options: Options, per_node: int, kind: CardKind, slices: Slices | None
) -> Iterator[tuple[Setup, ParallelLayout]]:
    """Every way to run it on so many cards, the best first, and of these what takes whole slices."""
    found = _layouts(work, setup, options, per_node, kind)
    layouts = sorted(found, key=lambda layout: slices is not None and not slices.rentable(layout, setup.trains))
    if not setup.trains:
        yield from ((setup, layout) for layout in layouts)
        return
    # "auto" gives every kind: then it is either off or, where nothing else fits, full
    asked = options.checkpointing
    kinds = asked if len(asked) == 1 else ("off", "full")
    for alike in (True, False):  # dividing layers among cards changes the batch too, so it comes last
        for checkpointing in kinds:
            configuration = replace(setup, gradient_checkpointing=checkpointing)
            for layout in layouts:
                shardings = (options.shardings or ("none",)) if layout.data > 1 else ("none",)
                shardings = ("zero1",) if layout.spreads_experts else shardings
                for sharding in shardings if (layout.data == layout.cards) == alike else ():
                    yield configuration, replace(layout, sharding=sharding)


def _layouts(work: Work, setup: Setup, options: Options, per_node: int, kind: CardKind) -> Iterator[ParallelLayout]:
    """Ways to spread over exactly as many cards, laid out as the answers say, whatever the machine; replicas that would
    have no request to serve come last, and what divides a cache after copies of it. Cards that are named together are
    meant to work together, so that one request is assumed where none were counted.
    """
    shape, fixed = work.shape, options.fixed
    count = options.count or fixed.least
    if shape.kind not in TOKEN_KINDS:
        yield ParallelLayout(data=count)
        return
    layered = work.splits_layers
    found = [
        ParallelLayout(
            tensor,
            stages,
            count // (tensor * stages),
            interleave=work.interleave(stages),
            expert=(fixed.expert or 1) if setup.trains else 1,
        )
        for tensor in given(fixed.tensor, (1,) if layered else tuple(width for width in SHARDS if width <= per_node))
        if count % tensor == 0 and (tensor == 1 or (shape.heads and shape.heads % tensor == 0))
        for stages in given(fixed.pipeline, tuple(range(1, min(count // tensor, max(shape.layers, 1)) + 1)))
        if count % (tensor * stages) == 0
        and fixed.replicas in (None, count // (tensor * stages))
        and (count // stages) % (fixed.expert or 1) == 0
    ]
    able = [split for split in DIVIDED if can_split(work, kind.software, split)]
    found += [layout for split in able for layout in split_by(work, found, split)]
    busy = count if setup.trains else max(setup.concurrency, 1)
    allowed = (layout for layout in found if fixed.cache_split in (None, layout.cache_split))
    yield from sorted(allowed, key=lambda layout: (layout.data > busy, -layout.data, layout.pipeline))
