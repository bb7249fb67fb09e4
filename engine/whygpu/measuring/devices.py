"""What accelerators are in this machine: asked of nvidia-smi, of PyTorch where it is installed, and of the system."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whygpu.measured.readers.cards import by_driver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whygpu.knowledge.catalogue import Catalogue

    Ask = Callable[[Sequence[str]], "str | None"]
    """Runs a command; what it printed, None where it is not there or fails."""

NVIDIA = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
PROCESSOR = ("lscpu",)
APPLE = ("sysctl", "-n", "machdep.cpu.brand_string", "hw.memsize")
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Found:
    """Accelerators of one kind: as they call themselves, how many, their memory, and which they are."""

    name: str
    count: int
    memory_mib: float | None
    asked: str
    """Who says so."""
    accelerator: str | None
    """Its id in the catalogue; None where it is not there, or could be several."""


def ask(command: Sequence[str]) -> str | None:
    """Run a command of the system."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None


def detect(catalogue: Catalogue, torch: Any = None, asking: Ask = ask) -> tuple[Found, ...]:
    """Every kind of accelerator that is found, and the processor last; ``torch``: PyTorch, where it is there."""
    found = list(_grouped(_nvidia(asking), "nvidia-smi", catalogue))
    if not found and torch is not None:
        found += _grouped(_of_torch(torch), "PyTorch", catalogue)
    if sys.platform == "darwin":
        found += _grouped(_apple(asking), "sysctl", catalogue)
    else:
        found += _grouped(_processor(asking), "lscpu", catalogue)
    return tuple(found)


def processor_name(asking: Ask = ask) -> str:
    """What the processor calls itself."""
    found = _apple(asking) if sys.platform == "darwin" else _processor(asking)
    return next((name for name, _ in found), "processor")


def _nvidia(asking: Ask) -> Iterator[tuple[str, float | None]]:
    for line in (asking(NVIDIA) or "").splitlines():
        name, _, memory = line.rpartition(",")
        if name.strip():
            yield name.strip(), _number(memory)


def _of_torch(torch: Any) -> Iterator[tuple[str, float | None]]:
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            for index in range(module.device_count()):
                properties = module.get_device_properties(index)
                yield properties.name, properties.total_memory / 2**20


def _processor(asking: Ask) -> Iterator[tuple[str, float | None]]:
    """Each socket is one."""
    values = dict(_pairs(asking(PROCESSOR) or ""))
    name = values.get("model name", "")
    if name:
        yield from [(name, None)] * max(int(_number(values.get("socket(s)", "")) or 1), 1)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _apple(asking: Ask) -> Iterator[tuple[str, float | None]]:
    name, _, memory = (asking(APPLE) or "").strip().partition("\n")
    size = _number(memory)
    if name:
        yield name, None if size is None else size / 2**20


def _number(text: str) -> float | None:
    try:
        return float(text.strip())
    except ValueError:
        return None


def _grouped(items: Iterable[tuple[str, float | None]], asked: str, catalogue: Catalogue) -> Iterator[Found]:
    for (name, memory), count in Counter(items).items():
        yield Found(name, count, memory, asked, by_driver(catalogue, name, memory))
