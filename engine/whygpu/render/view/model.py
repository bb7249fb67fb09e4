"""What a reader is told of an advice, as typed rows: every renderer draws these, and none writes a sentence of its own.

Texts are plain Markdown as rules write them; a renderer takes the marks away or draws them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Confidence = Literal["sure", "close call", "rough estimate"]
Status = Literal["met", "at risk", "missed", "no limit"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Who says something: the rule, where it stands, and the claims it cites."""

    rule: str | None = None
    location: str | None = None
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and who says it."""

    text: str
    evidence: Evidence = Evidence()


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict: what to take, its price, and how sure that is."""

    text: str
    """ "TAKE 1x L4 in INT8", or that nothing satisfies the constraints."""
    price: str
    confidence: Confidence | None
    """None where there is no recommendation."""
    why: str
    """What makes it a close call or a rough estimate; empty where it is sure."""


@dataclass(frozen=True, slots=True)
class MeterRow:
    """What is needed against what the plan gives."""

    label: str
    needs: str
    gets: str
    range: str
    """Of what it gets; what it needs of an accelerator has its range beside it."""
    margin: str
    used: float | None
    """How much of the limit is used: 1 is at it, more is beyond; None where there is no limit."""
    status: Status


@dataclass(frozen=True, slots=True)
class ShortRow:
    """A plan of the shortlist."""

    recommended: bool
    role: str
    plan: str
    price: str
    speed: str
    fit: str
    against: str
    """The weightiest reason against it, in a few words; empty of the recommendation, and where only its price is."""
    told: str
    """The same as the rule says it of this plan, with its figures; where only its price is, how many times that is."""
    id: str


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """A rule that speaks for the recommendation or against it (or, ``about`` another plan, against that one)."""

    favourable: bool
    title: str
    text: str
    criterion: str
    worth: str
    """Times the money, for example "1.75x"."""
    decides: bool
    """Whether another plan would come first without it."""
    instead: str | None
    """That plan."""
    about: str | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class FlipRow:
    """A change, and what is recommended then."""

    change: str
    then: str
    near: float
    """How many times more or less the number is; what changes nothing is not listed."""


@dataclass(frozen=True, slots=True)
class AssumedRow:
    """An answer that was assumed."""

    answer: str
    value: str
    because: str
    weighs: bool
    """Whether rules that fired, or the sizing, rest on it."""


@dataclass(frozen=True, slots=True)
class RuledOut:
    """Accelerators that one rule keeps out: how many, the nearest one's reason, and some names."""

    count: int
    text: str
    names: tuple[str, ...]
    evidence: Evidence
    title: str
    """What the rule is called."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A complete change of the answers that allows a plan, and what that plan costs."""

    change: str
    plan: str
    price: str
    answers: Mapping[str, Any]
    """The change itself: answers to be given, or None for one to be left out."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why nothing is recommended, and what would help."""

    conflict: tuple[Sentence, ...]
    """The rules in conflict, each with what the nearest plan needs against what is allowed."""
    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Sources, or rules, that say opposite things: both sides, what was decided and why."""

    text: str
    evidence: tuple[Evidence, ...]
    """The rule that settles it with the claims of both sides, or the rules that cancel each other."""


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A piece of advice, a technique or a warning; ``general`` where nearly every such work gets it."""

    text: str
    kind: Literal["warning", "technique", "advice"]
    general: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a section; ``level``: how deep it is under the one before; ``mark``: for, against or neither."""

    text: str
    level: int = 0
    mark: Literal["", "+", "-"] = ""
    evidence: Evidence = Evidence()


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: headings and rows of as many cells."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """An answer to a question about the advice."""

    title: str
    lines: tuple[Line, ...]
    grid: Grid | None = None
    code: str | None = None
    """A command or a file, told as it stands before the lines."""


@dataclass(frozen=True, slots=True)
class BoardCell:
    """What one criterion is worth for one plan, and every rule that says so."""

    worth: str
    """Times the money, for example "1.75x"; "1x" where nothing speaks for or against it."""
    said: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One criterion, with a cell for each plan."""

    criterion: str
    cells: tuple[BoardCell, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """Plans side by side: price, what each criterion is worth, what each counts as."""

    plans: tuple[str, ...]
    prices: tuple[str, ...]
    before: tuple[str, ...]
    """What the factors multiply: the price with what handling the machines costs."""
    rows: tuple[BoardRow, ...]
    counts: tuple[str, ...]
    claims: dict[str, str]
    """What every claim named says, and in which document, by its id."""


@dataclass(frozen=True, slots=True)
class View:
    """An advice, ready to be drawn."""

    request: Sentence
    headline: Headline
    because: tuple[Sentence, ...]
    but: tuple[Sentence, ...]
    meters: tuple[MeterRow, ...]
    shortlist: tuple[ShortRow, ...]
    reasons: tuple[ReasonRow, ...]
    flips: tuple[FlipRow, ...]
    idle: tuple[str, ...]
    """Answers that change nothing as far as they were tried; empty where only limits or loads were."""
    assumed: tuple[AssumedRow, ...]
    ruled_out: tuple[RuledOut, ...]
    trouble: Trouble | None
    disagreements: tuple[Disagreement, ...]
    items: tuple[ItemRow, ...]
    start: Section | None
    """How the plan is started; None where nothing is recommended, or no tool that is known starts it."""
    footer: str
    claims: dict[str, str]
    """What every claim named above says, and in which document, by its id."""
