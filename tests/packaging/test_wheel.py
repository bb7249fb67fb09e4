"""What a user of the wheel gets: the knowledge base inside it, both packages, working away from the checkout."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.effort import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_wheel_carries_the_knowledge_base_and_answers_away_from_the_checkout(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    subprocess.run(build, check=True, timeout=PATIENCE)
    (wheel,) = wheels.glob("whygpu-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "whygpu/py.typed",
        "whygpu/kb/vocabulary.yaml",
        "whygpu/kb/rules/memory.yaml",
        "whygpu_ui/app.py",
        "whygpu_ui/icon.svg",
        "whygpu_ui/py.typed",
    ):
        assert name in names
    assert not [name for name in names if name.startswith(("tests/", "docs/"))]
    target = tmp_path / "env"
    venv.create(target, with_pip=True)
    python = target / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, timeout=2 * PATIENCE)
    done = subprocess.run(
        [target / "bin" / "kb-explain", "--set", "model=llama-3.1-8b"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\nTAKE " in done.stdout
