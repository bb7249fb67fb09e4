"""Bugs put into either engine on purpose are found by the differential run: it can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.chain.drive import Tally, judge
from tests.chain.programs import program
from whygpu.chain import durable, normal
from whygpu.consult import session
from whygpu.knowledge.base import Knowledge
from whygpu.language import evaluate
from whygpu.language import tree as t
from whygpu.language import values as v
from whygpu.loader import cells, tables

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

MOST = 400


@dataclass(frozen=True)
class Bug:
    """Puts ``make(what is there)`` in place of ``owner.name``."""

    what: str
    owner: Any
    name: str
    make: Callable[[Any], Any]


def _flipped(compare: Any) -> Any:
    return lambda op, left, right: compare({"<=": "<"}.get(op, op), left, right)


def _drop_last(alternatives: Any) -> Any:
    return lambda condition, most: tuple(
        parts[:-1] if len(parts) > 1 else parts for parts in alternatives(condition, most)
    )


def _cut(_: Any) -> Any:
    return lambda literals: tuple(literals[:3])


def _without_unless(alternatives: Any) -> Any:
    def changed(condition: t.Expression, most: int) -> Any:
        match condition:
            case t.All(parts=(when, t.Not(part=t.Any()))):
                return alternatives(when, most)
        return alternatives(condition, most)

    return changed


def _rolled(facts: Any) -> Any:
    return lambda self, group: [
        ({part: np.roll(mask, 1) for part, mask in masks.items()}, properties)
        for masks, properties in facts(self, group)
    ]


def _fewer_tests(passing: Any) -> Any:
    return lambda self, tests: passing(self, list(tests)[:-1] or tests)


def _of_all_or_none(passing: Any) -> Any:
    def changed(self: Any, tests: Any) -> Any:
        mask = passing(self, tests)
        return mask if (mask == self._alive).all() else np.zeros_like(mask)

    return changed


NEGATED: dict[t.CompareOp, t.CompareOp] = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _negated_by_operator(constant_test: Any) -> Any:
    def changed(literal: normal.Literal) -> Any:
        match literal:
            case normal.Literal(part=t.Compare(op=op, left=left, right=right), positive=False):
                return constant_test(normal.Literal(t.Compare(NEGATED[op], left, right), True))
        return constant_test(literal)

    return changed


def _without_lacks(known: Any) -> Any:
    return staticmethod(
        lambda value: (
            known(value) & v.Truth(value.present, value.present ^ True) if isinstance(value, v.Number) else known(value)
        )
    )


BUGS = (
    Bug("evaluator: <= compares as <", v, "compare", _flipped),
    Bug(
        "evaluator: not makes unknown true",
        v.Truth,
        "__invert__",
        lambda _: lambda self: v.Truth(self.true ^ True, self.true),
    ),
    Bug("evaluator: or takes only the right side", v.Truth, "__or__", lambda _: lambda self, other: other),
    Bug(
        "evaluator: a lack compares like a number",
        v,
        "compare",
        lambda old: lambda op, a, b: old(op, v.Number(a.low, a.high), b),
    ),
    Bug("evaluator: a lack is not known", evaluate.Evaluator, "_known", _without_lacks),
    Bug("evaluator: max is min", v, "least", lambda old: lambda numbers, greatest=False: old(numbers)),
    Bug("evaluator: minus is plus", v, "arithmetic", lambda old: lambda op, a, b: old({"-": "+"}.get(op, op), a, b)),
    Bug("evaluator: an overflow is a number", v, "_doubt", lambda _: v.Number),
    Bug(
        "evaluator: unknown words compare",
        v,
        "compare_words",
        lambda _: lambda op, a, b: v.Truth((a.word == b.word) == (op == "=="), (a.word == b.word) != (op == "==")),
    ),
    Bug("compiler: the last literal is dropped", durable, "alternatives", _drop_last),
    Bug(
        "compiler: the last alternative is dropped",
        durable,
        "alternatives",
        lambda old: lambda c, most: old(c, most)[:-1] or old(c, most),
    ),
    Bug("compiler: what one pattern has no room for is dropped", durable, "_folded", _cut),
    Bug("compiler: unless is ignored", durable, "alternatives", _without_unless),
    Bug("compiler: 5 < x is tested as x < 5", normal, "MIRRORED", lambda old: {op: op for op in old}),
    Bug("compiler: not (x > 5) is tested as x <= 5", durable, "constant_test", _negated_by_operator),
    Bug(
        "compiler: intervals are tested as points",
        durable.Program,
        "_may_be_interval",
        lambda _: lambda self, name: False,
    ),
    Bug("adapter: numbers are printed with six digits", durable, "_number", lambda _: "{:.6f}".format),
    Bug("adapter: plans share a fact though one test differs", durable._Plans, "_passing", _fewer_tests),
    Bug("adapter: a group's facts go to the wrong plans", durable._Plans, "facts", _rolled),
    Bug(
        "adapter: facts are left out where rules may still fire",
        durable._Plans,
        "_told",
        lambda old: lambda self, part: None if len(part.tests) == 1 else old(self, part),
    ),
    Bug("adapter: plans share a fact only where all do", durable._Plans, "_passing", _of_all_or_none),
    Bug(
        "adapter: a session's false flags are not asserted",
        durable,
        "plain",
        lambda old: lambda value: old(value) or None,
    ),
    Bug("consultation: otherwise does not wait", session._SessionRules, "_is_open", lambda _: lambda self, name: False),
    Bug("consultation: overrides are ignored", Knowledge, "overriders", lambda _: {}),
    Bug(
        "tables: rows above the first that matches count too", tables._Row, "meets", lambda _: lambda self, other: False
    ),
    Bug("tables: only the row right above is an exception", tables, "AnyOf", lambda old: lambda parts: old(parts[-1:])),
    Bug(
        "tables: of a list only the first value counts", cells, "OneOf", lambda old: lambda name, of: old(name, of[:1])
    ),
    Bug("tables: of two comparisons only the first counts", cells, "All", lambda _: lambda parts: parts[0]),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bug.owner, bug.name, bug.make(getattr(bug.owner, bug.name)))
    tally = Tally()
    for seed in range(1, MOST + 1):
        judge(program(seed), tally)
        if tally.disagreements:
            return
    pytest.fail(f"{MOST} programs did not notice: {bug.what}")
