"""Draw the screen of a command as an SVG: ``python -m docs.tools.terminal`` writes docs/images/answer.svg.

The picture holds what the command printed, so a change of the knowledge base can change it; tests/docs says when.
"""

from __future__ import annotations

import re
import shlex
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from docs.tools.command import COLUMNS, run

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = "kb-explain --model llama-3.1-8b --set concurrency=8 --date 2026-11-21"
PICTURE = Path(__file__).resolve().parents[1] / "images" / "answer.svg"

_CHARACTER, _LINE, _MARGIN, _BAR = 8.4, 18, 18, 34  # pixels; 8.4 is 0.6 of the font size, as monospaced fonts are
_CODE = re.compile(r"\x1b\[(\d+)m")
_CLASSES = {"1": "b", "2": "f", "31": "r", "32": "g", "33": "y"}
_STYLE = """
text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }
.b { font-weight: 700; fill: #ffffff } .f { fill: #8795a8 }
.r { fill: #ff8a80 } .g { fill: #8ee58e } .y { fill: #ffd479 }
"""


def picture(title: str, printed: str) -> str:
    """An SVG of a terminal that shows ``printed``, which may hold whygpu's colours."""
    lines = printed.rstrip("\n").split("\n")
    width, height = round(COLUMNS * _CHARACTER + 2 * _MARGIN), _BAR + len(lines) * _LINE + _MARGIN
    dots = "".join(f'<circle cx="{20 + 20 * n}" cy="17" r="6" fill="#3b4759"/>' for n in range(3))
    texts = "\n".join(_text(*run, number) for number, line in enumerate(lines) for run in _runs(line))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">\n<style>{_STYLE}</style>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#141b26"/>\n{dots}'
        f'<text class="f" x="84" y="22">{escape(title)}</text>\n{texts}\n</svg>\n'
    )


def shown(svg: str) -> list[str]:
    """The texts that a picture shows, its title first."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def _runs(line: str) -> Iterator[tuple[int, str, str]]:
    """Column, class and text of what stands together in a line: two blanks part it, so that columns stay aligned."""
    column, kind, letters = 0, "", []
    for part in re.split(r"(\x1b\[\d+m)", line):
        code = _CODE.fullmatch(part)
        if code is not None:
            kind = _CLASSES.get(code[1], "")
            continue
        letters += [(column + n, kind, letter) for n, letter in enumerate(part)]
        column += len(part)
    for kind, group in groupby(letters, key=lambda letter: letter[1]):
        held = list(group)
        text = "".join(letter for _, _, letter in held)
        for match in re.finditer(r"\S+(?: \S+)*", text):
            yield held[0][0] + match.start(), kind, match[0]


def _text(column: int, kind: str, text: str, line: int) -> str:
    x, y = _MARGIN + column * _CHARACTER, _BAR + (line + 1) * _LINE
    width = len(text) * _CHARACTER
    return f'<text class="{kind}" x="{x:.1f}" y="{y}" textLength="{width:.1f}">{escape(text)}</text>'


def answer() -> str:
    """The picture of the README."""
    status, printed = run(shlex.split(COMMAND), colour=True)
    if status != 0:
        raise RuntimeError(f"{COMMAND} ended with status {status}:\n{printed}")
    return picture(f"$ {COMMAND}", printed)


if __name__ == "__main__":
    PICTURE.write_text(answer(), encoding="utf-8")
