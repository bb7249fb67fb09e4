"""Runs a program through the consultation's own forward chaining, without a catalogue, on several engines at once."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tests.chain.programs import Gap
from tests.chain.reference import Reference
from whygpu.chain.durable import DurableEngine
from whygpu.chain.engines import EvaluatorChain
from whygpu.chain.environment import PlanEnvironment, SessionEnvironment, known_value, one, plain
from whygpu.consult.judging import Judging
from whygpu.consult.session import fire_session_rules
from whygpu.language import values as v

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from tests.chain.programs import Cell, Program
    from whygpu.chain.engines import Chain, Mask
    from whygpu.chain.names import EngineName
    from whygpu.consult.consultation import SessionResult
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.strata import Stratum
    from whygpu.language.names import Kind

CHECKS: Mapping[str, Callable[[Cell], Cell]] = {
    "twice": lambda cell: 2.0 * cell if isinstance(cell, float) and abs(cell) < 1e300 else Gap.UNKNOWN,
    "letters": lambda cell: float(len(cell)) if isinstance(cell, str) else Gap.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a run decides, as plain data that compares."""

    fired: frozenset[str]
    fired_plans: Mapping[str, tuple[bool, ...]]
    defeated: frozenset[tuple[str, str]]
    alive: tuple[bool, ...]
    concluded: Mapping[str, tuple[float | bool | str | None, ...]]


