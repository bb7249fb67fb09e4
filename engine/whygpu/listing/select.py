"""Which rows, and in which order: by name, by a price's keys, by a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.errors import AnswerError, Location, Problem, did_you_mean
from whygpu.knowledge.catalogue import fold
from whygpu.listing.rows import ENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whygpu.knowledge.base import Knowledge
    from whygpu.listing.rows import Listing, Row


def find(knowledge: Knowledge, found: Listing, words: Sequence[str]) -> Listing:
    """The rows that the words name: by id, name, alias or family, else all that have every word.

    Raises AnswerError, with what was perhaps meant, where there are none.
    """
    if not words:
        return found
    text = " ".join(words)
    ids = _named(knowledge, found, text)
    parts = [fold(word) for word in words]
    rows = tuple(row for row in found.rows if (row.id in ids if ids else all(part in row.words for part in parts)))
    if not rows:
        known = {row.id for row in found.rows} | {str(row.values.get("name") or row.id) for row in found.rows}
        message = f"nothing in the catalogue of {found.section} is called '{text[:80]}'"
        everything = f"'whygpu catalogue {found.section}' lists everything"
        raise AnswerError(
            [Problem("not-found", message, Location("command line"), did_you_mean(text, known) or everything)]
        )
    return found.of(rows)


def _named(knowledge: Knowledge, found: Listing, text: str) -> frozenset[str]:
    if any(row.id == text for row in found.rows):
        return frozenset({text})
    catalogue = knowledge.catalogue
    match found.section:
        case "accelerators":
            return frozenset(catalogue.find_accelerators(text))
        case "models":
            return frozenset(catalogue.model_names.get(fold(text), ()))
        case _:
            cards = frozenset(catalogue.find_accelerators(text))
            return frozenset(row.id for row in found.rows if row.values["accelerator"] in cards)


def keep_offerings(
    knowledge: Knowledge,
    found: Listing,
    *,
    accelerator: str | None = None,
    provider: str | None = None,
    price_kind: str | None = None,
    region: str | None = None,
    dated: bool = False,
) -> Listing:
    """Offerings of one accelerator (id, name, alias or family), provider, kind of price and region; only dated ones.

    Raises AnswerError where the accelerator, provider or region does not exist.
    """
    catalogue = knowledge.catalogue
    problems: list[Problem] = []
    cards = frozenset(catalogue.find_accelerators(accelerator)) if accelerator else None
    if accelerator and not cards:
        names = [name for card in catalogue.accelerators.values() for name in (card.id, card.name, card.family)]
        problems.append(_unknown("accelerator", accelerator, names))
    if provider and provider not in catalogue.providers:
        problems.append(_unknown("provider", provider, catalogue.providers))
    regions = {item.region for item in catalogue.offerings if item.region is not None}
    if region and region not in regions:
        problems.append(_unknown("region", region, regions))
    if problems:
        raise AnswerError(problems)
    wanted = {"provider": provider, "price_kind": price_kind, "region": region}
    rows = tuple(
        row
        for row in found.rows
        if (cards is None or row.values["accelerator"] in cards)
        and all(value is None or row.values[key] == value for key, value in wanted.items())
        and not (dated and row.values["as_of"] is None)
    )
    return found.of(rows)


def _unknown(what: str, text: str, known: Iterable[str]) -> Problem:
    message = f"there is no {what} '{text[:80]}' in the catalogue"
    return Problem(f"unknown-{what}", message, Location(f"--{what}"), did_you_mean(text, known))


def ordered(found: Listing, column: str, *, descending: bool = False) -> Listing:
    """The rows by one column, words before any case; what is not known comes last. Raises AnswerError."""
    name = column_of(found, column)

    def key(row: Row) -> tuple[float, str]:
        value = row.values[name]
        return (float(value), "") if isinstance(value, int | float) else (0.0, str(value).lower())

    known = [row for row in found.rows if row.values[name] is not None]
    rest = [row for row in found.rows if row.values[name] is None]
    return found.of((*sorted(known, key=key, reverse=descending), *rest))


def column_of(found: Listing, text: str) -> str:
    """The column a text names, with or without the entity; raises AnswerError."""
    name = text.strip().removeprefix(f"{ENTITY[found.section]}.")
    if name in found.columns:
        return name
    message = f"there is no column '{text[:80]}' in the catalogue of {found.section}"
    hint = did_you_mean(name, found.columns) or f"columns: {', '.join(found.columns)}"
    raise AnswerError([Problem("unknown-column", message, Location("command line"), hint)])
