"""Training of recommenders: tables are spread over the cards, dense layers copied, looked-up rows exchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import CardKind, Device, ParallelLayout, Setup
from whygpu.checks.speed import estimate as speed
from whygpu.checks.speed.training import TrainingWork

if TYPE_CHECKING:
    from tests.checks.conftest import Facts
    from whygpu.checks.memory.estimate import MemoryEstimate

GIB = 2**30
EIGHT = ParallelLayout(data=8, sharding="tables")
A100 = Device.of(
    1.555e12,
    312e12,
    power_w=400,
    link_bytes_s=300e9,
    link_cards=8,
    pcie_bytes_s=31.5e9,
    network_bytes_s=12.5e9,
    kinds=CardKind("ampere", "data-centre", "cuda", "nvlink", "hbm2"),
)


@pytest.fixture
def setup(facts: Facts) -> Setup:
    return Setup(facts.formats["bf16"], phase="training", batch_size=8192, optimizer="adagrad")


def need(facts: Facts, setup: Setup, layout: ParallelLayout) -> MemoryEstimate:
    return memory.estimate(facts.shape("dlrm-criteo-1tb"), setup, layout, facts.coefficients)


def test_tables_are_spread_and_fit_eight_cards_of_40_gb(facts: Facts, setup: Setup) -> None:
    # MLPerf, recommendation_v2: 91.10 GiB of tables on 8 A100 of 40 GB, with batches of up to 8,192 on each
    done = need(facts, setup, EIGHT)
    assert done.weights == pytest.approx(91.10 * GIB / 8, rel=0.01)
    assert done.high < 39 * GIB


def test_copies_of_the_tables_would_not(facts: Facts, setup: Setup) -> None:
    copied = need(facts, setup, ParallelLayout(data=8))
    assert copied.weights == pytest.approx(8 * need(facts, setup, EIGHT).weights, rel=0.01)
    assert copied.total > 80 * GIB


def test_what_the_optimizer_keeps_goes_with_the_tables(facts: Facts, setup: Setup) -> None:
    # torchrec's planner: SGD keeps nothing, Adagrad as much as the table, Adam twice as much
    kept = {name: need(facts, replace(setup, optimizer=name), EIGHT).optimizer for name in ("sgd", "adagrad", "adamw")}
    tables = need(facts, setup, EIGHT).weights
    assert kept["sgd"] < 0.02 * tables
    assert kept["adagrad"] == pytest.approx(tables, rel=0.01)
    assert kept["adamw"] == pytest.approx(2 * tables, rel=0.01)


@pytest.mark.parametrize(("batch", "torchrec"), [(2048, 1_671_168), (8192, 5_373_952)])
def test_speed_lies_between_torchrec_and_mlperf(facts: Facts, setup: Setup, batch: int, torchrec: float) -> None:
    # above torchrec's example, whose reader and host work it leaves out; below what eight A100 can read and write of
    # rows in a step: 2 reads and a write of 3,328 FP32 numbers a sample
    shape = facts.shape("dlrm-criteo-1tb")
    done = speed.estimate(shape, replace(setup, batch_size=batch), EIGHT, A100, facts.coefficients).samples_per_s
    assert done is not None
    assert torchrec < done.likely[0] < 8 * 1.555e12 / (3 * 4 * 3328)
    assert done.low[0] < 2 * torchrec


def test_rows_cross_the_link_and_slower_the_network(facts: Facts, setup: Setup) -> None:
    # each card sends and gets 7/8 of 8,192 * 3,328 FP32 numbers, and as many gradients
    shape = facts.shape("dlrm-criteo-1tb")
    seconds = []
    for layout in (EIGHT, ParallelLayout(data=16, sharding="tables", nodes=2), ParallelLayout(data=8)):
        work = speed.estimate(shape, setup, layout, A100, facts.coefficients, ranges=False).work
        assert isinstance(work, TrainingWork)
        seconds.append(float(work.table_wire_s[0, 0]))
    payload = 2 * 7 / 8 * 8192 * 3328 * 4
    assert payload / 300e9 < seconds[0] < 2 * payload / 300e9
    assert seconds[1] > 10 * seconds[0]
    assert seconds[2] == 0
