"""The subset of durable-rules that is safe, as a check: each way in which a compiled rule set leaves it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from whygpu.chain.durable import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERNS = 1  # or facts that were asserted before in a session would count
GROUP_RULES = 200
STACK = 64
PROPERTIES = 250
NODE_TESTS = 511
RULES = 4_096
_FORBIDDEN = (
    "none",
    "any",
    "not",
    "or",
    "$or",
    "$nex",
    "$not",
    "$s",
    "$div",
    "$add",
    "$sub",
    "$mul",
    "$m",
    "$f",
    "count",
    "cap",
)


def violations(definition: dict[str, Any]) -> Iterator[str]:
    """Each way in which a compiled rule set leaves the subset."""
    if len(definition) >= RULES:
        yield f"{len(definition)} rules"
    children: defaultdict[str, set[str]] = defaultdict(set)
    properties: defaultdict[str, set[str]] = defaultdict(set)
    groups: Counter[str] = Counter()
    for name, rule in definition.items():
        if set(rule) != {"all", "pri", "dist"} or rule["dist"] != 0 or not isinstance(rule["pri"], int):
            yield f"{name}: not a conjunction with pri and dist 0"
            continue
        for pattern in rule["all"]:
            (clauses,) = (body.get("$and", [body]) for body in pattern.values())
            yield from (f"{name}: {problem}" for clause in clauses for problem in _clause_problems(clause))
            if next(iter(clauses[0])) != "g":
                yield f"{name}: the group is not tested first"
            path = ""
            for clause in clauses:
                children[path].add(dumps(clause))
                path += dumps(clause)
            group = dumps(clauses[0])
            properties[group] |= {_property(clause) for clause in clauses}
            groups[group] += 1
        if len(rule["all"]) > PATTERNS:
            yield f"{name}: {len(rule['all'])} patterns"
    yield from (
        f"{path}: {len(found)} tests under one node" for path, found in children.items() if len(found) >= NODE_TESTS
    )
    waiting = _waiting("", children)
    if waiting > STACK:
        yield f"{waiting} tests on the stack"
    yield from (
        f"{group}: {len(found)} properties" for group, found in properties.items() if len(found) + 2 > PROPERTIES
    )
    yield from (f"{group}: {count} rules" for group, count in groups.items() if count > GROUP_RULES)


def _waiting(path: str, children: dict[str, set[str]]) -> int:
    """The most tests that can be on the library's stack below one: it takes one off and puts on all that hold below.

    ``handleAlpha`` of src/rules/events.c, durable-rules 2.0.28; a fact is of one group, so of those one holds.
    """
    below = children.get(path, set())
    most = max((_waiting(path + test, children) for test in below), default=1)
    one_holds = all(_property(json.loads(test)) == "g" for test in below)
    return most if one_holds else most + len(below) - 1


def _property(clause: dict[str, Any]) -> str:
    """The property that a test is about."""
    ((key, value),) = clause.items()
    return str(next(iter(value))) if key.startswith("$") and isinstance(value, dict) else str(key)


def _clause_problems(clause: dict[str, Any]) -> Iterator[str]:
    if len(clause) != 1:
        yield f"{clause} is not one test"
    for key, value in clause.items():
        if key in ("$neq", "$lt", "$lte", "$gt", "$gte"):
            inner = value
        elif key.startswith("$") or key in _FORBIDDEN:
            yield f"'{key}' is outside the subset"
            continue
        else:
            inner = {key: value}
        if len(inner) != 1 or not isinstance(next(iter(inner.values())), float | bool | str):
            yield f"{clause} does not test against a constant"
