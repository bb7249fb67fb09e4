"""``whygpu check`` as its users meet it: a folder, a file, watching, text and JSON, and how it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.signals import as_on_a_terminal
from tests.effort import PATIENCE
from tests.loader.small import small_texts
from whygpu.cli import main
from whygpu.lint import review

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

RULE = """rules:
- id: try-it
  title: Try it
  when: [workload.phase == 'inference']
  then: [advise: try-it]
  because: x
  source: [runpod-25]
  tests:
  - {given: {workload.phase: inference}, expect: fires}
"""


@pytest.fixture
def mykb(tmp_path: Path) -> Path:
    """A small knowledge base in a folder."""
    root = tmp_path / "mykb"
    for name, text in small_texts().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command; its status and what it wrote."""

    def command(*arguments: object) -> tuple[int, str, str]:
        status = main(["check", *map(str, arguments)])
        found = capsys.readouterr()
        return status, found.out, found.err

    return command


def test_folder_with_problems(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    (mykb / "rules" / "x.yaml").write_text(RULE.replace("workload.phase ==", "workload.fase =="), encoding="utf-8")
    (mykb / "rules" / "y.yaml").write_text("rulez: []\n", encoding="utf-8")
    status, out, _ = check(mykb)
    assert status == 1
    assert f"{mykb}/rules/x.yaml:4:10: unknown-name: there is no name 'workload.fase'" in out
    assert "    " + "  when: [workload.fase == 'inference']\n" + " " * 13 + "^^^^^^^^^^^^^\n  help: did you mean" in out
    assert f"{mykb}/rules/y.yaml:1:1: unknown-key" in out
    assert out.endswith("2 problems, tests and cases did not run\n")


def test_failing_test_and_warning(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    path = mykb / "rules" / "x.yaml"
    path.write_text(RULE.replace("expect: fires", "expect: silent"), encoding="utf-8")
    status, out, _ = check(path)
    assert status == 1
    assert f"{path}:9:5: test-failed" in out
    assert f"{path}:2:3: warning: no-test" in out
    assert out.endswith("1 problem, 1 warning, 1 rule, 1 test, 0 cases\n")


def test_warnings_do_not_fail(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    path = mykb / "rules" / "x.yaml"
    path.write_text(RULE[: RULE.index("  tests:")], encoding="utf-8")
    status, out, _ = check(path)
    assert status == 0
    assert out.endswith("1 warning, 1 rule, 0 tests, 0 cases\n")


def test_file_in_its_knowledge_base_shows_only_its_problems(
    mykb: Path, check: Callable[..., tuple[int, str, str]]
) -> None:
    good, bad = mykb / "rules" / "x.yaml", mykb / "rules" / "y.yaml"
    good.write_text(RULE, encoding="utf-8")
    assert check(good) == (0, "clean: 1 rule, 1 test, 0 cases\n", "")
    bad.write_text("rulez: []\n", encoding="utf-8")
    status, out, _ = check(good)
    assert status == 1
    assert "rulez" not in out
    assert f"1 more in other files, the first at {bad}:1:1" in out


def test_file_elsewhere_is_added_to_the_default_knowledge_base(
    tmp_path: Path, check: Callable[..., tuple[int, str, str]]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(RULE, encoding="utf-8")
    assert check(path) == (0, "clean: 1 rule, 1 test, 0 cases\n", "")


def test_file_elsewhere_stands_for_the_one_of_the_same_place(
    tmp_path: Path, check: Callable[..., tuple[int, str, str]]
) -> None:
    """rules/cost.yaml under another folder replaces kb/rules/cost.yaml: its rules are not there twice."""
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "cost.yaml").write_text(small_texts()["rules/cost.yaml"], encoding="utf-8")
    status, out, _ = check(folder / "cost.yaml")
    assert status == 0, out
    assert "duplicate-id" not in out


@pytest.mark.parametrize("name", ["nothing.yaml", "notes.txt"])
def test_no_such_file(tmp_path: Path, name: str, check: Callable[..., tuple[int, str, str]]) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    status, out, error = check(tmp_path / name)
    assert (status, out) == (2, "")
    assert name in error


def test_folder_that_is_no_knowledge_base(tmp_path: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    status, out, error = check(tmp_path)
    assert (status, out) == (2, "")
    assert "not-a-knowledge-base" in error


def test_bytes_that_are_no_text(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    path = mykb / "rules" / "x.yaml"
    path.write_bytes(b"rules:\n- id: \xff\n")
    status, out, _ = check(path)
    assert status == 1
    assert f"{path}:2:7: unreadable: is not UTF-8 text" in out


def test_json(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    path = mykb / "rules" / "x.yaml"
    path.write_text(RULE.replace("runpod-25", "runpod-999"), encoding="utf-8")
    status, out, _ = check(path, "--format", "json")
    data: dict[str, Any] = json.loads(out)
    assert status == 1
    assert (data["clean"], data["errors"], data["warnings"]) == (False, 1, 0)
    (problem,) = data["problems"]
    assert problem["text"] == f"{path}:7:12: unknown-source: rule 'try-it' cites 'runpod-999', which does not exist"
    assert problem["snippet"][problem["column"] - 1 : problem["end_column"] - 1] == "runpod-999"
    assert data["knowledge_base"] == str(mykb)


def test_a_case_that_fails_fails_the_check(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    path = mykb / "cases" / "x.yaml"
    path.parent.mkdir()
    path.write_text(
        "cases:\n- id: one\n  title: One\n  answers: {phase: inference, model: llama-3.1-8b}\n"
        "  expect:\n    status: infeasible\n  source: [runpod-23]\n",
        encoding="utf-8",
    )
    status, out, _ = check(path)
    assert status == 1
    assert f"{path}:6:5: case-failed: case 'one' expects status: infeasible; it ends" in out
    assert "  help: runpod-23: Low concurrency" in out


@pytest.mark.slow
def test_a_check_on_another_day(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    """Prices age, also for a case that names no day."""
    about = mykb / "about.yaml"
    about.write_text(re.sub("  cases_on: .*", "", about.read_text(encoding="utf-8")), encoding="utf-8")
    cases = mykb / "cases" / "x.yaml"
    cases.parent.mkdir()
    cases.write_text(
        "cases:\n- id: one\n  title: One\n  answers: {phase: inference, model: llama-3.1-8b}\n"
        "  expect: {no_techniques: [check-the-price]}\n  source: [runpod-23]\n",
        encoding="utf-8",
    )
    for day, old in (("2026-06-01", False), ("2031-06-01", True)):
        status, out, _ = check(cases, "--date", day)
        assert (status == 1) == ("case-failed" in out) == old


@pytest.mark.slow
def test_watch_checks_again_and_ends_with_0(mykb: Path) -> None:
    path = mykb / "rules" / "x.yaml"
    path.write_text(RULE.replace("inference", "inferense"), encoding="utf-8")
    command = [sys.executable, "-u", "-m", "whygpu.cli", "check", str(path), "--watch"]
    with (
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
            preexec_fn=as_on_a_terminal,  # noqa: PLW1509  there are no threads here
        ) as running,
        _killed_at_last(running),
    ):
        assert running.stdout is not None
        assert "2 problems, tests and cases did not run" in _until(running, "watching")
        path.write_text(RULE, encoding="utf-8")
        seen = _until(running, "watching")
        assert "clean: 1 rule, 1 test, 0 cases" in seen
        shutil.rmtree(mykb / "rules")
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 0
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()


@contextmanager
def _killed_at_last(running: subprocess.Popen[str]) -> Iterator[None]:
    """A test that fails must not wait for a process that goes on."""
    try:
        yield
    finally:
        running.kill()


def _until(running: subprocess.Popen[str], word: str) -> set[str]:
    """The lines up to one that begins with the word."""
    assert running.stdout is not None
    seen: set[str] = set()
    for line in running.stdout:
        seen.add(line.strip())
        if line.startswith(word):
            return seen
    return seen


@pytest.mark.slow
def test_the_knowledge_base_covers_its_sources(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is missing; the names that scripts depend on (contract: claims, cited, uncited), and the sums agree.

    Whether its cases hold is asked of the knowledge base elsewhere: ``whygpu check --fresh`` in .ci/run.
    """
    monkeypatch.setattr(review, "_judged", lambda *_: [])
    status = main(["check", "--coverage", "--format", "json"])
    data = json.loads(capsys.readouterr().out)
    assert [item for item in data["problems"] if item["severity"] == "error"] == []
    assert status == 0
    assert data["claims"] == len(data["by_claim"]) == 256
    assert data["cited"] + len(data["uncited"]) == data["claims"]
    assert {item["id"] for item in data["by_claim"] if not item["cited_by"]} == set(data["uncited"])
    memory = next(item for item in data["by_claim"] if item["id"] == "primer-03")
    assert {"kind": "formula", "id": "training-memory"} in [
        {"kind": cite["kind"], "id": cite["id"]} for cite in memory["cited_by"]
    ]
    assert len(data["tensions"]) == 30


def test_coverage_that_lacks_nothing(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    """One concept, which everything cites."""
    for path in mykb.rglob("*.yaml"):
        text = re.sub(r"\b(primer|runpod|nuface|griddly|ai-rng)-\d+\b", "wiki-01", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
    claim = "documents: {wiki: {title: All}}\nclaims:\n- {id: wiki-01, kind: concept, says: All hangs together.}\n"
    (mykb / "sources.yaml").write_text(claim, encoding="utf-8")
    status, out, _ = check(mykb, "--coverage")
    assert (status, out.splitlines()[0]) == (0, "wiki-01 concept: All hangs together.")
    assert out.splitlines()[-1].startswith("1 claim, 1 cited; 0 about what is chosen")
    assert out.endswith("0 tensions, 0 open; 0 problems\n")


@pytest.mark.slow
def test_coverage_with_gaps_and_of_what_does_not_load(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = check(mykb, "--coverage")
    assert status == 1
    assert f"{mykb}/sources.yaml:" in out
    assert "one-sided-claim: 'runpod-23': no case shows where it applies: Low concurrency" in out
    (mykb / "rules" / "y.yaml").write_text("rulez: []\n", encoding="utf-8")
    for way in ("--coverage", "--robust"):
        status, out, _ = check(mykb, way)
        assert status == 1
        assert f"{mykb}/rules/y.yaml:1:1: unknown-key" in out


@pytest.mark.slow
def test_robust(mykb: Path, check: Callable[..., tuple[int, str, str]]) -> None:
    """8B in 16 bits are 16.1 GB: a fifth more fit the L4 (24 GB), and only a fifth less the T4 (16.1 GB)."""
    case = """cases:
- id: one
  title: One
  answers: {phase: inference, model: llama-3.1-8b, format: fp16, context_tokens: 512, accelerators: [T4, L4]}
  expect: {fits: {l4: fp16}, does_not_fit: {t4: fp16}}
  source: [runpod-32]
"""
    (mykb / "cases").mkdir()
    path = mykb / "cases" / "x.yaml"
    path.write_text(case, encoding="utf-8")
    status, out, _ = check(mykb, "--robust")
    assert (status, out.splitlines()[-1]) == (1, "1 case, 6 variations: 1 problem")
    assert f"{path}:5:30: fragile-case: with a model x0.8: case 'one' expects does_not_fit: {{t4: fp16}}" in out
    path.write_text(case + "  sensitive: {size: the T4 holds 6.4B}\n", encoding="utf-8")
    assert check(mykb, "--robust")[:2] == (0, "1 case, 6 variations: all hold\n")
    data = json.loads(check(mykb, "--robust", "--format", "json")[1])
    assert data == {"clean": True, "cases": 1, "variations": 6, "problems": []}
