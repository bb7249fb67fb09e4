"""A sizing as typed rows: the sentences of the verdict, the curve, what was measured and what assumed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.measured.measurement import STEP_SHARES
from whygpu.quantity import show
from whygpu.render.view.model import Evidence, Grid, Sentence
from whygpu.sizing.service_size import ServiceSize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whygpu.checks.calculation import Calculation
    from whygpu.explain.parts import Item
    from whygpu.sizing.basis import Basis
    from whygpu.sizing.run import Run
    from whygpu.sizing.sized import Sized
    from whygpu.sizing.training import TrainingSize

_MOST_RUNS = 9
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_MAIN = ("usable_per_s", "needed", "replicas", "usd_per_month", "days", "accelerator_hours", "usd_total")
_FUNCTIONS = ("min", "max", "ceil")


@dataclass(frozen=True, slots=True)
class Worked:
    """A figure with its formula, the numbers put in, and who says so; ``terms``: each number with its meaning;
    ``main``: it is told where there is little room.
    """

    name: str
    value: str
    formula: str
    put_in: str
    terms: tuple[str, ...]
    evidence: Evidence
    main: bool


@dataclass(frozen=True, slots=True)
class Assumed:
    """A figure that nobody measured or answered, and why it is taken."""

    text: str
    because: str


@dataclass(frozen=True, slots=True)
class SizingView:
    """A sizing, ready to be drawn. ``possible``: something meets what is asked."""

    request: str
    possible: bool
    headline: str
    price: str
    promise: str
    because: tuple[Sentence, ...]
    warnings: tuple[Sentence, ...]
    curve: Grid
    worked: tuple[Worked, ...]
    measured: str
    assumed: tuple[Assumed, ...]
    flips: tuple[str, ...]
    notes: tuple[str, ...]


def sizing_view(sized: Sized) -> SizingView:
    """The view of a sizing."""
    size = sized.size
    if isinstance(size, ServiceSize):
        request, curve, verdict = _service_request(sized, size), _service_curve(size), _service_verdict(sized, size)
    else:
        request, curve, verdict = _training_request(sized, size), _training_curve(size), _training_verdict(sized, size)
    headline, price, promise = verdict
    knowledge = sized.said.knowledge
    measured = sized.asked.measured
    return SizingView(
        request=request,
        possible=sized.possible,
        headline=headline,
        price=price,
        promise=promise,
        because=tuple(map(_sentence, sized.advice)),
        warnings=tuple(map(_sentence, sized.warnings)),
        curve=curve,
        worked=tuple(_worked(item) for item in knowledge.sourced_sizing(size.calculations)),
        measured=_measured(sized),
        assumed=tuple(_assumed(item) for item in size.basis if item.how in ("assumed", "estimated")),
        flips=tuple(_flips(sized)),
        notes=(*size.notes, *(item.message for item in measured.questions)),
    )


def _sentence(item: Item) -> Sentence:
    return Sentence(item.text, Evidence(rule=item.rules[0], claims=item.claims))


# ---- a service ----


def _service_request(sized: Sized, size: ServiceSize) -> str:
    objective = size.demand.objective
    limits = [
        f"{what} within {show(limit * 1000, 'ms')}"
        for what, limit in (
            ("answers", objective.latency_s),
            ("the first token", objective.first_s),
            ("each further token", objective.token_s),
        )
        if limit is not None
    ]
    of = "" if sized.card is None else f" on {sized.card.name}"
    each = size.demand.per_replica
    groups = "" if each == 1 else f", {each} accelerators per replica"
    wanted = f"; for 95% {', '.join(limits)}" if limits else "; no limit on latency"
    return f"Serve {show(size.demand.peak_per_s, 'requests/s')} at the peak{of}{groups}{wanted}."


def _service_verdict(sized: Sized, size: ServiceSize) -> tuple[str, str, str]:
    if size.replicas is None or size.needed is None:
        return "No number of replicas meets the objective.", "", ""
    spare = size.replicas - size.needed
    what = f"{size.replicas} replicas" if size.replicas > 1 else "1 replica"
    cards = "" if sized.card is None else f" ({size.accelerators}x {sized.card.name})"
    more = f": {size.needed} for the peak and {spare} that may fail" if spare else ""
    monthly = "no price known" if size.usd_per_month is None else f"{show(size.usd_per_month, 'USD')} a month"
    if size.usd_per_million_tokens is not None:
        monthly += f", {show(size.usd_per_million_tokens, 'USD')} per million tokens at the peak"
    promised = size.promised_s or math.inf
    burst = "Poisson arrivals" if size.service.burstiness >= 1 else f"bursts of shape {show(size.service.burstiness)}"
    used = show(size.demand.peak_per_s / size.needed / size.service.curve.best_per_s, "share")
    tail = show(promised * 1000, "ms")
    said = f"p95 promised: {tail} at the peak under {burst}, each replica at {used} of its throughput."
    return f"Take {what}{cards}{more}.", monthly, said


def _service_curve(size: ServiceSize) -> Grid:
    rows = []
    for row in size.rows:
        load = row.load
        marks = [word for word, is_so in (("knee", row.knee), ("admit no more", row.cap)) if is_so]
        tail = None if load.tail_s is None else show(load.tail_s * 1000, "ms")
        rows.append(
            (
                show(load.in_flight),
                show(load.per_s),
                show(load.mean_s * 1000, "ms"),
                tail or "-",
                show(row.power),
                ", ".join(marks),
            )
        )
    return Grid(("in flight", "requests/s", "mean", "p95", "throughput/latency", ""), tuple(rows))


# ---- a run ----


def _training_request(sized: Sized, size: TrainingSize) -> str:
    target = size.target
    of = "" if sized.card is None else f" on {sized.card.name}"
    limit = "" if target.deadline_days is None else f" within {show(target.deadline_days, 'days')}"
    return f"Train {show(target.work)} {target.pace.unit}{of}{limit}, retries and experiments included."


def _training_verdict(sized: Sized, size: TrainingSize) -> tuple[str, str, str]:
    best = size.best
    plain = "accelerator" if best.count == 1 else "accelerators"
    what = f"{best.count} {plain}" if sized.card is None else f"{best.count}x {sized.card.name}"
    price = "no price known" if best.usd is None else f"{show(best.usd, 'USD')}"
    hours = f"{show(best.accelerator_hours)} accelerator-hours"
    days = f"{show(best.all_days, 'days')} ({show(best.days)} for the run alone)"
    lost = f"{show(best.lost, 'share')} lost to checkpoints and failures"
    promise = f"{days}, {hours}; efficiency {show(best.efficiency, 'share')}, {lost}."
    if not size.in_time:
        return f"No number of accelerators meets the deadline; the fastest is {what}.", price, promise
    open_ended = size.target.deadline_days is None
    why = "the cheapest, as no deadline is set" if open_ended else "the cheapest that meets the deadline"
    return f"Take {what}, {why}.", price, promise


def _training_curve(size: TrainingSize) -> Grid:
    rows = []
    for run in _shown(size):
        marks = [
            word
            for word, is_so in (("best", run is size.best), ("pays up to here", run.count == size.pays_to))
            if is_so
        ]
        rows.append(
            (
                str(run.count),
                show(run.all_days),
                show(run.efficiency, "share"),
                show(run.lost, "share"),
                "-" if run.usd is None else show(run.usd, "USD"),
                show(run.accelerator_hours),
                ", ".join(marks),
            )
        )
    return Grid(("accelerators", "days", "efficiency", "lost", "cost", "hours", ""), tuple(rows))


def _shown(size: TrainingSize) -> list[Run]:
    """The runs that are shown: powers of two, the best, and where more stops paying."""
    wanted = {size.best.count, size.pays_to}
    first = size.runs[0].count
    found = [run for run in size.runs if run.count in wanted or math.log2(run.count / first).is_integer()]
    while len(found) > _MOST_RUNS:
        found.remove(next(run for run in (found[0], found[-1]) if run.count not in wanted))
    return found


# ---- both ----


def _measured(sized: Sized) -> str:
    taken = sized.asked.measured
    tool = (
        "" if taken.tool is None else f" by {taken.tool.name}{' ' + taken.tool.version if taken.tool.version else ''}"
    )
    parts = [f"{len(taken.points)} load{'' if len(taken.points) == 1 else 's'}"] if taken.points else []
    parts += [f"{len(taken.scaling)} rows of scaling"] if taken.scaling else []
    split = () if isinstance(sized.size, ServiceSize) else sized.size.split
    figures = {name: value for name, value in taken.figures.items() if not split or name not in STEP_SHARES}
    parts += [
        f"{name} {show(value, _unit(sized, name))}" for name, value in figures.items() if isinstance(value, float)
    ]
    if split:
        parts.append("of a step " + ", ".join(f"{name} {show(value, 'share')}" for name, value in split))
    day = f", {taken.date}" if taken.date else ""
    return f"{taken.name}{tool}{day}: {', '.join(parts)}" if parts else "nothing"


def _unit(sized: Sized, figure: str) -> str | None:
    """The unit that is told: none where the name ends with it already."""
    unit = sized.said.knowledge.vocabulary[f"measured.{figure}"].unit
    return unit if unit == "share" else None


def _assumed(item: Basis) -> Assumed:
    unit = item.unit if item.unit not in ("shape", "ratio", "zones") else None
    how = "" if item.how == "assumed" else f" ({item.how})"
    return Assumed(f"{item.name} = {show(item.value, unit)}{how}", item.because)


def _flips(sized: Sized) -> Iterator[str]:
    size = sized.size
    if isinstance(size, ServiceSize):
        for change in sized.changes:
            count = "no number of replicas is enough" if change.replicas is None else f"{change.replicas} replicas"
            yield f"{change.change}: {count}"
        return
    faster = next((run for run in size.runs if run.count == 2 * size.best.count), None)
    if faster is not None:
        cost = "" if faster.usd is None else f", {show(faster.usd, 'USD')}"
        yield f"{faster.count} accelerators: {show(faster.all_days, 'days')}{cost}"
    if size.as_set is not None:
        best = show(size.best.lost, "share")
        yield f"checkpoints as set now: {show(size.as_set, 'share')} lost instead of {best}"


def _worked(item: Calculation) -> Worked:
    values = {term.name: show(term.value, "share" if term.unit == "share" else None) for term in item.terms}
    put_in = _WORD.sub(
        lambda match: match[0] if match[0] in _FUNCTIONS else values.get(match[0], match[0]), item.formula
    )
    terms = tuple(
        f"{term.name} = {show(term.value, term.unit)}{': ' + term.meaning if term.meaning else ''}"
        f"{' [' + ', '.join(term.source) + ']' if term.source else ''}"
        for term in item.terms
    )
    name = item.name.replace("_", " ")
    evidence = Evidence(claims=item.sources)
    return Worked(name, show(item.value, item.unit), item.formula, put_in, terms, evidence, item.name in _MAIN)
