"""``whygpu size``: one screen, JSON, Markdown and exit status, on the real files of load tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]
LOADS = ROOT / "tests" / "measured" / "data" / "loads"
SERVE = ("size", "inference", str(LOADS / "points.csv"), "--set", "requests_per_second=50", "--set", "p95_ms=30s")
RUN = """
measurement: 1
setup: {accelerator: h100-sxm-80gb, count: 8, nodes: 1, batch_size: 4, sequence_tokens: 4096}
figures: {step_ms: 900, compute_share: 0.6, communication_share: 0.1, checkpoint_s: 40, checkpoint_interval_s: 7200}
scaling:
- {accelerators: 1, nodes: 1, tokens_per_s: 20000}
- {accelerators: 4, nodes: 1, tokens_per_s: 77000}
- {accelerators: 8, nodes: 1, tokens_per_s: 146000}
- {accelerators: 16, nodes: 2, tokens_per_s: 275000}
"""


@pytest.fixture
def measured(tmp_path: Path) -> str:
    path = tmp_path / "run.yaml"
    path.write_text(RUN, encoding="utf-8")
    return str(path)


def test_a_service_fits_one_screen(run: Run) -> None:
    done = run(*SERVE, "--set", "accelerators=l40s")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    for part in (
        "Take ",
        "a month",
        "p95 promised",
        "knee",
        "admit no more",
        "MEASURED",
        "ASSUMED",
        "FLIPS IF",
        "ai-rng-24",
    ):
        assert part in done.stdout, part


def test_a_training_run_fits_one_screen(run: Run, measured: str) -> None:
    done = run("size", "training", measured, "--set", "dataset_tokens=300B", "--set", "deadline_hours=480")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    text = " ".join(done.stdout.split())  # how long the path is decides where lines end
    for part in (
        "Take 16x H100",
        "the cheapest that meets the deadline",
        "accelerator-hours",
        "efficiency",
        "best",
        "compute 60.0%",
    ):
        assert part in text, part


def test_why_shows_every_term_with_its_source(run: Run, measured: str) -> None:
    text = run("size", "training", measured, "--set", "dataset_tokens=1B", "--why").stdout
    for part in (
        "llama-3-interruptions",
        "work between two checkpoints",
        "= 24 / (failures_per_day * count)",
        "daly-2006",
    ):
        assert part in text, part


def test_markdown_and_json_say_the_same(run: Run) -> None:
    data = json.loads(run(*SERVE, "--format", "json").stdout)
    text = run(*SERVE, "--format", "markdown").stdout
    assert data["figures"]["replicas"] == data["figures"]["needed"] + 1
    assert f"{data['figures']['replicas']} replicas" in text.splitlines()[0]
    assert text.startswith("# Take")
    assert [row["knee"] for row in data["curve"]].count(True) == 1
    assert data["unpriced"]
    assert {item["id"] for item in data["advice"]} >= {"batching-policy", "redundancy", "measured-basis"}


def test_what_cannot_be_met_ends_with_3(run: Run) -> None:
    done = run(*SERVE[:-1], "p95_ms=1s")
    assert done.returncode == 3
    assert "No number of replicas" in done.stdout
    assert "What helps" in done.stdout


def test_bad_input_ends_with_2_and_names_it(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"hello": 1}', encoding="utf-8")
    done = run("size", "inference", str(other), "--set", "requests_per_second=5")
    assert done.returncode == 2
    assert "other.json" in done.stderr
    assert "Traceback" not in done.stderr
    missing = run("size", "inference", str(tmp_path / "none.json"), "--set", "requests_per_second=5")
    assert (missing.returncode, "cannot be read" in missing.stderr) == (2, True)
    peak = run("size", "inference", str(LOADS / "points.csv"), "--set", "p95_ms=5")
    assert (peak.returncode, "requests_per_second=20" in peak.stderr) == (2, True)


def test_nothing_given_prints_help(run: Run) -> None:
    done = run("size", "inference")
    assert done.returncode == 0
    assert "vllm bench" in done.stdout.replace("\n", " ")


def test_what_is_wrong_with_every_file_is_told(run: Run, tmp_path: Path) -> None:
    """As diagnose does: all problems at once, a file that is not there among them."""
    (tmp_path / "odd.csv").write_bytes(b"\xff\xfe\x00")
    names = [str(tmp_path / "missing.csv"), str(tmp_path / "odd.csv")]
    done = run("size", "inference", *names, "--set", "requests_per_second=50")
    assert done.returncode == 2
    assert all(name in done.stderr for name in names)
