"""The one adapter to durable-rules: compiles strata to the subset measured to be safe, asserts facts, reports firings.

The subset, and why (docs/explanation/durable-rules.md): a rule is one pattern, of the fact of its group, which it tests
against constants, the group first; no joins, no ``none``, no ``or``, no retraction; a boot fact in every session; a
fixed pool of sessions; groups small enough that no node of the network reaches the sizes at which the library breaks.
What compares two values is computed before by the evaluator and asserted as a test that is true or false.
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

GROUP_RULES = 200  # rules a group: breaks beyond 256 on one condition
SET_GROUPS = 500  # groups, each a test under the root: breaks at 511
PATTERN_TESTS = 60  # tests a pattern, each a property of its fact
FACT_PROPERTIES = 100  # values a fact, before the last pattern's: with those and three names it stays below 254
STACK = 60  # tests that hold and wait while another one's are followed: fails beyond 64
SET_RULES = 4_000  # rules a set: fails beyond 4,096
SESSIONS = 4  # live sessions, each of which keeps memory: the library lets one thread work at a time anyway
SESSION_FACTS = 300  # facts, of 7 kB each, after which a session is emptied: to begin one takes as long as a hundred
RETIRED = 500  # sessions that never began, and are not used again: reuse beyond 1,024 live ones crashes

_OPERATORS = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_names = count(1)

Json = dict[str, object]
Tests: TypeAlias = "tuple[Test, ...]"
Clause: TypeAlias = tuple[str, ConstantTest]


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """What a fact is asked: a value, of a name or computed before, against a constant. A program has one of each."""

    value: Expression
    key: str
    """The property that has the value in facts, where it is one of the consultation."""
    constant: ConstantTest
    literal: Literal


@dataclass(slots=True)
class Shared:
    """Tests in the order in which patterns make them, one below the other; patterns that begin alike share tests."""

    below: dict[Clause, Shared] = field(default_factory=dict)
    waiting: int = 1
    """The most tests on the library's stack while it follows this one, if all that are below hold."""

    def add(self, clauses: Sequence[Clause]) -> None:
        """Add one pattern; ``waiting`` grows by one at most."""
        if clauses:
            self.below.setdefault(clauses[0], Shared()).add(clauses[1:])
            self.waiting = len(self.below) - 1 + max(below.waiting for below in self.below.values())


@dataclass(frozen=True, slots=True, eq=False)
class PlanPart:
    """What a rule tests of plans, by the properties that this has in the fact of the group: no other rule's are among
    them, so that each rule can be told of plans that pass all of its tests.
    """

    tests: dict[str, Test]


@dataclass(slots=True)
class Group:
    """Rules of one stratum that one fact is made for."""

    name: str
    values: dict[str, Expression] = field(default_factory=dict)
    """What the fact has of the consultation: each property's value."""
    parts: dict[Tests, dict[Tests, PlanPart]] = field(default_factory=dict)
    """What rules test of plans, by what they test of the consultation beside it."""
    shared: Shared = field(default_factory=Shared)
    rules: int = 0
    properties: int = 0
    """Those of plans."""

    @property
    def is_full(self) -> bool:
        """Whether the next pattern may be more than the library bears."""
        properties = len(self.values) + self.properties
        return self.rules >= GROUP_RULES or self.shared.waiting >= STACK or properties >= FACT_PROPERTIES

    def part(self, session: Tests, plan: Tests) -> PlanPart:
        """The part for these tests of plans; rules that test alike have one."""
        parts = self.parts.setdefault(session, {})
        if plan not in parts:
            parts[plan] = PlanPart({f"p{number}": test for number, test in enumerate(plan, start=self.properties)})
            self.properties += len(plan)
        return parts[plan]

    def pattern(self, session: Tests, plan: Mapping[str, Test]) -> Json:
        """One more pattern of the group's fact."""
        self.rules += 1
        self.values.update(_values(session))
        clauses = [(key, test.constant) for key, test in (*((test.key, test) for test in session), *plan.items())]
        self.shared.add(clauses)
        return {"$and": [{"g": self.name}, *(_clause(key, test) for key, test in clauses)]}


@dataclass(slots=True)
class Compiled:
    """The rules of a stratum, in groups: those once per consultation, and those per plan."""

    session: list[Group] = field(default_factory=list)
    plan: list[Group] = field(default_factory=list)


