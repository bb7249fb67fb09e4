"""A sizing as text, on one screen, and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.render.markdown import literal, table
from whygpu.render.screen import LINES, Screen, cited, cut
from whygpu.render.style import Style
from whygpu.render.view.sizing import sizing_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.render.view.model import Grid
    from whygpu.render.view.sizing import SizingView
    from whygpu.sizing.sized import Sized


@dataclass(frozen=True, slots=True)
class _Room:
    """How many rows and items are told, whether each formula is, and why something is assumed."""

    rows: int
    items: int
    all_worked: bool
    reasons: bool


_ROOMS = (
    *(_Room(8, 6, True, True), _Room(8, 6, True, False), _Room(7, 5, False, False), _Room(6, 4, False, False)),
    *(_Room(5, 3, False, False), _Room(4, 2, False, False), _Room(3, 1, False, False)),
)
"""From the most that is told to the least: the first that fits is taken."""
_FOOTER = "whygpu: --why shows every figure with its numbers and sources, --format json the trace."


def sizing_text(sized: Sized, style: Style | None = None, width: int | None = None, *, why: bool = False) -> str:
    """The screen; ``why``: every figure with its formula, the numbers put in and what they mean."""
    return _Text(sizing_view(sized), style or Style(False), width).text(why=why)


class _Text:
    def __init__(self, view: SizingView, style: Style, width: int | None) -> None:
        self._view, self._style = view, style
        self._screen = Screen(style, width)

    def text(self, *, why: bool) -> str:
        lines: list[str] = []
        for room in _ROOMS:
            lines = list(self._lines(room, why=why))
            if why or len(lines) <= LINES:
                break
        return self._style.safe("\n".join(lines) + "\n")

    def _lines(self, room: _Room, *, why: bool) -> Iterator[str]:
        view, screen, style = self._view, self._screen, self._style
        yield from screen.wrap(view.request, "")
        yield ""
        paint = style.strong if view.possible else style.bad
        yield from (paint(line) for line in screen.wrap(view.headline, ""))
        if view.price:
            yield from screen.wrap(view.price, "     ")
        yield from screen.wrap(view.promise, "     ")
        for sentence in view.warnings:
            yield from screen.labelled("WARNING", sentence.text + cited(sentence.evidence))
        for number, sentence in enumerate(view.because[: None if why else room.items]):
            yield from screen.labelled("BECAUSE" if not number else "", sentence.text + cited(sentence.evidence))
        yield ""
        yield from self._grid(view.curve, None if why else room.rows)
        yield ""
        for number, item in enumerate(item for item in view.worked if why or room.all_worked or item.main):
            text = f"{item.name} {item.value} = {item.put_in}"
            yield from screen.labelled("WHY" if not number else "", text + cited(item.evidence))
            if why:
                yield from screen.wrap(f"= {item.formula}", " " * 12)
                yield from screen.wrap("sources: " + ", ".join(item.evidence.claims), " " * 12)
                for term in item.terms:
                    yield from (style.faint(line) for line in screen.wrap(term, " " * 16, " " * 14))
        yield from screen.labelled("MEASURED", view.measured)
        if view.assumed:
            told = why or room.reasons
            texts = [f"{item.text} ({item.because})" if told and item.because else item.text for item in view.assumed]
            yield from screen.labelled("ASSUMED", "; ".join(texts))
        for number, text in enumerate(view.flips):
            yield from screen.labelled("FLIPS IF" if not number else "", text)
        for number, text in enumerate(view.notes[: None if why else room.items]):
            yield from screen.labelled("NOTE" if not number else "", text)
        yield from (style.faint(line) for line in screen.wrap(_FOOTER, ""))

    def _grid(self, grid: Grid, most: int | None) -> Iterator[str]:
        marked = [index for index, row in enumerate(grid.rows) if row[-1]] or [0]
        nearest = sorted(range(len(grid.rows)), key=lambda index: min(abs(index - mark) for mark in marked))
        rows = [grid.rows[index] for index in sorted(nearest[:most])]
        widths = [max(len(row[column]) for row in (grid.headings, *rows)) for column in range(len(grid.headings))]
        for number, row in enumerate((grid.headings, *rows)):
            cells = [cut(text, size).rjust(size) for text, size in zip(row[:-1], widths, strict=False)]
            line = "  ".join((*cells, row[-1])).rstrip()
            yield self._style.faint(line) if not number else self._style.strong(line) if row[-1] else line


def sizing_markdown(sized: Sized) -> str:
    """The same as a document."""
    view = sizing_view(sized)
    blocks = [f"# {literal(view.headline)}", literal(view.request)]
    blocks += [f"**{literal(view.price)}**"] if view.price else []
    blocks += [literal(view.promise)] if view.promise else []
    for title, sentences in (("Warnings", view.warnings), ("Because", view.because)):
        if sentences:
            blocks += [f"## {title}", "\n".join(f"- {literal(item.text + cited(item.evidence))}" for item in sentences)]
    headings = tuple(text or "note" for text in view.curve.headings)
    blocks += ["## Curve", table(headings, view.curve.rows)]
    if view.worked:
        rows = [
            (item.name, item.value, item.formula, item.put_in, ", ".join(item.evidence.claims)) for item in view.worked
        ]
        blocks += ["## Figures", table(("figure", "value", "formula", "numbers", "sources"), rows)]
    assumed = tuple(f"{item.text}: {item.because}" if item.because else item.text for item in view.assumed)
    lists = (("Measured", (view.measured,)), ("Assumed", assumed), ("What would change it", view.flips))
    for title, texts in (*lists, ("Notes", view.notes)):
        if texts:
            blocks += [f"## {title}", "\n".join(f"- {literal(text)}" for text in texts)]
    return Style(False).safe("\n\n".join(blocks) + "\n")
