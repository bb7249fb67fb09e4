"""The knowledge base's own concepts, one frozen class each: what the loader makes of ``kb/`` and the engines run on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.knowledge.preferences import Preferences
from whygpu.knowledge.questions import DerivedValue, Heard, Misnamed, Profile, Question, Said, Unasked, Work
from whygpu.knowledge.rules import Rule, Table, concluded_names
from whygpu.knowledge.sources import Citation, Claim, Formula, SourceDocument, Tension
from whygpu.knowledge.strata import Strata
from whygpu.language.names import NameSpec
from whygpu.language.numbering import Numbering, Rests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.checks.calculation import Calculation, Phase
    from whygpu.knowledge.cases import Case
    from whygpu.knowledge.catalogue import Catalogue
    from whygpu.knowledge.causes import Cause, DiagnosisCase, Measure
    from whygpu.knowledge.launches import Launch
    from whygpu.language.tree import Expression


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
    misnamed: Mapping[str, Misnamed] = field(default_factory=lambda: MappingProxyType({}))
    """What people write where no answer is called so, by the word."""
    said: tuple[Said, ...] = ()
    """How answers are said in a sentence."""
    heard: tuple[Heard, ...] = ()
    """What words in a sentence tell of the work."""
    works: tuple[Work, ...] = ()
    """Usual work, to begin with."""
    launches: tuple[Launch, ...] = ()
    """How tools start a plan."""
    causes: Mapping[str, Cause] = field(default_factory=lambda: MappingProxyType({}))
    """What a diagnosis can find, by id."""
    measures: Mapping[str, Measure] = field(default_factory=lambda: MappingProxyType({}))
    """How figures are measured, by name, those that take least effort first."""
    diagnoses: tuple[DiagnosisCase, ...] = ()
    """Worked diagnoses; empty where cases were not read."""
    diagnosis: Strata = field(default_factory=lambda: Strata((), (), ()))
    """The rules that diagnose, in order; a consultation does not judge them."""

    @cached_property
    def advising(self) -> tuple[Rule, ...]:
        """The rules that a consultation judges."""
        return tuple(rule for rule in self.rules if not rule.diagnoses)

    @cached_property
    def rule_by_id(self) -> Mapping[str, Rule]:
        """Rules by id."""
        return {rule.id: rule for rule in self.rules}

    def sourced(self, calculations: Iterable[Calculation], *, trains: bool) -> Iterator[Calculation]:
        """The worked figures of training or of inference, with the sources that their formulas name."""
        return self._sourced(calculations, "training" if trains else "inference")

    def sourced_lifecycle(self, calculations: Iterable[Calculation]) -> Iterator[Calculation]:
        """The worked figures of a lifecycle, with the sources that their formulas name."""
        return self._sourced(calculations, "life")

    def sourced_sizing(self, calculations: Iterable[Calculation]) -> Iterator[Calculation]:
        """The worked figures of sizing from measurements, with the sources that their formulas name."""
        return self._sourced(calculations, "sizing")

    def claims_of(self, check: str, phase: Phase) -> tuple[str, ...]:
        """The claims among the sources of the formulas that say what a check is in a phase."""
        return tuple(source for source in self._formula_sources.get((check, phase), ()) if source in self.claims)

    def _sourced(self, calculations: Iterable[Calculation], phase: Phase) -> Iterator[Calculation]:
        for item in calculations:
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
    def overriders(self) -> Mapping[str, tuple[str, ...]]:
        """The rules, by id, that override each rule that any does."""
        found: dict[str, list[str]] = {}
        for rule in self.rules:
            for other in rule.overrides:
                found.setdefault(other, []).append(rule.id)
        return {other: tuple(rules) for other, rules in found.items()}

    @cached_property
    def numbering(self) -> Numbering:
        """What conditions, values and questions say, numbered."""
        grades = (expression for rule in self.rules for expression in rule.grades)
        asked = (item for question in self.questions for item in question.expressions)
        computed = (item for value in self.values.values() for item in value.expressions)
        conditions = (rule.condition for rule in self.rules)
        return Numbering((*conditions, *computed, *asked, *(item.when for item in self.unasked), *grades))

    @cached_property
    def rests(self) -> Rests:
        """Which names each of these rests on."""

        def derived(name: str) -> Expression | None:
            value = self.values.get(name)
            return None if value is None or value.aggregate is not None else value.expression

        return Rests(self.numbering, derived)

    @cached_property
    def of_plans(self) -> int:
        """The bits of the names of plans."""
        return self.rests.bits(name for name, spec in self.vocabulary.items() if spec.scope == "plan")

    @cached_property
    def name_by_answer(self) -> Mapping[str, NameSpec]:
        """Vocabulary names by the answer key they come from."""
        return {spec.answer: spec for spec in self.vocabulary.values() if spec.answer is not None}

    @cached_property
    def concluded(self) -> frozenset[str]:
        """Names that some rule concludes."""
        return frozenset(self.concluders)