class Program:
    """A knowledge base's rules as one durable-rules set."""

    def __init__(self, knowledge: Knowledge, strata: Strata, without: frozenset[str] = frozenset()) -> None:
        """Compile; ``without`` leaves rules out, to show that nothing but the engine fires them."""
        self._scope = {name: spec.scope for name, spec in knowledge.vocabulary.items()}
        self._values = knowledge.values
        self._definition: dict[str, Json] = {"boot": {"all": [{"m_0": {"g": "boot"}}], "pri": 0, "dist": 0}}
        self.rule_of: dict[str, str] = {}
        self.part_of: dict[str, PlanPart] = {}
        self.compiled: dict[int, Compiled] = {}
        self._tests: dict[tuple[Expression, ConstantTest], Test] = {}
        self._keys: dict[Expression, str] = {}
        stages = [*strata.session, *strata.hard, *strata.soft]
        rules = [rule for stratum in stages for rule in stratum.rules if rule.id not in without]
        self._conjunctions = self._expanded(rules)
        for priority, stratum in enumerate(stages, start=1):
            self.compiled[id(stratum)] = self._stratum(stratum, priority)
        self._stages = stages  # keeps the ids above alive
        if len(self._definition) > SET_RULES:
            raise EngineError(f"{len(self._definition)} compiled rules; durable-rules takes {SET_RULES}")
        if len(self.groups) > SET_GROUPS:
            raise EngineError(
                f"{len(self.groups)} groups of rules, one or more a stratum; durable-rules takes {SET_GROUPS}"
            )
        for group in self.groups:
            group.shared = Shared()  # it was for knowing what is full

    @property
    def groups(self) -> list[Group]:
        """Every group of every stratum."""
        return [group for compiled in self.compiled.values() for group in (*compiled.session, *compiled.plan)]

    @property
    def definition(self) -> dict[str, Json]:
        """The rule set."""
        found: dict[str, Json] = self._definition or json.loads(self.text)
        return found

    def expressions(self) -> Iterator[Expression]:
        """What is asked of facts: rules in other words, and names by themselves."""
        for group in self.groups:
            yield from group.values.values()
            for session, parts in group.parts.items():
                yield from (test.literal.part for test in session)
                for part in parts.values():
                    yield from (tree for test in part.tests.values() for tree in (test.value, test.literal.part))

    @cached_property
    def text(self) -> str:
        """The rule set, as durable-rules reads it."""
        return dumps(self._definition)

    def __getstate__(self) -> tuple[object, ...]:
        """What a consultation reads of it, to be kept beside the knowledge that it is of: the strata are the same."""
        compiled = [self.compiled[id(stratum)] for stratum in self._stages]
        return self.text, self.rule_of, self.part_of, self._stages, compiled

    def __setstate__(
        self, state: tuple[str, dict[str, str], dict[str, PlanPart], list[Stratum], list[Compiled]]
    ) -> None:
        """As it was kept."""
        self.text, self.rule_of, self.part_of, self._stages, compiled = state
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
        for rule, session, plan in sorted(self._tested(stratum), key=_of_consultation):
            groups = found.session if rule.scope == "session" else found.plan
            if not groups or groups[-1].is_full:
                groups.append(Group(f"g{len(self._definition)}"))
            name = f"r{len(self._definition)}"
            self.rule_of[name] = rule.id
            part = PlanPart({})
            if rule.scope != "session":
                part = self.part_of[name] = groups[-1].part(session, plan)
            pattern = groups[-1].pattern(session, part.tests)
            self._definition[name] = {"all": [{"m": pattern}], "pri": priority, "dist": 0}
        return found

    def _tested(self, stratum: Stratum) -> Iterator[tuple[Rule, Tests, Tests]]:
        """What each conjunction tests of the consultation, and of plans."""
        for rule in stratum.rules:
            for literals in self._conjunctions.get(rule.id, ()):
                tests = self._tests_of(literals)
                plan = tuple(test for test in tests if self._is_plan(test.literal.part))
                yield rule, tuple(test for test in tests if test not in plan), plan

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


def _of_consultation(tested: tuple[Rule, Tests, Tests]) -> list[str]:
    """Rules that test the same of the consultation come together, so that fewer groups have a fact in one."""
    return [test.key for test in tested[1]]


def _values(tests: Tests) -> dict[str, Expression]:
    return {test.key: test.value for test in tests}


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
        """Give a session back; it is emptied where it is full, or not the ``whole`` of what was asserted has fired.

        Raises EngineError where it cannot be emptied; a fresh one takes its place.
        """
        if session.facts >= SESSION_FACTS or not whole:
            try:
                self._library.delete_state(self._handle, session.name)
            except self._library.error as error:
                self.retire()
                raise EngineError(f"durable-rules kept a session: {error}") from error
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
                parts = message[:64].split('"', 8)  # {"r12":{"m":{"id":"34",
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
        self._put('"g":"boot"')
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
        for group in program.compiled[id(stratum)].session:
            self._put(f'"g":"{group.name}"{_properties(group.values, environment.evaluator.value)}')
        return {program.rule_of[name] for name, _ in self._drain()}

    def fired_plans(self, stratum: Stratum, environment: PlanEnvironment, alive: Mask) -> dict[str, Mask]:
        """The plan rules that fire, each with the plans it fires for."""
        program, found = self._engine.program, dict[str, "Mask"]()
        if not alive.any():
            return found
        plans = _Plans(environment, alive, share=self._engine.share)
        asserted: dict[str, Mapping[PlanPart, Mask]] = {}
        for group in program.compiled[id(stratum)].plan:
            for masks, properties in plans.facts(group):
                asserted[self._put(f'"g":"{group.name}"{properties}')] = masks
        for name, fact in self._drain() if asserted else ():
            rule, mask = program.rule_of[name], asserted[fact][program.part_of[name]]
            found[rule] = found[rule] | mask if rule in found else mask
        return found


