"""The wizard without a browser, and the real one: a server process and a Chromium that may reach nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from streamlit.testing.v1 import AppTest

import whygpu_ui
from tests.effort import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext

APP = Path(whygpu_ui.__file__).with_name("app.py")


@pytest.fixture(scope="session")
def plain() -> Callable[[str], str]:
    """Markdown without its escapes."""
    return lambda text: re.sub(r"\\([^\w\s])", r"\1", text)


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    """Open the app, without a browser, at an address with these parameters."""

    def open_at(**parameters: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=PATIENCE)
        for key, value in parameters.items():
            app.query_params[key] = value
        return app.run()

    return open_at


@pytest.fixture(scope="session")
def opened_chip() -> Callable[[AppTest, str], AppTest]:
    """Open a chip of the answer page, as a click does: what is in it is drawn then."""

    def open_chip(app: AppTest, name: str) -> AppTest:
        app.session_state[f"chip-{name}-{app.session_state['whygpu'].visit}"] = True
        return app.run()

    return open_chip


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a running ``whygpu ui``."""
    command = [sys.executable, "-m", "whygpu.cli", "ui", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert address, f"no address in {line!r}"
            yield address[0]
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A fresh profile on a desktop, with the clipboard allowed; fails where a page asked another machine."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(1_000 * PATIENCE)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    yield context
    context.close()
    elsewhere = [url for url in asked if not re.match(r"(http|ws)://127\.0\.0\.1[:/]|data:|blob:", url)]
    assert asked
    assert not elsewhere
