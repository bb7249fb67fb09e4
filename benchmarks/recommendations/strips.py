"""A sweep as SVG: one strip a setting, a step for each recommendation, as high as its USD an hour; logarithmic axes.

Steps carry the number that they have in the table below the plot, and their name where there is room for it.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from benchmarks.recommendations.sweeps import Stretch, Strip, Sweep

WIDTH = 1000
LEFT, RIGHT, TOP, BOTTOM = 90, 20, 30, 40
HEIGHT = 130
GAP = 26
LETTER = 5.8
"""Width of a letter at this size."""
COLOURS = (  # Okabe and Ito 2008, then lighter and other ones
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#66aad1",
    "#e69e66",
    "#66c5ab",
    "#e0afca",
    "#f0e442",
    "#8c6bb1",
    "#a6761d",
    "#66a61e",
    "#b2abd2",
    "#fdae61",
)
NOTHING = "#bbbbbb"


def draw(sweep: Sweep, strips: Sequence[Strip]) -> str:
    """The plot of all settings; the same accelerator has the same colour in all of them."""
    names = dict.fromkeys(
        point.first.accelerator
        for strip in strips
        for stretch in strip.stretches
        for point in stretch.points
        if point.first
    )
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    height = TOP + len(strips) * (HEIGHT + GAP) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="11">',
        f"<title>First recommendation by {html.escape(sweep.title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="16" font-weight="600" font-size="12">{html.escape(sweep.title)}</text>',
    ]
    for number, strip in enumerate(strips):
        parts += _strip(sweep, strip, TOP + number * (HEIGHT + GAP), colours)
    bottom = height - BOTTOM
    for power in range(
        math.ceil(math.log10(sweep.values[0]) - 1e-9), math.floor(math.log10(sweep.values[-1]) + 1e-9) + 1
    ):
        x = _x(sweep, 10.0**power)
        parts.append(f'<text x="{x:.1f}" y="{bottom}" text-anchor="middle" fill="#555">{short(10.0**power)}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{bottom + 18}" text-anchor="middle">{html.escape(sweep.unit)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def short(value: float) -> str:
    """A number with its suffix: 1k, 20M, 3B, 1T."""
    for limit, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.4g}{suffix}"
    return f"{value:.3g}"


def _x(sweep: Sweep, value: float) -> float:
    low, high = math.log(sweep.values[0]), math.log(sweep.values[-1])
    return LEFT + (math.log(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _edges(sweep: Sweep, strip: Strip) -> list[tuple[Stretch, float, float]]:
    """Each stretch with its left and right end: half way to its neighbours."""
    middles = [
        math.sqrt(before.span[1] * after.span[0])
        for before, after in zip(strip.stretches, strip.stretches[1:], strict=False)
    ]
    ends = [sweep.values[0], *middles, sweep.values[-1]]
    return [
        (stretch, _x(sweep, low), _x(sweep, high))
        for stretch, low, high in zip(strip.stretches, ends, ends[1:], strict=False)
    ]


def _strip(sweep: Sweep, strip: Strip, top: float, colours: dict[str, str]) -> list[str]:
    prices = [
        first.usd_per_hour for stretch in strip.stretches if (first := stretch.points[0].first) and first.usd_per_hour
    ]
    low, high = math.log10(min(prices, default=1)) - 0.3, math.log10(max(prices, default=1)) + 0.35
    floor = top + HEIGHT

    def height(price: float) -> float:
        return (math.log10(price) - low) / (high - low) * HEIGHT

    parts = [
        f'<text x="8" y="{top + 14}" font-weight="600">{html.escape(strip.setting)}</text>',
        f'<text x="8" y="{top + 28}" fill="#555">USD an hour</text>',
        f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT}" fill="none" stroke="#ccc"/>',
    ]
    for power in range(math.ceil(low), math.floor(high) + 1):
        y = floor - height(10.0**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{10.0**power:g}</text>')
    for number, (stretch, start, end) in enumerate(_edges(sweep, strip), 1):
        first = stretch.points[0].first
        rise = 14.0 if first is None or not first.usd_per_hour else height(first.usd_per_hour)
        colour = NOTHING if first is None else colours[first.accelerator]
        parts.append(
            f'<rect x="{start:.1f}" y="{floor - rise:.1f}" width="{end - start:.1f}" height="{rise:.1f}" '
            f'fill="{colour}" fill-opacity="0.6" stroke="#fff" stroke-width="0.6">'
            f"<title>{html.escape(stretch.label)}</title></rect>"
        )
        parts.append(_label(f"{number}: {stretch.label}", str(number), start, end, floor, rise))
    return parts


def _label(name: str, number: str, start: float, end: float, floor: float, rise: float) -> str:
    """The name above its step, or upright from the floor, or the number alone, as there is room."""
    middle = (start + end) / 2
    if end - start >= LETTER + 5 and len(name) * LETTER > end - start:
        place = f'transform="translate({middle + 3.5:.1f} {floor - 3:.1f}) rotate(-90)"'
    else:
        name = name if len(name) * LETTER <= end - start else number
        place = f'x="{middle:.1f}" y="{floor - rise - 4:.1f}" text-anchor="middle"'
    return f'<text {place} font-size="10">{html.escape(name)}</text>'
