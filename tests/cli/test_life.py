"""A lifecycle on the command line, as a process: text, JSON, batch, and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]
EXAMPLE = "examples/train-then-serve.yaml"
LIFE: dict[str, Any] = {
    "phases": {"train": {"method": "lora", "dataset_tokens": "100M"}, "serve": {"concurrency": 2}},
    "model": "llama-3.1-8b",
    "accelerators": ["A100 80GB", "L4"],
}


def test_json_has_the_names_of_the_contract(run: Run) -> None:
    done = run("explain", EXAMPLE, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"schema", "kb", "engine", "status", "answers", "phases", "life_cost"} == found.keys()
    train, serve = found["phases"]
    assert train["recommendation"]["method"] == "lora"
    assert serve["recommendation"]["method"] is None
    assert [phase["profile"]["phase"] for phase in (train, serve)] == ["fine-tuning", "inference"]
    assert {"phase", "title", "points"} == train["profile"].keys()
    cost = found["life_cost"]
    assert {"service_months", "train", "serve", "usd_total", "serving_share", "same_hardware"} <= cost.keys()
    assert {"usd_per_run", "trainings", "runs", "usd_total", "because"} == cost["train"].keys()
    assert {"usd_per_month", "usd_total", "because"} == cost["serve"].keys()
    assert {"plan", "usd_per_month", "serve_usd_total", "usd_total", "times", "because"} == cost["same_hardware"].keys()
    assert (cost["service_months"], cost["train"]["trainings"], cost["train"]["runs"]) == (24, 8, 24)
    assert cost["usd_total"] == pytest.approx(cost["train"]["usd_total"] + cost["serve"]["usd_total"])
    assert cost["serving_share"] == pytest.approx(cost["serve"]["usd_total"] / cost["usd_total"])
    assert cost["same_hardware"]["plan"]["accelerator"]["id"] == train["recommendation"]["accelerator"]["id"]


def test_the_text_shows_both_plans_and_the_cost(run: Run) -> None:
    done = run("explain", EXAMPLE)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert text.index("TRAIN\n") < text.index("SERVE\n") < text.index("What the lifecycle costs")
    assert text.count("\nTAKE ") == 2
    assert "24 runs in 8 trainings" in text
    assert "Serving on the training accelerator" in text
    assert "griddly-26" in text
    assert "marathon" not in text
    assert len(text.splitlines()) <= 60


def test_documents_hold_the_cost_too(run: Run) -> None:
    markdown = run("explain", EXAMPLE, "--format", "markdown").stdout
    assert markdown.count("\n## What the lifecycle costs\n") == 1
    assert "| training | 24 runs in 8 trainings, " in markdown
    assert "`griddly-26`" in markdown.partition("What the lifecycle costs")[2]
    assert "<h2>What the lifecycle costs</h2>" in run("explain", EXAMPLE, "--format", "html").stdout


def test_one_phase_in_full(run: Run) -> None:
    done = run("explain", EXAMPLE, "--only", "serve", "--format", "json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(run("explain", EXAMPLE, "--format", "json").stdout)
    assert json.loads(done.stdout) == whole["phases"][1]
    text = run("explain", EXAMPLE, "--only", "train", "--why").stdout
    assert "Why: the rules behind" in text
    refused = run("explain", "--set", "phase=inference", "--only", "serve")
    assert refused.returncode == 2
    assert "--only: idle-option" in refused.stderr


def test_about_this_phase_only_where_asked_for(run: Run) -> None:
    plain = run("explain", "--set", "phase=inference", "--set", "accelerators=l4")
    about = run("explain", "--set", "phase=inference", "--set", "accelerators=l4", "--about")
    assert about.stdout.startswith(plain.stdout)
    assert "Users wait" in " ".join(about.stdout[len(plain.stdout) :].split())
    both = run("explain", EXAMPLE, "--about").stdout
    assert both.index("Fine-tuning: ") < both.index("Inference: ")


def test_what_cannot_be_used_is_said_with_its_place(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "life.yaml"
    path.write_text("phase: training\nphases:\n  train: {phase: inference}\n  serv: {}\n", encoding="utf-8")
    done = run("explain", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:3:18: wrong-phase: 'train' cannot be inference\n      train: {{phase: inference}}\n" in done.stderr
    assert f"{path}:4:3: unknown-key: there is no phase 'serv' in a lifecycle" in done.stderr
    assert f"{path}:1:1: clash: 'phase' names one phase, and 'phases' has two" in done.stderr


def test_a_phase_without_a_plan_ends_with_status_3(run: Run) -> None:
    done = run("explain", "-", stdin=json.dumps({**LIFE, "phases": {"train": {}, "serve": {"latency_ms": 0.01}}}))
    assert done.returncode == 3
    assert "No plan satisfies every constraint." in done.stdout
    assert "The cost of serving is unknown: no plan to serve satisfies every constraint." in done.stdout


def test_an_estimate_refuses_a_life(run: Run) -> None:
    done = run("estimate", EXAMPLE, "--set", "accelerators=l4")
    assert (done.returncode, done.stdout) == (2, "")
    assert "whole-life: 'phases' describes a lifecycle" in done.stderr


def test_batch_mixes_lives_and_single_phases(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    rows = [LIFE, {"model": "llama-3.1-8b", "accelerators": ["l4"]}, {"phases": {"train": {}}}]
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = run("explain", "--batch", str(source), "--all", "--trace")
    assert done.returncode == 0, done.stderr
    life, single, bad = (json.loads(line) for line in done.stdout.splitlines())
    alone = json.loads(run("explain", "-", "--format", "json", stdin=json.dumps(LIFE)).stdout)
    assert life["advice"]["life_cost"] == alone["life_cost"]
    assert single["advice"]["recommendation"]["accelerator"]["id"] == "l4"
    assert [item["code"] for item in bad["error"]] == ["missing-key"]


def test_batch_of_columns_with_dotted_names(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    header = "phases.train.method,phases.train.dataset_tokens,phases.serve.concurrency,model,accelerators"
    source.write_text(f"{header}\nlora,100M,2,llama-3.1-8b,[A100 80GB]\n", encoding="utf-8")
    (row,) = (json.loads(line) for line in run("explain", "--batch", str(source)).stdout.splitlines())
    assert row["advice"]["life_cost"]["usd_total"] > 0
