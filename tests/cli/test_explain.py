"""``kb-explain`` as a process: what scripts and people depend on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whygpu
from tests.effort import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
CHAT = ("explain", "--set", "phase=inference", "--set", "model=llama-3.1-8b")


@pytest.fixture(scope="module")
def advice(run: Callable[..., subprocess.CompletedProcess[str]]) -> dict[str, Any]:
    """The JSON answer to a small chat model."""
    done = run(*CHAT, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_json_has_the_names_of_the_contract(advice: dict[str, Any]) -> None:
    wanted = {
        "schema",
        "kb",
        "status",
        "answers",
        "assumed",
        "recommendation",
        "alternatives",
        "rejected",
        "techniques",
        "advice",
        "warnings",
        "conflicts",
        "open",
        "infeasible",
        "trace",
    }
    assert wanted <= advice.keys()
    plan = advice["recommendation"]
    assert {
        "id",
        "accelerator",
        "count",
        "nodes",
        "format",
        "kv_format",
        "method",
        "techniques",
        "parallelism",
        "memory",
        "speed",
        "cost",
        "verdicts",
        "rank",
        "variants",
    } <= plan.keys()
    assert {"id", "name", "family", "vendor", "marketing_gb", "usable_mib"} <= plan["accelerator"].keys()
    assert {
        "weights_gib",
        "kv_cache_gib",
        "gradients_gib",
        "optimizer_gib",
        "activations_gib",
        "logits_gib",
        "overhead_gib",
        "total_gib",
        "low_gib",
        "high_gib",
        "usable_gib",
        "verdict",
    } <= plan["memory"].keys()
    assert {
        "ttft_ms",
        "token_ms",
        "tokens_per_s",
        "requests_per_s",
        "train_tokens_per_s",
        "samples_per_s",
        "frames_per_s",
        "train_hours",
    } <= plan["speed"].keys()
    assert {
        "usd_per_hour",
        "offering",
        "provider",
        "provider_class",
        "region",
        "price_kind",
        "as_of",
        "usd_per_month",
        "usd_per_million_tokens",
        "usd_total",
        "objective",
        "objective_unit",
    } <= plan["cost"].keys()
    assert set(advice["kb"]) == {"version", "hash"}


def test_memory_parts_sum_to_the_total(advice: dict[str, Any]) -> None:
    for plan in (advice["recommendation"], *advice["alternatives"]):
        memory = plan["memory"]
        parts = sum(
            memory[f"{part}_gib"]
            for part in ("weights", "kv_cache", "gradients", "optimizer", "activations", "logits", "overhead", "reused")
        )
        assert parts == pytest.approx(memory["total_gib"], rel=1e-6)
        assert memory["low_gib"] <= memory["total_gib"] <= memory["high_gib"]


def test_every_step_of_the_trace_refers_to_facts_that_are_there(advice: dict[str, Any]) -> None:
    facts = {fact["id"] for fact in advice["trace"]["facts"]}
    steps = advice["trace"]["steps"]
    assert len(facts) == len(advice["trace"]["facts"])
    assert len({step["id"] for step in steps}) == len(steps)
    for step in steps:
        assert set(step.get("uses", [])) <= facts
        assert set(step.get("gives", [])) <= facts
    assert any(step["kind"] == "check" and step.get("formula") for step in steps)
    fired = [step for step in steps if step.get("rule") == "consider-quantized-serving"]
    assert fired
    assert fired[0]["claims"]
    assert fired[0]["place"].startswith("rules/quantization.yaml:")


def test_every_rejection_says_why_with_both_numbers(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run(*CHAT, "--set", "budget_per_hour=0.5", "--format", "json")
    rejected = json.loads(done.stdout)["rejected"]
    assert rejected
    assert all(item["because"] for item in rejected)
    expensive = [reason for item in rejected for reason in item["because"] if reason["rule"] == "hourly-budget"]
    assert expensive
    for reason in expensive:
        assert reason["right"] == 0.5
        assert reason["left"] > 0.5
        assert reason["gap"] == pytest.approx(reason["left"] - 0.5)
        assert reason["unit"] == "USD/hour"


def test_both_engines_answer_alike(
    run: Callable[..., subprocess.CompletedProcess[str]], advice: dict[str, Any]
) -> None:
    other = json.loads(run(*CHAT, "--format", "json", "--engine", "evaluator").stdout)
    assert other.pop("engine") == "evaluator"
    assert other == {key: value for key, value in advice.items() if key != "engine"}


def test_all_of_it_is_the_screen_with_memory_money_plans_and_chain_after_it(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run("explain", "examples/watch-cameras.yaml", "--all")
    assert done.returncode == 0
    text = done.stdout
    screen = run("explain", "examples/watch-cameras.yaml").stdout
    assert text.startswith(screen)
    for heading in (
        "Memory per accelerator",
        "What 1x T4 FP16 costs",
        "Alternatives",
        "Ruled out",
        "Why: the rules behind",
        "Assumed",
    ):
        assert heading in text
    assert "rules/right-sizing.yaml:" in text
    assert "runpod-21: T4 and L4 are optimised for inference" in text
    assert "\x1b[" not in text


def test_text_shows_the_conclusion_that_a_rule_rests_on(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert "workload.latency_goal is yes, because:" in run("explain", "examples/serve-llama-70b.yaml", "--all").stdout


@pytest.mark.parametrize(("no_color", "painted"), [("", True), pytest.param("1", False, marks=pytest.mark.slow)])
def test_colour_only_on_a_terminal(no_color: str, painted: bool) -> None:
    script = shutil.which("script")
    if script is None:
        pytest.skip("'script' is not installed, so there is no terminal to try")
    command = "python -m whygpu.cli catalogue accelerators l4"
    done = subprocess.run(
        [script, "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
        env={"PATH": _path(), "NO_COLOR": no_color, "TERM": "xterm", "PYTHONPATH": "engine"},
    )
    assert ("\x1b[" in done.stdout) == painted, done.stdout[:300]


def _path() -> str:
    return f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def test_settings_lie_over_the_file(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("explain", "examples/watch-cameras.yaml", "--set", "streams=400", "--format", "json")
    found = json.loads(done.stdout)
    assert found["answers"]["streams"] == 400
    assert found["answers"]["model"] == "yolo11m"


def test_answers_from_standard_input(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("explain", "-", "--format", "json", stdin='{"model": {"parameters": "8B"}, "context_tokens": "32k"}')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert any("Only the size of the model is known" in item["text"] for item in found["warnings"])


def test_nothing_satisfies_the_constraints(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run(*CHAT, "--set", "budget_per_hour=0.001")
    assert done.returncode == 3
    assert "No plan satisfies every constraint" in done.stdout
    assert "hourly-budget" in done.stdout
    found = json.loads(run(*CHAT, "--set", "budget_per_hour=0.001", "--format", "json").stdout)
    assert found["status"] == "infeasible"
    assert found["recommendation"] is None
    assert "hourly-budget" in found["infeasible"]["conflict"]
    assert any(item["constraint"] == "hourly-budget" for item in found["infeasible"]["relaxations"])


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        (["modle=llama-3.1-8b"], ["there is no answer 'modle'", "did you mean 'model'?"]),
        (["phase=trainning"], ["'phase' cannot be the text 'trainning'", "did you mean 'training'"]),
        (["concurrency=many"], ["'concurrency' must be a number of requests"]),
        (["concurrency=0"], ["'concurrency' is 0; it must be between 1 and"]),
        (["concurrency=1.5"], ["must be a whole number"]),
        (["accelerators=H1000"], ["there is no accelerator 'H1000'", "did you mean"]),
        (["model=llama-9"], ["there is no preset model 'llama-9'"]),
        (["model=xgboost"], ["leave model out and answer task: tabular"]),
        (["model={parameters: -5}"], ["parameters"]),
        (["model.parameters=8B", "model.task=vison"], ["'model.task' cannot be", "did you mean 'vision'?"]),
        (["nonsense"], ["is not key=value"]),
        (["budget_per_hour=1e400"], ["must be a number"]),
        (["phase=[a, b]"], ["must be one value"]),
        (["resolution=12by12"], ["1920x1080"]),
    ],
)
def test_bad_answers_name_place_and_hint(
    run: Callable[..., subprocess.CompletedProcess[str]], settings: list[str], messages: list[str]
) -> None:
    done = run("explain", *(word for setting in settings for word in ("--set", setting)))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for message in messages:
        assert message in done.stderr


def test_every_problem_of_a_file_is_listed_with_its_line(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text("phase: inferense\nmodel: llama-3.1-8b\nconcurrency: lots\nbudgt: 3\n", encoding="utf-8")
    done = run("explain", str(path))
    assert done.returncode == 2
    for location in (f"{path}:1:8", f"{path}:3:14", f"{path}:4:1"):
        assert location in done.stderr
    assert "^" in done.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"just words",
        b"- a\n- b\n",
        b"a: [1",
        b"\xff\xfe\x00",
        b"a: &x 1\nb: *x\n",
        b"[" * 10_000,
        b"? [x]\n: 1\n",
        b"phase: !!python/object:os.system {}\n",
        b"phase: training\nphase: inference\n",
    ],
)
def test_unreadable_answers(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "answers.yaml"
    path.write_bytes(content)
    done = run("explain", str(path))
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_missing_files(run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    assert run("explain", str(tmp_path / "none.yaml")).returncode == 2
    assert run("explain", str(tmp_path)).returncode == 2
    done = run(*CHAT, "--kb", str(tmp_path / "none"))
    assert done.returncode == 2
    assert "there is no such folder" in done.stderr


def test_a_key_that_does_not_apply_warns(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    found = json.loads(run(*CHAT, "--set", "method=lora", "--format", "json").stdout)
    assert any("'method' does not apply" in item["text"] for item in found["warnings"])


def test_a_bare_kb_explain_prints_help_with_an_example() -> None:
    command = Path(sys.executable).parent / "kb-explain"
    if not command.exists():
        pytest.skip("kb-explain is not installed in this environment")
    done = subprocess.run([str(command)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0
    assert "example: kb-explain --set" in done.stdout


@pytest.mark.slow
def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        "python -m whygpu.cli explain --set model=resnet-50 --format json | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
        env={"PATH": _path(), "PYTHONPATH": "engine"},
    )
    assert "Traceback" not in done.stderr


def test_problems_as_json(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("explain", "--set", "modle=x", "--set", "phase=y", "--format", "json")
    assert done.returncode == 2
    assert done.stdout == ""
    problems = json.loads(done.stderr)["error"]
    assert [problem["code"] for problem in problems] == ["unknown-key", "bad-choice"]
    assert problems[0]["help"] == "did you mean 'model'?"


def test_without_a_compiler_the_evaluator_answers_and_durable_says_what_to_do(
    run: Callable[..., subprocess.CompletedProcess[str]], kb: whygpu.KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine where durable-rules could not be built: its module cannot be imported."""
    monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
    monkeypatch.setattr(whygpu, "load", lambda _=None: whygpu.KnowledgeBase(kb.knowledge))  # its engine is not made yet
    for engine, status in ((), 0), (("--engine", "evaluator"), 0), (("--engine", "durable"), 2):
        done = run("explain", "--set", "model=llama-3.1-8b", *engine)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        assert ("--engine evaluator" in done.stderr) == (status == 2)
        assert ("evaluator engine" in done.stdout) == (status == 0)


def test_a_sentence_is_answered(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """What of it counts is said beside the answer."""
    done = run("explain", "serve Llama 3.1 8B on Azure for $500 a month, 200 users, 9 cats", "--format", "json")
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    assert answers["providers"] == ["azure"]
    assert answers["budget_per_hour"] == pytest.approx(500 / 730)
    (warning,) = json.loads(done.stderr)["warning"]
    assert "people 200" in warning["message"]
    assert "Not read: 9 cats" in warning["message"]
    assert "--set" in warning["help"]


@pytest.mark.parametrize("text", ["serve it to everyone", "my answers.yaml", "serve it " * 500, "s " + "e" * 300])
def test_what_is_no_sentence_is_refused(text: str, run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = run("explain", text)
    assert done.returncode == 2
    assert "is no file, and no sentence" in done.stderr
