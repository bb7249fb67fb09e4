"""Numbers as people write them (8B, 32k, 16GiB, $2.50) and as whygpu shows them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Commas set off thousands and nothing else: "1,5" could be one and a half, so it is no number here.
_NUMBER = re.compile(
    r"\$?\s*([-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])|[0-9][0-9_]*)\.?[0-9]*(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+)"
    r"\s*([A-Za-z/%]*)\Z"
)
_DECIMAL = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}
_BYTE_UNITS = ("bytes", "GiB", "MiB")
_SECONDS = {
    **{"us": 1e-6, "ms": 1e-3, **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0)},
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("week", "weeks"), 604_800.0),
    **dict.fromkeys(("month", "months"), 2_628_000.0),
}
"""A month has 730 hours, as clouds bill it."""
_PERIODS = {**_SECONDS, "mo": _SECONDS["month"], "year": 31_536_000.0}
"""Seconds that a price may be for."""
_POWERS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_COUNTED = {
    "requests": ("users", "people"),
    "streams": ("cameras", "calls"),
    "hours of sound": ("hours", "h"),
}
"""By unit, what people count in its place."""
_CURRENCY = re.compile(r"(?:usd|us\$|\$)\s*(?=[0-9.])|(?<=[0-9kKmMbB.])\s*(?:usd|us\$|\$|dollars?)\Z", re.IGNORECASE)
_WORD = 3
"""Letters of what may be a plural: "ms" is none of "m"."""
_PER = re.compile(r"\s*(?:/|per|an?)\s*([a-z]+)\Z", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+(?![0-9])")
_TIME_UNITS = ("ms", "s", "minutes", "h", "hours", "days")
_TENTH, _HUNDREDTH = 0.1, 0.01
"""From the one to 1 a number is shown to the other."""
_FAR = 24
"""A time of which another is more times as long has a unit of its own."""
_SHOWN_TIMES = (("s", 1.0, 1.0), ("min", 60.0, 120.0), ("hours", 3600.0, 3600.0), ("days", 86_400.0, 864_000.0))
"""Units of time, their seconds, and the seconds from which a time is shown in them."""
_WHOLE_DAYS = 345_600.0
"""Seconds from which a time of whole days is shown in days."""
"""In which unit a time is shown, the seconds of one, and from how many seconds on; what is shorter is in ms where it is
counted in ms, and otherwise in seconds.
"""
GIB = 2.0**30
MIB = 2.0**20
MAX_TEXT = 60


def parse_number(text: str, unit: str | None = None) -> float | None:
    """Read a number with an optional suffix; None where it is not one.

    ``k``, ``M``, ``B`` (or ``G``) and ``T`` are powers of 1,000, ``Ki`` to ``Ti`` of 1,024. For a quantity in bytes,
    ``GiB`` and ``GB`` are sizes, and a time may be in any unit of time ("8s", "12 min", "3 h"), but not in "m", which
    is minutes to some and millions to others; otherwise the suffix may repeat the quantity's own ``unit``, which may
    follow one as a word, too ("20M tokens", "1 stream", "$4 an hour"). A price may be for another time ("$9 a day"),
    powers may be words ("100 billion"), and spaces set off thousands.
    """
    if len(text) > MAX_TEXT:
        return None
    text, power = _without_words(text.strip(), unit)
    match = _NUMBER.match(text)
    if match is None:
        return None
    try:  # in decimals: 8.03 times 1e9 in floats is no whole number
        value = Decimal(match.group(1).replace(",", "").replace("_", ""))
    except ArithmeticError:
        return None
    suffix = match.group(2)
    if not math.isfinite(float(value)):
        return None
    if suffix and unit is not None and suffix.lower() in (unit.lower(), *_COUNTED.get(unit, ())):
        return float(value)
    scale = _scale(suffix.lower(), unit)
    return None if scale is None else float(value * Decimal(repr(scale)) * Decimal(repr(power)))


def _without_words(text: str, unit: str | None) -> tuple[str, float]:
    """The text without the words of its unit, the currency and spaces between thousands; and what it is to be
    multiplied by: the power that a word stood for, and another time that a price is for.
    """
    times = 1.0
    text = text.removesuffix(f" {unit}")
    what, _, per = (unit or "").partition("/")
    if per and (found := _PER.search(text)) is not None and _alike(found[1], per):
        text = text[: found.start()]
    elif what == "USD" and per and (found := _PER.search(text)) is not None and found[1].lower() in _PERIODS:
        text, times = text[: found.start()], _PERIODS[per] / _PERIODS[found[1].lower()]
    if what == "USD":
        text = _CURRENCY.sub("", text).strip()
    number, _, word = text.rpartition(" ")
    if unit is not None and number and any(_alike(word, name) for name in (unit, *_COUNTED.get(unit, ()))):
        text = number
    number, _, word = text.rpartition(" ")
    power = _POWERS.get(word.lower(), 1.0) if number else 1.0
    text = (number if power > 1 else text).strip()
    return _THOUSANDS.sub(lambda found: re.sub(r"\s", "", found[0]), text, count=1), power * times


def _alike(word: str, name: str) -> bool:
    """Whether a word is a name, in the singular or the plural, or short for it."""
    one, other = (text.lower() if len(text) < _WORD else text.lower().removesuffix("s") for text in (word, name))
    return one == other or _SECONDS.get(word.lower()) == _SECONDS.get(name.lower(), math.nan)


def _scale(suffix: str, unit: str | None) -> float | None:
    if unit in _BYTE_UNITS:
        own = {"bytes": 1.0, "GiB": GIB, "MiB": MIB}[unit]
        if suffix.endswith("b") and len(suffix) > 1:
            suffix = suffix[:-1]
            size = _BINARY.get(suffix) or _DECIMAL.get(suffix)
            return None if size is None else size / own
        return 1.0 if not suffix else None
    if unit in _TIME_UNITS and suffix:
        seconds = _SECONDS.get(suffix)
        return None if seconds is None else seconds / _SECONDS[unit]
    if unit == "share" and suffix == "%":
        return 0.01
    return _DECIMAL.get(suffix) or _BINARY.get(suffix)


def parse_pixels(text: str) -> float | None:
    """An image size: "1920x1080" or pixels a side, as the area in pixels; None where it is neither."""
    sides = [side.strip() for side in text.lower().replace("×", "x").split("x")]
    sides = [
        whole if rest and not rest.strip("0") else side for side in sides for whole, _, rest in [side.partition(".")]
    ]
    if not all(side.isdigit() and len(side) <= 6 for side in sides) or len(sides) > 2:
        return None
    return float(int(sides[0]) * int(sides[-1]))


def _singular(unit: str) -> str:
    """Of a unit in the plural: pass, copy, micro-batch, request."""
    if unit.endswith("ies"):
        return f"{unit[:-3]}y"
    return unit[:-2] if unit.endswith(("sses", "ches", "xes")) else unit[:-1]


def side_by_side(one: str, two: str) -> str:
    """Two figures beside each other, as they are shown."""
    return f"{one} in both cases" if one == two else f"{one} against {two}"


def _shown_in(value: float, unit: str | None) -> tuple[float, str | None]:
    """What a value is multiplied by before it is written, and its unit then: a time is in the unit that fits it."""
    if unit not in ("ms", "s", "hours") or value == 0 or not math.isfinite(value):
        return 1.0, unit
    own = _SECONDS[unit]
    shortest = ("ms", _SECONDS["ms"]) if unit == "ms" else ("s", 1.0)
    seconds = abs(value) * own
    name, size = next(((name, size) for name, size, least in reversed(_SHOWN_TIMES) if seconds >= least), shortest)
    if seconds >= _WHOLE_DAYS and not seconds % _SECONDS["days"]:
        name, size = "days", _SECONDS["days"]
    return (1.0, unit) if size == own else (own / size, name)


def show(value: float, unit: str | None = None, beside: Iterable[float] = ()) -> str:
    """A number for reading: three significant digits or so, thousands separated, the unit after it; a time in ms, s,
    min, hours or days, as fits it, or the longest of those in the same unit that it stands ``beside``.
    """
    scale, shown = _shown_in(longest(value, *beside), unit)
    return _written(value * scale, shown)


def as_shown(value: float, towards: Callable[[float], float] = round) -> float:
    """The number that is read where this one is shown, or one beside it: ``math.ceil`` is ``towards`` the larger."""
    if not value or not math.isfinite(value):
        return value
    step = _HUNDREDTH if _TENTH <= abs(value) < 1 else 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    return float(f"{towards(round(value / step, 9)) * step:.12g}")


def longest(value: float, *beside: float) -> float:
    """The figure whose unit of time suits all: the longest of those that are not far longer than the first."""
    return max((value, *(other for other in beside if abs(value) < abs(other) <= _FAR * abs(value))), key=abs)


def show_ends(low: float, high: float, unit: str | None = None, like: float | None = None) -> str:
    """Both ends of a range without their unit, in the one in which ``like`` is shown (by default, the upper end)."""
    scale, shown = _shown_in(high if like is None else like, unit)
    kept = shown if shown == "share" else None
    return f"{_written(low * scale, kept)} to {_written(high * scale, kept)}"


def show_range(low: float, high: float, unit: str | None = None) -> str:
    """Both ends of a range in one unit, which is said once: "7.83 to 26.6 s"."""
    if unit is not None and unit.startswith("USD"):
        return f"{show(low, 'USD')} to {show(high, unit)}"
    scale, shown = _shown_in(high, unit)
    return f"{_written(low * scale, 'share' if shown == 'share' else None)} to {_written(high * scale, shown)}"


def show_with_range(low: float, likely: float, high: float, unit: str | None = None) -> str:
    """A figure and its range in one unit: "26.6 s (7.83 to 40.1)"; the figure alone where there is no range."""
    return show(likely, unit) + ("" if low == high else f" ({show_ends(low, high, unit, likely)})")


def _written(value: float, unit: str | None) -> str:
    """A number with its unit, in that unit."""
    if not math.isfinite(value):
        return "unknown"
    if unit == "share":
        return f"{100 * value:.1f}%"
    size = abs(value)
    if unit == "USD" and 0 < value < 0.005:
        return "under a cent"
    if unit in ("parameters", "tokens", "FLOPs", "samples", "bytes", None) and size >= 1e6:
        for scale, letter in ((1e15, "P"), (1e12, "T"), (1e9, "B"), (1e6, "M")):
            if size >= 0.9995 * scale:  # what rounds to a thousand of one is one of the next
                text = f"{value / scale:.3g}{letter}"
                break
    elif value == int(value) and size < 1e15:
        text = f"{int(value):,}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 100:
        text = f"{value:.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= _TENTH:
        text = f"{value:.2f}".rstrip("0").rstrip(".")
    elif size >= 0.01:
        text = f"{value:.3g}"
    else:
        text = f"{value:.2g}"
    if unit is None or unit in ("parameters", "tokens", "count"):
        return text
    if unit.startswith("USD"):
        cents = f"{value:,.2f}" if 0.01 <= size < 1000 and value != int(value) else text
        return f"${cents}{unit.removeprefix('USD')}"
    what, per, rest = unit.partition(" of " if " of " in unit else "/")
    if text == "1" and what.endswith("s") and what.islower() and len(what) > 2:
        what = _singular(what)  # one request, one stream a second
    return f"{text} {what}{per}{rest}"
