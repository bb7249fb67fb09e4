"""A batch that is ended by force loses nothing, and the same command goes on behind what is done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.signals import as_on_a_terminal
from tests.conftest import ROOT
from tests.effort import PATIENCE
from whygpu.api import KnowledgeBase
from whygpu.cli import main
from whygpu.commands.job import Detail, Job
from whygpu.commands.journal import output
from whygpu.commands.row import Row
from whygpu.commands.workers import Workers
from whygpu.errors import AnswerError

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]
ROWS = 160


def batch(folder: Path) -> list[str]:
    """A command that answers a file of the folder."""
    lines = [{"id": f"r{n}", "phase": "inference", "model": "llama-3.1-8b", "concurrency": n + 1} for n in range(ROWS)]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words = ["explain", "--batch", str(folder / "in.jsonl"), "--out", str(folder / "out.jsonl"), "--jobs", "2"]
    return [sys.executable, "-m", "whygpu.cli", *words]


def part(folder: Path) -> Path | None:
    """The file that grows."""
    return next(folder.glob("out.jsonl.*.part"), None)


def lines_of(path: Path | None) -> int:
    return 0 if path is None else path.read_bytes().count(b"\n")


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a process has started; empty where the system does not say."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def is_gone(process: int) -> bool:
    try:
        return "Z" in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:1]
    except OSError:
        return True


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Fails after minutes, which nothing takes however busy the machine is."""
    for _ in range(2400):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail(f"never: {what}")


def test_whatever_ends_it_nothing_is_lost_or_done_twice(tmp_path: Path) -> None:
    command = batch(tmp_path)
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        before = lines_of(part(tmp_path))
        with subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=env,
            preexec_fn=as_on_a_terminal,  # noqa: PLW1509  there are no threads here
        ) as running:
            wait_for(lambda before=before: lines_of(part(tmp_path)) > before, "more lines")  # type: ignore[misc]
            started = children(running)
            running.send_signal(number)
            _, said = running.communicate(timeout=PATIENCE)
        assert "Traceback" not in said
        assert running.returncode == (130 if number == signal.SIGINT else -number)
        assert not (tmp_path / "out.jsonl").exists()
        assert before < lines_of(part(tmp_path)) < ROWS
        wait_for(lambda started=started: all(map(is_gone, started)), "the processes end with it")  # type: ignore[misc]
    kept = part(tmp_path)
    assert kept is not None
    whole = lines_of(kept)
    with kept.open("ab") as file:
        file.write(b'{"id": "half a li')  # a disk that was full
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert f"continuing after {whole} finished rows" in done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in found] == [f"r{number}" for number in range(ROWS)]
    assert all("advice" in row for row in found)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_another_input_or_option_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    words = ["estimate", "--batch", str(source), "--out", str(out)]
    source.write_text('{"id": 1}\n{"id": 2}', encoding="utf-8")
    digests = []
    for change in ([], ["--set", "count=2"], ["--engine", "evaluator"]):
        part = _stopped(words + change, tmp_path)
        digests.append(part.name)
        part.unlink()
    source.write_text('{"id": 1}\n{"id": 3}', encoding="utf-8")
    digests.append(_stopped(words, tmp_path).name)
    assert len(set(digests)) == 4
    assert main(words) == 0
    assert "continuing after 1 finished rows" in capsys.readouterr().err
    assert [json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()] == [1, 3]


def _stopped(words: list[str], folder: Path) -> Path:
    """The file that a batch leaves which ends after one row."""
    with pytest.MonkeyPatch.context() as patched:
        seen: Iterator[int] = iter(range(9))
        real = Job.line

        def line(job: Job, row: Row, knowledge: KnowledgeBase) -> str:
            if next(seen):
                raise KeyboardInterrupt
            return real(job, row, knowledge)

        patched.setattr(Job, "line", line)
        assert main(words) == 130
    (found,) = folder.glob("*.part")
    return found


def test_what_out_cannot_be_is_refused_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("{}\n", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (tmp_path, link, pipe, Path("/dev/null"), tmp_path / "no" / "out"):
        assert main(["estimate", "--batch", str(source), "--out", str(target)]) == 2
        assert "unwritable" in capsys.readouterr().err
    assert link.is_symlink()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in.jsonl", "link", "pipe"]


def test_a_second_run_into_the_same_file_is_refused(tmp_path: Path) -> None:
    with output(str(tmp_path / "out"), "0" * 64) as first:
        first.write(["{}"])
        with pytest.raises(AnswerError, match="another process"), output(str(tmp_path / "out"), "0" * 64):
            pass
    assert (tmp_path / "out").read_text(encoding="utf-8") == "{}\n"


def crash(_: KnowledgeBase, node: Any, *__: object) -> dict[str, Any]:
    """An answer that ends its process where the row says so, once or always."""
    said = {key: value.value for key, value in node.items.items()}
    flag = Path(str(said.get("once", "")))
    if said.get("always") or (said.get("once") and not flag.exists()):
        if said.get("once"):
            flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if said.get("bug"):
        raise ZeroDivisionError
    return {}


def test_a_process_that_dies_takes_no_other_row_with_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    job = Job(crash, "plan", "evaluator", None, kb.knowledge.hash, None, Detail())
    given: dict[int, dict[str, Any]] = {
        3: {"always": True},
        9: {"once": str(tmp_path / "flag")},
        16: {"bug": True},
    }
    rows = [Row(number, f"row {number}", given.get(number, {})) for number in range(24)]
    found = [json.loads(line) for lines in Workers(job, 2).lines(rows) for line in lines]
    assert [row["id"] for row in found] == list(range(24))
    bad = {row["id"]: row["error"][0]["code"] for row in found if "error" in row}
    assert bad == {3: "crashed", 16: "internal"}
