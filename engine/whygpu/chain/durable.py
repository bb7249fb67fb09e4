"""The one adapter to durable-rules: compiles strata to the subset measured to be safe, asserts facts, reports firings.

The subset, and why (docs/durable-rules.md): conjunctions of patterns that each test one fact against constants; kind
test first; no joins on values, no ``none``, no ``or``, no retraction; a boot fact in every session; a fixed pool of
sessions; facts in groups of at most 200 rules with copies of the facts of their own, so that no node of the network
reaches the sizes at which the library breaks. What compares two values is computed before by the evaluator and
asserted as a test that is true or false.
"""

from __future__ import annotations

import json
import queue
import re
import weakref
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from whygpu.chain.environment import plain
from whygpu.chain.normal import ConstantTest, Literal, alternatives, constant_test
from whygpu.errors import EngineError, EngineUnavailableError
from whygpu.language.tree import All, Call, Expression, Name, Not, children, names
from whygpu.language.values import Number, Truth, Word

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.chain.strata import Strata, Stratum
    from whygpu.knowledge import Knowledge, Rule
    from whygpu.language.values import Value

GROUP_RULES = 200  # rules a stage fact: beyond 256 on one condition the library breaks
GROUP_FACTS = 400  # kinds of facts in a group, each a test under one node: breaks at 511
SET_GROUPS = 500  # groups, each a test under the root: breaks at 511
BUCKET_TESTS = 12  # of the plan facts a few rules share: with more, hardly two plans are alike in all of them
FACT_TESTS = 60  # distinct tests of one fact true at once: fails beyond 64
RULE_PATTERNS = 14  # patterns a rule: fails beyond 16
SET_RULES = 4_000  # rules a set: fails beyond 4,096
SESSIONS = 64  # live sessions: reuse beyond 1,024 crashes

_OPERATORS = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_names = count(1)

Plain = float | bool | str
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Test:
    """A truth asserted under the property ``key``: the value of a name, or of an expression computed before."""

    key: str
    expression: Expression


@dataclass(slots=True)
class Bucket:
    """Plan rules of a group that share one fact a plan; ``tests`` are all they test of it."""

    kind: str
    tests: dict[Literal, tuple[Test, ConstantTest]] = field(default_factory=dict)
    rules: list[tuple[tuple[Literal, ...], tuple[Literal, ...]]] = field(default_factory=list)
    """(session literals, plan literals) of each conjunction."""


