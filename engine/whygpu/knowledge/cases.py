"""Worked cases: answers, and what must come of them. One frozen class for each kind of expectation.

A selector says which plans are meant; it is a condition over ``gpu.`` and ``plan.`` names like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.errors import Location
    from whygpu.knowledge.rules import Strength
    from whygpu.language.tree import Expression
    from whygpu.yamldoc.document import Mapping as Node


@dataclass(frozen=True, slots=True)
class Selector:
    """Some plans, by their names' values; ``text`` says which for people."""

    text: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Ends:
    """The consultation ends in one of these ways (recommended, tied, infeasible)."""

    statuses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recommends:
    """Of the plans of rank 1, ``some``, ``all`` or ``none`` are selected."""

    selector: Selector
    quantity: str


@dataclass(frozen=True, slots=True)
class AmongFirst:
    """Of the plans ranked ``first`` or better, some are selected; or (not ``expected``) none is."""

    selector: Selector
    first: int
    expected: bool


@dataclass(frozen=True, slots=True)
class Ahead:
    """The best plan selected by ``this`` ranks above every plan selected by ``other``."""

    this: Selector
    other: Selector


@dataclass(frozen=True, slots=True)
class Possible:
    """Among the plans that no hard rule put out, some are selected; or (not ``expected``) none is."""

    selector: Selector
    expected: bool


@dataclass(frozen=True, slots=True)
class Fits:
    """Some plan selected holds the work in memory, whatever else speaks against it; or (not ``expected``) none does."""

    selector: Selector
    expected: bool


@dataclass(frozen=True, slots=True)
class Rejected:
    """Every plan selected is out, and each of the rules put some of them out."""

    selector: Selector
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Every ranked plan selected, and some is, has a verdict for it (or against it) by the criterion.

    With a ``strength`` the strongest such verdict has that strength.
    """

    selector: Selector
    favourable: bool
    criterion: str
    strength: Strength | None


@dataclass(frozen=True, slots=True)
class Says:
    """Each of the ids is among the ``what`` given (advice, warnings, techniques); or (not ``expected``) none is."""

    what: str
    ids: tuple[str, ...]
    expected: bool


@dataclass(frozen=True, slots=True)
class Fires:
    """Each of the rules fires and stands (for some plan, if it judges plans); or (not ``expected``) none does."""

    rules: tuple[str, ...]
    expected: bool


@dataclass(frozen=True, slots=True)
class Takes:
    """A name of the consultation has a value, answered, assumed, computed or concluded."""

    name: str
    value: float | bool | str


@dataclass(frozen=True, slots=True)
class Assumes:
    """An unanswered key is assumed; with a value, that one."""

    key: str
    value: float | bool | str | None


@dataclass(frozen=True, slots=True)
class Open:
    """The questions are reported as open."""

    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Equal and opposite verdicts by each of these criteria are reported."""

    criteria: tuple[str, ...]


SENSITIVITIES = ("size", "prices")
"""What a case holds against unless it says why not: models of another size, and other prices."""


@dataclass(frozen=True, slots=True)
class Costs:
    """A figure of a lifecycle's cost meets a condition; (``condition`` None) it is not known."""

    name: str
    condition: Expression | None


Outcome = (
    Ends
    | Recommends
    | AmongFirst
    | Ahead
    | Possible
    | Fits
    | Rejected
    | Judged
    | Says
    | Fires
    | Takes
    | Assumes
    | Open
    | Conflicts
    | Costs
)

Part = Literal["", "train", "serve", "life"]
"""What an expectation is about: the only phase, one of a lifecycle's, or the life's cost."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One expectation of a case and where it is written; ``text`` is what was written, in one line."""

    outcome: Outcome
    text: str
    location: Location
    part: Part = ""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A worked case. ``answers`` are as an answers file has them; ``sources`` say where the expectations come from.

    ``sources`` apply here; ``spares`` are claims whose advice rightly does not; ``tensions`` are shown by it.
    """

    id: str
    title: str
    topic: str
    answers: Node
    expected: tuple[Expected, ...]
    sources: tuple[str, ...]
    spares: tuple[str, ...]
    tensions: tuple[str, ...]
    sensitive: Mapping[str, str]
    """Of ``size`` and ``prices``, what it need not hold against, and why."""
    on: str | None
    """The day it is asked on (YYYY-MM-DD), where ages of prices matter."""
    location: Location
