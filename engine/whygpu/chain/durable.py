"""The one adapter to durable-rules: compiles strata to the subset measured to be safe, asserts facts, reports firings.

The subset, and why (docs/explanation/durable-rules.md): a rule is one pattern, of a stage fact that carries what is
the same for all plans, or of a fact that stands for plans; a pattern tests its fact against constants, the kind first;
no joins, no ``none``, no ``or``, no retraction; a boot fact in every session; a fixed pool of sessions; facts in
groups, so that no node of the network reaches the sizes at which the library breaks. What compares two values is
computed before by the evaluator and asserted as a test that is true or false.
"""

from __future__ import annotations

import json
import queue
import weakref
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whygpu.chain.environment import one, plain
from whygpu.chain.normal import MAX_ALTERNATIVES, ConstantTest, Literal, alternatives, constant_test
from whygpu.errors import EngineError, EngineUnavailableError
from whygpu.language.tree import All, Call, Expression, Name, Not, children, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from whygpu.chain.engines import Mask
    from whygpu.chain.environment import PlanEnvironment, SessionEnvironment
    from whygpu.chain.names import EngineName
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.knowledge.strata import Strata, Stratum
    from whygpu.language.values import Value

KIND_RULES = 200  # rules a kind of fact: breaks beyond 256 on one condition
GROUP_KINDS = 24  # kinds of facts that stand for plans, a group: each fact is compared with all groups and all in its
SET_GROUPS = 500  # groups, each a test under the root: breaks at 511
PATTERN_TESTS = 60  # tests a pattern, each a property of its fact
FACT_PROPERTIES = 150  # values a fact, before the last pattern's: with those and four names it stays below 254
STACK = 60  # tests that hold and wait while another one's are followed: fails beyond 64
SET_RULES = 4_000  # rules a set: fails beyond 4,096
SESSIONS = 4  # live sessions, each of which keeps memory: the library lets one thread work at a time anyway
SESSION_FACTS = 500  # facts, of 7 kB each, after which a session is emptied: to begin one takes as long as 80 facts
RETIRED = 500  # sessions that never began, and are not used again: reuse beyond 1,024 live ones crashes

_OPERATORS = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_names = count(1)

