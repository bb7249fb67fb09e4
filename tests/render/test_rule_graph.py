"""The graph around one rule: what it rests on, and what rests on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.knowledge.rules import concluded_names
from whygpu.render.graph import mermaid, rule_graph

if TYPE_CHECKING:
    from whygpu import KnowledgeBase


def test_claims_lead_to_the_rule_and_the_rule_to_what_reads_its_conclusion(kb: KnowledgeBase) -> None:
    knowledge = kb.knowledge
    rule = next(
        item for item in knowledge.rules if list(concluded_names([item])) and item.sources[0] in knowledge.claims
    )
    graph = rule_graph(knowledge, rule)
    name = next(iter(concluded_names([rule])))
    assert graph.has_edge("claims", rule.id)
    assert rule.sources[0] in graph.nodes["claims"]["text"]
    assert graph.has_edge(rule.id, name)
    assert rule.title.split()[0] in mermaid(graph)


def test_what_it_overrides_is_below_it(kb: KnowledgeBase) -> None:
    rule = next(item for item in kb.knowledge.rules if item.overrides)
    assert rule_graph(kb.knowledge, rule).has_edge(rule.id, rule.overrides[0])
    assert rule_graph(kb.knowledge, kb.knowledge.rule_by_id[rule.overrides[0]]).has_edge(rule.id, rule.overrides[0])
