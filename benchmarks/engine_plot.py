"""How long rule engines take by the number of rules, one panel for each number of candidates, as SVG."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WIDTH, HEIGHT, GAP, LEFT, TOP = 300, 240, 130, 55, 34
COLOURS = ("#0072b2", "#56b4e9", "#d55e00", "#cc79a7", "#009e73", "#777777")  # Okabe and Ito 2008


def draw(medians: Mapping[tuple[int, int], Mapping[str, float]]) -> str:
    """Milliseconds of each engine by (candidates, rules), both axes logarithmic."""
    panels = dict.fromkeys(candidates for candidates, _ in medians)
    values = [value for row in medians.values() for value in row.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    size = (LEFT + len(panels) * (WIDTH + GAP), TOP + HEIGHT + 45)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        'font-family="system-ui, sans-serif" font-size="11">',
        "<title>Milliseconds of one consultation by the number of rules</title>",
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>',
    ]
    for number, candidates in enumerate(panels):
        mine = {rules: row for (size_, rules), row in medians.items() if size_ == candidates}
        parts.append(f'<g transform="translate({LEFT + number * (WIDTH + GAP)} {TOP})">')
        parts.extend(_panel(candidates, mine, low, high))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _panel(candidates: int, rows: Mapping[int, Mapping[str, float]], low: int, high: int) -> Iterator[str]:
    least, most = math.log10(min(rows)), math.log10(max(rows))

    def x(rules: int) -> float:
        return (math.log10(rules) - least) / ((most - least) or 1) * WIDTH

    def y(value: float) -> float:
        return HEIGHT - (math.log10(value) - low) / (high - low) * HEIGHT

    yield f'<text x="0" y="-10" font-weight="600" font-size="12">{candidates} candidates</text>'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>'
    for rules in rows:
        yield f'<text x="{x(rules):.1f}" y="{HEIGHT + 14}" text-anchor="middle" fill="#555">{rules:,}</text>'
    for power in range(low, high + 1):
        place = y(10.0**power)
        yield f'<line x1="0" x2="{WIDTH}" y1="{place:.1f}" y2="{place:.1f}" stroke="#ddd"/>'
        yield f'<text x="-5" y="{place + 4:.1f}" text-anchor="end" fill="#555">{10.0**power:g}</text>'
    yield f'<text x="{WIDTH / 2}" y="{HEIGHT + 30}" text-anchor="middle">rules</text>'
    yield f'<text transform="translate(-42 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">ms a consultation</text>'
    last: float = -math.inf
    names = dict.fromkeys(name for row in rows.values() for name in row)
    ends = {name: max(rules for rules, row in rows.items() if name in row) for name in names}
    for name in sorted(names, key=lambda name: y(rows[ends[name]][name])):
        colour = COLOURS[list(names).index(name) % len(COLOURS)]
        points = " ".join(f"{x(rules):.1f},{y(row[name]):.1f}" for rules, row in rows.items() if name in row)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        last = max(y(rows[ends[name]][name]) + 4, last + 13)  # names do not overlap
        yield f'<text x="{WIDTH + 6}" y="{last:.1f}" fill="{colour}">{html.escape(name)}</text>'
