"""Rules and decision tables: conditions, effects, and the tests that stand beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from whygpu.language import tree as t
from whygpu.language.names import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whygpu.errors import Location
    from whygpu.language.domains import Domain
    from whygpu.language.tree import Expression


Strength = Literal["mild", "normal", "strong"]


Expectation = Literal["fires", "silent", "unknown"]


STRENGTHS: tuple[Strength, ...] = get_args(Strength)
"""From the weakest to the strongest."""


SIGN_WEIGHT = "sign-weight"
"""The coefficient that says what a sign of each strength counts."""


CRITERIA = (
    "memory",
    "latency",
    "throughput",
    "cost",
    "quality",
    "efficiency",
    "interconnect",
    "reliability",
    "ecosystem",
    "right-size",
)
"""What a preference can speak to."""


CONSIDERABLE = ("format", "kv_format", "method", "sharding")
"""What a session rule can add to the plans enumerated; techniques are advised."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: its text, its tree and where it stands."""

    text: str
    tree: Expression
    location: Location = field(compare=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; the order is the author's."""

    parts: tuple[ConditionTree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds."""

    parts: tuple[ConditionTree, ...]


ConditionTree = Condition | AllOf | AnyOf


def expression_of(part: ConditionTree) -> Expression:
    """A condition tree as one expression."""
    match part:
        case Condition(tree=tree):
            return tree
        case AllOf(parts=parts):
            return t.All(tuple(expression_of(inner) for inner in parts))
        case AnyOf(parts=parts):
            return t.Any(tuple(expression_of(inner) for inner in parts))


@dataclass(frozen=True, slots=True)
class Template:
    """Markdown text with ``{name}`` placeholders, split into literal and name parts."""

    text: str
    parts: tuple[tuple[str, str | None], ...]
    """(literal before, name or None at the end)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names it uses."""
        return tuple(name for _, name in self.parts if name is not None)


@dataclass(frozen=True, slots=True)
class Conclude:
    """The name takes the value."""

    name: str
    value: float | bool | str


@dataclass(frozen=True, slots=True)
class Consider:
    """Add an option to what is enumerated."""

    what: str
    option: str


@dataclass(frozen=True, slots=True)
class Exclude:
    """The plan is out."""


@dataclass(frozen=True, slots=True)
class Require:
    """The plan is out unless the condition holds."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Grade:
    """What a verdict grows with: nothing at ``start``, all of its strength from ``full`` on (by ratio, either way)."""

    text: str
    expression: Expression
    start: float
    full: float

    @property
    def words(self) -> str:
        """It in one line: ``over plan.count from 1 to 4``."""
        return f"over {self.text} from {_shown(self.start)} to {_shown(self.full)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A soft verdict on a plan: for (prefer) or against (avoid), by one criterion; graded where it grows."""

    favourable: bool
    criterion: str
    strength: Strength
    grade: Grade | None = None


@dataclass(frozen=True, slots=True)
class Advise:
    """A piece of advice; per plan it is one of the plan's techniques."""

    id: str
    text: Template | None


@dataclass(frozen=True, slots=True)
class Warn:
    """A warning."""

    id: str
    text: Template | None


@dataclass(frozen=True, slots=True)
class Sign:
    """What was measured speaks for a cause (diagnose) or against it (doubt)."""

    favourable: bool
    cause: str
    strength: Strength


Effect = Conclude | Consider | Exclude | Require | Verdict | Advise | Warn | Sign


def _shown(value: float | bool | str) -> str:
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def in_words(effect: Effect) -> str:
    """An effect in one line, as a test names it: ``prefer right-size normal``, ``advise quantize``."""
    match effect:
        case Conclude(name=name, value=value):
            return f"conclude {name} {_shown(value)}"
        case Consider(what=what, option=option):
            return f"consider {what} {option}"
        case Exclude():
            return "exclude"
        case Require(condition=condition):
            return f"require {' '.join(condition.text.split())}"
        case Verdict(favourable=favourable, criterion=criterion, strength=strength, grade=grade):
            words = f"{'prefer' if favourable else 'avoid'} {criterion} {strength}"
            return words if grade is None else f"{words} {grade.words}"
        case Advise(id=identifier):
            return f"advise {identifier}"
        case Warn(id=identifier):
            return f"warn {identifier}"
        case Sign(favourable=favourable, cause=cause, strength=strength):
            return f"{'diagnose' if favourable else 'doubt'} {cause} {strength}"


ABSENT = "absent"
"""What a test gives for a number that the hardware is known to lack."""


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A rule's own test: given these values it fires, stays silent or cannot be decided."""

    given: Mapping[str, float | bool | str]
    expect: Expectation
    location: Location
    effects: tuple[str, ...] = ()
    """What comes of it, in words (``in_words``): every verdict, and any other effect; empty where none is named."""


@dataclass(frozen=True, slots=True)
class Rule:
    """If ``when`` and not ``unless``, then the effects, because."""

    id: str
    title: str
    topic: str
    when: AllOf
    unless: AnyOf
    effects: tuple[Effect, ...]
    because: Template
    sources: tuple[str, ...]
    overrides: tuple[str, ...]
    tests: tuple[RuleTest, ...]
    scope: Scope
    condition: Expression
    """What makes it fire, as one tree: ``when and not unless``, and for ``require`` that the requirement fails."""
    location: Location
    helps: tuple[Condition, ...] = ()
    """Answers, each ``name == value``, that may let a plan pass which it rejects."""

    @property
    def rejects(self) -> bool:
        """Whether plans it fires for are out."""
        return any(isinstance(effect, Exclude | Require) for effect in self.effects)

    @property
    def only_says(self) -> bool:
        """Whether it advises or warns, and decides nothing about plans."""
        return all(isinstance(effect, Advise | Warn) for effect in self.effects)

    @property
    def diagnoses(self) -> bool:
        """Whether it is about what was measured: it gives signs of causes, or concludes what was at work."""
        return any(
            isinstance(effect, Sign) or (isinstance(effect, Conclude) and effect.name.startswith("measured."))
            for effect in self.effects
        )

    @property
    def grades(self) -> tuple[Expression, ...]:
        """What its graded verdicts grow with."""
        verdicts = (effect for effect in self.effects if isinstance(effect, Verdict))
        return tuple(verdict.grade.expression for verdict in verdicts if verdict.grade is not None)

    @property
    def is_hard(self) -> bool:
        """Whether it must be decided before the field of plans is known."""
        return any(isinstance(effect, Exclude | Require | Conclude) for effect in self.effects)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table: the values each column allows, and what comes of them (nothing, where it has no rule)."""

    id: str
    rule: str
    domains: tuple[Domain, ...]
    effects: tuple[Effect, ...]
    location: Location


@dataclass(frozen=True, slots=True)
class Table:
    """A decision table; its rows are rules too, ``table/row``. ``hit``: what holds where several rows match."""

    id: str
    title: str
    topic: str
    hit: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    location: Location


def concluded_names(rules: Iterable[Rule]) -> Iterable[str]:
    """Every name that one of the rules concludes."""
    return (effect.name for rule in rules for effect in rule.effects if isinstance(effect, Conclude))
