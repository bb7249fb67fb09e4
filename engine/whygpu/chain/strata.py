"""Orders rules so that each is judged once, when every name it depends on is settled.

A rule comes after all rules that conclude a name it uses, directly or through derived values, and after every rule
that overrides it. So negation, ``unless`` and ``otherwise`` are safe, and the outcome cannot depend on the order in
which an engine fires rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

from whygpu.errors import Problem
from whygpu.knowledge import Conclude, Rule
from whygpu.language.tree import Expression, names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whygpu.errors import Place
    from whygpu.knowledge import DerivedValue


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rules judged together, and the concluded names that are settled once they have been."""

    rules: tuple[Rule, ...]
    settles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Strata:
    """The strata of a knowledge base: once per consultation; then per plan, hard, and soft on what is left."""

    session: tuple[Stratum, ...]
    hard: tuple[Stratum, ...]
    soft: tuple[Stratum, ...]


def used_names(trees: Iterable[Expression], values: Mapping[str, DerivedValue]) -> set[str]:
    """Every name the expressions depend on, directly or through derived values."""
    found: set[str] = set()
    todo = [name.name for tree in trees for name in names(tree)]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        value = values.get(name)
        if value is not None:
            todo.extend(inner.name for inner in names(value.expression))
    return found


def value_cycles(values: Mapping[str, DerivedValue]) -> list[Problem]:
    """A problem for each circle of derived values."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for value in values.values():
        graph.add_node(value.name)
        graph.add_edges_from((value.name, inner.name) for inner in names(value.expression) if inner.name in values)
    cycles = (tuple(cycle) for cycle in nx.simple_cycles(graph))
    turned = sorted(cycle[(at := cycle.index(min(cycle))) :] + cycle[:at] for cycle in cycles)
    return [
        Problem("circular", f"derived values in a circle: {' -> '.join(cycle)} -> {cycle[0]}", values[cycle[0]].place)
        for cycle in turned
    ]


def stratify(rules: Iterable[Rule], values: Mapping[str, DerivedValue]) -> tuple[Strata, list[Problem]]:
    """Order the rules; the problems name each circle, dangling override and override across stages."""
    rules = tuple(rules)
    by_id = {rule.id: rule for rule in rules}
    concluders: dict[str, list[str]] = {}
    for rule in rules:
        for effect in rule.effects:
            if isinstance(effect, Conclude):
                concluders.setdefault(effect.name, []).append(rule.id)
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(by_id)
    for rule in rules:
        for name in used_names([rule.condition], values):
            graph.add_edges_from((other, rule.id) for other in concluders.get(name, ()))
    problems = [*_override_problems(rules, by_id)]
    for rule in rules:
        graph.add_edges_from((rule.id, other) for other in rule.overrides if other in by_id)
    stage = {rule.id: _stage(rule) for rule in rules}
    problems += _circles(graph, by_id)
    for rule in rules:
        fields = sorted(name for name in used_names([rule.condition], values) if name.startswith("field."))
        if fields and stage[rule.id] < 2:
            problems.append(
                Problem(
                    "wrong-stage",
                    f"rule '{rule.id}' depends on {fields[0]}, which is known only after the hard rules",
                    rule.place,
                    "let it prefer or avoid instead",
                )
            )
    for early, late in graph.edges:
        if stage[early] > stage[late]:
            problems.append(
                Problem(
                    "wrong-stage",
                    f"rule '{late}' is judged before '{early}', which it depends on or is overridden by",
                    by_id[late].place,
                    "a rule once per consultation comes before rules per plan, hard before soft",
                )
            )
    if problems:
        return Strata((), (), ()), problems
    depth: dict[str, int] = {}
    for rule_id in nx.lexicographical_topological_sort(graph):
        before = [other for other in graph.predecessors(rule_id) if stage[other] == stage[rule_id]]
        depth[rule_id] = max((depth[other] + 1 for other in before), default=0)
    layers = [_layers([rule for rule in rules if stage[rule.id] == number], depth, concluders) for number in range(3)]
    return Strata(*layers), []


def _stage(rule: Rule) -> int:
    return 0 if rule.scope == "session" else 1 if rule.is_hard else 2


def _override_problems(rules: tuple[Rule, ...], by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    for rule in rules:
        for other in rule.overrides:
            if other not in by_id:
                yield Problem("unknown-rule", f"rule '{rule.id}' overrides '{other}', which does not exist", rule.place)
            elif by_id[other].scope == "session" and rule.scope != "session":
                yield Problem(
                    "wrong-scope",
                    f"rule '{rule.id}' is judged per plan and cannot override '{other}', which is not",
                    rule.place,
                )


def _circles(graph: nx.DiGraph[str], by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    for group in nx.strongly_connected_components(graph):
        first = min(group)
        if len(group) > 1 or graph.has_edge(first, first):
            circle = " -> ".join([*(edge[0] for edge in nx.find_cycle(graph.subgraph(group), first)), ""]).removesuffix(
                " -> "
            )
            place: Place = by_id[first].place
            yield Problem(
                "circular", f"rules in a circle: {circle}: each needs what the next concludes or overrides", place
            )


def _layers(rules: list[Rule], depth: Mapping[str, int], concluders: Mapping[str, list[str]]) -> tuple[Stratum, ...]:
    stage = {rule.id for rule in rules}
    settled: dict[int, list[str]] = {}
    for name, ids in concluders.items():
        levels = [depth[rule_id] for rule_id in ids if rule_id in stage]
        if levels:
            settled.setdefault(max(levels), []).append(name)
    height = max((depth[rule.id] for rule in rules), default=-1) + 1
    return tuple(
        Stratum(tuple(rule for rule in rules if depth[rule.id] == level), tuple(sorted(settled.get(level, ()))))
        for level in range(height)
    )
