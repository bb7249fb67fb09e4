"""Texts as Streamlit's Markdown: the knowledge base's own marks kept, everything else taken literally."""

from __future__ import annotations

import re

from whygpu_ui.session import item_address

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
# Streamlit's Markdown makes links of bare addresses, escaped or not (GitHub's extended autolinks, spec section 6.9): an
# invisible joiner after what each begins with keeps them text.
_ADDRESS = re.compile(r"://|www\.|@", re.IGNORECASE)
_JOINER = "\N{WORD JOINER}"
_SURPRISES = re.compile(r"\\?(\$|~|!\[)")


def literal(text: object) -> str:
    """Text shown as it is: what a user typed, or a file or address said, is never Markdown, nor a link."""
    flat = _ADDRESS.sub(_broken, " ".join(str(text).split()))
    return _SPECIAL.sub(r"\\\1", flat)


def _broken(match: re.Match[str]) -> str:
    """The mark of an address with a joiner in it, or behind a single one."""
    mark = match[0]
    return f"{mark[:-1]}{_JOINER}{mark[-1]}" if mark != "@" else f"@{_JOINER}"


def rendered(text: str) -> str:
    """Markdown of the knowledge base.

    Dollar signs and tildes stay what they are (Streamlit reads formulas and deletions into prices and "~5 GB"), and
    images, the one mark that would fetch something, are not drawn. Code spans are left alone. Raw HTML is off in
    ``st.markdown`` by default.
    """
    found: list[str] = []
    end = 0
    for code in _CODE.finditer(text):
        found += [_plain(text[end : code.start()]), code.group()]
        end = code.end()
    return "".join([*found, _plain(text[end:])])


def _plain(text: str) -> str:
    return _SURPRISES.sub(lambda match: "\\" + match.group(1) if match.group(1) != "![" else "!\\[", text)


def known(item: str) -> str:
    """The id of an item of the knowledge as a link to its page, which opens beside this one."""
    return f"[{code(item)}]({item_address(item)})"


def code(text: object) -> str:
    """Text in a code span, whatever backticks it holds."""
    flat = " ".join(str(text).split())
    fence = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""
