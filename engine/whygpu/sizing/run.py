"""A training run on so many accelerators: how long it takes, failures and checkpoints included, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.sizing.checkpoints import daly_s, wall_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whygpu.sizing.scaling import Scales


@dataclass(frozen=True, slots=True)
class Job:
    """What there is to do, and what was measured of it.

    ``work``: steps, samples or tokens to do; ``per_s``: what one accelerator alone does a second; ``failures_per_day``:
    of one accelerator; ``headroom``: runs that retries, validation and experiments add, as a share of the run.
    ``interval_s``: work between two checkpoints as it is set; the optimum where it is None.
    """

    work: float
    per_s: float
    scales: Scales
    checkpoint_s: float
    recovery_s: float
    failures_per_day: float
    headroom: float
    interval_s: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The job on ``count`` accelerators. ``days``: wall days of the run alone; ``all_days``: with its headroom.

    ``lost``: part of the wall time that checkpoints, failures and recovery take.
    """

    count: int
    efficiency: float
    between_failures_s: float
    interval_s: float
    lost: float
    days: float
    all_days: float
    accelerator_hours: float
    usd: float | None


def run_of(job: Job, count: int, usd_per_hour: float | None) -> Run:
    """The job on so many accelerators, whose hour all together costs ``usd_per_hour``."""
    efficiency = job.scales.efficiency(count)
    working_s = job.work / (job.per_s * count * efficiency)
    between = math.inf if job.failures_per_day <= 0 else 86_400 / (job.failures_per_day * count)
    interval = job.interval_s or best_interval_s(job, between)
    share = _wall(job, interval, between)
    days = working_s * share / 86_400
    whole = days * (1 + job.headroom)
    hours = whole * 24
    return Run(
        count=count,
        efficiency=efficiency,
        between_failures_s=between,
        interval_s=interval,
        lost=1 - 1 / share,
        days=days,
        all_days=whole,
        accelerator_hours=hours * count,
        usd=None if usd_per_hour is None else hours * usd_per_hour,
    )


def best_interval_s(job: Job, between_failures_s: float) -> float:
    """Daly's interval; the whole run where nothing fails or a checkpoint costs nothing."""
    if math.isinf(between_failures_s) or job.checkpoint_s <= 0:
        return math.inf
    return daly_s(job.checkpoint_s, between_failures_s)


def _wall(job: Job, interval_s: float, between_failures_s: float) -> float:
    """Wall time over working time; checkpoints alone where nothing fails, recovery alone where they cost nothing."""
    if math.isinf(between_failures_s):
        return 1.0 if math.isinf(interval_s) else 1 + job.checkpoint_s / interval_s
    if math.isinf(interval_s):
        return 1 + job.recovery_s / between_failures_s
    return wall_share(interval_s, job.checkpoint_s, job.recovery_s, between_failures_s)


def counts_up_to(per_node: int, most: int) -> tuple[int, ...]:
    """The counts that are tried: halves of a machine, then whole machines, in steps of about an eighth."""
    found = [count for power in range(20) if (count := 2**power) < per_node and count <= most]
    nodes = 1
    while nodes * per_node <= most:
        found.append(nodes * per_node)
        nodes = max(nodes + 1, int(nodes * 9 / 8))
    return tuple(found) or (1,)


def runs_of(job: Job, counts: Iterable[int], price: Callable[[int], float | None]) -> tuple[Run, ...]:
    """The job on each of the counts."""
    return tuple(run_of(job, count, price(count)) for count in counts)


def stops_paying(runs: Iterable[Run], least_share: float) -> int | None:
    """The most accelerators that still pay: of the next doubling less than ``least_share`` would arrive as time saved.

    Of twice the accelerators half the days are expected; what is saved of that half is what arrives. None where every
    doubling that was tried pays.
    """
    by_count = {run.count: run for run in runs}
    for count, run in sorted(by_count.items()):
        double = by_count.get(2 * count)
        if double is not None and (run.days - double.days) / (run.days / 2) < least_share:
            return count
    return None


def cheapest_in_time(runs: Iterable[Run], deadline_days: float | None) -> Run | None:
    """The run with the least cost, or accelerator-hours where no price is known, that meets the deadline.

    None where none meets it.
    """
    in_time = [run for run in runs if deadline_days is None or run.all_days <= deadline_days]
    return min(
        in_time, key=lambda run: (run.usd if run.usd is not None else run.accelerator_hours, run.all_days), default=None
    )
