"""Small pieces of HTML for what Streamlit draws too large: every text is escaped or rendered as Markdown."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from markdown_it import MarkdownIt

from whygpu_ui.session import item_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streamlit.delta_generator import DeltaGenerator

    from whygpu.knowledge.base import Knowledge
    from whygpu.render.view.model import Board, BoardCell, Evidence, Line, MeterRow, Section, Sentence

STYLE = """
<style>
.stMainBlockContainer { max-width: 70rem; padding-top: 2.4rem; padding-bottom: 3rem; }
.stButton button, .stDownloadButton button, .stFormSubmitButton button, .stPopover button { min-height: 44px; }
.stRadio label, .stCheckbox label, .stExpander summary { min-height: 44px; align-items: center; }
.stButtonGroup button, .stFileUploader button { min-height: 44px; }
.stChatInput button { min-height: 44px; min-width: 44px; }
.stTextInput [data-baseweb], .stNumberInput [data-baseweb] { min-height: 44px; }
.stSelectbox [data-baseweb="select"] > div { min-height: 44px; }
[role="listbox"] [role="option"], [role="listbox"] [role="option"] > div { height: auto; white-space: normal;
  overflow: visible; }
[role="listbox"] [role="option"] { padding-block: 0.45rem; }
.stButton button[kind="tertiary"], .stButton button[kind="tertiary"] * { justify-content: flex-start;
  text-align: left; }
.stButtonGroup button[aria-checked="true"] { color: inherit !important; font-weight: 600; }
.stButtonGroup button[aria-checked="true"] * { color: inherit !important; }
.stSlider [data-testid="stSliderThumbValue"] * { color: inherit; }
.stSlider [data-testid="stSliderThumbValue"] { color: inherit !important; }
[class*="st-key-chip-assumed"] button { border-style: dashed; }
.st-key-chips button { border-radius: 1.4rem; padding-inline: 0.6rem; }
.st-key-chips { gap: 0.4rem; }
.st-key-chips > div { flex: 0 0 auto; width: auto; max-width: 100%; }
.st-key-ways { row-gap: 0; }
.whygpu { font-size: 1rem; line-height: 1.45; overflow-wrap: break-word; }
.whygpu p { margin: 0 0 0.35rem; }
.whygpu p:last-child { margin-bottom: 0; }
.whygpu .price { font-size: 1.15rem; font-weight: 600; margin-right: 0.6rem; }
.whygpu .sure { border: 1px solid; border-radius: 0.6rem; padding: 0 0.55rem; font-size: 0.95rem;
  white-space: nowrap; display: inline-block; }
.whygpu table { border-collapse: collapse; width: 100%; }
.whygpu .wide { overflow-x: auto; }
.whygpu .wide th[scope="row"] { min-width: 6.5rem; }
.whygpu th, .whygpu td { text-align: left; padding: 0.22rem 0.8rem 0.22rem 0; vertical-align: top;
  border: 0; border-bottom: 1px solid color-mix(in srgb, currentColor 22%, transparent); }
.whygpu th { font-weight: 600; }
.whygpu code { font-size: 0.85em; overflow-wrap: anywhere; background: none; color: inherit; padding: 0; }
.whygpu .who { font-size: 0.86rem; opacity: 0.85; }
.whygpu .who a { color: inherit; text-decoration: underline dotted; }
.whygpu .bar { display: inline-block; width: 7rem; height: 0.7rem; border: 1px solid currentColor;
  border-radius: 0.35rem; overflow: hidden; vertical-align: middle; }
