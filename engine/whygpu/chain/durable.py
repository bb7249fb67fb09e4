"""The one adapter to durable-rules: compiles strata to the subset measured to be safe, asserts facts, reports firings.

The subset, and why (docs/explanation/durable-rules.md): a rule is one pattern, of a stage fact that carries what is
the same for the whole consultation, or two, the other of a fact that stands for plans; a pattern tests its fact
against constants, the kind first; no joins on values, no ``none``, no ``or``, no retraction; a boot fact in every
session; a fixed pool of sessions; facts in groups, so that no node of the network reaches the sizes at which the
library breaks. What compares two values is computed before by the evaluator and asserted as a test that is true or
false.
"""

from __future__ import annotations

import json
import queue
import re
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whygpu.chain.environment import plain
from whygpu.chain.normal import MAX_ALTERNATIVES, ConstantTest, Literal, alternatives, constant_test
from whygpu.errors import EngineError, EngineUnavailableError
from whygpu.language.tree import All, Call, Expression, Name, Not, children, names
from whygpu.language.values import Number, Truth, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from numpy.typing import NDArray

    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.chain.names import EngineName
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.knowledge.strata import Strata, Stratum
    from whygpu.language.values import Value

GROUP_RULES = 200  # rules a stage fact: beyond 256 on one condition the library breaks
GROUP_FACTS = 400  # kinds of facts in a group, each a test under one node: breaks at 511
SET_GROUPS = 500  # groups, each a test under the root: breaks at 511
BUCKET_TESTS = 12  # of the plan facts a few rules share: with more, hardly two plans are alike in all of them
PATTERN_TESTS = 60  # tests a pattern: plans alike in all of them have a bit each of one number
FACT_PROPERTIES = 150  # values a fact, before the last pattern's: with those and five names it stays below 254
STACK = 60  # tests that hold and wait while another one's are followed: fails beyond 64
SET_RULES = 4_000  # rules a set: fails beyond 4,096
SESSIONS = 4  # live sessions, each of which keeps memory: the library lets one thread work at a time anyway
RETIRED = 500  # sessions that never began, and are not used again: reuse beyond 1,024 live ones crashes

_OPERATORS = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_names = count(1)

