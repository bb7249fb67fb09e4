"""The server starts only where it can serve, on this machine alone."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from whygpu_ui.serve import ADDRESS, configuration

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_broken_knowledge_base_is_refused_before_anything_listens(run: Run, tmp_path: Path) -> None:
    (tmp_path / "vocabulary.yaml").write_text("names: [", encoding="utf-8")
    done = run("ui", "--kb", str(tmp_path), "--port", "0")
    assert done.returncode == 2
    assert "vocabulary.yaml:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_port_in_use_is_said(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind((ADDRESS, 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("ui", "--port", str(port))
    assert done.returncode == 2
    assert f"port {port} of 127.0.0.1 is in use" in done.stderr
    assert done.stderr.count("\n") == 1, "what Streamlit logs is nothing to the user"


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_cannot_be_is_said(port: str, run: Run) -> None:
    done = run("ui", f"--port={port}")
    assert done.returncode == 2
    assert f"there is no port {port}" in done.stderr


def test_the_configuration_keeps_to_this_machine() -> None:
    options = configuration(8501)
    assert options["server.address"] == "127.0.0.1"
    assert options["server.enableCORS"] is True
    assert options["server.enableXsrfProtection"] is True
    assert options["server.maxUploadSize"] == 1
    assert options["browser.gatherUsageStats"] is False
    assert options["client.showErrorDetails"] == "none"
