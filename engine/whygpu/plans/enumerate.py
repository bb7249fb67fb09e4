"""Which plans there are: each accelerator and way of running, at the smallest count that meets the work."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whygpu.kept import kept
from whygpu.plans.batches import filled, packed_widely
from whygpu.plans.growth import Growth, is_job
from whygpu.plans.plan_set import Machines, cards_of
from whygpu.plans.search import Search, on_cards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whygpu.chain.engines import Mask
    from whygpu.checks.setup import ParallelLayout, Setup
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.splits import Found
    from whygpu.plans.work import Work

_Ways: TypeAlias = "tuple[tuple[Setup, ParallelLayout], ...]"
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
    if not is_job(work, options) and options.machines.rented_for not in (None, _no_more):
        # cards that are rented with others and idle are given more of a job alone: which those are changes with prices
        alone = replace(options, machines=replace(options.machines, rented_for=_no_more))
        return replace(_enumerated(work, allowed_bytes, alone, targets), machines=options.machines)
    whenever: list[PlanSet] = _room(work, allowed_bytes, options, replace(targets, **_NO_HOURS))
    if whenever:
        return whenever[0]
    search = _searched(work, allowed, options)
    plan_set = _grown(work, search, options, targets)
    if not search.knows_hours:  # of none that was timed: no deadline and no pace was compared with any
        whenever.append(plan_set)
    return plan_set


def _no_more(accelerator: str, group: int, groups: int, together: int) -> int:  # noqa: ARG001
    """As many cards as a plan takes."""
    return group * groups


_NO_HOURS: Mapping[str, Any] = MappingProxyType({"train_hours": None, "paces": (), "paces_of_one_machine": ()})


@kept(64)
def _room(*of: object) -> list[Any]:  # noqa: ARG001
    """Where to keep what holds of more than it was found of: empty until somebody finds that it does."""
    return []


def _grown(work: Work, search: Search, options: Options, targets: Targets) -> PlanSet:
    """The plans on the smallest spreads, filled and grown to meet the work."""
    card, configuration, fits = search.found()
    if work.setup.trains and len(card):
        final = options.count is not None or options.fixed.replicas is not None  # nothing is grown, which tries them
        plan_set = filled(search, card, configuration, fits, options, options.shardings if final else ()).distinct()
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
    """What each way of running takes on the cards.

    How much there is to do of a job, what is rented or owned and what the cards may draw change no smallest spread.
    """
    cards = cards_of(work.catalogue)
    search = Search(work, cards, options)
    plain = replace(work, setup=work.setup.but(**_NO_JOB), measured=())
    wide = replace(options, max_watts=None, shared=False, **_NO_MACHINES)
    known: list[tuple[Found, _Ways]] = _room(plain, allowed.tobytes(), wide)
    if known:
        search.again(*known[0], **{name: getattr(work.setup, name) for name in _NO_JOB})
        return search
    caches = [work.catalogue.formats[name] for name in options.kv_formats]
    for setup in _configurations(work, options):
        for on_card, members in on_cards(work, setup, cards, allowed):
            search.run(on_card, members, caches)
    known.append((search.found(), tuple((way.setup, way.layout) for way in search.configurations)))
    return search


_NO_JOB: Mapping[str, Any] = MappingProxyType({"dataset_tokens": 0.0, "dataset_samples": 0.0, "epochs": 0.0})
_NO_MACHINES: Mapping[str, Any] = MappingProxyType({"owned": (), "machines": Machines()})


def _configurations(work: Work, options: Options) -> Iterator[Setup]:
    formats, setup = work.catalogue.formats, work.setup
    if options.at_once is not None:  # as few as there can be: each plan is filled when its cards are known
        setup = replace(setup, concurrency=1, batch_size=1)
    if options.each is not None:  # likewise
        setup = replace(setup, batch_size=1)
    for method in options.methods or (work.setup.method,):
        for name in options.formats:
            narrow = formats[name].quantized
            if work.setup.trains and (method == "qlora") != narrow and not (method == "full" and formats[name].trains):
                continue  # only QLoRA trains on top of a quantized base, and it does so always
            yield replace(setup, format=formats[name], method=method)
