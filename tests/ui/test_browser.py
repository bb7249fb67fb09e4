"""The real wizard in a real browser: two clicks, links, back, phone, dark, keyboard, many at once, no other host."""

from __future__ import annotations

import importlib.util
import re
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.effort import PATIENCE
from whygpu.explain.figures import show_plain
from whygpu.render.view import view_of
from whygpu.render.words import short_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from whygpu import KnowledgeBase

pytestmark = pytest.mark.slow

SERVING = "phase=inference&task=language&model=llama-3.1-8b&concurrency=8"
ANSWERS = {"phase": "inference", "task": "language", "model": "llama-3.1-8b", "concurrency": 8}
LIFE = 'phases={"train":{"method":"lora","dataset_tokens":"100M"},"serve":{"concurrency":4}}&model=llama-3.1-8b'
PAGES = (
    "",
    "page=start&item=chat",
    f"{SERVING}&page=answer",
    f"{SERVING}&page=better",
    f"{SERVING}&page=compare",
    f"{SERVING}&page=concurrency",
    f"{LIFE}&service_months=24",
    "page=knowledge",
    "page=knowledge&item=little-room-to-grow",
    "page=knowledge&item=l4",
    "page=size&item=inference",
    "page=size&item=training",
    "page=diagnose",
)
SETTLED = """() => document.querySelector('[data-testid=stApp]').dataset.testScriptState !== 'running'
  && !document.querySelector('[data-stale=true], [aria-busy=true]')
  && document.getAnimations().every(
    item => item.playState === 'finished' || item.effect.getTiming().iterations === Infinity
  )"""
"""The script has run, no element waits to be drawn, and nothing fades any more: a colour is what it stays."""


_SCHEMES: tuple[Literal["light", "dark"], ...] = ("dark", "light")
_PAINTED = """scheme => {
  const colour = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor
  return scheme === (colour.match(/[0-9]+/)[0] < 128 ? 'dark' : 'light')
}"""
"""The page has the colours of the scheme that the system asks for."""


def enter(page: Page, text: str) -> None:
    """Type a text into the field shown and send it: Enter sends a form whose button has been drawn."""
    page.get_by_role("button", name="Update").first.wait_for()
    page.wait_for_function(SETTLED)
    field = page.get_by_role("textbox").first
    field.fill(text)
    field.press("Enter")


def _open(page: Page, server: str, query: str) -> Page:
    page.goto(f"{server}/?{query}")
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_function(SETTLED)  # what is still drawn moves what is clicked
    return page


def _verdict(page: Page, text: str) -> None:
    page.get_by_role("heading", level=1, name=text, exact=True).wait_for()


def _headline(kb: KnowledgeBase, **answers: object) -> str:
    return view_of(kb.advise({**ANSWERS, **answers}, engine="evaluator")).headline.text


def test_two_clicks_from_a_tile_to_an_answer_and_back(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, "")
    page.get_by_role("button", name="Serve a chatbot").click()
    page.get_by_role("heading", level=1, name="Serve a chatbot: which model?").wait_for()
    page.get_by_role("button", name="Llama 3.1 8B").click()
    heading = page.get_by_role("heading", level=1, name=re.compile("^TAKE "))
    heading.wait_for()
    said = heading.inner_text()
    page.reload()
    _verdict(page, said)
    page.go_back()
    page.get_by_role("heading", level=1, name="Serve a chatbot: which model?").wait_for()
    page.go_forward()
    _verdict(page, said)


def test_what_the_box_refuses_stays_to_be_corrected(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, "")
    field = page.get_by_test_id("stChatInput").get_by_role("textbox")
    field.fill("lama 3.1 8c")
    field.press("Enter")
    page.get_by_text("no model here is called").wait_for()
    page.wait_for_function(SETTLED)
    assert field.input_value() == "lama 3.1 8c"
    field.fill("llama 3.1 8b")
    field.press("Enter")
    page.get_by_role("heading", level=1, name=re.compile("^TAKE ")).wait_for()


