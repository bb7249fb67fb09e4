"""Reads ``nvidia-smi --query-gpu=... --format=csv``: one row for each card and sample, with or without units.

The columns are those of ``nvidia-smi --help-query-gpu``; the header names the unit even under ``nounits``.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from whygpu.measured.readers.reading import MIB_PER_GIB, Reader, Reading, known, refused
from whygpu.measured.readers.samples import POWER, THERMAL, busy_cards, idle_doubt, mean, peak, share

if TYPE_CHECKING:
    from collections.abc import Iterable

TOOL = "nvidia-smi"
QUERY = (
    "nvidia-smi --query-gpu=timestamp,index,name,utilization.gpu,utilization.memory,memory.used,memory.total,"
    "power.draw,power.limit,temperature.gpu,clocks.sm,clocks.max.sm,clocks_throttle_reasons.active --format=csv -l 1"
)
_HEADER = re.compile(
    r"(?:^|,)\s*(?:utilization\.gpu|memory\.used|power\.draw(?:\.average|\.instant)?|clocks(?:\.current)?\.sm)\s*(?:\[|,|$)"
)
_NUMBER = re.compile(r"\s*(0x[0-9a-fA-F]+|-?[0-9]+(?:\.[0-9]+)?)\s*(?:%|MiB|W|MHz|C)?\s*\Z")
_SAME = {
    "clocks.current.sm": "clocks.sm",
    "clocks_event_reasons.active": "reasons",
    "clocks_throttle_reasons.active": "reasons",
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "power.draw.average": "power.draw",
    "power.draw.instant": "power.draw",
    "enforced.power.limit": "power.limit",
}
MOST_ROWS = 200_000


def recognises(text: str) -> bool:
    """Whether the first line is a header of the query."""
    return _HEADER.search(text.lstrip().partition("\n")[0]) is not None


def read(text: str, name: str) -> Reading:
    """Read the samples; raises AnswerError where a row does not fit the header or there is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    columns = [_column(cell) for cell in next(csv.reader(lines[:1]))]
    if len(lines) > MOST_ROWS:
        raise refused(name, f"has more than {MOST_ROWS:,} samples", "sample less often, or for a shorter time")
    rows: list[dict[str, str]] = []
    for number, cells in enumerate(csv.reader(lines[1:]), 2):
        if len(cells) != len(columns):
            message = f"has {len(cells)} values in a row, and {len(columns)} columns"
            raise refused(name, message, "give the output of one query alone", number)
        rows.append(dict(zip(columns, (cell.strip() for cell in cells), strict=True)))
    if not rows:
        raise refused(name, "has a header and no samples", f"for example: {QUERY}", 1)
    cards: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        cards.setdefault(row.get("index") or row.get("uuid") or row.get("pci.bus_id") or "0", []).append(row)
    used = {card: _numbers(samples, "utilization.gpu") for card, samples in cards.items()}
    busy, idle = busy_cards(used)
    return _reading([row for card in busy for row in cards[card]], len(busy), idle)


def _column(cell: str) -> str:
    """The name of a column, without its unit."""
    name = cell.partition("[")[0].strip().lower()
    return _SAME.get(name, name)


def _number(text: str) -> float | None:
    """A value with or without its unit; None where the card does not say ([N/A])."""
    match = _NUMBER.match(text[:40])
    if match is None:
        return None
    return float(int(match[1], 16)) if match[1].startswith("0x") else float(match[1])


def _numbers(rows: Iterable[dict[str, str]], column: str) -> list[float]:
    return [value for row in rows if (value := _number(row.get(column, ""))) is not None]


def _over(rows: Iterable[dict[str, str]], part: str, whole: str) -> float | None:
    """The mean of one column over another, row by row."""
    pairs = ((_number(row.get(part, "")), _number(row.get(whole, ""))) for row in rows)
    return mean(min(one / other, 1.0) for one, other in pairs if one is not None and other)


def _percent(values: list[float]) -> float | None:
    found = mean(values)
    return None if found is None else found / 100


def _reading(rows: list[dict[str, str]], count: int, idle: list[str]) -> Reading:
    memory, total = peak(_numbers(rows, "memory.used")), peak(_numbers(rows, "memory.total"))
    reasons = _numbers(rows, "reasons")
    figures = {
        "gpu_utilisation": _percent(_numbers(rows, "utilization.gpu")),
        "memory_busy": _percent(_numbers(rows, "utilization.memory")),
        "memory_gib": None if memory is None else memory / MIB_PER_GIB,
        "memory_total_gib": None if total is None else total / MIB_PER_GIB,
        "power_share": _over(rows, "power.draw", "power.limit"),
        "temperature_c": peak(_numbers(rows, "temperature.gpu")),
        "clock_share": _over(rows, "clocks.sm", "clocks.max.sm"),
        "thermal_share": share(THERMAL, reasons),
        "power_capped_share": share(POWER, reasons),
    }
    samples = len(rows) // max(count, 1)
    doubts = idle_doubt(idle)
    if samples == 1:
        doubts += ("one sample says little: sample a minute of steady work, for example with '-l 1'",)
    dates = sorted(row["timestamp"][:10].replace("/", "-") for row in rows if "timestamp" in row)
    return Reading(
        date=dates[0] if dates and re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", dates[0]) else None,
        setup={"count": count},
        figures=known(figures),
        card=next((row["name"] for row in rows if row.get("name")), None),
        card_mib=total,
        doubts=doubts,
    )


READER = Reader(TOOL, recognises, read)
