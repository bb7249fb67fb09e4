"""Which plans there are: each accelerator and way of running, at the smallest count that meets the work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from whygpu.kept import kept
from whygpu.plans.batches import filled, packed_widely
from whygpu.plans.growth import Growth
from whygpu.plans.plan_set import cards_of
from whygpu.plans.search import Search, on_cards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import Setup
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.work import Work

Planner: TypeAlias = "Callable[[Work, Mask, Options, Targets], PlanSet]"
"""Finds the plans on the accelerators that the mask leaves."""


def enumerate_plans(work: Work, allowed: Mask, options: Options, targets: Targets) -> PlanSet:
    """Every plan on the ``allowed`` cards, spread until it meets the work, or as far as it may be.

    The plans of the last few works are kept: answers about money, operation or priorities do not change them.
    """
    return _enumerated(work, allowed.tobytes(), options, targets)


@kept(32)
def _enumerated(work: Work, allowed_bytes: bytes, options: Options, targets: Targets) -> PlanSet:
    allowed = np.frombuffer(allowed_bytes, dtype=np.bool_)
    if options.short:
        return _short(work, allowed, options, targets).compact()
    search = _searched(work, allowed, options)
    card, configuration, fits = search.found()
    if (options.samples is not None or work.setup.trains) and len(card):
        plan_set = filled(search, card, configuration, fits, options, which=fits).distinct()
    else:
        plan_set = search.timed(card, configuration, fits)
        if options.at_once is not None and len(card):
            plan_set = packed_widely(search, plan_set, work.shape, options)
    if not len(plan_set):
        return plan_set
    return Growth(work, search, options, targets).run(plan_set).distinct().compact()


def _short(work: Work, allowed: Mask, options: Options, targets: Targets) -> PlanSet:
    """The plans, and those on fewer cards that do not hold all requests."""
    whole = enumerate_plans(work, allowed, replace(options, short=False), targets)
    search = _searched(work, allowed, options)
    card, configuration, _ = search.found()
    _, first = np.unique(np.stack([card, configuration]), axis=1, return_index=True)
    added = np.sort(first)  # what needs least on some cards may do so on more
    ways = np.array([search.configure(one.setup, one.layout) for one in whole.configurations], dtype=np.int64)
    return search.timed(
        np.concatenate([whole.card, card[added]]),
        np.concatenate([ways[whole.configuration], configuration[added]]),
        np.concatenate([whole.fits, np.zeros(len(added), dtype=np.bool_)]),
    )


def _searched(work: Work, allowed: Mask, options: Options) -> Search:
    """What each way of running takes on the cards."""
    cards = cards_of(work.catalogue)
    search = Search(work, cards, options)
    for setup in _configurations(work, options):
        for on_card, members in on_cards(work, setup, cards, allowed):
            search.run(on_card, members)
    return search


def _configurations(work: Work, options: Options) -> Iterator[Setup]:
    formats, setup = work.catalogue.formats, work.setup
    if options.at_once is not None:  # as few as there can be: each plan is filled when its cards are known
        setup = replace(setup, concurrency=1, batch_size=1)
    for method in options.methods or (work.setup.method,):
        for name in options.formats:
            narrow = formats[name].quantized
            if work.setup.trains and (method == "qlora") != narrow and not (method == "full" and formats[name].trains):
                continue  # only QLoRA trains on top of a quantized base, and it does so always
            yield replace(setup, format=formats[name], method=method)
