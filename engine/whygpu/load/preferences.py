"""Reads ranking.yaml: what verdicts, speed and priorities are worth, and the roles of the shortlist."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.knowledge import CRITERIA, STRENGTHS
from whygpu.load.fields import Fields, problem
from whygpu.preferences import ROLES, Handling, Money, Preferences, PriorityWorth, Role, SpeedWorth, Worth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.load.conditions import Reading
    from whygpu.load.document import Node


_TIMES = ("token_ms", "ttft_ms", "train_hours")
"""Figures of speed of which less is better."""


def read_preferences(nodes: list[Node], reading: Reading) -> Preferences:
    """What preferences are worth; the empty ones where no file has ``ranking:``."""
    if not nodes:
        return Preferences()
    for other in nodes[1:]:
        problem(reading.problems, other, "duplicate-id", "'ranking' is there twice", "keep one file with it")
    fields = Fields.of(nodes[0], "'ranking'", reading.problems)
    if fields is None:
        return Preferences()
    preferences = Preferences(
        worths=MappingProxyType({item.strength: item for item in _worths(fields, reading)}),
        money=_money(fields, reading),
        handling=_handling(fields, reading),
        tied_within=_share(fields, "tied_within"),
        speeds=tuple(_speeds(fields, reading)),
        priorities=MappingProxyType({item.priority: item for item in _priorities(fields, reading)}),
        roles=tuple(_roles(fields)),
        shortlist_at_most=_factor(fields, "shortlist_at_most") or math.inf,
    )
    fields.done()
    for strength in STRENGTHS:
        if strength not in preferences.worths:
            message = f"'ranking' does not say what a {strength} verdict is worth"
            problem(reading.problems, fields.node, "missing-key", message, "add it to 'worths'")
    return preferences


def _worths(fields: Fields, reading: Reading) -> Iterator[Worth]:
    least = 1.0
    for item in fields.mappings("worths", "a worth", required=True):
        strength = item.choice("strength", STRENGTHS, required=True)
        worth = _factor(item, "worth", required=True)
        because, sources = _why(item, reading)
        item.done()
        if strength is None or worth is None:
            continue
        if worth < least:
            message = f"a {strength} verdict is worth {worth:g}, less than the weaker one above it ({least:g})"
            problem(reading.problems, item.node, "bad-worth", message, "list them from mild to strong, each worth more")
        least = max(least, worth)
        yield Worth(strength, worth, because, sources)


def _factor(item: Fields, key: str, *, required: bool = False) -> float | None:
    """A number of times the money: at least 1, since a preference never makes what it favours count for more."""
    value = item.number(key, required=required)
    if value is not None and value < 1:
        problem(
            item.problems,
            item.node.items[key],
            "bad-worth",
            f"'{key}' of {item.what} is {value:g}; it must be at least 1",
            "1 is no preference, 1.5 is half as much money again",
        )
        return None
    return value


def _share(item: Fields, key: str) -> float:
    value = item.number(key, required=True)
    if value is not None and not 0 <= value < 1:
        message = f"'{key}' of {item.what} is {value:g}; it must be from 0 to less than 1"
        problem(item.problems, item.node.items[key], "out-of-range", message, "0.1 is a tenth")
        return 0.0
    return value or 0.0


def _why(item: Fields, reading: Reading) -> tuple[str, tuple[str, ...]]:
    return " ".join((item.text("because", required=True) or "").split()), reading.cited(item, required=False)


def _money(fields: Fields, reading: Reading) -> Money | None:
    node = fields.get("money", required=True)
    item = Fields.of(node, "'money'", reading.problems) if node is not None else None
    if item is None:
        return None
    because, sources = _why(item, reading)
    item.done()
    return Money(because, sources)


def _handling(fields: Fields, reading: Reading) -> Handling | None:
    node = fields.get("handling", required=True)
    item = Fields.of(node, "'handling'", reading.problems) if node is not None else None
    if item is None:
        return None
    usd, hours = item.number("usd_per_hour", required=True), item.number("hours_per_job", required=True)
    because, sources = _why(item, reading)
    item.done()
    for key, value in (("usd_per_hour", usd), ("hours_per_job", hours)):
        if value is not None and value < 0:
            message = f"'{key}' of {item.what} is {value:g}; it must be 0 or more"
            problem(reading.problems, item.node.items[key], "out-of-range", message)
    return None if usd is None or hours is None else Handling(usd, hours, because, sources)


def _speeds(fields: Fields, reading: Reading) -> Iterator[SpeedWorth]:
    for item in fields.mappings("speeds", "the worth of a speed", required=True):
        figure = item.choice("figure", _TIMES, required=True)
        limits = [spec.answer for spec in reading.vocabulary.values() if spec.answer is not None]
        limit = item.choice("limit", limits)
        twice = _factor(item, "twice", required=True)
        points = [item.number(key, required=True) for key in ("enough", "usual", "loose")]
        because, sources = _why(item, reading)
        item.done()
        if figure is None or twice is None or None in points:
            continue
        enough, usual, loose = (value or 0.0 for value in points)
        if 0 < enough < usual < loose / 2:
            yield SpeedWorth(figure, limit, twice, usual, enough, loose, because, sources)
        else:
            message = f"{item.what} needs 0 < enough < usual < half of loose, not {enough:g}, {usual:g}, {loose:g}"
            problem(reading.problems, item.node, "out-of-range", message)


def _priorities(fields: Fields, reading: Reading) -> Iterator[PriorityWorth]:
    known = [value for spec in reading.vocabulary.values() if spec.answer == "priority" for value in spec.values]
    for item in fields.mappings("priorities", "a priority", required=True):
        priority = item.choice("priority", known, required=True)
        power = item.number("all_factors")
        criterion, squared = item.choice("criterion", CRITERIA), item.number("criterion_power")
        speed, watts = _factor(item, "twice_the_speed"), _factor(item, "half_the_power")
        because, sources = _why(item, reading)
        item.done()
        for key, value in (("all_factors", power), ("criterion_power", squared)):
            if value is not None and value < 0:
                message = f"'{key}' of {item.what} is {value:g}; it must be 0 or more"
                help_text = "1 changes nothing, and 0 makes it count for nothing"
                problem(reading.problems, item.node.items[key], "out-of-range", message, help_text)
        if priority is not None:
            all_factors, own = (1.0 if value is None else value for value in (power, squared))
            yield PriorityWorth(priority, all_factors, criterion, own, speed, watts, because, sources)


def _roles(fields: Fields) -> Iterator[Role]:
    for item in fields.mappings("roles", "a role", required=True):
        role = item.choice("role", ROLES, required=True)
        within = _share(item, "within") if "within" in item else 0.0
        because = " ".join((item.text("because", required=True) or "").split())
        item.done()
        found = next((known for known in ROLES if known == role), None)
        if found is not None:
            yield Role(found, within, because)
