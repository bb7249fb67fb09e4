"""The catalogues for people and for programs: tables, one entry whole, JSON and CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from whygpu.knowledge.catalogue import Offering
from whygpu.quantity import show
from whygpu.render import output
from whygpu.render.style import Style
from whygpu.render.table import table, wrapped
from whygpu.spreadsheet import neutral

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whygpu.knowledge.catalogue import Figure, Plain, Purchase
    from whygpu.listing import Fact, Listing, Row, Source, Whole

USUAL = {
    "accelerators": (
        "id",
        "class",
        "generation",
        "usable_gib",
        "bandwidth_gb_s",
        "bf16_tflops",
        "fp8_tflops",
        "tdp_w",
        "link",
        "usd_per_hour",
    ),
    "offerings": ("id", "accelerator", "count", "usd_per_hour", "price_kind", "provider", "region", "as_of"),
    "models": ("id", "task", "kind", "parameters", "active_parameters", "layers", "hidden_size", "downloads"),
}
"""The columns that a table shows unless told otherwise."""
_MOST_PRICES = 12
_UNKNOWN, _ABSENT = "?", "-"


def listing_text(found: Listing, columns: Sequence[str], width: int | None, style: Style) -> str:
    """A table; ``width`` None leaves it as wide as it comes."""
    cells = [[cell_text(row, name, found.units.get(name)) for name in columns] for row in found.rows]
    numeric = [any(isinstance(row.values[name], float) for row in found.rows) for name in columns]
    headings = [_heading(name, found.units.get(name)) for name in columns]
    lines, left_out = table(headings, cells, numeric, width, style)
    shown = len(columns) - left_out
    notes = [f"{len(found.rows)} {found.section if len(found.rows) != 1 else found.section.removesuffix('s')}"]
    if found.unknown:
        notes.append(f"{found.unknown} more cannot be judged: a figure is not known")
    if left_out:
        notes.append(f"the terminal is too narrow for {', '.join(columns[shown:])}")
    legend = _legend(found.rows, columns[:shown])
    return style.safe("\n".join([*lines, style.faint("; ".join(notes) + (f"   {legend}" if legend else ""))]) + "\n")


def _heading(name: str, unit: str | None) -> str:
    known = unit is None or unit in ("parameters", "USD/hour") or name.endswith(f"_{unit.lower().replace('/', '_')}")
    return name if known else f"{name} {unit}"


def _legend(rows: Iterable[Row], columns: Sequence[str]) -> str:
    rows = list(rows)
    marks = []
    if any(name in row.estimated for row in rows for name in columns):
        marks.append("~ estimated")
    if any(name in row.absent for row in rows for name in columns):
        marks.append(f"{_ABSENT} the hardware lacks it")
    if any(row.values[name] is None and name not in row.absent for row in rows for name in columns):
        marks.append(f"{_UNKNOWN} not known")
    return ", ".join(marks)


def cell_text(row: Row, name: str, unit: str | None) -> str:
    """One value as a table shows it: no unit (the heading has it), marked where it is an estimate."""
    if name in row.absent:
        return _ABSENT
    value = row.values[name]
    if value is None:
        return _UNKNOWN
    text = value_text(value, "parameters" if unit == "parameters" else None)
    return f"{text}~" if name in row.estimated else text


def value_text(value: Plain | tuple[Plain, ...] | None, unit: str | None) -> str:
    """A value of the catalogue with its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value_text(item, unit) for item in value)
    if isinstance(value, float):
        if unit == "parameters":
            return show(value, unit)
        text = _number(value)
        return text if unit is None else f"{text} {unit}"
    return str(value)


def _number(value: float) -> str:
    """Four digits or so; thousands are set apart from 10,000 on."""
    if value == int(value):
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def listing_data(found: Listing, columns: Sequence[str], sources: Iterable[Source]) -> dict[str, Any]:
    """A listing as data, every row with its sources and its place."""
    return {
        "catalogue": found.section,
        "count": len(found.rows),
        "not_judged": found.unknown,
        "units": {name: unit for name, unit in found.units.items() if name in columns},
        "rows": [
            {name: row.values[name] for name in columns}
            | {
                "absent": sorted(row.absent & set(columns)),
                "estimated": sorted(row.estimated & set(columns)),
                "sources": list(row.sources),
                "place": str(row.location),
            }
            for row in found.rows
        ],
        "sources": _sources_data(sources),
    }


