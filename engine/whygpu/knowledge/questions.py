"""What is asked, what not knowing assumes, and what is computed from the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.knowledge.rules import Template

if TYPE_CHECKING:
    from whygpu.errors import Location
    from whygpu.language.tree import Expression


@dataclass(frozen=True, slots=True)
class Assumption:
    """What an unanswered question assumes, when, and why."""

    when: Expression
    value: Expression
    because: Template


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, how, and what not knowing assumes."""

    id: str
    name: str
    topic: str
    ask: str
    help: str | None
    when: Expression
    assumptions: tuple[Assumption, ...]
    sources: tuple[str, ...]
    location: Location
    decides: float | None = None
    """Of users with an answer, the share whose recommended hardware it changes; None where nobody measured it."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that decides whether it is asked, and what is assumed."""
        return (self.when, *(tree for item in self.assumptions for tree in (item.when, item.value)))


@dataclass(frozen=True, slots=True)
class Unasked:
    """An answer that nobody is asked for, and when it applies where it is given."""

    id: str
    name: str
    when: Expression
    location: Location


@dataclass(frozen=True, slots=True)
class Misnamed:
    """What people write where no answer is called so: what to write instead, and what to know about it."""

    words: tuple[str, ...]
    answers: tuple[str, ...]
    note: str | None
    location: Location

    @property
    def help(self) -> str:
        """What an error tells of it."""
        instead = " and ".join(f"'{answer}'" for answer in self.answers)
        return f"write {instead}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that a profile says, in our own words."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a phase is like."""

    phase: str
    title: str
    points: tuple[Point, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class DerivedValue:
    """A name computed from others: an expression, or for ``field`` names an aggregate over the plans left."""

    name: str
    expression: Expression
    text: str
    aggregate: str | None
    location: Location
    where: Expression | None = None
    """Of an aggregate: the condition on the plans it is over; None for all that are left."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it is computed from."""
        return (self.expression,) if self.where is None else (self.expression, self.where)


@dataclass(frozen=True, slots=True)
class Said:
    """How an answer is said in a sentence: words behind a number (or alone, where they mean a ``value``), and what
    stands before it; in which phases, of which tasks and where (as said before it) it means that, all where none is
    named.
    """

    words: tuple[str, ...]
    after: tuple[str, ...]
    answer: str
    value: str | None
    phases: tuple[str, ...]
    tasks: tuple[str, ...]
    deployments: tuple[str, ...]
    loose: bool
    """Whether words may stand between the number and those: "5 million product photos"."""
    each: bool
    """Whether it is the size of one of many: "10k samples of 2,048 tokens"."""
    location: Location


@dataclass(frozen=True, slots=True)
class Heard:
    """What words in a sentence tell of the work (all that begin so where a star ends one): its phase, outright or where
    no other is told outright, and its task; or with a ``note`` that such work is not read of a sentence.
    """

    words: tuple[str, ...]
    phase: str | None
    usually: str | None
    task: str | None
    note: str | None
    location: Location


@dataclass(frozen=True, slots=True)
class Work:
    """Usual work: what it is called, and the answers it stands for."""

    id: str
    title: str
    says: str
    phase: str
    task: str
    location: Location
