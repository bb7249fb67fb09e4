"""Texts must reach the page as they are, and fetch nothing."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from whygpu_ui.markdown import code, literal, rendered


@pytest.mark.parametrize(
    "text",
    [
        "$0.39 an hour",
        "2 * 3 * 4",
        "<img src=x>",
        "![x](http://evil.example/x.png)",
        "a_b_c",
        "# no heading",
        "`x`",
        "1. one",
    ],
)
def test_literal_text_comes_out_as_it_went_in(text: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": False}).parse(literal(text))
    inline = [child for token in tokens if token.type == "inline" for child in token.children or []]
    assert {child.type for child in inline} <= {"text", "text_special"}
    assert "".join(child.content for child in inline).replace("\N{WORD JOINER}", "") == text


# What Streamlit makes links of in the text that is left once escapes are read (mdast-util-gfm-autolink-literal).
_LINKED = re.compile(
    r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)|([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)", re.ASCII | re.IGNORECASE
)


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/a", "HTTP://evil.example", "www.evil.example", "WWW.evil.example", "a.b@evil.example"],
)
def test_no_text_of_others_becomes_a_link(address: str) -> None:
    text = f"there is no answer '{address}'"
    tokens = MarkdownIt("commonmark", {"html": False}).parse(literal(text))
    shown = "".join(child.content for token in tokens for child in token.children or [])
    assert _LINKED.search(text)
    assert not _LINKED.search(shown)


def test_rendered_text_keeps_its_marks_but_no_formula_deletion_or_image() -> None:
    text = rendered("**Costs** $2 or ~5 GB, ~6 at most: `a$b` ![x](http://evil.example)")
    assert text == "**Costs** \\$2 or \\~5 GB, \\~6 at most: `a$b` !\\[x](http://evil.example)"


@pytest.mark.parametrize(("text", "span"), [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("", "")])
def test_code_spans_hold_backticks(text: str, span: str) -> None:
    assert code(text) == span
