"""From files of one's own to a report: the pages of sizing and diagnosis in a real browser, filled."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.ui.test_browser import SETTLED

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "measured" / "data"
RUN = """measurement: 1
setup: {accelerator: h100-sxm-80gb, count: 8, nodes: 1}
figures: {tokens_per_s: 146000, compute_share: 0.6, input_share: 0.15, communication_share: 0.1}
scaling:
- {accelerators: 1, nodes: 1, tokens_per_s: 20000}
- {accelerators: 8, nodes: 1, tokens_per_s: 146000}
- {accelerators: 16, nodes: 2, tokens_per_s: 275000}
"""


def _service(page: Page, server: str) -> str:
    page.goto(server)
    page.get_by_role("button", name="Size from them").click()
    _headline(page, "^How much hardware")
    _upload(page, DATA / "loads" / "points.csv")
    page.get_by_label(re.compile("^Requests a second at peak")).fill("50")
    page.get_by_label(re.compile("^Longest time to the end")).fill("20s")
    page.get_by_role("button", name="Size it").click()
    return _headline(page, "^Take ")


def _training(page: Page, server: str) -> str:
    page.goto(f"{server}/?page=size")
    page.get_by_role("radio", name="A training run").click()
    page.get_by_label("or paste one").and_(page.get_by_placeholder("scaling:")).wait_for()
    page.wait_for_function(SETTLED)  # the form of before stays until the page is drawn
    page.get_by_label(re.compile("^Tokens of the data set")).fill("300B")
    page.get_by_label("or paste one").fill(RUN)
    page.get_by_role("button", name="Size it").click()
    return _headline(page, "^Take ")


def _diagnosis(page: Page, server: str) -> str:
    page.goto(f"{server}/?page=diagnose")
    _upload(page, *(DATA / name for name in ("nvidia-smi.csv", "profiler-dataloader.txt")))
    page.get_by_role("button", name="Diagnose it").click()
    return _headline(page, "^Most likely: The input pipeline")


def _upload(page: Page, *files: Path) -> None:
    page.locator("input[type=file][multiple]").set_input_files(files)
    page.get_by_test_id("stFileChip").nth(len(files) - 1).wait_for()
    page.wait_for_function("!document.querySelector('[data-testid=stFileUploader] [role=progressbar]')")


def _headline(page: Page, text: str) -> str:
    heading = page.get_by_role("heading", level=1, name=re.compile(text))
    heading.wait_for()
    return heading.inner_text()


JOURNEYS = {"a service": _service, "a training run": _training, "a diagnosis": _diagnosis}


@pytest.mark.parametrize("name", JOURNEYS)
def test_from_files_to_a_report_on_a_phone(name: str, server: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    said = JOURNEYS[name](page, server)
    page.wait_for_function(SETTLED)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    opened = page.locator("details.said").first
    opened.locator("summary").focus()
    page.keyboard.press("Enter")
    opened.get_by_text("kb/rules/").first.wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report as Markdown").click()
    report = re.sub(r"\\(\W)", r"\1", download.value.path().read_text(encoding="utf-8"))
    assert said in report
    page.get_by_role("button", name="Knowledge", exact=True).click()
    page.get_by_role("heading", level=1, name="The knowledge behind the answers").wait_for()
    page.go_back()
    assert _headline(page, re.escape(said)) == said


@pytest.mark.parametrize(("name", "scheme"), tuple(zip(JOURNEYS, ("dark", "light", "dark"), strict=True)))
def test_axe_finds_nothing_in_a_result(
    name: str, scheme: Literal["light", "dark"], server: str, chromium: Browser
) -> None:
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    JOURNEYS[name](page, server)
    page.wait_for_timeout(1_000)
    page.wait_for_function(SETTLED)
    page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('[data-testid=stMain] h1, .whygpu').then(result => result.violations)")
    context.close()
    assert not [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found]
