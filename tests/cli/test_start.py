"""How the commands begin: what help needs, what is imported for it, and what a bare command prints."""

from __future__ import annotations

import json
import subprocess
import sys
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

import whygpu
from tests.effort import PATIENCE
from whygpu.cli import COMMANDS, main
from whygpu.loader.files import default_root

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Command

HEAVY = ("numpy", "yaml", "networkx", "markdown_it", "durable_rules_engine", "streamlit", "whygpu.api", "whygpu.loader")
IMPORTED = """
import sys
from whygpu import cli
try:
    {call}
except SystemExit:
    pass
print(*[name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""


UNASKED = (
    "networkx",
    "markdown_it",
    "whygpu.measured.measurement",
    "whygpu.sizing.size",
    "whygpu.diagnosis",
    "whygpu.lint",
)


def imported_by(call: str, names: tuple[str, ...] = HEAVY) -> list[str]:
    """Which of these modules a call imports."""
    code = IMPORTED.format(call=call, heavy=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stderr.splitlines()[-1].split() if done.stderr.strip() else []


@pytest.mark.parametrize(
    "call",
    [
        "cli.explain_main(['--help'])",
        "cli.explain_main([])",
        "cli.main(['--help'])",
        "cli.main(['--version'])",
        "cli.main([])",
        *(f"cli.main(['{name}', '--help'])" for name in COMMANDS),
    ],
)
def test_help_imports_nothing_heavy(call: str) -> None:
    assert imported_by(call) == []


def test_an_answer_imports_nothing_that_was_not_asked_for() -> None:
    call = "cli.explain_main(['--set', 'phase=inference', '--set', 'model=llama-3.1-8b'])"
    assert imported_by(call, (*UNASKED, "whygpu.api")) == ["whygpu.api"]


def test_what_is_heavy_is_seen() -> None:
    """The test above can fail: an answer imports what help does not."""
    assert "numpy" in imported_by("cli.main(['estimate', '--set', 'nonsense=1'])")


def test_bare_whygpu_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: whygpu")
    assert all(f"    {name}" in shown for name in COMMANDS)


@pytest.mark.parametrize("arguments", [["frobnicate"], ["--frobnicate"]])
def test_an_unknown_command_is_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "frobnicate" in capsys.readouterr().err


ANSWERS = ["--set", "model=llama-3.1-8b", "--set", "phase=inference", "--engine", "evaluator", "--format", "json"]
DAYS = ("2026-11-22", "2036-11-22")
"""When the prices were read, and when every one of them is old."""


@pytest.mark.parametrize(("command", "more"), [("explain", []), ("estimate", ["--set", "accelerators=h100-sxm"])])
def test_the_day_changes_what_old_prices_count(run: Command, command: str, more: list[str]) -> None:
    found = [run(command, *ANSWERS, *more, "--date", day) for day in DAYS]
    assert [done.returncode for done in found] == [0, 0]
    assert json.loads(found[0].stdout) != json.loads(found[1].stdout)


def test_a_batch_is_asked_on_the_day_given(run: Command, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"model": "llama-3.1-8b", "phase": "inference"}\n', encoding="utf-8")
    found = [run("explain", "--batch", str(rows), "--engine", "evaluator", "--date", day) for day in DAYS]
    assert [done.returncode for done in found] == [0, 0]
    assert found[0].stdout != found[1].stdout


def test_a_day_that_is_none_is_bad_input(run: Command) -> None:
    done = run("estimate", "--date", "tomorrow")
    assert done.returncode == 2
    assert "tomorrow" in done.stderr


def test_schema_prints_one_and_writes_several(run: Command, tmp_path: Path) -> None:
    assert json.loads(run("schema", "record").stdout)["title"] == "whygpu: record"
    assert run("schema", "record", "rules", "--out", str(tmp_path / "new")).returncode == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"record.schema.json", "rules.schema.json"}


def test_an_unknown_schema_is_bad_input(run: Command) -> None:
    done = run("schema", "rule", "answer")
    assert done.returncode == 2
    assert "there is no schema 'rule'" in done.stderr
    assert "did you mean 'rules'?" in done.stderr
    assert "'answer'" in done.stderr


def test_a_schema_that_cannot_be_written_is_bad_input(run: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run("schema", "record", "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_schema_follows_the_knowledge_base_at_hand(kb: whygpu.KnowledgeBase, run: Command, tmp_path: Path) -> None:
    root = tmp_path / "kb"
    copytree(default_root(), root)
    vocabulary = root / "vocabulary.yaml"
    text = vocabulary.read_text(encoding="utf-8")
    own = "  workload.colour:\n    type: choice\n    meaning: m\n    answer: colour\n    values: {red: r}\n"
    vocabulary.write_text(text.replace("names:\n", f"names:\n{own}", 1), encoding="utf-8")
    shown = json.loads(run("schema", "answers", "--kb", str(root)).stdout)["properties"]
    assert "red" in json.dumps(shown["colour"])
    assert "colour" not in kb.knowledge.name_by_answer
