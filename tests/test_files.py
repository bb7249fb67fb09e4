"""Devices, pipes and endless files are never read; devices, pipes and links are never replaced."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from whygpu.errors import AnswerError
from whygpu.files import NotRegularError, check_target, open_regular, read_bounded, write_whole

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
