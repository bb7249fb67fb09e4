"""Reads ``rocm-smi --json`` and ``--csv``: one object or row for each card; one sample, or several after each other.

Memory is told in bytes (``--showmeminfo vram``), the use of the card and of its memory in percent (``--showuse``,
``--showmemuse``). Names of keys differ in case and wording between releases; ``N/A`` is what a card does not say.
"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

from whygpu.measured.readers.reading import MIB_PER_GIB, Reader, Reading, known, refused
from whygpu.measured.readers.samples import busy_cards, idle_doubt, mean, peak

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOOL = "rocm-smi"
QUERY = "rocm-smi --showproductname --showuse --showmemuse --showmeminfo vram --showpower --showmaxpower --json"
MIB = 1024 * 1024
MOST_ROWS = 200_000
_CARD = re.compile(r"card[0-9]{1,4}\Z")
_JSON = re.compile(r'\s*\{\s*"(?:card[0-9]{1,4}|system)"\s*:\s*\{')
_CSV = re.compile(r"\s*device,", re.IGNORECASE)
_NUMBER = re.compile(r"\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*\Z")
_SAME = {
    "gpu use (%)": "use",
    "gpu memory use (%)": "memory_use",
    "gpu memory read/write activity (%)": "memory_use",
    "vram total memory (b)": "total",
    "vram total used memory (b)": "used",
    "average graphics package power (w)": "power",
    "current socket graphics package power (w)": "power",
    "max graphics package power (w)": "power_limit",
    "temperature (sensor junction) (c)": "temperature",
    "temperature (sensor edge) (c)": "edge",
    "card series": "name",
}


def recognises(text: str) -> bool:
    """Whether it is an object of cards, or a table whose first column is the device."""
    start = text[:2_000].lstrip("\ufeff")
    return _JSON.match(start) is not None or (_CSV.match(start) is not None and _known(start.partition("\n")[0]))


def _known(header: str) -> bool:
    return any(cell.strip().lower() in _SAME for cell in header.split(","))


def read(text: str, name: str) -> Reading:
    """Read the cards; raises AnswerError where the file is cut or says nothing of any card."""
    found = _of_json(text, name) if text.lstrip("\ufeff \t\r\n").startswith("{") else _of_csv(text, name)
    cards: dict[str, list[dict[str, str]]] = {}
    for card, row in found:
        cards.setdefault(card, []).append(row)
    if not any(row for rows in cards.values() for row in rows):
        raise refused(name, "says nothing of any card that is read", f"for example: {QUERY}")
    busy, idle = busy_cards({card: _numbers(rows, "use") for card, rows in cards.items()})
    return _reading([row for card in busy for row in cards[card]], len(busy), idle)


def _of_json(text: str, name: str) -> list[tuple[str, dict[str, str]]]:
    decoder, place, found = json.JSONDecoder(), 0, []
    text = text.lstrip("\ufeff").rstrip()
    while place < len(text):
        try:
            data, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise refused(name, f"is not JSON: {error}"[:200], "give the file as rocm-smi wrote it") from error
        found += [(card, _row(values)) for card, values in _cards(data)]
        if len(found) > MOST_ROWS:
            raise refused(name, f"has more than {MOST_ROWS:,} samples", "sample less often, or for a shorter time")
        while place < len(text) and text[place].isspace():
            place += 1
    return found


def _cards(data: Any) -> list[tuple[str, Mapping[str, Any]]]:
    items = data.items() if isinstance(data, dict) else ()
    return [(card, values) for card, values in items if _CARD.match(card) and isinstance(values, dict)]


def _of_csv(text: str, name: str) -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[str, dict[str, str]]] = []
    columns: list[str] = []
    for number, cells in enumerate(csv.reader(text.lstrip("\ufeff").splitlines()), 1):
        if not cells:
            continue
        if cells[0].strip().lower() == "device":  # each call writes its header
            columns = cells
            continue
        if not columns or len(cells) != len(columns):
            message = f"has {len(cells)} values in a row, and {len(columns)} columns"
            raise refused(name, message, "give the output of one query alone", number)
        found.append((cells[0].strip(), _row(dict(zip(columns, cells, strict=True)))))
        if len(found) > MOST_ROWS:
            raise refused(name, f"has more than {MOST_ROWS:,} samples", "sample less often, or for a shorter time")
    return found


def _row(values: Mapping[str, Any]) -> dict[str, str]:
    named = {_SAME.get(str(key).strip().lower()): str(value) for key, value in values.items()}
    return {key: value.strip() for key, value in named.items() if key is not None and value.strip() != "N/A"}


def _numbers(rows: Iterable[dict[str, str]], key: str) -> list[float]:
    return [float(match[1]) for row in rows if (match := _NUMBER.match(row.get(key, "")[:60])) is not None]


def _share(values: list[float]) -> float | None:
    found = mean(values)
    return None if found is None else found / 100


def _reading(rows: list[dict[str, str]], count: int, idle: list[str]) -> Reading:
    used, total = peak(_numbers(rows, "used")), peak(_numbers(rows, "total"))
    power, limit = mean(_numbers(rows, "power")), peak(_numbers(rows, "power_limit"))
    figures = {
        "gpu_utilisation": _share(_numbers(rows, "use")),
        "memory_busy": _share(_numbers(rows, "memory_use")),
        "memory_gib": None if used is None else used / MIB / MIB_PER_GIB,
        "memory_total_gib": None if total is None else total / MIB / MIB_PER_GIB,
        "power_share": None if power is None or not limit else min(power / limit, 1.0),
        "temperature_c": peak(_numbers(rows, "temperature") or _numbers(rows, "edge")),
    }
    doubts = idle_doubt(idle)
    if len(rows) == count:
        doubts += ("one sample says little: sample a minute of steady work, once a second, into one file",)
    return Reading(
        setup={"count": count},
        figures=known(figures),
        card=next((row["name"] for row in rows if row.get("name")), None),
        card_mib=None if total is None else total / MIB,
        doubts=doubts,
    )


READER = Reader(TOOL, recognises, read)
