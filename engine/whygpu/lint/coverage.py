"""Coverage of the sources: who cites each claim, which rule moves plans for it, and the cases that show both sides.

A rule moves plans where a case comes to another outcome without it (see lint.outcome). Each case is run once; a rule is
taken out only where it fired, and no further case is tried once plans or their ranking change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from whygpu.api import KnowledgeBase
from whygpu.chain.engines import EvaluatorChain
from whygpu.consult.driver import consult
from whygpu.errors import AnswerError, Problem
from whygpu.knowledge.strata import Strata, Stratum
from whygpu.lifecycle.advice import LifecycleAdvice
from whygpu.lint.cases import asked_on
from whygpu.lint.outcome import Outcome
from whygpu.lint.parallel import at_once, batched
from whygpu.lint.use import WHO_CITES, only_words
from whygpu.plans.existing import plans_with_owned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whygpu.answers import Answers
    from whygpu.consult.consultation import Consultation
    from whygpu.explain.advice import Advice
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.cases import Case
    from whygpu.knowledge.rules import Rule
    from whygpu.knowledge.sources import Citation, Claim, Tension
    from whygpu.lint.outcome import Moved
    from whygpu.plans.enumerate import Planner
    from whygpu.plans.plan_set import Options, PlanSet, Targets
    from whygpu.plans.work import Work

_TOGETHER = 12
"""Claims that a process takes at a time: those beside one another are often cited by the same rules."""
_TRIED = 40
"""Cases in which a rule is taken out at most before it is taken for one that moves nothing."""
_RANKING = "ranking"
"""The kind of citation that what preferences are worth is; it holds for every case."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A rule (or a whole table) without which a case comes to another outcome, and what then differs."""

    rule: str
    case: str
    what: Moved


@dataclass(frozen=True, slots=True)
class ClaimCover:
    """Who cites a claim, what moves plans for it, and the cases on both sides of it."""

    claim: Claim
    cited_by: tuple[Citation, ...]
    movers: tuple[Mover, ...]
    applies: tuple[str, ...]
    spared: tuple[str, ...]

    def faults(self) -> Iterator[Problem]:
        """What is missing."""
        claim = self.claim
        if not self.cited_by:
            yield self._fault("uncited-claim", "nothing cites it", WHO_CITES[claim.kind])
        elif claim.chooses and not self.movers:
            rules = ", ".join(item.by for item in self.cited_by if item.kind in ("rule", "table")) or "none"
            message = f"it is about {', '.join(claim.about)}, and no rule that cites it moves plans (rules: {rules})"
            yield self._fault("unmoved-claim", message, "add a rule that does, or a case that shows it")
        if claim.kind == "advice":
            if not self.applies:
                yield self._fault("one-sided-claim", "no case shows where it applies", "name it in a case's 'source'")
            if not self.spared:
                yield self._fault(
                    "one-sided-claim", "no case shows where it does not apply", "name it in a case's 'spares'"
                )

    def _fault(self, code: str, message: str, help_text: str) -> Problem:
        return Problem(code, f"'{self.claim.id}': {message}: {self.claim.says}", self.claim.location, help_text)


