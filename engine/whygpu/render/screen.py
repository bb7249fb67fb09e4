"""A view on one screen: at most 40 lines at 100 columns, nothing wider than the terminal."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from whygpu.render.style import Style, plain_markdown
from whygpu.render.words import NO_CHANGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.render.view.model import Evidence, MeterRow, ReasonRow, Section, Sentence, ShortRow, View

LINES = 40
NARROWEST, WIDEST = 60, 120
_GAP = "  "
_LABEL = 10
"""Columns of the words in front: BECAUSE, FLIPS IF."""
_TITLE = 28
"""Columns that the title of a rule has at least."""
_SCALES = ("  for (+) and against (-), as a factor on the price", "  factor on the price")
"""What the figures of the rules mean: the first that fits is told."""
_DECIDES = "; * decides"
_START = " (--start)"
_OUT = 2
"""Rules that put most out which are told."""


@dataclass(frozen=True, slots=True)
class Room:
    """How many rows of each list are told."""

    but: int
    meters: int
    """Of what is needed; limits are all told."""
    shortlist: int
    reasons: int
    flips: int
    assumed: int


_ROOMS = (
    Room(3, 6, 6, 10, 4, 6),
    Room(2, 5, 6, 8, 4, 4),
    Room(2, 4, 5, 7, 4, 4),
    Room(2, 3, 4, 6, 3, 3),
    Room(1, 3, 4, 6, 3, 3),
    Room(1, 2, 4, 6, 2, 3),
    Room(1, 2, 3, 6, 2, 2),
    Room(1, 2, 3, 6, 1, 2),
)
"""From the most that is told to the least: the first that fits is taken."""


def terminal_width() -> int:
    """Columns of the terminal, within what can be read."""
    return min(max(shutil.get_terminal_size((100, 24)).columns, NARROWEST), WIDEST)


class Screen:
    """Draws a view as text."""

    def __init__(self, style: Style | None = None, width: int | None = None, lines: int = LINES) -> None:
        """``width`` in characters, the terminal's by default; ``lines``: the most there may be at 100 columns."""
        self._style, self._width = style or Style(False), width or terminal_width()
        self._most = lines

    def render(self, view: View) -> str:
        """The one screen."""
        return self._style.safe("\n".join(self.lines(view)) + "\n")

    def lines(self, view: View, *, footer: bool = True) -> list[str]:
        """As many rows as fit; of a narrow terminal the last room, however long."""
        lines: list[str] = []
        for room, start in product(_ROOMS, (True, False)):
            lines = list(self._draw(view, room, footer=footer, start=start))
            if len(lines) <= self._most:
                break
        return lines

    def verdict(self, view: View, meters: int) -> Iterator[str]:
        """The request, the verdict, and what is nearest to being missed: what is told of each phase of a life."""
        yield from self.wrap(view.request.text, "")
        yield from self._headline(view)
        for sentence in view.because[:1]:
            yield from self._sentence("BECAUSE", sentence)
        for sentence in view.but[:1]:
            yield from self._sentence("BUT", sentence)
        if view.trouble is not None:
            yield from self._trouble(view, _ROOMS[-1])
        yield from [line for line in self._meters(view.meters[:meters]) if line]

    def _draw(self, view: View, room: Room, *, footer: bool, start: bool) -> Iterator[str]:
        yield from self.wrap(view.request.text, "")
        yield ""
        yield from self._headline(view)
        for number, sentence in enumerate(view.because):
            yield from self._sentence("BECAUSE" if not number else "", sentence)
        for number, sentence in enumerate(view.but[: room.but]):
            yield from self._sentence("BUT" if not number else "", sentence)
        warnings = sorted((x for x in view.items if x.kind == "warning"), key=lambda x: x.evidence.rule is None)
        ruled = sum(item.evidence.rule is not None for item in warnings)  # all are told
        for item in warnings if room.but > 1 else warnings[: ruled + 1]:
            yield from self.labelled("WARNING" if item.evidence.rule else "NOTE", item.text + cited(item.evidence))
        if view.trouble is not None:
            yield from self._trouble(view, room)
        limited = sum(row.status != "no limit" for row in view.meters)  # limits come first, and each is told
        yield from self._meters(view.meters[: max(room.meters, limited)])
        yield from self._shortlist(view.shortlist[: room.shortlist])
        yield from self._reasons(view, room)
        yield from self._rest(view, room)
        command = "" if view.start is None else (view.start.code or "").replace("\\\n", "").strip()
        if start and command and "\n" not in command:  # a file is no line
            text = " ".join(command.split())
            yield self._style.strong("START".ljust(_LABEL)) + cut(text, self._width - _LABEL - len(_START)) + _START
        if footer:
            yield ""
            yield from (self._style.faint(line) for line in self.wrap(view.footer, ""))

    # the verdict

    def _headline(self, view: View) -> Iterator[str]:
        head = view.headline
        sure = {"sure": self._style.good, None: self._style.bad}.get(head.confidence, self._style.doubtful)
        first = self.wrap(head.text, "")
        if head.confidence is None:
            yield from (self._style.bad(line) for line in first)
            if head.why:
                yield from self.wrap(head.why, "")
            return
        price = f"{head.price}   "
        if len(first) == 1 and len(first[0]) + len(_GAP) + len(price) + len(head.confidence) <= self._width:
            yield f"{self._style.strong(first[0])}{_GAP}{price}{sure(head.confidence.upper())}"
        else:
            yield from (self._style.strong(line) for line in first)
            if len(price) + 5 + len(head.confidence) <= self._width:
                yield f"     {price}{sure(head.confidence.upper())}"
            else:
                yield from self.wrap(head.price, "     ")
                yield f"     {sure(head.confidence.upper())}"
        if head.why:
            yield from (sure(line) for line in self.wrap(head.why[:1].upper() + head.why[1:] + ".", "     "))

    def _sentence(self, label: str, sentence: Sentence) -> Iterator[str]:
        yield from self.labelled(label, sentence.text + cited(sentence.evidence))

    def labelled(self, label: str, text: str) -> Iterator[str]:
        """A word in front, and the text beside it."""
        lines = self.wrap(text, " " * _LABEL)
        if lines:
            yield self._style.strong(label.ljust(_LABEL)) + lines[0][_LABEL:]
            yield from lines[1:]

    def _trouble(self, view: View, room: Room) -> Iterator[str]:
        if view.trouble is None:
            return
        for number, sentence in enumerate(view.trouble.conflict[: 2 * room.but]):
            yield from self._sentence("BECAUSE" if not number else "", sentence)
        if view.trouble.repairs:
            yield ""
            one = len(view.trouble.repairs) == 1
            yield self._style.strong(f"{'THIS CHANGE' if one else 'ANY ONE OF THESE CHANGES'} ALLOWS A PLAN")
        for repair in view.trouble.repairs:
            yield from self.wrap(f"{repair.change}: {repair.plan}, {repair.price}", "    ", "  - ")
        if not view.trouble.repairs:
            yield from self.wrap(NO_CHANGE, "  ")

    # the tables

    def _meters(self, rows: Sequence[MeterRow]) -> Iterator[str]:
        if not rows:
            return
        cells = [
            (row.label, row.needs, f"{row.gets} ({row.range})" if row.range else row.gets, row.margin, "")
            for row in rows
        ]
        marks = {"met": "", "at risk": "AT RISK", "missed": "MISSED", "no limit": ""}
        cells = [(*cell[:4], marks[row.status]) for cell, row in zip(cells, rows, strict=True)]
        yield ""
        yield from self._table(("", "needs", "gets", "margin", ""), cells)

    def _shortlist(self, rows: Sequence[ShortRow]) -> Iterator[str]:
        if len(rows) < 2:
            return
        cells = [(">" if row.recommended else " ", row.role, row.plan, row.price, row.speed, row.fit) for row in rows]
        yield ""
        against = ["against it", *(row.against for row in rows)]
        yield from self._table(("", "shortlist", "", "price", "speed", "memory"), cells, against)

    def _table(
        self, headings: Sequence[str], cells: Sequence[Sequence[str]], last: Sequence[str] = ()
    ) -> Iterator[str]:
        """Columns as wide as what is in them; ``last``, its heading first, is told as far as there is room, where that
        is enough to tell.
        """
        widths = [max(len(row[column]) for row in (headings, *cells)) for column in range(len(headings))]
        while sum(widths) + len(_GAP) * (len(widths) - 1) > self._width and max(widths) > 1:
            widths[widths.index(max(widths))] -= 1
        left = self._width - sum(widths) - len(_GAP) * len(widths)
        told = [cut(text, left) if left >= min(_TITLE, len(text)) else "" for text in map(plain_markdown, last)]
        for number, row in enumerate((headings, *cells)):
            line = _GAP.join(cut(text, width).ljust(width) for text, width in zip(row, widths, strict=True))
            if any(told[1:]):
                line += _GAP + told[number]
            line = line.rstrip()
            yield self._style.faint(line) if not number else self._style.strong(line) if line.startswith(">") else line

    # why

    def _reasons(self, view: View, room: Room) -> Iterator[str]:
        if not view.reasons:
            return
        yield ""
        shown = view.reasons[: room.reasons]
        star = _DECIDES if any(row.decides for row in shown) else ""
        scale = next(text for text in _SCALES if len("WHY") + len(text) + len(star) <= self._width)
        yield self._style.strong("WHY") + self._style.faint(scale + star)
        for row in shown:
            yield self._reason(row)
        left = len(view.reasons) - room.reasons
        if left > 0:
            yield self._style.faint(f"  and {left} more: --why")

    def _reason(self, row: ReasonRow) -> str:
        """A rule in a line: its title first, then who says so, as far as there is room."""
        mark = "+" if row.favourable else "-"
        start = f"{mark} {row.worth.rjust(5)} {'*' if row.decides else ' '} "
        title = plain_markdown((f"against {row.about}: " if row.about else "") + row.title)
        claims, rule = row.evidence.claims, str(row.evidence.rule)
        place = (row.evidence.location or "").rpartition("/")[2].replace(".yaml", "")
        more = f" +{len(claims) - 1}" if len(claims) > 1 else ""
        said = [" ".join((rule, place, *claims[:1])) + more, f"{rule} {place}", rule]
        room = self._width - len(start) - len(_GAP)
        who = next((text for text in said if len(title) + len(text) <= room), cut(rule, room - _TITLE))
        title = cut(title, room - len(who)).ljust(room - len(who))
        paint = self._style.good if row.favourable else self._style.doubtful
        return f"{paint(start)}{title}{_GAP}{self._style.faint(who)}"

    def _rest(self, view: View, room: Room) -> Iterator[str]:
        if view.flips:
            yield ""
        for number, row in enumerate(view.flips[: room.flips]):
            yield from self.labelled("FLIPS IF" if not number else "", f"{row.change}: {row.then}")
        for item in view.disagreements[:1] if room.but > 1 else ():
            yield from self.labelled("DISPUTED", item.text + "".join(map(cited, item.evidence)))
        if view.assumed:
            shown = view.assumed[: room.assumed]
            left = len(view.assumed) - len(shown)
            text = "; ".join(f"{row.answer} = {row.value}" for row in shown)
            yield from self.labelled("ASSUMED", text + (f" (+{left} more: --assumed)" if left else " (--assumed)"))
        if view.ruled_out:
            most = _OUT if view.trouble is None else 2 * _OUT
            parts = [f"{item.count} ({plain_markdown(item.title)})" for item in view.ruled_out[:most]]
            total = sum(item.count for item in view.ruled_out)
            left = total - sum(item.count for item in view.ruled_out[:most])
            more = f", {left} otherwise" if left else ""
            what = "1 accelerator" if total == 1 else f"{total} accelerators"
            yield from self.labelled("RULED OUT", f"{what}: {', '.join(parts)}{more}. See --why-not CARD.")

    def section(self, section: Section) -> Iterator[str]:
        """An answer to a question: its title, its lines, its table."""
        yield from (self._style.strong(line) for line in self.wrap(section.title, ""))
        if section.code is not None:
            yield from ("", *section.code.split("\n"), "")
        for line in section.lines:
            indent = "  " * (line.level + 1)
            mark = f"{line.mark} " if line.mark else ""
            paint = {"+": self._style.good, "-": self._style.doubtful}.get(line.mark, str)
            text = line.text + cited(line.evidence, location=True)
            lines = self.wrap(text, indent + " " * len(mark), indent + mark)
            yield from (paint(item) if not number else item for number, item in enumerate(lines))
        if section.grid is not None:
            yield from self._table(section.grid.headings, section.grid.rows)

    def sections(self, sections: Iterable[Section]) -> str:
        """Several of them."""
        return self._style.safe("\n".join(as_lines(self.section(item) for item in sections)) + "\n")

    def wrap(self, text: str, indent: str, first: str | None = None) -> list[str]:
        """A text in lines no wider than the terminal."""
        flat = plain_markdown(" ".join(text.split()))
        return textwrap.wrap(
            flat,
            self._width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )


def cited(evidence: Evidence, *, location: bool = False) -> str:
    """Who says it, in brackets; nothing where nobody is named."""
    where = (evidence.rule, evidence.location if location else None)
    parts = [*filter(None, where), *evidence.claims[:2]]
    more = f" +{len(evidence.claims) - 2}" if len(evidence.claims) > 2 else ""
    return f" [{', '.join(parts)}{more}]" if parts else ""


def cut(text: str, width: int) -> str:
    """A text of at most this many characters, with an ellipsis where it was longer."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def as_lines(blocks: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of several blocks, an empty line between them."""
    for number, block in enumerate(blocks):
        if number:
            yield ""
        yield from block
