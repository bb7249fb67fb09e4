"""Predicted against measured, one panel a kind of figure, one colour a family, as SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from benchmarks.accuracy.rows import Compared

SIDE = 250
GAP = 70
TOP = 34
COLUMNS = 4
LEGEND_LINE = 15
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito 2008


def draw(kinds: Mapping[str, Sequence[Compared]]) -> str:
    """Panels on logarithmic axes; the diagonal is agreement, the dashed lines are 30% off."""
    families = max(len({row.family for row in rows}) for rows in kinds.values())
    height = TOP + SIDE + 40 + families * LEGEND_LINE
    lines = math.ceil(len(kinds) / COLUMNS)
    size = (COLUMNS * (SIDE + GAP) + 20, lines * height + 10)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        'font-family="system-ui, sans-serif" font-size="11">',
        "<title>Estimates against measurements, by kind and family</title>",
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>',
    ]
    for number, (kind, rows) in enumerate(kinds.items()):
        left, top = number % COLUMNS * (SIDE + GAP) + 45, number // COLUMNS * height + TOP
        parts.append(f'<g transform="translate({left} {top})">')
        parts.extend(_panel(kind, rows))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _panel(kind: str, rows: Sequence[Compared]) -> list[str]:
    values = [value for row in rows for value in (row.measured, row.likely)]
    low, high = math.log10(min(values)) - 0.1, math.log10(max(values)) + 0.1

    def at(value: float) -> float:
        return (math.log10(value) - low) / (high - low) * SIDE

    def line(factor: float, style: str) -> str:
        shift = math.log10(factor) / (high - low) * SIDE
        start, end = max(0.0, -shift), min(float(SIDE), SIDE - shift)
        ends = f'x1="{start:.1f}" y1="{SIDE - start - shift:.1f}" x2="{end:.1f}" y2="{SIDE - end - shift:.1f}"'
        return f"<line {ends} {style}/>"

    parts = [
        f'<text x="0" y="-10" font-weight="600" font-size="12">{html.escape(kind)} ({len(rows)})</text>',
        f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
        line(1, 'stroke="#444"'),
        line(1.3, 'stroke="#aaa" stroke-dasharray="4 3"'),
        line(1 / 1.3, 'stroke="#aaa" stroke-dasharray="4 3"'),
    ]
    for power in range(math.ceil(low), math.floor(high) + 1, 1 if high - low < 5 else 2):
        place = at(10.0**power)
        parts.append(f'<text x="{place:.1f}" y="{SIDE + 13}" text-anchor="middle" fill="#555">{10.0**power:g}</text>')
        parts.append(f'<text x="-4" y="{SIDE - place + 4:.1f}" text-anchor="end" fill="#555">{10.0**power:g}</text>')
    parts.append(f'<text x="{SIDE / 2}" y="{SIDE + 27}" text-anchor="middle">measured (own units)</text>')
    parts.append(f'<text transform="translate(-34 {SIDE / 2}) rotate(-90)" text-anchor="middle">estimated</text>')
    for number, family in enumerate(dict.fromkeys(row.family for row in rows)):
        colour = COLOURS[number % len(COLOURS)]
        mine = [row for row in rows if row.family == family]
        dots = "".join(
            f'<circle cx="{at(row.measured):.1f}" cy="{SIDE - at(row.likely):.1f}" r="2.4"/>' for row in mine
        )
        y = SIDE + 42 + number * LEGEND_LINE
        parts.append(f'<g fill="{colour}" fill-opacity="0.65">{dots}<circle cx="5" cy="{y - 4}" r="4"/></g>')
        parts.append(f'<text x="14" y="{y}">{html.escape(family)} ({len(mine)})</text>')
    return parts
