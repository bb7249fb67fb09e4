"""A slice of the proof as Mermaid or DOT: from what was answered, through facts and rules, to the recommendation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from whygpu.chain.strata import used_names
from whygpu.explain.figures import show_plain
from whygpu.knowledge.rules import concluded_names
from whygpu.render.style import Style
from whygpu.render.words import price_text, short_text

if TYPE_CHECKING:
    import networkx as nx

    from whygpu.explain.advice import Advice
    from whygpu.knowledge.base import Knowledge
    from whygpu.knowledge.rules import Rule
    from whygpu.render.view.model import View
    from whygpu.trace import Fact, Trace

    Graph: TypeAlias = nx.DiGraph[str]

MOST_RULES = 10
_DEPTH = 3
_KINDS = {
    "plan": ("box", "#1f4e8c", "#dbe8fb"),
    "for": ("box", "#1d6b2f", "#def3e2"),
    "against": ("box", "#8a4b00", "#fbe9d0"),
    "rule": ("box", "#555555", "#eeeeee"),
    "answer": ("ellipse", "#333333", "#ffffff"),
    "assumed": ("ellipse", "#8a4b00", "#ffffff"),
    "fact": ("ellipse", "#777777", "#ffffff"),
}
"""The shape, line and filling of each kind of node."""


def proof_graph(advice: Advice, view: View) -> Graph:
    """The recommendation, the rules that speak for or against it, and what they rest on, three steps back.

    Edges run from what is known to what follows. Empty where nothing is recommended.
    """
    import networkx as nx  # noqa: PLC0415  only graphs need it

    graph: Graph = nx.DiGraph()
    plan = advice.recommendation
    if plan is None:
        return graph
    trace = advice.trace
    graph.add_node("plan", text=f"{short_text(plan)}\n{price_text(plan)}", kind="plan")
    for row in [row for row in view.reasons if row.about is None][:MOST_RULES]:
        step = next((item for item in trace.of_plan(plan.id) if item.rule == row.evidence.rule), None)
        if step is None:
            continue
        text = f"{row.title}\n{row.worth} {row.criterion}"
        graph.add_node(step.id, text=text, kind="for" if row.favourable else "against")
        graph.add_edge(step.id, "plan")
        for used in step.uses:
            _add_fact(graph, trace, trace.fact_by_id[used], step.id, _DEPTH)
    return graph


def rule_graph(knowledge: Knowledge, rule: Rule) -> Graph:
    """A rule with what it rests on, the rules whose conclusions it reads, and the rules that read or are beaten by it.

    Edges run from what is known to what follows; at most ``MOST_RULES`` of a kind.
    """
    import networkx as nx  # noqa: PLC0415  only graphs need it

    graph: Graph = nx.DiGraph()
    graph.add_node(rule.id, text=rule.title, kind="plan")
    claims = [name for name in rule.sources if name in knowledge.claims][:MOST_RULES]
    if claims:  # one beside the other they would make all else too small to read
        graph.add_node("claims", text="\n".join(("claims", *claims)), kind="answer")
        graph.add_edge("claims", rule.id)
    read = used_names([rule.condition], knowledge.values)
    for name in sorted(read & knowledge.concluded):
        graph.add_node(name, text=name, kind="fact")
        graph.add_edge(name, rule.id)
        for giver in knowledge.concluders[name][:MOST_RULES]:
            _add_rule(graph, giver, giver.id, name)
    for name in dict.fromkeys(concluded_names([rule])):
        graph.add_node(name, text=name, kind="fact")
        graph.add_edge(rule.id, name)
        readers = (item for item in knowledge.rules if name in used_names([item.condition], knowledge.values))
        for reader in list(readers)[:MOST_RULES]:
            _add_rule(graph, reader, name, reader.id)
    for other in rule.overrides:
        if other in knowledge.rule_by_id:
            _add_rule(graph, knowledge.rule_by_id[other], rule.id, other, "against")
    for other in knowledge.overriders.get(rule.id, ()):
        _add_rule(graph, knowledge.rule_by_id[other], other, rule.id)
    return graph


def _add_rule(graph: Graph, rule: Rule, start: str, end: str, kind: str = "rule") -> None:
    if rule.id not in graph:
        graph.add_node(rule.id, text=rule.title, kind=kind)
    graph.add_edge(start, end)


def _add_fact(graph: Graph, trace: Trace, fact: Fact, below: str, depth: int) -> None:
    if fact.value is None:
        return
    known = fact.id in graph
    graph.add_node(fact.id, text=f"{fact.name}\n{show_plain(fact.value, fact.unit, fact.name)}", kind=_kind(fact))
    graph.add_edge(fact.id, below)
    if known or depth < 1:
        return
    for step in trace.givers.get(fact.id, ())[:1]:
        if step.rule is not None:
            graph.add_node(step.id, text=step.title, kind="rule")
            graph.add_edge(step.id, fact.id)
        for used in step.uses:
            _add_fact(graph, trace, trace.fact_by_id[used], step.id if step.rule is not None else fact.id, depth - 1)


def _kind(fact: Fact) -> str:
    return fact.origin if fact.origin in ("answer", "assumed") else "fact"


def mermaid(graph: Graph, direction: Literal["TD", "LR"] = "TD") -> str:
    """As a Mermaid flowchart, from top to bottom; from left to right it is narrow where much stands side by side."""
    ids = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = [f"flowchart {direction}"]
    for node, data in graph.nodes(data=True):
        text = _entities(data["text"]).replace("\n", "<br/>")
        left, right = ("([", "])") if _KINDS[data["kind"]][0] == "ellipse" else ("[", "]")
        lines.append(f'  {ids[node]}{left}"{text}"{right}:::{_class(data["kind"])}')
    lines += [f"  {ids[one]} --> {ids[other]}" for one, other in graph.edges]
    lines += [
        f"  classDef {_class(kind)} fill:{fill},stroke:{stroke},color:#111"
        for kind, (_, stroke, fill) in _KINDS.items()
    ]
    return Style(False).safe("\n".join(lines) + "\n")


def dot(graph: Graph) -> str:
    """As a Graphviz digraph, from top to bottom."""
    ids = {node: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["digraph why {", '  rankdir=TB; node [style=filled, fontname="sans-serif"];']
    for node, data in graph.nodes(data=True):
        shape, stroke, fill = _KINDS[data["kind"]]
        text = data["text"].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'  {ids[node]} [label="{text}", shape={shape}, color="{stroke}", fillcolor="{fill}"];')
    lines += [f"  {ids[one]} -> {ids[other]};" for one, other in graph.edges]
    return Style(False).safe("\n".join([*lines, "}"]) + "\n")


def _class(kind: str) -> str:
    """A name that is no word of Mermaid's."""
    return f"k{kind}"


def _entities(text: str) -> str:
    """Text in which nothing is a mark of Mermaid's."""
    return re.sub(r"[^\w\s.,:/%$+=()-]", lambda match: f"#{ord(match[0])};", text)
