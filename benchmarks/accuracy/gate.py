"""Figures over families as if never seen, kept beside the code: a change that makes one worse by a tenth is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from benchmarks.accuracy.score import score
from benchmarks.accuracy.unseen import Unseen

KEPT = Path(__file__).with_name("unseen.yaml")
WORSE = 1.1
"""How many times the kept median an error may be."""
_LEAST = 0.001  # shares below this are rounding


@dataclass(frozen=True, slots=True)
class Figures:
    """Over all families of one kind, each predicted by coefficients that never saw it; shares of one."""

    rows: int
    median: float
    ninetieth: float
    inside: float


def figures(found: Iterable[Unseen]) -> dict[str, Figures]:
    """By kind."""
    kinds: dict[str, list[Unseen]] = {}
    for item in found:
        kinds.setdefault(item.kind, []).append(item)
    scores = {kind: score([row for item in items for row in item.rows]) for kind, items in kinds.items()}
    return {
        kind: Figures(done.rows, round(done.median, 4), round(done.ninetieth, 4), round(done.inside, 3))
        for kind, done in scores.items()
    }


def read(path: Path = KEPT) -> dict[str, Figures]:
    """What was kept; raises OSError where it is not there."""
    kept = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {kind: Figures(**values) for kind, values in kept.items()}


def write(found: Mapping[str, Figures], path: Path = KEPT) -> None:
    """Keep them."""
    lines = [
        f"{kind!r}: {{rows: {one.rows}, median: {one.median}, ninetieth: {one.ninetieth}, inside: {one.inside}}}\n"
        for kind, one in found.items()
    ]
    head = "# Errors on families as if never seen: written by python -m benchmarks.accuracy --write\n"
    path.write_text(head + "".join(lines), encoding="utf-8")


def worse(now: Mapping[str, Figures], kept: Mapping[str, Figures]) -> list[str]:
    """The kinds whose median got worse by a tenth, or that are no longer measured."""
    found = []
    for kind, before in kept.items():
        after = now.get(kind)
        if after is None:
            found.append(f"{kind}: no longer compared")
        elif after.median > max(before.median * WORSE, before.median + _LEAST):
            found.append(f"{kind}: the median error is {after.median:.1%}, and was {before.median:.1%}")
    return found
