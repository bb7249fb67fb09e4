"""Sizes a training run from measurements: accelerator-hours, days and cost by count, with failures and headroom."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from whygpu.checks.calculation import Calculation, Term
from whygpu.sizing.basis import Basis, fact, refuse
from whygpu.sizing.pace import Pace, layout_of, scales_of, split_of
from whygpu.sizing.run import Job, Run, cheapest_in_time, counts_up_to, runs_of, stops_paying

if TYPE_CHECKING:
    from collections.abc import Callable

    from whygpu.knowledge.base import Knowledge
    from whygpu.measured.measurement import Measurement

_MOST_TIMES = 128
"""Times the measured count that is tried where nothing limits it."""


@dataclass(frozen=True, slots=True)
class Target:
    """What there is to do, and within which limits. ``work``: in the unit of the pace.

    ``pace``: measured, or estimated where ``paced`` says so; ``headroom``: None where it is not answered.
    """

    work: float
    pace: Pace
    paced: Basis
    per_node: int
    most: int | None = None
    deadline_days: float | None = None
    headroom: float | None = None


@dataclass(frozen=True, slots=True)
class TrainingSize:
    """The run as sized. ``best``: the cheapest in time, the fastest where none is (``in_time`` is False).

    ``pays_to``: accelerators beyond which another doubling saves too little; ``as_set``: what is lost at the interval
    that was measured.
    """

    target: Target
    job: Job
    runs: tuple[Run, ...]
    best: Run
    in_time: bool
    pays_to: int | None
    split: tuple[tuple[str, float], ...]
    as_set: float | None
    basis: tuple[Basis, ...]
    notes: tuple[str, ...]
    calculations: tuple[Calculation, ...]

    @property
    def fitted(self) -> int:
        """Measured rows that the laws of the plan rest on."""
        scales = self.job.scales
        several = self.best.count > scales.per_node
        return (scales.across.fitted if several else 0) or scales.within.fitted * (not several)

    def figures(self) -> dict[str, float | bool]:
        """What rules read, by name without ``sizing.``."""
        best = self.best
        found: dict[str, float | bool | None] = {
            "accelerators": float(best.count),
            "efficiency": best.efficiency,
            "fitted": float(self.fitted),
            "pays_to": None if self.pays_to is None else float(self.pays_to),
            "lost_share": best.lost,
            "interval_minutes": best.interval_s / 60,
            "between_failures_hours": best.between_failures_s / 3600,
            "days": best.days,
            "all_days": best.all_days,
            "accelerator_hours": best.accelerator_hours,
            "usd_total": best.usd,
            "headroom": self.job.headroom,
            "in_time": self.in_time,
            "measured": self.target.paced.how == "measured",
        }
        return {name: value for name, value in found.items() if value is not None and math.isfinite(value)}


def size_training(
    found: Measurement, target: Target, knowledge: Knowledge, price: Callable[[int], float | None]
) -> TrainingSize:
    """Size a training run. ``price``: USD an hour of so many accelerators together."""
    contention = fact(knowledge, "scaling-contention", "contention")
    scales = scales_of(found.scaling, target.per_node, contention.value)
    bases = _bases(found, target, knowledge)
    pace = target.pace
    job = Job(
        work=target.work,
        per_s=pace.per_s / pace.count / scales.efficiency(pace.count),
        scales=scales,
        checkpoint_s=bases["checkpoint_s"].value,
        recovery_s=bases["recovery_s"].value,
        failures_per_day=bases["failures_per_day"].value,
        headroom=bases["headroom"].value,
    )
    least = min([pace.count, *(int(row.accelerators) for row in found.scaling)])
    most = target.most or least * _MOST_TIMES
    if most < least:
        message = f"at most {most} accelerators are allowed, and the fewest that were measured are {least}"
        raise refuse("too-few", message, "max_count", "raise max_count, or measure fewer accelerators")
    counts = [count for count in counts_up_to(target.per_node, most) if count >= least] or [least]
    runs = runs_of(job, sorted({least, *counts}), price)
    best = cheapest_in_time(runs, target.deadline_days)
    interval = found.number("checkpoint_interval_s")
    size = TrainingSize(
        target=target,
        job=job,
        runs=runs,
        best=best or min(runs, key=lambda run: run.all_days),
        in_time=best is not None,
        pays_to=stops_paying(runs, fact(knowledge, "least-gain", "least").value),
        split=split_of(found),
        as_set=None,
        basis=(target.paced, *bases.values(), *_scaling_basis(scales.within.fitted + scales.across.fitted, contention)),
        notes=tuple(_notes(found, target, scales.within.fitted, scales.across.fitted)),
        calculations=(),
    )
    as_set = None
    if interval is not None:
        (kept,) = runs_of(replace(job, interval_s=interval), [size.best.count], price)
        as_set = kept.lost
    return replace(size, as_set=as_set, calculations=tuple(_calculations(size)))


def _bases(found: Measurement, target: Target, knowledge: Knowledge) -> dict[str, Basis]:
    """Checkpoints, recovery, failures and headroom: measured or answered, else assumed."""
    count, _ = layout_of(found)
    failures = found.number("failures_per_day")
    measured = {
        "checkpoint_s": found.number("checkpoint_s"),
        "recovery_s": found.number("recovery_s"),
        "failures_per_day": None if failures is None else failures / count,
    }
    facts = {
        "checkpoint_s": fact(knowledge, "checkpoint-s", "checkpoint_s"),
        "recovery_s": fact(knowledge, "recovery-s", "recovery_s"),
        "failures_per_day": fact(knowledge, "accelerator-failures-per-day", "failures_per_day"),
        "headroom": fact(knowledge, "training-headroom", "headroom"),
    }
    for name, value in measured.items():
        if value is not None:
            facts[name] = replace(facts[name], value=value, how="measured", because="", sources=())
    if target.headroom is not None:
        facts["headroom"] = replace(facts["headroom"], value=target.headroom, how="answered", because="", sources=())
    return facts


def _scaling_basis(fitted: int, contention: Basis) -> list[Basis]:
    if not fitted:
        return [contention]
    return [Basis("fitted", "rows that the scaling law is fitted to", float(fitted), "rows", "measured")]


def _notes(found: Measurement, target: Target, within: int, across: int) -> list[str]:
    notes = []
    if not within and target.per_node > 1:
        notes.append("scaling within a machine was not measured: run one, two and four accelerators of one")
    if not across:
        notes.append("scaling across machines was not measured: run one, two and four machines")
    if within + across in (1, 2):
        notes.append("with fewer than three rows Amdahl's law is fitted, which never turns down: measure more")
    if not split_of(found):
        notes.append(
            "the step was not split: measure compute, memory, input and communication (whygpu diagnose says how)"
        )
    return notes


def _calculations(size: TrainingSize) -> list[Calculation]:
    best, job = size.best, size.job
    scales = job.scales
    nodes = float(-(-best.count // scales.per_node))
    efficiency = Calculation(
        "efficiency",
        "1 / (1 + a1 * (m - 1) + b1 * m * (m - 1)) / (1 + a2 * (k - 1) + b2 * k * (k - 1))",
        (
            Term("a1", scales.within.contention, "share", (), "contention within a machine"),
            Term("b1", scales.within.coherency, "share", (), "coherency within a machine"),
            Term("m", float(min(best.count, scales.per_node)), "accelerators", (), "in a machine"),
            Term("a2", scales.across.contention, "share", (), "contention across machines"),
            Term("b2", scales.across.coherency, "share", (), "coherency across machines"),
            Term("k", nodes, "machines"),
        ),
        best.efficiency,
        "share",
    )
    found = [efficiency, *_failure_calculations(size)]
    unit = size.target.pace.unit
    days = Calculation(
        "days",
        "work / (per_s * count * efficiency) / (1 - lost) / 86400",
        (
            Term("work", job.work, unit, (), "to do"),
            Term("per_s", job.per_s, f"{unit}/s", (), f"of one accelerator ({size.target.paced.how})"),
            Term("count", float(best.count), "accelerators"),
            efficiency.as_term(),
            Term("lost", best.lost, "share", (), "to checkpoints, failures and recovery"),
        ),
        best.days,
        "days",
    )
    headroom = next(item for item in size.basis if item.name == "headroom")
    whole = Calculation("all_days", "days * (1 + headroom)", (days.as_term(), headroom.term()), best.all_days, "days")
    count = Term("count", float(best.count), "accelerators")
    hours = Calculation(
        "accelerator_hours", "all_days * 24 * count", (whole.as_term(), count), best.accelerator_hours, "h"
    )
    found += [days, whole, hours]
    if best.usd is not None:
        hourly = Term("usd_per_hour", best.usd / (best.all_days * 24), "USD/h", (), "all accelerators")
        found.append(
            Calculation("usd_total", "all_days * 24 * usd_per_hour", (whole.as_term(), hourly), best.usd, "USD")
        )
    return found


def _failure_calculations(size: TrainingSize) -> list[Calculation]:
    best, job = size.best, size.job
    if not (math.isfinite(best.between_failures_s) and math.isfinite(best.interval_s)):
        return []
    by_name = {item.name: item for item in size.basis}
    between = Calculation(
        "between_failures_hours",
        "24 / (failures_per_day * count)",
        (by_name["failures_per_day"].term(), Term("count", float(best.count), "accelerators")),
        best.between_failures_s / 3600,
        "hours",
    )
    checkpoint = by_name["checkpoint_s"].term("checkpoint")
    mtbf = Term("mtbf", best.between_failures_s, "s", (), "time between failures")
    interval = Calculation(
        "interval_minutes",
        "((2 * checkpoint * mtbf) ** 0.5 * (1 + (checkpoint / (2 * mtbf)) ** 0.5 / 3 + checkpoint / (2 * mtbf) / 9)"
        " - checkpoint) / 60",
        (checkpoint, mtbf),
        best.interval_s / 60,
        "minutes",
    )
    lost = Calculation(
        "lost_share",
        "1 - interval / (e ** (recovery / mtbf) * mtbf * (e ** ((interval + checkpoint) / mtbf) - 1))",
        (
            Term("interval", best.interval_s, "s", (), "work between two checkpoints"),
            Term("e", math.e, "ratio"),
            by_name["recovery_s"].term("recovery"),
            mtbf,
            checkpoint,
        ),
        best.lost,
        "share",
    )
    if job.checkpoint_s >= 2 * best.between_failures_s:  # no interval is better than the time between failures
        return [between, lost]
    return [between, interval, lost]
