"""Orders rules so that each is judged once, when every name it depends on is settled.

A rule comes after all rules that conclude a name it uses, directly or through derived values, and after every rule
that overrides it. So negation, ``unless`` and ``otherwise`` are safe, and the outcome cannot depend on the order in
which an engine fires rules.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from whygpu.errors import Problem
from whygpu.knowledge.rules import Conclude, Rule
from whygpu.knowledge.strata import Strata, Stratum
from whygpu.language.tree import Expression, names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import networkx as nx

    from whygpu.knowledge.questions import DerivedValue


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
            todo.extend(inner.name for tree in value.expressions for inner in names(tree))
    return found


def value_cycles(values: Mapping[str, DerivedValue]) -> list[Problem]:
    """A problem for each group of derived values that depend on one another in a circle."""
    before = {
        value.name: {inner.name for tree in value.expressions for inner in names(tree) if inner.name in values}
        for value in values.values()
    }
    return [
        Problem(
            "circular", f"derived values in a circle: {' -> '.join(cycle)} -> {cycle[0]}", values[cycle[0]].location
        )
        for cycle in circles(before)
    ]


def circles(before: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """One circle of each group of nodes that reach one another, given what each comes after.

    networkx finds them; it is imported only where there are any, because that takes as long as loading half the facts.
    """
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        import networkx as nx  # noqa: PLC0415

        graph: nx.DiGraph[str] = nx.DiGraph((late, early) for late, earlier in before.items() for early in earlier)
        groups = [group for group in nx.strongly_connected_components(graph) if _is_circle(graph, group)]
        found = (nx.find_cycle(graph.subgraph(group), min(group)) for group in groups)
        return sorted(tuple(edge[0] for edge in edges) for edges in found)
    return []


def _is_circle(graph: nx.DiGraph[str], group: set[str]) -> bool:
    first = min(group)
    return len(group) > 1 or graph.has_edge(first, first)


def stratify(rules: Iterable[Rule], values: Mapping[str, DerivedValue]) -> tuple[Strata, list[Problem]]:
    """Order the rules; the problems name each circle, dangling override and override across stages."""
    rules = tuple(rules)
    by_id = {rule.id: rule for rule in rules}
    concluders: dict[str, list[str]] = {}
    for rule in rules:
        for effect in rule.effects:
            if isinstance(effect, Conclude):
                concluders.setdefault(effect.name, []).append(rule.id)
    uses = {rule.id: used_names([rule.condition], values) for rule in rules}
    before: dict[str, set[str]] = {
        rule.id: {other for name in uses[rule.id] for other in concluders.get(name, ())} for rule in rules
    }
    for rule in rules:
        for other in rule.overrides:
            if other in by_id:
                before[other].add(rule.id)
    problems = [
        *_override_problems(rules, by_id),
        *_circular_rules(before, by_id),
        *_stage_problems(before, by_id, uses),
    ]
    if problems:
        return Strata((), (), ()), problems
    depth: dict[str, int] = {}
    for rule_id in TopologicalSorter(before).static_order():
        earlier = [other for other in before[rule_id] if _stage(by_id[other]) == _stage(by_id[rule_id])]
        depth[rule_id] = max((depth[other] + 1 for other in earlier), default=0)
    session, hard, soft = (
        _layers([rule for rule in rules if _stage(rule) == number], depth, concluders) for number in range(3)
    )
    return Strata(session, hard, soft, _aggregates(values)), []


def _aggregates(values: Mapping[str, DerivedValue]) -> tuple[DerivedValue, ...]:
    found = {value.name: value for value in values.values() if value.aggregate is not None}
    before = {name: used_names(value.expressions, values) & found.keys() for name, value in found.items()}
    return tuple(found[name] for name in TopologicalSorter(before).static_order())


def _circular_rules(before: Mapping[str, set[str]], by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    for circle in circles(before):
        text = " -> ".join(circle)
        yield Problem(
            "circular",
            f"rules in a circle: {text}: each needs what the next concludes or overrides",
            by_id[circle[0]].location,
        )


def _stage_problems(
    before: Mapping[str, set[str]], by_id: Mapping[str, Rule], uses: Mapping[str, set[str]]
) -> Iterator[Problem]:
    """Rules that would be judged before something they depend on is settled."""
    for rule in by_id.values():
        fields = sorted(name for name in uses[rule.id] if name.startswith("field."))
        if fields and _stage(rule) < 2:
            yield Problem(
                "wrong-stage",
                f"rule '{rule.id}' depends on {fields[0]}, which is known only after the hard rules",
                rule.location,
                "let it prefer or avoid instead",
            )
        for early in sorted(before[rule.id]):
            if _stage(by_id[early]) > _stage(rule):
                yield Problem(
                    "wrong-stage",
                    f"rule '{rule.id}' is judged before '{early}', which it depends on or is overridden by",
                    rule.location,
                    "a rule once per consultation comes before rules per plan, hard before soft",
                )


def _stage(rule: Rule) -> int:
    return 0 if rule.scope == "session" else 1 if rule.is_hard else 2


def _override_problems(rules: tuple[Rule, ...], by_id: Mapping[str, Rule]) -> Iterator[Problem]:
    for rule in rules:
        for other in rule.overrides:
            if other not in by_id:
                yield Problem(
                    "unknown-rule", f"rule '{rule.id}' overrides '{other}', which does not exist", rule.location
                )
            elif by_id[other].scope == "session" and rule.scope != "session":
                yield Problem(
                    "wrong-scope",
                    f"rule '{rule.id}' is judged per plan and cannot override '{other}', which is not",
                    rule.location,
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
