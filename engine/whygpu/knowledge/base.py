"""The knowledge base's own concepts, one frozen class each: what the loader makes of ``kb/`` and the engines run on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from whygpu.knowledge.preferences import Preferences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.chain.strata import Strata
    from whygpu.checks.calculation import Phase, Reckoning
    from whygpu.errors import Place
    from whygpu.knowledge.cases import Case
    from whygpu.knowledge.catalogue import Catalogue
    from whygpu.language.domains import Domain
    from whygpu.language.tree import Expression

Kind = Literal["choice", "number", "flag", "text"]
Scope = Literal["session", "plan", "field"]
Strength = Literal["mild", "normal", "strong"]
Expectation = Literal["fires", "silent", "unknown"]

STRENGTHS: tuple[Strength, ...] = ("mild", "normal", "strong")
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
"""What a preference can speak to (design, section 3)."""

CONSIDERABLE = ("format", "method", "sharding")
"""What a session rule can add to the plans enumerated; techniques are advised."""


CHOICES = ("card", "count", "format", "method")
"""What a plan chooses: advice about any of these must move plans or their ranking."""
ABOUT = (*CHOICES, "operation")
"""What advice may be about; ``operation`` is serving stack, storage, monitoring, networking and way of working."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a source document, in our own words."""

    id: str
    document: str
    kind: str
    says: str
    place: Place
    about: tuple[str, ...] = ()
    """What advice is about (see ABOUT); other kinds have none."""

    @property
    def chooses(self) -> bool:
        """Whether it is advice about what a plan chooses."""
        return not set(CHOICES).isdisjoint(self.about)


@dataclass(frozen=True, slots=True)
class Citation:
    """One source that something of the knowledge base names: a rule, a fact, a formula, a question, a table's row."""

    source: str
    kind: str
    by: str
    place: Place


