"""The real wizard in a real browser: keyboard, links, phone, and no request to anywhere else."""

from __future__ import annotations

import json
import urllib.request
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from whygpu.render.words import sentence

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page

    from whygpu import KnowledgeBase

pytestmark = pytest.mark.slow

ANSWERS: dict[str, Any] = {
    "phase": "inference",
    "model": "llama-3.1-70b",
    "quantization": "allowed",
    "concurrency": "8",
    "context_tokens": "16k",
}
CHART = "[data-testid='stVegaLiteChart'] .marks"


def _ask(page: Page, kb: KnowledgeBase, question: str) -> None:
    """Wait until the question is on the page and the keyboard's focus in its form."""
    ask = next(item.ask for item in kb.knowledge.questions if item.id == question)
    page.get_by_role("heading", level=1, name=ask, exact=True).wait_for()
    # between two steps there is no form for a moment
    page.wait_for_function("document.querySelector('[data-testid=stForm]')?.contains(document.activeElement) === true")


def _at(page: Page) -> str:
    """The page that the address names."""
    return str(page.evaluate("new URLSearchParams(location.search).get('page')"))


def _leave(page: Page, question: str) -> None:
    page.wait_for_function("was => new URLSearchParams(location.search).get('page') !== was", arg=question)


def _recommendation(kb: KnowledgeBase, answers: dict[str, Any]) -> str:
    best = kb.advise(answers).recommendation
    assert best is not None
    return sentence(best)


def _shows(page: Page, text: str) -> None:
    page.locator("h1, strong").filter(has_text=text).first.wait_for()


def _picture(page: Page, width: int, path: Path) -> None:
    """The whole page; its content scrolls inside, so the window is made tall."""
    page.set_viewport_size({"width": width, "height": 5000})
    page.locator(CHART).first.wait_for()
    page.screenshot(path=path)


def _by_keyboard(page: Page, kb: KnowledgeBase) -> None:
    """Answer from start to recommendation; every step after the first without the mouse."""
    page.get_by_text("inference: serving requests").click()
    page.get_by_role("button", name="Next").click()
    _leave(page, "phase")
    while (question := _at(page)) != "answer":
        _ask(page, kb, question)
        if question == "model":
            page.keyboard.type("Llama 3.1 70B")
            page.get_by_role("option", name="Llama 3.1 70B").wait_for()
            page.keyboard.press("Enter")
            page.get_by_role("button", name="Next").press("Enter")
        elif question == "quantization":
            page.keyboard.press("Space")
            page.keyboard.press("Enter")
        elif question in ANSWERS:
            page.keyboard.type(ANSWERS[question])
            page.keyboard.press("Enter")
        else:
            page.get_by_role("button", name="I don't know").press("Enter")
        _leave(page, question)


def test_from_the_first_question_to_the_recommendation(
    server: str, context: BrowserContext, kb: KnowledgeBase, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(server)
    page.get_by_role("heading", level=1).wait_for()
    _by_keyboard(page, kb)
    expected = _recommendation(kb, ANSWERS)
    _shows(page, expected)
    page.locator(CHART).first.wait_for()
    _picture(page, 1280, tmp_path / "answer-1280.png")

    with page.expect_download() as answers:
        page.get_by_role("button", name="Download the answers").click()
    assert yaml.safe_load(answers.value.path().read_text()) == ANSWERS
    with page.expect_download() as advice:
        page.get_by_role("button", name="Download the advice").click()
    best = kb.advise(ANSWERS).recommendation
    assert best is not None
    assert json.loads(advice.value.path().read_text())["recommendation"]["id"] == best.id

    page.get_by_role("button", name="Copy the link").click()
    page.get_by_text("Copied.").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(server)
    other = context.new_page()
    other.set_viewport_size({"width": 390, "height": 844})
    other.goto(link)
    _shows(other, expected)
    other.locator(CHART).first.wait_for()
    assert other.evaluate("document.documentElement.scrollWidth") <= 390
    _picture(other, 390, tmp_path / "answer-390.png")
    levels = other.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(item => Number(item.tagName[1]))")
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_the_browsers_back_button_goes_a_step_back(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    page = context.new_page()
    page.goto(f"{server}/?phase=inference&model=llama-3.1-70b&page=concurrency")
    page.get_by_role("textbox").wait_for()
    page.get_by_role("textbox").fill("8")
    page.keyboard.press("Enter")
    _leave(page, "concurrency")
    _ask(page, kb, _at(page))
    page.go_back()
    ask = next(item.ask for item in kb.knowledge.questions if item.id == "concurrency")
    page.get_by_role("heading", level=1, name=ask, exact=True).wait_for()


def test_nonsense_in_a_link_is_reported(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    page = context.new_page()
    page.goto(f"{server}/?phase=inference&model=llama-3.1-70b&concurrency=many&x=![x](http://evil.example)&page=answer")
    page.get_by_text("'concurrency' must be a number of requests").wait_for()
    page.get_by_text("there is no answer 'x'").wait_for()
    _shows(page, _recommendation(kb, {"phase": "inference", "model": "llama-3.1-70b"}))
    assert page.locator("img[src*='evil']").count() == 0


def test_a_pages_headers_hold_it_to_this_server(server: str) -> None:
    with urllib.request.urlopen(server, timeout=10) as response:
        policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "https:" not in policy