@dataclass(slots=True)
class Group:
    """At most 200 conjunctions of one stratum: the facts they need and the tests made of them."""

    kind: str
    session: dict[str, Test] = field(default_factory=dict)
    asked: dict[str, set[ConstantTest]] = field(default_factory=dict)
    """What is tested of each session fact, by its key."""
    buckets: list[Bucket] = field(default_factory=list)
    conjunctions: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the next conjunction belongs in another group."""
        return self.conjunctions >= GROUP_RULES or len(self.session) + len(self.buckets) >= GROUP_FACTS


class Program:
    """A knowledge base's rules as one durable-rules set."""

    def __init__(self, knowledge: Knowledge, strata: Strata, without: frozenset[str] = frozenset()) -> None:
        """Compile; ``without`` leaves rules out, to show that nothing but the engine fires them."""
        self._scope = {name: spec.scope for name, spec in knowledge.vocabulary.items()}
        self._values = knowledge.values
        self._without = without
        self._definition: dict[str, Json] = {"boot": {"all": [{"m_0": {"k": "boot"}}], "pri": 0, "dist": 0}}
        self.rule_of: dict[str, str] = {}
        self.groups: dict[int, list[Group]] = {}
        stages = [*strata.session, *strata.hard, *strata.soft]
        for priority, stratum in enumerate(stages, start=1):
            self.groups[id(stratum)] = self._stratum(stratum, priority)
        self._stages = stages  # keeps the ids above alive
        if len(self._definition) > SET_RULES:
            raise EngineError(f"{len(self._definition)} compiled rules; durable-rules takes {SET_RULES}")
        groups = sum(map(len, self.groups.values()))
        if groups > SET_GROUPS:
            raise EngineError(f"{groups} groups of rules, one or more a stratum; durable-rules takes {SET_GROUPS}")

    @property
    def definition(self) -> dict[str, Json]:
        """The rule set, as durable-rules reads it."""
        return self._definition

    def _stratum(self, stratum: Stratum, priority: int) -> list[Group]:
        groups: list[Group] = []
        for rule in stratum.rules:
            if rule.id in self._without:
                continue
            for literals in alternatives(rule.condition):
                if not groups or groups[-1].is_full:
                    groups.append(Group(f"g{len(self._definition)}"))
                self._conjunction(rule, literals, groups[-1], priority)
        return groups

    def _is_plan(self, expression: Expression) -> bool:
        return any(self._scope[name.name] != "session" for name in names(expression))

    def _conjunction(self, rule: Rule, literals: tuple[Literal, ...], group: Group, priority: int) -> None:
        group.conjunctions += 1
        session = _folded([literal for literal in literals if not self._is_plan(literal.part)], RULE_PATTERNS)
        plan = _folded([literal for literal in literals if self._is_plan(literal.part)], FACT_TESTS)
        patterns: list[Json] = [{"m_0": {"$and": [{"g": group.kind}, {"k": "stage"}]}}]
        for literal in session:
            test, constant = self._test_of(literal, group.session, group.asked)
            pattern = {"$and": [{"g": group.kind}, {"k": test.key}, _clause("v", constant)]}
            patterns.append({f"m_{len(patterns)}": pattern})
        if rule.scope != "session":
            bucket = self._bucket(group, plan)
            bucket.rules.append((session, plan))
            clauses = [_clause(bucket.tests[literal][0].key, bucket.tests[literal][1]) for literal in plan]
            patterns.append({"plans": {"$and": [{"g": group.kind}, {"k": bucket.kind}, *clauses]}})
        name = f"r{len(self._definition)}"
        self.rule_of[name] = rule.id
        self._definition[name] = {"all": patterns, "pri": priority, "dist": 0}

    def _bucket(self, group: Group, plan: tuple[Literal, ...]) -> Bucket:
        fresh = [literal for literal in plan if not group.buckets or literal not in group.buckets[-1].tests]
        if not group.buckets or (fresh and len(group.buckets[-1].tests) + len(fresh) > BUCKET_TESTS):
            group.buckets.append(Bucket(f"b{len(group.buckets)}"))
            fresh = list(plan)
        bucket = group.buckets[-1]
        for literal in fresh:
            taken = {test.key: test for test, _ in bucket.tests.values()}
            bucket.tests[literal] = self._test_of(literal, taken, {})
        return bucket

    def _test_of(
        self, literal: Literal, known: dict[str, Test], asked: dict[str, set[ConstantTest]]
    ) -> tuple[Test, ConstantTest]:
        """The property that holds what the literal tests, and the test; ``known`` and ``asked`` grow where it is new.

        A property of which as much is asked as one fact can bear is not asked more: a second one holds the same value.
        """
        constant = constant_test(literal)
        if constant is not None and self._may_be_interval(constant.name):
            constant = None
        expression: Expression = Name(constant.name) if constant is not None else literal.part
        clause = constant or ConstantTest("", "==", literal.positive)
        for test in known.values():
            tests = asked.setdefault(test.key, set())
            if test.expression == expression and (clause in tests or len(tests) < FACT_TESTS):
                break
        else:
            test = Test(f"t{len(known)}", expression)
            known[test.key] = test
        asked.setdefault(test.key, set()).add(clause)
        return test, clause

    def _may_be_interval(self, name: str) -> bool:
        """Whether a comparison of the name can be sure though its value is no point: ``min(2, unknown) < 5``."""
        derived = self._values.get(name)
        if derived is None or derived.aggregate is not None:
            return False
        return _calls(derived.expression) or any(self._may_be_interval(part.name) for part in names(derived.expression))


def _calls(expression: Expression) -> bool:
    return isinstance(expression, Call) or any(_calls(child) for child in children(expression))


def _folded(literals: list[Literal], most: int) -> tuple[Literal, ...]:
    """At most ``most`` literals: what is too many becomes one, computed before."""
    if len(literals) <= most:
        return tuple(literals)
    rest = All(tuple(item.part if item.positive else Not(item.part) for item in literals[most - 1 :]))
    return (*literals[: most - 1], Literal(rest, True))