Told: TypeAlias = "tuple[Mask, str]"
"""What a rule is told of plans: of which, and as JSON."""
Fact: TypeAlias = "tuple[dict[PlanPart, Mask], str]"
"""A group's fact: of which plans each part of it is, and what it has."""


def _properties(values: Mapping[str, Expression], value: Callable[[Expression], Value]) -> str:
    """What a fact has beside its names, as JSON: of each key the value, where it is known and a point."""
    texts = ((key, _text(value(expression))) for key, expression in values.items())
    return "".join(f',"{key}":{text}' for key, text in texts if text)


def _text(value: Value) -> str:
    """A value as JSON; nothing where it is unknown or no point."""
    known = plain(value)
    return "" if known is None else dumps(known)


class _Plans:
    """The plans that are left, as facts."""

    def __init__(self, environment: PlanEnvironment, alive: Mask, *, share: bool) -> None:
        self._evaluator, self._alive, self._share = environment.evaluator, alive, share
        self._kept: dict[PlanPart, Told | None] = environment.beside(alive, dict)
        """Parts whose tests come to the same as long as the plans that are left and their prices are the same."""
        self._held: dict[Test, Mask | bool] = {}
        self._texts: dict[tuple[str, int], str] = {}
        """Values as JSON, by their property and the plan: rules that pass few plans are often told of the same ones."""

    def facts(self, group: Group) -> Iterator[Fact]:
        """One fact with what is left of the group: rules none of whose tests fails for all plans, each told of those
        that pass. One for each plan with all that is known of it, where plans are not to share any.
        """
        if self._share:
            yield from self._together(group)
        else:
            parts = [part for parts in group.parts.values() for part in parts.values()]
            known = _properties(group.values, self._evaluator.value)
            for row in np.flatnonzero(self._alive).tolist():
                mask = np.zeros_like(self._alive)
                mask[row] = True
                yield dict.fromkeys(parts, mask), known + "".join(self._of(part, row) for part in parts)

    def _together(self, group: Group) -> Iterator[Fact]:
        masks: dict[PlanPart, Mask] = {}
        asked: dict[str, Expression] = {}
        texts = []
        for session, parts in group.parts.items():
            if not self._may_hold(session):
                continue
            told = [(part, *told) for part in parts.values() if (told := self._told(part)) is not None]
            if told:
                asked.update(_values(session))
            for part, mask, text in told:
                masks[part] = mask
                texts.append(text)
        if masks:
            yield masks, _properties(asked, self._evaluator.value) + "".join(texts)

    def _may_hold(self, tests: Tests) -> bool:
        for test in tests:
            holds = self._holds(test)
            if holds is False or (holds is not True and not holds.any()):
                return False
        return True

    def _told(self, part: PlanPart) -> Told | None:
        """What a rule is told of the plans that pass all of its tests; None where there are none."""
        if part in self._kept:
            return self._kept[part]
        passing = self._passing(part.tests.values())
        row = int(passing.argmax())  # the first of them, if any: they pass the same tests
        told = (passing, self._of(part, row)) if passing[row] else None
        if all(self._evaluator.lasts(test.literal.part) for test in part.tests.values()):
            self._kept[part] = told
        return told

    def _passing(self, tests: Iterable[Test]) -> Mask:
        mask = self._alive
        for test in tests:
            mask = mask & self._holds(test)
        return mask

    def _of(self, part: PlanPart, row: int) -> str:
        """What is tested of one plan, as JSON."""
        texts = []
        for key, test in part.tests.items():
            told = self._texts.get((test.key, row))
            if told is None:
                told = self._texts[test.key, row] = _text(one(self._evaluator.value(test.value), row))
            if told:
                texts.append(f',"{key}":{told}')
        return "".join(texts)

    def _holds(self, test: Test) -> Mask | bool:
        """For which of all plans a test holds."""
        found = self._held.get(test)
        if found is None:
            truth = self._evaluator.truth(test.literal.part)
            found = self._held[test] = truth.true if test.literal.positive else truth.false
        return found
