"""What every test may use: the loaded knowledge base, and a command line run as a process."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import settings

import whygpu
from tests.effort import PATIENCE
from tests.loader.small import real_texts, small_texts
from whygpu.cli import main
from whygpu.errors import EngineUnavailableError, Problem
from whygpu.lint.review import Target
from whygpu.loader.files import default_root
from whygpu.yamldoc import document
from whygpu.yamldoc import parsed as yaml_parsed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("ours", deadline=None, max_examples=50)  # a deadline is a wall clock's
settings.load_profile("ours")
ROOT = Path(__file__).resolve().parents[1]
CHROMIUM_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


_NO_DURABLE = "durable-rules is not installed here: docs/how-to/run-without-a-compiler.md"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what shows durable-rules where it is not installed."""
    if find_spec("durable_rules_engine") is None:
        for item in items:
            if item.get_closest_marker("durable") is not None:
                item.add_marker(pytest.mark.skip(reason=_NO_DURABLE))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip what asks durable-rules where it is not installed; where it is, and cannot be loaded, that is a failure."""
    try:
        yield
    except EngineUnavailableError:
        if find_spec("durable_rules_engine") is not None:
            raise
        pytest.skip(_NO_DURABLE)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests load is kept in a cache of their own, for the processes they start."""
    with mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}):
        yield


@pytest.fixture(scope="session", autouse=True)
def read_once() -> Iterator[None]:
    """What is only read need not be read again: the shipped knowledge base, and its files where a test changes others.

    Most of the time of most tests went into this.
    """
    parse, load = document.parse, whygpu.load

    @cache
    def remembered(text: str, name: str) -> tuple[document.Node | None, tuple[Problem, ...]]:
        problems: list[Problem] = []
        return parse(text, name, problems), tuple(problems)

    @cache
    def shipped() -> whygpu.KnowledgeBase:
        return load()

    def parsed(text: str, name: str, problems: list[Problem]) -> document.Node | None:
        if text not in (small_texts().get(name), real_texts().get(name)):
            return parse(text, name, problems)
        node, found = remembered(text, name)
        problems += found
        return node

    def loaded(path: str | Path | None = None) -> whygpu.KnowledgeBase:
        return shipped() if path is None else load(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_parsed, "parse", parsed)
        patch.setattr(whygpu, "load", loaded)
        yield


@pytest.fixture(scope="session")
def kb(read_once: None) -> whygpu.KnowledgeBase:
    """The knowledge base that comes with whygpu."""
    return whygpu.load()


@pytest.fixture(scope="session")
def whole_kb() -> whygpu.KnowledgeBase:
    """The same with its worked cases, which take most of the time to load."""
    return Target(default_root()).load()


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def process() -> Command:
    """Run ``python -m whygpu.cli`` with arguments, as a process in the checkout: for what only a process shows."""

    def command(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "whygpu.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, **environment},
        )

    return command


@pytest.fixture(scope="session")
def run() -> Command:
    """The same in this process; an exit of argparse is its status."""

    def command(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        streams = [_stream(text) for text in (stdin, "", "")]
        with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ, environment):  # 'ui' sets some for good
            patch.chdir(ROOT)
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            try:
                status = main(list(arguments))
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
        printed = [_text(stream) for stream in streams[1:]]
        return subprocess.CompletedProcess(arguments, status, *printed)

    return command


def _stream(text: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    data = stream.buffer
    assert isinstance(data, io.BytesIO)
    return data.getvalue().decode()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium with an empty profile; the tests that need it are skipped where there is none.

    One for all of them: playwright cannot run twice in a process. Without the windows that nobody sees a test takes
    three quarters of the time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("there is no chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()
