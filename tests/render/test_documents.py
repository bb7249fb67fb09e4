"""Markdown, HTML and graphs of an advice, read by parsers."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from tests.effort import one_in
from tests.render.cases import CASES, TODAY
from whygpu.render import graph
from whygpu.render.html import page
from whygpu.render.markdown import document
from whygpu.render.view import view_of
from whygpu.render.view.questions import why_not_sections

if TYPE_CHECKING:
    import whygpu
    from whygpu.render.view import View

NAMES = ("chat", "train-7b", "budget-too-small")


class Reader(HTMLParser):
    """What an HTML page has: its elements, balanced, and what they refer to."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("name", one_in(4, NAMES))
def test_markdown_has_every_part_and_parses(views: dict[str, View], name: str) -> None:
    view = views[name]
    text = document([view])
    tokens = MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)
    assert [token.type for token in tokens].count("table_open") == text.count("\n| --- ")
    headings = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]
    wanted = ["Assumed"] if view.trouble else ["Needs and figures", "Shortlist", "Why", "Assumed", "Sources"]
    assert set(wanted) <= set(headings)
    for row in view.reasons:
        assert f"`{row.evidence.rule}`" in text


@pytest.mark.parametrize("name", CASES)
def test_a_page_needs_nothing_else(views: dict[str, View], name: str) -> None:
    reader = Reader()
    text = page([views[name]])
    reader.feed(text)
    assert reader.open == []
    assert not {"script", "img", "iframe", "link", "a", "form"} & set(reader.seen)
    assert not [value for key, value in reader.attributes if key in ("src", "href", "style") or key.startswith("on")]
    assert ("lang", "en") in reader.attributes
    assert reader.seen.count("h1") == 1
    assert {"main", "title"} <= set(reader.seen)
    assert "@import" not in text
    assert "url(" not in text


def test_names_of_others_stay_text(kb: whygpu.KnowledgeBase) -> None:
    name = "<script>alert(1)</script> [x](http://e.example) ![y](z) | `q` &lt; ]]>"
    advice = kb.advise({"model": {"parameters": "8B", "name": name}}, engine="evaluator", today=TODAY)
    reader = Reader()
    reader.feed(page([view_of(advice)]))
    assert "script" not in reader.seen
    assert "a" not in reader.seen
    assert "<script>alert(1)</script> [x](http://e.example)" in "".join(reader.text)


def test_a_why_not_is_drawn_by_every_renderer(advised: dict[str, whygpu.Advice], views: dict[str, View]) -> None:
    advice = advised["chat"]
    sections = list(why_not_sections(advice, "T4", advice.why_not("T4")))
    text = document([views["chat"]], sections)
    assert f"## {sections[0].title}"[:20] in text
    assert sections[0].title.split(",")[0] in page([views["chat"]], sections)


@pytest.mark.parametrize("name", ["chat", "train-7b"])
def test_graphs_run_from_what_is_known_to_the_recommendation(
    advised: dict[str, whygpu.Advice], views: dict[str, View], name: str
) -> None:
    import networkx as nx  # noqa: PLC0415  as the renderer does

    advice = advised[name]
    found = graph.proof_graph(advice, views[name])
    assert nx.is_directed_acyclic_graph(found)
    assert [node for node in found if found.out_degree(node) == 0] == ["plan"]
    assert {"answer", "plan"} <= {data["kind"] for _, data in found.nodes(data=True)}
    mermaid, dot = graph.mermaid(found), graph.dot(found)
    assert mermaid.count("-->") == dot.count("->") == found.number_of_edges()
    assert mermaid.startswith("flowchart TD\n")
    assert len(re.findall(r"^  n\d+ \[label=", dot, re.MULTILINE)) == len(found)


def test_nothing_recommended_is_an_empty_graph(advised: dict[str, whygpu.Advice], views: dict[str, View]) -> None:
    found = graph.proof_graph(advised["budget-too-small"], views["budget-too-small"])
    assert graph.dot(found).splitlines()[0] == "digraph why {"
    assert len(found) == 0
