"""Questions about an answer on the command line: options, formats, records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]
CAMERAS = ("explain", "examples/watch-cameras.yaml", "--engine", "evaluator", "--date", "2026-11-21")


def test_the_default_is_one_screen(run: Run) -> None:
    done = run(*CAMERAS, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) <= 40
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "\nTAKE " in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--why-not", "2x L40S int8"], ["Why not 2x L40S INT8"]),
        (["--what-if", "streams=400"], ["What if streams 400 streams instead of 2 streams", "before", "after"]),
        (["--how", "plan.total_gib"], ["How plan.total_gib came about", "GiB = "]),
        (["--assumed"], ["deployment = cloud: renting needs no purchase"]),
        (["--why"], ["Why: the rules behind", "rules/right-sizing.yaml:"]),
        (["--why", "--format", "json"], ['"title": "Why: the rules behind', '"location": "rules/right-sizing.yaml:']),
        (["--why", "--format", "markdown"], ["## Why: the rules behind", "- if plan"]),
        (["--format", "markdown"], ["# TAKE ", "| --- |"]),
        (["--format", "html"], ["<!doctype html>", "<main>"]),
        (["--format", "mermaid"], ["flowchart TD", "-->"]),
        (["--format", "dot"], ["digraph why {", "->"]),
        (["--format", "json", "--why-not", "L4"], ['"sections"', '"engine": "evaluator"']),
    ],
)
def test_each_question_is_answered(run: Run, options: list[str], words: list[str]) -> None:
    done = run(*CAMERAS, *options)
    assert done.returncode == 0, done.stderr
    for word in words:
        assert word in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--why-not", "RTX 409"], "did you mean 'RTX 4090'"),
        (["--what-if", "streams=many"], "'streams' must be a number"),
        (["--what-if", "stream=3"], "did you mean 'streams'"),
        (["--how", "plan.totl_gib"], "nothing in the trace is called"),
        (["--date", "yesterday"], "is not a date"),
    ],
)
def test_what_cannot_be_asked_is_refused(run: Run, options: list[str], message: str) -> None:
    done = run(*CAMERAS, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_life_has_two_answers(run: Run) -> None:
    done = run("explain", "examples/train-then-serve.yaml", "--why-not", "L4")
    assert done.returncode == 2
    assert "--only train or serve" in done.stderr


def test_a_record_is_replayed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "decision.json"
    assert run(*CAMERAS, "--record", str(path)).returncode == 0
    same = run("replay", str(path), "--date", "2026-11-21", "--engine", "evaluator")
    assert same.returncode == 0
    assert "It still holds" in same.stdout
    assert "Nothing else changed." in same.stdout
    data = json.loads(path.read_text(encoding="utf-8"))
    data["answers"]["streams"] = 4000
    path.write_text(json.dumps(data), encoding="utf-8")
    other = run("replay", str(path), "--date", "2026-11-21", "--engine", "evaluator")
    assert other.returncode == 1
    assert "It no longer holds" in other.stdout
    path.write_text(json.dumps({**data, "schema": 9}), encoding="utf-8")
    refused = run("replay", str(path))
    assert refused.returncode == 2
    assert "schema 9" in refused.stderr


def test_the_version(run: Run) -> None:
    assert run("--version").stdout.startswith("whygpu ")