@dataclass(slots=True)
class Tally:
    """Counts over runs, and what the engines disagreed on (a line each)."""

    programs: int = 0
    refused: int = 0
    rules: int = 0
    instances: int = 0
    fired: int = 0
    disagreements: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        for name in ("programs", "refused", "rules", "instances", "fired"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.disagreements += other.disagreements

    @property
    def share_fired(self) -> float:
        """Rule instances (a rule, or a rule and a plan) that fired, of all that were judged."""
        return self.fired / max(self.instances, 1)


class Jury:
    """A chain that asks several chains and the reference, notes where they differ, and answers as the first does."""

    engine: EngineName = "evaluator"

    def __init__(self, chains: Mapping[str, Chain], reference: Reference, tally: Tally, seed: int) -> None:
        self._chains, self._reference, self._tally, self._seed = chains, reference, tally, seed

    def __enter__(self) -> Self:
        for chain in self._chains.values():
            chain.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for chain in self._chains.values():
            chain.__exit__(kind, error, trace)

    def fired(self, stratum: Stratum, environment: SessionEnvironment) -> set[str]:
        """The session rules that fire."""
        found = {name: chain.fired(stratum, environment) for name, chain in self._chains.items()}
        found["reference"] = {rule.id for rule in stratum.rules if self._reference.fires(rule, None)}
        first = next(iter(found.values()))
        self._tally.instances += len(stratum.rules)
        self._tally.fired += len(first)
        for name, ids in found.items():
            for rule in sorted(ids ^ first):
                self._note(name, rule, f"{'fires' if rule in ids else 'is silent'}")
        return first

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, and for which plans."""
        found = {name: chain.fired_plans(stratum, environment, alive) for name, chain in self._chains.items()}
        found["reference"] = {
            rule.id: np.array(
                [bool(live) and self._reference.fires(rule, plan) is True for plan, live in enumerate(alive)]
            )
            for rule in stratum.rules
        }
        first = next(iter(found.values()))
        none = np.zeros(len(alive), dtype=np.bool_)
        self._tally.instances += len(stratum.rules) * int(alive.sum())
        self._tally.fired += sum(int(mask.sum()) for mask in first.values())
        for name, masks in found.items():
            for rule in stratum.rules:
                said, wanted = masks.get(rule.id, none), first.get(rule.id, none)
                if (said != wanted).any():
                    self._note(name, rule.id, f"fires for plans {np.flatnonzero(said)}, not {np.flatnonzero(wanted)}")
        return first

    def compare(self, outcome: Outcome, program: Program) -> None:
        """Compare the plans left, the rules that stand and what was concluded with the reference's."""
        reference = self._reference
        alive = tuple(reference.alive(plan) for plan in range(program.size))
        if alive != outcome.alive:
            self._note("reference", "(plans left)", f"{alive}, not {outcome.alive}")
        left = [plan for plan, live in enumerate(alive) if live]
        for rule in program.knowledge.rules:
            if rule.scope == "session":
                if reference.stands(rule, None) != (rule.id in outcome.fired):
                    self._note("reference", rule.id, "does not stand" if rule.id in outcome.fired else "stands")
                continue
            mask = outcome.fired_plans.get(rule.id)
            for plan in left:
                if reference.stands(rule, plan) != (mask is not None and mask[plan]):
                    self._note("reference", rule.id, f"differs on whether it stands for plan {plan}")
        for name, values in outcome.concluded.items():
            for plan in left:
                wanted = reference.value(name, plan)
                if (wanted[0] if isinstance(wanted, tuple) else wanted) != values[plan]:
                    self._note("reference", name, f"is {wanted}, not {values[plan]}, for plan {plan}")

    def _note(self, engine: str, rule: str, what: str) -> None:
        self._tally.disagreements.append(f"seed {self._seed}: {rule}: {engine}: {what}")


@lru_cache(1)
def _compiled(knowledge: Knowledge) -> DurableEngine:
    """Compiled once for the programs of one knowledge base, which come one after another."""
    return DurableEngine(knowledge)


def chains_of(program: Program) -> dict[str, Chain]:
    """Every engine on the program; durable-rules with and without sharing."""
    engine = _compiled(program.knowledge)
    unshared = copy(engine)  # the same compiled rules
    unshared.share = False
    return {
        "evaluator": EvaluatorChain(),
        "durable": engine.chain(),
        "durable, nothing shared": unshared.chain(),
    }


def judge(program: Program, tally: Tally) -> Outcome:
    """Run the program on all engines and the reference, and compare."""
    chains = chains_of(program)
    jury = Jury(chains, Reference(program, CHECKS), tally, program.seed)
    outcome = run(program, jury)
    jury.compare(outcome, program)
    tally.programs += 1
    tally.refused += program.refused
    tally.rules += len(program.knowledge.rules)
    return outcome


def run(program: Program, chain: Chain) -> Outcome:
    """Run the stages of a consultation on a chain, with the program's facts in place of answers and catalogue."""
    knowledge = program.knowledge
    session = SessionEnvironment(knowledge)
    session.provide({name: _as_check(check) for name, check in CHECKS.items()})
    for name, cell in program.session.items():
        value = value_of(cell)
        if value is not None:
            session.set(name, value)
    with chain:
        result = fire_session_rules(knowledge, session, chain)
        plans = PlanEnvironment(knowledge, session, program.size)
        for name, cells in program.columns.items():
            plans.set(name, column_of(knowledge.vocabulary[name].kind, cells))
        judging = Judging(result, plans, chain)
        judging.reject()
        judging.aggregate()
        judging.prefer()
    return _outcome(program, result, judging, plans)


def _outcome(program: Program, session: SessionResult, judging: Judging, plans: PlanEnvironment) -> Outcome:
    concluded: dict[str, tuple[float | bool | str | None, ...]] = {}
    for name in sorted(program.knowledge.concluded):
        value = plans.value(name)
        concluded[name] = tuple(plain(one(value, index)) for index in range(program.size))
    return Outcome(
        frozenset(rule.id for rule in session.fired),
        {rule: tuple(mask.tolist()) for rule, mask in sorted(judging.fired.items())},
        frozenset((rule.id, other) for rule, other in session.defeated)
        | {(rule.id, other) for rule, other, _ in judging.defeated},
        tuple(judging.alive.tolist()),
        concluded,
    )


def _as_check(check: Callable[[Cell], Cell]) -> Callable[[Sequence[v.Value]], v.Value]:
    def call(arguments: Sequence[v.Value]) -> v.Value:
        found = plain(arguments[0])
        value = value_of(check(Gap.UNKNOWN if found is None else found))
        return v.NO_NUMBER if value is None else value

    return call


def value_of(cell: Cell) -> v.Value | None:
    """A cell as an evaluated value; None where it is unknown."""
    if cell is Gap.UNKNOWN:
        return None
    return v.ABSENT if isinstance(cell, Gap) else known_value(cell)


def column_of(kind: Kind, cells: Sequence[Cell]) -> v.Value:
    """Cells as a column, the way the catalogue's columns are made; one value where all are the same and known."""
    if len(set(cells)) == 1 and not isinstance(cells[0], Gap):
        return known_value(cells[0])
    if kind == "number":
        numbers = np.array([cell if isinstance(cell, float) else np.nan for cell in cells])
        present = np.array([cell is not Gap.LACK for cell in cells])
        return v.column(numbers, True if present.all() else present)
    if kind == "flag":
        return v.Truth(np.array([cell is True for cell in cells]), np.array([cell is False for cell in cells]))
    return v.Word(np.array([cell if isinstance(cell, str) else "" for cell in cells]))
