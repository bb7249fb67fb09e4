"""Where names get their values: one environment for the consultation, one over the plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from weakref import proxy

import numpy as np

from whygpu.language import values as v
from whygpu.language.evaluate import Evaluator, Kept
from whygpu.language.numbering import CALLED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from whygpu.knowledge.base import Knowledge
    from whygpu.language.names import NameSpec
    from whygpu.language.numbering import Lasting

T = TypeVar("T")
_MOST_BESIDE = 8


def unknown_of(spec: NameSpec) -> v.Value:
    """The unknown of the name's type."""
    match spec.kind:
        case "number":
            return v.NO_NUMBER
        case "flag":
            return v.UNKNOWN
        case "choice" | "text":
            return v.NO_WORD


def known_value(value: float | bool | str) -> v.Value:
    """A plain value as an evaluated one."""
    if isinstance(value, bool):
        return v.TRUE if value else v.FALSE
    return v.Word(value) if isinstance(value, str) else v.number(value)


def plain(value: v.Value) -> float | bool | str | None:
    """A scalar value as a plain one; None where it is unknown or a lack."""
    match value:
        case v.Number():
            return v.as_float(value)
        case v.Word(word=word):
            return str(word) or None
        case v.Truth(true=true, false=false):
            return True if true else False if false else None


class SessionEnvironment:
    """Names of the consultation: facts that are set, derived values computed when first asked for."""

    def __init__(self, knowledge: Knowledge, before: SessionEnvironment | None = None) -> None:
        """Every name is unknown at first. ``before``: that of another consultation with most of the same facts, from
        which is taken what rests on these.
        """
        self._knowledge = knowledge
        self._checks: Mapping[str, Callable[[Sequence[v.Value]], v.Value]] = {}
        self._sized: object = None
        self._facts: dict[str, v.Value] = {}
        self._checked: dict[tuple[float | bool | str | None, ...], v.Value] = {}
        # no circle: both go when nobody asks
        numbers, other = knowledge.numbering.numbers, None if before is None else before.evaluator
        self.evaluator: Evaluator = Evaluator(proxy(self), numbers, None, knowledge.rests, other)
        self._before = before
        if before is not None:
            self.evaluator.differs = knowledge.rests.bits(before._facts) | CALLED

    def provide(self, checks: Mapping[str, Callable[[Sequence[v.Value]], v.Value]], sized: object = None) -> None:
        """Supply the numeric checks, once the work to be ``sized`` is known."""
        self._checks, self._sized = checks, sized
        self._checked.clear()
        self.evaluator.forget_what_rests_on(CALLED)
        if self._before is not None:
            same = sized is not None and self._before._sized == sized
            self.evaluator.differs = self.evaluator.differs & ~CALLED if same else self.evaluator.differs | CALLED

    def set(self, name: str, value: v.Value) -> None:
        """Give a name its value; what was found before may have rested on not knowing it."""
        self._facts[name] = value
        self.evaluator.renew(name)
        if self._before is not None:
            _tell_apart(self.evaluator, self._knowledge.rests.bit(name), value, self._before._facts.get(name))

    def stand_alone(self) -> None:
        """Take nothing more from the consultation before, which need not be kept for it."""
        self._before = None
        self.evaluator.stand_alone()

    def value(self, name: str) -> v.Value:
        """The name's value; unknown where nothing has set it."""
        found = self._facts.get(name)
        if found is None:
            derived = self._knowledge.values.get(name)
            if derived is not None and derived.aggregate is None:
                found = self.evaluator.value(derived.expression)
            else:
                found = unknown_of(self._knowledge.vocabulary[name])
        return found

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """The value of a numeric check; unknown where an argument is."""
        check = self._checks.get(function)
        if check is None:
            return v.NO_NUMBER
        key = (function, *map(plain, arguments))
        if key not in self._checked:
            self._checked[key] = check(arguments)
        return self._checked[key]


