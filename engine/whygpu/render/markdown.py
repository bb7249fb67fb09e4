"""A view as Markdown, to be pasted into a design review as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whygpu.render.style import Style, plain_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.render.view.model import Evidence, ItemRow, ReasonRow, Section, Sentence, View

_MARKS = re.compile(r"([\\`*_\[\]<>|#~!&])")
_ADDRESS = re.compile(r"https://[^\s,]+")
_ESCAPE = "\\"


def document(views: Sequence[View], sections: Iterable[Section] = ()) -> str:
    """One advice, or the phases of a life one after another, and answers to questions about it."""
    blocks = [block for view in views for block in _view(view)]
    blocks += [block for section in sections for block in _section(section)]
    return Style(False).safe("\n\n".join(blocks) + "\n")


def literal(text: str) -> str:
    """A text of ours or of others in which nothing is a mark."""
    flat = " ".join(plain_markdown(text).split())
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", _MARKS.sub(r"\\\1", flat))


def _view(view: View) -> Iterator[str]:
    head = view.headline
    yield f"# {literal(head.text)}"
    yield literal(view.request.text)
    if head.confidence is not None:
        why = f": {literal(head.why)}" if head.why else ""
        yield f"**{literal(head.price)}. {head.confidence.capitalize()}**{why}."
    elif head.why:
        yield literal(head.why)
    yield from _sentences("Because", view.because)
    yield from _sentences("But", view.but)
    if view.trouble is not None:
        yield from _sentences("Because", view.trouble.conflict)
        if view.trouble.repairs:
            yield "## What would allow a plan"
            yield "\n".join(
                f"- {literal(f'{item.change}: {item.plan}, {item.price}')}" for item in view.trouble.repairs
            )
    if view.meters:
        yield "## Needs and figures"
        rows = [(row.label, row.needs, row.gets, row.range, row.margin, row.status) for row in view.meters]
        yield table(("figure", "needs", "gets", "range", "margin", "status"), rows)
    if view.shortlist:
        yield "## Shortlist"
        yield table(
            ("role", "plan", "price", "speed", "memory", "against it"),
            [(row.role, row.plan, row.price, row.speed, row.fit, row.against) for row in view.shortlist],
        )
    yield from _why(view)
    yield from _items("Warnings", [item for item in view.items if item.kind == "warning"])
    if view.flips:
        yield "## What would change it"
        yield "\n".join(f"- {literal(f'{row.change}: {row.then}')}" for row in view.flips)
    if view.assumed:
        yield "## Assumed"
        yield "\n".join(f"- {literal(f'{row.answer} = {row.value}: {row.because}')}" for row in view.assumed)
    yield from _further(view)


def _further(view: View) -> Iterator[str]:
    """What one looks up; what one decides by stands before it, on the first page of a print."""
    if view.disagreements:
        yield "## Where sources disagree"
        yield "\n".join(f"- {literal(item.text)}{''.join(map(_cited, item.evidence))}" for item in view.disagreements)
    if view.ruled_out:
        yield "## Ruled out"
        yield "\n".join(f"- {item.count}: {literal(item.text)}{_cited(item.evidence)}" for item in view.ruled_out)
    advice = [item for item in view.items if item.kind != "warning"]
    yield from _items("Advice", [item for item in advice if not item.general])
    yield from _items("For all work of this kind", [item for item in advice if item.general])
    if view.start is not None:
        yield from _section(view.start)
    if view.claims:
        yield "## Sources"
        yield "\n".join(f"- `{claim}`: {_linked(literal(says))}" for claim, says in view.claims.items())
    yield literal(view.footer)


def _linked(text: str) -> str:
    """Text that nothing is a mark in, but with its addresses as links."""
    return _ADDRESS.sub(lambda found: f"<{found[0].replace(_ESCAPE, '')}>", text)


def _why(view: View) -> Iterator[str]:
    if not view.reasons:
        return
    yield "## Why"
    for title, favourable in (("For it", True), ("Against it", False)):
        rows = [row for row in view.reasons if row.favourable == favourable and row.about is None]
        if rows:
            yield f"### {title}"
            yield "\n".join(map(_reason, rows))
    others = [row for row in view.reasons if row.about is not None]
    if others:
        yield "### Against others"
        yield "\n".join(f"- {literal(row.about or '')}: {literal(row.text)}{_cited(row.evidence)}" for row in others)


def _reason(row: ReasonRow) -> str:
    decides = ", decides" if row.decides else ""
    return f"- {row.worth} by {row.criterion}{decides}: {literal(row.text)}{_cited(row.evidence)}"


def _items(title: str, items: Sequence[ItemRow]) -> Iterator[str]:
    if items:
        yield f"## {title}"
        yield "\n".join(f"- {literal(item.text)}{_cited(item.evidence)}" for item in items)


def _sentences(label: str, sentences: Sequence[Sentence]) -> Iterator[str]:
    for sentence in sentences:
        yield f"**{label}**: {literal(sentence.text)}{_cited(sentence.evidence)}"


def _section(section: Section) -> Iterator[str]:
    yield f"## {literal(section.title)}"
    if section.code is not None:
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", section.code)), default=0))
        yield f"{fence}\n{section.code}\n{fence}"
    if section.lines:
        yield "\n".join(
            f"{'  ' * line.level}- {'for: ' if line.mark == '+' else 'against: ' if line.mark == '-' else ''}"
            f"{literal(line.text)}{_cited(line.evidence)}"
            for line in section.lines
        )
    if section.grid is not None:
        yield table(section.grid.headings, section.grid.rows)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [headings, ["---"] * len(headings)]
    written = [f"| {' | '.join(cell if cell == '---' else literal(cell) for cell in line)} |" for line in lines]
    return "\n".join([*written, *(f"| {' | '.join(map(literal, row))} |" for row in rows)])


def _cited(evidence: Evidence) -> str:
    """Who says it, in code marks: ids hold none of their own."""
    parts = [part for part in (evidence.rule, evidence.location, *evidence.claims) if part]
    return f" ({', '.join(f'`{part}`' for part in parts)})" if parts else ""