@dataclass(frozen=True, slots=True)
class TensionCover:
    """What settles a tension, and the cases that show it; ``shown``: as a conflict with both sources."""

    tension: Tension
    cases: tuple[str, ...]
    shown: bool

    def faults(self) -> Iterator[Problem]:
        """What is missing."""
        tension = self.tension
        if not tension.settled_by and not self.shown:
            message = f"'{tension.id}' is neither settled nor shown: {tension.about}"
            help_text = "add 'settled_by' and 'how', or a case that names it and expects the conflict"
            yield Problem("open-tension", message, tension.location, help_text)
        elif not self.cases:
            message = f"no case shows how '{tension.id}' is settled: {tension.about}"
            yield Problem("open-tension", message, tension.location, "name it in a case's 'tension'")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every claim and tension with what covers it."""

    claims: tuple[ClaimCover, ...]
    tensions: tuple[TensionCover, ...]
    doubts: tuple[Problem, ...]
    """Cases that may stand on the wrong side of a claim."""

    @property
    def uncited(self) -> tuple[str, ...]:
        """The claims that nothing cites."""
        return tuple(item.claim.id for item in self.claims if not item.cited_by)

    def faults(self) -> tuple[Problem, ...]:
        """All that is missing, and the doubts."""
        found = [problem for item in self.claims for problem in item.faults()]
        return (*found, *(problem for item in self.tensions for problem in item.faults()), *self.doubts)


def cover(kb: KnowledgeBase) -> Coverage:
    """The coverage of a knowledge base loaded with its cases."""
    knowledge = kb.knowledge
    cited: dict[str, list[Citation]] = {}
    for citation in knowledge.citations:
        cited.setdefault(citation.source, []).append(citation)
    runs = [run for case in knowledge.cases for run in _runs(kb, case)]
    movers = _Movers(knowledge, runs)
    choosing = batched([claim for claim in knowledge.claims.values() if claim.chooses], _TOGETHER)
    with at_once([partial(movers.of_each, some) for some in choosing]) as done:
        moved = {claim: found for part in done() for claim, found in part.items()}
    claims = (
        ClaimCover(
            claim,
            tuple(dict.fromkeys(cited.get(claim.id, ()))),
            moved.get(claim.id, ()),
            tuple(case.id for case in knowledge.cases if claim.id in case.sources),
            tuple(case.id for case in knowledge.cases if claim.id in case.spares),
        )
        for claim in knowledge.claims.values()
    )
    doubts = dict.fromkeys(_doubts(knowledge, runs))  # of a lifecycle once, though it has two runs
    return Coverage(tuple(claims), tuple(_tensions(knowledge, runs)), tuple(doubts))


def _tensions(knowledge: Knowledge, runs: Iterable[_Run]) -> Iterator[TensionCover]:
    """A tension is shown where claims on both sides of a conflict are of it."""
    for tension in knowledge.tensions.values():
        cases = [run for run in runs if tension.id in run.case.tensions]
        sides = (side for run in cases for side in run.conflicts)
        shown = any(not any(claims.isdisjoint(tension.between) for claims in pair) for pair in sides)
        yield TensionCover(tension, tuple(dict.fromkeys(run.case.id for run in cases)), shown)


@dataclass(frozen=True, slots=True)
class _Run:
    """A case as it comes out with every rule in place; ``fired`` are the rules that fired, ``standing`` those left."""

    case: Case
    answers: Answers
    outcome: Outcome
    fired: frozenset[str]
    standing: frozenset[str]
    conflicts: tuple[tuple[frozenset[str], frozenset[str]], ...]
    """The claims for and those against in each conflict reported, of cases that show a tension."""


def _runs(kb: KnowledgeBase, case: Case) -> Iterator[_Run]:
    """The case's run, of a lifecycle one for each phase; none where it does not run, as the case's own check reports.

    What fires in one phase of a life, or about its cost, is shown by the case, so it counts for both runs.
    """
    try:
        advice = kb.advise(case.answers, engine="evaluator", today=asked_on(case))
    except AnswerError:
        return
    phases = advice.phases if isinstance(advice, LifecycleAdvice) else (advice,)
    held = [item.consultation for item in phases]
    sessions = [item.session for item in held]
    if isinstance(advice, LifecycleAdvice):
        sessions.append(advice.said)
    standing = frozenset(
        (*(rule.id for item in sessions for rule in item.fired), *(rule for item in held for rule in item.plans.fired))
    )
    fired = standing | {rule.id for item in sessions for rule, _ in item.defeated}
    fired |= {rule.id for item in held for rule, _, _ in item.plans.defeated}
    for phase in phases:
        conflicts = tuple(_conflicts(kb, case, phase))
        outcome = Outcome.of(phase.consultation)
        yield _Run(case, phase.consultation.answers, outcome, fired, standing, conflicts)


def _conflicts(kb: KnowledgeBase, case: Case, advice: Advice) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    def claims(rules: Iterable[str]) -> frozenset[str]:
        return frozenset(claim for rule in rules for claim in kb.knowledge.rule_by_id[rule].sources)

    for item in advice.conflicts if case.tensions else ():
        yield claims(item.favour), claims(item.against)


def _doubts(knowledge: Knowledge, runs: Iterable[_Run]) -> Iterator[Problem]:
    """Cases on one side of an advice whose rules are all on the other."""
    citing: dict[str, set[str]] = {}
    for rule in knowledge.rules:
        for source in rule.sources:
            citing.setdefault(source, set()).add(rule.id)
    everywhere = {item.source for item in knowledge.citations if item.kind == _RANKING}
    for run in runs:
        for claim in (*run.case.sources, *run.case.spares):
            rules = citing.get(claim, set())
            if (
                not rules
                or claim in everywhere
                or claim not in knowledge.claims
                or knowledge.claims[claim].kind != "advice"
            ):
                continue
            spares, names = claim in run.case.spares, ", ".join(sorted(rules))
            if not spares and run.standing.isdisjoint(rules):
                message = f"case '{run.case.id}' shows '{claim}', and no rule that cites it fires: {names}"
                yield Problem("silent-claim", message, run.case.location, "does it apply here?", severity="warning")
            elif spares and run.standing >= rules:
                message = f"case '{run.case.id}' spares '{claim}', and every rule that cites it fires: {names}"
                yield Problem("unspared-claim", message, run.case.location, "does it apply here?", severity="warning")


class _Movers:
    """Finds the rules that move plans. A rule is taken out of a case once, whichever claims it cites."""

    def __init__(self, knowledge: Knowledge, runs: Sequence[_Run]) -> None:
        self._knowledge, self._runs = knowledge, runs
        self._thinned: dict[str, KnowledgeBase] = {}
        self._found: dict[tuple[str, str, str], Moved | None] = {}
        self._planner = _keeping()
        self._words = only_words(knowledge)

    def of_each(self, claims: Iterable[Claim]) -> dict[str, tuple[Mover, ...]]:
        """Those of each claim, by its id."""
        return {claim.id: self.of(claim) for claim in claims}

    def of(self, claim: Claim) -> tuple[Mover, ...]:
        """The rules that cite the claim and move plans; a whole table, where none of its rows does alone."""
        rules = [rule for rule in self._knowledge.rules if claim.id in rule.sources]
        found = tuple(mover for rule in rules if (mover := self._mover(claim, rule.id, [rule])) is not None)
        if found:
            return found
        parts = [item.by for item in self._knowledge.citations if item.source == claim.id and item.kind == _RANKING]
        priced = (self._priced(claim, part) for part in dict.fromkeys(parts))
        if found := tuple(mover for mover in priced if mover is not None):
            return found
        tables: dict[str, list[Rule]] = {}
        for rule in rules:
            table, _, row = rule.id.partition("/")
            if row:
                tables.setdefault(table, []).append(rule)
        return tuple(mover for table, rows in tables.items() if (mover := self._mover(claim, table, rows)) is not None)

    def _priced(self, claim: Claim, part: str) -> Mover | None:
        """The first case that comes to another outcome without a part of the ranking, of those that name the claim."""
        name = f"{_RANKING}/{part}"
        if name not in self._thinned:
            preferences = self._knowledge.preferences.without(part)
            self._thinned[name] = KnowledgeBase(replace(self._knowledge, preferences=preferences))
        for run in sorted(self._runs, key=lambda run: claim.id not in run.case.sources):
            what = run.outcome.moved(Outcome.of(self._without(name, run)))
            if what is not None and what != "verdicts":
                return Mover(name, run.case.id, what)
        return None

    def _mover(self, claim: Claim, name: str, rules: Sequence[Rule]) -> Mover | None:
        """The first case whose plans or ranking change, of those that name the claim first, then one of the rule's.

        Where there is none, the first whose verdicts change.
        """
        if all(rule.id in self._words for rule in rules):
            return None
        others = {source for rule in rules for source in rule.sources}
        weak: Mover | None = None

        def distance(run: _Run) -> tuple[bool, bool]:
            return claim.id not in run.case.sources, others.isdisjoint(run.case.sources)

        ids = {rule.id for rule in rules}
        fired = (run for run in sorted(self._runs, key=distance) if not ids.isdisjoint(run.fired))
        for run in islice(fired, _TRIED):
            what = self._moved(name, ids, run)
            if what is not None and what != "verdicts":
                return Mover(name, run.case.id, what)
            if what is not None:
                weak = weak or Mover(name, run.case.id, what)
        return weak

    def _without(self, name: str, run: _Run) -> Consultation:
        """The case without a rule or a part of the ranking, as it is thinned under this name."""
        kb = self._thinned[name]
        return consult(kb.knowledge, run.answers, EvaluatorChain(), asked_on(run.case), self._planner)

    def _moved(self, name: str, ids: set[str], run: _Run) -> Moved | None:
        """What changes without the rules in a case in which one of them fires."""
        key = name, run.case.id, run.answers.life
        if key not in self._found:
            if name not in self._thinned:
                self._thinned[name] = KnowledgeBase(_without(self._knowledge, ids))
            self._found[key] = run.outcome.moved(Outcome.of(self._without(name, run)))
        return self._found[key]


def _keeping() -> Planner:
    """Finds the plans of each work once, half a megabyte of them: to take a rule out changes few."""

    @cache
    def found(work: Work, allowed: bytes, options: Options, targets: Targets) -> PlanSet:
        return plans_with_owned(work, np.frombuffer(allowed, dtype=np.bool_), options, targets)

    return lambda work, allowed, options, targets: found(work, allowed.tobytes(), options, targets)


def _without(knowledge: Knowledge, ids: set[str]) -> Knowledge:
    """The knowledge base without some rules; names that only they conclude are what they are otherwise."""

    def kept(rules: Iterable[Rule]) -> tuple[Rule, ...]:
        return tuple(rule for rule in rules if rule.id not in ids)

    def thinned(strata: tuple[Stratum, ...]) -> tuple[Stratum, ...]:
        return tuple(Stratum(kept(stratum.rules), stratum.settles) for stratum in strata)

    strata = knowledge.strata
    return replace(
        knowledge,
        rules=kept(knowledge.rules),
        strata=Strata(thinned(strata.session), thinned(strata.hard), thinned(strata.soft), strata.aggregates),
    )
