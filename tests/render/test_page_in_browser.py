"""The HTML report in a real browser: accessible in light and dark, complete without the network, printable."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from whygpu.render.html import page
from whygpu.render.view.questions import why_not_sections

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Request

    import whygpu
    from whygpu.render.view import View

pytestmark = pytest.mark.slow
NAMES = ("chat", "train-7b", "budget-too-small")
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    return Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_and_nothing_is_fetched(
    advised: dict[str, whygpu.Advice],
    views: dict[str, View],
    chromium: Browser,
    axe: str,
    tmp_path: Path,
    name: str,
    scheme: Literal["light", "dark"],
) -> None:
    sections = list(why_not_sections(advised[name], "T4", advised[name].why_not("T4")))
    report = tmp_path / "report.html"
    report.write_text(page([views[name]], sections), encoding="utf-8")
    asked: list[Request] = []
    for width in WIDTHS:
        # The page's own policy lets no script in; axe is one, so it is let by.
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
        opened = context.new_page()
        opened.on("request", lambda request: asked.append(request))  # noqa: PLW0108  playwright marks its handlers
        opened.goto(report.as_uri())
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        opened.evaluate(axe)
        found = opened.evaluate("axe.run().then(result => result.violations)")
        context.close()
        assert not [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found]
    assert {request.url for request in asked} == {report.as_uri()}


def test_a_report_prints_on_paper(
    views: dict[str, View],
    chromium: Browser,
    tmp_path: Path,
) -> None:
    """Black on white whatever the screen's colours, and no wider than the sheet: A4 at 96 dots an inch."""
    report = tmp_path / "report.html"
    report.write_text(page([views["chat"]]), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 794, "height": 1123}, color_scheme="dark")
    opened = context.new_page()
    opened.goto(report.as_uri())
    opened.emulate_media(media="print")
    style = opened.evaluate("(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))")
    assert style == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert opened.pdf(format="A4")[:5] == b"%PDF-"
    context.close()


@pytest.mark.parametrize("name", NAMES)
def test_what_one_decides_by_is_on_the_first_sheet(
    views: dict[str, View], chromium: Browser, tmp_path: Path, name: str
) -> None:
    """experience.md: the report of one page; what it rests on follows."""
    report = tmp_path / "report.html"
    report.write_text(page([views[name]]), encoding="utf-8")
    context = chromium.new_context()
    opened = context.new_page()
    opened.goto(report.as_uri())
    opened.evaluate(
        """() => {
          const last = [...document.querySelectorAll("h2")].find(found => found.textContent === "Assumed")
          const list = last.nextElementSibling
          while (list.nextElementSibling) list.nextElementSibling.remove()
        }"""
    )
    assert len(re.findall(rb"/Type\s*/Page\b", opened.pdf(format="A4"))) == 1
    context.close()