Json = dict[str, object]
Tests: TypeAlias = "tuple[Test, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What a fact is asked: a value, of a name or computed before, against a constant. A program has one of each."""

    value: Expression
    key: str
    """The property that has the value in every fact."""
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

    group: str
    name: str
    values: dict[str, Expression] = field(default_factory=dict)
    """The properties it has: each key's value."""
    shared: Shared = field(default_factory=Shared)
    rules: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the next pattern may be more than the library bears."""
        return self.rules >= KIND_RULES or self.shared.waiting >= STACK or len(self.values) >= FACT_PROPERTIES

    @property
    def names(self) -> str:
        """What every fact of the kind begins with, as JSON."""
        return f'"g":"{self.group}","k":"{self.name}"'

    def pattern(self, tests: Sequence[Test]) -> Json:
        """One more pattern of this kind."""
        self.rules += 1
        self.shared.add(tests)
        self.values.update((test.key, test.value) for test in tests)
        return {"$and": [{"g": self.group}, {"k": self.name}, *(_clause(test.key, test.constant) for test in tests)]}


@dataclass(slots=True, eq=False)
class PlanFact:
    """What a rule tests of a plan beside the consultation: plans for which all of it holds share a fact of the kind."""

    kind: Kind
    tests: Tests


@dataclass(slots=True)
class Compiled:
    """The facts that the rules of a stratum are patterns of."""

    stages: list[Kind] = field(default_factory=list)
    """Of the rules once per consultation."""
    plan_facts: dict[Tests, list[PlanFact]] = field(default_factory=dict)
    """Of the rules per plan, by what these test of the consultation."""

    def kinds(self) -> Iterator[Kind]:
        """Every kind of fact."""
        yield from self.stages
        yield from (fact.kind for facts in self.plan_facts.values() for fact in facts)


class Program:
    """A knowledge base's rules as one durable-rules set."""

    def __init__(self, knowledge: Knowledge, strata: Strata, without: frozenset[str] = frozenset()) -> None:
        """Compile; ``without`` leaves rules out, to show that nothing but the engine fires them."""
        self._scope = {name: spec.scope for name, spec in knowledge.vocabulary.items()}
        self._values = knowledge.values
        self._definition: dict[str, Json] = {"boot": {"all": [{"m_0": {"k": "boot"}}], "pri": 0, "dist": 0}}
        self.rule_of: dict[str, str] = {}
        self.compiled: dict[int, Compiled] = {}
        self._tests: dict[tuple[Expression, ConstantTest], Test] = {}
        self._keys: dict[Expression, str] = {}
        self._kinds = count()
        stages = [*strata.session, *strata.hard, *strata.soft]
        rules = [rule for stratum in stages for rule in stratum.rules if rule.id not in without]
        self._conjunctions = self._expanded(rules)
        for priority, stratum in enumerate(stages, start=1):
            self.compiled[id(stratum)] = self._stratum(stratum, priority)
        self._stages = stages  # keeps the ids above alive
        if len(self._definition) > SET_RULES:
            raise EngineError(f"{len(self._definition)} compiled rules; durable-rules takes {SET_RULES}")
        kinds = [kind for compiled in self.compiled.values() for kind in compiled.kinds()]
        groups = len({kind.group for kind in kinds})
        if groups > SET_GROUPS:
            raise EngineError(f"{groups} groups of rules, one or more a stratum; durable-rules takes {SET_GROUPS}")
        for kind in kinds:
            kind.shared = Shared()  # it was for knowing what is full

    @property
    def definition(self) -> dict[str, Json]:
        """The rule set."""
        found: dict[str, Json] = self._definition or json.loads(self.text)
        return found

    def expressions(self) -> Iterator[Expression]:
        """What is asked of facts: rules in other words, and names by themselves."""
        tests: dict[Test, None] = {}
        for compiled in self.compiled.values():
            for stage in compiled.stages:
                yield from stage.values.values()
            for session, plan_facts in compiled.plan_facts.items():
                tests.update(dict.fromkeys((*session, *(test for fact in plan_facts for test in fact.tests))))
        for test in tests:
            yield from (test.value, test.literal.part)

    @cached_property
    def text(self) -> str:
        """The rule set, as durable-rules reads it."""
        return dumps(self._definition)

    def __getstate__(self) -> tuple[str, dict[str, str], list[Stratum], list[Compiled]]:
        """What a consultation reads of it, to be kept beside the knowledge that it is of: the strata are the same."""
        return self.text, self.rule_of, self._stages, [self.compiled[id(stratum)] for stratum in self._stages]

    def __setstate__(self, state: tuple[str, dict[str, str], list[Stratum], list[Compiled]]) -> None:
        """As it was kept."""
        self.text, self.rule_of, self._stages, compiled = state
        self._definition = {}
        self.compiled = {id(stratum): found for stratum, found in zip(self._stages, compiled, strict=True)}

    @staticmethod
    def _expanded(rules: list[Rule]) -> dict[str, tuple[tuple[Literal, ...], ...]]:
        """Each rule's conjunctions; where all rules have too many, those with most are computed before as a whole."""
        found: dict[str, tuple[tuple[Literal, ...], ...]] = {}
        for most in (MAX_ALTERNATIVES, MAX_ALTERNATIVES // 6, 1):
            found = {rule.id: alternatives(rule.condition, most) for rule in rules}
            if sum(map(len, found.values())) < SET_RULES:
                break
        return found

    def _stratum(self, stratum: Stratum, priority: int) -> Compiled:
        found = Compiled()
        facts: dict[Tests, PlanFact] = {}
        for rule in stratum.rules:
            for literals in self._conjunctions.get(rule.id, ()):
                tests = self._tests_of(literals)
                kind = self._stage(found) if rule.scope == "session" else self._plan_kind(tests, facts, found)
                name = f"r{len(self._definition)}"
                self.rule_of[name] = rule.id
                self._definition[name] = {"all": [{"m": kind.pattern(tests)}], "pri": priority, "dist": 0}
        return found

    def _stage(self, found: Compiled) -> Kind:
        if not found.stages or found.stages[-1].is_full:
            found.stages.append(Kind(f"s{len(self._definition)}", "stage"))
        return found.stages[-1]

    def _plan_kind(self, tests: Tests, facts: dict[Tests, PlanFact], found: Compiled) -> Kind:
        fact = facts.get(tests)
        if fact is None or fact.kind.is_full:
            number = next(self._kinds)
            session = tuple(test for test in tests if not self._is_plan(test.literal.part))
            plan = tuple(test for test in tests if test not in session)
            fact = facts[tests] = PlanFact(Kind(f"p{number // GROUP_KINDS}", f"p{number}"), plan)
            found.plan_facts.setdefault(session, []).append(fact)
        return fact.kind

    def _is_plan(self, expression: Expression) -> bool:
        return any(self._scope[name.name] == "plan" for name in names(expression))

    def _tests_of(self, literals: tuple[Literal, ...]) -> Tests:
        return tuple(dict.fromkeys(self._test(literal) for literal in _folded(literals)))

    def _test(self, literal: Literal) -> Test:
        constant = constant_test(literal)
        value: Expression = Name(constant.name) if constant is not None else literal.part
        if constant is None or self._may_be_interval(constant.name):
            value, constant = literal.part, ConstantTest("", "==", literal.positive)
        key = self._keys.setdefault(value, f"t{len(self._keys)}")
        return self._tests.setdefault((value, constant), Test(value, key, constant, literal))

    def _may_be_interval(self, name: str) -> bool:
        """Whether a comparison of the name can be sure though its value is no point: ``min(2, unknown) < 5``."""
        derived = self._values.get(name)
        if derived is None or derived.aggregate is not None:
            return False
        return _calls(derived.expression) or any(self._may_be_interval(part.name) for part in names(derived.expression))


def _calls(expression: Expression) -> bool:
    return isinstance(expression, Call) or any(_calls(child) for child in children(expression))


def _folded(literals: tuple[Literal, ...]) -> tuple[Literal, ...]:
    """As many literals as a pattern may test: what is too many becomes one, computed before."""
    if len(literals) <= PATTERN_TESTS:
        return literals
    rest = All(tuple(item.part if item.positive else Not(item.part) for item in literals[PATTERN_TESTS - 1 :]))
    return (*literals[: PATTERN_TESTS - 1], Literal(rest, True))


def _clause(key: str, test: ConstantTest) -> Json:
    if test.op == "==":
        return {key: test.constant}
    return {_OPERATORS[test.op]: {key: test.constant}}


def _number(value: float) -> str:
    """A number the way durable-rules can read it: an exponent only after a point."""
    text = float.__repr__(value)
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"


def dumps(value: object) -> str:
    """JSON that durable-rules parses without loss."""
    match value:
        case float():
            return _number(value)
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case dict():
            return "{" + ",".join(f"{dumps(str(key))}:{dumps(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(dumps, value)) + "]"
    return json.dumps(value)


@lru_cache(maxsize=4096)
def _quoted(word: str) -> str:
    return json.dumps(word)


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


@dataclass(slots=True, eq=False)
class Session:
    """A session of the library. What was asserted in it for consultations before changes nothing: it has set off all
    that it can, and no rule looks at two facts. So a session need not begin anew each time, which takes as long as
    a consultation's facts do.
    """

    name: str
    facts: int = 0
    """How many were asserted since it began."""
    state: int = 0
    """The library's handle."""


def _discard(library: Any, handle: int, free: queue.LifoQueue[Session]) -> None:
    """Delete a rule set, and its sessions before: the library would leave them in memory."""
    while not free.empty():
        session = free.get_nowait()
        if session.facts:
            library.delete_state(handle, session.name)
    library.delete_ruleset(handle)


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
        """``program``: the rules as compiled before; ``share``: plans that pass the same tests share a fact.

        Raises EngineUnavailableError where durable-rules is not installed.
        """
        self._library = _library()
        self.program = program or Program(knowledge, knowledge.strata, without)
        knowledge.numbering.add(self.program.expressions())
        self.share = share
        try:
            self._handle: int = self._library.create_ruleset(f"whygpu{next(_names)}", self.program.text)
        except self._library.error as error:
            raise EngineError(f"durable-rules refused the rule set: {error}") from error
        self._free: queue.LifoQueue[Session] = queue.LifoQueue()  # the one used last again: others need not grow
        for number in reversed(range(SESSIONS)):
            self._free.put(Session(f"s{number}"))
        self._fresh = count(SESSIONS)
        weakref.finalize(self, _discard, self._library, self._handle, self._free)

    def chain(self) -> DurableChain:
        """A new consultation."""
        return DurableChain(self)

    def take(self) -> Session:
        """A free session; waits for one."""
        return self._free.get()

    def release(self, session: Session, *, whole: bool) -> None:
        """Give a session back; it is emptied where it is full, or not the ``whole`` of what was asserted has fired."""
        if session.facts >= SESSION_FACTS or not whole:
            self._library.delete_state(self._handle, session.name)
            session.facts = 0
        self._free.put(session)

    def retire(self) -> None:
        """Put a fresh session in the place of one in which nothing fired: to delete that frees what it must not.

        Raises EngineError where as many are lost as may be.
        """
        number = next(self._fresh)
        self._free.put(Session(f"s{number}"))  # at the end, too: whoever waits is told the same
        if number >= SESSIONS + RETIRED:
            raise EngineError(f"{RETIRED} sessions could not begin: start again, or use --engine evaluator")

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
        """Each rule that fires, and the id of the fact that it matched."""
        try:
            started = self._library.start_action_for_state(self._handle, state)
            message = started[1] if started else None
            while message:
                parts = message.split('"', 8)  # {"r12":{"m":{"id":"34",
                yield parts[1], parts[7]
                message = self._library.complete_and_start_action(self._handle, state)
        except self._library.error as error:
            raise EngineError(f"durable-rules failed while firing: {error}") from error


class DurableChain:
    """One consultation on a DurableEngine."""

    engine: EngineName = "durable"

    def __init__(self, engine: DurableEngine) -> None:
        """Nothing is asserted before the ``with`` block begins."""
        self._engine = engine
        self._session = Session("")

    def __enter__(self) -> Self:
        """Take a session; the boot rule fires where it begins, since one in which nothing fired must not be deleted."""
        self._session = self._engine.take()
        if not self._session.facts:
            try:
                self._boot()
            except BaseException:
                self._engine.retire()
                raise
        return self

    def _boot(self) -> None:
        self._put('"k":"boot"')
        if not self._drain():
            raise EngineError("durable-rules did not begin a session")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the session back."""
        self._engine.release(self._session, whole=error is None)

    def _put(self, properties: str) -> str:
        """Assert a fact given as JSON properties; returns its id."""
        session = self._session
        session.facts += 1
        identifier = str(session.facts)
        session.state = self._engine.put(f'{{"id":"{identifier}","sid":"{session.name}",{properties}}}')
        return identifier

    def _drain(self) -> list[tuple[str, str]]:
        return list(self._engine.drain(self._session.state))

    def fired(self, stratum: Stratum, environment: SessionEnvironment) -> set[str]:
        """The ids of the session rules that fire."""
        program = self._engine.program
        for stage in program.compiled[id(stratum)].stages:
            self._put(stage.names + _properties(stage.values, environment.evaluator.value))
        return {program.rule_of[name] for name, _ in self._drain()}

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, each with the plans it fires for."""
        program, found = self._engine.program, dict[str, "Mask"]()
        if not alive.any():
            return found
        plans = _Plans(environment, alive, share=self._engine.share)
        stands_for: dict[str, Mask] = {}
        for session, plan_facts in program.compiled[id(stratum)].plan_facts.items():
            if not plans.may_hold(session):
                continue
            known = _properties(_values(session), environment.evaluator.value)
            for plan_fact in plan_facts:
                for mask, text in plans.facts(plan_fact):
                    stands_for[self._put(text + known)] = mask
        for name, fact in self._drain() if stands_for else ():
            rule, mask = program.rule_of[name], stands_for[fact]
            found[rule] = found[rule] | mask if rule in found else mask
        return found


Fact: TypeAlias = "tuple[Mask, str]"
"""A fact that stands for plans: which, and what it has of them, as JSON."""


def _values(tests: Tests) -> dict[str, Expression]:
    return {test.key: test.value for test in tests}


def _properties(values: Mapping[str, Expression], value: Callable[[Expression], Value]) -> str:
    """What a fact has beside its names, as JSON: of each key the value, where it is known and a point."""
    texts = []
    for key, expression in values.items():
        known = plain(value(expression))
        if known is not None:
            texts.append(f',"{key}":{dumps(known)}')
    return "".join(texts)


class _Plans:
    """The plans that are left, as facts."""

    def __init__(self, environment: PlanEnvironment, alive: Mask, *, share: bool) -> None:
        self._evaluator, self._alive, self._share = environment.evaluator, alive, share
        self._kept: dict[PlanFact, tuple[Fact, ...]] = environment.beside(alive, dict)
        """Facts whose tests come to the same as long as the plans that are left and their prices are the same."""
        self._held: dict[Test, Mask | bool] = {}

    def may_hold(self, tests: Tests) -> bool:
        """Whether none of what is tested of the consultation fails: no rule is asked about otherwise."""
        if not self._share:
            return True
        for test in tests:
            holds = self._holds(test)
            if holds is False or (holds is not True and not holds.any()):
                return False
        return True

    def facts(self, plan_fact: PlanFact) -> Iterable[Fact]:
        """One fact for all plans for which every test holds, and none for the others: no pattern is of those. A fact
        for each plan, where they are not to share any.
        """
        if not self._share:
            return self._each(plan_fact)
        known = self._kept.get(plan_fact)
        if known is None:
            known = self._together(plan_fact)
            if all(self._evaluator.lasts(test.literal.part) for test in plan_fact.tests):
                self._kept[plan_fact] = known
        return known

    def _together(self, plan_fact: PlanFact) -> tuple[Fact, ...]:
        mask = self._alive
        for test in plan_fact.tests:
            holds = self._holds(test)
            if holds is False:
                return ()
            if holds is not True:
                mask = mask & holds
        return (self._fact(plan_fact, mask),) if mask.any() else ()

    def _each(self, plan_fact: PlanFact) -> Iterator[Fact]:
        for row in np.flatnonzero(self._alive).tolist():
            mask = np.zeros_like(self._alive)
            mask[row] = True
            yield self._fact(plan_fact, mask)

    def _fact(self, plan_fact: PlanFact, mask: Mask) -> Fact:
        row = int(mask.argmax())  # any of them: they pass the same tests
        known = _properties(_values(plan_fact.tests), lambda node: one(self._evaluator.value(node), row))
        return mask, plan_fact.kind.names + known

    def _holds(self, test: Test) -> Mask | bool:
        """For which of all plans a test holds."""
        found = self._held.get(test)
        if found is None:
            truth = self._evaluator.truth(test.literal.part)
            found = self._held[test] = truth.true if test.literal.positive else truth.false
        return found
