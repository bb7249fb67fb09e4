"""The order itself: values are products, both engines agree on them, and no plan stands before one that is better."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from tests.ranking.asked import SLIGHTLY, Asked, ask, asked, knowledge, one_in
from whygpu.api import KnowledgeBase

pytestmark = pytest.mark.slow


@one_in(8)
def test_what_a_plan_counts_as_is_its_money_times_each_factor(every: int) -> None:
    """Money as it is told: an hour with what handling costs, for the hours of the job, or those that what is bought for
    it is held, and those beside it, in which what is owned draws next to nothing.
    """
    tried = 0
    for found in asked(every):
        counted, costs, field = found.counted, found.consultation.plans.costs, found.consultation.plans.plan_set
        assert costs is not None
        assert field is not None
        handling = knowledge().preferences.priced_handling
        hours = field.speeds.figures.get("train_hours")
        for plan, row in found.rows.items():
            factors = [float(column[row]) for column in counted.factors.values()]
            money = float(counted.money.values[row])
            if not math.isfinite(money):
                continue
            tried += 1
            assert math.isclose(found.value(plan), money * math.prod(factors), rel_tol=SLIGHTLY), found.workload.id
            hourly = float(costs.hourly[row] + counted.money.handling[row])
            if counted.money.unit == "USD/hour":
                assert math.isclose(money, hourly, rel_tol=SLIGHTLY)
            if counted.money.unit == "USD":
                assert hours is not None
                beside = 0.0 if field.owned[row] else handling.hours_per_job
                counted_hours = max(float(hours[row]), float(costs.held[row])) + beside
                assert math.isclose(money, hourly * counted_hours, rel_tol=SLIGHTLY)
                assert money > float(costs.objective[row])
                if not costs.held[row] and not field.owned[row]:  # handling is that of the machines, whole hours of it
                    rates = (handling.usd_per_hour, handling.own_usd_per_hour, handling.field_usd_per_hour)
                    each = float(counted.money.handling[row])
                    assert any(math.isclose(each / rate, round(each / rate), rel_tol=SLIGHTLY) for rate in rates)
    assert tried > 100


@one_in(8)
def test_both_engines_count_alike(every: int) -> None:
    kb = KnowledgeBase(knowledge())
    for one in asked(every):
        other = ask(one.workload, chain=kb.chain("durable"))
        assert other is not None
        assert list(one.rows) == list(other.rows), one.workload.id
        rows = list(one.rows.values())
        assert np.array_equal(one.counted.values[rows], other.counted.values[rows], equal_nan=True), one.workload.id
        assert one.consultation.plans.objections == other.consultation.plans.objections


LESS = ("token_ms", "ttft_ms", "train_hours")
MORE = ("tokens_per_s", "requests_per_s", "frames_per_s", "train_tokens_per_s", "samples_per_s")


def _figures(found: Asked, row: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What one wants less of: money, accelerators, memory filled, coupling between accelerators, and time."""
    field, costs = found.consultation.plans.plan_set, found.consultation.plans.costs
    assert field is not None
    assert costs is not None
    configuration = field.configurations[int(field.configuration[row])]
    speeds = field.speeds.figures
    times = [float(speeds[name][row]) for name in LESS if name in speeds]
    rates = [-float(speeds[name][row]) for name in MORE if name in speeds]
    coupled = float(configuration.layout.tensor * configuration.layout.pipeline)
    unverified = float(found.consultation.plans.unverified[row])
    return np.array(
        [
            float(costs.objective[row]),
            configuration.layout.cards,
            configuration.memory.high,
            coupled,
            unverified,
            *times,
            *rates,
        ]
    )


@one_in(8)
def test_no_plan_stands_before_one_of_the_same_card_and_format_that_is_better(every: int) -> None:
    """Better: no worse in anything, by a hundredth better in something; more shards are worse, for what they couple."""
    dominated: list[str] = []
    tried = 0
    for found in asked(every):
        alike: dict[tuple[object, ...], list[tuple[object, ...]]] = defaultdict(list)
        for plan in found.rows:
            alike[plan[:2] + plan[3:6]].append(plan)
        for plans in alike.values():
            for location, higher in enumerate(plans):
                for lower in plans[location + 1 :]:
                    one, other = _figures(found, found.rows[higher]), _figures(found, found.rows[lower])
                    tried += 1
                    better = (other <= one + SLIGHTLY * abs(one)).all() and (other < one - 0.01 * abs(one)).any()
                    if better and found.value(lower) > found.value(higher) * (1 + SLIGHTLY):
                        text = f"{found.factors(higher)} {found.factors(lower)}"
                        dominated.append(f"{found.workload.id}: {higher} before {lower}: {text}")
    assert tried > 100
    assert not dominated, "\n".join(dominated)
