"""Owning, buying and renting on the command line, as a process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]
OWNED = ("--set", "owned=[{accelerator: RTX 3090, count: 4}]")
TUNE = ("explain", "--set", "phase=fine-tuning", "--set", "method=lora", "--model", "llama-3.1-8b")


def test_what_runs_on_what_is_owned_and_when_renting_pays(run: Run) -> None:
    done = run(*TUNE, *OWNED, "--set", "dataset_tokens=1e8", "--format", "json")
    assert done.returncode == 0, done.stderr
    advice = json.loads(done.stdout)
    plan = advice["recommendation"]
    assert plan["owned"] is True
    assert plan["accelerator"]["id"] == "rtx-3090"
    assert plan["cost"]["provider_class"] == "own"
    assert plan["cost"]["price_kind"] == "owned"
    kinds = {item["kind"]: item for item in advice["comparisons"]}
    assert {"price_ratio", "speed_ratio", "usd_per_hour_saved", "cheaper", "text"} <= kinds["owned-or-rented"].keys()
    text = run(*TUNE, *OWNED, "--set", "dataset_tokens=1e8", "--all").stdout
    assert "RTX 3090 (owned)" in text
    assert "an hour for power" in text
    assert "Owned or rented:" in text


def test_a_bought_plan_says_when_it_pays(run: Run) -> None:
    settings = ("--set", "deployment=on-prem", "--set", "service_months=24", "--set", "accelerators=h100-pcie")
    done = run("explain", "--set", "phase=inference", "--model", "llama-3.1-8b", *settings, "--all")
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert "to buy, machine included, $" in flat
    assert "Buying: $" in flat
    assert "months of use against renting at $" in flat


def test_an_estimate_shows_the_formulas_of_money(run: Run) -> None:
    done = run("estimate", "--model", "llama-3.1-8b", "--set", "accelerators=h100-pcie", "--set", "deployment=on-prem")
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert "count * tdp_w * wall_power_ratio * pue / 1000 * usd_per_kwh" in flat
    assert "[eia-electric-power-monthly]" in flat
    assert "usd_purchase / (usd_per_hour - usd_power_per_hour) / hours_a_month" in flat


def test_bad_owned_is_told_whole_and_at_once(run: Run) -> None:
    done = run("explain", "--set", "owned=[{accelerator: rtx-3099, count: 4}, {accelerator: A100, count: 0}]")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for code in ("unknown-accelerator", "several-accelerators", "wrong-type"):
        assert code in done.stderr
