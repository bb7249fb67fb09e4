"""A diagnosis as sections: what was measured, what it most likely is and why, what to do and what to measure next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.explain.figures import show_plain
from whygpu.measured.measurement import PREFIX
from whygpu.render.view.model import Evidence, Line, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whygpu.diagnosis.diagnosis import Diagnosis
    from whygpu.diagnosis.parts import FoundCause, FoundSign, Measured, NextMeasure
    from whygpu.knowledge.sources import Claim

_STATUS = {
    "found": "One cause stands out",
    "open": "Several causes are possible: what to measure next tells them apart",
    "none": "No measurement points to a cause",
}


@dataclass(frozen=True, slots=True)
class Much:
    """How many of each list are told."""

    measured: int
    signs: int
    actions: int
    next: int
    others: int
    questions: int
    sources: int


EVERYTHING = Much(1000, 1000, 1000, 1000, 1000, 1000, 1000)


def diagnosis_sections(diagnosis: Diagnosis, claims: Mapping[str, Claim], much: Much = EVERYTHING) -> Iterator[Section]:
    """The whole diagnosis; ``claims`` say what each source says."""
    yield _measured(diagnosis, much)
    first = diagnosis.first
    if first is None:
        yield Section(_STATUS["none"], ())
    else:
        yield _first(diagnosis, first, much)
        yield _actions(first, much)
    if diagnosis.next:
        lines = [line for number, item in enumerate(diagnosis.next[: much.next]) for line in _next(item, number)]
        yield Section("Measure next, most telling first", tuple(lines))
    others = [item for item in diagnosis.causes if item is not first]
    if others and much.others:
        told = set() if first is None else {sign.rule for sign in first.signs[: much.signs]}
        lines = [_other(item, told) for item in others[: much.others]]
        rest = ", ".join(f"{item.id} {item.weight:g}" for item in others[much.others :])
        yield Section("Other causes", (*lines, *([Line(f"and {rest}")] if rest else [])))
    if diagnosis.questions:
        yield _questions(diagnosis, much)
    if first is not None and much.sources:
        yield _sources(first, claims, much)


def name_of(figure: str) -> str:
    """A figure as a measurement file or ``--set`` calls it."""
    return figure.removeprefix(PREFIX).removeprefix("workload.")


def _measured(diagnosis: Diagnosis, much: Much) -> Section:
    if not diagnosis.measured:
        return Section("Nothing was measured", ())
    work = f", while {diagnosis.work}" if diagnosis.work else ""
    shown = diagnosis.measured[: much.measured]
    left = len(diagnosis.measured) - len(shown)
    places = list(dict.fromkeys(_file(item) for item in diagnosis.measured if not item.computed))
    text = "; ".join(f"{name_of(item.figure)} {show_plain(item.value, item.unit)}" for item in shown)
    more = f"; and {left} more" if left else ""
    return Section(f"Measured{work}", (Line(f"{text}{more} ({', '.join(places[:3])}{' ...' if places[3:] else ''})"),))


def _file(item: Measured) -> str:
    """The file that a figure stands in."""
    return "--set" if item.where.startswith("--set") else item.where.partition(":")[0].partition(",")[0]


def _first(diagnosis: Diagnosis, first: FoundCause, much: Much) -> Section:
    how = {"likely": "Most likely", "possible": "Possibly", "weak": "Weakly"}[first.standing]
    tied = [item for item in diagnosis.causes if item.weight == first.weight and item is not first]
    title = f"{how}: {first.name} ({first.id}, weight {first.weight:g})"
    lines = [Line(first.means)]
    if tied:
        lines.append(Line(f"Equally supported: {', '.join(item.id for item in tied)}. {_STATUS['open']}."))
    lines += [_sign(sign) for sign in first.signs[: much.signs]]
    left = len(first.signs) - much.signs
    if left > 0:
        lines.append(Line(f"and {left} more sign{'s' if left > 1 else ''}: --format json"))
    return Section(title, tuple(lines))


def _sign(sign: FoundSign) -> Line:
    return Line(
        f"{sign.strength}: {sign.text}",
        0,
        "+" if sign.weight > 0 else "-",
        Evidence(sign.rule, sign.place, sign.claims),
    )


def _actions(first: FoundCause, much: Much) -> Section:
    lines = [Line(f"{number}. {action}") for number, action in enumerate(first.actions[: much.actions], 1)]
    return Section("Do first", (*lines, Line(f"To be sure: {first.confirm}")))


def _next(item: NextMeasure, number: int) -> Iterator[Line]:
    """How to take it and what its answers would mean; of all but the first in one line."""
    name = name_of(item.figure)
    if number:
        yield Line(f"{name}: {item.take}")
        return
    yield Line(f"{name} ({item.meaning}). {item.take}")
    if item.command is not None:
        yield Line(f"$ {item.command}", 1)
    leads = {one.leads for one in item.possible}
    if len(leads) == 1 and None not in leads:
        yield Line("Whatever the value, the same cause leads: it shows how sure that is.", 1)
    elif len(leads) > 1:
        meant = "; ".join(f"{one.answer}: {one.leads or 'still open'}" for one in item.possible)
        yield Line(f"If it is {meant}.", 1)


def _other(item: FoundCause, told: set[str]) -> Line:
    """A cause with its weightiest sign; what that says is told once."""
    sign = next(iter(item.signs))
    text = f"{item.name} ({item.id}, {item.standing}, {item.weight:g})"
    if sign.rule not in told:
        told.add(sign.rule)
        text = f"{text}: {sign.text}"
    return Line(text, 0, "+" if item.weight > 0 else "-", Evidence(sign.rule, None, sign.claims))


def _questions(diagnosis: Diagnosis, much: Much) -> Section:
    found = diagnosis.questions
    lines = [Line(f"{item.location}: {item.message}") for item in found[: much.questions]]
    left = len(found) - len(lines)
    rest = (Line(f"and {left} more: --format json"),) if left else ()
    return Section("Oddities in the measurements", (*lines, *rest))


def _sources(first: FoundCause, claims: Mapping[str, Claim], much: Much) -> Section:
    known = [item for item in first.claims if item in claims][: much.sources]
    return Section("Sources", tuple(Line(f"{item}: {claims[item].says}") for item in known))