def _clause(key: str, test: ConstantTest) -> Json:
    if test.op == "==":
        return {key: test.constant}
    return {_OPERATORS[test.op]: {key: test.constant}}


# {"r12":{"m_0":{...},"plans":{..., "p": "b0.3"}}}: in a text value the quotes would be escaped, so it is the property
_PLANS = re.compile(r'"p": ?"([^"]*)"')


def _texts(value: Value, rows: NDArray[np.int64]) -> list[str | None]:
    """A value of some plans as JSON; None where it is unknown, a lack or no point."""

    def pick(column: Any) -> list[Any]:
        return column[rows].tolist() if isinstance(column, np.ndarray) and column.ndim else [column] * len(rows)

    match value:
        case Number(low=low, high=high, present=present):
            known = (low == high) & present & np.isfinite(low)
            return [
                repr(_Number(number)) if good else None for number, good in zip(pick(low), pick(known), strict=True)
            ]
        case Word(word=word):
            return [json.dumps(str(text)) if text else None for text in pick(word)]
        case Truth(true=true, false=false):
            return ["true" if yes else "false" if no else None for yes, no in zip(pick(true), pick(false), strict=True)]


class _Number(float):
    """A float that prints the way durable-rules can read: an exponent only after a point."""

    def __repr__(self) -> str:
        text = float.__repr__(self)
        mantissa, e, exponent = text.partition("e")
        return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def dumps(value: object) -> str:
    """JSON that durable-rules parses without loss."""
    match value:
        case dict():
            return "{" + ",".join(f"{json.dumps(str(key))}:{dumps(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(dumps(item) for item in value) + "]"
        case float():
            return repr(_Number(value))
    return json.dumps(value)


