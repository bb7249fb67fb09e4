"""The plans on what is owned: on as many of each card as there are or fewer, beside what could be rented or bought."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whygpu.kept import kept
from whygpu.plans.enumerate import enumerate_plans
from whygpu.plans.plan_set import cards_of, plan_set_of
from whygpu.plans.search import STEPS
from whygpu.plans.ways import Ways

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.chain.engines import Mask
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.ways import RunConfiguration
    from whygpu.plans.work import Work


def plans_with_owned(work: Work, allowed: Mask, options: Options, targets: Targets) -> PlanSet:
    """Every plan on the ``allowed`` cards, and every plan on the owned ones of ``options``; a planner."""
    if not options.owned:
        return enumerate_plans(work, allowed, options, _of_new(options, targets))
    return _with_owned(work, allowed.tobytes(), options, targets)


def _of_new(options: Options, targets: Targets) -> Targets:
    """What plans on hardware that is not there must reach: what is bought is paid for however short the job is, so that
    one machine is filled for no sooner an end than is usual.
    """
    bought = options.machines.rented_for is None
    return replace(targets, paces_of_one_machine=targets.paces) if bought else targets


@kept(32)
def _with_owned(work: Work, allowed_bytes: bytes, options: Options, targets: Targets) -> PlanSet:
    cards, new = cards_of(work.catalogue), replace(options, owned=())
    base = enumerate_plans(work, np.frombuffer(allowed_bytes, dtype=np.bool_), new, _of_new(options, targets))
    configurations = list(base.configurations)
    numbers = {
        (configuration.setup, configuration.layout): number for number, configuration in enumerate(configurations)
    }
    rows: dict[tuple[int, int], bool] = {}  # card and way of an owned plan, and whether it fits: each once
    for row, count in options.owned:
        most = options.count or min(count, options.max_count)
        for plan_set in _on_owned(work, np.arange(len(cards.accelerators)) == row, count, new, targets):
            for number, fits in zip(plan_set.configuration.tolist(), plan_set.fits.tolist(), strict=True):
                configuration: RunConfiguration = plan_set.configurations[number]
                if not fits and configuration.layout.cards < most:
                    continue  # that it fits on none is told of all of them
                if (configuration.setup, configuration.layout) not in numbers:
                    numbers[configuration.setup, configuration.layout] = len(configurations)
                    configurations.append(configuration)
                rows.setdefault((row, numbers[configuration.setup, configuration.layout]), fits)
    added = np.array(list(rows), dtype=np.int64).reshape(-1, 2)
    return plan_set_of(
        work,
        Ways(configurations),
        np.concatenate([base.card, added[:, 0]]),
        np.concatenate([base.configuration, added[:, 1]]),
        np.concatenate([base.fits, np.array(list(rows.values()), dtype=np.bool_)]),
        np.concatenate([base.owned, np.ones(len(rows), dtype=np.bool_)]),
        options.machines,
    )


def _on_owned(work: Work, only: Mask, owned: int, options: Options, targets: Targets) -> Iterator[PlanSet]:
    """On as few of the cards as hold and meet the work, and on each number of them; or on the number asked for."""
    if options.count is not None:
        if options.count <= owned:
            yield enumerate_plans(work, only, options, targets)
        return
    most = min(owned, options.max_count)
    yield enumerate_plans(work, only, replace(options, max_count=most), targets)
    for count in sorted({*(step for step in STEPS if step < most), most}):
        yield enumerate_plans(work, only, replace(options, count=count), targets)
