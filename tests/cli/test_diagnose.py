"""``whygpu diagnose``: files and settings in; a screen, Markdown or JSON out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import whygpu
from whygpu.schema.build import schema_of

Run = Callable[..., subprocess.CompletedProcess[str]]
DATA = Path(__file__).resolve().parents[1] / "measured" / "data"
MUCH = (
    *("--set", "phase=training", "--set", "gpu_utilisation=55%", "--set", "input_share=30%"),
    *("--set", "communication_share=0.2", "--set", "rank_spread=1.3", "--set", "thermal_share=10%"),
    *("--set", "memory_swing=0.5", "--set", "sm_active=0.2", "--set", "host_share=30%", "--set", "cpu_utilisation=95%"),
)


def test_the_screen(run: Run) -> None:
    done = run("diagnose", "--set", "phase=training", "--set", "gpu_utilisation=55%", "--set", "input_share=30%")
    assert done.returncode == 0, done.stderr
    for part in (
        "Measured, while training",
        "Most likely: The input pipeline is slower",
        "+ strong: 30.0% of a step",
        "[input-takes-the-step, rules/diagnosis.yaml:",
        "Do first",
        "To be sure:",
        "Measure next",
        "Other causes",
    ):
        assert part in " ".join(done.stdout.split())


@pytest.mark.parametrize("settings", [MUCH[:2], MUCH[:6], MUCH[:12], MUCH])
def test_it_fits_on_a_screen(settings: tuple[str, ...], run: Run) -> None:
    lines = run("diagnose", *settings).stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100


def test_json_is_as_its_schema_says(run: Run, kb: whygpu.KnowledgeBase) -> None:
    done = run("diagnose", *MUCH, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    Draft202012Validator(schema_of("diagnosis", kb.knowledge)).validate(found)
    assert found["status"] == "found"
    assert found["causes"][0]["signs"][0]["rule"]
    assert set(found["causes"][0]["claims"]) & found["sources"].keys()
    assert found["trace"]["steps"]


@pytest.mark.durable
def test_both_engines_say_the_same(run: Run) -> None:
    texts = {run("diagnose", *MUCH, "--engine", engine).stdout for engine in ("durable", "evaluator")}
    assert len(texts) == 1


def test_markdown(run: Run) -> None:
    text = run("diagnose", *MUCH, "--format", "markdown").stdout
    assert text.startswith("## Measured, while training")
    assert "## Sources" in text


def test_files_of_tools_and_settings_together(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("measurement: 1\nfigures: {input_share: 0.3}\n", encoding="utf-8")
    done = run("diagnose", str(DATA / "nvidia-smi.csv"), str(tmp_path / "m.yaml"), "--set", "phase=training")
    assert done.returncode == 0, done.stderr
    assert "gpu_utilisation 72.5%" in done.stdout
    assert "Most likely: The input pipeline" in done.stdout


def test_standard_input(run: Run) -> None:
    done = run("diagnose", "-", stdin='{"measurement": 1, "figures": {"input_share": 0.3}}')
    assert done.returncode == 0, done.stderr
    assert "input-pipeline" in done.stdout


def test_all_problems_at_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "measurement: 1\nfigures: {latency_p50_ms: 200, latency_p95_ms: 100}\n", encoding="utf-8"
    )
    settings = ("--set", "gpu_utilisatoin=55%", "--set", "input_share=130%")
    files = (str(tmp_path / "m.yaml"), str(DATA / "sglang.log"), str(tmp_path / "none.csv"))
    done = run("diagnose", *files, *settings, "--format", "json")
    assert done.returncode == 2
    problems = json.loads(done.stderr)["error"]
    assert [item["code"] for item in problems] == [
        "contradiction",
        "other-tool",
        "unreadable",
        "unknown-figure",
        "out-of-range",
    ]
    assert "gpu_utilisation" in problems[3]["help"]


def test_nothing_given_is_helped(run: Run) -> None:
    done = run("diagnose")
    assert done.returncode == 0
    assert "example: whygpu diagnose" in done.stdout