class GivenColumns:
    """Names of plans that keep their columns while the plans are asked about, and what rests on these alone: plans at
    the same prices have them in one consultation after the other.
    """

    def __init__(self, lasting: Lasting, columns: Mapping[str, Callable[[], v.Value | None]]) -> None:
        """``columns``: each is computed when it is first asked for; None: the name stays unknown."""
        self.kept = Kept(lasting)
        self._columns = columns
        self._made: dict[str, v.Value | None] = {}
        self.beside: dict[bytes, Any] = {}
        """What an engine keeps of the plans that are left, by which they are."""

    def column(self, name: str) -> v.Value | None:
        """The name's column; None where there is none."""
        if name not in self._made:
            column = self._columns.get(name)
            self._made[name] = None if column is None else column()
        return self._made[name]


class PlanEnvironment:
    """Names of the plans, as columns; names of the consultation where it has none."""

    def __init__(
        self,
        knowledge: Knowledge,
        session: SessionEnvironment,
        size: int,
        given: GivenColumns | None = None,
        before: PlanEnvironment | None = None,
    ) -> None:
        """``size``: the number of plans; ``before``: that of the consultation which the session takes from."""
        self._knowledge = knowledge
        self._session = session
        self._columns: dict[str, v.Value] = {}
        self._given = given
        self.size = size
        kept = None if given is None else given.kept
        numbers, other = knowledge.numbering.numbers, None if before is None else before.evaluator
        self.evaluator: Evaluator = Evaluator(proxy(self), numbers, kept, knowledge.rests, other)
        self._before = before
        if before is not None:
            settled = knowledge.rests.bits(before._columns)
            others = 0 if given is not None and given is before._given else knowledge.of_plans
            self.evaluator.differs = session.evaluator.differs | settled | others

    def set(self, name: str, value: v.Value) -> None:
        """Give a name its column (or one value for all plans), and forget what may rest on not knowing it."""
        self._columns[name] = value
        self.evaluator.renew(name)
        if self._before is not None:
            _tell_apart(self.evaluator, self._knowledge.rests.bit(name), value, self._before._columns.get(name))

    def as_before(self) -> PlanEnvironment | None:
        """The same with what was settled of these very plans before; None where there were others."""
        before = self._before
        if before is None or self._given is None or self._given is not before._given:
            return None
        settled = PlanEnvironment(self._knowledge, self._session, self.size, self._given, before)
        for name, column in before._columns.items():
            settled.set(name, column)
        return settled

    def stand_alone(self) -> None:
        """As for the session."""
        self._before = None
        self.evaluator.stand_alone()

    def value(self, name: str) -> v.Value:
        """The name's column; unknown where nothing has set it."""
        found = self._columns.get(name)
        if found is None and self._given is not None:
            found = self._given.column(name)
        if found is None:
            spec = self._knowledge.vocabulary[name]
            if spec.scope == "session":
                return self._session.value(name)
            derived = self._knowledge.values.get(name)
            if derived is not None and derived.aggregate is None:
                found = self.evaluator.value(derived.expression)
            else:
                found = unknown_of(spec)
        return found

    def beside(self, alive: NDArray[np.bool_], make: Callable[[], T]) -> T:
        """What an engine keeps of these plans from one consultation to the next; new where nothing lasts."""
        if self._given is None:
            return make()
        kept, key = self._given.beside, alive.tobytes()
        found: T | None = kept.get(key)
        if found is None:
            found = make()
            if len(kept) >= _MOST_BESIDE:  # another thread may do so, too: what was found is held here
                kept.clear()
            kept[key] = found
        return found

    def call(self, function: str, arguments: Sequence[v.Value]) -> v.Value:
        """Numeric checks take names of the consultation only; the type-checker sees to it."""
        return self._session.call(function, arguments)

    def at(self, name: str, index: int) -> v.Value:
        """The name's value for one plan."""
        return one(self.value(name), index)


def one(value: v.Value, index: int) -> v.Value:
    """One plan's value out of a column."""

    def pick(item: Any) -> Any:
        return item[index].item() if isinstance(item, np.ndarray) else item

    match value:
        case v.Number(low=low, high=high, present=present):
            first = pick(low)
            return v.Number(first, first if low is high else pick(high), pick(present))
        case v.Word(word=word):
            return v.Word(pick(word))
        case v.Truth(true=true, false=false):
            return v.Truth(pick(true), pick(false))


def _tell_apart(evaluator: Evaluator, bit: int, value: v.Value, before: v.Value | None) -> None:
    """Note whether a name has the same value as before."""
    if before is not None and v.identical(value, before):
        evaluator.differs &= ~bit
    else:
        evaluator.differs |= bit