def test_the_first_screen_says_what_why_and_how_well(server: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 800})
    _open(page, server, f"{SERVING}&page=answer")
    for text in ("Because.", "But.", "needs", "Llama 3.1 8B"):
        box = page.get_by_text(text, exact=text != "Llama 3.1 8B").first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 800
    page.get_by_role("heading", name="Look closer").wait_for()
    page.wait_for_timeout(500)
    assert _height(page) < 4 * 800


def test_an_unknown_model_in_a_link_is_never_another_models_answer(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, "phase=inference&model=nobody-7b&page=answer")
    page.get_by_role("heading", level=1, name="Which model?").wait_for()
    page.reload()
    page.get_by_role("heading", level=1, name="Which model?").wait_for()
    assert page.get_by_role("button", name="Answer", exact=True).count() == 0


def test_make_it_better_shows_what_an_answer_changes(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    asked = kb.next_question(ANSWERS)
    assert asked is not None
    assert asked.witness is not None
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    page.get_by_role("button", name="Make it better").last.click()
    page.get_by_role("heading", level=1, name=asked.question.ask).wait_for()
    page.get_by_text("Why this is asked").click()
    page.get_by_text("for it:").wait_for()
    spec = kb.knowledge.vocabulary[asked.question.name]
    shown = show_plain(asked.witness.value, spec.unit, spec.name)
    page.get_by_role("button", name=shown).first.click()
    page.get_by_text("Your last answer changed it").wait_for()
    page.get_by_text(_headline(kb, **{asked.id: asked.witness.value})).first.wait_for()


def test_a_chip_is_edited_in_place(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    page.get_by_role("button", name="8 requests at once").click()
    enter(page, "200")
    _verdict(page, _headline(kb, concurrency=200))


def test_what_is_owned_is_edited_in_place(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    """It could only be taken back."""
    owned = '[{"accelerator":"rtx-3090","count":2}]'
    page = _open(context.new_page(), server, f"{SERVING}&owned={owned}&page=answer")
    page.get_by_role("button", name="owned 2x RTX 3090").click()
    enter(page, "4x RTX 9999")
    page.get_by_text("9999").last.wait_for()
    enter(page, "4x RTX 3090")
    _verdict(page, _headline(kb, owned="4x RTX 3090"))


def test_every_part_of_the_answer_opens(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    for name, text in (
        ("What if", "recommended"),
        ("Tipping points", "if"),
        ("Board", "counts as"),
        ("Assumed", "is where most teams begin|assumed|because"),
        ("Report", "Report as Markdown"),
    ):
        page.get_by_role("radio", name=name).click()
        page.get_by_text(re.compile(text)).last.wait_for()
    page.get_by_role("radio", name="Why", exact=True).click()
    page.get_by_text("The whole chain").click()
    page.get_by_role("heading", name="Why: the rules behind").wait_for()
    page.get_by_role("radio", name="Report").click()
    with page.expect_download() as report:
        page.get_by_role("button", name="Report as Markdown").click()
    assert report.value.path().read_text(encoding="utf-8").startswith("# TAKE ")
    page.get_by_role("radio", name="Price and speed").click()
    page.locator("[data-testid='stVegaLiteChart'] .marks").first.wait_for()


def test_a_lifecycle_is_reported_with_its_cost(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, f"{LIFE}&service_months=24")
    with page.expect_download() as report:
        page.get_by_role("button", name="Report as Markdown").click()
    text = report.value.path().read_text(encoding="utf-8")
    assert text.count("\n# TAKE ") + text.startswith("# TAKE ") == 2
    assert "## What the lifecycle costs" in text
    assert "| serving | 24 months at " in text


def test_a_point_of_the_chart_is_compared(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    page.get_by_role("radio", name="Price and speed").click()
    page.locator("[data-testid='stVegaLiteChart'] .mark-symbol path").nth(1).click()
    page.get_by_role("heading", level=1, name="Two plans side by side").wait_for()


def test_a_figure_of_the_board_opens_its_rules(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    page.get_by_role("radio", name="Board").click()
    cell = page.locator(".board details").first
    cell.locator("summary").focus()
    page.keyboard.press("Enter")
    cell.get_by_text("kb/rules/").first.wait_for()


def test_who_says_it_opens_beside_the_answer(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    link = page.locator(".who a").first
    name = link.inner_text()
    with context.expect_page() as opened:
        link.click()
    opened.value.get_by_role("heading", level=1, name=kb.knowledge.rule_by_id[name].title).wait_for()
    page.get_by_role("heading", level=1, name=re.compile("^TAKE ")).wait_for()


def test_a_button_of_a_part_leads_elsewhere(server: str, context: BrowserContext) -> None:
    """What redraws a part of the page alone must not keep a click in it from leaving the page."""
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    page.get_by_role("radio", name="Assumed").click()
    page.locator("[class*='st-key-answer-'] button").first.click()
    page.get_by_role("heading", level=1, name=re.compile(r"\?$")).wait_for()


def test_a_card_is_compared(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    page.get_by_role("heading", name="Look closer").wait_for()  # all that is above it is there, and in its place
    page.get_by_role("button", name="Compare").first.click()
    page.get_by_role("heading", level=1, name="Two plans side by side").wait_for()
    other = kb.advise(ANSWERS, engine="evaluator").shortlist[1].plan
    page.get_by_text(f"Why not {short_text(other)}").first.wait_for()


def test_by_keyboard_alone(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, "page=start&item=chat")
    page.get_by_role("combobox").focus()
    page.keyboard.type("qwen3 8b")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Show the answer").press("Enter")
    page.get_by_role("heading", level=1, name=re.compile("^TAKE ")).wait_for()
    page.wait_for_function("document.activeElement?.tagName === 'H1'")
    chip = page.get_by_role("button", name=re.compile("at once"))
    chip.focus()
    page.keyboard.press("Enter")  # what opens stands at the end of the page
    inside = "document.activeElement?.closest('[data-testid=\"stPopoverBody\"]') !== null"
    page.wait_for_function(f"document.activeElement?.tagName === 'INPUT' && {inside}")
    page.wait_for_timeout(1_000)
    assert page.evaluate(inside)
    page.keyboard.press("Control+A")
    page.keyboard.type("20 users")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^20 requests at once")).wait_for()


LONGEST = "phase=training&model=llama-3.1-8b&dataset_tokens=1e12&page=answer"
"""An answer with more reasons and advice than others."""


@pytest.mark.parametrize("query", [*PAGES, LONGEST])
def test_a_phone_shows_it_all(query: str, server: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    _open(page, server, query)
    page.wait_for_timeout(1_500)
    page.wait_for_function(SETTLED)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert _height(page) < 6 * 844
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(item => Number(item.tagName[1]))")
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    small = page.evaluate(
        "[...document.querySelectorAll('[data-testid=stMain] button')].filter(item => item.offsetParent && "
        "item.textContent.trim() && item.getBoundingClientRect().height < 43).map(item => item.textContent)"
    )
    assert not small


def test_what_was_assumed_is_short_on_a_phone(server: str, context: BrowserContext) -> None:
    """Each row had its button below it: nearly five screens."""
    page = context.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    _open(page, server, f"{SERVING}&page=answer")
    page.get_by_role("radio", name="Assumed").click()
    row = page.locator(".st-key-assumed .stHorizontalBlock").first
    button, text = row.get_by_role("button").bounding_box(), row.get_by_text("because").bounding_box()
    assert button is not None
    assert text is not None
    assert button["x"] >= text["x"] + text["width"]
    assert button["y"] < text["y"] + text["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def _height(page: Page) -> int:
    return int(page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight"))


@pytest.mark.parametrize("query", PAGES)
def test_axe_finds_nothing(query: str, server: str, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = _open(context.new_page(), server, query)
    page.wait_for_timeout(1_500)
    page.locator("[aria-busy=true]").first.wait_for(state="detached")  # a skeleton, by Streamlit
    said = _axe(page)
    context.close()
    assert not said


def test_axe_finds_nothing_in_what_opens(server: str, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844})
    page = _open(context.new_page(), server, f"{SERVING}&page=answer")
    said = {}
    rest = ("Price and speed", "Memory", "Board", "Assumed", "Why not", "Report")
    for name in ("Advice", "What if", "Tipping points", *rest):
        page.get_by_role("radio", name=name).click()
        page.wait_for_timeout(500)
        said[name] = _axe(page)
    for name in ("production", "Say more"):
        page.get_by_role("button", name=name).click()
        page.wait_for_timeout(500)
        said[name] = _axe(page, "body")
        page.keyboard.press("Escape")
    _open(page, server, f"{SERVING}&page=better")
    page.get_by_text("Choose what you are asked").click()
    page.get_by_role("button", name="Ask only these").wait_for()
    said["choose"] = _axe(page)
    context.close()
    assert not {name: found for name, found in said.items() if found}


def _axe(page: Page, within: str = "[data-testid=stMain]") -> list[object]:
    """What axe-core finds in light and in dark, each once the page is still."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    page.wait_for_function(SETTLED)
    page.evaluate(Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    options = "{rules: {'presentation-role-conflict': {enabled: false}}}"  # Streamlit's own field for files has one
    said: list[object] = []
    for scheme in _SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(_PAINTED, arg=scheme)
        page.wait_for_function(SETTLED)
        found = page.evaluate(f"axe.run('{within}', {options}).then(result => result.violations)")
        said += [(scheme, item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found]
    return said


def test_many_sessions_at_once_stay_their_own(server: str, context: BrowserContext, kb: KnowledgeBase) -> None:
    users = [2**number for number in range(10)] * 2
    pages = [context.new_page() for _ in users]
    for page, number in zip(pages, users, strict=True):
        page.goto(f"{server}/?phase=inference&task=language&model=llama-3.1-8b&concurrency={number}&page=answer")
    for page, number in zip(pages, users, strict=True):
        _verdict(page, _headline(kb, concurrency=number))
        unit = "request" if number == 1 else "requests"
        page.get_by_role("button", name=f"{number} {unit} at once").wait_for()


def test_nonsense_in_a_link_is_reported(server: str, context: BrowserContext) -> None:
    query = f"{SERVING}&streams=many&x=![x](http://evil.example)&page=answer"
    page = _open(context.new_page(), server, query)
    page.get_by_text("there is no answer 'x'").wait_for()
    assert page.locator("img[src*='evil']").count() == 0


def test_a_pages_headers_hold_it_to_this_server(server: str) -> None:
    with urllib.request.urlopen(server, timeout=PATIENCE) as response:
        policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "https:" not in policy


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_refused_is_seen_and_what_is_taken_closes(
    width: int, server: str, context: BrowserContext, kb: KnowledgeBase
) -> None:
    """The message stood on the page behind the field's own window, and that stayed open over the new verdict."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    _open(page, server, f"{SERVING}&page=answer")
    page.get_by_role("button", name="8 requests at once").click()
    enter(page, "1,5")
    said = page.get_by_text("must be a number")
    said.wait_for()
    assert said.evaluate(
        "item => { const at = item.getBoundingClientRect();"
        " return item.contains(document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2)) }"
    )
    enter(page, "200")
    _verdict(page, _headline(kb, concurrency=200))
    page.get_by_role("textbox").first.wait_for(state="detached")


def test_a_limit_that_nothing_asked_for_is_said_in_place(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, "phase=fine-tuning&model=llama-3.1-8b&dataset_tokens=20e6&page=answer")
    page.get_by_role("button", name="Say more").click()
    page.get_by_role("combobox").fill("finished")
    page.keyboard.press("Enter")
    enter(page, "10")
    page.get_by_role("button", name="within 10 hours").wait_for()


def test_enter_takes_the_first_match(server: str, context: BrowserContext) -> None:
    page = _open(context.new_page(), server, "page=start&item=chat")
    page.get_by_role("combobox").focus()
    page.keyboard.type("mistral")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Show the answer").press("Enter")
    page.get_by_role("button", name="Mistral 7B").wait_for()
