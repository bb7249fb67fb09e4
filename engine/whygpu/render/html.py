"""A view as one HTML page that needs nothing else: no script, no request, to be read, printed and kept."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from whygpu.render.markdown import document
from whygpu.render.style import Style, plain_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whygpu.render.view.model import Section, View

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem; }
body { color: #1b1b1b; background: #fff; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 1.8rem 0 0.5rem; border-bottom: 1px solid #767676; }
h3 { font-size: 1rem; margin: 1rem 0 0.3rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #c4c4c4; vertical-align: top; }
code { font-size: 0.85em; }
code, li { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; }
@media (prefers-color-scheme: dark) { body { color: #ececec; background: #16181c; }
  th, td { border-color: #4a4d55; } }
@media print { :root { font-size: 8pt; }
  body { max-width: none; padding: 0; font-size: 1rem; line-height: 1.25; color: #000; background: #fff; }
  main { columns: 2; column-gap: 2rem; }
  h1, main > p, table, h2:has(+ table) { column-span: all; }
  h2 { font-size: 1.1rem; margin: 0.6rem 0 0.2rem; } h3 { margin: 0.4rem 0 0.1rem; }
  p, ul { margin: 0.25rem 0; } ul { padding-left: 1.2rem; } td, th { padding-block: 0.1rem; }
  h2, h3 { break-after: avoid; } tr, li { break-inside: avoid; } table { display: table; } }
"""


def page(views: Sequence[View], sections: Iterable[Section] = ()) -> str:
    """The page; what it says is what the Markdown says."""
    reader = _markdown()
    tokens = reader.parse(document(views, sections))
    for token in tokens:
        if token.type == "table_open":
            token.attrSet("tabindex", "0")  # on a narrow screen it scrolls, with the keyboard too
    body = reader.renderer.render(tokens, reader.options, {})
    title = plain_markdown(" and ".join(view.headline.text for view in views)) or "whygpu"
    return Style(False).safe(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _markdown() -> MarkdownIt:
    found = MarkdownIt("commonmark", {"html": False}).enable("table")
    found.disable(["link", "image", "autolink", "html_block", "html_inline"])
    return found
