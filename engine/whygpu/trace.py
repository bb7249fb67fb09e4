"""The record of a consultation: facts and steps, one immutable bipartite graph that every explanation is read off.

A step uses facts and gives facts. A check is a step with its formula and terms, so arithmetic is inside the
explanation.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Origin = Literal["answer", "assumed", "catalogue", "check", "concluded", "measured"]
StepKind = Literal["rule", "check", "plan", "exclude", "prefer", "override", "conflict", "rank"]
StepStatus = Literal["fired", "silent", "blocked", "defeated", "open"]
Plain = float | bool | str | None


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of one name, of the consultation or of one plan, and where it came from."""

    id: str
    name: str
    value: Plain
    unit: str | None
    origin: Origin
    where: str
    """The question, ``file:line`` or check it came from."""
    plan: str | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A condition of a rule as it was judged: its text, the result, and both sides' values where it compares two."""

    text: str
    result: Literal["true", "false", "unknown"]
    left: Plain = None
    right: Plain = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Term:
    """A number put into a formula."""

    name: str
    value: float
    unit: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was decided or computed."""

    id: str
    kind: StepKind
    status: StepStatus
    title: str
    text: str
    rule: str | None = None
    """The id of a rule; ``claims`` are ids of claims."""
    plan: str | None = None
    conditions: tuple[Outcome, ...] = ()
    uses: tuple[str, ...] = ()
    """Ids of facts; ``gives`` likewise."""
    gives: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    place: str | None = None
    """File and line."""
    formula: str | None = None
    terms: tuple[Term, ...] = ()
    by: str | None = None
    """The rule that defeats it, where it is defeated."""


@dataclass(frozen=True)
class Trace:
    """Facts and steps in the order they came about, and the hash of the knowledge base they came from."""

    knowledge_hash: str
    facts: tuple[Fact, ...]
    steps: tuple[Step, ...]

    @cached_property
    def fact_by_id(self) -> Mapping[str, Fact]:
        """Facts by id."""
        return {fact.id: fact for fact in self.facts}

    @cached_property
    def givers(self) -> Mapping[str, tuple[Step, ...]]:
        """The steps that gave each fact, by its id."""
        found: dict[str, tuple[Step, ...]] = {}
        for step in self.steps:
            for fact in step.gives:
                found[fact] = (*found.get(fact, ()), step)
        return found

    def of_plan(self, plan: str) -> Iterator[Step]:
        """The steps about one plan, in order."""
        return (step for step in self.steps if step.plan == plan)

    def how(self, fact: str) -> tuple[Step, ...]:
        """Every step that led to a fact, the last first; facts and steps are visited once."""
        found: dict[str, Step] = {}
        todo = [fact]
        while todo:
            for step in self.givers.get(todo.pop(), ()):
                if step.id not in found:
                    found[step.id] = step
                    todo.extend(step.uses)
        return tuple(found.values())


def content_id(prefix: str, *parts: object) -> str:
    """An id that depends on nothing but the content."""
    text = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return f"{prefix}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