class DurableEngine:
    """A compiled rule set and its pool of sessions; shared by threads, one consultation a session at a time."""

    def __init__(
        self,
        knowledge: Knowledge,
        program: Program | None = None,
        *,
        share: bool = True,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """``program``: the rules as compiled before; ``share``: plans alike in every test share a fact.

        Raises EngineUnavailableError where durable-rules is not installed.
        """
        try:
            import durable_rules_engine  # noqa: PLC0415  the evaluator must run where this cannot be built
        except ImportError as error:
            raise EngineUnavailableError(
                "durable-rules is not installed (it needs a C compiler); use --engine evaluator"
            ) from error
        self._library = durable_rules_engine
        self.program = program or Program(knowledge, knowledge.strata, without)
        self.share = share
        try:
            self._handle: int = durable_rules_engine.create_ruleset(
                f"whygpu{next(_names)}", dumps(self.program.definition)
            )
        except durable_rules_engine.error as error:
            raise EngineError(f"durable-rules refused the rule set: {error}") from error
        weakref.finalize(self, durable_rules_engine.delete_ruleset, self._handle)
        self._free: queue.SimpleQueue[str] = queue.SimpleQueue()
        for number in range(SESSIONS):
            self._free.put(f"s{number}")

    def chain(self) -> DurableChain:
        """A new consultation."""
        return DurableChain(self)

    def take(self) -> str:
        """A free session id; waits for one."""
        return self._free.get()

    def release(self, session: str) -> None:
        """Forget all facts of the session."""
        self._library.delete_state(self._handle, session)
        self._free.put(session)

    def put(self, fact: str) -> int:
        """Assert one fact, given as JSON; returns the state handle."""
        try:
            code, state = self._library.assert_fact(self._handle, fact)
        except self._library.error as error:
            raise EngineError(f"durable-rules refused a fact: {error}") from error
        if code == 2:
            raise EngineError("durable-rules took two facts for one: their ids collide")
        return int(state)

    def drain(self, state: int) -> Iterator[tuple[str, str]]:
        """Each rule that fires, and the plans that the fact it matched stands for (empty for a session rule)."""
        try:
            started = self._library.start_action_for_state(self._handle, state)
            message = started[1] if started else None
            while message:
                plans = _PLANS.search(message)
                yield message[2 : message.index('"', 2)], plans.group(1) if plans else ""
                message = self._library.complete_and_start_action(self._handle, state)
        except self._library.error as error:
            raise EngineError(f"durable-rules failed while firing: {error}") from error


class DurableChain:
    """One consultation on a DurableEngine."""

    def __init__(self, engine: DurableEngine) -> None:
        """Nothing is asserted before the ``with`` block begins."""
        self._engine = engine
        self._session = ""
        self._ids = count(1)

    def __enter__(self) -> Self:
        """Take a session; the boot rule fires in it, since a session in which nothing fired must not be deleted."""
        self._session = self._engine.take()
        for _ in self._engine.drain(self._put({"k": "boot"})):
            pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the session back."""
        self._engine.release(self._session)

    def _put(self, fact: Json) -> int:
        return self._put_text(dumps(fact)[1:-1])

    def _put_text(self, properties: str) -> int:
        """Assert a fact given as JSON properties."""
        return self._engine.put(f'{{"id":"{next(self._ids)}","sid":"{self._session}",{properties}}}')

    def fired(self, stratum: Stratum, environment: SessionEnvironment) -> set[str]:
        """The ids of the session rules that fire."""
        program = self._engine.program
        found: set[str] = set()
        for group in program.groups[id(stratum)]:
            self._session_facts(group, environment)
            state = self._put({"g": group.kind, "k": "stage"})
            found |= {program.rule_of[name] for name, _ in self._engine.drain(state)}
        return found

    def _session_facts(self, group: Group, environment: SessionEnvironment | PlanEnvironment) -> None:
        for test in group.session.values():
            value = plain(environment.evaluator.value(test.expression))
            if value is not None:
                self._put({"g": group.kind, "k": test.key, "v": value})

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, each with the plans it fires for."""
        program = self._engine.program
        found: dict[str, Mask] = {}
        for group in program.groups[id(stratum)]:
            self._session_facts(group, environment)
            sharing: dict[str, Mask] = {}
            for bucket in group.buckets:
                self._plan_facts(group, bucket, environment, alive, sharing)
            state = self._put({"g": group.kind, "k": "stage"})
            for name, plans in self._engine.drain(state):
                rule = program.rule_of[name]
                mask = sharing[plans]
                found[rule] = found[rule] | mask if rule in found else mask
        return found

    def _plan_facts(
        self, group: Group, bucket: Bucket, environment: PlanEnvironment, alive: Mask, sharing: dict[str, Mask]
    ) -> None:
        """Assert one fact for each set of plans that are alike in every test that can still matter."""
        truth = environment.evaluator.truth
        live = [
            plan
            for session, plan in bucket.rules
            if not self._engine.share or all(self._may_hold(literal, environment) for literal in session)
        ]
        if not live:
            return
        literals = list(dict.fromkeys(literal for plan in live for literal in plan))
        indices = np.flatnonzero(alive)
        if self._engine.share:
            rows = []
            for literal in literals:
                value = truth(literal.part)
                rows.append(np.broadcast_to(value.true if literal.positive else value.false, alive.shape)[indices])
            table = np.array(rows, dtype=np.bool_) if rows else np.zeros((1, len(indices)), dtype=np.bool_)
            _, first, which = np.unique(np.packbits(table, axis=0), axis=1, return_index=True, return_inverse=True)
            which = which.reshape(-1)
        else:
            first = which = np.arange(len(indices))
        chosen = indices[first]
        tests = {bucket.tests[literal][0].key: bucket.tests[literal][0] for literal in literals}
        columns = [(test.key, _texts(environment.evaluator.value(test.expression), chosen)) for test in tests.values()]
        for number in range(len(chosen)):
            plans = f"{bucket.kind}.{number}"
            known = "".join(f',"{key}":{texts[number]}' for key, texts in columns if texts[number] is not None)
            self._put_text(f'"g":"{group.kind}","k":"{bucket.kind}","p":"{plans}"{known}')
            mask = np.zeros_like(alive)
            mask[indices[which == number]] = True
            sharing[plans] = mask

    @staticmethod
    def _may_hold(literal: Literal, environment: PlanEnvironment) -> bool:
        value = environment.evaluator.truth(literal.part)
        return not bool(value.false if literal.positive else value.true)
