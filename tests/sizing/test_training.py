"""Checkpoints, scaling laws and runs: closed forms against numbers, and what must hold of any run."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu.sizing.checkpoints import daly_s, wall_share, young_s
from whygpu.sizing.run import Job, cheapest_in_time, counts_up_to, run_of, runs_of, stops_paying
from whygpu.sizing.scaling import Law, Scales, fit_law

SCALES = Scales(Law(0.01, 0.0, 3), Law(0.03, 0.001, 3), 8)
JOB = Job(1e9, 100.0, SCALES, checkpoint_s=60, recovery_s=600, failures_per_day=0.01, headroom=0.2)


@given(checkpoint=st.floats(1, 300), mean=st.floats(2_000, 1e7), recovery=st.floats(0, 2_000))
def test_dalys_interval_loses_least(checkpoint: float, mean: float, recovery: float) -> None:
    best = daly_s(checkpoint, mean)
    least = min(wall_share(best * times, checkpoint, recovery, mean) for times in np.linspace(0.2, 4, 400))
    assert wall_share(best, checkpoint, recovery, mean) <= least * 1.0005


def test_young_and_daly_agree_where_failures_are_rare() -> None:
    assert young_s(60, 1e8) == pytest.approx(math.sqrt(2 * 60 * 1e8))
    assert daly_s(60, 1e8) == pytest.approx(young_s(60, 1e8), rel=1e-3)
    assert daly_s(300, 100) == 100, "no interval is better than the time between failures"


def test_lost_time_is_about_checkpoints_rework_and_recovery() -> None:
    """To first order: checkpoint / interval, half an interval for each failure, and the recovery of each."""
    interval, checkpoint, recovery, mean = 3_600.0, 30.0, 600.0, 1e6
    first_order = checkpoint / interval + (interval / 2 + recovery) / mean
    assert wall_share(interval, checkpoint, recovery, mean) - 1 == pytest.approx(first_order, rel=0.02)


@settings(max_examples=60)
@given(contention=st.floats(0, 0.2), coherency=st.floats(0, 0.01))
def test_the_law_of_scalability_is_found_again(contention: float, coherency: float) -> None:
    law = Law(contention, coherency, 0)
    found = fit_law([(count, law.efficiency(count)) for count in (1.0, 2.0, 4.0, 8.0, 16.0)])
    assert found is not None
    for count in (2, 8, 32):
        assert found.efficiency(count) == pytest.approx(law.efficiency(count), rel=1e-3, abs=1e-4)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from([2.0, 4.0, 8.0, 16.0, 64.0]), st.floats(0.05, 1.5)), min_size=1, max_size=6))
def test_efficiency_is_never_above_one_and_never_rises(rows: list[tuple[float, float]]) -> None:
    law = fit_law(rows)
    assert law is not None
    efficiencies = [law.efficiency(count) for count in range(1, 200)]
    assert max(efficiencies) <= 1
    assert all(later <= earlier for earlier, later in pairwise(efficiencies))


def test_no_row_of_several_gives_no_law() -> None:
    assert fit_law([]) is None
    assert fit_law([(1.0, 1.0)]) is None


def test_more_accelerators_are_never_slower_before_failures_but_cost_more_hours() -> None:
    runs = runs_of(JOB, (1, 2, 4, 8, 16, 32), lambda count: 2.0 * count)
    assert [run.days for run in runs] == sorted((run.days for run in runs), reverse=True)
    assert [run.accelerator_hours for run in runs] == sorted(run.accelerator_hours for run in runs)
    assert runs[0].usd == pytest.approx(runs[0].accelerator_hours * 2)
    assert all(run.all_days == pytest.approx(1.2 * run.days) for run in runs)


def test_the_cheapest_in_time_is_taken_and_none_where_none_is() -> None:
    runs = runs_of(JOB, (1, 2, 4, 8, 16, 32), lambda count: 2.0 * count)
    best = cheapest_in_time(runs, 30)
    assert best is not None
    assert best.all_days <= 30
    assert all(
        run.usd is not None and best.usd is not None and run.usd >= best.usd for run in runs if run.all_days <= 30
    )
    assert cheapest_in_time(runs, 0.001) is None


def test_where_more_stops_paying() -> None:
    runs = runs_of(JOB, (8, 16, 32, 64, 128, 256), lambda _: None)
    count = stops_paying(runs, 0.5)
    assert count is not None
    here, double = (next(run for run in runs if run.count == wanted) for wanted in (count, 2 * count))
    assert (here.days - double.days) / (here.days / 2) < 0.5
    linear = Job(1e9, 100.0, Scales(Law(0, 0, 3), Law(0, 0, 3), 8), 0, 0, 0, 0)
    assert stops_paying(runs_of(linear, (8, 16, 32), lambda _: None), 0.5) is None


def test_failures_come_in_proportion_to_accelerators_and_none_is_none() -> None:
    assert run_of(JOB, 16, None).between_failures_s == pytest.approx(86_400 / 0.16)
    safe = run_of(Job(1e9, 100.0, SCALES, 60, 600, 0.0, 0.0), 8, None)
    assert safe.lost == 0
    assert safe.days == pytest.approx(1e9 / (800 * SCALES.efficiency(8)) / 86_400)


def test_counts_are_halves_of_a_machine_then_whole_machines() -> None:
    counts = counts_up_to(8, 64)
    assert counts[:4] == (1, 2, 4, 8)
    assert all(count % 8 == 0 for count in counts[3:])
    assert counts[-1] == 64
    assert counts_up_to(8, 1) == (1,)