Json = dict[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What a fact is asked: a value, of a name or computed before, against a constant. A program has one of each."""

    value: Expression
    constant: ConstantTest
    literal: Literal


@dataclass(slots=True)
class Shared:
    """Tests in the order in which patterns make them, one below the other; patterns that begin alike share tests."""

    below: dict[Test, Shared] = field(default_factory=dict)
    waiting: int = 1
    """The most tests on the library's stack while it follows this one, if all that are below hold."""

    def add(self, tests: Sequence[Test]) -> None:
        """Add one pattern; ``waiting`` grows by one at most."""
        if tests:
            self.below.setdefault(tests[0], Shared()).add(tests[1:])
            self.waiting = len(self.below) - 1 + max(below.waiting for below in self.below.values())


@dataclass(slots=True)
class Kind:
    """One kind of fact, and the patterns that are made of it."""

    name: str
    keys: dict[Expression, str] = field(default_factory=dict)
    """The properties it has: each value's key."""
    shared: Shared = field(default_factory=Shared)

    @property
    def is_full(self) -> bool:
        """Whether the next pattern may be more than the library bears."""
        return self.shared.waiting >= STACK or len(self.keys) >= FACT_PROPERTIES

    def pattern(self, group: str, tests: Sequence[Test]) -> Json:
        """One more pattern of this kind."""
        self.shared.add(tests)
        clauses = [_clause(self.keys.setdefault(test.value, f"t{len(self.keys)}"), test.constant) for test in tests]
        return {"$and": [{"g": group}, {"k": self.name}, *clauses]}


@dataclass(slots=True, eq=False)
class Bucket:
    """Plan rules of a group that share the facts of one kind, each of plans that are alike in all their tests."""

    kind: Kind
    tests: set[Test] = field(default_factory=set)
    conjunctions: list[tuple[list[Test], list[Test]]] = field(default_factory=list)
    """What each tests of the consultation and of the plan."""


@dataclass(slots=True)
class Group:
    """Rules of one stratum that a stage fact sets off."""

    name: str
    stage: Kind = field(default_factory=lambda: Kind("stage"))
    buckets: list[Bucket] = field(default_factory=list)
    conjunctions: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the next conjunction belongs in another group."""
        return self.stage.is_full or self.conjunctions >= GROUP_RULES or len(self.buckets) >= GROUP_FACTS


class Program:
    """A knowledge base's rules as one durable-rules set."""

    def __init__(self, knowledge: Knowledge, strata: Strata, without: frozenset[str] = frozenset()) -> None:
        """Compile; ``without`` leaves rules out, to show that nothing but the engine fires them."""
        self._scope = {name: spec.scope for name, spec in knowledge.vocabulary.items()}
        self._values = knowledge.values
        self._definition: dict[str, Json] = {"boot": {"all": [{"m_0": {"k": "boot"}}], "pri": 0, "dist": 0}}
        self.rule_of: dict[str, str] = {}
        self.groups: dict[int, list[Group]] = {}
        self._tests: dict[tuple[Expression, ConstantTest], Test] = {}
        stages = [*strata.session, *strata.hard, *strata.soft]
        rules = [rule for stratum in stages for rule in stratum.rules if rule.id not in without]
        self._conjunctions = self._expanded(rules)
        for priority, stratum in enumerate(stages, start=1):
            self.groups[id(stratum)] = self._stratum(stratum, priority)
        self._stages = stages  # keeps the ids above alive
        if len(self._definition) > SET_RULES:
            raise EngineError(f"{len(self._definition)} compiled rules; durable-rules takes {SET_RULES}")
        groups = sum(map(len, self.groups.values()))
        if groups > SET_GROUPS:
            raise EngineError(f"{groups} groups of rules, one or more a stratum; durable-rules takes {SET_GROUPS}")
        for group in (group for found in self.groups.values() for group in found):
            for kind in (group.stage, *(bucket.kind for bucket in group.buckets)):
                kind.shared = Shared()  # it was for knowing what is full

    @property
    def definition(self) -> dict[str, Json]:
        """The rule set."""
        found: dict[str, Json] = self._definition or json.loads(self.text)
        return found

    @cached_property
    def text(self) -> str:
        """The rule set, as durable-rules reads it."""
        return dumps(self._definition)

    def __getstate__(self) -> tuple[str, dict[str, str], list[Stratum], list[list[Group]]]:
        """What a consultation reads of it, to be kept beside the knowledge that it is of: the strata are the same."""
        return self.text, self.rule_of, self._stages, [self.groups[id(stratum)] for stratum in self._stages]

    def __setstate__(self, state: tuple[str, dict[str, str], list[Stratum], list[list[Group]]]) -> None:
        """As it was kept."""
        self.text, self.rule_of, self._stages, groups = state
        self._definition = {}
        self.groups = {id(stratum): found for stratum, found in zip(self._stages, groups, strict=True)}

    @staticmethod
    def _expanded(rules: list[Rule]) -> dict[str, tuple[tuple[Literal, ...], ...]]:
        """Each rule's conjunctions; where all rules have too many, those with most are computed before as a whole."""
        found: dict[str, tuple[tuple[Literal, ...], ...]] = {}
        for most in (MAX_ALTERNATIVES, MAX_ALTERNATIVES // 6, 1):
            found = {rule.id: alternatives(rule.condition, most) for rule in rules}
            if sum(map(len, found.values())) < SET_RULES:
                break
        return found

    def _stratum(self, stratum: Stratum, priority: int) -> list[Group]:
        groups: list[Group] = []
        for rule in stratum.rules:
            for literals in self._conjunctions.get(rule.id, ()):
                if not groups or groups[-1].is_full:
                    groups.append(Group(f"g{len(self._definition)}"))
                self._conjunction(rule, literals, groups[-1], priority)
        return groups

    def _is_plan(self, expression: Expression) -> bool:
        return any(self._scope[name.name] == "plan" for name in names(expression))

    def _conjunction(self, rule: Rule, literals: tuple[Literal, ...], group: Group, priority: int) -> None:
        group.conjunctions += 1
        folded = _folded([item for item in literals if not self._is_plan(item.part)])
        session = [self._test(literal) for literal in folded]
        patterns: list[Json] = [{"stage": group.stage.pattern(group.name, session)}]
        if rule.scope != "session":
            plan = [self._test(literal) for literal in _folded([item for item in literals if self._is_plan(item.part)])]
            bucket = self._bucket(group, plan)
            bucket.conjunctions.append((session, plan))
            patterns.append({"plans": bucket.kind.pattern(group.name, plan)})
        name = f"r{len(self._definition)}"
        self.rule_of[name] = rule.id
        self._definition[name] = {"all": patterns, "pri": priority, "dist": 0}

    @staticmethod
    def _bucket(group: Group, tests: list[Test]) -> Bucket:
        """The bucket for a rule that makes these tests of plans: the last one where it has room."""
        last = group.buckets[-1] if group.buckets else None
        if last is None or last.kind.is_full or len(last.tests.union(tests)) > max(BUCKET_TESTS, len(last.tests)):
            last = Bucket(Kind(f"b{len(group.buckets)}"))
            group.buckets.append(last)
        last.tests.update(tests)
        return last

    def _test(self, literal: Literal) -> Test:
        constant = constant_test(literal)
        value: Expression = Name(constant.name) if constant is not None else literal.part
        if constant is None or self._may_be_interval(constant.name):
            value, constant = literal.part, ConstantTest("", "==", literal.positive)
        return self._tests.setdefault((value, constant), Test(value, constant, literal))

    def _may_be_interval(self, name: str) -> bool:
        """Whether a comparison of the name can be sure though its value is no point: ``min(2, unknown) < 5``."""
        derived = self._values.get(name)
        if derived is None or derived.aggregate is not None:
            return False
        return _calls(derived.expression) or any(self._may_be_interval(part.name) for part in names(derived.expression))


def _calls(expression: Expression) -> bool:
    return isinstance(expression, Call) or any(_calls(child) for child in children(expression))


def _folded(literals: list[Literal]) -> tuple[Literal, ...]:
    """As many literals as a pattern may test: what is too many becomes one, computed before."""
    if len(literals) <= PATTERN_TESTS:
        return tuple(literals)
    rest = All(tuple(item.part if item.positive else Not(item.part) for item in literals[PATTERN_TESTS - 1 :]))
    return (*literals[: PATTERN_TESTS - 1], Literal(rest, True))


def _clause(key: str, test: ConstantTest) -> Json:
    if test.op == "==":
        return {key: test.constant}
    return {_OPERATORS[test.op]: {key: test.constant}}


# {"r12":{"stage":{...},"plans":{...,"p":"b0.3",...}}}: in a text value quotes would be escaped, so it is the property
_PLANS = re.compile(r'"p":"([^"]*)"')


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


def _library() -> Any:
    try:
        import durable_rules_engine  # noqa: PLC0415  the evaluator must run where this cannot be built
    except ImportError as error:
        raise EngineUnavailableError(
            f"durable-rules cannot be loaded ({error}); use --engine evaluator, which means the same, or see "
            "'Run without a compiler' in the documentation"
        ) from error
    return durable_rules_engine


def default_engine() -> EngineName:
    """durable-rules where it is installed and can be loaded, or else the evaluator, which means the same."""
    try:
        _library()
    except EngineUnavailableError:
        return "evaluator"
    return "durable"


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
        self._library = _library()
        self.program = program or Program(knowledge, knowledge.strata, without)
        self.share = share
        try:
            self._handle: int = self._library.create_ruleset(f"whygpu{next(_names)}", self.program.text)
        except self._library.error as error:
            raise EngineError(f"durable-rules refused the rule set: {error}") from error
        weakref.finalize(self, self._library.delete_ruleset, self._handle)
        self._free: queue.LifoQueue[str] = queue.LifoQueue()  # the one used last again: others need not grow
        for number in reversed(range(SESSIONS)):
            self._free.put(f"s{number}")
        self._fresh = count(SESSIONS)

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

    def retire(self) -> None:
        """Put a fresh session in the place of one in which nothing fired: to delete that frees what it must not.

        Raises EngineError where as many are lost as may be.
        """
        number = next(self._fresh)
        if number >= SESSIONS + RETIRED:
            self._free.put(f"s{number}")  # whoever waits is told the same
            raise EngineError(f"{RETIRED} sessions could not begin: start again, or use --engine evaluator")
        self._free.put(f"s{number}")

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

    engine: EngineName = "durable"

    def __init__(self, engine: DurableEngine) -> None:
        """Nothing is asserted before the ``with`` block begins."""
        self._engine = engine
        self._session = ""
        self._ids = count(1)

    def __enter__(self) -> Self:
        """Take a session; the boot rule fires in it, since a session in which nothing fired must not be deleted."""
        self._session = self._engine.take()
        try:
            self._boot()
        except BaseException:
            self._engine.retire()
            raise
        return self

    def _boot(self) -> None:
        if not list(self._engine.drain(self._put('"k":"boot"'))):
            raise EngineError("durable-rules did not begin a session")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the session back."""
        self._engine.release(self._session)

    def _put(self, properties: str) -> int:
        """Assert a fact given as JSON properties."""
        return self._engine.put(f'{{"id":"{next(self._ids)}","sid":"{self._session}",{properties}}}')

    def _stage(self, group: Group, environment: SessionEnvironment | PlanEnvironment) -> int:
        """Assert the stage fact, with what is the same for all plans."""
        fact: Json = {"g": group.name, "k": group.stage.name}
        for expression, key in group.stage.keys.items():
            value = plain(environment.evaluator.value(expression))
            if value is not None:
                fact[key] = value
        return self._put(dumps(fact)[1:-1])

    def fired(self, stratum: Stratum, environment: SessionEnvironment) -> set[str]:
        """The ids of the session rules that fire."""
        program = self._engine.program
        found: set[str] = set()
        for group in program.groups[id(stratum)]:
            state = self._stage(group, environment)
            found |= {program.rule_of[name] for name, _ in self._engine.drain(state)}
        return found

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, each with the plans it fires for."""
        program = self._engine.program
        found: dict[str, Mask] = {}
        plans = _Plans(environment, np.flatnonzero(alive), share=self._engine.share)
        if not plans.rows.size:
            return found
        for group in program.groups[id(stratum)]:
            alike: dict[str, NDArray[np.int64]] = {}
            for bucket in group.buckets:
                for name, rows, properties in plans.facts(bucket):
                    alike[name] = rows
                    self._put(f'"g":"{group.name}","k":"{bucket.kind.name}","p":"{name}"{properties}')
            if not alike:
                continue
            for name, fact in self._engine.drain(self._stage(group, environment)):
                mask = found.setdefault(program.rule_of[name], np.zeros_like(alive))
                mask[alike[fact]] = True
        return found


Fact: TypeAlias = "tuple[str, NDArray[np.int64], str]"
"""A fact that stands for plans: its name, the plans, its properties."""


@dataclass(slots=True, eq=False)
class _Kept:
    """What is known of the plans that are left, as long as they and their prices are the same."""

    held: dict[Test, tuple[NDArray[np.bool_], bool]] = field(default_factory=dict)
    facts: dict[tuple[object, ...], Sequence[Fact]] = field(default_factory=dict)
    """By the bucket and the tests that can matter."""


class _Plans:
    """The plans that are left, as facts."""

    def __init__(self, environment: PlanEnvironment, rows: NDArray[np.int64], *, share: bool) -> None:
        self._environment, self.rows, self._share = environment, rows, share
        self._held: dict[Test, tuple[NDArray[np.bool_], bool]] = {}
        self._kept = environment.beside(rows, _Kept)

    def facts(self, bucket: Bucket) -> Sequence[Fact]:
        """One fact for each set of plans alike in all tests that can matter."""
        live = [plan for session, plan in bucket.conjunctions if not self._share or self._can_fire(session, plan)]
        if not live:
            return ()
        tests = list(dict.fromkeys(test for plan in live for test in plan))
        if not self._share or not all(self._environment.evaluator.lasts(test.literal.part) for test in tests):
            return list(self._facts(bucket, tests))
        key = (bucket, *tests)
        known = self._kept.facts.get(key)
        if known is None:
            known = self._kept.facts[key] = list(self._facts(bucket, tests))
        return known

    def _facts(self, bucket: Bucket, tests: list[Test]) -> Iterator[Fact]:
        sets = self._alike(tests) if self._share else np.split(self.rows, len(self.rows))
        first = np.array([rows[0] for rows in sets], dtype=np.int64)
        value = self._environment.evaluator.value
        columns = [
            (bucket.kind.keys[expression], _texts(value(expression), first))
            for expression in dict.fromkeys(test.value for test in tests)
        ]
        for number, rows in enumerate(sets):
            known = "".join(f',"{key}":{texts[number]}' for key, texts in columns if texts[number] is not None)
            yield f"{bucket.kind.name}.{number}", rows, known

    def _can_fire(self, session: list[Test], plan: list[Test]) -> bool:
        """Whether each test of the rule holds for some plan that is left."""
        known = self._held  # asked of every rule in every stratum: no generator, no call for what is known
        for tests in (session, plan):
            for test in tests:
                if not (known.get(test) or self._holds(test))[1]:
                    return False
        return True

    def _holds(self, test: Test) -> tuple[NDArray[np.bool_], bool]:
        """Which of the plans the test holds for, and whether there are any."""
        found = self._held.get(test) or self._kept.held.get(test)
        if found is None:
            part = test.literal.part
            value = self._environment.evaluator.truth(part)
            holds = value.true if test.literal.positive else value.false
            if isinstance(holds, np.ndarray):
                held = holds[self.rows]
                found = held, bool(held.any())
            else:
                found = np.full(len(self.rows), holds), bool(holds)
            if self._environment.evaluator.lasts(part):
                self._kept.held[test] = found
        self._held[test] = found
        return found

    def _alike(self, tests: list[Test]) -> list[NDArray[np.int64]]:
        """The plans in sets for which the same tests hold."""
        codes = np.zeros(len(self.rows), dtype=np.int64)
        for bit, test in enumerate(tests):
            codes |= self._holds(test)[0].astype(np.int64) << bit
        order = np.argsort(codes, kind="stable")
        bounds = [0, *(np.flatnonzero(np.diff(codes[order])) + 1).tolist(), len(order)]
        rows = self.rows[order]
        return [rows[start:end] for start, end in pairwise(bounds)]