@dataclass(frozen=True, slots=True)
class Tension:
    """Claims that disagree, and what settles it: rules, tables, formulas or questions, and which way and why."""

    id: str
    between: tuple[str, ...]
    about: str
    settled_by: tuple[str, ...]
    how: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Formula:
    """What some checks reckon, in words, and who says so; ``note`` tells where a source simplifies."""

    id: str
    title: str
    says: str
    checks: tuple[str, ...]
    phases: tuple[Phase, ...]
    sources: tuple[str, ...]
    note: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that claims come from."""

    id: str
    title: str
    author: str | None
    publisher: str | None
    date: str | None


_SCOPES: Mapping[str, Scope] = {"gpu": "plan", "plan": "plan", "field": "field"}


@dataclass(frozen=True, slots=True)
class NameSpec:
    """A name rules may use: ``entity.attribute``, its type, unit and meaning, and the answer it comes from."""

    name: str
    kind: Kind
    meaning: str
    place: Place
    unit: str | None = None
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    answer: str | None = None
    also: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Other words that answers may use for a value."""
    minimum: float | None = None
    maximum: float | None = None
    integer: bool = False
    otherwise: float | bool | str | None = None
    unanswered: str | None = None
    """The choice by which one may also say nothing."""
    scope: Scope = field(init=False)
    """Whether it holds for the consultation, for one plan, or for the field of plans."""

    def __post_init__(self) -> None:
        """The entity says what the name holds for."""
        object.__setattr__(self, "scope", _SCOPES.get(self.entity, "session"))

    @property
    def entity(self) -> str:
        """The part before the dot."""
        return self.name.partition(".")[0]

    @property
    def words(self) -> tuple[str, ...]:
        """The choices it can have, in order: not the one that says nothing."""
        return tuple(word for word in self.values if word != self.unanswered)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: its text, its tree and where it stands."""

    text: str
    tree: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; the order is the author's."""

    parts: tuple[ConditionTree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds."""

    parts: tuple[ConditionTree, ...]


ConditionTree = Condition | AllOf | AnyOf


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


Effect = Conclude | Consider | Exclude | Require | Verdict | Advise | Warn


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


ABSENT = "absent"
"""What a test gives for a number that the hardware is known to lack."""


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A rule's own test: given these values it fires, stays silent or cannot be decided."""

    given: Mapping[str, float | bool | str]
    expect: Expectation
    place: Place
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
    place: Place

    @property
    def rejects(self) -> bool:
        """Whether plans it fires for are out."""
        return any(isinstance(effect, Exclude | Require) for effect in self.effects)

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
    place: Place


@dataclass(frozen=True, slots=True)
class Table:
    """A decision table; its rows are rules too, ``table/row``. ``hit``: what holds where several rows match."""

    id: str
    title: str
    topic: str
    hit: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    place: Place


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
    place: Place


@dataclass(frozen=True, slots=True)
class Unasked:
    """An answer that nobody is asked for, and when it applies where it is given."""

    id: str
    name: str
    when: Expression
    place: Place


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
    place: Place


@dataclass(frozen=True, slots=True)
class DerivedValue:
    """A name computed from others: an expression, or for ``field`` names an aggregate over the plans left."""

    name: str
    expression: Expression
    text: str
    aggregate: str | None
    place: Place
    where: Expression | None = None
    """Of an aggregate: the condition on the plans it is over; None for all that are left."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it is computed from."""
        return (self.expression,) if self.where is None else (self.expression, self.where)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """All that is known, typed and checked; immutable."""

    version: str
    hash: str
    root: str
    documents: Mapping[str, SourceDocument]
    claims: Mapping[str, Claim]
    vocabulary: Mapping[str, NameSpec]
    questions: tuple[Question, ...]
    values: Mapping[str, DerivedValue]
    rules: tuple[Rule, ...]
    catalogue: Catalogue
    strata: Strata
    formulas: tuple[Formula, ...] = ()
    tensions: Mapping[str, Tension] = field(default_factory=lambda: MappingProxyType({}))
    tables: tuple[Table, ...] = ()
    cases: tuple[Case, ...] = ()
    citations: tuple[Citation, ...] = ()
    """Who names which source; empty where cases were not read either."""
    profiles: Mapping[str, Profile] = field(default_factory=lambda: MappingProxyType({}))
    """What each phase is like, by phase."""
    preferences: Preferences = field(default_factory=Preferences)
    """What verdicts, speed and priorities are worth."""
    unasked: tuple[Unasked, ...] = ()

    @cached_property
    def rule_by_id(self) -> Mapping[str, Rule]:
        """Rules by id."""
        return {rule.id: rule for rule in self.rules}

    def sourced(self, reckonings: Iterable[Reckoning], *, trains: bool) -> Iterator[Reckoning]:
        """The worked figures of training or of inference, with the sources that their formulas name."""
        return self._sourced(reckonings, "training" if trains else "inference")

    def sourced_life(self, reckonings: Iterable[Reckoning]) -> Iterator[Reckoning]:
        """The worked figures of a whole life, with the sources that their formulas name."""
        return self._sourced(reckonings, "life")

    def _sourced(self, reckonings: Iterable[Reckoning], phase: Phase) -> Iterator[Reckoning]:
        for item in reckonings:
            yield replace(item, sources=self._formula_sources.get((item.check, phase), ()))

    @cached_property
    def _formula_sources(self) -> Mapping[tuple[str, Phase], tuple[str, ...]]:
        found: dict[tuple[str, Phase], tuple[str, ...]] = {}
        for formula in self.formulas:
            for check, phase in product(formula.checks, formula.phases):
                found[check, phase] = tuple(dict.fromkeys((*found.get((check, phase), ()), *formula.sources)))
        return found

    @cached_property
    def concluders(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules that conclude each name that any does."""
        found: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for name in dict.fromkeys(concluded_names([rule])):
                found.setdefault(name, []).append(rule)
        return {name: tuple(rules) for name, rules in found.items()}

    @cached_property
    def name_by_answer(self) -> Mapping[str, NameSpec]:
        """Vocabulary names by the answer key they come from."""
        return {spec.answer: spec for spec in self.vocabulary.values() if spec.answer is not None}

    @cached_property
    def concluded(self) -> frozenset[str]:
        """Names that some rule concludes."""
        return frozenset(self.concluders)


def concluded_names(rules: Iterable[Rule]) -> Iterable[str]:
    """Every name that one of the rules concludes."""
    return (effect.name for rule in rules for effect in rule.effects if isinstance(effect, Conclude))
