"""``whygpu serve`` as a real process, asked by several clients at once."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.effort import PATIENCE
from whygpu.render.output import json_text
from whygpu.serve.current import Current

httpx = pytest.importorskip("httpx", reason="the extra 'serve' and httpx are not installed")
pytest.importorskip("uvicorn")
pytestmark = pytest.mark.slow


def test_a_real_server_answers_many_clients_as_the_library(current: Current) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "whygpu.cli", "serve", "--port", str(port)]
    asked = [{"phase": "inference", "model": "llama-3.1-8b", "concurrency": 2**n} for n in range(8)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            base = f"http://127.0.0.1:{port}"
            for _ in range(1200):
                try:
                    assert httpx.get(f"{base}/health").json()["status"] == "ok"
                    break
                except httpx.ConnectError:
                    assert server.poll() is None, server.stderr and server.stderr.read()
                    time.sleep(0.1)

            def ask(answers: dict[str, Any]) -> Any:
                return httpx.post(f"{base}/advise", json=answers, timeout=PATIENCE).json()

            with ThreadPoolExecutor(8) as clients:
                found = list(clients.map(ask, asked))
        finally:
            server.terminate()
            said = server.communicate(timeout=PATIENCE)[1]
    advices = [current.get().advise(answers, engine="evaluator") for answers in asked]
    expected = [advice.to_dict(every=False, trace=False) for advice in advices]
    assert found == json.loads(json_text(expected))
    assert "Traceback" not in said
