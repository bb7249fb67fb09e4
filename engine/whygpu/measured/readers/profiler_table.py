"""Reads the table of PyTorch's profiler, ``print(prof.key_averages().table(...))``.

https://docs.pytorch.org/docs/stable/profiler.html. Totals are those under the table, or, where it was cut, the time of
its largest row over that row's share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whygpu.measured.readers.reading import Reader, Reading, known, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOOL = "pytorch-profiler"
_HEADER = re.compile(r"^[ \t]*Name[ \t]{2,}[^\n]*Self CPU", re.MULTILINE)
_OLD = re.compile(r"Self CPU total %[ \t]{2,}Self CPU total")
_CELLS = re.compile(r"\s{2,}")
_TIME = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(us|ms|s)\Z")
_TOTAL = re.compile(r"Self (CPU|CUDA|XPU|HPU|MTIA|PrivateUse1) time total: ([0-9.]+(?:us|ms|s))")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_NCCL = re.compile(r"nccl(?:Dev)?Kernel|rccl|ncclKernel", re.IGNORECASE)
_COLLECTIVE = re.compile(r"nccl:|c10d::|gloo:", re.IGNORECASE)
MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One operation: seconds on the CPU, itself and with what it calls, and on the device; how often it ran."""

    name: str
    self_cpu: float
    cpu: float
    self_device: float
    cpu_share: float
    device_share: float
    calls: float


def recognises(text: str) -> bool:
    """Whether it holds such a table."""
    return _HEADER.search(text) is not None


def read(text: str, name: str) -> Reading:
    """Read the table; raises AnswerError where it is an older one, or has no rows."""
    if _OLD.search(text):
        hint = "profile with torch.profiler (PyTorch 1.8.1 or newer)"
        raise refused(
            name, "is a table of PyTorch's profiler before 1.8, which is not read", hint, code="other-version"
        )
    rows = _rows(text)
    if not rows:
        raise refused(name, "is the head of a profiler's table without rows", "print the table as a whole")
    totals = {("CPU" if where == "CPU" else "device"): _seconds(time) for where, time in _TOTAL.findall(text)}
    cpu = totals.get("CPU") or _total(rows, lambda row: (row.self_cpu, row.cpu_share))
    device = totals.get("device") or _total(rows, lambda row: (row.self_device, row.device_share))
    steps = [row for row in rows if row.name.startswith("ProfilerStep")]
    wall = max((row.cpu for row in steps), default=0.0) or cpu
    loading = sum(row.cpu for row in rows if row.name.startswith("enumerate(DataLoader)"))
    kernels = sum(row.self_device for row in rows if _NCCL.search(row.name))
    talking = kernels or sum(row.self_device for row in rows if _COLLECTIVE.search(row.name))
    calls = max((row.calls for row in steps), default=0.0)
    figures = {
        "input_share": loading / wall if wall and loading else None,
        "gpu_utilisation": min(device / wall, 1.0) if wall and device else None,
        "communication_busy": min(talking / device, 1.0) if device and talking else None,
        "step_ms": 1000 * wall / calls if steps and calls else None,
    }
    doubts: tuple[str, ...] = ()
    if not totals:
        doubts = ("the lines under the table are missing: totals are taken from the shares of its rows",)
    if not any(value is not None for value in figures.values()):
        doubts += ("it names neither a data loader nor kernels nor steps: profile some whole steps, with CUDA",)
    return Reading(setup={"framework": "pytorch"}, figures=known(figures), doubts=doubts)


def _total(rows: Sequence[Row], of: Callable[[Row], tuple[float, float]]) -> float:
    """All the time, by the row that has most of it."""
    time, share = max((of(row) for row in rows), default=(0.0, 0.0))
    return time / share if share else 0.0


def _seconds(text: str) -> float:
    match = _TIME.match(text)
    return float(match[1]) * _SECONDS[match[2]] if match else 0.0


def _percent(text: str) -> float:
    return float(text[:-1]) / 100 if re.fullmatch(r"-?[0-9.]+%", text) else 0.0


def _rows(text: str) -> list[Row]:
    """The rows under the last header, by its columns."""
    found: list[Row] = []
    columns: list[str] = []
    for line in text.splitlines():
        cells = _CELLS.split(line.strip())
        if _HEADER.match(line):
            columns, found = cells, []
        elif columns and len(cells) == len(columns) and not line.lstrip().startswith("---") and len(found) < MOST_ROWS:
            found.append(_row(dict(zip(columns, cells, strict=True))))
    return found


def _row(cells: dict[str, str]) -> Row:
    device = next((name for name in cells if re.fullmatch(r"Self (?!CPU)\w+", name) and "Mem" not in name), "")
    return Row(
        cells["Name"],
        _seconds(cells.get("Self CPU", "")),
        _seconds(cells.get("CPU total", "")),
        _seconds(cells.get(device, "")),
        _percent(cells.get("Self CPU %", "")),
        _percent(cells.get(f"{device} %", "")),
        float(cells.get("# of Calls", "0")) if cells.get("# of Calls", "").isdigit() else 0.0,
    )


READER = Reader(TOOL, recognises, read)