def listing_csv(found: Listing, columns: Sequence[str]) -> str:
    """A listing as CSV: what is not known is empty, what the hardware lacks says ``absent``; no cell is a formula."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*columns, "sources", "place"])
    for row in found.rows:
        cells = ["absent" if name in row.absent else _csv(row.values[name]) for name in columns]
        writer.writerow(map(neutral, [*cells, " ".join(row.sources), str(row.location)]))
    return stream.getvalue()


def _csv(value: Plain | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.15g}" if isinstance(value, float) else value


def whole_text(entry: Whole, width: int, style: Style) -> str:
    """One entry: every value, who says so, and what is behind it."""
    lines = [f"{style.strong(entry.name)}  {entry.id}", style.faint(f"  {entry.location}")]
    if entry.aliases:
        lines += wrapped(f"also {', '.join(entry.aliases)}", width, "  ")
    longest = max((len(fact.name) for fact in entry.facts), default=0)
    lines.append("")
    for fact in entry.facts:
        lines += _fact_lines(fact, longest, width, style)
    if entry.section == "accelerators":
        lines += _price_lines(entry, style)
    lines += ["", style.strong("Sources")]
    for source in entry.sources:
        dated = f", {source.as_of}" if source.as_of else ""
        lines += wrapped(f"{source.id}: {source.title}{dated}", width, "  ", "    ")
        if source.where:
            lines.append(style.faint(f"    {source.where}"))
        if source.note:
            lines += wrapped(source.note, width, "    ")
    return style.safe("\n".join(lines) + "\n")


def _fact_lines(fact: Fact, longest: int, width: int, style: Style) -> list[str]:
    figure = fact.figure
    mark = "~" if figure.estimate is not None else ""
    value = "the hardware lacks it" if figure.absent else value_text(figure.value, fact.unit) + mark
    cited = f"[{', '.join(figure.sources)}] line {figure.location.line}" if figure.sources else ""
    lines = [f"  {fact.name:<{longest}}  {value}  {style.faint(cited)}".rstrip()]
    indent = " " * (longest + 4)
    if figure.estimate is not None:
        lines += wrapped(f"estimate: {figure.estimate}", width, indent)
    for other, sources in figure.others:
        lines += wrapped(f"others say {value_text(other, fact.unit)} [{', '.join(sources)}]", width, indent)
    if figure.because is not None:
        lines += wrapped(f"because: {figure.because}", width, indent)
    return lines


def _price_lines(entry: Whole, style: Style) -> list[str]:
    lines = ["", style.strong("Prices")]
    if entry.price is not None:
        of = f"median of {entry.price.providers} providers" if entry.price.providers > 1 else "one provider"
        lines.append(f"  a plan with one pays {_usd(entry.price.usd_per_hour)}/hour ({of}: {entry.price.offering.id})")
    elif entry.unpriced is not None:
        lines.append(f"  a plan has no hourly price: {entry.unpriced}")
    stated = [item for item in entry.offerings if item.claims]
    listed = [item for item in entry.offerings if not item.claims]
    lines += [f"  {offering_line(item)}" for item in listed[:_MOST_PRICES]]
    if len(listed) > _MOST_PRICES:
        more = len(listed) - _MOST_PRICES
        lines.append(f"  and {more} more: whygpu catalogue offerings --accelerator {entry.id}")
    lines += [f"  {purchase_line(item)}" for item in entry.purchases]
    if stated:
        lines += [
            "",
            style.strong("What documents say"),
            *(_stated_line(item, entry.listed[item.id]) for item in stated),
        ]
    return lines


def _stated_line(item: Offering, listed: Offering | None) -> str:
    what = f"{item.instance or item.accelerator} at {item.provider}"
    of = "" if item.count == 1 else f" for {item.count}"
    unused = "; never used" if item.never_used else ""
    beside = "the provider lists none" if listed is None else f"the provider's list has {offering_line(listed)}"
    return f"  {what} {_usd(item.usd_per_hour)}/hour{of} [{', '.join(item.claims)}]; {beside}{unused}"


def offering_line(item: Offering) -> str:
    """A price of a provider in one line."""
    where = f"{item.provider} {item.region}" if item.region else item.provider
    of = "" if item.count == 1 else f" for {item.count}"
    suspect = f"; never used: {item.never_used}" if item.never_used else ""
    cited = ", ".join(item.source)
    return f"{_usd(item.usd_per_hour)}/hour{of}, {item.price_kind}, {where}, {_dated(item.as_of)} [{cited}]{suspect}"


def purchase_line(item: Purchase) -> str:
    """A price to buy in one line."""
    note = f"; {item.note}" if item.note else ""
    return f"{_usd(item.usd)} to buy, {item.kind}, {_dated(item.as_of)} [{', '.join(item.source)}]{note}"


def _usd(amount: float) -> str:
    return f"${amount:,.4f}".rstrip("0").rstrip(".") if amount < 1 else f"${amount:,.2f}"


def _dated(as_of: str | None) -> str:
    return as_of or "no date"


def whole_data(entry: Whole) -> dict[str, Any]:
    """One entry as data."""
    found: dict[str, Any] = {
        "catalogue": entry.section,
        "id": entry.id,
        "name": entry.name,
        "aliases": list(entry.aliases),
        "place": str(entry.location),
        "facts": {fact.name: {"unit": fact.unit, **_figure_data(fact.figure)} for fact in entry.facts},
    }
    if entry.section == "accelerators":
        found["offerings"] = [_price_data(item) for item in entry.offerings]
        found["documents"] = [
            _price_data(item) | {"listed": None if (own := entry.listed[item.id]) is None else _price_data(own)}
            for item in entry.offerings
            if item.claims
        ]
        found["purchases"] = [_price_data(item) for item in entry.purchases]
        found["usd_per_hour"] = None if entry.price is None else entry.price.usd_per_hour
        found["unpriced"] = entry.unpriced
    return {**found, "sources": _sources_data(entry.sources)}


def _figure_data(figure: Figure) -> dict[str, Any]:
    return {
        "value": list(figure.value) if isinstance(figure.value, tuple) else figure.value,
        "absent": figure.absent,
        "estimate": figure.estimate,
        "because": figure.because,
        "others": [{"value": value, "sources": list(sources)} for value, sources in figure.others],
        "sources": list(figure.sources),
        "place": str(figure.location),
    }


def _price_data(item: Offering | Purchase) -> dict[str, Any]:
    data = asdict(item)
    data["sources"] = list(data.pop("source"))
    if isinstance(item, Offering):
        data |= {"claims": list(item.claims), "never_used": item.never_used}
    return {**data, "place": str(item.location)}


def _sources_data(sources: Iterable[Source]) -> dict[str, Any]:
    return {
        item.id: {"title": item.title, "where": item.where, "as_of": item.as_of, "note": item.note} for item in sources
    }


def json_text(data: dict[str, Any]) -> str:
    """Data as the JSON that the command prints."""
    return output.json_text(data, indent=1) + "\n"
