"""Reads ranking.yaml: what verdicts, speed and priorities are worth, and the roles of the shortlist."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

from whygpu.errors import did_you_mean
from whygpu.knowledge.preferences import (
    ROLES,
    Handling,
    Money,
    NoAnswer,
    Preferences,
    PriorityWorth,
    Role,
    SpeedWorth,
    Worth,
)
from whygpu.knowledge.rules import CRITERIA, STRENGTHS
from whygpu.yamldoc.document import Scalar, Sequence
from whygpu.yamldoc.fields import Fields, problem
from whygpu.yamldoc.forms import NUMBER, TEXT, TEXTS, WORD, list_of, needed, one_of, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.loader.conditions import Reading
    from whygpu.yamldoc.document import Node
    from whygpu.yamldoc.forms import Form, Kind


_TIMES = ("token_ms", "ttft_ms", "train_hours")
"""Figures of speed of which less is better."""
_PAIR = ("criterion", "criterion_power")
"""Which criterion a priority changes, and how: one is nothing without the other."""
_WHY: dict[str, Kind] = {"because": needed(TEXT), "source": TEXTS}
_NEEDED = needed(NUMBER)
WORTH: Form = MappingProxyType({"strength": needed(one_of(STRENGTHS)), "worth": _NEEDED, **_WHY})
MONEY: Form = MappingProxyType(_WHY)
HANDLING: Form = MappingProxyType(
    {
        "usd_per_hour": _NEEDED,
        "own_usd_per_hour": NUMBER,
        "field_usd_per_hour": NUMBER,
        "hours_per_job": _NEEDED,
        **_WHY,
    }
)
_POINTS = ("enough", "usual", "loose")
SPEED: Form = MappingProxyType(
    {"figure": needed(one_of(_TIMES)), "limit": TEXT, **dict.fromkeys(("twice", *_POINTS), _NEEDED), **_WHY}
)
_FACTORS = ("all_factors", "criterion_power", "twice_the_speed", "half_the_power")
PRIORITY: Form = MappingProxyType(
    {"priority": needed(WORD), "criterion": one_of(CRITERIA), **dict.fromkeys(_FACTORS, NUMBER), **_WHY}
)
NO_ANSWER: Form = MappingProxyType(
    {"criteria": needed(one_of(CRITERIA, many=True)), "together": _NEEDED, "because": needed(TEXT)}
)
ROLE: Form = MappingProxyType({"role": needed(one_of(ROLES)), "within": NUMBER, "because": needed(TEXT)})
RANKING: Form = MappingProxyType(
    {
        "worths": needed(list_of(WORTH)),
        "money": needed(record(MONEY)),
        "handling": needed(record(HANDLING)),
        "tied_within": _NEEDED,
        "close_within": NUMBER,
        "no_answer": record(NO_ANSWER),
        "speeds": needed(list_of(SPEED)),
        "priorities": needed(list_of(PRIORITY)),
        "roles": needed(list_of(ROLE)),
        "shortlist_at_most": NUMBER,
    }
)


def read_preferences(nodes: list[Node], reading: Reading) -> Preferences:
    """What preferences are worth; the empty ones where no file has ``ranking:``."""
    if not nodes:
        return Preferences()
    for other in nodes[1:]:
        problem(reading.problems, other, "duplicate-id", "'ranking' is there twice", "keep one file with it")
    fields = Fields.of(nodes[0], "'ranking'", reading.problems, RANKING)
    if fields is None:
        return Preferences()
    preferences = Preferences(
        worths=MappingProxyType({item.strength: item for item in _worths(fields, reading)}),
        money=_money(fields, reading),
        handling=_handling(fields, reading),
        tied_within=_share(fields, "tied_within"),
        close_within=_share(fields, "close_within"),
        no_answer=_no_answer(fields),
        speeds=tuple(_speeds(fields, reading)),
        priorities=MappingProxyType({item.priority: item for item in _priorities(fields, reading)}),
        roles=tuple(_roles(fields)),
        shortlist_at_most=_factor(fields, "shortlist_at_most") or math.inf,
    )
    fields.done()
    return preferences


def _named(fields: Fields, section: str, key: str) -> Iterator[Fields]:
    """The items of a list, each called by what it says under ``key``; two that say the same are a problem."""
    seen: set[str] = set()
    for item in fields.mappings(section, f"a {key}"):
        node = item.node.items.get(key)
        if isinstance(node, Scalar):
            item.what = f"{key} '{node.text}'"
            if node.text in seen:
                problem(item.problems, node, "duplicate-id", f"{item.what} is there twice", "remove one")
            seen.add(node.text)
        yield item


def _worths(fields: Fields, reading: Reading) -> Iterator[Worth]:
    found: dict[str, tuple[float, Fields]] = {}
    named: set[str] = set()
    for item in _named(fields, "worths", "strength"):
        strength = item.choice("strength")
        worth = _factor(item, "worth")
        because, sources = _why(item, reading)
        item.done()
        named.update({strength} if strength is not None else STRENGTHS)  # which one was misspelt is unknown
        if strength is not None and worth is not None:
            found[strength] = (worth, item)
            yield Worth(strength, worth, because, sources)
    for strength in STRENGTHS:
        if strength not in named and isinstance(fields.node.items.get("worths"), Sequence):
            message = f"'ranking' does not say what a {strength} verdict is worth"
            problem(reading.problems, fields.node, "missing-key", message, "add it to 'worths'")
    least = 1.0
    for strength in STRENGTHS:
        worth, node = found.get(strength, (least, fields))
        if worth < least:
            message = f"a {strength} verdict is worth {worth:g}, less than a weaker one ({least:g})"
            problem(reading.problems, node.node, "bad-worth", message, "a stronger verdict is worth no less")
        least = max(least, worth)


def _factor(item: Fields, key: str) -> float | None:
    """A number of times the money: at least 1, since a preference never makes what it favours count for more."""
    value = item.number(key)
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
    value = item.number(key)
    if value is not None and not 0 <= value < 1:
        message = f"'{key}' of {item.what} is {value:g}; it must be from 0 to less than 1"
        problem(item.problems, item.node.items[key], "out-of-range", message, "0.1 is a tenth")
        return 0.0
    return value or 0.0


def _why(item: Fields, reading: Reading) -> tuple[str, tuple[str, ...]]:
    return " ".join((item.text("because") or "").split()), reading.cited(item)


def _money(fields: Fields, reading: Reading) -> Money | None:
    item = fields.inside("money", "'money'")
    if item is None:
        return None
    because, sources = _why(item, reading)
    item.done()
    return Money(because, sources)


def _handling(fields: Fields, reading: Reading) -> Handling | None:
    item = fields.inside("handling", "'handling'")
    if item is None:
        return None
    keys = ("usd_per_hour", "own_usd_per_hour", "field_usd_per_hour", "hours_per_job")
    usd, own, field, hours = figures = [item.number(key) for key in keys]
    because, sources = _why(item, reading)
    item.done()
    for key, value in zip(keys, figures, strict=True):
        if value is not None and value < 0:
            message = f"'{key}' of {item.what} is {value:g}; it must be 0 or more"
            problem(reading.problems, item.node.items[key], "out-of-range", message)
    if usd is None or hours is None:
        return None
    own = usd if own is None else own
    return Handling(usd, own, own if field is None else field, hours, because, sources)


def _no_answer(fields: Fields) -> NoAnswer:
    item = fields.inside("no_answer", "'no_answer'") if "no_answer" in fields else None
    if item is None:
        return NoAnswer()
    criteria, together = item.choices("criteria", required=True), item.number("together")
    item.text("because")  # for who reads the file
    item.done()
    if together is not None and not 1 < together <= len(criteria):
        message = f"'together' of {item.what} is {together:g}; it must be more than 1, and no more than its criteria"
        problem(item.problems, item.node.items["together"], "out-of-range", message)
    return NoAnswer(criteria, int(together or 0))


def _speeds(fields: Fields, reading: Reading) -> Iterator[SpeedWorth]:
    limits = [spec.answer for spec in reading.vocabulary.values() if spec.kind == "number" and spec.answer is not None]
    for item in _named(fields, "speeds", "figure"):
        figure = item.choice("figure")
        limit = _limit(item, limits)
        twice = _factor(item, "twice")
        points = [item.number(key) for key in _POINTS]
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


def _limit(item: Fields, limits: list[str]) -> str | None:
    """The answer that sets a limit on a figure; a problem where no number is answered by that name."""
    limit = item.text("limit")
    if limit is None or limit in limits:
        return limit
    message = f"'limit' of {item.what} is '{limit}', and no question of that name is answered by a number"
    problem(item.problems, item.node.items["limit"], "bad-choice", message, did_you_mean(limit, limits))
    return None


def _priorities(fields: Fields, reading: Reading) -> Iterator[PriorityWorth]:
    known = [value for spec in reading.vocabulary.values() if spec.answer == "priority" for value in spec.values]
    for item in _named(fields, "priorities", "priority"):
        priority = item.choice("priority", known)
        power = item.number("all_factors")
        criterion, squared = item.choice("criterion"), item.number("criterion_power")
        speed, watts = _factor(item, "twice_the_speed"), _factor(item, "half_the_power")
        because, sources = _why(item, reading)
        item.done()
        for key, value in (("all_factors", power), ("criterion_power", squared)):
            if value is not None and value < 0:
                message = f"'{key}' of {item.what} is {value:g}; it must be 0 or more"
                help_text = "1 changes nothing, and 0 makes it count for nothing"
                problem(reading.problems, item.node.items[key], "out-of-range", message, help_text)
        alone = [pair for pair in (_PAIR, _PAIR[::-1]) if pair[0] in item and pair[1] not in item]
        for key, other in alone:
            message = f"{item.what} has '{key}' and no '{other}'"
            problem(reading.problems, item.node.items[key], "missing-key", message, f"add '{other}: ...'")
        changes = {"all_factors": power, "criterion_power": squared, "half_the_power": watts, "twice_the_speed": None}
        if not alone and not any(key in item and value != 1 for key, value in changes.items()):
            message = f"{item.what} changes nothing"
            problem(reading.problems, item.node, "bad-effect", message, f"give one of {', '.join(changes)}")
        if priority is not None:
            all_factors, own = (1.0 if value is None else value for value in (power, squared))
            yield PriorityWorth(priority, all_factors, criterion, own, speed, watts, because, sources)


def _roles(fields: Fields) -> Iterator[Role]:
    listed = False
    for item in _named(fields, "roles", "role"):
        role = item.choice("role")
        within = _share(item, "within") if "within" in item else 0.0
        because = " ".join((item.text("because") or "").split())
        item.done()
        found = next((known for known in ROLES if known == role), None)
        listed = listed or found in {None, ROLES[0]}
        if found is not None:
            yield Role(found, within, because)
    if not listed and isinstance(fields.node.items.get("roles"), Sequence):
        message = f"'roles' of 'ranking' does not list '{ROLES[0]}', which every shortlist begins with"
        help_text = f"add '- {{role: {ROLES[0]}, because: ...}}'"
        problem(fields.problems, fields.node.items["roles"], "missing-key", message, help_text)
