"""What every test may use: the loaded knowledge base, and a command line run as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whygpu

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def kb() -> whygpu.KnowledgeBase:
    """The knowledge base that comes with whygpu."""
    return whygpu.load()


@pytest.fixture(scope="session")
def run() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``python -m whygpu.cli`` with arguments, as a process in the checkout."""

    def command(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "whygpu.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=60,
            check=False,
            env={**os.environ, **environment},
        )

    return command
