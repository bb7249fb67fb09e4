"""The accuracy benchmark where it can be tried without the measurements, and the rules it holds other tools to."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.accuracy import peers
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.rows import Compared
from benchmarks.accuracy.score import ninetieth, score

from tests.checks.conftest import Facts
from whygpu.checks.memory import estimate as memory
from whygpu.checks.setup import ParallelLayout, Setup


def test_absent_measurements_are_said_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "accuracy.md")]) == 2
    assert "no measurements" in capsys.readouterr().err
    assert not (tmp_path / "accuracy.md").exists()


def test_published_rules_of_other_tools() -> None:
    facts = Facts()
    shape = facts.shape("llama-3.1-8b")
    served = memory.estimate(
        shape, Setup(facts.formats["bf16"], context_tokens=8192), ParallelLayout(), facts.coefficients
    )
    said = peers.for_inference(served, 1.0)
    assert said["accelerate"] == 2 * shape.parameters
    assert said["hf-mem"] == 2 * shape.parameters + 8192 * 131_072  # 2 * 32 layers * 8 heads * 128 * 2 bytes a token
    setup = Setup(facts.formats["bf16"], phase="training")
    trained = memory.estimate(shape, setup, ParallelLayout(data=8, sharding="zero2"), facts.coefficients)
    # 0.19: 2 P of weights, and 18 P divided by the eight ranks
    assert peers.for_training(trained, 1.0) == {"DeepSpeed": 2 * shape.parameters + int(18 * shape.parameters / 8)}
    alone = memory.estimate(shape, setup, ParallelLayout(), facts.coefficients)
    assert peers.for_training(alone, 1.0)["accelerate"] == 8 * shape.parameters


def test_figures_over_rows() -> None:
    rows = [Compared("kind", "family", str(n), 100.0, 90.0 + n, 100.0 + n, 110.0 + n) for n in range(11)]
    found = score(rows)
    assert found.median == pytest.approx(0.05)
    assert found.inside == 1.0
    assert ninetieth(range(1, 11)) == 9
