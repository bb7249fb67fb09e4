"""Six people, each from nothing to a downloaded report, on a desktop and on a phone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.ui.test_browser import SETTLED, enter

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Journey:
    """What one person presses, types and says besides."""

    tile: str | None = None
    model: str | None = None
    said: tuple[tuple[str, str], ...] = ()
    """Words of a question, and the answer to it."""
    owned: tuple[str, int] | None = None
    headline: str = "^TAKE "
    says: str = ""
    """What the report must mention."""


JOURNEYS = {
    "a chatbot, knowing nothing else": Journey("Serve a chatbot", "Llama 3.1 8B", says="Llama 3.1 8B"),
    "an overnight fine-tune": Journey(
        "Fine-tune a model", "Llama 3.1 8B", (("tokens does the data", "20M"), ("finished", "10")), says="10 hours"
    ),
    "cameras": Journey("Watch cameras", "YOLO11m", says="YOLO11m"),
    "pretraining": Journey("Train from scratch", "7B", (("finished", "720"),), says="140B tokens"),
    "owning four RTX 3090": Journey(owned=("RTX 3090", 4), headline="^USE |^TAKE ", says="RTX 3090"),
    "an impossible request": Journey(
        "Serve a chatbot", "Llama 3.1 405B", (("cost per hour", "1"),), headline="^(No plan|Nothing)", says="405B"
    ),
}


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desktop", "phone"])
@pytest.mark.parametrize("journey", JOURNEYS.values(), ids=JOURNEYS)
def test_from_nothing_to_a_report(
    journey: Journey, size: tuple[int, int], server: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(server)
    page.get_by_role("heading", level=1, name="What is the hardware for?").wait_for()
    _begin(page, journey)
    for question, answer in journey.said:
        _say(page, question, answer)
    heading = page.get_by_role("heading", level=1, name=re.compile(journey.headline))
    heading.wait_for()
    page.wait_for_function(SETTLED)
    said = heading.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.get_by_role("radio", name="Report").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report as Markdown").click()
    report = download.value.path().read_text(encoding="utf-8")
    assert report.replace("\\_", "_").startswith(f"# {said}")
    assert journey.says in report


def _begin(page: Page, journey: Journey) -> None:
    if journey.tile is not None:
        page.get_by_role("button", name=journey.tile).click()
        _take_model(page, journey.model or "")
    if journey.owned is not None:
        card, count = journey.owned
        page.get_by_text("I own accelerators already").click()
        picker = page.get_by_role("combobox", name="Which")
        picker.click()  # a phone opens the list on a touch alone
        picker.fill(card)
        page.get_by_role("option", name=card, exact=True).first.click()
        page.get_by_label("How many", exact=True).fill(str(count))
        page.get_by_role("button", name="Show the answer").last.click()


def _take_model(page: Page, model: str) -> None:
    page.get_by_role("heading", level=1, name=re.compile("which model")).wait_for()
    shown = page.get_by_role("button", name=re.compile(f"^{re.escape(model)} "))
    if shown.count():
        shown.first.click()
        return
    page.get_by_role("combobox").click()
    page.get_by_role("combobox").fill(model)
    page.get_by_role("option").first.click()
    page.get_by_role("button", name="Show the answer").click()


def _say(page: Page, question: str, answer: str) -> None:
    page.wait_for_function(SETTLED)
    page.get_by_role("button", name="Say more").click()
    picker = page.get_by_role("combobox")
    picker.click()
    picker.fill(question)
    page.get_by_role("option").first.click()
    enter(page, answer)
    page.get_by_role("textbox").first.wait_for(state="detached")