.whygpu .bar span { display: block; height: 100%; background: #2A76C8; }
.whygpu .bar.bad span { background: #C2570C; }
.whygpu ul { margin: 0 0 0.5rem; padding-left: 1.1rem; }
.whygpu li { margin: 0 0 0.3rem; }
.whygpu .plus, .whygpu .minus { font-weight: 700; }
.whygpu .said summary { cursor: pointer; min-height: 44px; padding: 0.5rem 0; }
.whygpu ul.bare { list-style: none; padding-left: 0; }
.whygpu li.below { margin-left: 1.2rem; }
.whygpu .board td { min-width: 7.5rem; padding-top: 0; padding-bottom: 0; }
.whygpu .board th { padding-top: 0.6rem; }
.whygpu .board summary { cursor: pointer; min-height: 44px; padding-top: 0.6rem; text-decoration: underline dotted; }
.whygpu .board .plain { display: block; padding-top: 0.6rem; }
.whygpu .board details { font-size: 0.92rem; }
.whygpu .board details[open] { min-width: 15rem; padding-bottom: 0.4rem; }
@media (max-width: 640px) {
  .stMainBlockContainer { padding: 1rem 1rem 3rem; }
  .stColumn:not(:has(.stElementContainer)) { display: none; }
  .stButtonGroup [role="radiogroup"] { gap: 0.4rem; }
  .stButtonGroup [role="radiogroup"] button { margin: 0; border-radius: 0.5rem;
    border: 1px solid color-mix(in srgb, currentColor 30%, transparent) !important; }
  .stButtonGroup [role="radiogroup"] button[aria-checked="true"] { border-color: currentColor !important; }
  .st-key-assumed .stHorizontalBlock { flex-wrap: nowrap; }
  .st-key-assumed .stColumn { min-width: 0; }
  .st-key-assumed .stColumn:last-child { flex: 0 0 auto; width: auto; }
  .whygpu .bar { display: none; }
  .whygpu .range { display: block; font-size: 0.86rem; }
  .whygpu th, .whygpu td { padding-right: 0.5rem; }
}
</style>
"""


_UNIT = re.compile(r"_(?:ms|hours|watts)\Z")
_UNDERSCORED = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")

_WIDE = '<div class="wide" role="group" aria-label="Table" tabindex="0">'
"""What is wider than a phone scrolls, by keyboard too."""


def show(body: str) -> None:
    """Draw HTML whose texts are safe already."""
    st.html(f'<div class="whygpu">{body}</div>')


def only(places: Iterable[str], chosen: str, key: str | None = None) -> DeltaGenerator:
    """The place of the chosen one of several; what was drawn in another one is gone at once."""
    return {name: st.container(key=key) if name == chosen else st.empty() for name in places}[chosen]


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).disable(["link", "image", "autolink", "html_inline"])


def inline(text: str) -> str:
    """A text of ours as HTML: its emphasis and code marks kept, nothing in it a link, an image or a tag."""
    return str(_markdown().renderInline(" ".join(text.split())))


def who(evidence: Evidence) -> str:
    """Who says it: the rule and its claims, each a link to what the knowledge page has of it."""
    parts = [part for part in (evidence.rule, *evidence.claims[:3]) if part]
    return f' <span class="who">[{", ".join(map(_known, parts))}]</span>' if parts else ""


def _known(item: str) -> str:
    """A link to an item of the knowledge, beside the page one reads: what is open there and uploaded stays."""
    return f'<a href="{escape(item_address(item))}" target="_blank" rel="noopener">{escape(item)}</a>'


def sections(found: Iterable[Section]) -> str:
    """Sections with their lines and tables."""
    parts = []
    for item in found:
        lines = "".join(
            f"<li{' class=below' if line.level else ''}>{inline(line.text)}{who(line.evidence)}</li>"
            for line in item.lines
        )
        grid = "" if item.grid is None else table(item.grid.headings, item.grid.rows)
        parts.append(f"<p><strong>{inline(item.title)}</strong></p><ul>{lines}</ul>{grid}")
    return "".join(parts)


def spoken(text: str, knowledge: Knowledge) -> str:
    """A text whose answers are named as one says them, without underscores and units."""
    names = knowledge.name_by_answer

    def said(match: re.Match[str]) -> str:
        key = match[0]
        return _UNIT.sub("", key).replace("_", " ") if key in names else key

    return _UNDERSCORED.sub(said, text)


def opened(line: Line | Sentence, knowledge: Knowledge) -> str:
    """One item of a list; what a rule says opens it: where the rule stands, and what its sources say."""
    mark = getattr(line, "mark", "")
    text = f'<span class="plus">{mark}</span> {inline(line.text)}' if mark else inline(line.text)
    level = ' class="below"' if getattr(line, "level", 0) else ""
    evidence = line.evidence
    rule = knowledge.rule_by_id.get(evidence.rule or "")
    place = f'<p class="who">{_known(rule.id)}, kb/{escape(str(rule.location))}</p>' if rule is not None else ""
    quotes = "".join(map(partial(_source, knowledge), evidence.claims))
    if not place and not quotes:
        return f"<li{level}>{text}</li>"
    return f'<li{level}><details class="said"><summary>{text}</summary>{place}{quotes}</details></li>'


def _source(knowledge: Knowledge, name: str) -> str:
    """What a source says: a claim in its words, a reference by its title, address and date."""
    claim, reference = knowledge.claims.get(name), knowledge.catalogue.references.get(name)
    if claim is not None:
        says = inline(claim.says)
    elif reference is not None:
        says = escape(", ".join(filter(None, (reference.title, reference.where, reference.as_of))))
    else:
        return ""
    return f'<p class="who">{_known(name)}: {says}</p>'


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first cell of each row is its heading."""
    head = "".join(map(_heading, headings))
    lines = (
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f"{_WIDE}<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def _heading(text: str) -> str:
    return f'<th scope="col">{escape(text)}</th>' if text else "<td></td>"


def meters(rows: Iterable[MeterRow]) -> str:
    """What is needed against what the plan gives, each with a bar of how much of the limit is used."""
    marks = {"met": "met", "at risk": "AT RISK", "missed": "MISSED", "no limit": ""}
    lines = []
    for row in rows:
        used = None if row.used is None else min(max(row.used, 0.0), 1.0)
        bad = row.status in ("at risk", "missed")
        bar = (
            ""
            if used is None
            else f'<span class="bar{" bad" if bad else ""}" aria-hidden="true">'
            f'<span style="width:{used:.0%}"></span></span>'
        )
        span = f' <span class="range">({escape(row.range)})</span>' if row.range else ""
        lines.append(
            f'<tr><th scope="row">{escape(row.label)}</th><td>{escape(row.needs)}</td><td>{escape(row.gets)}{span}</td>'
            f"<td>{bar} {escape(', '.join(filter(None, (row.margin, marks[row.status]))))}</td></tr>"
        )
    head = "".join(map(_heading, ("", "needs", "gets", "margin")))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def board_table(found: Board) -> str:
    """Plans side by side; a figure that rules stand behind opens them, with what their sources say."""
    head = "".join(map(_heading, ("criterion", *found.plans)))
    money = (("price", found.prices), ("with handling", found.before))
    lines = [_row(name, (f'<span class="plain">{escape(text)}</span>' for text in texts)) for name, texts in money]
    lines += [_row(row.criterion, (_cell(cell, found.claims) for cell in row.cells)) for row in found.rows]
    lines.append(_row("counts as", (f'<strong class="plain">{escape(text)}</strong>' for text in found.counts)))
    body = "".join(lines)
    return f'{_WIDE}<table class="board"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(heading: str, cells: Iterable[str]) -> str:
    inner = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(heading)}</th>{inner}</tr>'


def _cell(cell: BoardCell, claims: Mapping[str, str]) -> str:
    if not cell.said:
        return f'<span class="plain">{escape(cell.worth)}</span>'
    lines = []
    for line in cell.said:
        quotes = "".join(
            f'<p class="who">{_known(name)}: {inline(claims[name])}</p>'
            for name in line.evidence.claims
            if name in claims
        )
        place = f"{_known(line.evidence.rule or '')}, kb/{escape(line.evidence.location or '')}"
        lines.append(f'<p>{line.mark} {inline(line.text)}</p><p class="who">{place}</p>{quotes}')
    return f"<details><summary>{escape(cell.worth)}</summary>{''.join(lines)}</details>"
