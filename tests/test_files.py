"""Devices, pipes and endless files are never read; devices, pipes and links are never replaced."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.effort import PATIENCE
from tests.loader.small import small_texts
from whygpu.errors import AnswerError
from whygpu.files import NotRegularError, check_target, open_regular, read_bounded, write_whole
from whygpu.imports import target

Run = Callable[..., subprocess.CompletedProcess[str]]


def pipe(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    "make", [pipe, lambda _: Path("/dev/zero"), lambda folder: folder], ids=["pipe", "zero", "dir"]
)
def test_only_regular_files_are_opened(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    with pytest.raises(NotRegularError):
        open_regular(make(tmp_path))


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    assert read_bounded(path, 4) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("estimate", "--set", "accelerators=l4", "--set", "model.config={}"),
        ("estimate", "--set", "accelerators=l4", "--set", "model.gguf={}"),
        ("estimate", "--set", "accelerators=l4", "--set", "model.safetensors={}"),
        ("explain", "{}"),
        ("explain", "--batch", "{}.jsonl"),
        ("import-model", "{}", "--id", "x", "--source", "primer"),
        ("import-prices", "{}", "--provider", "aws", "--source", "primer"),
    ],
)
@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
@pytest.mark.slow
def test_no_command_reads_a_device_or_waits_for_a_pipe(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], target: str
) -> None:
    path = Path(target) if target.startswith("/") else pipe(tmp_path)
    if "{}.jsonl" in arguments:
        (tmp_path / "in.jsonl").symlink_to(path)
        arguments = (*arguments[:-1], str(tmp_path / "in.jsonl"))
    done = run(*(word.format(path) for word in arguments))
    assert done.returncode == 2, done.stderr
    assert "not a regular file" in done.stderr or "no such" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("kept", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(real)
    for path, said in [
        (link, "symbolic link"),
        (pipe(tmp_path), "not a regular file"),
        (Path("/dev/null"), "not a regular file"),
        (tmp_path, "not a regular file"),
        (tmp_path / "no" / "folder", "there is no folder"),
    ]:
        for act in (check_target, lambda path: write_whole(path, "new")):
            with pytest.raises(AnswerError, match=said):
                act(path)
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "kept"
    write_whole(real, "new")
    assert real.read_text(encoding="utf-8") == "new"


SAVES = """
import sys
from pathlib import Path
from whygpu.files import write_whole
texts = ["a" * 3_000_000, "b" * 3_000_000]
while True:
    for text in texts:
        write_whole(Path(sys.argv[1]), text)
        print("saved", flush=True)
"""


@pytest.mark.slow
def test_a_kill_while_saving_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for saves in range(1, 6):
        with subprocess.Popen([sys.executable, "-c", SAVES, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(saves):
                assert process.stdout.readline() == "saved\n"
            process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)
        assert path.read_text(encoding="utf-8") in ("a" * 3_000_000, "b" * 3_000_000)


FULL = """
import resource, signal, sys
from whygpu.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("explain", "--set", "model=resnet-50", "--record", "{}/kept"),
        ("import-prices", "{}/prices.csv", "--provider", "aws", "--source", "primer", "--out", "{}/kept.yaml"),
        ("explain", "--batch", "{}/in.jsonl", "--out", "{}/kept"),
        ("import-model", "{}/config.json", "--id", "x", "--source", "primer", "--out", "{}/kept.yaml"),
        ("schema", "answers", "--out", "{}"),
    ],
    ids=lambda words: words[0] + words[-2],
)
def test_a_disk_that_is_full_costs_nothing_that_was_there(words: tuple[str, ...], tmp_path: Path) -> None:
    """A file may hold 40 bytes, which is as a disk that is full, and one can be made without being root."""
    (tmp_path / "prices.csv").write_text("accelerator,usd_per_hour,as_of\nl4,0.7,2026-11-01\n", encoding="utf-8")
    (tmp_path / "in.jsonl").write_text('{"model": "resnet-50"}', encoding="utf-8")
    sizes = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}
    config = {"model_type": "llama", "vocab_size": 100, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("kept", "kept.yaml", "answers.schema.json"):
        (tmp_path / name).write_text("# kept\n", encoding="utf-8")
    command = [sys.executable, "-c", FULL, *(word.format(tmp_path) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2, done.stderr
    assert "unwritable" in done.stderr
    assert "Traceback" not in done.stderr
    assert all(
        path.read_text(encoding="utf-8") == "# kept\n" for path in tmp_path.glob("*kept*") if path.suffix != ".part"
    )
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_of_two_who_edit_a_file_neither_loses_what_the_other_wrote(run: Run, tmp_path: Path) -> None:
    """Both had read the file before either wrote it."""
    prices, out = tmp_path / "prices.csv", tmp_path / "mine.yaml"
    prices.write_text("accelerator,usd_per_hour,as_of\nl4,0.7,2026-11-01\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        real = target.Target.location

        def meanwhile(self: target.Target, entries: Any) -> str:
            text = real(self, entries)
            out.write_text("# somebody else's\n", encoding="utf-8")
            return text

        patch.setattr(target.Target, "location", meanwhile)
        done = run("import-prices", str(prices), "--provider", "aws", "--source", "primer", "--out", str(out))
    assert done.returncode == 2
    assert "was changed meanwhile" in done.stderr
    assert out.read_text(encoding="utf-8") == "# somebody else's\n"
    again = run("import-prices", str(prices), "--provider", "aws", "--source", "primer", "--out", str(out))
    assert again.returncode == 0, again.stderr
    assert out.read_text(encoding="utf-8").startswith("# somebody else's\n")
    assert "l4" in out.read_text(encoding="utf-8")


def test_a_knowledge_base_that_cannot_be_written_is_read_and_left_alone(run: Run, tmp_path: Path) -> None:
    for name, text in small_texts().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = run("catalogue", "accelerators", "--kb", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    for path in before:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_what_an_interview_would_go_on_from_is_read_within_a_bound(run: Run) -> None:
    """It was read whole: of a device without end."""
    done = run("explain", "--ask", "--save", "/dev/zero")
    assert done.returncode == 2
    assert "not a regular file" in done.stderr
