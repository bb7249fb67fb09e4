"""What a program may ask of a knowledge base: plain data in, plain data out, as the command line's JSON.

Nothing here reads a file that a caller names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.errors import AnswerError, Location, Problem
from whygpu.explain.json_form import plan_dict
from whygpu.intake.resolve import files_named
from whygpu.lifecycle.advice import LifecycleAdvice
from whygpu.listing import SECTIONS, Section, column_of, find, listing, ordered, sources_of, where, whole
from whygpu.render.catalogue import listing_data, whole_data
from whygpu.render.output import sections_dict
from whygpu.render.view import questions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whygpu.api import KnowledgeBase
    from whygpu.chain.names import EngineName
    from whygpu.explain.advice import Advice

Data = dict[str, Any]
MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """A knowledge base that is asked, and what fires its rules. Every method raises AnswerError."""

    knowledge: KnowledgeBase
    engine: EngineName = "evaluator"

    def advise(self, answers: Mapping[str, Any], *, every: bool = False, trace: bool = False) -> Data:
        """The advice on answers: the recommendation, the shortlist, reasons and warnings; more where asked for."""
        _refuse_files(answers)
        found: Data = self.knowledge.advise(answers, engine=self.engine).to_dict(every=every, trace=trace)
        return found

    def estimate(self, answers: Mapping[str, Any]) -> Data:
        """The plan on the one accelerator and the count that the answers name."""
        _refuse_files(answers)
        return {**plan_dict(self.knowledge.estimate(answers, engine=self.engine))}

    def why_not(self, answers: Mapping[str, Any], plan: str) -> Data:
        """Why a plan or a card is not the recommendation."""
        advice = self._of_one_phase(answers)
        return {**sections_dict(questions.why_not_sections(advice, plan, advice.why_not(plan)), advice.engine)}

    def what_if(self, answers: Mapping[str, Any], changes: Mapping[str, Any]) -> Data:
        """What changes with other answers (null takes one away), and the advice on them."""
        _refuse_files(changes)
        advice = self._of_one_phase(answers)
        after = advice.what_if(**changes)
        sections = [questions.what_if_section(advice, after.advice, changes)]
        shown = after.advice.to_dict(every=False, trace=False)
        return {**sections_dict(sections, advice.engine), "changed": after.changed, "advice": shown}

    def catalogue(
        self,
        section: str,
        words: str = "",
        condition: str | None = None,
        sort: str | None = None,
        *,
        descending: bool = False,
        limit: int = 100,
    ) -> Data:
        """Entries of a catalogue: searched, filtered by a condition as in rules, ordered by a column."""
        knowledge, chosen = self.knowledge.knowledge, _section(section)
        found = find(knowledge, listing(knowledge, chosen), words.split())
        if condition:
            found = where(knowledge, found, condition)
        if sort:
            found = ordered(found, column_of(found, sort), descending=descending)
        found = found.of(found.rows[: max(min(limit, MOST_ROWS), 0)])
        sources = sources_of(knowledge, (source for row in found.rows for source in row.sources))
        return listing_data(found, found.columns, sources)

    def entry(self, section: str, identifier: str) -> Data:
        """One entry of a catalogue whole, by its id, every value with its source."""
        knowledge, chosen = self.knowledge.knowledge, _section(section)
        if not any(row.id == identifier for row in listing(knowledge, chosen).rows):
            problem = Problem("unknown-entry", f"there is no '{identifier[:80]}' among the {chosen}", Location(chosen))
            raise AnswerError([problem])
        return whole_data(whole(knowledge, chosen, identifier))

    def _of_one_phase(self, answers: Mapping[str, Any]) -> Advice:
        _refuse_files(answers)
        advice = self.knowledge.advise(answers, engine=self.engine)
        if isinstance(advice, LifecycleAdvice):
            message = "this is asked about one phase, and the answers are about a lifecycle"
            hint = "give the answers of one phase"
            raise AnswerError([Problem("one-phase", message, Location("answers.phases"), hint)])
        found: Advice = advice
        return found


def _section(name: str) -> Section:
    for section in SECTIONS:
        if section == name:
            return section
    message = f"there is no catalogue '{name[:40]}'"
    raise AnswerError([Problem("unknown-entry", message, Location("catalogue"), f"known: {', '.join(SECTIONS)}")])


def _refuse_files(answers: Mapping[str, Any]) -> None:
    """Raise AnswerError where answers name a file of the machine that answers."""
    named = files_named(answers)
    if named:
        message = f"a file is not read for others: {', '.join(sorted(named))}"
        hint = "give the configuration itself ({config: {...}}), a preset or sizes"
        raise AnswerError([Problem("no-files", message, Location("answers.model"), hint)])
