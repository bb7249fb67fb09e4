"""The wizard as a visitor meets it, in a real Chromium: ``python benchmarks/wizard.py``.

Times run from the click, or the address, until the text is on the page. Each visitor of ``--sessions`` at once asks for
another load, and must be shown the verdict on that load and no other.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

import whygpu
from whygpu.render.view import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

SERVING = "phase=inference&task=language&model=llama-3.1-8b"
ANSWERS = {"phase": "inference", "task": "language", "model": "llama-3.1-8b"}
CONTEXT_TOKENS = 1000
"""What visitors' contexts differ by."""


@contextmanager
def wizard() -> Iterator[str]:
    """The address of a running server."""
    command = [sys.executable, "-m", "whygpu.cli", "ui", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield line.split()[1]
        finally:
            process.terminate()


def first_page(browser: Browser, address: str) -> float:
    """Seconds until a visitor who was never here reads the first question."""
    with browser.new_context() as context:
        page = context.new_page()
        begun = time.perf_counter()
        page.goto(address)
        page.get_by_role("heading", level=1).first.wait_for()
        return time.perf_counter() - begun


def clicks(browser: Browser, address: str, times: int) -> tuple[list[float], list[float]]:
    """Seconds from a click on a model to the verdict on it, and from a click on the chart's name to the chart."""
    verdicts, charts = [], []
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        for number in range(times):
            page = context.new_page()
            page.goto(f"{address}/?page=start&item=chat")
            models = page.locator("[class*='st-key-model-'] button")
            models.first.wait_for()
            page.wait_for_timeout(500)
            model = models.nth(number % models.count())
            verdicts.append(_until(page, model.click, "TAKE"))
            page.wait_for_timeout(1000)
            begun = time.perf_counter()
            page.get_by_role("radio", name="Price and speed").click()
            page.locator("[data-testid='stVegaLiteChart'] .marks").first.wait_for()
            charts.append(time.perf_counter() - begun)
            page.close()
    return verdicts, charts


def _until(page: Page, click: object, text: str) -> float:
    begun = time.perf_counter()
    click()  # type: ignore[operator]
    page.get_by_role("heading", level=1, name=re.compile(f"^{text}")).wait_for()
    return time.perf_counter() - begun


def many(browser: Browser, address: str, sessions: int) -> tuple[float, int]:
    """Seconds until all of so many visitors at once have their verdict, and how many had a wrong one."""
    kb = whygpu.load()
    asked = [CONTEXT_TOKENS * (number + 1) for number in range(sessions)]
    expected = {
        tokens: view_of(kb.advise({**ANSWERS, "context_tokens": tokens}, engine="evaluator")).headline
        for tokens in asked
    }
    with browser.new_context() as context:
        context.set_default_timeout(max(120_000, 6_000 * sessions))
        pages = [context.new_page() for _ in asked]
        begun = time.perf_counter()
        for page, tokens in zip(pages, asked, strict=True):
            page.goto(f"{address}/?{SERVING}&context_tokens={tokens}&page=answer", wait_until="commit")
        wrong = 0
        for page, tokens in zip(pages, asked, strict=True):
            page.get_by_role("heading", level=1, name=re.compile("^(TAKE|No|Nothing)")).wait_for()
            heading = page.get_by_role("heading", level=1).first.inner_text()
            chip = page.get_by_role("button", name=f"{tokens:,} tokens of context").count()
            wrong += heading != expected[tokens].text or chip == 0
        return time.perf_counter() - begun, wrong


def main() -> None:
    """Print one row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--sessions", type=int, default=50)
    options = parser.parse_args()
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        parser.error("there is no chromium on this machine")
    with wizard() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--headless", "--no-sandbox"])
        pages = [first_page(browser, address) for _ in range(options.times)]
        verdicts, charts = clicks(browser, address, options.times)
        seconds, wrong = many(browser, address, options.sessions)
        browser.close()
    print(f"| first page, cold browser | {statistics.median(pages):.2f} s (most {max(pages):.2f}) |")
    print(f"| click on a model to its verdict | {statistics.median(verdicts):.2f} s (most {max(verdicts):.2f}) |")
    print(f"| click to the chart | {statistics.median(charts):.2f} s (most {max(charts):.2f}) |")
    print(f"| {options.sessions} visitors at once | {seconds:.1f} s, {wrong} wrong |")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
